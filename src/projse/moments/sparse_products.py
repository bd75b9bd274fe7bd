"""Centred products of sparse columns, without densifying them.

``Σ w (a − ā)(b − b̄) = Σ w (a − ā) b``: when one factor is centred, the other need not be. So a
dense factor is centred a batch at a time and the sparse one is used as it is. With two sparse
factors the means enter as a rank-one term. That term cancels digits only in columns that are
nearly full of large values; those take less memory as dense columns anyway, and are handled so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

if TYPE_CHECKING:
    from projse.moments.sums import Moments

Array = NDArray[Any]

NEARLY_FULL = 0.5
"""A column filled beyond this share takes no more memory dense than sparse."""

BATCH_ELEMENTS = 1 << 20

WIDE_BATCH_ELEMENTS = 1 << 23
"""The same where sums over a batch would be longer than what is added to them."""


def block_diagonal(blocks: Iterable[Array]) -> sp.csc_array:
    """Put dense blocks, of any shape, one after the other along a diagonal."""
    # The first, which is empty, says that arrays come out: SciPy is leaving its matrices.
    return sp.csc_array(sp.block_diag([sp.coo_array((0, 0)), *blocks]))


def weighted_mean(A: sp.csr_array, weight: Array | None, total: float) -> Array:
    """Weighted mean of each sparse column, shape (n,), corrected once for its own rounding."""
    w = np.ones(A.shape[0]) if weight is None else weight
    mean = np.asarray(A.T @ w, dtype=np.float64).ravel() / total
    stored, empty = _stored_sums(A, w, total, lambda values, columns: values - mean[columns])
    return mean + (stored - empty * mean) / total


def centred_square(A: sp.csr_array, mean: Array, weight: Array | None, total: float) -> Array:
    """Weighted sum of squares about the mean, for each sparse column.

    Stored entries are centred one by one; the implicit zeros add ``w x̄²`` each.
    """
    w = np.ones(A.shape[0]) if weight is None else weight
    stored, empty = _stored_sums(A, w, total, lambda values, columns: (values - mean[columns]) ** 2)
    return stored + empty * mean * mean


def _stored_sums(
    A: sp.csr_array, w: Array, total: float, function: Callable[[Array, Array], Array]
) -> tuple[Array, Array]:
    """Sum ``w f(value, column)`` over the stored entries of each column, and ``w`` over the rest.

    A column that is stored whole has no rest: not even the rounding of ``total``, which a large
    mean would magnify.
    """
    n = A.shape[1]
    entry_weights = np.repeat(w, np.diff(A.indptr))
    values = function(A.data, A.indices)
    values *= entry_weights
    stored = np.bincount(A.indices, weights=values, minlength=n)
    filled = np.bincount(A.indices, weights=entry_weights, minlength=n)
    whole = np.bincount(A.indices, minlength=n) == A.shape[0]
    return stored, np.where(whole, 0.0, np.maximum(total - filled, 0.0))


def centred_cross(
    A: Any, B: Any, a_mean: Array, b_mean: Array, weight: Array | None, total: float
) -> Array:
    """Return ``Σ w (a − ā)(b − b̄)ᵀ`` as a dense (n_a, n_b) array, for A, B of which one is sparse.

    Costs the sparse products plus one dense batch of rows.
    """
    if not sp.issparse(A):
        return _dense_by_sparse(A, B, a_mean, b_mean, weight)
    if not sp.issparse(B):
        return _dense_by_sparse(B, A, b_mean, a_mean, weight).T
    cross = raw_cross(A, B, weight).toarray()
    cross -= total * np.outer(a_mean, b_mean)
    if (full := _nearly_full(B)).size:
        cross[:, full] = _dense_by_sparse(B[:, full], A, b_mean[full], a_mean, weight).T
    if (full := _nearly_full(A)).size:
        cross[full] = _dense_by_sparse(A[:, full], B, a_mean[full], b_mean, weight)
    return cross


def raw_cross(A: sp.csr_array, B: sp.csr_array, weight: Array | None) -> sp.csc_array:
    """Return ``Σ w a bᵀ`` as a sparse (n_a, n_b) array by columns, not centred."""
    left = A if weight is None else sp.csr_array(A.multiply(weight[:, None]))
    return (B.T @ left).T.tocsc()


def _nearly_full(A: sp.csr_array) -> Array:
    counts = np.bincount(A.indices, minlength=A.shape[1])
    return np.flatnonzero(counts > NEARLY_FULL * A.shape[0])


def _dense_by_sparse(
    A: Any, B: sp.csr_array, a_mean: Array, b_mean: Array, weight: Array | None
) -> Array:
    """Return the centred products of A (dense, or sparse columns to be densified) with sparse B.

    A goes in batches of rows; so do those columns of B that are nearly full.
    """
    m, n_a = A.shape
    out = np.zeros((B.shape[1], n_a))
    full = _nearly_full(B)
    in_full = np.zeros((len(full), n_a))
    sums = np.zeros(n_a)
    width = max(n_a + len(full), 1)
    step = max(1, BATCH_ELEMENTS // width)
    if B.nnz * step < 4 * B.shape[1] * m:
        step = max(1, WIDE_BATCH_ELEMENTS // width)
    for start in range(0, m, step):
        rows = slice(start, start + step)
        batch = A[rows].toarray() if sp.issparse(A) else A[rows]
        batch = np.subtract(batch, a_mean, dtype=np.float64)
        if weight is not None:
            batch *= weight[rows, None]
        part = B[rows]
        out += part.T @ batch
        sums += batch.sum(axis=0)
        if full.size:
            in_full += (part[:, full].toarray() - b_mean[full]).T @ batch
    # The centred factor sums to its rounding, which a large mean of the other would magnify.
    out -= np.outer(b_mean, sums)
    out[full] = in_full
    return out.T


def subtract_outer(matrix: Array, a: Array, b: Array) -> Array:
    """``matrix -= a bᵀ`` in place, in blocks of columns: no second matrix of that size."""
    for start in range(0, matrix.shape[1], 4096):
        block = slice(start, start + 4096)
        matrix[:, block] -= a[:, None] * b[block]
    return matrix


def centred_yx(moments: Moments) -> Array:
    """Return ``Σ w (y − ȳ)(x − x̄)ᵀ`` as a dense array, whichever way it is kept."""
    if not sp.issparse(moments.yx):
        dense: Array = moments.yx
        return dense
    assert moments.y_mean is not None
    return subtract_outer(
        moments.yx.toarray(), moments.sum_weights * moments.y_mean, moments.x_mean
    )
