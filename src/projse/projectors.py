"""Orthogonal projectors, projectors onto intersections, and selection written with them.

Everything here works with explicit bases and m x m matrices, so it suits medium data: some
thousand rows. Its purpose is to be read beside the mathematics and to check the fast paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Projector",
    "intersect_with_complement",
    "intersection",
    "intersection_anderson_duffin",
    "intersection_ben_israel",
    "intersection_halperin",
    "intersection_von_neumann",
    "select_by_projectors",
]

Array = NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)
_ALGEBRA_TOL = 1e-8  # sines and cosines below this count as zero in relations between projectors
_NOISE = 1e-10  # a projection shorter than this, relative to its vector, is rounding
_TIE = 1e-10  # scores this close, relative to the best, are equal
_MAX_SQUARINGS = 40  # past 2**40 factors rounding wears down the eigenvalue one itself


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
        B = _as_array(basis, "basis").copy()
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
        A = _as_array(A, "A")
        tol = max(A.shape) * _EPS if tol is None else _check_tol(tol)
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
        P = _as_array(P, "P")
        if P.shape[0] != P.shape[1]:
            raise ValueError(f"P must be square, got shape {P.shape}; use Projector.onto for spans")
        checks = {"symmetric: max |P - P'|": P - P.T, "idempotent: max |PP - P|": P @ P - P}
        for what, difference in checks.items():
            if (gap := float(np.abs(difference).max())) > tol:
                raise ValueError(
                    f"P is not {what} = {gap:.3g} > tol = {tol:.3g}; "
                    "use Projector.onto(P) for the projector onto its column span"
                )
        return cls(_leading_eigenvectors(P))

    @classmethod
    def identity(cls, m: int) -> Self:
        """Projector onto the whole of R^m."""
        return cls(np.eye(_check_count(m, "m", 1)))

    @classmethod
    def zero(cls, m: int) -> Self:
        """Projector of R^m onto the origin, of rank 0."""
        return cls(np.empty((_check_count(m, "m", 1), 0)))

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
        return Projector(_complete(self.basis))

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
        return Projector(self.basis @ _complete(self.basis.T @ other.basis))

    def __le__(self, other: Projector) -> bool:
        return self.is_subspace_of(other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(m={self.shape[0]}, rank={self.rank})"

    def _coordinates(self, x: ArrayLike) -> Array:
        x = _as_array(x, "x", (1, 2))
        if len(x) != (m := len(self.basis)):
            raise ValueError(f"x has {len(x)} rows, the projector acts on R^{m}; pass {m} rows")
        return np.asarray(self.basis.T @ x)

    def _distance_to(self, other: Projector) -> float:
        _check_projectors([self, other])
        return _spectral_norm(self.basis - other.apply(self.basis))

    def _largest_cosine(self, other: Projector) -> float:
        _check_projectors([self, other])
        return _spectral_norm(self.basis.T @ other.basis)

    def _commutator_norm(self, other: Projector) -> float:
        # PQ - QP = (I-Q)PQ - QP(I-Q): two blocks of equal norm with orthogonal ranges
        _check_projectors([self, other])
        C = self.basis.T @ other.basis
        return _spectral_norm((self.basis - other.basis @ C.T) @ C)


def intersect_with_complement(P: Projector, x: ArrayLike, tol: float = _NOISE) -> Projector:
    """Projector onto the vectors of a subspace that are orthogonal to `x`.

    It is ``P - P x x' P / alpha`` with ``alpha = x' P x``, carried out on the basis of `P`: the
    basis loses the direction of ``P x``.

    Parameters
    ----------
    P : Projector
        Projector of R^m onto a subspace of dimension r.
    x : array_like of shape (m,)
        Any vector; its length does not matter.
    tol : float, default=1e-10
        ``alpha`` counts as zero when ``||P x|| <= tol * ||x||``.

    Returns
    -------
    Projector
        Of rank r - 1; `P` itself when alpha is zero. Cost O(m r^2).

    Examples
    --------
    >>> intersect_with_complement(Projector.identity(2), [0.0, 3.0]).matrix.round(12).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    x = _as_array(x, "x", (1,))
    x = x / (np.abs(x).max() or 1.0)
    c = P._coordinates(x)
    length = float(np.linalg.norm(c))
    if length <= tol * float(np.linalg.norm(x)):
        return P
    return Projector(P.basis @ _complete(c[:, None] / length))


