"""The variables that enter a contest with their twins, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.search.contest import Rivals, Statistic
from projse.search.near_copies import group_copies, whitened
from projse.search.twins import Twins, equal_distances, least_reconstructable
from projse.search.unit_products import UnitProducts

Array = NDArray[Any]

DISTANCES = {"mvr": least_reconstructable, "equal": equal_distances}
"""Ways to choose how far twins are from their variables."""


FEWEST = 2.5
"""There are twins enough if discoveries as few as this can be made."""

MOST_TWINS = 20


def enough_twins(room: int, level: float, n_variables: int) -> int:
    """Return the number of twins of each variable, where the rows have room for some.

    With k twins the filter needs ``1 / (k level)`` variables that win to find any. But the more
    twins there are, the closer they must come to their variables, ``D ⪯ (1 + 1/k) S``, and the
    more have to be beaten: once so few discoveries are possible, further twins cost power.
    """
    return min(room, MOST_TWINS, int(np.ceil(1 / (min(FEWEST, n_variables) * level) - 1e-9)))


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
        """Whether the rows have room for a twin of each."""
        return self.room > 0

    @property
    def room(self) -> int:
        """Number of twins of each that the rows have room for."""
        return self.products.degrees // max(len(self.groups), 1) - 1

    def contests(
        self,
        statistic: Statistic,
        *,
        n_draws: int,
        n_twins: int,
        twins: str,
        rng: np.random.Generator,
        seen: UnitProducts | None = None,
    ) -> list[Array]:
        """Draw twins, and let variables and twins compete: a figure a variable, for every draw.

        Parameters
        ----------
        statistic : callable
        n_draws, n_twins : int
        twins : {"mvr", "equal"}
        rng : Generator
        seen : UnitProducts or None
            Of other rows, in the same units: by these the candidates were screened. There, a
            variable is its own twin: that tells nothing apart, and helps to know the others'
            effects (Barber and Candès 2019).
        """
        B, products = self.basis, self.products
        S, C, K = B.T @ products.S @ B, B.T @ products.C, products.K
        s = DISTANCES[twins](S, n_twins)
        degrees, more = products.degrees, np.zeros((1, 1))
        drawn = Twins(S, C, K, degrees, s, n_twins, products.rounding)
        if seen is not None:
            S, more = S + B.T @ seen.S @ B, B.T @ seen.C
            K, degrees = K + seen.K, degrees + seen.degrees
        rivals = Rivals(S, s, self.groups, degrees, n_twins)
        return [statistic(rivals, drawn.draw(rng) + more, K) for _ in range(n_draws)]
