"""CSV files, compressed or not."""

from __future__ import annotations

import codecs
import csv as csv_text
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from projse.exceptions import SourceError
from projse.sources import files as _files
from projse.sources.bad_value import BadValue, RaggedLine
from projse.sources.columns import Columns, Field
from projse.sources.file_part import FilePart
from projse.sources.gap_marks import spellings
from projse.sources.parts import Reading, import_arrow

TYPE_BYTES = 1 << 24
"""Bytes at the beginning of a file that tell the types."""

BLOCK_BYTES = (1 << 22, TYPE_BYTES)
"""Bytes that are converted at a time: Arrow reads 32 blocks ahead, however large they are."""

BLOCK_LINES = 256
"""Lines of a block, as long as the header: a column of a block has a price of its own."""

HEAD_BYTES = 1 << 16
"""Bytes at the beginning of a file that tell what separates columns and fractions."""

CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4", ".br": "brotli"}

NOT_UTF8 = "strings that are not UTF-8: iconv -f latin1 -t utf8 makes them so"

CUT_SHORT = "It may be cut short or not be compressed as its name says: restore it or remove it."

FRACTION = r"[+-]?\d+%s\d+(e[+-]?\d+)?"
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")


PANDAS_GAPS = ("<NA>", "NaT")
"""What pandas shows for a gap, beside what Arrow takes for one."""

EXCEL_LINE = re.compile(r'\ufeff?"?sep=(.)"?\s*')
"""A first line by which Excel is told what separates columns."""


class Dialect(NamedTuple):
    """What separates columns and fractions, and how many lines stand before the header."""

    delimiter: str
    fraction: str
    n_skipped: int = 0


class CsvPart(FilePart):
    """A CSV file with a header line; types are those of its first 16 MB."""

    remedy = (
        "Repair the line, store the column as one type, or leave the file out; pyarrow.csv has "
        "options for other dialects, and what it opens can be passed here."
    )
    read_ahead = True
    takes_marks = True

    def __init__(self, file: _files.File, na_values: tuple[str, ...] = ()) -> None:
        super().__init__(file)
        self.na_values = na_values
        self._asked: tuple[dict[str, Any], Columns | None] = {}, None

    def _options(self, block_size: int | None = None) -> dict[str, Any]:
        import pyarrow.csv as csv

        return {
            "read_options": csv.ReadOptions(
                block_size=block_size or TYPE_BYTES, skip_rows=self._dialect.n_skipped
            ),
            "parse_options": csv.ParseOptions(delimiter=self._dialect.delimiter),
        }

    def _conversion(self, **options: Any) -> Any:
        import pyarrow.csv as csv

        fraction = self._dialect.fraction
        marks = [form for mark in self.na_values for form in spellings(mark, fraction)]
        options["null_values"] = [*csv.ConvertOptions().null_values, *PANDAS_GAPS, *marks]
        return csv.ConvertOptions(decimal_point=fraction, **options)

    @cached_property
    def _dialect(self) -> Dialect:
        """What separates columns, and what fractions: as the first lines of the file have it."""
        return dialect_of(self._head, _files.delimiter(self.file.path))

    @cached_property
    def _head(self) -> bytes:
        with self._named_errors():
            head: bytes = self._unpacked(self._opened()).read(HEAD_BYTES)
        return head

    @property
    def _block_size(self) -> int:
        """Bytes of a block: few, but some hundred lines of a wide file."""
        lines = self._head.split(b"\n")
        header = lines[min(self._dialect.n_skipped, len(lines) - 1)]
        return int(np.clip(BLOCK_LINES * len(header), *BLOCK_BYTES))

    @property
    def _is_bare_header(self) -> bool:
        """Whether there is a header only, which ends without an end of line."""
        if len(self._head) == HEAD_BYTES or self._head.endswith((b"\n", b"\r")):
            return False
        lines = self._head.decode("utf-8", errors="replace").splitlines(keepends=True)
        return len(_records(lines[self._dialect.n_skipped :], self._dialect.delimiter)) == 1

    def _fields(self) -> list[Field]:
        """Say of strings that are not UTF-8 what they are: bytes, to Arrow."""
        own = set(self._schema.names)
        fields = [replace(field, from_text=field.name in own) for field in super()._fields()]
        return [
            replace(field, type=NOT_UTF8) if field.type == "binary" else field for field in fields
        ]

    def _text(self, file: Any) -> Any:
        """Return the text of the file; a bare header gets its end of line, or Arrow sees none."""
        if self._is_bare_header:
            return import_arrow().BufferReader(self._head + b"\n")
        return self._unpacked(file)

    def _unpacked(self, file: Any) -> Any:
        """Unpack a file that is compressed."""
        if not self.file.path.lower().endswith(_files.COMPRESSED):
            return file
        pa = import_arrow()
        return pa.CompressedInputStream(file, CODECS[os.path.splitext(self.file.path.lower())[1]])

    def _read_schema(self) -> Any:
        import_arrow()
        import pyarrow.csv as csv

        if not self._head.strip(codecs.BOM_UTF8 + b" \t\r\n"):
            raise SourceError(
                f"{self.label} is empty: not even a header. Write it again, or leave it out."
            )
        _files.refuse_other_format(self.label, self._head, "CSV")
        if self._head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
            raise SourceError(
                f"{self.label} is UTF-32. Store it as UTF-8 (iconv -f utf-32 -t utf-8)."
            )
        if self._head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise SourceError(
                f"{self.label} is UTF-16 (Excel's Unicode text). Store it as UTF-8 "
                "(iconv -f utf-16 -t utf-8)."
            )
        if b"\0" in self._head.splitlines()[0]:
            raise SourceError(
                f"{self.label} is no UTF-8 text: its header holds zero bytes, as UTF-16 does. "
                "Store it as UTF-8 (iconv -f utf-16le -t utf-8)."
            )
        convert = self._conversion()
        file = self._text(self._opened())
        with csv.open_csv(file, convert_options=convert, **self._options()) as reader:
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
        if not kept:  # all are numbers; what is not is to be named with its row
            numbers = wanted - {field.name for field in self.fields() if field.kind == "bool"}
            types |= dict.fromkeys(numbers, pa.float64())
        # The first block of those that follow may tell less than what the fields were told by.
        types = {name: self._schema.field(name).type for name in names} | types
        self._asked = types, reading.columns
        convert = self._conversion(
            include_columns=names, column_types=types, strings_can_be_null=True
        )
        file = self._opened()
        options = self._options(self._block_size)
        reader = csv.open_csv(self._text(file), convert_options=convert, **options)

        def batches() -> Iterator[Any]:
            with reader:
                for batch in reader:
                    self.done = min(file.tell() / max(self.size, 1), 1.0)
                    yield batch

        return reader.schema, batches()

    def _said(self, error: Exception) -> str:
        """Name the row, and the column, that Arrow cannot read."""
        types, columns = self._asked
        if (value := BadValue.of(error)) is not None:
            name = self._schema.names[value.column]
            kind = types.get(name, self._schema.field(name).type)
            again = BadValue.of(
                self._counting_rows(include_columns=[name], column_types={name: kind})
            )
            row = None if again is None else again.row
            return f"{self.label}: {value.told(name, self._behind(row), columns)}"
        if (line := RaggedLine.of(error)) is not None:
            same = RaggedLine.of(self._counting_rows())
            return f"{self.label}: {line.told(self._behind(None if same is None else same.row))}"
        said = super()._said(error)
        if self.file.path.lower().endswith(_files.COMPRESSED):  # no line can be repaired in it
            said = said.removesuffix(self.remedy) + CUT_SHORT
        return said

    def _behind(self, row: int | None) -> int | None:
        """Count rows from the header on."""
        return None if row is None else row - self._dialect.n_skipped

    def _counting_rows(self, **conversion: Any) -> Exception | None:
        """Read the file again in one thread, for only then Arrow counts rows; return the error."""
        import pyarrow as pa
        import pyarrow.csv as csv

        convert = self._conversion(strings_can_be_null=True, **conversion)
        options = self._options()
        options["read_options"].use_threads = False
        try:
            file = self._text(self._opened())
            with csv.open_csv(file, convert_options=convert, **options) as reader:
                for _ in reader:
                    pass
        except (pa.ArrowException, OSError) as error:
            return error
        return None


