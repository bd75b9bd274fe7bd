"""Columns that number the rows, told by their moments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.moments.rounding import ROUNDING
from projse.moments.sums import Moments

LEAST_ROWS = 30
"""Of fewer rows, other whole numbers may well have the mean and the spread of 1, 2, 3, …"""

CLOSE = 1e-9


def running_numbers(moments: Moments) -> NDArray[np.intp]:
    """Return the columns that hold k, k + 1, k + 2, … in any order, one a row.

    n such numbers have a sum of squares about their mean of ``n (n² − 1) / 12``, and a mean that
    lies ``(n − 1) / 2`` above a whole number. Columns of tables may have been shifted.
    """
    n: Any = moments.n_samples
    if n < LEAST_ROWS or moments.sum_weights != n:
        return np.empty(0, dtype=np.intp)
    tol = max(CLOSE, ROUNDING * moments.eps)
    squares = n * (float(n) ** 2 - 1) / 12
    found = np.abs(moments.xx_diag - squares) <= tol * squares
    if moments.x_variables is None:
        first = moments.x_mean - (n - 1) / 2
        found &= np.abs(first - np.round(first)) <= tol * (n + np.abs(first))
    else:
        found &= np.array([column.kind == "value" for column in moments.x_variables.columns])
    return np.flatnonzero(found)
