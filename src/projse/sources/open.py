"""Sources: whatever holds rows becomes a list of parts, each a file or a stream.

Understood are

- paths to Parquet, Arrow/Feather, CSV and .npy files: one file, a folder, a glob, a list of them,
  with hive partitions (``day=2026-11-15/…``) as columns;
- pyarrow datasets;
- anything with the Arrow C stream interface (``__arrow_c_stream__``): pandas, polars, DuckDB
  relations, pyarrow tables and readers; polars' lazy frames;
- arrays or memory maps ``(X, Y)`` or ``(X, Y, weight)``;
- iterators of such pairs, of Arrow record batches, or of data frames.

Arrays and .npy files need nothing but NumPy; the rest needs pyarrow (extra ``arrow``).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from projse.exceptions import SourceError
from projse.sources.array_parts import ArraysPart, IteratorPart, NpyPart, memory_map
from projse.sources.arrow_file import IpcPart
from projse.sources.csv import CsvPart
from projse.sources.dataset_part import FragmentPart
from projse.sources.files import File, find_files
from projse.sources.gap_marks import gap_marks
from projse.sources.parquet import ParquetPart
from projse.sources.parts import Items, Part
from projse.sources.stream_parts import BatchesPart, StreamPart

__all__ = ["open_source"]


def open_source(
    source: Any,
    *,
    format: str | None = None,
    target_type: str = "auto",
    na_values: Any = None,
) -> list[Part]:
    """List the parts of a source, in the order in which they are summed.

    Parameters
    ----------
    source : path, sequence of paths, dataset, data frame, stream, arrays, or iterator
        See :mod:`projse.sources`.
    format : {"parquet", "feather", "arrow", "csv", "npy"} or None, default=None
        Format of the files; None goes by their names, then by their first bytes.
    target_type : {"auto", "continuous", "class"}, default="auto"
        How to read the Y of arrays.
    na_values : str or sequence of str, default=None
        What stands for a gap in CSV files, beside what does in any case.

    Returns
    -------
    parts : list of Part
        Files sorted by path; one part for anything else.

    Examples
    --------
    >>> import numpy as np
    >>> from projse.sources import open_source
    >>> X, Y = np.ones((5, 3)), np.ones((5, 2))
    >>> [part.label for part in open_source((X, Y))]
    ['the arrays']
    """
    marks = gap_marks(na_values)
    parts = _opened(source, format, target_type, marks)
    if marks:
        _refuse_unread(marks, parts)
    return parts


def marks_of(parts: Sequence[Part]) -> tuple[str, ...]:
    """Return what stands for a gap in CSV files among parts, however these were opened."""
    return tuple(sorted({mark for part in parts for mark in part.na_values}))


def _opened(
    source: Any, format: str | None, target_type: str, marks: tuple[str, ...]
) -> list[Part]:
    """List the parts of a source of any kind."""
    if isinstance(source, str | os.PathLike) or _is_paths(source):
        if isinstance(source, tuple) and all(str(p).endswith(".npy") for p in source):
            return [_memory_maps(source, target_type)]
        return [_file_part(file, marks) for file in find_files(source, format)]
    if isinstance(source, list) and source and all(isinstance(part, Part) for part in source):
        return source
    if format is not None:
        raise ValueError(f"format={format!r} is for files; the source is no path.")
    if isinstance(source, tuple) and 1 <= len(source) <= 3 and hasattr(source[0], "shape"):
        return [ArraysPart(_as_arrays(source), target_type)]
    if hasattr(source, "get_fragments"):
        fragments = sorted(source.get_fragments(), key=lambda f: getattr(f, "path", ""))
        return [FragmentPart(source, f, i) for i, f in enumerate(fragments)]
    if _is_series(source):
        raise TypeError(
            "A Series is no source of rows: it has one column. Pass a data frame, or arrays (X, Y)."
        )
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "collect_schema"):
        return [StreamPart(source)]
    if type(source).__module__.split(".")[0] == "pandas" and hasattr(source, "iloc"):
        return [StreamPart(source)]
    if hasattr(source, "__arrow_c_array__"):
        return [BatchesPart(Items([source]))]
    plain = isinstance(source, dict | np.ndarray) or sp.issparse(source)
    if isinstance(source, Iterable) and not plain:
        return [_from_items(Items(source), target_type)]
    raise TypeError(
        f"A {type(source).__name__} is no source of rows; pass a path, a folder, a dataset, a data "
        "frame, arrays (X, Y), or an iterator of (X, Y) batches."
    )


def _is_series(source: Any) -> bool:
    is_pandas = type(source).__module__.split(".")[0] == "pandas"
    return is_pandas and hasattr(source, "iloc") and source.ndim == 1


def _is_paths(source: Any) -> bool:
    return (
        isinstance(source, list | tuple)
        and bool(source)
        and all(isinstance(item, str | os.PathLike) for item in source)
    )


def _memory_maps(paths: tuple[Any, ...], target_type: str) -> Part:
    """Open (X, Y) or (X, Y, weight) as memory maps."""
    if len(paths) > 3:
        raise ValueError(
            f"{len(paths)} .npy files in a tuple; pass (X, Y), (X, Y, weight) or a list."
        )
    arrays = tuple(memory_map(path, os.fspath(path)) for path in paths)
    return ArraysPart(arrays, target_type)


def _as_arrays(source: tuple[Any, ...]) -> tuple[Any, ...]:
    """Leave X as it is; give Y and the weights a shape."""
    X, *others = source
    return (X, *(o if o is None or hasattr(o, "shape") else np.asarray(o) for o in others))


def _from_items(items: Items, target_type: str) -> Part:
    first = items.first
    if first is None:
        raise SourceError("The iterator is empty: there are no rows.")
    if any(hasattr(first, name) for name in ("__arrow_c_array__", "__arrow_c_stream__")):
        return BatchesPart(items)
    if isinstance(first, tuple | list):
        return IteratorPart(items, target_type)
    raise TypeError(
        f"The iterator yields {type(first).__name__}; it must yield (X, Y), (X, Y, weight), or "
        "Arrow record batches."
    )


def _refuse_unread(marks: tuple[str, ...], parts: list[Part]) -> None:
    """Refuse marks of gaps that no part would look for."""
    files = [part for part in parts if part.takes_marks]
    if not files:
        raise ValueError(
            f"na_values={list(marks)!r} is for CSV files, and the source has none; put nulls or "
            "NaN where a value is missing."
        )
    for part in files:
        if part.na_values != marks:
            raise ValueError(
                f"{part.label} was opened with na_values={list(part.na_values)!r}, not with "
                f"{list(marks)!r}; say na_values where it is opened (open_source)."
            )


def _file_part(file: File, marks: tuple[str, ...]) -> Part:
    """Return the part for a file of a known format."""
    if file.format == "csv":
        return CsvPart(file, marks)
    kinds: dict[str, Any] = {
        "parquet": ParquetPart,
        "arrow": IpcPart,
        "npy": NpyPart,
    }
    part: Part = kinds[file.format](file)
    return part
