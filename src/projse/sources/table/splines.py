"""A number as a small spline basis: scikit-learn's, evaluated without a look where a value lies.

``SplineTransformer.transform`` takes many times as long, and would be most of a fit of many rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import factorial, frexp
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

Array = NDArray[Any]

KNOTS, DEGREE = 5, 3
"""Five knots of cubic splines: six columns beside the constant."""


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


class Splines:
    """Bases of some numbers that have as many knots and the same degree, evaluated together.

    Without the last function of each, since all of them add up to 1; constant beyond the knots.

    Within a piece a spline is a polynomial of how far into it a value lies, and outside of it that
    distance, clipped to the piece, does not change. So a spline is a constant and a sum over pieces
    of polynomials of clipped distances: a few loops over the values, whichever piece they lie in,
    and one small product. They are long enough for threads to run side by side.

    Parameters
    ----------
    knots : sequence of tuple of float
        Of each number.
    degree : int
    shift : ndarray of shape (numbers * n_functions,) or None
        What is subtracted from each function.
    """

    def __init__(
        self, knots: Sequence[tuple[float, ...]], degree: int, shift: Array | None = None
    ) -> None:
        pieces = [_pieces(own, degree) for own in knots]
        self.degree = degree
        self.scale = np.array([piece[0] for piece in pieces])[:, None]
        self.left, self.right, self.weights = (
            np.stack([piece[k] for piece in pieces]) for k in (1, 2, 3)
        )
        self.n_functions = self.weights.shape[1]
        if shift is not None:
            self.weights[:, :, 0] -= shift.reshape(len(knots), self.n_functions)
        self._memory = np.empty(0)

    def __call__(self, values: Sequence[Array], out: Array) -> None:
        """Write the bases of values, (n,) of each number, to (numbers, n_functions, n).

        ``degree * (len(knots) - 1)`` multiplications a value and function. NaN gives NaN.
        """
        n_numbers, n = len(values), len(values[0])
        n_pieces = self.left.shape[1]
        size = n_numbers * n * (1 + self.degree * n_pieces)
        if self._memory.size < size + n_numbers * n:
            self._memory = np.empty(size + n_numbers * n)
        scaled = self._memory[size : size + n_numbers * n].reshape(n_numbers, 1, n)
        for own, factor, place in zip(values, self.scale, scaled[:, 0], strict=True):
            np.multiply(own, factor, out=place)
        powers = self._memory[:size].reshape(n_numbers, -1, n)
        powers[:, 0] = 1.0
        first = powers[:, 1 : 1 + n_pieces]
        # np.clip, of limits that differ from number to number, takes three times as long.
        np.maximum(scaled, self.left, out=first)
        np.minimum(first, self.right, out=first)
        np.subtract(first, self.left, out=first)
        for k in range(1, self.degree):
            before = powers[:, 1 + (k - 1) * n_pieces : 1 + k * n_pieces]
            np.multiply(before, first, out=powers[:, 1 + k * n_pieces : 1 + (k + 1) * n_pieces])
        np.matmul(self.weights, powers, out=out)


def _quantiles(values: Array, weight: Array | None, shares: Array) -> Array:
    if weight is None:
        places = np.clip(np.ceil(shares * len(values)).astype(np.intp) - 1, 0, None)
        return np.partition(values, np.unique(places))[places]
    order = np.argsort(values)
    heap = np.cumsum(weight[order])
    places = np.searchsorted(heap, shares * heap[-1])
    return values[order[np.minimum(places, len(values) - 1)]]


@lru_cache(maxsize=4096)
def _pieces(knots: tuple[float, ...], degree: int) -> tuple[float, Array, Array, Array]:
    """Return a factor of values, the ends of the pieces after it, and weights of the powers.

    The factor, a power of two, keeps powers within the range of floats and changes no digit.
    Weights have shape (functions, 1 + degree * pieces): of 1, of the distances into all pieces, of
    their squares, and so on.
    """
    scale = 2.0 ** -min(max(frexp(max(abs(knot) for knot in knots))[1], -1000), 1000)
    inner = scale * np.array(knots)
    steps = np.arange(1, degree + 1)
    # As SplineTransformer has it: the first and the last piece are repeated beyond the ends.
    before = inner[0] - steps[::-1] * (inner[1] - inner[0])
    behind = inner[-1] + steps * (inner[-1] - inner[-2])
    n_functions = len(knots) + degree - 1
    basis = BSpline(np.concatenate([before, inner, behind]), np.eye(n_functions), degree)
    base = inner[:, None]
    left, right = base[:-1], base[1:]
    taylor = [basis(left[:, 0], nu=m)[:, :-1] / factorial(m) for m in range(1, degree + 1)]
    weights = np.vstack([basis(left[:1, 0])[:, :-1], *taylor])
    return scale, left, right, np.ascontiguousarray(weights.T)


def _apart(knots: Array) -> bool:
    """Whether knots lie so far apart that rounding cannot tell them together."""
    size = np.abs(knots).max()
    return bool(np.diff(knots).min() > 1e-9 * max(knots[-1] - knots[0], 1e-3 * size))
