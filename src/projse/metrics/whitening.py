"""Whitening in order: coordinates in which the first k of some variables stay the first k.

With them, whatever is asked of growing sets of variables (canonical correlations, the fit of a
regression) is read off leading blocks of one small matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Array = NDArray[Any]


def ordered_whitening(C: Array, *, tol: float) -> Array:
    """Return lower triangular T such that the first rows of ``T C Tᵀ`` are those of I.

    Parameters
    ----------
    C : ndarray of shape (k, k)
        Second moments of the variables; a row of zeros for one that is constant.
    tol : float
        A variable counts as a combination of those before it where what is left of it, per unit of
        its coefficients, is a smaller share of the variance of a unit-norm variable.

    Returns
    -------
    ndarray of shape (k, k)
        ``T[:i, :i]`` whitens the first i variables. A variable that is constant, or a combination
        of those before it, has a row of zeros: it adds nothing.

    Notes
    -----
    ``k³`` flops by Cholesky. Where variables are combinations of others: Gram–Schmidt in the inner
    product that C gives, applied twice, ``2 k³`` flops.
    """
    norms = np.sqrt(np.maximum(np.diag(C), 0.0))
    live = np.flatnonzero(norms)
    unit = 1 / norms[live]
    K = C[np.ix_(live, live)] * unit[:, None] * unit
    T = np.zeros_like(C, dtype=np.float64)
    if not len(K):  # of which older SciPy has no Cholesky factor
        return T
    whitening = _cholesky(K, tol)
    T[np.ix_(live, live)] = (_gram_schmidt(K, tol) if whitening is None else whitening) * unit
    return T


def _cholesky(K: Array, tol: float) -> Array | None:
    """Return the inverse of the Cholesky factor; None where a variable adds nothing."""
    try:
        L = scipy.linalg.cholesky(K, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    T = scipy.linalg.solve_triangular(L, np.eye(len(K)), lower=True, check_finite=False)
    return T if ((T * T).sum(axis=1) * tol < 1).all() else None


def _gram_schmidt(K: Array, tol: float) -> Array:
    T = np.zeros_like(K)
    for i in range(len(K)):
        row = np.zeros(i + 1)
        row[i] = 1.0
        before, leading = T[:i, : i + 1], K[: i + 1, : i + 1]
        for _ in range(2):  # twice is enough (Kahan, Parlett)
            row -= (before @ (leading @ row)) @ before
        norm = float(row @ leading @ row)
        if norm > tol * (row @ row):
            T[i, : i + 1] = row / np.sqrt(norm)
    return T
