"""Canonical correlations of sets of variables and of all their beginnings, from moments alone.

With both sets whitened in order, those of the first i and the first j variables are the singular
values of the leading i × j block of one matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from projse.kernels.linear_gram import gram_of
from projse.kernels.rank import default_tol
from projse.metrics.whitening import ordered_whitening
from projse.moments.partial import partialled
from projse.moments.sums import Moments
from projse.moments.views import second_moments
from projse.threads import effective_n_threads, ordered_map

Array = NDArray[Any]


@dataclass(frozen=True)
class HeldOut:
    """Second moments of other rows, in coordinates that whiten the rows of the fit."""

    xx: Array
    xy: Array
    yy: Array

    def correlation(self, u: Array, v: Array) -> float:
        """Correlate ``uᵀx`` and ``vᵀy``; 0 where one of them does not vary."""
        i, j = len(u), len(v)
        x_norm, y_norm = u @ self.xx[:i, :i] @ u, v @ self.yy[:j, :j] @ v
        if not (x_norm > 0 and y_norm > 0):
            return 0.0
        return float(np.clip(u @ self.xy[:i, :j] @ v / np.sqrt(x_norm * y_norm), -1.0, 1.0))


def _whitening(C: Array, squared_norms: Array, eps: float) -> Array:
    """Whiten in order, down to the directions that rounding puts in doubt."""
    alive = squared_norms > 0
    C = np.where(np.outer(alive, alive), C, 0.0)
    unit = 1 / np.sqrt(np.where(alive, squared_norms, 1.0))
    largest = float(scipy.linalg.eigvalsh(C * np.outer(unit, unit), check_finite=False)[-1])
    return ordered_whitening(C, tol=default_tol(len(C), eps) * largest)


class CanonicalBlocks:
    """Canonical correlations of the first i variables of X with the first j of Y.

    Parameters
    ----------
    moments : Moments
        Of the variables in their order; with the products of the candidates. Covariates are
        taken out, of ``held_out`` by the regressions of these rows.
    center : bool
        About the means, or about zero.
    held_out : Moments or None
        Other rows: the combinations come from ``moments``, their correlations from here.
    """

    def __init__(self, moments: Moments, center: bool, held_out: Moments | None = None) -> None:
        gram = gram_of(moments, center)
        assert gram.x_rows is not None
        everything = np.arange(gram.n_x)
        X = _whitening(gram.x_rows(everything, None), gram.xx_diag, gram.eps)
        Y = _whitening(gram.yy, np.diag(gram.yy), gram.eps)
        self.M = X @ gram.block(everything).T @ Y.T
        # Triangular: a variable that adds a direction has it on the diagonal.
        self._x_adds, self._y_adds = np.diag(X) != 0, np.diag(Y) != 0
        self.held_out: HeldOut | None = None
        if held_out is not None:
            xx, xy, yy = second_moments(partialled(held_out, center, by=moments), center)
            self.held_out = HeldOut(X @ xx @ X.T, X @ xy @ Y.T, Y @ yy @ Y.T)

    def all(self, i: int, j: int) -> Array:
        """Return all ``min(i, j)`` canonical correlations, largest first; 0 for missing ones."""
        U, values, Vt = np.linalg.svd(self.M[:i, :j], full_matrices=False)
        rank = min(np.count_nonzero(self._x_adds[:i]), np.count_nonzero(self._y_adds[:j]))
        values[rank:] = 0.0
        if self.held_out is None:
            return np.clip(values, 0.0, 1.0)
        for k, (u, v) in enumerate(zip(U.T[:rank], Vt[:rank], strict=True)):
            values[k] = self.held_out.correlation(u, v)
        return values

    def first(self, x_sizes: Sequence[int], y_sizes: Sequence[int]) -> Array:
        """Return the first canonical correlation of every pair of sizes, shape (n_x, n_y).

        One leading eigenvector a pair, of the smaller of the two Gram matrices.
        """

        def row(i: int) -> list[float]:
            return [self._first(i, j) for j in y_sizes]

        # Many small decompositions: BLAS with more than one thread would only wait for itself.
        return np.array(list(ordered_map(row, x_sizes, effective_n_threads(None))))

    def _first(self, i: int, j: int) -> float:
        block = self.M[:i, :j]
        flip = i > j
        G = block.T @ block if flip else block @ block.T
        n = len(G) - 1
        value, vector = scipy.linalg.eigh(G, subset_by_index=[n, n], check_finite=False)
        root = float(np.sqrt(max(value[0], 0.0)))
        if self.held_out is None:
            return min(root, 1.0)
        if root == 0.0:
            return 0.0
        one = vector[:, 0]
        other = (block @ one if flip else one @ block) / root
        u, v = (other, one) if flip else (one, other)
        return self.held_out.correlation(u, v)
