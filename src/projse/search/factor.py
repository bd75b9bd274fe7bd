"""A factor of the references' kernel matrix, on the directions that are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.kernels.eigh import eigh
from projse.kernels.rank import STORED, default_tol
from projse.kernels.tied_directions import by_order, tied_with

Array = NDArray[Any]


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


def factor(
    K: Array,
    *,
    alpha: float = 0.0,
    rank: int | float | None = None,
    tol: float | None = None,
    eps: float = float(np.finfo(np.float64).eps),
    largest: float | None = None,
    amplification: Array | None = None,
    off: Array | None = None,
    directions: tuple[Array, Array] | None = None,
) -> Factor:
    """Factor a Gram matrix: ``FᵀF = (K + αI)⁻¹`` on the directions that are kept.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric, positive semi-definite up to rounding.
    alpha : float
        Ridge.
    rank : int, float or None
        Keep at most this many leading directions, or this share of the trace, whatever ``tol``
        cuts of it. Of tied ones, those closest to the first variables.
    tol : float or None
        Cut eigenvalues below this share of the largest one.
    eps : float
        Unit roundoff of the entries, for the default of ``tol``.
    largest : float or None
        What ``tol`` is relative to, when K is what conditioning left of a larger matrix.
    amplification : ndarray of shape (n,) or None
        How many times its unit roundoff each row of K is off. A direction is dropped that is
        shorter than the rounding of the rows it is made of, whatever ``tol`` says.
    off : ndarray of shape (n,) or None
        Length of the rounding that the variable behind each row was stored with. A direction is
        dropped that is not clearly longer than what it has of that.
    directions : tuple of ndarray or None
        Eigenvalues of K, ascending, and its eigenvectors, where they are known.

    Notes
    -----
    One symmetric eigendecomposition, about ``9 n³`` flops. At rank loss the missing directions are
    dropped, never inverted.
    """
    n = len(K)
    if n == 0:
        return Factor(np.empty((0, 0)), 0.0, np.empty(0))
    values, vectors = eigh(K) if directions is None else directions
    values, vectors = values[::-1], vectors[:, ::-1]
    top = float(values[0]) if largest is None else largest
    total = float(values[values > 0].sum())
    cut = (default_tol(n, eps) if tol is None else tol) * top
    known = values > max(cut, 0.0)
    if amplification is not None:
        known &= values > default_tol(n, eps) * (amplification**2 @ vectors**2)
    if off is not None:
        known &= values > (STORED * off) ** 2 @ vectors**2
    values, vectors = values[known], vectors[:, known]
    kept = _leading(values, rank, total)
    tied = _cut_through(values, kept, eps)
    if tied is not None:
        space = vectors[:, tied]
        vectors[:, tied.start : kept] = space @ by_order(space, kept - tied.start)
    values = values[:kept]
    F = vectors[:, :kept].T / np.sqrt(values + alpha)[:, None]
    return Factor(np.ascontiguousarray(F), top, values)


def in_units(
    basis: Factor,
    units: Array,
    *,
    alpha: float = 0.0,
    rank: int | float | None = None,
    tol: float | None = None,
    largest: float,
) -> Factor:
    """Factor ``K' = D K D`` for ``D = diag(units)``, given a factor of K without a ridge.

    Returns ``F D`` with ``FᵀF = (K' + αI)⁻¹``, on the directions that are kept: what products with
    the variables behind K are to be multiplied by.

    Units may differ so much that K' would lose to rounding what K has. So K' is not made: with
    ``K = GᵀG`` on the directions of K, the singular values of ``G D`` are roots of its eigenvalues.

    Parameters
    ----------
    basis : Factor
    units : ndarray of shape (n,)
    alpha, rank, tol, largest
        As of :func:`factor`.
    """
    if not basis.rank:
        return Factor(basis.F, largest, basis.values)
    G = basis.F * basis.values[:, None] * units
    Q, roots, V = np.linalg.svd(G, full_matrices=False)
    values = roots**2
    known = int((values > (tol or 0.0) * largest).sum())
    total = float(values.sum())
    values = values[:known]
    kept = _leading(values, rank, total)
    tied = _cut_through(values, kept, float(np.finfo(np.float64).eps))
    if tied is not None:
        rotation = by_order(V[tied].T, kept - tied.start)
        Q[:, tied.start : kept] = Q[:, tied] @ rotation
    values = values[:kept]
    F = (Q[:, :kept] * np.sqrt(values / (values + alpha))).T @ basis.F
    return Factor(np.ascontiguousarray(F), largest, values)


def _cut_through(values: Array, kept: int, eps: float) -> slice | None:
    """Return the tied directions of which some are kept and some are not; None: there are none."""
    if not 0 < kept < len(values):
        return None
    tied = tied_with(values, kept - 1, eps)
    return tied if tied.stop > kept else None


def _leading(values: Array, rank: int | float | None, total: float) -> int:
    """Return how many of these eigenvalues, in falling order, ``rank`` keeps; a share is of all."""
    if isinstance(rank, float):
        share = np.cumsum(values) / total
        return min(len(values), int(np.searchsorted(share, rank - 1e-12)) + 1)
    return len(values) if rank is None else min(len(values), rank)
