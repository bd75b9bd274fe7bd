"""A number as a small spline basis: scikit-learn's, evaluated without a look where a value lies.

``SplineTransformer.transform`` takes many times as long, and would be most of a fit of many rows.
"""

from __future__ import annotations

from dataclasses import dataclass
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


class Spline:
    """The basis of a number: without its last function, since all add up to 1; constant beyond.

    A spline is a sum of a few powers of clipped distances, which are made by loops over all values
    whichever piece they lie in; one small product then makes all functions.

    Parameters
    ----------
    knots : tuple of float
    degree : int
    shift : ndarray of shape (n_functions,) or None
        What is subtracted from each function.
    """

    def __init__(self, knots: tuple[float, ...], degree: int, shift: Array | None = None) -> None:
        self._powers = _powers_of(knots, degree)
        self._weights = self._powers.weights
        if shift is not None:
            self._weights = self._weights.copy()
            self._weights[:, 0] -= shift
        self.n_functions, self.n_powers = self._weights.shape

    def __call__(self, values: Array, out: Array, memory: Array) -> None:
        """Write the basis of values of shape (n,) to (n_functions, n). NaN gives NaN.

        ``memory`` has room for two matrices of ``n_powers`` rows.
        """
        powers, spare = memory[: 2 * self.n_powers * len(values)].reshape(2, self.n_powers, -1)
        powers[0] = 1.0
        np.multiply(values, self._powers.scale, out=powers[1])
        self._powers.fill(powers, spare)
        np.matmul(self._weights, powers, out=out)


def _quantiles(values: Array, weight: Array | None, shares: Array) -> Array:
    if weight is None:
        places = np.clip(np.ceil(shares * len(values)).astype(np.intp) - 1, 0, None)
        return np.partition(values, np.unique(places))[places]
    order = np.argsort(values)
    heap = np.cumsum(weight[order])
    places = np.searchsorted(heap, shares * heap[-1])
    return values[order[np.minimum(places, len(values) - 1)]]


@dataclass(frozen=True)
class _OverAll:
    """Powers of the distance from one knot, and the highest power of those beyond other knots.

    A spline is one polynomial everywhere, and one more term beyond each knot on either side of the
    piece that the polynomial is of: as few powers as there are functions. Where the terms cancel
    digits are lost, the more the narrower some pieces are than others; least if the polynomial is
    that of a wide piece.
    """

    scale: float
    weights: Array
    ends: tuple[float, float]
    origin: float
    knots: Array
    n_left: int
    loss: float

    @classmethod
    def of(cls, scale: float, knots: Array, degree: int, piece: int, origin: float) -> _OverAll:
        """Take the polynomial of a piece, about an origin."""
        basis, low, high = _basis(knots, degree), knots[0], knots[-1]
        # Constant in every piece, and of the others there is but one value at a knot.
        steepest = basis((knots[1:] + knots[:-1]) / 2, nu=degree) / factorial(degree)
        own = [basis(origin, nu=m) / factorial(m) for m in range(degree)]
        side = np.where(np.arange(len(knots) - 2) < piece, -1.0, 1.0)[:, None]
        weights = np.vstack([*own, steepest[piece], side * np.diff(steepest, axis=0)])[:, :-1].T
        reach = np.where(side[:, 0] < 0, knots[1:-1] - low, high - knots[1:-1])
        farthest = max(origin - low, high - origin) ** np.arange(degree + 1)
        loss = float((np.abs(weights) @ np.concatenate([farthest, reach**degree])).max())
        inner = knots[1:-1, None]
        return cls(scale, np.ascontiguousarray(weights), (low, high), origin, inner, piece, loss)

    def fill(self, powers: Array, spare: Array) -> None:
        """Make 1, the powers, and the highest of those beyond the knots, of the value behind 1."""
        degree = len(powers) - 1 - len(self.knots)
        first, beyond = powers[1], powers[1 + degree :]
        np.maximum(first, self.ends[0], out=first)
        np.minimum(first, self.ends[1], out=first)
        np.subtract(first, self.knots, out=beyond)
        np.subtract(first, self.origin, out=first)
        np.minimum(beyond[: self.n_left], 0.0, out=beyond[: self.n_left])
        np.maximum(beyond[self.n_left :], 0.0, out=beyond[self.n_left :])
        for k in range(1, degree):
            np.multiply(powers[k], first, out=powers[k + 1])
        if degree == 2:
            np.square(beyond, out=beyond)
        elif degree == 3:
            np.multiply(beyond, np.square(beyond, out=spare[: len(beyond)]), out=beyond)


@dataclass(frozen=True)
class _ByPiece:
    """Powers of the distances into all pieces, clipped to them: no digit is lost, at any widths.

    Within a piece a spline is a polynomial of how far into it a value lies, and outside of it that
    distance, clipped to the piece, does not change.
    """

    scale: float
    weights: Array
    left: Array
    right: Array

    @classmethod
    def of(cls, scale: float, knots: Array, degree: int) -> _ByPiece:
        """Take the polynomials of all pieces."""
        basis = _basis(knots, degree)
        left, right = knots[:-1, None], knots[1:, None]
        taylor = [basis(left[:, 0], nu=m)[:, :-1] / factorial(m) for m in range(1, degree + 1)]
        weights = np.vstack([basis(left[:1, 0])[:, :-1], *taylor])
        return cls(scale, np.ascontiguousarray(weights.T), left, right)

    def fill(self, powers: Array, spare: Array) -> None:
        """Make 1, the distances into all pieces, their squares, … of the value behind 1."""
        n = len(self.left)
        value, first = spare[0], powers[1 : 1 + n]
        value[:] = powers[1]
        np.maximum(value, self.left, out=first)
        np.minimum(first, self.right, out=first)
        np.subtract(first, self.left, out=first)
        for start in range(1, len(powers) - n, n):
            np.multiply(powers[start : start + n], first, out=powers[start + n : start + 2 * n])


MOST_LOSS = 1 << 12
"""Terms that cancel may be so many times as large as what is left of them."""


@lru_cache(maxsize=4096)
def _powers_of(knots: tuple[float, ...], degree: int) -> _OverAll | _ByPiece:
    """Return the powers that make up a basis: the fewest, or those of every piece.

    Values are multiplied by a power of two first, which keeps powers within the range of floats and
    changes no digit.
    """
    scale = 2.0 ** -min(max(frexp(max(abs(knot) for knot in knots))[1], -1000), 1000)
    scaled = scale * np.array(knots)
    forms = [
        _OverAll.of(scale, scaled, degree, piece, float(scaled[end]))
        for piece in range(len(knots) - 1)
        for end in (piece, piece + 1)
    ]
    best = min(forms, key=lambda form: form.loss)
    return best if best.loss <= MOST_LOSS else _ByPiece.of(scale, scaled, degree)


def _basis(knots: Array, degree: int) -> BSpline:
    """All functions, as SplineTransformer has them: pieces at the ends are repeated beyond them."""
    steps = np.arange(1, degree + 1)
    before = knots[0] - steps[::-1] * (knots[1] - knots[0])
    behind = knots[-1] + steps * (knots[-1] - knots[-2])
    n_functions = len(knots) + degree - 1
    return BSpline(np.concatenate([before, knots, behind]), np.eye(n_functions), degree)


def _apart(knots: Array) -> bool:
    """Whether knots lie so far apart that rounding cannot tell them together."""
    size = np.abs(knots).max()
    return bool(np.diff(knots).min() > 1e-9 * max(knots[-1] - knots[0], 1e-3 * size))
