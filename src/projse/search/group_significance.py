"""How surprising the score of a variable of several columns is, were it unrelated.

The share of a random d-dimensional subspace in a given one of dimension r, ``V = tr(P_Y P_x)`` in
m' dimensions, is Pillai's trace. Its mean and variance are exact::

    mean = r d / m',    variance = 2 r d (m' − r)(m' − d) / (m'² (m' − 1)(m' + 2))

and it lies between ``max(0, r + d − m')`` and ``min(r, d)``. The Beta law on that interval with
these two moments is exact where the interval has length 1 (one column, one reference, or all but
one of the dimensions), and close elsewhere.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from projse.search.adjusted import Chance

Array = NDArray[Any]

MOST_DEGREES = 1e60
"""More rows, by weights of such a size, are as many: the fourth power still has a number."""


def pillai_tail(V: Any, d: Any, rank: int, degrees: float) -> Array:
    """Probability that an unrelated variable has at least this trace.

    Parameters
    ----------
    V : array-like
        Traces.
    d : array-like of int
        Dimensions of the variables.
    rank : int
        Dimension r of the references.
    degrees : float
        Dimension m' of the space of the variables, above ``rank``.

    Returns
    -------
    ndarray
        1 for a variable that fills the space: its trace is no surprise.
    """
    V, d = np.broadcast_arrays(np.asarray(V, dtype=np.float64), np.asarray(d, dtype=np.float64))
    low, high = np.maximum(0.0, rank + d - degrees), np.minimum(rank, d)
    open_ = (degrees > d) & (d > 0)
    inside = np.where(open_, d, 1.0)
    width = np.where(open_, high - low, 1.0)
    mean = (np.where(open_, rank * d / degrees - low, 0.5)) / width
    variance = 2 * rank * inside * (degrees - rank) * (degrees - inside)
    variance = variance / (degrees**2 * (degrees - 1) * (degrees + 2)) / width**2
    total = mean * (1 - mean) / np.where(open_, variance, 0.1) - 1
    place = np.clip((V - low) / width, 0.0, 1.0)
    tail = betainc((1 - mean) * total, mean * total, 1 - place)
    return np.asarray(np.where(open_, tail, 1.0))


def group_pvalue(
    V: float, d: int, rank: int, degrees: float, sizes: Array, room: float = math.inf
) -> float:
    """P-value of the best of variables of several sizes, were all unrelated to the references.

    Parameters
    ----------
    V : float
        Trace of the pick.
    d : int
        Its dimension.
    rank, degrees
        As in :func:`pillai_tail`.
    sizes : ndarray of int
        Dimensions of all variables that it was chosen from, itself among them.
    room : float
        As in :func:`projse.search.significance.selection_pvalue`.

    Returns
    -------
    float
        ``1 − Π (1 − tail)``, each tail at the trace that has the same score (:class:`Chance`).
        NaN where there are too few rows to tell.
    """
    if not (rank > 0 and min(degrees, room) > rank and degrees > 1):
        return float("nan")
    if d == 0 or d >= degrees:
        return 1.0
    degrees = min(degrees, MOST_DEGREES)
    chance = Chance(np.ones(rank), degrees, len(sizes))
    V = min(V, rank, d)  # by rounding it may be more, which no other variable could reach
    score = float(chance.scores(np.array([V]), np.array([d]))[0])
    kinds, counts = np.unique(sizes[sizes > 0], return_counts=True)
    tails = pillai_tail(chance.totals(score, kinds), kinds, rank, degrees)
    # One that fills the space has the same score whatever the data.
    full = chance.scores(np.full(len(kinds), float(rank)), kinds)
    tails = np.where(kinds >= degrees, full >= score, tails)
    with np.errstate(divide="ignore"):
        return float(0.0 - np.expm1(counts @ np.log1p(-tails)))  # never -0.0


class GivenGroups:
    """P-value of a pick of several columns given all picks before it, taken out wholly.

    As :class:`projse.search.significance.GivenPicks` for one column: the trace of the pick in the
    space of the references, once both are conditioned on the picks S before it, is::

        V = d − tr((K_vv|S)⁻¹ K_vv|S,Y)

    Parameters
    ----------
    rank : int
        Dimension of the reference space.
    degrees : float
        Dimension of the space of the variables; NaN where p-values have no meaning.
    rounding : float
        Squared norms at or below this are nothing.
    room : float
        As in :func:`projse.search.significance.selection_pvalue`.
    """

    def __init__(self, rank: int, degrees: float, rounding: float, room: float = math.inf) -> None:
        self.rank = rank
        self.degrees = degrees
        self._room = room
        self._rounding = rounding
        self._alone = np.empty((0, 0))
        self._coordinates = np.empty((rank, 0))
        self._off = np.empty(0)

    def add(
        self,
        own: Array,
        products: Array,
        coordinates: Array,
        sizes: Array,
        off: Array | float = 0.0,
    ) -> float:
        """Add a pick, and return its p-value.

        Parameters
        ----------
        own : ndarray of shape (d, d)
            Products of its columns with each other.
        products : ndarray of shape (s, d)
            With the columns of the picks before it.
        coordinates : ndarray of shape (rank, d)
            In an orthonormal basis of the reference space.
        sizes : ndarray of int
            Dimensions of the variables that it was chosen from, given the picks before it: see
            :meth:`sizes`.
        off : ndarray of shape (d,), or float
            Squared norm of what each of its columns is off by rounding.
        """
        if np.isnan(self.degrees):
            return float("nan")
        before = self._coordinates
        off = np.broadcast_to(off, len(own))
        alone = self._whitened_picks
        with_references = self._whitened(self._alone - before.T @ before)
        left, parts = _given(alone, products, own)
        unexplained, _ = _given(
            with_references,
            products - before.T @ coordinates,
            own - coordinates.T @ coordinates,
        )
        n_alone, n_with = alone.shape[1], with_references.shape[1]
        values, vectors, known = self._directions(left, parts, off)
        self._alone = np.block([[self._alone, products], [products.T, own]])
        self._coordinates = np.hstack([before, coordinates])
        self._off = np.concatenate([self._off, off])
        self.__dict__.pop("_whitened_picks", None)
        share = np.einsum("ij,ij->j", vectors, unexplained @ vectors)[known] / values[known]
        d = int(known.sum())
        V = d - float(np.clip(share, 0.0, 1.0).sum())
        # A pick that lies in the references (and the picks before it) takes directions of them.
        rank = self.rank - (n_alone - n_with)
        # A combination of the picks before it, or nothing left of the references to explain.
        if not d or n_alone >= self._room or rank <= 0:
            return 1.0
        return group_pvalue(V, d, rank, self.degrees - n_alone, sizes, self._room - n_alone)

    def sizes(self, products: Array, columns: Array, off: Array) -> Array:
        """Return the dimensions of what the picks leave of variables that have d columns each.

        Parameters
        ----------
        products : ndarray of shape (s, n_columns)
            Of the columns of the picks with those of all variables.
        columns : ndarray of int of shape (n, d)
            Orthonormal columns of each variable.
        off : ndarray of shape (n_columns,)
            As in :meth:`add`.
        """
        whitened = self._whitened_picks
        part = whitened.T @ products
        parts = (whitened @ part)[:, columns].transpose(1, 0, 2)
        part = part[:, columns].transpose(1, 0, 2)
        left = np.eye(columns.shape[1]) - part.transpose(0, 2, 1) @ part
        _, _, known = self._directions(left, parts, off[columns])
        return np.asarray(known.sum(axis=1))

    @cached_property
    def _whitened_picks(self) -> Array:
        return self._whitened(self._alone)

    def _whitened(self, before: Array) -> Array:
        """Return what makes variables orthonormal, without what is rounding of them."""
        values, vectors = np.linalg.eigh(before)
        known = values > np.maximum(self._off @ vectors**2, self._rounding)
        whitened: Array = vectors[:, known] / np.sqrt(values[known])
        return whitened

    def _directions(self, left: Array, parts: Array, off: Array) -> tuple[Array, Array, Array]:
        """Return eigenvalues and eigenvectors of what is left, and which are more than rounding."""
        values, vectors = np.linalg.eigh(left)
        rounding = (off[..., None, :] @ vectors**2)[..., 0, :] + self._off @ (parts @ vectors) ** 2
        return values, vectors, values > np.maximum(rounding, self._rounding)


def _given(whitened: Array, products: Array, own: Array) -> tuple[Array, Array]:
    """Take variables out of a block; return what is left, and how much of each is taken out."""
    part = whitened.T @ products
    return own - part.T @ part, whitened @ part
