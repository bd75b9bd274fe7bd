"""Strings that look like numbers or dates: categories to us, and hardly meant so.

"1.234,56", "€ 12", "31.12.2024", or a column of numbers in which "-" or "?" stands for a gap: each
value is a level of its own, all are rare, and nothing would be found without a word.
"""

from __future__ import annotations

import re
from typing import Any

import narwhals as nw
import numpy as np

from projse.sources.table import read
from projse.sources.table.frame import Frame

SAMPLE_ROWS = 500
"""Rows whose values are looked at."""

MANY_LEVELS = 20
"""A column of fewer different values among them may well be a category."""

MOST = 0.8
"""Share of the values that look alike."""

DATE = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}([ T].*)?")
CODE = re.compile(r"\d+")
SIGN = "[€$£%]|EUR|USD|GBP|CHF|NOK|SEK|DKK"
NUMBER = re.compile(rf"({SIGN})? ?[+-]?\d[\d.,' ]*([eE][+-]?\d+)? ?({SIGN})?")


def disguised(frame: Frame, j: int) -> str | None:
    """Say what a column of strings looks like, if not like a category; None: it does."""
    sample = frame.rows(0, SAMPLE_ROWS).column(j)
    text = sample.dtype.kind in "OUT" if isinstance(sample, np.ndarray) else _is_text(sample)
    if not text:
        return None
    values = [key.strip() for key in read.levels(sample)[1]]
    if len(values) <= MANY_LEVELS:
        return None
    for pattern, what in (
        (DATE, "dates ({0!r}); make dates of them, as 2024-12-31 is in a file"),
        (NUMBER, "numbers ({0!r}{1}); make numbers of them"),
    ):
        alike = [value for value in values if pattern.fullmatch(value)]
        # Digits alone are codes: numbers would have been stored as such.
        if len(alike) < MOST * len(values) or all(CODE.fullmatch(value) for value in values):
            continue
        others = [value for value in values if not pattern.fullmatch(value)]
        beside = f" beside {others[0]!r}, which in a file is no mark of a gap" if others else ""
        return what.format(next((v for v in alike if not CODE.fullmatch(v)), alike[0]), beside)
    return None


def _is_text(series: Any) -> bool:
    return bool(series.dtype in (nw.String, nw.Object))
