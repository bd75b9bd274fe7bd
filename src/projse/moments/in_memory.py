"""Sums over rows that lie in memory: dense or sparse, in one pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.moments import sparse_products
from projse.moments.accumulate import Progress, accumulate_dense, product_dtype
from projse.moments.counts import are_whole
from projse.moments.extremes import Extremes
from projse.moments.level_sums import has_levels, level_moments
from projse.moments.leverage import take_loose_extremes
from projse.moments.rounding import (
    lost_to_shift,
    mark_vanished,
    suits_float32,
    vanished,
    vanished_sparse,
)
from projse.moments.sparse_products import subtract_outer
from projse.moments.sums import Moments, keeps_products
from projse.sources.rows import Rows, refuse_non_finite, refuse_overflow

Array = NDArray[Any]

SPARSE_YX_ELEMENTS = 1 << 25
"""Beyond this many entries, products of sparse X and sparse Y are kept sparse."""


FAR_FROM_ZERO = 64.0
"""Sums about zero of sparse references lose digits where means are this many spreads from it."""

MOST_OUTPUTS = 1 << 15
"""Of more references than this, products with each other (8 GiB) are not made."""


def moments_of(
    rows: Rows,
    *,
    with_xx: bool | str = False,
    by_squares: bool = False,
    n_jobs: int | None = None,
    batch_size: int | None = None,
    progress: Progress | None = None,
) -> Moments:
    """Sum over checked rows.

    ``by_squares``, extremes are bounds where those tell that no row stands out, and cost nothing;
    for rows that :func:`~projse.moments.leverage.squares_bound_extremes` names.
    """
    _refuse_many_outputs(rows)
    products = keeps_products(with_xx, rows.X.shape[1], rows.one_view)
    shift = None
    if sp.issparse(rows.Y) and hasattr(rows.X, "writer"):
        rows = replace(rows, X=rows.X[:])
    by_level = has_levels(rows) and not _is_huge(rows)
    if rows.n_covariates and sp.issparse(rows.Y) and not by_level:
        rows, shift = _centred_covariates(rows)
    if by_level:
        moments = level_moments(rows.counted(), products, _float64_moments)
    elif rows.is_sparse:
        moments = _sparse_moments(rows.counted(), products)
    else:
        moments = _dense_moments(rows, products, n_jobs, batch_size, progress, by_squares)
    if shift is not None:
        moments = _moved_back(moments, shift)
    x = rows.x_variables
    moments.feature_names = rows.feature_names if x is None else x.titles
    moments.target_names = rows.y_titles
    moments.classes = rows.classes
    moments.x_variables, moments.y_variables = x, rows.y_variables
    moments.z_variables, moments.encoding = rows.z_variables, rows.encoding
    moments.n_covariates = rows.n_covariates
    moments.y_roundoff = rows.y_roundoff
    moments.whole_weights = are_whole(rows.weight)
    return moments


def moments_of_table(
    X: Any,
    Y: Any,
    sample_weight: Any,
    encoding: dict[str, Any],
    *,
    target_type: str = "auto",
    **options: Any,
) -> Moments:
    """Sum over the rows of a table, encoded by a plan that moments carry."""
    from projse.sources.table.encoding import TableEncoding
    from projse.sources.table.partition import encoded_piece

    piece = (X, Y, sample_weight, None)
    rows = encoded_piece(piece, TableEncoding.from_dict(encoding), target_type)
    if rows is None:
        raise ValueError("missing='drop' leaves no row of these: every row has a gap.")
    return moments_of(rows, **options)


def _refuse_many_outputs(rows: Rows) -> None:
    """Refuse references whose products with each other would fill the memory."""
    n = 0 if rows.Y is None else rows.Y.shape[1]
    if n <= MOST_OUTPUTS:
        return
    size = f"products of all of them with each other would take {8e-9 * n**2:.0f} GB"
    if rows.classes is not None:
        raise ValueError(f"y has {n} classes; {size}. Merge rare classes, or leave them out.")
    raise ValueError(
        f"y has {n} columns; {size}. A fit of ProjSe with rank='auto', or a number, does without "
        "them: with the linear kernel, and rows that can be read again (no state, no partial_fit). "
        "Or leave columns of y out."
    )


def _is_huge(rows: Rows) -> bool:
    """Whether products of candidates and references are kept sparse."""
    return sp.issparse(rows.Y) and rows.X.shape[1] * rows.Y.shape[1] > SPARSE_YX_ELEMENTS


def _float64_moments(rows: Rows, with_xx: bool) -> Moments:
    """Sum dense rows in one thread."""
    return _dense_moments(rows, with_xx, 1, None, None)


def _centred_covariates(rows: Rows) -> tuple[Rows, Array]:
    """Centre covariates that stand beside sparse references, whose products are about zero."""
    Z = rows.covariates
    assert Z is not None
    shift = np.zeros(rows.Y.shape[1])
    shift[rows.n_references :] = np.average(Z, axis=0, weights=rows.weight)
    beside = sp.csr_array(Z - shift[rows.n_references :])
    parts = [beside] if rows.one_view else [rows.references, beside]
    return replace(rows, Y=sp.csr_array(sp.hstack(parts))), shift


def _moved_back(moments: Moments, shift: Array) -> Moments:
    """Undo a shift of the references: products about the means do not change."""
    assert moments.y_mean is not None
    moved = replace(moments, y_mean=moments.y_mean + shift)
    if moments.y_min is not None and moments.y_max is not None:
        moved = replace(moved, y_min=moments.y_min + shift, y_max=moments.y_max + shift)
    if sp.issparse(moments.yx):  # about zero
        sums = moments.sum_weights * moments.x_mean
        moved.yx = sp.csc_array(moments.yx + sp.csr_array(shift[:, None]) @ sp.csr_array([sums]))
    return moved


def _dense_moments(
    rows: Rows,
    with_xx: bool,
    n_jobs: int | None,
    batch_size: int | None,
    progress: Progress | None,
    by_squares: bool = False,
) -> Moments:
    sparse_y = sp.issparse(rows.Y)
    dtype = product_dtype(rows.X, None if sparse_y else rows.Y)
    codes = None if rows.n_covariates else rows.class_codes()
    # Sums of up to 256 bytes, and of their squares, are exact in float32, which is twice as fast.
    exact = codes is not None and rows.weight is None and rows.X.dtype.itemsize == 1
    if exact:
        dtype, batch_size = np.dtype(np.float32), min(batch_size or 256, 256)
    while True:
        eps = float(np.finfo(np.float64 if exact else dtype).eps)
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            sums, x_shift, y_shift = accumulate_dense(
                rows.X,
                rows.Y,
                rows.weight,
                with_xx=with_xx,
                by_squares=by_squares,
                n_jobs=n_jobs,
                batch_size=batch_size,
                dtype=dtype,
                codes=codes,
                progress=progress,
            )
        y_squares = sums.yy.diagonal()
        if dtype == np.float32:
            # Squares may leave the range of float32; the products are then made in float64.
            if (
                suits_float32(sums.xx_diag, rows.X)
                and suits_float32(y_squares, rows.Y)
                and not lost_to_shift(sums.xx_diag, sums.x, sums.weight, eps).any()
                and not lost_to_shift(y_squares, sums.y, sums.weight, eps).any()
            ):
                break
            dtype, exact = np.dtype(np.float64), False
            continue
        if not np.isfinite(np.concatenate((sums.xx_diag, y_squares, sums.y))).all():
            counted = rows.counted()
            refuse_non_finite(counted.X, rows.x_label, rows.feature_names)
            refuse_overflow(sums.xx_diag, rows.x_label, rows.feature_names)
            refuse_non_finite(counted.Y, "y", rows.target_names)
            refuse_overflow(y_squares, "y", rows.target_names, rows.n_covariates)
        break
    w = sums.weight
    dx, dy = sums.x / (w or 1.0), sums.y / (w or 1.0)
    one_view = rows.Y is None
    x_vanished = vanished(sums.xx_diag, sums.x, sums.yx)
    if sparse_y:
        counted = rows.counted()
        y_mean, yy = _sparse_second_moment(counted.Y, counted.weight, w, "y", rows.target_names)
        y_vanished = vanished_sparse(np.diag(yy), y_mean, counted.Y)
    else:
        y_mean, yy = y_shift + dy, sums.yy - (w * dy)[:, None] * dy
        y_vanished = vanished(y_squares, sums.y, sums.yx.T)
    xx_diag = np.maximum(sums.xx_diag - w * dx**2, 0.0)
    xx_diag[lost_to_shift(sums.xx_diag, sums.x, w, eps)] = 0.0
    moments = Moments(
        n_samples=sums.n_samples,
        sum_weights=w,
        x_mean=x_shift + dx,
        y_mean=None if one_view else y_mean,
        yy=None if one_view else yy,
        yx=None if one_view else subtract_outer(sums.yx, w * dy, dx),
        xx_diag=xx_diag,
        xx=None if sums.xx is None else subtract_outer(sums.xx, w * dx, dx),
        eps=eps,
    )
    if sums.x_extremes is not None:
        shift = x_shift if by_squares else 0.0
        moments.x_min, moments.x_max = sums.x_extremes.about(shift, sums.n_samples)
    if not one_view and rows.classes is None:
        y_extremes = Extremes.of(counted.Y) if sparse_y else sums.y_extremes
        if y_extremes is not None:
            shift = y_shift if by_squares else 0.0
            moments.y_min, moments.y_max = y_extremes.about(shift, sums.n_samples)
    if by_squares:
        take_loose_extremes(moments, rows)
    if sparse_y and rows.classes is None:
        _centre_far_references(moments, counted)
    if not one_view and (constant := yy.diagonal() == 0).any():
        moments.yx[constant] = 0.0  # what is left of it is rounding
    mark_vanished(moments, x_vanished, y_vanished)
    return moments


def _centre_far_references(moments: Moments, rows: Rows) -> None:
    """Make the products of dense candidates and sparse references anew, in place, where needed.

    Sparse columns are multiplied as they are, about zero. Those that are nearly full may lie far
    from it, and are multiplied about their means instead, in float64.
    """
    w, mean = moments.sum_weights, moments.y_mean
    assert mean is not None and moments.yy is not None
    squares = moments.yy.diagonal()
    far = np.flatnonzero((squares > 0) & (np.abs(mean) > FAR_FROM_ZERO * np.sqrt(squares / w)))
    if far.size:
        Y, means = rows.Y[:, far], (mean[far], moments.x_mean)
        moments.yx[far] = sparse_products.centred_cross(Y, rows.X, *means, rows.weight, w)


def _sparse_moments(rows: Rows, with_xx: bool) -> Moments:
    X, Y, weight = rows.X, rows.Y, rows.weight
    m = X.shape[0]
    total = float(m if weight is None else weight.sum())
    if not np.isfinite(X.data).all():
        refuse_non_finite(X, rows.x_label, rows.feature_names)
    if Y is not None and not np.isfinite(Y.data if sp.issparse(Y) else Y).all():
        refuse_non_finite(Y, "y", rows.target_names)
    x_mean = sparse_products.weighted_mean(X, weight, total)
    with np.errstate(over="ignore", invalid="ignore"):
        xx_diag = sparse_products.centred_square(X, x_mean, weight, total)
    refuse_overflow(xx_diag, rows.x_label, rows.feature_names)
    moments = Moments(
        n_samples=m,
        sum_weights=total,
        x_mean=x_mean,
        y_mean=None,
        yy=None,
        yx=None,
        xx_diag=xx_diag,
        xx=sparse_products.centred_cross(X, X, x_mean, x_mean, weight, total) if with_xx else None,
        eps=float(np.finfo(np.float64).eps),
    )
    if with_xx:
        moments.x_min, moments.x_max = Extremes.of(X).about(0.0, m)
    x_vanished = vanished_sparse(xx_diag, x_mean, X)
    if Y is None:
        mark_vanished(moments, x_vanished, None)
        return moments
    if sp.issparse(Y) or not Y.shape[1]:  # a basis of constants has no columns
        Y = sp.csr_array(Y)
        y_mean, yy = _sparse_second_moment(Y, weight, total, "y", rows.target_names)
        if _is_huge(rows):
            yx = sparse_products.raw_cross(Y, X, weight)
        else:
            yx = sparse_products.centred_cross(Y, X, y_mean, x_mean, weight, total)
        y_vanished = vanished_sparse(np.diag(yy), y_mean, Y)
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            sums, y_shift, _ = accumulate_dense(
                Y, None, weight, with_xx=True, dtype=np.dtype(np.float64)
            )
        refuse_overflow(sums.xx_diag, "y", rows.target_names, rows.n_covariates)
        dy = sums.x / total
        y_mean = y_shift + dy
        assert sums.xx is not None
        yy = sums.xx - total * np.outer(dy, dy)
        yx = sparse_products.centred_cross(Y, X, y_mean, x_mean, weight, total)
        y_vanished = vanished(sums.xx_diag, sums.x, yx.T)
    moments = replace(moments, y_mean=y_mean, yy=yy, yx=yx)
    if rows.classes is None:
        moments.y_min, moments.y_max = Extremes.of(Y).about(0.0, m)
    mark_vanished(moments, x_vanished, y_vanished)
    return moments


def _sparse_second_moment(
    A: sp.csr_array, weight: Array | None, total: float, label: str, names: tuple[str, ...] | None
) -> tuple[Array, Array]:
    """Return the mean and ``Σ w (a − ā)(a − ā)ᵀ`` of sparse columns."""
    mean = sparse_products.weighted_mean(A, weight, total)
    with np.errstate(over="ignore", invalid="ignore"):
        second = sparse_products.centred_cross(A, A, mean, mean, weight, total)
    refuse_overflow(np.diag(second), label, names)
    return mean, second
