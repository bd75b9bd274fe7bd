"""Coordinates of the candidates in the reference space: ``R = F K_YX`` with ``FᵀF = K_YY⁺``.

A variable's score is the squared length of its coordinates. Conditioning on variables takes
their shadow out of both sides first. Any basis of the reference space gives the same scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from projse.kernels.kernel import ENTRY_ROUNDING, FeatureGram, tiles

Array = NDArray[Any]

DENSE_ELEMENTS = 1 << 23
"""Coordinates of up to this many values (64 MiB) are formed; larger ones stay products."""

PROBES = 8
"""Random vectors that estimate how far conditioning enlarges the rounding of a variable."""


@dataclass
class Factor:
    """``F`` of shape (rank, n_y), the eigenvalues that it keeps, and what they are relative to."""

    F: Array
    largest: float
    values: Array

    @property
    def smallest(self) -> float:
        """Smallest eigenvalue that is kept; 0 where there is none."""
        return float(self.values[-1]) if len(self.values) else 0.0

    @property
    def rank(self) -> int:
        """Number of directions kept."""
        return len(self.F)


def default_tol(n: int, eps: float) -> float:
    """Relative size below which an eigenvalue of an n × n Gram matrix is rounding.

    The matrix is a sum over many rows, so its own rounding is a modest multiple of eps even when
    it is small.
    """
    return 8 * max(n, 16) * eps


def factor(
    K: Array,
    *,
    alpha: float = 0.0,
    rank: int | float | None = None,
    tol: float | None = None,
    eps: float = float(np.finfo(np.float64).eps),
    largest: float | None = None,
    amplification: Array | None = None,
) -> Factor:
    """Factor a Gram matrix: ``FᵀF = (K + αI)⁻¹`` on the directions that are kept.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric, positive semi-definite up to rounding.
    alpha : float
        Ridge.
    rank : int, float or None
        Keep at most this many leading directions, or this share of the trace.
    tol : float or None
        Cut eigenvalues below this share of the largest one.
    eps : float
        Unit roundoff of the entries, for the default of ``tol``.
    largest : float or None
        What ``tol`` is relative to, when K is what conditioning left of a larger matrix.
    amplification : ndarray of shape (n,) or None
        How many times its unit roundoff each row of K is off. A direction is dropped that is
        shorter than the rounding of the rows it is made of, whatever ``tol`` says.

    Notes
    -----
    One symmetric eigendecomposition, about ``9 n³`` flops. At rank loss the missing directions are
    dropped, never inverted.
    """
    n = len(K)
    if n == 0:
        return Factor(np.empty((0, 0)), 0.0, np.empty(0))
    # Divide and conquer: half the time of the default where all vectors are wanted.
    values, vectors = scipy.linalg.eigh(K, driver="evd", check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    top = float(values[0]) if largest is None else largest
    cut = (default_tol(n, eps) if tol is None else tol) * top
    known = values > max(cut, 0.0)
    if amplification is not None:
        known &= values > default_tol(n, eps) * (amplification**2 @ vectors**2)
    values, vectors = values[known], vectors[:, known]
    kept = len(values)
    if isinstance(rank, float):
        share = np.cumsum(values[:kept]) / values[:kept].sum() if kept else np.empty(0)
        kept = min(kept, int(np.searchsorted(share, rank - 1e-12)) + 1)
    elif rank is not None:
        kept = min(kept, rank)
    values = values[:kept]
    F = vectors[:, :kept].T / np.sqrt(values + alpha)[:, None]
    return Factor(np.ascontiguousarray(F), top, values)


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
        # Covariates are references that the factor gives no weight.
        self.F = np.pad(F, ((0, 0), (0, gram.n_covariates)))
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

    def __init__(self, gram: FeatureGram) -> None:
        self.gram = gram
        self.A = np.empty((0, gram.n_x))
        self.B = np.empty((0, gram.n_y))
        self.norms = gram.alive.astype(np.float64)
        self.vanished = ~gram.alive
        self.scale = np.ones(gram.n_x)
        self._vanishing = gram.eps ** (2 / 3)
        self._x_amplification = gram.x_amplification
        self._y_amplification = gram.y_amplification
        self._signs = np.random.default_rng(0)
        self._x_probes = np.zeros((PROBES, gram.n_x))
        self._y_probes = np.zeros((PROBES, gram.n_y))

    @property
    def rank(self) -> int:
        """Dimension of what was taken out."""
        return len(self.A)

    def extend(self, indices: Array) -> None:
        """Condition on more candidates: one set of rows of ``K_XX`` and ``2 s n_x`` flops each."""
        rows = self.gram.x_rows(indices)
        references = self.gram.block(indices).T
        rounding = self._x_amplification[indices]
        for j, row, y_row, own in zip(indices, rows, references, rounding, strict=True):
            self._take_out(row, y_row, self.A[:, j], row[j], self._x_probes[:, j], own)
        self._rescale()
        self.vanished[indices] = True
        self.scale[indices] = 0.0

    def extend_by_covariates(self) -> None:
        """Condition on the covariates, which are the last references."""
        first = self.gram.n_y - self.gram.n_covariates
        rows = np.empty((self.gram.n_covariates, self.gram.n_x))
        for columns in tiles(self.gram.n_x):
            rows[:, columns] = self.gram.block(columns)[first:]
        rounding = self._y_amplification
        for j, row in enumerate(rows, start=first):
            y_row, probe = self.gram.yy[j], self._y_probes[:, j]
            self._take_out(row, y_row, self.B[:, j], y_row[j], probe, rounding[j])
        self._rescale()

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
        self.A = np.vstack([self.A, a])
        self.B = np.vstack([self.B, b])
        self.norms -= a * a
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
        """``K_YY|S`` without the covariates."""
        K: Array = self.gram.yy - self.B.T @ self.B
        n = self.gram.n_y - self.gram.n_covariates
        return K[:n, :n]

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
        """How many times eps entries of ``K_YY|S`` are off, by reference; without covariates."""
        square = self._y_amplification**2 + _mean_square(self._y_probes)
        amplification: Array = np.sqrt(square)[: self.gram.n_y - self.gram.n_covariates]
        return amplification

    def x_rows(self, indices: Array, columns: Array | None = None) -> Array:
        """Rows of ``K_XX|S``, normalised; at some columns only, where given."""
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


def _mean_square(probes: Array) -> Array:
    """Mean square of the probes, by variable."""
    mean: Array = np.einsum("i...,i...->...", probes, probes) / PROBES
    return mean


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
