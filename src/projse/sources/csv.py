"""CSV files, compressed or not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from projse.exceptions import SourceError
from projse.sources import files as _files
from projse.sources.file_part import FilePart
from projse.sources.parts import Reading, import_arrow

HEADER_BYTES = 1 << 16
"""Bytes at the beginning of a file that are searched for semicolons."""


class CsvPart(FilePart):
    """A CSV file with a header line; types are those of its first 16 MB."""

    remedy = (
        "Repair the line, store the column as one type, or leave the file out; pyarrow.csv has "
        "options for other dialects, and what it opens can be passed here."
    )
    read_ahead = True

    def _options(self) -> dict[str, Any]:
        import pyarrow.csv as csv

        return {
            "read_options": csv.ReadOptions(block_size=1 << 24),
            "parse_options": csv.ParseOptions(delimiter=self._delimiter),
        }

    @cached_property
    def _delimiter(self) -> str:
        """What separates columns: a semicolon where the header has some, and no comma."""
        usual = _files.delimiter(self.file.path)
        if usual != ",":
            return usual
        with open(self.file.path, "rb") as file:
            header = self._source(file).read(HEADER_BYTES).split(b"\n")[0]
        return ";" if b";" in header and b"," not in header else usual

    def _source(self, file: Any) -> Any:
        """Unpack a file that is compressed."""
        if not self.file.path.lower().endswith(_files.COMPRESSED):
            return file
        pa = import_arrow()
        return pa.CompressedInputStream(file, pa.Codec.detect(self.file.path.lower()).name)

    def _read_schema(self) -> Any:
        import_arrow()
        import pyarrow.csv as csv

        if self.size == 0:
            raise SourceError(f"{self.label} is empty: not even a header. {self.remedy}")
        with (
            open(self.file.path, "rb") as file,
            csv.open_csv(self._source(file), **self._options()) as reader,
        ):
            return reader.schema

    def _read(self, names: list[str], reading: Reading) -> tuple[Any, Iterator[Any]]:
        import pyarrow as pa
        import pyarrow.csv as csv

        if not names:
            raise SourceError(f"{self.label} has none of the columns asked for.")
        # Whole numbers may go on with fractions, and a column may begin with nothing.
        wanted = set(names) - {reading.columns.labels}
        types = {
            field.name: pa.float64()
            for field in self.fields()
            if field.name in wanted and field.kind in ("number", "null")
        }
        # Codes of digits among strings are no numbers in a file that has no others.
        kept = reading.columns.type_of.items()
        types |= {name: _type(kind) for name, kind in kept if name in wanted}
        convert = csv.ConvertOptions(
            include_columns=names, column_types=types, strings_can_be_null=True
        )
        file: Any = open(self.file.path, "rb")  # noqa: SIM115  # closed when the batches end
        try:
            reader = csv.open_csv(self._source(file), convert_options=convert, **self._options())
        except BaseException:
            file.close()
            raise

        def batches() -> Iterator[Any]:
            with file, reader:
                for batch in reader:
                    self.done = min(file.tell() / max(self.size, 1), 1.0)
                    yield batch

        return reader.schema, batches()


def _type(kind: str) -> Any:
    """Return the type to read a column as, of which the first file had this one."""
    import pyarrow as pa

    if kind.startswith("timestamp") and "tz=" in kind:
        return pa.timestamp("us", "UTC")
    if kind.startswith(("timestamp", "date")):
        return pa.timestamp("us")
    return {"string": pa.string(), "bool": pa.bool_()}.get(kind, pa.float64())
