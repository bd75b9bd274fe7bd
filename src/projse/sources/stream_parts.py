"""Streams: what speaks Arrow's C interface (pandas, polars, DuckDB), and iterators of batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from projse.exceptions import SourceError
from projse.sources.arrow_columns import field_of
from projse.sources.columns import Field
from projse.sources.parts import ArrowPart, Items, Reading, import_arrow, subset


class StreamPart(ArrowPart):
    """Anything that speaks the Arrow C stream interface; columns are chosen where it can."""

    remedy = "Look at what produces it."

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.label = f"the {type(stream).__name__}"
        self.reader: Any = None
        # What else speaks the interface may be good for one reading only.
        tables = ("pandas", "polars", "duckdb", "_duckdb")
        self.repeatable = self._package in tables or isinstance(
            stream, import_arrow().Table | import_arrow().RecordBatch
        )

    @property
    def _package(self) -> str:
        return type(self.stream).__module__.split(".")[0]

    def _fields(self) -> list[Field]:
        return [field_of(column) for column in self._schema]

    @cached_property
    def _schema(self) -> Any:
        pa = import_arrow()
        package = self._package
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
        stream, package = self.stream, self._package
        schema = subset(self._schema, names)
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
        # The reader that told the schema is good for one reading.
        reader, self.reader = self.reader or pa.RecordBatchReader.from_stream(stream), None
        return schema, (batch.select(names) for batch in reader)


class BatchesPart(ArrowPart):
    """An iterator of Arrow record batches, or of data frames."""

    label = "the iterator"
    remedy = "Look at what produces it."

    def __init__(self, items: Items) -> None:
        self.items = items
        self.first = self._table(items.first)
        self.repeatable = items.repeatable

    def _table(self, item: Any) -> Any:
        pa = import_arrow()
        return pa.table(item) if not isinstance(item, pa.Table) else item

    def _fields(self) -> list[Field]:
        return [field_of(column) for column in self.first.schema]

    def _open(self, names: list[str], reading: Reading) -> tuple[Any, Iterator[Any]]:
        schema = subset(self.first.schema, names)

        def batches() -> Iterator[Any]:
            for item in self.items:
                # The types of the first batch hold for all.
                yield from self._table(item).select(names).cast(schema).to_batches()

        return schema, batches()


def _pandas_schema(frame: Any) -> Any:
    import pyarrow as pa

    # To Arrow a name is a string: 1 and "1" are the same.
    counts = Counter(str(name) for name in frame.columns)
    twice = [name for name, n in counts.items() if n > 1]
    if twice:
        raise SourceError(
            f"The data frame has several columns called {', '.join(map(repr, twice[:8]))}; rename "
            "them."
        )
    try:
        return pa.Schema.from_pandas(frame, preserve_index=False)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise SourceError(
            f"The data frame has a column that Arrow cannot hold: {error} Make plain numbers, "
            "strings or dates of it, or leave it out."
        ) from error


def _pandas_batches(frame: Any, schema: Any, size: int) -> Iterator[Any]:
    import pyarrow as pa

    places = {str(name): i for i, name in enumerate(frame.columns)}
    some = frame.iloc[:, [places[name] for name in schema.names]]
    some = some.set_axis(schema.names, axis=1)
    for start in range(0, len(some), size):
        yield pa.RecordBatch.from_pandas(
            some.iloc[start : start + size], schema=schema, preserve_index=False
        )
