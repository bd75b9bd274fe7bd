"""Conditioning: kernel matrices once some variables are taken out of all others."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf

from projse.kernels.feature_gram import ENTRY_ROUNDING, FeatureGram
from projse.search.shortlist import Shortlist

Array = NDArray[Any]
Scores = Callable[[], Array]

PROBES = 8
"""Random vectors that estimate how far conditioning enlarges the rounding of a variable."""

SIGNS_A_BLOCK = 256
"""Pivots whose random signs are drawn together, once and for all."""


class Conditioning:
    """What is left of all variables once some candidates are taken out of them.

    A partial Cholesky factorisation of ``K_XX`` with the given pivots: ``A`` (s × n_x) and ``B``
    (s × n_y) such that ``K_XX|S = K_XX − AᵀA``, ``K_YX|S = K_YX − BᵀA`` and
    ``K_YY|S = K_YY − BᵀB``. A pivot that depends on the earlier ones adds no row.

    With ``W = K_SS⁻¹ K_S·`` the coefficients of the variables on the pivots, an error E of the
    kernel matrices becomes ``E − E_·S W − WᵀE_S· + WᵀE_SS W``. So what is left of two variables is
    known to the rounding of their entry times ``√(1 + ‖w‖²)`` of each: a lot where nearly equal
    pivots stand for their small difference. W itself is never formed. Its products with a few
    vectors of random signs follow it, and their mean square is ``‖w‖²``.
    """

    def __init__(self, gram: FeatureGram, shortlist: Shortlist) -> None:
        self.gram = gram
        self._shortlist = shortlist
        self.A = np.empty((0, gram.n_x))
        self.B = np.empty((0, gram.n_y))
        self.norms = gram.alive.astype(np.float64)
        self.vanished = ~gram.alive
        self.scale = np.ones(gram.n_x)
        self._vanishing = gram.eps ** (2 / 3)
        self._x_amplification = gram.x_amplification
        self._y_amplification = gram.y_amplification
        self._x_probes = np.zeros((PROBES, gram.n_x))
        self._y_probes = np.zeros((PROBES, gram.n_y))
        self._x_squares, self._y_squares = np.zeros(gram.n_x), np.zeros(gram.n_y)

    def copy(self) -> Conditioning:
        """Return what is left now, to be conditioned by itself; A and B are never written to."""
        other = copy(self)
        for name in ("norms", "vanished", "scale", "_x_probes", "_y_probes"):
            setattr(other, name, getattr(self, name).copy())
        return other

    @property
    def rank(self) -> int:
        """Dimension of what was taken out."""
        return len(self.A)

    def extend(self, indices: Array, scores: Scores | None = None) -> None:
        """Condition on more candidates: one set of rows of ``K_XX`` and ``2 s n_x`` flops each.

        ``scores`` tell which others may follow, for the shortlist.
        """
        rows = self._shortlist.rows(indices, scores)
        y_rows = self.gram.block(indices).T
        if self.rank:
            earlier = self.A[:, indices].T
            rows -= earlier @ self.A
            y_rows -= earlier @ self.B
        kept, L, change = self._pivots(rows[:, indices], indices)
        if len(kept) < len(indices):
            rows, y_rows = rows[kept], y_rows[kept]
        a, b = _solved(L, rows), _solved(L, y_rows)
        self.A = np.concatenate([self.A, a]) if self.rank else a
        self.B = np.concatenate([self.B, b]) if len(self.B) else b
        self.norms -= np.einsum("ij,ij->j", a, a)
        self._x_probes += change.T @ a
        self._y_probes += change.T @ b
        self._x_squares, self._y_squares = (
            _mean_square(self._x_probes),
            _mean_square(self._y_probes),
        )
        self._rescale()
        self.vanished[indices] = True
        self.scale[indices] = 0.0

    def _pivots(self, own: Array, indices: Array) -> tuple[Array, Array, Array]:
        """Factor what is left of the pivots, and leave out those that depend on others before them.

        Parameters
        ----------
        own : ndarray of shape (s, s)
            Their conditioned kernel values with each other.
        indices : ndarray of int of shape (s,)

        Returns
        -------
        kept : ndarray of int of shape (t,)
            Places of the pivots that add a row each.
        L : ndarray of shape (t, t)
            Cholesky factor of their kernel values.
        change : ndarray of shape (t, PROBES)
            What the probes gain of each of those rows.
        """
        kept = np.arange(len(indices))
        while True:
            L, failed = dpotrf(own[kept[:, None], kept], lower=1) if kept.size else (own[:0, :0], 0)
            n = failed - 1 if failed else len(kept)
            L, some = L[:n, :n], indices[kept[:n]]
            amplification = self._x_amplification[some]
            signs = _signs(self.rank, n) * amplification[:, None]
            # A pivot changes the probes by the difference of its signs and its own probes, which
            # the pivots before it have changed: a triangular system.
            change = _solved(L, signs - self._x_probes[:, some].T)
            roots = np.diagonal(L)
            probes = signs - roots[:, None] * change
            rounding = self._rounding_of_norm(amplification, _mean_square(probes.T))
            dependent = np.flatnonzero(roots**2 <= rounding)
            n = int(dependent[0]) if dependent.size else n
            if n == len(kept):
                return kept, L, change
            kept = np.delete(kept, n)

    def _rounding_of_norm(self, amplification: Array, squares: Array) -> Array:
        """Squared norms at or below this are rounding, given the mean squares of the probes."""
        rounding: Array = 64 * self.gram.eps * (amplification**2 + squares)
        return rounding

    def _rescale(self) -> None:
        np.maximum(self.norms, 0.0, out=self.norms)
        rounding = self._rounding_of_norm(self._x_amplification, self._x_squares)
        self.vanished |= self.norms <= np.maximum(rounding, self._vanishing)
        with np.errstate(divide="ignore"):
            self.scale = np.where(self.vanished, 0.0, 1 / np.sqrt(self.norms))

    def fit_lengths(self, squares: Array) -> None:
        """Normalise candidates by squared lengths, of what is 1 but for the rounding of norms."""
        self.scale /= np.sqrt(np.where(squares > 0, squares, 1.0))

    def reference(self) -> Array:
        """``K_YY|S``, not to be written to."""
        return self.gram.yy - self.B.T @ self.B if self.rank else self.gram.yy

    def noise(self) -> Array:
        """Return the rounding of an entry of ``K_YX|S`` a candidate, normalised like the entry.

        It is to be multiplied by the amplification of the reference. What an entry is made of
        may be known far better than to eps, where it is small; what was subtracted is not.
        """
        noise: Array = self.gram.noise * self._x_amplification
        if self.rank:
            noise += ENTRY_ROUNDING * self.gram.eps * np.sqrt(self._x_squares)
        noise *= self.scale
        return noise

    def x_amplification(self, indices: Any) -> Array:
        """How many times eps normalised entries of ``K_XX|S`` are off, by candidate."""
        square = self._x_amplification[indices] ** 2 + self._x_squares[indices]
        amplification: Array = np.sqrt(square) * self.scale[indices]
        return amplification

    def y_amplification(self) -> Array:
        """How many times eps entries of ``K_YY|S`` are off, by reference."""
        if not self.rank:
            return self._y_amplification
        amplification: Array = np.sqrt(self._y_amplification**2 + self._y_squares)
        return amplification

    def x_rows(
        self, indices: Array, columns: Array | None = None, scores: Scores | None = None
    ) -> Array:
        """Rows of ``K_XX|S``, normalised: at some columns, or whole ones by the shortlist."""
        if columns is None:
            rows = self._shortlist.rows(indices, scores)
        else:
            rows = self.gram.x_rows(indices, columns)
        if self.rank:
            everywhere = slice(None) if columns is None else columns
            rows -= self.A[:, indices].T @ self.A[:, everywhere]
            rows *= self.scale[everywhere]
            rows *= self.scale[indices][:, None]
        return rows

    def condition_block(self, block: Array, columns: slice | Array) -> None:
        """Turn columns of ``K_YX`` into normalised columns of ``K_YX|S``, in place."""
        if self.rank:
            block -= self.B.T @ self.A[:, columns]
        block *= self.scale[columns]

    def condition_product(self, product: Array, w: Array) -> None:
        """Turn ``wᵀK_YX`` into its conditioned form, in place."""
        if self.rank:
            product -= (self.B @ w) @ self.A
        product *= self.scale


def _solved(L: Array, rows: Array) -> Array:
    """Return ``L⁻¹ rows`` in the memory of the rows."""
    if not rows.size:
        return rows
    # By row is by column, transposed: as LAPACK has it, nothing is copied.
    columns = np.ascontiguousarray(rows).T
    solved: Array = dtrsm(1.0, L, columns, side=1, lower=1, trans_a=1, overwrite_b=1).T
    return solved


def _signs(start: int, n: int) -> Array:
    """Random signs of n pivots from a certain one on, shape (n, PROBES)."""
    blocks = range(start // SIGNS_A_BLOCK, (start + n) // SIGNS_A_BLOCK + 1)
    signs = np.concatenate([_block_of_signs(i) for i in blocks])
    return signs[start - SIGNS_A_BLOCK * blocks[0] :][:n]


@cache
def _block_of_signs(i: int) -> Array:
    return np.random.default_rng(i).choice([-1.0, 1.0], size=(SIGNS_A_BLOCK, PROBES))


def _mean_square(probes: Array) -> Array:
    """Mean square of the probes, by variable."""
    mean: Array = np.einsum("i...,i...->...", probes, probes) / PROBES
    return mean
