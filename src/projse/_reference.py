"""An orthonormal basis of the references, from the rows themselves.

A Gram matrix squares the condition number of Y: directions below 1e-8 of the largest are lost in
it. A factorisation of Y keeps them, and with fewer rows than references it is also the cheaper
one. The basis then takes the place of Y in the moments, with ``K_YY = I``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from projse._source import Rows, refuse_non_finite

Array = NDArray[Any]


def orthonormal_reference(
    rows: Rows, *, center: bool, rank: int | float | None, tol: float | None
) -> tuple[Rows, Array]:
    """Replace the references by orthonormal columns that span the same space.

    Parameters
    ----------
    rows : Rows
        Dense references; None (one view) takes the candidates.
    center : bool
        Subtract the weighted means.
    rank, tol
        As in :func:`projse._coordinates.factor`; ``tol`` is relative to squared singular values.

    Returns
    -------
    rows : Rows
        Without rows of weight 0, with references of shape (m, r).
    values : ndarray of shape (r,)
        Singular values of the normalised references, which a ridge needs.

    Notes
    -----
    QR of the m × q references and the SVD of the triangle: ``2 m q² + O(q³)`` flops for m ≥ q,
    ``O(m² q)`` for m < q; one copy of Y.
    """
    rows = rows.counted()
    source = rows.X if rows.Y is None else rows.Y
    if sp.issparse(source):
        source = source.toarray()
    Y = np.array(source, dtype=np.float64, order="F")
    if not np.isfinite(Y).all():
        label, names = ("X", rows.feature_names) if rows.Y is None else ("y", rows.target_names)
        refuse_non_finite(source, label, names, 0.0)
    weight = rows.weight
    if center:
        # A second subtraction takes out what rounding of a large mean left.
        for _ in range(2):
            mean = np.average(Y, axis=0, weights=weight)
            Y -= mean
    root = None if weight is None else np.sqrt(weight)[:, None]
    if root is not None:
        Y *= root
    eps = np.finfo(source.dtype).eps if source.dtype.kind == "f" else np.finfo(np.float64).eps
    largest_value = np.abs(source).max(axis=0).astype(np.float64)
    norms = np.sqrt(np.einsum("ij,ij->j", Y, Y))
    live = norms > 16 * eps * largest_value * (np.sqrt(len(Y)) if center else 0.0)
    live &= norms > 0
    Y = Y[:, live] / norms[live]
    m, q = Y.shape
    if m > 2 * q:
        basis, triangle = scipy.linalg.qr(Y, mode="economic", overwrite_a=True, check_finite=False)
        inner, values, _ = scipy.linalg.svd(triangle, full_matrices=False, check_finite=False)
        U = basis @ inner
    else:
        U, values, _ = scipy.linalg.svd(Y, full_matrices=False, check_finite=False)
    relative = max(m, q) * eps if tol is None else np.sqrt(tol)
    kept = int(np.count_nonzero(values > relative * values[0])) if q else 0
    if isinstance(rank, float):
        share = np.cumsum(values[:kept] ** 2) / np.sum(values[:kept] ** 2)
        kept = min(kept, int(np.searchsorted(share, rank - 1e-12)) + 1)
    elif rank is not None:
        kept = min(kept, rank)
    U = U[:, :kept]
    if root is not None:
        U = U / root
    basis_rows = replace(rows, Y=np.ascontiguousarray(U), target_names=None, classes=None)
    return basis_rows, values[:kept]
