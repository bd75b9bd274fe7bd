"""Parts of a source: rows that are summed by themselves, a file or a whole stream.

Every part knows its columns and hands out rows of the engine's size. Parts are read in the thread
that asks for them; what reads a file may have threads of its own.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from projse.exceptions import SourceError
from projse.sources import files as _files
from projse.sources.arrow_columns import field_of
from projse.sources.batches import Buffers, chunk_shape, rows_of
from projse.sources.columns import Columns, Field
from projse.sources.rows import Rows

EXTRA = 'pip install "projse[arrow]"'


@dataclass(frozen=True)
class Reading:
    """How rows are to be read."""

    columns: Columns
    missing: str = "refuse"
    threads: bool = True
    buffers: Buffers = field(default_factory=Buffers)
    batch_rows: int = 1 << 16


class Part(ABC):
    """Rows that are summed by themselves.

    ``label`` is what messages call it. ``path`` is None where it cannot be read a second time.
    ``done`` is the share of it that was read so far.
    """

    label: str = "the source"
    path: str | None = None
    size: int = 0
    done: float = 0.0

    @abstractmethod
    def fields(self) -> list[Field] | None:
        """Return the columns; None for arrays, whose columns have no names."""

    @abstractmethod
    def rows(self, reading: Reading) -> Iterator[Rows]:
        """Hand out the rows, in chunks whose limits depend on the part alone."""

    def fingerprint(self, content: bool = False) -> dict[str, Any]:
        """Return what changes when the part changes."""
        raise NotImplementedError


def import_arrow() -> Any:
    """Import pyarrow, or say which extra brings it."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError(f"Reading this source needs pyarrow: {EXTRA}") from error
    return pa


class ArrowPart(Part):
    """A part that arrives as Arrow record batches."""

    remedy = "Restore it or remove it."
    read_ahead = False
    """Whether the next batch may be read while the one before is put in place."""

    @abstractmethod
    def _fields(self) -> list[Field]: ...

    @abstractmethod
    def _open(self, names: list[str], reading: Reading) -> tuple[Any, Iterator[Any]]:
        """Return the schema and the batches of some columns."""

    _known: list[Field] | None = None

    def fields(self) -> list[Field]:
        """Return the columns."""
        if self._known is None:
            with self._named_errors():
                self._known = self._fields()
        return self._known

    def rows(self, reading: Reading) -> Iterator[Rows]:
        """Hand out the rows."""
        self.done = 0.0
        # A reader that cuts as the engine does saves cutting again.
        n_rows = math.prod(chunk_shape(self.fields(), reading.columns))
        reading = replace(reading, batch_rows=n_rows)
        with self._named_errors():
            schema, batches = self._open(reading.columns.all, reading)
        checked = self._checked(batches)
        yield from rows_of(
            _one_ahead(checked) if self.read_ahead and reading.threads else checked,
            [field_of(column) for column in schema],
            reading.columns,
            missing=reading.missing,
            where=self.label,
            buffers=reading.buffers,
        )
        self.done = 1.0

    def _checked(self, batches: Iterator[Any]) -> Iterator[Any]:
        while True:
            with self._named_errors():
                batch = next(batches, None)
            if batch is None:
                return
            yield batch
            del batch

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        pa = import_arrow()
        try:
            yield
        except SourceError:
            raise
        except UnicodeDecodeError as error:
            raise SourceError(
                f"{self.label}: the name of a column is not UTF-8 ({error.object[:60]!r}). Store "
                "the file as UTF-8 (iconv -f latin1 -t utf8), or rename the column."
            ) from error
        except (pa.ArrowException, OSError, EOFError) as error:
            reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
            raise SourceError(f"{self.label} cannot be read: {reason}. {self.remedy}") from error


