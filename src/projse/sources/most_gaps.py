"""The column with the most gaps, for messages: it is why no row is complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from projse.sources.parts import Part, Reading, no_rows

if TYPE_CHECKING:
    from projse.sources.columns import Columns


def most_gaps(
    parts: Sequence[Part], columns: Columns | None, reading: Reading
) -> tuple[str, int] | None:
    """Read parts again and return the column with the most gaps, and how many those are.

    None where they cannot be read again, have no names, or have no gaps.
    """
    if columns is None or not all(part.repeatable for part in parts):
        return None
    counts: Counter[str] = Counter()

    def count(batch: Any) -> Any:
        for name in columns.all:
            gaps = batch.column(name).is_null(nan_is_null=True)
            counts[name] += gaps.true_count
        return no_rows(batch.schema)  # an empty slice would keep the whole batch in memory

    for part in parts:
        part.head(reading, 1, count)
    name, n = max(counts.items(), key=lambda item: item[1])  # the first of several
    return (name, n) if n else None
