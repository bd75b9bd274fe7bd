"""The paper's algorithm as printed, the baseline that ProjSe has to beat.

A transcription of the figure "Efficient implementation of the kernelized realization" of Szedmak,
Huusari, Le and Rousu: kernel matrices in full, an eigendecomposition of ``K_YY``, and a rank-one
update of all of ``R`` a pick. Plain vectorised numpy, without tricks and without handicaps. Two
additions help it: directions without weight are dropped from ``R`` (``trim``), and ties go to the
lowest index, so that its picks can be compared with those of ProjSe.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

TIE = 1e-10


def textbook_select(
    X: Array,
    Y: Array,
    n: int,
    kernel: str = "linear",
    *,
    degree: int = 3,
    coef0: float = 0.0,
    trim: bool = True,
) -> Array:
    """Select up to n columns of X; return their indices in order.

    ``trim=False`` keeps the null directions of ``K_YY`` in R as rows of zeros, as the figure does;
    picks past the rank are noise then.
    """
    X, Y = unit_variables(X), unit_variables(Y)
    if kernel == "linear":
        K_yx, K_yy = Y.T @ X, Y.T @ Y
    elif kernel == "poly":
        K_yx, K_yy = (Y.T @ X + coef0) ** degree, (Y.T @ Y + coef0) ** degree
    elif kernel == "rbf":
        D_yx, D_yy = squared_distances(Y, X), squared_distances(Y, Y)
        gamma = 1 / (2 * mean_distance(D_yy, D_yx) ** 2)
        K_yx, K_yy = np.exp(-gamma * D_yx), np.exp(-gamma * D_yy)
    else:
        raise ValueError(f"kernel={kernel!r} is not one of linear, poly, rbf.")
    return textbook_search(reference_coordinates(K_yy, K_yx, trim=trim), n)


def unit_variables(A: Array) -> Array:
    """Centre columns and give them unit norm."""
    A = A - A.mean(axis=0)
    norms = np.linalg.norm(A, axis=0)
    return A / np.where(norms > 0, norms, 1.0)


def squared_distances(A: Array, B: Array) -> Array:
    """Between columns of A and columns of B."""
    squares = (A * A).sum(axis=0)[:, None] + (B * B).sum(axis=0)[None, :]
    return np.maximum(squares - 2 * A.T @ B, 0.0)


def mean_distance(D_yy: Array, D_yx: Array) -> float:
    """Between two references; with one reference, from it to the candidates."""
    n = len(D_yy)
    if n == 1:
        return float(np.sqrt(D_yx).mean())
    distances = np.sqrt(D_yy)
    np.fill_diagonal(distances, 0.0)
    return float(distances.sum() / (n * (n - 1)))


def reference_coordinates(K_yy: Array, K_yx: Array, *, trim: bool = True) -> Array:
    """``R = S⁺ Vᵀ K_YX`` with ``K_YY = V S² Vᵀ``."""
    values, V = np.linalg.eigh(K_yy)
    kept = values > len(values) * np.finfo(values.dtype).eps * values[-1]
    if trim:
        return (V[:, kept] / np.sqrt(values[kept])).T @ K_yx
    S_plus = np.zeros_like(values)
    S_plus[kept] = 1 / np.sqrt(values[kept])
    return (V * S_plus).T @ K_yx


def textbook_search(R: Array, n: int) -> Array:
    """Pick the longest column, take its direction out of all columns, and again.

    At most as many picks as R has rows.
    """
    R = R.copy()
    picked: list[int] = []
    for t in range(min(n, *R.shape)):
        if t > 0:
            q = R[:, picked[-1]].copy()
            R -= np.outer(q, (q @ R) / (q @ q))
        scores = np.einsum("ij,ij->j", R, R)
        scores[picked] = -1.0
        picked.append(int(np.argmax(scores >= scores.max() * (1 - TIE))))
    return np.array(picked)
