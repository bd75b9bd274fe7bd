"""A number as a small spline basis: scikit-learn's, evaluated without a look where a value lies.

``SplineTransformer.transform`` takes many times as long, and would be most of a fit of many rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import factorial, frexp
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

Array = NDArray[Any]
Fill = Callable[[Array, Array], None]

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
    """The bases of numbers: each without its last function, since all add up to 1; constant beyond.

    A spline is a sum of a few powers of clipped distances, which are made by loops over all values
    whichever piece they lie in; a small product then makes all functions. Numbers that are
    :func:`alike` are evaluated side by side: few and long loops.

    Parameters
    ----------
    knots : sequence of tuple of float
        Of each number.
    degree : int
    shift : ndarray of shape (n_numbers, n_functions) or None
        What is subtracted from each function.
    """

    def __init__(
        self, knots: Sequence[tuple[float, ...]], degree: int, shift: Array | None = None
    ) -> None:
        forms: list[Any] = [_powers_of(own, degree) for own in knots]
        self._scales = [form.scale for form in forms]
        self._fill = type(forms[0]).filler(forms)
        self._weights = np.stack([form.weights for form in forms])
        if shift is not None:
            self._weights[:, :, 0] -= shift
        _, self.n_functions, self.n_powers = self._weights.shape

    def __call__(self, values: Sequence[Array], out: Array, memory: Array) -> None:
        """Write the bases of arrays of shape (n,) to (n_numbers, n_functions, n). NaN gives NaN.

        ``memory`` has room for two such arrays of ``n_powers``.
        """
        room = memory[: 2 * len(values) * self.n_powers * len(values[0])]
        powers, spare = room.reshape(2, len(values), self.n_powers, -1)
        powers[:, 0] = 1.0
        for own, scale, first in zip(values, self._scales, powers[:, 1], strict=True):
            np.multiply(own, scale, out=first)
        self._fill(powers, spare)
        np.matmul(self._weights, powers, out=out)


def alike(knots: tuple[float, ...], degree: int) -> tuple[type, int, int]:
    """Return what numbers must have in common for their splines to be evaluated side by side."""
    return type(_powers_of(knots, degree)), len(knots), degree


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
    bounds: Array
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
        bounds = np.where(side < 0, [[-np.inf, 0.0]], [[0.0, np.inf]])
        return cls(scale, weights, (low, high), origin, knots[1:-1], bounds, loss)

    @staticmethod
    def filler(forms: Sequence[_OverAll]) -> Fill:
        """Make 1, the powers, and the highest of those beyond the knots, of the value behind 1."""
        low, high = (np.array([form.ends[end] for form in forms])[:, None] for end in (0, 1))
        origin = np.array([form.origin for form in forms])[:, None]
        knots = np.stack([form.knots for form in forms])[..., None]
        least, most = np.stack([form.bounds for form in forms]).transpose(2, 0, 1)[..., None]

        def fill(powers: Array, spare: Array) -> None:
            degree = powers.shape[1] - 1 - knots.shape[1]
            first, beyond = powers[:, 1], powers[:, 1 + degree :]
            np.clip(first, low, high, out=first)
            np.subtract(first[:, None], knots, out=beyond)
            np.subtract(first, origin, out=first)
            np.clip(beyond, least, most, out=beyond)
            for k in range(1, degree):
                np.multiply(powers[:, k], first, out=powers[:, k + 1])
            if degree == 2:
                np.square(beyond, out=beyond)
            elif degree == 3:
                np.multiply(beyond, np.square(beyond, out=spare[:, : knots.shape[1]]), out=beyond)

        return fill


@dataclass(frozen=True)
class _ByPiece:
    """Powers of the distances into all pieces, clipped to them: no digit is lost, at any widths.

    Within a piece a spline is a polynomial of how far into it a value lies, and outside of it that
    distance, clipped to the piece, does not change.
    """

    scale: float
    weights: Array
    knots: Array

    @classmethod
    def of(cls, scale: float, knots: Array, degree: int) -> _ByPiece:
        """Take the polynomials of all pieces."""
        basis = _basis(knots, degree)
        left = knots[:-1]
        taylor = [basis(left, nu=m)[:, :-1] / factorial(m) for m in range(1, degree + 1)]
        return cls(scale, np.vstack([basis(left[:1])[:, :-1], *taylor]).T, knots)

    @staticmethod
    def filler(forms: Sequence[_ByPiece]) -> Fill:
        """Make 1, the distances into all pieces, their squares, … of the value behind 1."""
        knots = np.stack([form.knots for form in forms])[..., None]
        left, right = knots[:, :-1], knots[:, 1:]
        n = left.shape[1]

        def fill(powers: Array, spare: Array) -> None:
            value, first = spare[:, :1], powers[:, 1 : 1 + n]
            value[:, 0] = powers[:, 1]
            np.clip(value, left, right, out=first)
            np.subtract(first, left, out=first)
            for start in range(1, powers.shape[1] - n, n):
                power, following = powers[:, start : start + n], powers[:, start + n :][:, :n]
                np.multiply(power, first, out=following)

        return fill


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
