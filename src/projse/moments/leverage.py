"""Leverage: how much of a variable's spread a single row makes up.

Squares and means cannot tell: a column that is 0 but for one row and a column of noise may have the
same of both. The smallest and the largest value can: the row of one of them is furthest from the
mean. Where they were not taken, rows in memory are looked at.

A row of weight w counts as w rows, whose leverages are those of single ones: ``max d² / Σ w d²``.
Weights that are no counts of rows are taken as shares, and have a mean of 1.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import betaincinv

from projse.moments.counts import rows_that_count
from projse.moments.extremes import HIGH, Extremes
from projse.moments.rounding import squared_norms
from projse.moments.sums import Moments
from projse.sources.rows import Rows

Array = NDArray[Any]

MIN_ROWS = 20
"""One or two rows are few only among so many."""

CHANCE = 1e-6
"""Of normal columns at most this share has a row of high leverage: with few rows, more is asked."""

SAMPLE_ROWS = 4096
"""Columns whose spread so many rows share as they should are not read any further."""

EVEN = 0.8
"""Share of the spread that a sample shows, less twice its largest square, where no row stands out:
with one that has two fifths of it, others show three fifths."""

CERTAIN = 3.0
"""So many standard errors of a sample's sum are left out of it."""

MANY_ROWS = 4 * SAMPLE_ROWS
"""Of fewer rows, extremes are taken in no time."""

TIGHT = 0.35
"""Where bounds leave a row less than this share of the squares, it has no high leverage."""

TILE_ELEMENTS = 1 << 20
"""Columns of up to this many values (8 MiB) are looked at together."""


@lru_cache
def high_leverage(n_rows: float, center: bool) -> float:
    """Return the leverage above which a column rests on one or two rows, and not by chance.

    Infinite for fewer than 20 rows. A column that differs from a constant in one row is found from
    20 rows on, in two from 50.
    """
    if n_rows < MIN_ROWS:
        return float("inf")
    return max(HIGH, normal_leverage(n_rows, CHANCE, center))


def normal_leverage(n_rows: float, chance: float, center: bool) -> float:
    """Return what the largest leverage of a normal column exceeds at most with this chance."""
    # A normal column's share in a direction follows Beta(1/2, (d − 1)/2), and a row is one.
    d = n_rows - int(center)
    return 1 - float(betaincinv((d - 1) / 2, 0.5, chance / n_rows))


def leverage_by_extremes(
    moments: Moments,
    columns: Any,
    low: Array,
    high: Array,
    *,
    center: bool,
    view: str = "X",
    squares: Array | None = None,
) -> Array:
    """Return the largest share of one row in the sum of squares of columns of a view.

    Parameters
    ----------
    moments : Moments
    columns : slice, or ndarray of int of shape (k,)
    low, high : ndarray of shape (k,)
        Their smallest and largest values.
    center : bool
        Squares are about the mean.
    view : {"X", "y"}
    squares : ndarray or None
        Squared norms of all columns of the view, where they are known.

    Returns
    -------
    ndarray of shape (k,)
        As :func:`largest_leverage` has it, but for rounding.
    """
    if squares is None:
        squares = squared_norms(moments, view, center)
    squares = squares[columns]
    means = moments.x_mean if view == "X" else moments.y_mean
    assert means is not None
    mean = means[columns] if center else 0.0
    n = rows_that_count(moments.sum_weights, moments.n_samples)
    deviation = np.maximum(high - mean, mean - low)
    units = np.divide(deviation, np.sqrt(squares), out=np.zeros_like(squares), where=squares > 0)
    leverage: Array = units**2 * (moments.sum_weights / n)
    return leverage


def squares_bound_extremes(rows: Rows) -> bool:
    """Whether squares of batches bound the extremes of rows well enough to be worth a look.

    Rows are many, and plain numbers without weights: a row that counts for less than one would
    hide, and dates go by their span.
    """
    return (
        isinstance(rows.X, np.ndarray)
        and (rows.Y is None or isinstance(rows.Y, np.ndarray))
        and rows.weight is None
        and not rows.n_covariates
        and rows.encoding is None
        and rows.n_samples > MANY_ROWS
    )


def take_loose_extremes(moments: Moments, rows: Rows) -> None:
    """Take the values of those columns whose bounds leave it open whether a row stands out.

    ``moments`` of these rows, with bounds for extremes, are changed in place.
    """
    views = [("X", rows.X)] if moments.one_view else [("X", rows.X), ("y", rows.Y)]
    for view, values in views:
        names = [f"{view.lower()}_{end}" for end in ("min", "max")]
        low, high = (getattr(moments, name) for name in names)
        loose = np.zeros(len(low), dtype=bool)
        for center in (True, False):
            given: Any = {"center": center, "view": view}
            # Not above it: what is not known to be below is looked at, NaN as well.
            loose |= ~(leverage_by_extremes(moments, slice(None), low, high, **given) < TIGHT)
        if loose.any():
            taken = Extremes.of(values, loose)
            low[loose], high[loose] = taken.about(0.0, moments.n_samples)
        setattr(moments, f"{view.lower()}_bounded", ~loose)


