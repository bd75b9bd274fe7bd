"""A file as a part of a source, with the columns that its path stands for."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from projse.sources import files as _files
from projse.sources.arrow_columns import field_of
from projse.sources.columns import Field
from projse.sources.parts import ArrowPart, Reading, import_arrow


class FilePart(ArrowPart):
    """A file, with the columns that its path stands for."""

    repeatable = True

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
        """Open the file for Arrow, whatever bytes its name has.

        Arrow reads ahead in threads of its own, which outlive a run that fails by a moment: a file
        of Python's in their hands then ends the process while Python shuts down. Nor is the file
        closed while they may still read: it is, once nobody holds it.
        """
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


def _constant_field(name: str, value: int | str | None) -> Field:
    if isinstance(value, int):
        return Field(name, "number", "int64", np.dtype(np.int64), by_default=False)
    return Field(name, "null" if value is None else "text", "string", by_default=False)
