"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from projse.sources.file_part import FilePart
from projse.sources.parts import Reading, import_arrow, subset

BUFFERS_BYTES = 1 << 26
"""Bytes that are read ahead, all columns together."""

WIDE = 2048
"""A reader takes some ten kilobytes a column, and more for a dictionary: with more columns than
this, row groups are read whole, so many columns at a time, where that takes less."""

WHOLE_BYTES = 3 << 27
"""Row groups of up to this many bytes, as doubles, are read whole (384 MiB)."""


class ParquetPart(FilePart):
    """A Parquet file: decoded a few rows of each column at a time, whatever its row groups."""

    remedy = "It may be cut short or no Parquet file: restore it or remove it."
    read_ahead = True

    def _file(self) -> Any:
        import_arrow()
        import pyarrow.parquet as pq

        # Without buffered reading, whole column chunks of a row group would be in memory. Every
        # column has a buffer of its own.
        about = pq.read_metadata(self._opened())
        size = min(max(BUFFERS_BYTES // max(about.num_columns, 1), 1 << 12), 1 << 18)
        return pq.ParquetFile(
            self._opened(),
            metadata=about,
            buffer_size=size,
            pre_buffer=False,
            page_checksum_verification=True,
        )

    def _read_schema(self) -> Any:
        with self._file() as file:
            return file.schema_arrow

    def _read(self, names: list[str], reading: Reading) -> tuple[Any, Iterator[Any]]:
        file = self._file()
        schema = subset(file.schema_arrow, names)
        size = reading.batch_rows

        def batches() -> Iterator[Any]:
            n_rows = 0
            with file:
                if _is_wide(file.metadata, len(names)):
                    rows = _by_row_groups(file, names, size, reading.threads)
                else:
                    rows = file.iter_batches(size, columns=names, use_threads=reading.threads)
                for batch in rows:
                    n_rows += batch.num_rows
                    self.done = n_rows / max(file.metadata.num_rows, 1)
                    yield batch
                    del batch

        return schema, batches()


def _is_wide(about: Any, n_columns: int) -> bool:
    """Tell whether row groups are to be read whole, some columns at a time."""
    rows = max((about.row_group(i).num_rows for i in range(about.num_row_groups)), default=0)
    return n_columns > WIDE and 8 * rows * n_columns <= WHOLE_BYTES


def _by_row_groups(file: Any, names: list[str], size: int, threads: bool) -> Iterator[Any]:
    """Yield batches of at most ``size`` rows of the columns in their order."""
    import pyarrow as pa

    parts = [names[i : i + WIDE] for i in range(0, len(names), WIDE)]
    for i in range(file.num_row_groups):
        columns: dict[str, Any] = {}
        for part in parts:
            table = file.read_row_group(i, columns=part, use_threads=threads)
            columns.update(zip(table.column_names, table.columns, strict=True))
            del table
        whole = pa.table({name: columns.pop(name) for name in names})
        yield from whole.to_batches(size)
        del whole