def intersection_von_neumann(
    P1: Projector, P2: Projector, tol: float = 1e-6, max_iter: int = 24
) -> Projector:
    """Projector onto the intersection of two subspaces, the limit of ``(P1 P2)^n``.

    `intersection_halperin` with two projectors: its parameters, cost and errors hold here.

    Examples
    --------
    >>> xy, yz = Projector.onto(np.eye(3)[:, :2]), Projector.onto(np.eye(3)[:, 1:])
    >>> intersection_von_neumann(xy, yz).matrix.round(12).diagonal().tolist()
    [0.0, 1.0, 0.0]
    """
    return intersection_halperin([P1, P2], tol, max_iter)


def intersection_halperin(
    projectors: Sequence[Projector], tol: float = 1e-6, max_iter: int = 24
) -> Projector:
    """Projector onto the intersection of several subspaces, the limit of ``(P1 ... Pk)^n``.

    Parameters
    ----------
    projectors : sequence of Projector
        At least one, all on R^m.
    tol : float, default=1e-6
        The power T counts as converged when the Frobenius norm of ``TT - T`` is at most this.
    max_iter : int, default=24
        Number of squarings, at most 40: ``n = 2**max_iter``. Rounding grows like ``n * eps``.

    Returns
    -------
    Projector
        Accurate to about ``eps / angle**2``. Cost O(max_iter m^3), memory O(m^2).

    Raises
    ------
    numpy.linalg.LinAlgError
        If the power is not yet a projector: the subspaces meet at a small angle. With two
        subspaces, angles above 1e-3 converge and those below 2e-7 are taken as zero.

    Examples
    --------
    >>> intersection_halperin([Projector.identity(3), Projector.onto(np.eye(3)[:, :2])]).rank
    2
    """
    _check_projectors(projectors)
    T = reduce(np.matmul, [P.matrix for P in projectors])
    # No early exit: a factor close to one looks converged until n is large enough to show it.
    for _ in range(_check_count(max_iter, "max_iter", 1, _MAX_SQUARINGS)):
        T = T @ T
    if not (gap := float(np.linalg.norm(T @ T - T))) <= tol:
        raise np.linalg.LinAlgError(
            f"no convergence after max_iter={max_iter} squarings: ||TT - T|| = {gap:.3g} > "
            f"tol = {tol:.3g}; the subspaces meet at a small angle, use intersection_ben_israel"
        )
    return Projector(_leading_eigenvectors(T))


def intersection_anderson_duffin(
    P1: Projector, P2: Projector, tol: float | None = None
) -> Projector:
    """Projector onto the intersection of two subspaces, ``2 P1 (P1 + P2)^+ P2``, in O(m^3).

    Parameters
    ----------
    P1, P2 : Projector
        Both on R^m.
    tol : float, optional
        Directions of the two whose half angle has a sine up to `tol` count as shared;
        ``sqrt(m * eps)`` by default, the finest that the squares in the formula can tell.

    Examples
    --------
    >>> xy, yz = Projector.onto(np.eye(3)[:, :2]), Projector.onto(np.eye(3)[:, 1:])
    >>> intersection_anderson_duffin(xy, yz).matrix.round(12).diagonal().tolist()
    [0.0, 1.0, 0.0]
    """
    _check_projectors([P1, P2])
    tol = np.sqrt(len(P1.basis) * _EPS) if tol is None else _check_tol(tol)
    inverse = np.linalg.pinv(P1.matrix + P2.matrix, rcond=tol**2, hermitian=True)
    return Projector(_leading_eigenvectors(2.0 * P1.matrix @ inverse @ P2.matrix))


