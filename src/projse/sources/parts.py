"""Parts of a source: rows that are summed by themselves, a file or a whole stream.

Every part knows its columns and hands out rows of the engine's size. Parts are read in the thread
that asks for them; what reads a file may have threads of its own.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from projse.exceptions import SourceError
from projse.sources.arrow_columns import field_of, with_plain_gaps
from projse.sources.batches import Buffers, chunk_shape, rows_of
from projse.sources.columns import Columns, Field, check_complete
from projse.sources.encoded_rows import chunk_rows, encoded_rows
from projse.sources.rows import Rows

if TYPE_CHECKING:
    from projse.sources.table.encoding import TableEncoding

EXTRA = 'pip install "projse-select[arrow]"'


@dataclass(frozen=True)
class Reading:
    """How rows are to be read."""

    columns: Columns
    missing: str = "refuse"
    threads: bool = True
    buffers: Buffers = field(default_factory=Buffers)
    batch_rows: int = 1 << 16
    encoding: TableEncoding | None = None


class Part(ABC):
    """Rows that are summed by themselves.

    ``label`` is what messages call it. ``path`` is None where it is no file. ``repeatable`` tells
    whether it can be read a second time. ``done`` is the share of it that was read so far.
    ``na_values`` are marks of gaps that it was opened with, and ``takes_marks`` tells that it may
    have some: text does.
    """

    label: str = "the source"
    path: str | None = None
    repeatable: bool = False
    size: int = 0
    done: float = 0.0
    na_values: tuple[str, ...] = ()
    takes_marks: bool = False

    @abstractmethod
    def fields(self) -> list[Field] | None:
        """Return the columns; None for arrays, whose columns have no names."""

    @abstractmethod
    def rows(self, reading: Reading) -> Iterator[Rows]:
        """Hand out the rows, in chunks whose limits depend on the part alone."""

    def head(self, reading: Reading, n: int, take: Callable[[Any], Any]) -> Any:
        """Return the first rows that ``take`` leaves of batches, as an Arrow table.

        :meth:`rows` hands them out all the same.
        """
        raise NotImplementedError

    def n_outputs(self) -> int:
        """Return the number of reference columns of arrays; 0 for what may be class labels."""
        return 0

    def fingerprint(self, content: bool = False) -> dict[str, Any]:
        """Return what changes when the part changes."""
        raise NotImplementedError


def fields_of(parts: Sequence[Part]) -> list[Field] | None:
    """Return the columns of the first part.

    One that holds nothing but gaps there is what the first part with values says.
    """
    fields = parts[0].fields()
    if fields is None:
        return None
    unknown = {field.name for field in fields if field.kind == "null"}
    known: dict[str, Field] = {}
    for part in parts[1:]:
        if not unknown:
            break
        here = {f.name: f for f in part.fields() or () if f.name in unknown and f.kind != "null"}
        known |= here
        unknown -= here.keys()
    return [known.get(field.name, field) for field in fields]


class Items:
    """Items of an iterable, whose first one was looked at.

    Each iteration starts anew where the iterable can do that (``repeatable``: a list of batches); a
    generator is good for one.
    """

    def __init__(self, iterable: Iterable[Any]) -> None:
        self._iterable = iterable
        self._rest: Iterator[Any] | None = iter(iterable)
        self.repeatable = self._rest is not iterable
        self.first = next(self._rest, None)

    def __iter__(self) -> Iterator[Any]:
        rest, self._rest = self._rest, None
        if rest is None:
            yield from self._iterable
        else:
            yield self.first
            yield from rest


def import_arrow() -> Any:
    """Import pyarrow, or say which extra brings it."""
    try:
        import pyarrow as pa
    except ModuleNotFoundError as error:
        raise ImportError(f"Reading this source needs pyarrow: {EXTRA}") from error
    except ImportError as error:  # it is there
        raise ImportError(
            f"Reading this source needs pyarrow, which cannot be loaded ({error}). Allow more "
            "memory (ulimit -v) if that is short; else install pyarrow anew."
        ) from error
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

    _begun: tuple[Any, Iterator[Any]] | None = None
    """The schema and batches of a first look at what can be read only once."""

    def head(self, reading: Reading, n: int, take: Callable[[Any], Any]) -> Any:
        """Return the first rows that ``take`` leaves of batches, as an Arrow table."""
        pa = import_arrow()
        check_complete(reading.columns, self.fields(), self.label)
        with self._named_errors():
            schema, batches = self._begun or self._open(reading.columns.all, reading)
        seen, taken, n_rows = [], [take(no_rows(schema))], 0
        for batch in self._checked(batches):
            if not self.repeatable:
                seen.append(batch)
            taken.append(take(batch))
            n_rows += taken[-1].num_rows
            if n_rows >= n:
                break
        if not self.repeatable:
            self._begun = schema, chain(seen, batches)
        elif isinstance(batches, Generator):
            batches.close()
        return pa.Table.from_batches(taken).slice(0, n)

    def rows(self, reading: Reading) -> Iterator[Rows]:
        """Hand out the rows."""
        self.done = 0.0
        if reading.encoding is not None:
            yield from self._encoded(reading, reading.encoding)
            self.done = 1.0
            return
        # A reader that cuts as the engine does saves cutting again.
        n_rows = math.prod(chunk_shape(self.fields(), reading.columns))
        reading = replace(reading, batch_rows=n_rows)
        with self._named_errors():
            schema, batches = self._open(reading.columns.all, reading)
        checked = map(with_plain_gaps, self._checked(batches))
        yield from rows_of(
            _one_ahead(checked) if self.read_ahead and reading.threads else checked,
            [field_of(column) for column in schema],
            reading.columns,
            missing=reading.missing,
            where=self.label,
            buffers=reading.buffers,
        )
        self.done = 1.0

    def _encoded(self, reading: Reading, encoding: TableEncoding) -> Iterator[Rows]:
        """Hand out the rows of a table of mixed columns."""
        reading = replace(reading, batch_rows=chunk_rows(encoding))
        with self._named_errors():
            _, batches = self._begun or self._open(reading.columns.all, reading)
        self._begun = None
        checked = self._checked(batches)
        yield from encoded_rows(
            _one_ahead(checked) if self.read_ahead and reading.threads else checked,
            reading.columns,
            encoding,
            missing=reading.missing,
            where=self.label,
        )

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
            raise SourceError(self._said(error)) from error

    def _said(self, error: Exception) -> str:
        """Say what is wrong, and what to do about it."""
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        if isinstance(error, OSError) and error.errno:  # Arrow says where it failed, in many words
            reason = os.strerror(error.errno)
        return f"{self.label} cannot be read: {reason}. {self.remedy}"


def no_rows(schema: Any) -> Any:
    """Return a batch without rows, which keeps no others in memory."""
    import pyarrow as pa

    # Of the categories of polars, pa.array([], …) makes none.
    return pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in schema], schema=schema)


def _one_ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """Hand out batches, and read the next one meanwhile."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = pool.submit(next, batches, None)
            yield batch
            del batch


def subset(schema: Any, names: Sequence[str]) -> Any:
    """Return the schema of some columns."""
    import pyarrow as pa

    return pa.schema([schema.field(name) for name in names])
