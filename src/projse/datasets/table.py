"""Rows of numbers in text, read strictly: no gaps, no missing values, no other words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from projse.datasets.content import damaged

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def read_table(lines: Sequence[str], delimiter: str | None, name: object) -> Floats:
    """Read one row of numbers a line; ``delimiter=None`` means white space."""
    if not lines:
        raise damaged(name, "it holds no rows")
    try:
        table: Floats = np.loadtxt(
            lines, dtype=np.float64, delimiter=delimiter, comments=None, ndmin=2
        )
    except ValueError as error:
        raise damaged(name, error) from error
    refuse_missing(table, name)
    return table


def refuse_missing(values: Floats, name: object) -> None:
    """Refuse NaN and infinity: none of the data sets has missing values."""
    finite = np.isfinite(values).all(axis=1)
    if not finite.all():
        raise damaged(name, f"row {int(np.argmin(finite))} has missing or infinite values")


def whole_numbers(values: Floats, name: object) -> Integers:
    """Return labels that were read as floats as what they are, whole numbers."""
    whole = values.astype(np.int64)
    if not np.array_equal(whole, values):
        odd = values[whole != values][0]
        raise damaged(name, f"{odd} is not a class label: labels are whole numbers")
    return whole
