"""A file whose rows were read before, and are held in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from projse.sources.columns import Field
from projse.sources.parts import ArrowPart, Reading


class HeldPart(ArrowPart):
    """Hands out an Arrow table under the name of the part that it was read from."""

    repeatable = True

    def __init__(self, part: ArrowPart, table: Any) -> None:
        self.part, self.table = part, table
        self.label, self.path, self.size = part.label, part.path, part.size
        self.na_values, self.takes_marks = part.na_values, part.takes_marks

    def fingerprint(self, content: bool = False) -> dict[str, Any]:
        """Return that of the part."""
        return self.part.fingerprint(content)

    def _fields(self) -> list[Field]:
        return self.part.fields()

    def _open(self, names: list[str], reading: Reading) -> tuple[Any, Iterator[Any]]:
        some = self.table.select(names)
        return some.schema, iter(some.to_batches(max_chunksize=reading.batch_rows))
