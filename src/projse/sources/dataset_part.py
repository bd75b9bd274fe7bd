"""Fragments of a pyarrow dataset."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from projse.exceptions import SourceError
from projse.sources import files as _files
from projse.sources.arrow_columns import field_of
from projse.sources.columns import Field
from projse.sources.parts import ArrowPart, Reading


class FragmentPart(ArrowPart):
    """A fragment of a pyarrow dataset: a file wherever it lies, or a part in memory."""

    def __init__(self, dataset: Any, fragment: Any, number: int) -> None:
        self.dataset, self.fragment = dataset, fragment
        self.path = getattr(fragment, "path", None) or None
        self.repeatable = self.path is not None
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
