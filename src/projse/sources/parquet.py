"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from projse.sources.file_part import FilePart
from projse.sources.parts import Reading, import_arrow, subset

BUFFERS_BYTES = 1 << 26
"""Bytes that are read ahead, all columns together."""


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
        return pq.ParquetFile(self._opened(), metadata=about, buffer_size=size, pre_buffer=False)

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
                for batch in file.iter_batches(size, columns=names, use_threads=reading.threads):
                    n_rows += batch.num_rows
                    self.done = n_rows / max(file.metadata.num_rows, 1)
                    yield batch
                    del batch

        return schema, batches()
