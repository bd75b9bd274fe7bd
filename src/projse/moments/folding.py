"""Rows of a thin matrix seen as a few long ones: loops along memory are then worth their start."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

LONG_ROW = 1024
"""Elements of a row from which the start of a loop no longer shows."""


def rows_a_fold(n_columns: int) -> int:
    """How many rows make a long one."""
    return max(1, LONG_ROW // max(n_columns, 1))


def fold(rows: Array, most: int = LONG_ROW) -> tuple[Array, Array]:
    """Split C-contiguous rows (m, n) into long ones (m // k, k n) and those left over; views.

    At most ``most`` rows make a long one.
    """
    m, n = rows.shape
    k = min(rows_a_fold(n), most)
    whole = m - m % k
    return rows[:whole].reshape(m // k, k * n), rows[whole:]


def reduce_rows(operation: np.ufunc, values: Array) -> Array:
    """Reduce over all axes but the last: that of the columns."""
    # One column is a long row already.
    if values.ndim == 2 and values.shape[1] > 1 and values.flags.c_contiguous and values.size:
        # A long row is reduced as well: as many rows in each as there are long ones, at most.
        long, rest = fold(values, math.isqrt(len(values)))
        if len(long) > 1:
            some = operation.reduce(long, axis=0).reshape(-1, values.shape[1])
            reduced = operation.reduce(some, axis=0)
            return operation(reduced, operation.reduce(rest, axis=0)) if len(rest) else reduced
    return operation.reduce(values, axis=tuple(range(values.ndim - 1)))


class Shift:
    """Subtracts a shift from rows of n columns, whatever the order they lie in."""

    def __init__(self, shift: Array) -> None:
        self.shift = shift
        self.long = np.tile(shift, rows_a_fold(len(shift)))

    def subtract(self, values: Array, out: Array) -> None:
        """Write ``values − shift``; both of shape (..., n)."""
        if values.flags.c_contiguous and out.flags.c_contiguous and values.size:
            n = len(self.shift)
            rows, rest = fold(values.reshape(-1, n))
            to, to_rest = fold(out.reshape(-1, n))
            np.subtract(rows, self.long, out=to, casting="unsafe")
            values, out = rest, to_rest
        np.subtract(values, self.shift, out=out, casting="unsafe")
