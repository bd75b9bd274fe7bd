"""Eigendecompositions of symmetric matrices, by divide and conquer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dsyevd

Array = NDArray[Any]


def eigh(K: Array) -> tuple[Array, Array]:
    """Return eigenvalues, ascending, and eigenvectors: about ``9 n³`` flops.

    LAPACK itself: what NumPy and SciPy do around it takes longer than a small matrix.
    """
    if not len(K):
        return np.empty(0), np.empty((0, 0))
    values, vectors, failed = dsyevd(K, lower=1)
    if failed:
        raise np.linalg.LinAlgError("Eigenvalues did not converge")
    return values, vectors
