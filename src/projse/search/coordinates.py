"""Coordinates of the candidates in the reference space: ``R = F K_YX`` with ``FᵀF = K_YY⁺``.

A variable's score is the squared length of its coordinates. Conditioning on variables takes
their shadow out of both sides first. Any basis of the reference space gives the same scores.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from projse.kernels.feature_gram import FeatureGram, tiles
from projse.search.conditioning import Conditioning

Array = NDArray[Any]

DENSE_ELEMENTS = 1 << 23
"""Coordinates of up to this many values (64 MiB) are formed; larger ones stay products."""


class Coordinates(Protocol):
    """Columns of ``R`` for the search: formed, or as products that are made when asked for."""

    rank: int
    n: int

    def tile(self, columns: slice | Array) -> Array:
        """Columns of R, shape (rank, k); not to be written to."""

    def column(self, j: int) -> Array:
        """One column of R, shape (rank,)."""

    def project(self, q: Array) -> Array:
        """``qᵀR``, shape (n,)."""


class DenseCoordinates:
    """``R`` as an array of shape (rank, n)."""

    def __init__(self, R: Array) -> None:
        self.R = R
        self.rank, self.n = R.shape

    def tile(self, columns: slice | Array) -> Array:
        return self.R[:, columns]

    def column(self, j: int) -> Array:
        return self.R[:, j].copy()

    def project(self, q: Array) -> Array:
        product: Array = q @ self.R
        return product


class ImplicitCoordinates:
    """``R = F (K_YX − BᵀA) diag(u)``, never formed: ``qᵀR = wᵀK_YX`` with ``w = Fᵀq``."""

    def __init__(self, gram: FeatureGram, F: Array, conditioning: Conditioning | None) -> None:
        self.gram = gram
        self.F = F
        self.conditioning = conditioning
        self.rank, self.n = len(F), gram.n_x

    def tile(self, columns: slice | Array) -> Array:
        block = self.gram.block(columns)
        if self.conditioning is not None:
            self.conditioning.condition_block(block, columns)
        product: Array = self.F @ block
        return product

    def column(self, j: int) -> Array:
        return self.tile(slice(j, j + 1))[:, 0]

    def project(self, q: Array) -> Array:
        w = q @ self.F
        product = self.gram.left(w)
        if self.conditioning is not None:
            self.conditioning.condition_product(product, w)
        return product


def coordinates(
    gram: FeatureGram, F: Array, conditioning: Conditioning | None
) -> DenseCoordinates | ImplicitCoordinates:
    """Return the coordinates of all candidates, formed when they are small enough."""
    implicit = ImplicitCoordinates(gram, F, conditioning)
    if implicit.rank * implicit.n > DENSE_ELEMENTS:
        return implicit
    R = np.empty((implicit.rank, implicit.n))
    for columns in tiles(implicit.n):
        R[:, columns] = implicit.tile(columns)
    return DenseCoordinates(R)


def squared_lengths(R: Coordinates) -> Array:
    """Squared length of each column, shape (n,): ``2 r n`` flops."""
    out = np.empty(R.n)
    for columns in tiles(R.n):
        block = R.tile(columns)
        out[columns] = np.einsum("ij,ij->j", block, block)
    return out
