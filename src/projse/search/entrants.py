"""The variables that enter a contest with their twins: and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.search.contest import Pairs, Statistic
from projse.search.near_copies import group_copies, whitened
from projse.search.twins import Twins, equal_distances, least_reconstructable
from projse.search.unit_products import UnitProducts

Array = NDArray[Any]

DISTANCES = {"mvr": least_reconstructable, "equal": equal_distances}
"""Ways to choose how far twins are from their variables."""


@dataclass(frozen=True)
class Entrants:
    """Variables, each with an orthonormal basis: of one dimension, or several for a group.

    In these coordinates group knockoffs are plain ones whose figures add up by variable: the
    products of a variable and its twin may be anything, and ``I − diag(s)`` will do.

    Attributes
    ----------
    products : UnitProducts
    basis : ndarray of shape (p, r)
    groups : ndarray of int of shape (r,)
        The variable that each column of the basis belongs to.
    labels : ndarray of int of shape (p,)
        The variable that each candidate belongs to.
    """

    products: UnitProducts
    basis: Array
    groups: Array
    labels: Array

    @classmethod
    def of(cls, products: UnitProducts, labels: Array, max_correlation: float) -> Entrants:
        """Make variables of candidates with given labels; near-copies become one."""
        labels = group_copies(products.S, labels, max_correlation)
        return cls(products, *whitened(products.S, labels, products.rounding))

    @property
    def fit_in(self) -> bool:
        """Whether the rows have room for the twins."""
        return self.products.degrees >= 2 * len(self.groups)

    def contests(
        self,
        statistic: Statistic,
        *,
        n_draws: int,
        twins: str,
        rng: np.random.Generator,
        seen: UnitProducts | None = None,
    ) -> list[Array]:
        """Draw twins, and let variables and twins compete: a figure a variable, for every draw.

        Parameters
        ----------
        statistic : callable
        n_draws : int
        twins : {"mvr", "equal"}
        rng : Generator
        seen : UnitProducts or None
            Of other rows, in the same units: by these the candidates were screened. There, a
            variable is its own twin: that tells nothing apart, and helps to know the others'
            effects (Barber and Candès 2019).
        """
        B, products = self.basis, self.products
        S, C, K = B.T @ products.S @ B, B.T @ products.C, products.K
        drawn = Twins(S, C, K, products.degrees, DISTANCES[twins](S), products.rounding)
        gram, degrees, more = drawn.gram, products.degrees, np.zeros((2 * len(C), 1))
        if seen is not None:
            gram = gram + np.tile(B.T @ seen.S @ B, (2, 2))
            more = np.tile(B.T @ seen.C, (2, 1))
            K, degrees = K + seen.K, degrees + seen.degrees
        pairs = Pairs(gram, self.groups, degrees)
        return [statistic(pairs, drawn.draw(rng) + more, K) for _ in range(n_draws)]
