"""Leverage: how much of a variable's spread a single row makes up.

Moments cannot tell: a column that is 0 but for one row and a column of noise may have the same mean
and the same sum of squares. So rows are looked at, where they are at hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import betaincinv

from projse.moments.sums import Moments
from projse.sources.rows import Rows

Array = NDArray[Any]

HIGH = 1 / 3
"""Leverage above this: three rows that stand out alike have less each, one or two have more."""

MIN_ROWS = 20
"""One or two rows are few only among so many."""

CHANCE = 1e-6
"""Of normal columns at most this share has a row of high leverage: with few rows, more is asked."""

SAMPLE_ROWS = 4096
"""Columns whose spread so many rows share as they should are not read any further."""

EVEN = 0.8
"""Share of the spread that a sample shows, less its two largest squares, where no row stands out:
with one that has a third of it, others show two thirds."""


def on_few_rows(
    rows: Rows, columns: Array, *, center: bool, moments: Moments | None = None
) -> NDArray[np.bool_]:
    """Tell which columns of X have a third of their squares in one row, or more, not by chance.

    Parameters
    ----------
    rows : Rows
    columns : ndarray of int of shape (k,)
    center : bool
        Squares are about the mean.
    moments : Moments or None
        Of these rows: where there are many of them, most columns then cost a sample.

    Returns
    -------
    ndarray of bool of shape (k,)
        A column that differs from a constant in one row is found from 20 rows on, in two from 50.
    """
    found = np.zeros(len(columns), dtype=bool)
    rows = rows.counted()
    m = rows.n_samples
    if m < MIN_ROWS or not len(columns):
        return found
    suspects = np.ones(len(columns), dtype=bool)
    if moments is not None and m > 4 * SAMPLE_ROWS:
        suspects = ~_looks_even(rows, columns, center, moments)
    # A normal column's share in a direction follows Beta(1/2, (d − 1)/2), and a row is one.
    d = m - int(center)
    high = max(HIGH, 1 - float(betaincinv((d - 1) / 2, 0.5, CHANCE / m)))
    found[suspects] = largest_leverage(rows, columns[suspects], center=center) > high
    return found


def largest_leverage(rows: Rows, columns: Array, *, center: bool) -> Array:
    """Return the largest share of one row in the sum of squares of some columns of X.

    Parameters
    ----------
    rows : Rows
        Of weights above 0.
    columns : ndarray of int of shape (k,)
    center : bool
        Squares are about the mean.

    Returns
    -------
    ndarray of shape (k,)
        ``max w d² / Σ w d²``, in [0, 1]: about 1/n where n rows differ from all others, and alike;
        0 for a column without spread.

    Notes
    -----
    A few reads of each column, one column in memory at a time.
    """
    w = _weights(rows)
    return np.array([_leverage(_columns(rows.X, j)[:, 0], w, center) for j in columns[:, None]])


def _leverage(column: Array, w: Array, center: bool) -> float:
    size = float(np.abs(column).max(initial=0.0))
    if size == 0.0:
        return 0.0
    d = column / size  # whose squares neither overflow nor vanish
    if center:
        d -= (w @ d) / w.sum()
    d *= d
    d *= w
    total = float(d.sum())
    return float(d.max() / total) if total > 0 else 0.0


def _looks_even(rows: Rows, columns: Array, center: bool, moments: Moments) -> NDArray[np.bool_]:
    """Tell from rows at even distances which columns no row of high leverage can hide in."""
    sample = np.linspace(0, rows.n_samples - 1, SAMPLE_ROWS).astype(np.intp)
    w = _weights(rows)
    d = _columns(rows.X[sample], columns)
    mean, squares = moments.x_mean[columns], moments.xx_diag[columns]
    if center:
        d -= mean
    else:
        squares = squares + moments.sum_weights * mean**2
    d *= d
    d *= w[sample, None]
    d.partition(SAMPLE_ROWS - 2, axis=0)
    seen = d[:-2].sum(axis=0) / (w[sample].sum() / w.sum())
    even: NDArray[np.bool_] = seen >= EVEN * squares
    return even


def _columns(X: Any, columns: Array) -> Array:
    """Return a copy of some columns, dense and in float64."""
    chosen = X[:, columns]
    dense: Array = chosen.toarray() if sp.issparse(chosen) else np.asarray(chosen)
    return dense.astype(np.float64)


def _weights(rows: Rows) -> Array:
    return np.ones(rows.n_samples) if rows.weight is None else rows.weight
