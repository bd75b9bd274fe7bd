"""Sources: whatever holds rows hands them out, checked, a batch at a time.

Comes in: arrays, sparse matrices, data frames, Arrow and Parquet and CSV and .npy files, streams.
Goes out: rows (candidates, references, weights) of the engine's size, with the names of columns.
Must not know: what the rows are summed to, kernels, selection.

Files are paths, folders, globs or hive partitions; streams speak Arrow's C interface (pandas,
polars, DuckDB) or are iterators. See :func:`open_source` for all that is understood.
"""

from projse.sources.open import open_source

__all__ = ["open_source"]
