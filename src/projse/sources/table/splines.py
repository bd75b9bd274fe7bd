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


def knots_of(values: Array) -> tuple[float, ...]:
    """Return knots at quantiles of the values; none for up to two distinct values.

    A basis has no more columns than there are distinct values to tell apart. Where many values
    are equal, the quantiles of the distinct ones are taken, so that knots do not coincide.
    """
    distinct = np.unique(values)
    if len(distinct) < 3:
        return ()
    n_knots = min(max(len(distinct) + 1 - DEGREE, 2), KNOTS)
    shares = np.linspace(0, 1, n_knots)
    knots = np.quantile(values, shares)
    if not _apart(knots):
        knots = np.quantile(distinct, shares)
    return tuple(float(knot) for knot in knots) if _apart(knots) else ()


def degree_of(n_distinct: int) -> int:
    """Return the degree of the splines: with three distinct values, a parabola."""
    return min(DEGREE, n_distinct - 1)


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
    x = np.clip(values, knots[0], knots[-1])
    gap = np.isnan(x)
    piece = np.zeros(len(x), dtype=np.int8)
    for knot in knots[1:-1]:
        piece += x >= knot
    piece[gap] = -1
    out = np.zeros((len(x), pieces.shape[2]))
    for i, coefficients in enumerate(pieces):
        here = np.flatnonzero(piece == i)
        powers = np.ones((degree + 1, len(here)))
        powers[1:] = x[here] - knots[i]
        np.multiply.accumulate(powers, axis=0, out=powers)
        out[here] = powers.T @ coefficients
    return out


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
