"""What "auto" stands for: ridges from the moments alone.

The ridge on the references: ``alpha = 1`` on the normalised ``K_YY`` halves the weight of a
direction that carries one output's worth of variance, and takes more from what carries less, which
is mostly noise. The ridge of soft conditioning is every pick's own: see :class:`OwnRidge`.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

Array = NDArray[Any]

ALPHA = 1.0
"""Ridge on the normalised ``K_YY``."""

LARGEST_IN_ONE_VIEW = 1.0
"""Ridge of a pick in one view: its copy explains nothing new, so it keeps no more than half."""

REDUNDANCY_IN_TWO_VIEWS = 1.0
"""The first canonical correlation lives on one direction a side: other measurements of it average
its noise, and a variable that is new, but for another direction, adds nothing."""


class Ridge(Protocol):
    """The λ of picks."""

    def __call__(self, place: Array, norm: float) -> float:
        """Return the λ of the next pick, from its coordinates and squared norm."""

    def of_group(self, place: Array, block: Array, vanishing: float) -> float:
        """Return the λ of the next pick of several columns.

        Parameters
        ----------
        place : ndarray of shape (r, d)
            Coordinates of its columns, given the picks before it.
        block : ndarray of shape (d, d)
            Their products with each other, given the picks before it.
        vanishing : float
            Directions whose squared length is at most this depend on those picks.
        """


class FixedRidge:
    """The same λ for every pick."""

    def __init__(self, ridge: float) -> None:
        self._ridge = ridge

    def __call__(self, place: Array, norm: float) -> float:
        """Return the λ, whatever the pick."""
        return self._ridge

    def of_group(self, place: Array, block: Array, vanishing: float) -> float:
        """Return the λ, whatever the pick."""
        return self._ridge


class OwnRidge:
    """The ridge of each pick: noise over signal in what it adds.

    A pick adds the share g to what is explained of the references, and the share l stays
    unexplained. With m rows, chance explains ``v = l / m`` by any one variable, and the best of n
    variables that mean nothing explains about ``c v``, where q c is the median of the largest of
    n/k squared lengths of normal vectors with q entries::

        P(χ²_q > q c) = 1 − 2^(−k/n),    c ≥ 1

    at the k-th pick, for q outputs (of correlated ones, those that count: ``(tr K_YY)² / tr
    K_YY²``). What stands above that is taken for real, and ``λ = η v / (g − c v)`` is the ridge of
    a regression on a variable of squared norm η with that much signal; η is what the picks before
    have left of the pick, so that a ridge never drowns the small part in which a pick is new.
    Where the evidence is overwhelming a pick is taken out wholly, as in forward selection; a pick
    that may be chance is not conditioned on at all, and variables are ranked.

    A pick of d columns has d chances: the share ``d v``, and q d squares in place of q; η is the
    mean of their squared lengths.

    Parameters
    ----------
    values : ndarray of shape (r,)
        Eigenvalues of ``K_YY``.
    alpha : float
        Ridge on them.
    n_rows : float
    n_candidates : int
    largest : float
        Bound on ``λ / η``.
    """

    def __init__(
        self,
        values: Array,
        alpha: float,
        n_rows: float,
        n_candidates: int,
        largest: float = np.inf,
    ) -> None:
        self._total = float(values.sum())
        # Of shares, since squares of the values themselves may leave the range.
        shares = values / max(float(values.max(initial=0.0)), 1e-300)
        self._n_outputs = float(shares.sum()) ** 2 / max(float(shares @ shares), 1e-300)
        # Coordinates times these are products with the references, in their principal directions.
        self._units = np.sqrt(values + alpha)
        self._left = 1.0
        self._n_rows = n_rows
        self._n_candidates = n_candidates
        self._largest = largest
        self._k = 0

    def __call__(self, place: Array, norm: float) -> float:
        """Return the ridge of the next pick.

        Parameters
        ----------
        place : ndarray of shape (r,)
            Its coordinates, given the picks before it.
        norm : float
            Its squared norm, given the picks before it.
        """
        products = place * self._units
        explained = float(products @ products) / self._total
        ridge = self._next(explained / norm, 1, norm)
        self._left -= explained / (norm + ridge)
        return ridge

    def of_group(self, place: Array, block: Array, vanishing: float) -> float:
        """Return the ridge of the next pick, of several columns; see :class:`Ridge`."""
        products = place * self._units[:, None]
        products = products.T @ products / self._total
        values, vectors = np.linalg.eigh(block)
        explained = np.einsum("ij,ij->j", vectors, products @ vectors)
        known = values > vanishing
        d = int(known.sum())
        norm = float(values[known].mean()) if d else 1.0
        ridge = self._next(float((explained[known] / values[known]).sum()), d, norm)
        self._left -= float((explained[known] / (values[known] + ridge)).sum())
        return ridge

    def _next(self, gain: float, d: int, norm: float) -> float:
        """Return the ridge of a pick of d columns of this mean squared norm that add this gain."""
        self._k += 1
        gain = min(gain, self._left)
        chance = d * ((self._left - gain) / self._n_rows)
        squares = d * self._n_outputs
        signal = gain - chance * _best_of_chance(squares, self._n_candidates / self._k)
        ridge = chance / signal if signal > 0 else math.inf
        return norm * min(ridge, self._largest)


def _best_of_chance(squares: float, n: float) -> float:
    """Return the median of the best of n means of squares of normals, at least their mean, 1."""
    if not squares > 0:
        return 1.0
    level = -math.expm1(-math.log(2) / max(n, 1.0))
    return max(float(chdtri(squares, level)) / squares, 1.0)