def intersection_ben_israel(
    projectors: Sequence[Projector], weights: ArrayLike | None = None, tol: float | None = None
) -> Projector:
    """Projector onto the intersection of k subspaces, ``I - Q^+ Q``, in O(k m^3).

    Here ``Q = sum_i weight_i (I - P_i)``. It factors as ``Q = W W'`` with the scaled bases of the
    complements side by side in W, and ``Q^+ Q`` projects onto the span of W, so Q is never formed
    and small angles are not squared.

    Parameters
    ----------
    projectors : sequence of Projector
        At least one, all on R^m.
    weights : array_like of shape (k,), optional
        Positive; equal by default. Mathematically they do not change the result.
    tol : float, optional
        Singular values of W up to `tol` times the largest count as zero; for two subspaces that is
        the sine of half their angle. ``sqrt(m * eps)`` by default, as for the other formulas.

    Examples
    --------
    >>> xy, yz = Projector.onto(np.eye(3)[:, :2]), Projector.onto(np.eye(3)[:, 1:])
    >>> intersection_ben_israel([xy, yz], [0.3, 0.7]).matrix.round(12).diagonal().tolist()
    [0.0, 1.0, 0.0]
    """
    _check_projectors(projectors)
    tol = np.sqrt(len(projectors[0].basis) * _EPS) if tol is None else _check_tol(tol)
    lam = np.ones(len(projectors)) if weights is None else _as_array(weights, "weights", (1,))
    if len(lam) != len(projectors) or lam.min() <= tol**2 * lam.max():
        raise ValueError(
            f"weights must be {len(projectors)} positive numbers, none below {tol**2:.3g} (tol "
            f"squared) times the largest, got {lam.tolist()}; leave it None for equal weights"
        )
    pairs = zip(np.sqrt(lam / lam.max()), projectors, strict=True)
    return Projector.onto(np.hstack([w * P.complement().basis for w, P in pairs]), tol).complement()


def intersection(*projectors: Projector) -> Projector:
    """Projector onto what all the subspaces share, by `intersection_ben_israel`.

    Examples
    --------
    >>> intersection(Projector.identity(3), Projector.onto(np.eye(3)[:, :2])).rank
    2
    """
    return intersection_ben_israel(projectors)


def select_by_projectors(
    X: ArrayLike, Y: ArrayLike, n: int, center: bool = True
) -> tuple[NDArray[np.intp], Array]:
    """Greedy selection of variables with explicit m x m projectors; O(m^2 n_x) a pick.

    Each step takes the variable of largest ``||P x||^2 / ||x||^2``, where P starts as the projector
    onto the span of `Y`, and takes its shadow out of P. Among scores within 1e-10 (relative) of the
    best the lowest index wins.

    Parameters
    ----------
    X : array_like of shape (m, n_x)
        Candidate variables.
    Y : array_like of shape (m, n_y)
        Reference variables; only their span matters. Each has unit norm when the rank is decided.
    n : int
        Number of variables wanted, from 1 to n_x.
    center : bool, default=True
        Subtract column means from both. A constant column then scores 0 and is never picked.

    Returns
    -------
    indices : ndarray of int, shape (n_selected,)
        Picks in order. Fewer than `n` when the rank of the references is used up, or when no
        squared score is above 1e-20.
    scores : ndarray of float, shape (n_selected,)
        The squared norm of each pick's projection when picked, in [0, 1].

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 1.0], [-1.0, -2.0, 1.0], [0.0, 0.0, -2.0], [0.0, 0.0, 0.0]])
    >>> indices, scores = select_by_projectors(X, X, 3)
    >>> indices.tolist(), scores.round(12).tolist()
    ([0, 2], [1.0, 1.0])
    """
    X, Y = _as_array(X, "X"), _as_array(Y, "Y")
    if len(X) != len(Y):
        raise ValueError(f"X has {len(X)} rows and Y has {len(Y)}; pass the same samples in both")
    _check_count(n, "n", 1, X.shape[1])

    X = _unit_columns(X, center)
    reference = Projector.onto(_unit_columns(Y, center))
    P = reference.matrix
    indices: list[int] = []
    scores: list[float] = []
    for _ in range(min(n, reference.rank)):
        PX = P @ X
        score = np.sum(PX**2, axis=0)
        score[indices] = 0.0
        best = score.max()
        if best <= _NOISE**2:
            break
        k = int(np.flatnonzero(score >= best * (1.0 - _TIE))[0])
        indices.append(k)
        scores.append(min(float(score[k]), 1.0))
        u = P @ PX[:, k]  # = P x; projecting twice keeps P a projector when the score is small
        P = P - np.outer(u, u) / (u @ u)
    return np.array(indices, dtype=np.intp), np.array(scores, dtype=np.float64)


