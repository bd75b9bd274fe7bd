"""Which of tied directions come first: rounding must not say."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projse.kernels.rank import default_tol

Array = NDArray[np.float64]

TIE = 1e-10
"""Eigenvalues that differ by less, relative to them, or by what rounding does, are tied."""


def tied_with(values: Array, place: int, eps: float) -> slice:
    """Return the places of the eigenvalues, in descending order, that are tied with one of them."""
    off = max(TIE * float(values[place]), default_tol(len(values), eps) * float(values[0]))
    near = np.flatnonzero(np.abs(values - values[place]) <= off)
    return slice(int(near[0]), int(near[-1]) + 1)


def by_order(vectors: Array, n: int) -> Array:
    """Return a rotation to the first n directions of a space that depend on the space alone.

    Each is the one closest to a variable of what is left of the space; among variables that are as
    close, the lowest index wins.

    Parameters
    ----------
    vectors : ndarray of shape (n_variables, k)
        Any orthonormal basis of the space.

    Returns
    -------
    ndarray of shape (k, n)
        ``vectors`` times it are those directions.
    """
    left = np.array(vectors)
    rotation = np.empty((vectors.shape[1], n))
    for t in range(n):
        sizes = np.einsum("ij,ij->i", left, left)
        first = int(np.argmax(sizes >= (1 - TIE) * sizes.max()))
        rotation[:, t] = left[first] / np.sqrt(sizes[first])
        left -= np.outer(left @ rotation[:, t], rotation[:, t])
    return rotation
