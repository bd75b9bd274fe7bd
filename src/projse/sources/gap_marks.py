"""What stands for a gap in CSV files: as users name it, and as files may spell it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

WHOLE = re.compile(r"([+-]?(?:0|[1-9]\d*))(?:\.0+)?")


def gap_marks(given: Any) -> tuple[str, ...]:
    """Return what marks gaps, each once, in an order that does not depend on how it was given."""
    if given is None:
        return ()
    items = list(given) if _are_several(given) else [given]
    if not all(isinstance(item, str | Real) and not isinstance(item, bool) for item in items):
        raise TypeError(
            f"na_values={given!r} must be what stands for a gap in CSV files, such as '?', or "
            "several of them, for all columns alike."
        )
    return tuple(sorted({_text(item) for item in items}))


def spellings(mark: str, fraction: str) -> list[str]:
    """Return how files may write a mark: whole numbers with and without zeros for fractions.

    Where a blank follows each comma, or fills a column up, it is part of the text; not so in
    numbers.
    """
    whole = WHOLE.fullmatch(mark)
    forms = [mark]
    if whole is not None:
        forms += [whole[1], *(f"{whole[1]}{fraction}{zeros}" for zeros in ("0", "00"))]
    return [
        f"{before}{form}{behind}" for form in forms for before in ("", " ") for behind in ("", " ")
    ]


def _are_several(given: Any) -> bool:
    return isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)


def _text(mark: Any) -> str:
    is_whole = not isinstance(mark, str) and mark == mark // 1
    return str(int(mark)) if is_whole else str(mark)
