"""Projectors onto intersections of subspaces."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from projse.projectors.checks import EPS, NOISE, as_array, check_count, check_tol
from projse.projectors.projector import (
    Projector,
    check_projectors,
    complete,
    leading_eigenvectors,
)

_MAX_SQUARINGS = 40  # past 2**40 factors rounding wears down the eigenvalue one itself


def intersect_with_complement(P: Projector, x: ArrayLike, tol: float = NOISE) -> Projector:
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
    x = as_array(x, "x", (1,))
    x = x / (np.abs(x).max() or 1.0)
    c = P._coordinates(x)
    length = float(np.linalg.norm(c))
    if length <= tol * float(np.linalg.norm(x)):
        return P
    return Projector(P.basis @ complete(c[:, None] / length))


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
    """Projector onto the intersection of several subspaces, the limit of ``(P1 ⋯ Pk)^n``.

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
    check_projectors(projectors)
    T = reduce(np.matmul, [P.matrix for P in projectors])
    # No early exit: a factor close to one looks converged until n is large enough to show it.
    for _ in range(check_count(max_iter, "max_iter", 1, _MAX_SQUARINGS)):
        T = T @ T
    if not (gap := float(np.linalg.norm(T @ T - T))) <= tol:
        raise np.linalg.LinAlgError(
            f"no convergence after max_iter={max_iter} squarings: ||TT - T|| = {gap:.3g} > "
            f"tol = {tol:.3g}; the subspaces meet at a small angle, use intersection_ben_israel"
        )
    return Projector(leading_eigenvectors(T))


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
    check_projectors([P1, P2])
    tol = np.sqrt(len(P1.basis) * EPS) if tol is None else check_tol(tol)
    inverse = np.linalg.pinv(P1.matrix + P2.matrix, rcond=tol**2, hermitian=True)
    return Projector(leading_eigenvectors(2.0 * P1.matrix @ inverse @ P2.matrix))


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
    check_projectors(projectors)
    tol = np.sqrt(len(projectors[0].basis) * EPS) if tol is None else check_tol(tol)
    lam = np.ones(len(projectors)) if weights is None else as_array(weights, "weights", (1,))
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
