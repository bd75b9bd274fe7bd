"""Eigendecompositions of symmetric matrices, by divide and conquer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dsyevd

Array = NDArray[Any]

SMALL = 256
"""Up to this many rows, what NumPy does around LAPACK shows. Beyond, its LAPACK counts in 64 bits,
which SciPy's need not do: the memory to work in has more than 2³¹ values from 32 766 rows on."""


def eigh(K: Array) -> tuple[Array, Array]:
    """Return eigenvalues, ascending, and eigenvectors: about ``9 n³`` flops.

    Of a small matrix by LAPACK itself.
    """
    if not 0 < len(K) <= SMALL:
        values, vectors = np.linalg.eigh(K)
        return values, vectors
    values, vectors, failed = dsyevd(K, lower=1)
    if failed:
        raise np.linalg.LinAlgError("Eigenvalues did not converge")
    return values, vectors
