"""Strings that look like numbers or dates: categories to us, and hardly meant so.

"1.234,56", "€ 12", "31.12.2024", or a column of numbers in which "-" or "?" stands for a gap: each
value is a level of its own, all are rare, and nothing would be found without a word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MANY_LEVELS = 20
"""A column of fewer different values may well be a category."""

MOST = 0.8
"""Share of the values that look alike."""

MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
DATE = re.compile(
    rf"\d{{1,4}}(?:([./-])\d{{1,2}}\1|[ .-]+{MONTH}[ ,.-]+)\d{{1,4}}([ T].*)?"
    rf"|{MONTH}[ .]+\d{{1,2}}[ ,]+\d{{4}}",
    re.IGNORECASE,
)
CODE = re.compile(r"\d+")
SIGN = "[€$£%]|EUR|USD|GBP|CHF|NOK|SEK|DKK"
NUMBER = re.compile(rf"({SIGN})? ?[+-]?\d[\d.,' ]*([eE][+-]?\d+)? ?({SIGN})?")


def looks_like(levels: Sequence[str], *, marks: bool = False) -> str | None:
    """Say what different strings look like, if not like categories; None: they do.

    ``marks`` tells that they are read from text, in which users may name what marks a gap.
    """
    values = [level.strip() for level in levels]
    if len(values) <= MANY_LEVELS:
        return None
    for pattern, what in (
        (DATE, "dates ({0!r}{1}); make dates of them, as 2024-12-31 is in a file"),
        (NUMBER, "numbers ({0!r}{1}); make numbers of them"),
    ):
        alike = [value for value in values if pattern.fullmatch(value)]
        # Digits alone are codes: numbers would have been stored as such.
        if len(alike) < MOST * len(values) or all(CODE.fullmatch(value) for value in values):
            continue
        others = [value for value in values if not pattern.fullmatch(value)]
        beside = ""
        if others:
            gap = "is no gap: put None in its place"
            if marks:
                gap = "marks no gap unless na_values (--na) says so"
            beside = f" beside {others[0]!r}, which {gap}"
        return what.format(next((v for v in alike if not CODE.fullmatch(v)), alike[0]), beside)
    return None
