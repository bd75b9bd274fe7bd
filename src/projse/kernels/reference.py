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

from projse.kernels.feature_gram import FeatureGram
from projse.kernels.rank import STORED, default_tol, singular_cut
from projse.kernels.tied_directions import by_order, tied_with
from projse.moments.sums import Moments
from projse.sources.rows import (
    Rows,
    refuse_non_finite,
    refuse_overflow,
    refuse_vanishing,
    vanishing,
)

Array = NDArray[Any]


def orthonormal_reference(rows: Rows, *, center: bool) -> tuple[Rows, Array, Array]:
    """Replace the references by orthonormal columns that span the same space.

    Parameters
    ----------
    rows : Rows
        Dense references; None (one view) takes the candidates.
    center : bool
        Subtract the weighted means.

    Returns
    -------
    rows : Rows
        Without rows of weight 0, with references of shape (m, r).
    values : ndarray of shape (r,)
        Singular values of the normalised references, which ridge, rank and tol go by.
    loadings : ndarray of shape (q, r)
        The references of unit norm are the basis times its transpose; zeros for constant ones.

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
    label, names = ("X", rows.feature_names) if rows.Y is None else ("y", rows.target_names)
    if not np.isfinite(Y).all():
        refuse_non_finite(source, label, names)
    weight = rows.weight
    mean = np.zeros(Y.shape[1])
    if center:
        mean = np.average(Y, axis=0, weights=weight)
        Y -= mean
        Y -= np.average(Y, axis=0, weights=weight)  # what rounding of a large mean left
    root = None if weight is None else np.sqrt(weight)[:, None]
    if root is not None:
        Y *= root
    dtype = source.dtype if source.dtype.kind == "f" else np.float64
    stored = float(np.finfo(dtype).eps)
    with np.errstate(over="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->j", Y, Y))
    refuse_overflow(norms, label, names)
    # Stored values are exact; the means that were subtracted are known to their last digits.
    sum_weights = len(Y) if weight is None else float(weight.sum())
    live = norms > 4 * np.finfo(np.float64).eps * np.abs(mean) * np.sqrt(sum_weights)
    refuse_vanishing(vanishing(source, norms**2, center), label, names)
    # Stored values are known to their unit roundoff, of which a large mean makes a large share.
    # No square of such a mean is taken, which may be more than there are numbers for.
    lengths = np.hypot(norms, np.abs(mean) * np.sqrt(sum_weights))
    known_to = stored * lengths[live] / norms[live]
    Y = Y[:, live] / norms[live]
    m, q = Y.shape
    if m > 2 * q:
        basis, triangle = scipy.linalg.qr(Y, mode="economic", overwrite_a=True, check_finite=False)
        inner, values, V = _svd(triangle)
        U = basis @ inner
    else:
        U, values, V = _svd(Y)
    known = values > np.linalg.norm(STORED * V * known_to, axis=1)
    if q:
        known &= values > singular_cut(m, q, stored) * values[0]
    U, values, V = U[:, known], values[known], V[known]
    images = V * values[:, None]
    start = 0
    while start < len(values):
        tied = tied_with(values, start, float(np.finfo(np.float64).eps))
        block = slice(start, tied.stop)
        if tied.stop > start + 1:
            rotation = by_order(V[block].T, tied.stop - start)
            U[:, block] = U[:, block] @ rotation
            images[block] = rotation.T @ images[block]
        start = tied.stop
    if root is not None:
        U = U / root
    basis_rows = replace(rows, Y=np.ascontiguousarray(U), target_names=None, classes=None)
    loadings = np.zeros((len(live), len(values)))
    loadings[live] = images.T
    return basis_rows, values, loadings


def orthonormal(A: Array) -> Array:
    """Return an orthonormal basis of columns of norm 0 or 1, shape (m, rank)."""
    U, values, _ = _svd(A)
    eps = float(np.finfo(np.float64).eps)
    m, n = A.shape
    basis: Array = U[:, values > singular_cut(m, n, eps) * values.max(initial=0.0)]
    return basis


def _svd(A: Array) -> tuple[Array, Array, Array]:
    """Thin SVD; of a matrix without entries too, which scipy before 1.14 refuses."""
    if not A.size:
        U, values, V = np.linalg.svd(A, full_matrices=False)
        return U, values, V
    U, values, V = scipy.linalg.svd(A, full_matrices=False, check_finite=False)
    return U, values, V


def gram_loses_directions(rows: Rows, moments: Moments, gram: FeatureGram, center: bool) -> bool:
    """Tell whether the Gram matrix of dense references hides directions that the rows have.

    A well-conditioned Gram matrix loses nothing. An exactly dependent set of references
    (indicators, sums, copies) has eigenvalues of rounding size and loses nothing either: the rows,
    multiplied by those eigenvectors, give zero. Everything in between does.

    Parameters
    ----------
    rows, moments, gram
        The rows, what they come down to, and linear kernel matrices made of that.
    center : bool

    Notes
    -----
    The eigendecomposition that the search goes by and, for eigenvalues of rounding size, one pass
    over Y.
    """
    values, vectors = gram.directions(keep=True)
    n = len(values)
    if not n:
        return False
    small = values < np.sqrt(moments.eps) * values[-1]
    if not small[0]:
        return False
    null = values <= default_tol(n, moments.eps) * values[-1]
    if (small & ~null).any():
        return True
    assert gram.linear is not None
    norms = np.sqrt(np.diag(gram.linear.yy))
    live = np.flatnonzero(norms > 0)
    data = rows.counted()
    source = data.X if data.Y is None else data.Y
    m = len(source)
    combination = np.zeros((source.shape[1], int(null.sum())))
    combination[live] = vectors[:, null] / norms[live][:, None]
    mean = moments.x_mean if moments.y_mean is None else moments.y_mean
    shift = mean if center else np.zeros_like(mean)
    lengths = np.zeros(combination.shape[1])
    sums = np.zeros(combination.shape[1])
    for start in range(0, m, 4096):
        part = slice(start, start + 4096)
        image = np.subtract(source[part], shift, dtype=np.float64) @ combination
        w = np.ones(len(image)) if data.weight is None else data.weight[part]
        lengths += w @ (image * image)
        sums += w @ image
    if center:
        lengths -= sums**2 / moments.sum_weights
    # Rounding of the stored values, which a large mean magnifies, and of a basis made from them.
    offset = np.abs(shift[live]) * np.sqrt(moments.sum_weights) / norms[live]
    stored = 4 * moments.eps * (1.0 + float(offset.max())) * n
    cut = singular_cut(m, n, moments.eps) * np.sqrt(values[-1])
    return bool((np.sqrt(np.maximum(lengths, 0.0)) > cut + stored).any())