def _unit_columns(A: Array, center: bool) -> Array:
    """Columns of unit norm, centred if asked; a column that holds only rounding becomes zero."""
    _, exponent = np.frexp(np.abs(A).max(axis=0))
    A = np.ldexp(A, -exponent)  # exact, and keeps squares away from overflow
    floor = np.zeros(A.shape[1])
    if center:
        shifted = A - A[0]  # the shift makes a constant column exactly zero
        mean = shifted.mean(axis=0)
        floor = 16 * _EPS * np.abs(A[0] + mean) * np.sqrt(len(A))
        A = shifted - mean
    norms = np.linalg.norm(A, axis=0)
    keep = norms > floor
    return np.where(keep, A / np.where(keep, norms, 1.0), 0.0)


def _complete(basis: Array) -> Array:
    """Orthonormal basis of what the orthonormal columns of `basis` leave out."""
    return np.linalg.qr(basis, mode="complete")[0][:, basis.shape[1] :]


def _leading_eigenvectors(P: Array) -> Array:
    """Basis of the projector nearest to `P`, which is one but for rounding."""
    values, vectors = np.linalg.eigh((P + P.T) / 2)
    return vectors[:, values > 0.5]


def _spectral_norm(A: Array) -> float:
    return float(np.linalg.norm(A, 2)) if A.size else 0.0


def _as_array(value: ArrayLike, name: str, ndims: tuple[int, ...] = (2,)) -> Array:
    if np.iscomplexobj(value):
        raise ValueError(f"{name} is complex; pass real numbers, e.g. real and imaginary parts")
    array = np.asarray(value, dtype=np.float64)
    if array.ndim not in ndims:
        wanted = " or ".join(f"{d}-D" for d in ndims)
        raise ValueError(
            f"{name} must be {wanted}, got {array.ndim}-D with shape {array.shape}; "
            f"reshape it, e.g. {name}[:, None] makes a single column of a vector"
        )
    if len(array) == 0:
        raise ValueError(f"{name} has no rows (shape {array.shape}); pass at least one")
    finite = np.isfinite(array.reshape(len(array), -1)).all(axis=0)
    if not finite.all():
        raise ValueError(
            f"{name} has NaN or infinite values, first in column {np.argmin(finite)}; "
            "drop or impute them"
        )
    return array


def _check_count(value: object, name: str, low: int, high: float = np.inf) -> int:
    if not isinstance(value, int | np.integer) or not low <= value <= high:
        raise ValueError(f"{name} must be an integer from {low} to {high}, got {value!r}")
    return int(value)


def _check_tol(tol: float) -> float:
    if not 0.0 <= tol < 1.0:
        raise ValueError(f"tol must be in [0, 1), got {tol!r}; leave it None for the default")
    return tol


def _check_projectors(projectors: Sequence[Projector]) -> None:
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
