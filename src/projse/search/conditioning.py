"""Conditioning: kernel matrices once some variables are taken out of all others."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.kernels.feature_gram import ENTRY_ROUNDING, FeatureGram
from projse.search.shortlist import Shortlist

Array = NDArray[Any]
Scores = Callable[[], Array]

PROBES = 8
"""Random vectors that estimate how far conditioning enlarges the rounding of a variable."""


class Conditioning:
    """What is left of all variables once some candidates are taken out of them.

    A partial Cholesky factorisation of ``K_XX`` with the given pivots: ``A`` (s × n_x) and ``B``
    (s × n_y) such that ``K_XX|S = K_XX − AᵀA``, ``K_YX|S = K_YX − BᵀA`` and
    ``K_YY|S = K_YY − BᵀB``. A pivot that depends on the earlier ones adds no row.

    With ``W = K_SS⁻¹ K_S·`` the coefficients of the variables on the pivots, an error E of the
    kernel matrices becomes ``E − E_·S W − WᵀE_S· + WᵀE_SS W``. So what is left of two variables is
    known to the rounding of their entry times ``√(1 + ‖w‖²)`` of each: a lot where nearly equal
    pivots stand for their small difference. W itself is never formed. Its products with a few
    vectors of random signs follow it pivot by pivot, and their mean square is ``‖w‖²``.
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
        self._signs: np.random.Generator | None = None
        self._x_probes = np.zeros((PROBES, gram.n_x))
        self._y_probes = np.zeros((PROBES, gram.n_y))

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
        references = self.gram.block(indices).T
        rounding = self._x_amplification[indices]
        self.A, self.B = _with_room(self.A, len(indices)), _with_room(self.B, len(indices))
        for j, row, y_row, own in zip(indices, rows, references, rounding, strict=True):
            self._take_out(row, y_row, self.A[:, j], row[j], self._x_probes[:, j], own)
        self._rescale()
        self.vanished[indices] = True
        self.scale[indices] = 0.0

    def _take_out(
        self,
        row: Array,
        y_row: Array,
        earlier: Array,
        norm: float,
        probe: Array,
        amplification: float,
    ) -> None:
        """Add a pivot, given its kernel values and its components along the earlier pivots."""
        norm = float(norm - earlier @ earlier)
        if norm <= self._rounding_of_norm(amplification, probe):
            return
        root = np.sqrt(norm)
        a = (row - earlier @ self.A) / root
        b = (y_row - earlier @ self.B) / root
        self.A, self.B = _appended(self.A, a), _appended(self.B, b)
        self.norms -= a * a
        if self._signs is None:
            self._signs = np.random.default_rng(0)
        signs = self._signs.choice([-1.0, 1.0], size=PROBES)
        change = (signs * amplification - probe) / root
        self._x_probes += np.multiply.outer(change, a)
        self._y_probes += np.multiply.outer(change, b)

    def _rounding_of_norm(self, amplification: Any, probes: Array) -> Any:
        """Squared norms at or below this are rounding."""
        return 64 * self.gram.eps * (amplification**2 + _mean_square(probes))

    def _rescale(self) -> None:
        np.maximum(self.norms, 0.0, out=self.norms)
        rounding = self._rounding_of_norm(self._x_amplification, self._x_probes)
        self.vanished |= self.norms <= np.maximum(rounding, self._vanishing)
        with np.errstate(divide="ignore"):
            self.scale = np.where(self.vanished, 0.0, 1 / np.sqrt(self.norms))

    def reference(self) -> Array:
        """``K_YY|S``."""
        K: Array = self.gram.yy - self.B.T @ self.B
        return K

    def noise(self) -> Array:
        """Return the rounding of an entry of ``K_YX|S`` a candidate, normalised like the entry.

        It is to be multiplied by the amplification of the reference. What an entry is made of
        may be known far better than to eps, where it is small; what was subtracted is not.
        """
        subtracted = np.sqrt(_mean_square(self._x_probes))
        noise: Array = self.gram.noise * self._x_amplification
        noise += ENTRY_ROUNDING * self.gram.eps * subtracted
        noise *= self.scale
        return noise

    def x_amplification(self, indices: Any) -> Array:
        """How many times eps normalised entries of ``K_XX|S`` are off, by candidate."""
        square = self._x_amplification[indices] ** 2
        square = square + _mean_square(self._x_probes[:, indices])
        amplification: Array = np.sqrt(square) * self.scale[indices]
        return amplification

    def y_amplification(self) -> Array:
        """How many times eps entries of ``K_YY|S`` are off, by reference."""
        square = self._y_amplification**2 + _mean_square(self._y_probes)
        amplification: Array = np.sqrt(square)
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


def _with_room(rows: Array, n: int) -> Array:
    """Copy rows to where n more have room behind them."""
    room = np.empty((len(rows) + n, rows.shape[1]))
    room[: len(rows)] = rows
    return room[: len(rows)]


def _appended(rows: Array, row: Array) -> Array:
    """Append a row in the room behind the others."""
    room: Array = rows.base  # type: ignore[assignment]
    room[len(rows)] = row
    return room[: len(rows) + 1]


def _mean_square(probes: Array) -> Array:
    """Mean square of the probes, by variable."""
    mean: Array = np.einsum("i...,i...->...", probes, probes) / PROBES
    return mean