def _one_ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """Hand out batches, and read the next one meanwhile."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = pool.submit(next, batches, None)
            yield batch
            del batch


class FilePart(ArrowPart):
    """A file, with the columns that its path stands for."""

    def __init__(self, file: _files.File) -> None:
        self.file = file
        self.path = self.label = file.path
        self.size = file.size

    def fingerprint(self, content: bool = False) -> dict[str, Any]:
        """Return size and time, or size and content."""
        return _files.fingerprint(self.file.path, content)

    @abstractmethod
    def _read_schema(self) -> Any: ...

    @cached_property
    def _schema(self) -> Any:
        """The schema; to find it again would cost as much as reading the first rows."""
        return self._read_schema()

    @abstractmethod
    def _read(self, names: list[str], reading: Reading) -> tuple[Any, Iterator[Any]]: ...

    def _opened(self) -> Any:
        """Open the file for Arrow, whatever bytes its name has."""
        return import_arrow().OSFile(os.fsencode(self.file.path))

    def _fields(self) -> list[Field]:
        fields = [field_of(column) for column in self._schema]
        names = {f.name for f in fields}
        for name, value in self.file.constants.items():
            if name not in names:
                fields.append(_constant_field(name, value))
        return fields

    def _open(self, names: list[str], reading: Reading) -> tuple[Any, Iterator[Any]]:
        pa = import_arrow()
        own = set(self._schema.names)
        constants = {name: self.file.constants[name] for name in names if name not in own}
        stored = [name for name in names if name in own]
        schema, batches = self._read(stored, reading)
        if not constants:
            return schema, batches
        for name, value in constants.items():
            schema = schema.append(pa.field(name, pa.scalar(value).type))

        def with_constants() -> Iterator[Any]:
            for batch in batches:
                arrays = [batch.column(name) for name in batch.schema.names]
                arrays += [pa.repeat(pa.scalar(v), batch.num_rows) for v in constants.values()]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

        return schema, with_constants()


class ParquetPart(FilePart):
    """A Parquet file: decoded a few rows of each column at a time, whatever its row groups."""

    remedy = "It may be cut short or no Parquet file: restore it or remove it."
    read_ahead = True

    def _file(self) -> Any:
        import_arrow()
        import pyarrow.parquet as pq

        # Without buffered reading, whole column chunks of a row group would be in memory.
        return pq.ParquetFile(self._opened(), buffer_size=1 << 18, pre_buffer=False)

    def _read_schema(self) -> Any:
        with self._file() as file:
            return file.schema_arrow

    def _read(self, names: list[str], reading: Reading) -> tuple[Any, Iterator[Any]]:
        file = self._file()
        schema = _subset(file.schema_arrow, names)
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


class IpcPart(FilePart):
    """An Arrow file (Feather 2) or a file that holds an Arrow stream."""

    remedy = "It may be cut short or no Arrow file: restore it or remove it."

    def _reader(self, included: list[int] | None = None) -> Any:
        pa = import_arrow()
        options = pa.ipc.IpcReadOptions(included_fields=included)
        source = self._opened()
        if source.read(6) == b"ARROW1":
            return pa.ipc.open_file(source, options=options)
        source.seek(0)
        return pa.ipc.open_stream(source, options=options)

    def _read_schema(self) -> Any:
        return self._reader().schema

    def _read(self, names: list[str], reading: Reading) -> tuple[Any, Iterator[Any]]:
        places = [self._schema.get_field_index(name) for name in names]
        reader = self._reader(places or None)

        def batches() -> Iterator[Any]:
            if not hasattr(reader, "num_record_batches"):
                yield from reader
                return
            for i in range(reader.num_record_batches):
                self.done = i / reader.num_record_batches
                yield reader.get_batch(i)

        return reader.schema, batches()


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
            "parse_options": csv.ParseOptions(delimiter=_files.delimiter(self.file.path)),
        }

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


class FragmentPart(ArrowPart):
    """A fragment of a pyarrow dataset: a file wherever it lies, or a part in memory."""

    def __init__(self, dataset: Any, fragment: Any, number: int) -> None:
        self.dataset, self.fragment = dataset, fragment
        self.path = getattr(fragment, "path", None) or None
        if self.path is not None:
            self.size = int(fragment.filesystem.get_file_info(self.path).size or 0)
            if self._is_local:
                self.path = os.path.abspath(self.path)
        self.label = self.path or f"fragment {number} of the dataset"

    @property
    def _is_local(self) -> bool:
        import pyarrow.fs as fs

        return isinstance(self.fragment.filesystem, fs.LocalFileSystem)

    def fingerprint(self, content: bool = False) -> dict[str, Any]:
        """Return size and time, or size and content of a local file."""
        assert self.path is not None
        if self._is_local:
            return _files.fingerprint(self.path, content)
        if content:
            raise SourceError(f"{self.label} is not local: its content is not looked at.")
        about = self.fragment.filesystem.get_file_info(self.path)
        return {"size": about.size, "mtime_ns": about.mtime_ns}

    def _fields(self) -> list[Field]:
        import pyarrow.dataset as ds

        expression = getattr(self.fragment, "partition_expression", None)
        keys = {} if expression is None else ds.get_partition_keys(expression)
        return [
            field_of(column, by_default=column.name not in keys) for column in self.dataset.schema
        ]

    def _open(self, names: list[str], reading: Reading) -> tuple[Any, Iterator[Any]]:
        schema = self.dataset.schema
        scanner = self.fragment.scanner(
            schema=schema,
            columns=names,
            batch_size=reading.batch_rows,
            batch_readahead=2,
            fragment_readahead=1,
            use_threads=reading.threads,
        )
        reader = scanner.to_reader()
        return reader.schema, iter(reader)


class StreamPart(ArrowPart):
    """Anything that speaks the Arrow C stream interface; columns are chosen where it can."""

    remedy = "Look at what produces it."

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.label = f"the {type(stream).__name__}"
        self.reader: Any = None

    def _fields(self) -> list[Field]:
        return [field_of(column) for column in self._schema()]

    def _schema(self) -> Any:
        pa = import_arrow()
        package = type(self.stream).__module__.split(".")[0]
        if package == "pandas":
            return _pandas_schema(self.stream)
        if hasattr(self.stream, "collect_schema") and hasattr(self.stream, "collect"):  # polars
            return pa.RecordBatchReader.from_stream(self.stream.limit(0).collect()).schema
        if package in ("duckdb", "_duckdb"):
            return pa.RecordBatchReader.from_stream(self.stream.limit(0)).schema
        if hasattr(self.stream, "schema") and isinstance(self.stream.schema, pa.Schema):
            return self.stream.schema
        if self.reader is None:  # it may be good for one reading only
            self.reader = pa.RecordBatchReader.from_stream(self.stream)
        return self.reader.schema

    def _open(self, names: list[str], reading: Reading) -> tuple[Any, Iterator[Any]]:
        pa = import_arrow()
        stream = self.stream
        package = type(stream).__module__.split(".")[0]
        schema = _subset(self._schema(), names)
        if package == "pandas":
            return schema, _pandas_batches(stream, schema, reading.batch_rows)
        if hasattr(stream, "collect_batches"):
            frames = stream.select(names).collect_batches(chunk_size=reading.batch_rows)
            return schema, (b for f in frames for b in pa.RecordBatchReader.from_stream(f))
        if hasattr(stream, "collect"):
            stream = stream.select(names).collect()
        elif package in ("duckdb", "_duckdb"):
            quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
            stream = stream.project(quoted)
            name = next(n for n in ("to_arrow_reader", "fetch_record_batch") if hasattr(stream, n))
            return schema, iter(getattr(stream, name)(reading.batch_rows))
        elif package in ("polars", "pyarrow") and hasattr(stream, "select"):
            stream = stream.select(names)
        reader = self.reader or pa.RecordBatchReader.from_stream(stream)
        return schema, (batch.select(names) for batch in reader)


class BatchesPart(ArrowPart):
    """An iterator of Arrow record batches, or of data frames."""

    label = "the iterator"
    remedy = "Look at what produces it."

    def __init__(self, first: Any, others: Iterator[Any]) -> None:
        self.first, self.others = self._table(first), others

    def _table(self, item: Any) -> Any:
        pa = import_arrow()
        return pa.table(item) if not isinstance(item, pa.Table) else item

    def _fields(self) -> list[Field]:
        return [field_of(column) for column in self.first.schema]

    def _open(self, names: list[str], reading: Reading) -> tuple[Any, Iterator[Any]]:
        schema = _subset(self.first.schema, names)

        def batches() -> Iterator[Any]:
            table = self.first
            while table is not None:
                # The types of the first batch hold for all.
                yield from table.select(names).cast(schema).to_batches()
                item = next(self.others, None)
                table = None if item is None else self._table(item)

        return schema, batches()


def file_part(file: _files.File) -> Part:
    """Return the part for a file of a known format."""
    from projse.sources.array_parts import NpyPart

    kinds: dict[str, Any] = {
        "parquet": ParquetPart,
        "arrow": IpcPart,
        "csv": CsvPart,
        "npy": NpyPart,
    }
    part: Part = kinds[file.format](file)
    return part


def _subset(schema: Any, names: Sequence[str]) -> Any:
    import pyarrow as pa

    return pa.schema([schema.field(name) for name in names])


def _constant_field(name: str, value: int | str | None) -> Field:
    if isinstance(value, int):
        return Field(name, "number", "int64", np.dtype(np.int64), by_default=False)
    return Field(name, "null" if value is None else "text", "string", by_default=False)


def _pandas_schema(frame: Any) -> Any:
    import pyarrow as pa

    return pa.Schema.from_pandas(frame, preserve_index=False)


def _pandas_batches(frame: Any, schema: Any, size: int) -> Iterator[Any]:
    import pyarrow as pa

    places = {str(name): i for i, name in enumerate(frame.columns)}
    some = frame.iloc[:, [places[name] for name in schema.names]]
    some = some.set_axis(schema.names, axis=1)
    for start in range(0, len(some), size):
        yield pa.RecordBatch.from_pandas(
            some.iloc[start : start + size], schema=schema, preserve_index=False
        )
