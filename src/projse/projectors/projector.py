"""Orthogonal projectors, and their algebra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from projse.projectors.checks import EPS, Array, as_array, check_count, check_tol

_ALGEBRA_TOL = 1e-8  # sines and cosines below this count as zero in relations between projectors


class Projector:
    """Orthogonal projector onto a subspace of R^m, held as an orthonormal basis.

    Build one with `onto`, `from_basis`, `from_matrix`, `identity` or `zero`. The operators follow
    the algebra of projections and refuse where the result would not be one: ``P + Q`` needs
    orthogonal subspaces, ``P - Q`` needs ``Q <= P``, and ``P * Q`` (or ``P @ Q``) needs projectors
    that commute. ``P @ x`` and ``P(x)`` project a vector, or each column of a matrix.

    Parameters
    ----------
    basis : array_like of shape (m, r)
        Orthonormal columns, to 1e-8; none for the projector onto the origin. Copied, read-only.

    Notes
    -----
    Memory O(m r); applying to k columns costs O(m r k). Relations compare sines or cosines of
    principal angles with `tol`, 1e-8 by default.

    Examples
    --------
    >>> P = Projector.onto([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0]])
    >>> P, P <= Projector.identity(3), P + P.complement()
    (Projector(m=3, rank=1), True, Projector(m=3, rank=3))
    >>> (P @ [3.0, 1.0, 5.0]).round(12).tolist()
    [2.0, 2.0, 0.0]
    """

    __array_ufunc__ = None  # ``ndarray @ P`` is a TypeError, not an array of objects

    def __init__(self, basis: ArrayLike) -> None:
        B = as_array(basis, "basis").copy()
        gap = float(np.abs(B.T @ B - np.eye(B.shape[1])).max(initial=0.0))
        if gap > _ALGEBRA_TOL:
            raise ValueError(
                f"basis is not orthonormal: max |B'B - I| = {gap:.3g} > {_ALGEBRA_TOL:.3g}; "
                "use Projector.onto for columns that only span the subspace"
            )
        B.setflags(write=False)
        self.basis: Array = B

    @classmethod
    def onto(cls, A: ArrayLike, tol: float | None = None) -> Self:
        """Projector onto the span of the columns of `A`, by a thin SVD in O(m n min(m, n)).

        Parameters
        ----------
        A : array_like of shape (m, n)
            Columns that span the subspace; they may be dependent, zero or absent.
        tol : float, optional
            Singular values up to ``tol * sigma_1`` count as zero; ``max(m, n) * eps`` by default.

        Examples
        --------
        >>> Projector.onto([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]).matrix.tolist()
        [[1.0, 0.0], [0.0, 0.0]]
        """
        A = as_array(A, "A")
        tol = max(A.shape) * EPS if tol is None else check_tol(tol)
        U, s, _ = np.linalg.svd(A, full_matrices=False)
        return cls(U[:, s > tol * s.max(initial=0.0)])

    @classmethod
    def from_basis(cls, basis: ArrayLike) -> Self:
        """Projector onto the span of orthonormal columns (m, r); checked, O(m r^2)."""
        return cls(basis)

    @classmethod
    def from_matrix(cls, P: ArrayLike, tol: float = _ALGEBRA_TOL) -> Self:
        """Projector with the (m, m) matrix `P`, once seen to be symmetric and idempotent.

        Raises ValueError, with the largest deviation, if an entry of ``P - P'`` or ``PP - P``
        exceeds `tol`. Cost O(m^3); the rank is the number of eigenvalues at one.

        Examples
        --------
        >>> Projector.from_matrix([[0.5, 0.5], [0.5, 0.5]]).rank
        1
        """
        P = as_array(P, "P")
        if P.shape[0] != P.shape[1]:
            raise ValueError(f"P must be square, got shape {P.shape}; use Projector.onto for spans")
        checks = {"symmetric: max |P - P'|": P - P.T, "idempotent: max |PP - P|": P @ P - P}
        for what, difference in checks.items():
            if (gap := float(np.abs(difference).max())) > tol:
                raise ValueError(
                    f"P is not {what} = {gap:.3g} > tol = {tol:.3g}; "
                    "use Projector.onto(P) for the projector onto its column span"
                )
        return cls(leading_eigenvectors(P))

    @classmethod
    def identity(cls, m: int) -> Self:
        """Projector onto the whole of R^m."""
        return cls(np.eye(check_count(m, "m", 1)))

    @classmethod
    def zero(cls, m: int) -> Self:
        """Projector of R^m onto the origin, of rank 0."""
        return cls(np.empty((check_count(m, "m", 1), 0)))

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (m, m) of the projector as a matrix."""
        return len(self.basis), len(self.basis)

    @property
    def rank(self) -> int:
        """Dimension r of the subspace."""
        return int(self.basis.shape[1])

    @property
    def trace(self) -> float:
        """Trace of the matrix; the rank, but for rounding."""
        return float(np.sum(self.basis**2))

    @property
    def matrix(self) -> Array:
        """The (m, m) matrix, newly formed in O(m^2 r)."""
        return self.basis @ self.basis.T

    def complement(self) -> Projector:
        """Projector ``I - P`` onto the orthogonal complement; full QR, O(m^2 r) and m^2 memory."""
        return Projector(complete(self.basis))

    def apply(self, x: ArrayLike) -> Array:
        """Project a vector (m,) or each column of a matrix (m, k), in O(m r k)."""
        return self.basis @ self._coordinates(x)

    def squared_norm(self, x: ArrayLike) -> Array:
        """Squared norms ``||P x||^2``: shape () for a vector (m,), (k,) for a matrix (m, k)."""
        return np.asarray(np.sum(self._coordinates(x) ** 2, axis=0))

    def is_subspace_of(self, other: Projector, tol: float = _ALGEBRA_TOL) -> bool:
        """Whether `other` moves no unit vector of this subspace by more than `tol`."""
        return self._distance_to(other) <= tol

    def is_orthogonal_to(self, other: Projector, tol: float = _ALGEBRA_TOL) -> bool:
        """Whether every cosine between the two subspaces is at most `tol`."""
        return self._largest_cosine(other) <= tol

    def commutes_with(self, other: Projector, tol: float = _ALGEBRA_TOL) -> bool:
        """Whether the spectral norm of ``PQ - QP`` is at most `tol`."""
        return self._commutator_norm(other) <= tol

    def is_geometrically_orthogonal_to(self, other: Projector, tol: float = _ALGEBRA_TOL) -> bool:
        """Whether the subspaces are orthogonal outside what they share, in Tjur's sense.

        It is the same as commuting: every principal angle is then right or zero.

        Examples
        --------
        >>> xy, yz = Projector.onto(np.eye(3)[:, :2]), Projector.onto(np.eye(3)[:, 1:])
        >>> xy.is_geometrically_orthogonal_to(yz), xy.is_orthogonal_to(yz), (xy * yz).rank
        (True, False, 1)
        """
        return self.commutes_with(other, tol)

    def allclose(self, other: Projector, tol: float = _ALGEBRA_TOL) -> bool:
        """Whether both project onto the same subspace, to an angle of sine `tol`."""
        return self.is_subspace_of(other, tol) and self.rank == other.rank

    __call__ = apply

    @overload
    def __matmul__(self, other: Projector) -> Projector: ...
    @overload
    def __matmul__(self, other: ArrayLike) -> Array: ...
    def __matmul__(self, other: Any) -> Projector | Array:
        return self * other if isinstance(other, Projector) else self.apply(other)

    def __mul__(self, other: Projector) -> Projector:
        if (gap := self._commutator_norm(other)) > _ALGEBRA_TOL:
            raise ValueError(
                f"P * Q is not a projector: they do not commute, ||PQ - QP|| = {gap:.3g}; "
                "use intersection(P, Q) for the projector onto what the subspaces share"
            )
        U, cosines, _ = np.linalg.svd(self.basis.T @ other.basis, full_matrices=False)
        return Projector(self.basis @ U[:, cosines > 0.5])

    def __add__(self, other: Projector) -> Projector:
        if (gap := self._largest_cosine(other)) > _ALGEBRA_TOL:
            raise ValueError(
                f"P + Q is not a projector: they are not orthogonal, their largest cosine is "
                f"{gap:.3g}; use Projector.onto on both bases side by side for the joint span"
            )
        return Projector(np.linalg.qr(np.hstack([self.basis, other.basis]))[0])

    def __sub__(self, other: Projector) -> Projector:
        if (gap := other._distance_to(self)) > _ALGEBRA_TOL:
            raise ValueError(
                f"P - Q is not a projector: a unit vector of Q's subspace is {gap:.3g} away from "
                "P's; use intersection(P, Q.complement()) for the part of P orthogonal to Q"
            )
        return Projector(self.basis @ complete(self.basis.T @ other.basis))

    def __le__(self, other: Projector) -> bool:
        return self.is_subspace_of(other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(m={self.shape[0]}, rank={self.rank})"

    def _coordinates(self, x: ArrayLike) -> Array:
        x = as_array(x, "x", (1, 2))
        if len(x) != (m := len(self.basis)):
            raise ValueError(f"x has {len(x)} rows, the projector acts on R^{m}; pass {m} rows")
        return np.asarray(self.basis.T @ x)

    def _distance_to(self, other: Projector) -> float:
        check_projectors([self, other])
        return _spectral_norm(self.basis - other.apply(self.basis))

    def _largest_cosine(self, other: Projector) -> float:
        check_projectors([self, other])
        return _spectral_norm(self.basis.T @ other.basis)

    def _commutator_norm(self, other: Projector) -> float:
        # PQ - QP = (I-Q)PQ - QP(I-Q): two blocks of equal norm with orthogonal ranges
        check_projectors([self, other])
        C = self.basis.T @ other.basis
        return _spectral_norm((self.basis - other.basis @ C.T) @ C)


def complete(basis: Array) -> Array:
    """Orthonormal basis of what the orthonormal columns of `basis` leave out."""
    return np.linalg.qr(basis, mode="complete")[0][:, basis.shape[1] :]


def _spectral_norm(A: Array) -> float:
    return float(np.linalg.norm(A, 2)) if A.size else 0.0


def leading_eigenvectors(P: Array) -> Array:
    """Basis of the projector nearest to `P`, which is one but for rounding."""
    values, vectors = np.linalg.eigh((P + P.T) / 2)
    return vectors[:, values > 0.5]


def check_projectors(projectors: Sequence[Projector]) -> None:
    """Refuse what are no projectors, or not of the same space."""
    if not projectors:
        raise ValueError("projectors is empty; pass at least one Projector")
    if strangers := [type(P).__name__ for P in projectors if not isinstance(P, Projector)]:
        raise TypeError(f"expected a Projector, got {strangers[0]}; build one with Projector.onto")
    rows = sorted({len(P.basis) for P in projectors})
    if len(rows) > 1:
        raise ValueError(
            f"projectors act on different spaces, R^{rows[0]} and R^{rows[-1]}; "
            "build them from matrices with the same number of rows"
        )
