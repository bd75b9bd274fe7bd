"""Whitening in order: coordinates in which the first k of some variables stay the first k.

With them, whatever is asked of growing sets of variables (canonical correlations, the fit of a
regression) is read off leading blocks of one small matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def ordered_whitening(C: Array, eps: float) -> Array:
    """Return lower triangular T such that the first rows of ``T C Tᵀ`` are those of I.

    Parameters
    ----------
    C : ndarray of shape (k, k)
        Second moments of the variables.
    eps : float
        Unit roundoff of the entries.

    Returns
    -------
    ndarray of shape (k, k)
        ``T[:i, :i]`` whitens the first i variables. A variable that is constant, or a combination
        of those before it, has a row of zeros: it adds nothing.

    Notes
    -----
    Gram–Schmidt in the inner product that C gives, applied twice; ``3 k³`` flops.
    """
    norms = np.sqrt(np.maximum(np.diag(C), 0.0))
    with np.errstate(divide="ignore"):
        unit = np.where(norms > 0, 1 / norms, 0.0)
    K = C * unit[:, None] * unit
    T = np.zeros_like(K)
    vanishing = eps ** (2 / 3)
    for i in range(len(K)):
        row = np.zeros(len(K))
        row[i] = 1.0
        for _ in range(2):  # twice is enough (Kahan, Parlett)
            row -= (T[:i] @ (K @ row)) @ T[:i]
        norm = float(row @ K @ row)
        if norm > vanishing:
            T[i] = row / np.sqrt(norm)
    return T * unit