def dialect_of(head: bytes, usual: str) -> Dialect:
    """Tell what separates columns and fractions by the beginning of a file.

    Columns: what cuts all lines into as many fields as the header, and into the most of them; the
    usual where nothing does, and what the first line says where it is Excel's "sep=;". Fractions: a
    comma where numbers have one, and none has a point.
    """
    lines = head.decode("utf-8", errors="replace").splitlines(keepends=True)
    if len(head) == HEAD_BYTES:
        lines = lines[:-1]  # which may be cut off
    announced = EXCEL_LINE.fullmatch(lines[0]) if lines else None
    lines = lines if announced is None else lines[1:]
    found, most = usual if announced is None else announced[1], 1
    candidates = (usual, ",", ";", "\t", "|") if announced is None else (announced[1],)
    for delimiter in dict.fromkeys(candidates):
        widths = {len(record) for record in _records(lines, delimiter)}
        if len(widths) == 1 and max(widths) > most:
            found, most = delimiter, max(widths)
    fields = [field.strip().lower() for record in _records(lines, found)[1:] for field in record]
    comma, point = (re.compile(FRACTION % sign) for sign in (",", r"\."))
    with_comma = [field for field in fields if comma.fullmatch(field)]
    if found == ",":  # where fractions are in quotes, and may as well be thousands
        with_comma = [field for field in with_comma if not THOUSANDS.fullmatch(field)]
    fraction = "," if with_comma and not any(map(point.fullmatch, fields)) else "."
    return Dialect(found, fraction, 0 if announced is None else 1)


def _records(lines: list[str], delimiter: str) -> list[list[str]]:
    try:
        records = [record for record in csv_text.reader(lines, delimiter=delimiter) if record]
    except csv_text.Error:
        return []
    return records


def _type(kind: str) -> Any:
    """Return the type to read a column as, of which the first file had this one."""
    import pyarrow as pa

    if kind.startswith("timestamp") and "tz=" in kind:
        return pa.timestamp("us", "UTC")
    if kind.startswith(("timestamp", "date")):
        return pa.timestamp("us")
    return {"string": pa.string(), "bool": pa.bool_()}.get(kind, pa.float64())