def references_on_few_rows(of: Rows | Moments, center: bool, squares: Array | None = None) -> bool:
    """Tell whether one or two rows make up any of the references, as far as that is known.

    ``squares`` are the squared norms of the references of moments, where they are known.

    A variable that one row makes up correlates by chance with a reference as far as that row makes
    up the reference: ``r²`` is at most its leverage. Only where there is such a reference can it
    seem to be explained. One view is its own reference.
    """
    if isinstance(of, Rows):
        if of.one_view:
            return True
        views = replace(of, X=of.references, Y=None, classes=None, n_covariates=0, z_variables=None)
        return bool(on_few_rows(views, np.arange(of.n_references), center=center).any())
    leverage = reference_leverages(of, center, squares)
    if leverage is None:
        return True
    n = rows_that_count(of.sum_weights, of.n_samples)
    return bool((leverage > high_leverage(n, center)).any())


def reference_leverages(of: Moments, center: bool, squares: Array | None = None) -> Array | None:
    """Return the largest share of one row in each reference, shape (n_references,).

    None where it is not known, and in one view. Of class labels the counts of rows tell it.
    ``squares`` are as in :func:`references_on_few_rows`.
    """
    if of.one_view or of.y_mean is None:
        return None
    references = slice(of.n_references)
    if of.classes is not None:
        shares = of.y_mean[references]
        counts = shares * rows_that_count(of.sum_weights, of.n_samples)
        inside = (1 - shares) if center else np.ones_like(shares)
        return np.divide(inside, counts, out=np.zeros_like(counts), where=counts > 0)
    if of.y_min is None or of.y_max is None:
        return None
    extremes = of.y_min[references], of.y_max[references]
    given: Any = {"center": center, "view": "y", "squares": squares}
    return leverage_by_extremes(of, references, *extremes, **given)


def few_rows_by_extremes(
    moments: Moments, columns: Any, low: Array, high: Array, *, center: bool
) -> NDArray[np.bool_]:
    """Tell which of these columns have two fifths of their squares in one row, not by chance."""
    n = rows_that_count(moments.sum_weights, moments.n_samples)
    leverage = leverage_by_extremes(moments, columns, low, high, center=center)
    few: NDArray[np.bool_] = leverage > high_leverage(n, center)
    return few


def on_few_rows(
    rows: Rows, columns: Array, *, center: bool, moments: Moments | None = None
) -> NDArray[np.bool_]:
    """Tell which columns of X have two fifths of their squares in one row, not by chance.

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
    """
    found = np.zeros(len(columns), dtype=bool)
    rows = rows.counted()
    n = rows_that_count(float(_weights(rows).sum()), rows.n_samples)
    high = high_leverage(n, center)
    if np.isinf(high):
        return found
    suspects = np.ones(len(columns), dtype=bool)
    if moments is not None and rows.n_samples > MANY_ROWS:
        suspects = ~_looks_even(rows, columns, center, moments)
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
        About 1/n where n rows differ from all others, and alike; 0 for a column without spread.

    Notes
    -----
    A few reads of each column, and some columns in memory at a time.
    """
    w = _weights(rows)
    out = np.empty(len(columns))
    step = max(1, TILE_ELEMENTS // max(rows.n_samples, 1))
    for start in range(0, len(columns), step):
        tile = slice(start, start + step)
        out[tile] = _leverages(_columns(rows.X, columns[tile]), w, center)
    return out * (w.sum() / rows_that_count(float(w.sum()), rows.n_samples))


def _leverages(d: Array, w: Array, center: bool) -> Array:
    """Return ``max d² / Σ w d²`` of columns, which are overwritten."""
    size = np.abs(d).max(axis=0, initial=0.0)
    d /= np.where(size > 0, size, 1.0)  # so that squares neither overflow nor vanish
    if center:
        d -= (w @ d) / w.sum()
    d *= d
    total = w @ d
    shares: Array = np.divide(d.max(axis=0), total, out=np.zeros_like(total), where=total > 0)
    return shares


def _looks_even(rows: Rows, columns: Array, center: bool, moments: Moments) -> NDArray[np.bool_]:
    """Tell from a sample of rows which columns no row of high leverage can hide in."""
    # One of each run of rows, not always the same one: rows may follow a period.
    places = np.arange(SAMPLE_ROWS) + np.random.default_rng(0).random(SAMPLE_ROWS)
    sample = (places * (rows.n_samples / SAMPLE_ROWS)).astype(np.intp)
    total, w = moments.sum_weights, rows.weight
    if w is not None and w.min() < total / rows_that_count(total, rows.n_samples):
        # A row that counts for less than one hides where it stands out.
        return np.zeros(len(columns), dtype=bool)
    d = _columns(rows.X[sample], columns)
    mean, squares = moments.x_mean[columns], moments.xx_diag[columns]
    if center:
        d -= mean
    else:
        squares = squares + total * mean**2
    d *= d
    if w is not None:
        d *= w[sample, None]
    d /= np.where(squares > 0, squares, 1.0)
    share = (SAMPLE_ROWS if w is None else w[sample].sum()) / total
    # Where few rows share the squares, a sample may hold more than its part of them by chance.
    by_chance = CERTAIN * np.sqrt(np.einsum("ij,ij->j", d, d))
    seen = (d.sum(axis=0) - 2 * d.max(axis=0) - by_chance) / share
    even: NDArray[np.bool_] = (seen >= EVEN) | (squares == 0)
    return even


def _columns(X: Any, columns: Array) -> Array:
    """Return a copy of some columns, dense and in float64."""
    chosen = X[:, columns]
    dense: Array = chosen.toarray() if sp.issparse(chosen) else np.asarray(chosen)
    return dense.astype(np.float64, copy=False)


def _weights(rows: Rows) -> Array:
    return np.ones(rows.n_samples) if rows.weight is None else rows.weight
