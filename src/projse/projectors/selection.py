"""Selection of variables, written with projectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projse.projectors.checks import EPS, NOISE, Array, as_array, check_count
from projse.projectors.projector import Projector

_TIE = 1e-10  # scores this close, relative to the best, are equal


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
    X, Y = as_array(X, "X"), as_array(Y, "Y")
    if len(X) != len(Y):
        raise ValueError(f"X has {len(X)} rows and Y has {len(Y)}; pass the same samples in both")
    check_count(n, "n", 1, X.shape[1])

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
        if best <= NOISE**2:
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
        floor = 16 * EPS * np.abs(A[0] + mean) * np.sqrt(len(A))
        A = shifted - mean
    norms = np.linalg.norm(A, axis=0)
    keep = norms > floor
    return np.where(keep, A / np.where(keep, norms, 1.0), 0.0)
