"""Weights as counts of rows: what they say where they are, and where they are not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def are_whole(weight: Array | None) -> bool:
    """Tell whether weights are whole numbers; without any, each row counts once."""
    return weight is None or bool((weight == np.rint(weight)).all())


def whole_in_both(a: bool | None, b: bool | None) -> bool | None:
    """Tell it of the weights of two sets of rows, of which it may be unknown."""
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def are_no_counts(sum_weights: float, n_rows: int) -> bool:
    """Tell weights on another scale (shares, say) from repetitions of rows, doubtful ones less."""
    return sum_weights < n_rows / 2


def rows_that_count(sum_weights: float, n_rows: int) -> float:
    """Return the number of rows, each as often as its weight says, if that is what weights say."""
    return n_rows if are_no_counts(sum_weights, n_rows) else sum_weights


def counts_caveat(sum_weights: float, n_rows: int) -> str:
    """Say what p-values take weights for, where it matters; else nothing."""
    each_once = abs(sum_weights - n_rows) <= 1e-9 * n_rows
    if each_once or are_no_counts(sum_weights, n_rows):
        return ""
    return (
        f"P-values take the weights as counts: {sum_weights:,.6g} rows instead of {n_rows:,}. If "
        "they are not, the p-values are wrong."
    )
