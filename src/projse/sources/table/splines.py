"""A number as a small spline basis: scikit-learn's, evaluated by its polynomial pieces.

``SplineTransformer.transform`` takes eight times as long as the pieces do, and would be most of a
fit of many rows.
"""

from __future__ import annotations

from functools import lru_cache
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import SplineTransformer

Array = NDArray[Any]

KNOTS, DEGREE = 5, 3
"""Five knots of cubic splines: six columns beside the constant."""

CHUNK = 1 << 15
"""Values that are evaluated at a time: they stay in a cache."""


def knots_of(values: Array, weight: Array | None = None) -> tuple[tuple[float, ...], int]:
    """Return knots at quantiles of the values, and the degree; no knots for two distinct values.

    Quantiles are values (inverted distribution function): a weight of 2 is the value twice.

    A basis has no more columns than there are distinct values to tell apart: with three of them it
    is a parabola. Where many values are equal, the quantiles of the distinct ones are taken, so
    that knots do not coincide.
    """
    # Mostly a few values tell that there are enough, and all need not be sorted.
    distinct = np.unique(values[:1000])
    if len(distinct) < KNOTS + DEGREE:
        distinct = np.unique(values)
    if len(distinct) < 3:
        return (), DEGREE
    degree = min(DEGREE, len(distinct) - 1)
    shares = np.linspace(0, 1, min(max(len(distinct) + 1 - DEGREE, 2), KNOTS))
    knots = _quantiles(values, weight, shares)
    if not _apart(knots):
        knots = np.quantile(np.unique(values), shares)
    return (tuple(float(knot) for knot in knots), degree) if _apart(knots) else ((), DEGREE)


def spline_columns(values: Array, knots: tuple[float, ...], degree: int) -> Array:
    """Evaluate the basis without its last function (they add up to 1); constant beyond the knots.

    Parameters
    ----------
    values : ndarray of shape (n,)
        NaN gives zeros.
    knots : tuple of float
    degree : int

    Returns
    -------
    ndarray of shape (n, len(knots) + degree - 2)
    """
    pieces = _pieces(knots, degree)
    out = np.empty((len(values), pieces.shape[2]))
    for start in range(0, len(values), CHUNK):
        _evaluate(values[start : start + CHUNK], knots, pieces, out[start : start + CHUNK])
    return out


def _evaluate(values: Array, knots: tuple[float, ...], pieces: Array, out: Array) -> None:
    x = np.clip(values, knots[0], knots[-1])
    piece = np.zeros(len(x), dtype=np.int8)
    for knot in knots[1:-1]:
        piece += x >= knot
    gap = np.isnan(x)
    if gap.any():
        piece[gap] = -1
        out[gap] = 0.0
    for i, coefficients in enumerate(pieces):
        here = np.flatnonzero(piece == i)
        powers = np.empty((len(coefficients), len(here)))
        powers[0] = 1.0
        np.subtract(x[here], knots[i], out=powers[1])
        for k in range(2, len(powers)):
            np.multiply(powers[k - 1], powers[1], out=powers[k])
        out[here] = powers.T @ coefficients


def _quantiles(values: Array, weight: Array | None, shares: Array) -> Array:
    if weight is None:
        places = np.clip(np.ceil(shares * len(values)).astype(np.intp) - 1, 0, None)
        return np.partition(values, np.unique(places))[places]
    order = np.argsort(values)
    heap = np.cumsum(weight[order])
    places = np.searchsorted(heap, shares * heap[-1])
    return values[order[np.minimum(places, len(values) - 1)]]


@lru_cache(maxsize=4096)
def _pieces(knots: tuple[float, ...], degree: int) -> Array:
    """Coefficients of each piece: shape (pieces, degree + 1, functions)."""
    base = np.array(knots).reshape(-1, 1)
    transformer = SplineTransformer(
        knots=base, degree=degree, extrapolation="constant", include_bias=False
    ).fit(base)
    basis = transformer.bsplines_[0]
    left = base[:-1, 0]
    taylor = [basis(left, nu=m) / factorial(m) for m in range(degree + 1)]
    return np.ascontiguousarray(np.stack(taylor, axis=1)[:, :, :-1])


def _apart(knots: Array) -> bool:
    """Whether knots lie so far apart that rounding cannot tell them together."""
    size = np.abs(knots).max()
    return bool(np.diff(knots).min() > 1e-9 * max(knots[-1] - knots[0], 1e-3 * size))
