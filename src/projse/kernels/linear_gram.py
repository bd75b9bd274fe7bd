"""Linear Gram matrices of the variables, read off moments.

What the kernels need of the rows: ``G_YY``, ``G_YX``, the diagonal of ``G_XX``, and rows of
``G_XX`` on demand. Means and sparse storage stay implicit: ``G_YX = base + a bᵀ``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.moments.leverage import few_rows_by_extremes, references_on_few_rows
from projse.moments.leverage import on_few_rows as columns_on_few_rows
from projse.moments.own_products import Cross, own_products
from projse.moments.partial import Whitener, vanishing_share
from projse.moments.rounding import squared_norms
from projse.moments.sums import Moments
from projse.sources.rows import Rows

Array = NDArray[Any]
XRows = Callable[[Array, Array | None], Array]
FewRows = Callable[[Array], NDArray[np.bool_]]

COPY_ELEMENTS = 1 << 23
"""Candidates of up to this many values (64 MiB) are copied once to serve rows of ``G_XX``."""


@dataclass
class LinearGram:
    """Inner products of the variables over the samples.

    Attributes
    ----------
    yy : ndarray of shape (n_y, n_y)
    yx : ndarray or csc_array of shape (n_y, n_x)
        ``G_YX`` less its rank-one part.
    a, b : ndarray of shape (n_y, k), (k, n_x) or None
        A part ``a b`` of ``G_YX`` of low rank: means, and covariates, that are kept apart.
    xx_diag : ndarray of shape (n_x,)
        Squared norms; exactly 0 for a variable that is constant up to rounding.
    x_rows : callable or None
        Rows of ``G_XX`` for given indices, at all columns (None) or at some, as a new array.
    eps : float
        Unit roundoff of the entries.
    narrow_x_rows : bool
        Whether some columns of those rows cost less than all.
    far_x_rows : bool
        Whether those rows cost a pass over rows that are not in memory.
    on_few_rows : callable or None
        Tells which of given candidates one or two rows make up, as far as that is known; of rows
        elsewhere, the passes for ``x_rows`` tell.
    rare_references : bool
        Whether one or two rows make up any of the references, or might.
    n_conditioned : int
        Dimension of covariates that were taken out.
    x_amplification, y_amplification : ndarray of shape (n_x,), (n_y,) or None
        How many times ``eps`` a normalised entry is off, by variable; None: once.
    y_off : ndarray of shape (n_y,) or None
        Length of the rounding of each reference as it was stored; None where it is that of the
        arithmetic.
    """

    yy: Array
    yx: Any
    a: Array | None
    b: Array | None
    xx_diag: Array
    x_rows: XRows | None
    eps: float
    narrow_x_rows: bool
    far_x_rows: bool
    on_few_rows: FewRows | None
    rare_references: bool
    n_conditioned: int
    x_amplification: Array | None = None
    y_amplification: Array | None = None
    y_off: Array | None = None

    @property
    def n_x(self) -> int:
        """Number of candidates."""
        return len(self.xx_diag)

    @property
    def n_y(self) -> int:
        """Number of references."""
        return len(self.yy)

    def block(self, columns: Any) -> Array:
        """Return columns of ``G_YX`` as a new dense array of shape (n_y, k)."""
        part = self.yx[:, columns]
        dense = part.toarray() if sp.issparse(part) else np.array(part)
        if self.a is not None and self.b is not None:
            dense += self.a @ self.b[:, columns]
        return dense

    def left(self, w: Array) -> Array:
        """Return ``wᵀ G_YX``, shape (n_x,): one read of the matrix."""
        product: Array = w @ self.yx
        if self.a is not None and self.b is not None:
            product = product + (w @ self.a) @ self.b
        return product


def gram_of(
    moments: Moments,
    center: bool,
    rows: Rows | None = None,
    *,
    cross: Cross | None = None,
    whole_reference: bool = True,
    rare_references: bool | None = None,
) -> LinearGram:
    """Read the Gram matrices off moments.

    Where the moments lack ``G_XX``, its rows come from ``rows`` in memory, or from ``cross``: a
    pass over rows elsewhere. With one view, ``whole_reference=False`` leaves the references out: a
    search by rows of ``G_XX`` does without them. ``rare_references`` tells whether one or two rows
    make up any of the references; None: as the moments have it. Covariates are taken out.
    """
    w = moments.sum_weights
    x_mean = moments.x_mean
    xx_diag = squared_norms(moments, "X", center)
    y_squares = None if moments.y_mean is None else squared_norms(moments, "y", center)
    x_rows: XRows | None = None
    narrow = False
    if rare_references is None:
        rare_references = references_on_few_rows(moments, center, squares=y_squares)
    few = _few_rows(moments, center, rows) if rare_references else _none_of_them
    if moments.xx is not None:
        x_rows, narrow = _products_at_hand(moments.xx, moments, center), True
    elif rows is not None and _small_enough_to_copy(rows):
        x_rows, narrow = _products_of_copy(rows, moments, center), True
    elif rows is not None:
        x_rows = _products_on_demand(own_products(rows, moments), moments, center)
    elif cross is not None:
        far = _FarProducts(cross, moments, center)
        x_rows = _products_on_demand(far, moments, center)
        few = few or far.on_few_rows
    serving: Any = {
        "rare_references": rare_references,
        "x_rows": x_rows,
        "narrow_x_rows": narrow,
        "on_few_rows": few,
        "n_conditioned": moments.n_partialled,
    }
    serving["far_x_rows"] = x_rows is not None and not narrow and rows is None
    if moments.y_mean is None:
        if not whole_reference:
            none = np.empty((0, moments.n_x))
            return LinearGram(none[:, :0], none, None, None, xx_diag, eps=moments.eps, **serving)
        own = reference_products(moments, center, None)
        return LinearGram(own, own, None, None, xx_diag, eps=moments.eps, **serving)
    y_mean, yy = moments.y_mean, reference_products(moments, center, y_squares)
    sign = (-1.0 if center else 0.0) if sp.issparse(moments.yx) else (0.0 if center else 1.0)
    a, b = (sign * w * y_mean[:, None], x_mean[None]) if sign else (None, None)
    if moments.y_roundoff > moments.eps:
        assert moments.yy is not None
        lengths = np.sqrt(moments.yy.diagonal().clip(0.0) + w * y_mean**2)
        serving["y_off"] = moments.y_roundoff * lengths
    gram = LinearGram(yy, moments.yx, a, b, xx_diag, eps=moments.eps, **serving)
    if not moments.n_covariates:
        return gram
    given = given_covariates(gram, moments.n_covariates)
    return _own_references(given) if moments.one_view and whole_reference else given


def reference_products(moments: Moments, center: bool, y_squares: Array | None) -> Array:
    """Return ``G_YY``; with one view and all products, ``G_XX``. Constants have none.

    ``y_squares`` are the squared norms of the references, where there are any.
    """
    if moments.y_mean is None:
        own, mean = moments.xx, moments.x_mean
    else:
        own, mean = moments.yy, moments.y_mean
    assert own is not None
    if not center:
        return own + moments.sum_weights * np.outer(mean, mean)
    if y_squares is not None:
        live = y_squares > 0
        if not live.all():
            return own * np.outer(live, live)
    return own


def given_covariates(gram: LinearGram, n_covariates: int) -> LinearGram:
    """Take the covariates, which are the last references, out of all other variables.

    The Schur complement ``G_ab − G_aZ G_ZZ⁺ G_Zb``, as a further part of low rank. What they
    explain wholly has a squared norm of exactly 0.

    Notes
    -----
    ``O(r n_covariates n_x)`` flops and ``r n_x`` values, r being the rank of the covariates.
    """
    n, eps = gram.n_y - n_covariates, gram.eps
    a = None if gram.a is None else gram.a[n:]
    covariates = replace(gram, yy=gram.yy[n:, n:], yx=gram.yx[n:], a=a)
    whitener = Whitener.of(covariates.yy, np.diag(covariates.yy), eps)
    A = whitener.W @ covariates.block(slice(None))
    B = whitener.W @ gram.yy[n:, :n]
    xx_diag, x_amplification = whitener.left(gram.xx_diag, A, vanishing_share(eps))
    y_norms, y_amplification = whitener.left(np.diag(gram.yy)[:n], B)
    yy = gram.yy[:n, :n] - B.T @ B
    yy *= np.outer(y_norms > 0, y_norms > 0)
    return replace(
        gram,
        yy=yy,
        yx=gram.yx[:n],
        a=-B.T if gram.a is None else np.hstack([gram.a[:n], -B.T]),
        b=A if gram.b is None else np.vstack([gram.b, A]),
        xx_diag=xx_diag,
        x_rows=None if gram.x_rows is None else _less_shadows(gram.x_rows, A),
        x_amplification=x_amplification,
        y_amplification=y_amplification,
        y_off=None if gram.y_off is None else gram.y_off[:n],
        n_conditioned=gram.n_conditioned + whitener.rank,
    )


def _less_shadows(x_rows: XRows, A: Array) -> XRows:
    """Take ``AᵀA`` out of rows of ``G_XX``."""

    def less(indices: Array, columns: Array | None) -> Array:
        part = x_rows(indices, columns)
        part -= A[:, indices].T @ (A if columns is None else A[:, columns])
        return part

    return less


def _own_references(gram: LinearGram) -> LinearGram:
    """Let the candidates be their own references."""
    assert gram.x_rows is not None
    own = gram.x_rows(np.arange(gram.n_x), None)
    own *= np.outer(gram.xx_diag > 0, gram.xx_diag > 0)
    amplified = gram.x_amplification
    return replace(gram, yy=own, yx=own, a=None, b=None, y_amplification=amplified, y_off=None)


def _products_at_hand(xx: Array, moments: Moments, center: bool) -> XRows:
    x_mean, w = moments.x_mean, moments.sum_weights

    def x_rows(indices: Array, columns: Array | None) -> Array:
        part: Array = xx[indices]
        if columns is not None:
            part = part[:, columns]
        if not center:
            others = x_mean if columns is None else x_mean[columns]
            part += w * np.outer(x_mean[indices], others)
        return part

    return x_rows


def _few_rows(moments: Moments, center: bool, rows: Rows | None) -> FewRows | None:
    """Tell candidates that few rows make up by their extremes, or by the rows themselves."""
    if moments.x_min is not None and moments.x_max is not None:
        extremes = moments.x_min, moments.x_max
        few = few_rows_by_extremes(moments, slice(None), *extremes, center=center)
        return few.__getitem__
    if rows is not None:
        return partial(columns_on_few_rows, rows, center=center, moments=moments)
    return None


def _none_of_them(indices: Array) -> NDArray[np.bool_]:
    """Tell that no candidate seems to be related for the sake of a row or two."""
    return np.zeros(len(indices), dtype=bool)


class _FarProducts:
    """Products from passes over rows elsewhere; each pass also shows the extremes."""

    def __init__(self, cross: Cross, moments: Moments, center: bool) -> None:
        self._cross, self._moments, self._center = cross, moments, center
        self._few = np.zeros(moments.n_x, dtype=bool)

    def __call__(self, indices: Array) -> Array:
        own = self._cross(indices)
        self._few[indices] = few_rows_by_extremes(
            self._moments, indices, own.low, own.high, center=self._center
        )
        return own.products

    def on_few_rows(self, indices: Array) -> NDArray[np.bool_]:
        return self._few[indices]


def _products_on_demand(cross: Callable[[Array], Array], moments: Moments, center: bool) -> XRows:
    x_mean, w = moments.x_mean, moments.sum_weights

    def x_rows(indices: Array, columns: Array | None) -> Array:
        part = cross(indices)
        if not center:
            part += w * np.outer(x_mean[indices], x_mean)
        return part if columns is None else part[:, columns]

    return x_rows


def _products_of_copy(rows: Rows, moments: Moments, center: bool) -> XRows:
    """Rows of ``G_XX`` from a copy of the variables, made when the first of them is asked for."""

    @cache
    def variables() -> Array:
        """Centred variables, each contiguous, so that some of them are gathered fast."""
        data = rows.counted()
        mean = moments.x_mean[:, None] if center else 0.0
        copy = np.subtract(data.X.T, mean, dtype=np.float64, order="C")
        if data.weight is not None:
            copy *= np.sqrt(data.weight)
        return copy

    def x_rows(indices: Array, columns: Array | None) -> Array:
        others = variables() if columns is None else variables()[columns]
        product: Array = variables()[indices] @ others.T
        return product

    return x_rows


def _small_enough_to_copy(rows: Rows) -> bool:
    return not rows.is_sparse and rows.X.size <= COPY_ELEMENTS
