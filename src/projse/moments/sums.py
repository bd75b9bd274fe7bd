"""Moments: the few small matrices that stand for all the rows, and add up."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from projse.exceptions import PrecisionLossWarning
from projse.moments import sparse_products
from projse.moments.accumulate import Progress, accumulate_dense, product_dtype
from projse.moments.check import check_possible
from projse.parameters import check_pass_options
from projse.sources.rows import (
    SMALLEST_SQUARES,
    Rows,
    is_dask,
    make_rows,
    refuse_non_finite,
    refuse_non_numeric_columns,
    refuse_overflow,
)
from projse.sources.targets import column_names, warn_many_classes

Array = NDArray[Any]

AUTO_XX_COLUMNS = 512
"""Up to this many candidates, ``with_xx="auto"`` keeps their products with each other."""

ROUNDING = 64
"""Sums of squares are known to this many units of roundoff of the larger ones they come from."""

SPARSE_YX_ELEMENTS = 1 << 25
"""Beyond this many entries, products of sparse X and sparse Y are kept sparse."""


@dataclass(eq=False)
class Moments:
    """Weighted first and second moments of candidates X and references Y over some rows.

    Moments of disjoint sets of rows add up: ``a + b`` are the moments of both, ``a - b`` takes
    rows out again. Every kernel and every number of picks is served by the same moments.

    A difference that no rows have (negative squares, products beyond what the squares allow, or,
    for up to 512 variables, a negative direction) is refused: ``b`` was never added. Where the
    difference is possible, that cannot be seen: moments know no rows, and a few rows like those
    that were added can be taken out as well. Rounding stays: a column of which the difference
    leaves less than that raises a :class:`~projse.exceptions.PrecisionLossWarning`.

    Build them with :meth:`from_arrays`; the constructor takes the finished parts.

    Attributes
    ----------
    n_samples : int
        Number of rows of non-zero weight.
    sum_weights : float
        Sum of the row weights; ``n_samples`` without weights.
    x_mean, y_mean : ndarray of shape (n_x,), (n_y,)
        Weighted means. ``y_mean`` is None for one view (Y is X).
    yy : ndarray of shape (n_y, n_y)
        ``Σ w (y − ȳ)(y − ȳ)ᵀ``; None for one view.
    yx : ndarray or csc_array of shape (n_y, n_x)
        ``Σ w (y − ȳ)(x − x̄)ᵀ``; None for one view. Very wide sparse products are kept as a
        sparse ``Σ w y xᵀ`` that is not centred.
    xx_diag : ndarray of shape (n_x,)
        ``Σ w (x − x̄)²``.
    xx : ndarray of shape (n_x, n_x) or None
        The whole matrix, when it was asked for: conditioning on variables needs it.
    feature_names, target_names : tuple of str or None
    classes : ndarray or None
        Class labels, when the references are their indicators. Sums take the union.
    eps : float
        Unit roundoff of the products: that of float32 where float32 rows were multiplied.
    x_peak, y_peak : ndarray of shape (n_x,), (n_y,) or None
        Largest sums of squares that a difference came from: its rounding is a share of them. None
        where nothing was subtracted.

    Examples
    --------
    >>> import numpy as np
    >>> from projse import Moments
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(100, 4)), rng.normal(size=(100, 2))
    >>> first, second = Moments.from_arrays(X[:60], Y[:60]), Moments.from_arrays(X[60:], Y[60:])
    >>> both = first + second
    >>> both.n_samples
    100
    >>> bool(np.allclose(both.yx, Moments.from_arrays(X, Y).yx))
    True
    """

    n_samples: int
    sum_weights: float
    x_mean: Array
    y_mean: Array | None
    yy: Array | None
    yx: Any
    xx_diag: Array
    xx: Array | None = None
    feature_names: tuple[str, ...] | None = None
    target_names: tuple[str, ...] | None = None
    classes: Array | None = None
    eps: float = float(np.finfo(np.float64).eps)
    x_peak: Array | None = None
    y_peak: Array | None = None

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        Y: Any = None,
        sample_weight: Any = None,
        *,
        with_xx: bool | str = "auto",
        target_type: str = "auto",
        n_jobs: int | None = None,
        batch_size: int | None = None,
    ) -> Moments:
        """Sum over the rows of arrays, data frames, sparse matrices or Dask collections.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_x)
            Candidates.
        Y : array-like or sparse matrix of shape (n_samples,) or (n_samples, n_y), or None
            References: numbers, class labels or label indicators. None for one view.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 counts as the row twice, weight 0 as the row gone.
        with_xx : bool or "auto", default="auto"
            Keep the n_x × n_x products of the candidates, which more picks than the references
            have dimensions, ``include`` and ``round_size`` need. "auto" keeps them for up to
            512 candidates, and for one view.
        target_type : {"auto", "continuous", "class"}, default="auto"
            As in :class:`ProjSe`.
        n_jobs, batch_size : int, default=None
            As in :class:`ProjSe`.

        Returns
        -------
        Moments
        """
        check_pass_options(n_jobs, batch_size, with_xx)
        if is_dask(X, Y, sample_weight):
            from projse.engines.dask import dask_moments

            options: Any = {"target_type": target_type, "n_jobs": n_jobs, "batch_size": batch_size}
            moments = dask_moments(X, Y, sample_weight, with_xx=with_xx, **options)
            warn_many_classes(moments.classes, moments.n_samples, target_type, Y)
            return moments
        refuse_non_numeric_columns(X)
        names = column_names(X)
        X = check_array(X, accept_sparse=("csr", "csc"), dtype="numeric", ensure_all_finite=False)
        rows = make_rows(X, Y, sample_weight, target_type=target_type, feature_names=names)
        warn_many_classes(rows.classes, rows.n_samples, target_type, Y)
        return moments_of(rows, with_xx=with_xx, n_jobs=n_jobs, batch_size=batch_size)

    @property
    def n_x(self) -> int:
        """Number of candidates."""
        return len(self.x_mean)

    @property
    def n_y(self) -> int:
        """Number of reference columns; with one view, the candidates themselves."""
        return self.n_x if self.y_mean is None else len(self.y_mean)

    @property
    def one_view(self) -> bool:
        """Whether the references are the candidates themselves."""
        return self.y_mean is None

    def update(self, X: Any, Y: Any = None, sample_weight: Any = None, **options: Any) -> Moments:
        """Add more rows in place, and return self.

        The arguments are those of :meth:`from_arrays`; the columns must be those of before.
        """
        options.setdefault("with_xx", self.xx is not None)
        options.setdefault("target_type", "continuous" if self.classes is None else "class")
        total = self + type(self).from_arrays(X, Y, sample_weight, **options)
        for field in fields(self):
            setattr(self, field.name, getattr(total, field.name))
        return self

    def __add__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        return _combine(self, other, +1)

    def __sub__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        return _combine(self, other, -1)

    def __radd__(self, other: Any) -> Moments:
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def save(self, path: str | PathLike[str]) -> None:
        """Write to a file, atomically and with a checksum (see :mod:`projse.moments.file`)."""
        from projse.moments.file import write_moments

        write_moments(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Moments:
        """Read a file that :meth:`save` wrote. Nothing in it is ever executed."""
        from projse.moments.file import read_moments

        return read_moments(path)

    def __repr__(self) -> str:
        kind = "one view" if self.one_view else f"n_y={self.n_y}"
        xx = ", with xx" if self.xx is not None else ""
        return f"Moments(n_samples={self.n_samples}, n_x={self.n_x}, {kind}{xx})"


def moments_of(
    rows: Rows,
    *,
    with_xx: bool | str = False,
    n_jobs: int | None = None,
    batch_size: int | None = None,
    progress: Progress | None = None,
) -> Moments:
    """Sum over checked rows."""
    products = keeps_products(with_xx, rows.X.shape[1], rows.Y is None)
    if rows.is_sparse:
        moments = _sparse_moments(rows.counted(), products)
    else:
        moments = _dense_moments(rows, products, n_jobs, batch_size, progress)
    return replace(
        moments,
        feature_names=rows.feature_names,
        target_names=rows.target_names,
        classes=rows.classes,
    )


def keeps_products(with_xx: bool | str, n_x: int, one_view: bool) -> bool:
    """Tell whether the products of the candidates are kept; "auto": where they are few."""
    return one_view or n_x <= AUTO_XX_COLUMNS if with_xx == "auto" else bool(with_xx)


def _dense_moments(
    rows: Rows,
    with_xx: bool,
    n_jobs: int | None,
    batch_size: int | None,
    progress: Progress | None,
) -> Moments:
    sparse_y = sp.issparse(rows.Y)
    dtype = product_dtype(rows.X, None if sparse_y else rows.Y)
    codes = rows.class_codes()
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
                n_jobs=n_jobs,
                batch_size=batch_size,
                dtype=dtype,
                codes=codes,
                progress=progress,
            )
        y_squares = np.diag(sums.yy)
        if dtype == np.float32:
            # Squares may leave the range of float32; the products are then made in float64.
            if (
                _suits_float32(sums.xx_diag, rows.X)
                and _suits_float32(y_squares, rows.Y)
                and not _lost_to_shift(sums.xx_diag, sums.x, sums.weight, eps).any()
                and not _lost_to_shift(y_squares, sums.y, sums.weight, eps).any()
            ):
                break
            dtype, exact = np.dtype(np.float64), False
            continue
        finite = [np.isfinite(part).all() for part in (sums.xx_diag, y_squares, sums.y)]
        if not all(finite):
            counted = rows.counted()
            refuse_non_finite(counted.X, "X", rows.feature_names)
            refuse_overflow(sums.xx_diag, "X", rows.feature_names)
            refuse_non_finite(counted.Y, "y", rows.target_names)
            refuse_overflow(y_squares, "y", rows.target_names)
        break
    w = sums.weight
    dx, dy = sums.x / (w or 1.0), sums.y / (w or 1.0)
    one_view = rows.Y is None
    x_vanished = _vanished(sums.xx_diag, sums.x, sums.yx)
    if sparse_y:
        counted = rows.counted()
        y_mean, yy = _sparse_second_moment(counted.Y, counted.weight, w, "y", rows.target_names)
        y_vanished = _vanished_sparse(np.diag(yy), y_mean, counted.Y)
    else:
        y_mean, yy = y_shift + dy, sums.yy - w * np.outer(dy, dy)
        y_vanished = _vanished(y_squares, sums.y, sums.yx.T)
    xx_diag = np.maximum(sums.xx_diag - w * dx**2, 0.0)
    xx_diag[_lost_to_shift(sums.xx_diag, sums.x, w, eps)] = 0.0
    moments = Moments(
        n_samples=sums.n_samples,
        sum_weights=w,
        x_mean=x_shift + dx,
        y_mean=None if one_view else y_mean,
        yy=None if one_view else yy,
        yx=None if one_view else _subtract_outer(sums.yx, w * dy, dx),
        xx_diag=xx_diag,
        xx=None if sums.xx is None else _subtract_outer(sums.xx, w * dx, dx),
        eps=eps,
    )
    _mark_vanished(moments, x_vanished, y_vanished)
    return moments


def _lost_to_shift(squares: Array, sums: Array, w: float, eps: float) -> Array:
    """Tell which columns, given sums about a shift, have no spread beyond the rounding of those."""
    offset = sums / (w or 1.0) * sums
    lost: Array = (squares > 0) & (squares - offset <= ROUNDING * eps * squares)
    return lost


def _vanished(squares: Array, sums: Array, products: Array) -> Array:
    """Tell which columns have no squares although they are not constant, given sums about a shift.

    All sums of a constant column are exactly 0. ``products`` has a column for each.
    """
    vanished: Array = squares < SMALLEST_SQUARES
    low = np.flatnonzero(vanished)
    vanished[low] = (squares[low] > 0) | (sums[low] != 0) | products[:, low].any(axis=0)
    return vanished


def _vanished_sparse(squares: Array, mean: Array, A: sp.csr_array) -> Array:
    """Tell which sparse columns have no squares although they are not constant."""
    # Values that differ do so in their last digit at least: a larger mean would show it.
    vanished: Array = (squares < SMALLEST_SQUARES) & (np.abs(mean) < SMALLEST_SQUARES**0.25)
    vanished &= (mean != 0) | (squares > 0)
    low = np.flatnonzero(vanished)
    if low.size:
        columns = A[:, low]
        vanished[low] = (columns.max(axis=0) != columns.min(axis=0)).toarray().ravel()
    return vanished


def _mark_vanished(moments: Moments, x: Array, y: Array | None) -> None:
    """Give columns that are not constant a sum of squares above 0, in place.

    Further rows may make up for it; a selection refuses what is left so. The smallest number there
    is: however many of them are added, the sum stays below ``SMALLEST_SQUARES``.
    """
    least = float(np.finfo(np.float64).smallest_subnormal)
    x = x & (moments.xx_diag < least)
    if x.any():
        moments.xx_diag[x] = least
        if moments.xx is not None:
            moments.xx[x, x] = least
    if y is not None and moments.yy is not None:
        y = y & (np.diag(moments.yy) < least)
        moments.yy[y, y] = least


def _sparse_second_moment(
    A: sp.csr_array, weight: Array | None, total: float, label: str, names: tuple[str, ...] | None
) -> tuple[Array, Array]:
    """Return the mean and ``Σ w (a − ā)(a − ā)ᵀ`` of sparse columns."""
    mean = sparse_products.weighted_mean(A, weight, total)
    with np.errstate(over="ignore", invalid="ignore"):
        second = sparse_products.centred_cross(A, A, mean, mean, weight, total)
    refuse_overflow(np.diag(second), label, names)
    return mean, second


def _suits_float32(squares: Array, A: Any) -> bool:
    """Tell whether sums of squares are finite and none has sunk to the bottom of the range."""
    if not np.isfinite(squares).all():
        return False
    limits = np.finfo(np.float32)
    low = np.flatnonzero(squares < limits.tiny / limits.eps**2)
    if not low.size or sp.issparse(A):
        return True
    # A constant column has no squares in any precision.
    first = A[0, low]
    return all((A[i : i + 4096, low] == first).all() for i in range(0, len(A), 4096))


def _subtract_outer(matrix: Array, a: Array, b: Array) -> Array:
    """``matrix -= a bᵀ`` in place, in blocks of columns: no second matrix of that size."""
    if a.any() and b.any():
        for start in range(0, matrix.shape[1], 4096):
            block = slice(start, start + 4096)
            matrix[:, block] -= np.outer(a, b[block])
    return matrix


def _sparse_moments(rows: Rows, with_xx: bool) -> Moments:
    X, Y, weight = rows.X, rows.Y, rows.weight
    m = X.shape[0]
    total = float(m if weight is None else weight.sum())
    if not np.isfinite(X.data).all():
        refuse_non_finite(X, "X", rows.feature_names)
    if Y is not None and not np.isfinite(Y.data if sp.issparse(Y) else Y).all():
        refuse_non_finite(Y, "y", rows.target_names)
    x_mean = sparse_products.weighted_mean(X, weight, total)
    with np.errstate(over="ignore", invalid="ignore"):
        xx_diag = sparse_products.centred_square(X, x_mean, weight, total)
    refuse_overflow(xx_diag, "X", rows.feature_names)
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
    x_vanished = _vanished_sparse(xx_diag, x_mean, X)
    if Y is None:
        _mark_vanished(moments, x_vanished, None)
        return moments
    if sp.issparse(Y):
        y_mean, yy = _sparse_second_moment(Y, weight, total, "y", rows.target_names)
        if X.shape[1] * Y.shape[1] > SPARSE_YX_ELEMENTS:
            yx = sparse_products.raw_cross(Y, X, weight)
        else:
            yx = sparse_products.centred_cross(Y, X, y_mean, x_mean, weight, total)
        y_vanished = _vanished_sparse(np.diag(yy), y_mean, Y)
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            sums, y_shift, _ = accumulate_dense(
                Y, None, weight, with_xx=True, dtype=np.dtype(np.float64)
            )
        refuse_overflow(sums.xx_diag, "y", rows.target_names)
        dy = sums.x / total
        y_mean = y_shift + dy
        assert sums.xx is not None
        yy = sums.xx - total * np.outer(dy, dy)
        yx = sparse_products.centred_cross(Y, X, y_mean, x_mean, weight, total)
        y_vanished = _vanished(sums.xx_diag, sums.x, yx.T)
    moments = replace(moments, y_mean=y_mean, yy=yy, yx=yx)
    _mark_vanished(moments, x_vanished, y_vanished)
    return moments


def _combine(a: Moments, b: Moments, sign: int) -> Moments:
    """Add (+1) or take out (−1) rows, by the pairwise update of Chan, Golub and LeVeque."""
    if a.one_view != b.one_view:
        raise ValueError("Moments of one view and of two views cannot be combined.")
    if a.n_x != b.n_x:
        raise ValueError(f"Moments of {a.n_x} and of {b.n_x} candidates cannot be combined.")
    if a.feature_names and b.feature_names and a.feature_names != b.feature_names:
        pairs = zip(a.feature_names, b.feature_names, strict=True)
        first = next(p for p in pairs if p[0] != p[1])
        raise ValueError(f"Moments have different candidates: {first[0]!r} and {first[1]!r}.")
    if (a.classes is None) != (b.classes is None):
        raise ValueError("Moments of class labels and of other references cannot be combined.")
    if a.classes is not None and b.classes is not None:
        a, b = align_classes(a, b)
    if a.n_y != b.n_y:
        raise ValueError(f"Moments of {a.n_y} and of {b.n_y} references cannot be combined.")
    if a.classes is None and a.target_names and b.target_names and a.target_names != b.target_names:
        raise ValueError(
            f"Moments have different references: {a.target_names} and {b.target_names}."
        )
    n = a.n_samples + sign * b.n_samples
    total = a.sum_weights + sign * b.sum_weights
    if not np.isfinite(total):
        raise ValueError("The sum of sample_weight overflows; divide all weights by a constant.")
    if sign < 0:
        _check_contained(a, b, n, total)
    if n == 0:
        total = 0.0
    # The weight of the rank-one term: w_a w_b / (w_a + w_b), with w_b < 0 for a difference.
    share = b.sum_weights / total * sign if total else 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        combined = _combined(a, b, sign, n, total, share)
    names = combined.feature_names, combined.target_names
    refuse_overflow(combined.xx_diag, "X", names[0])
    if combined.yy is not None:
        refuse_overflow(np.diag(combined.yy), "y", names[1])
    if sign > 0 and a.n_samples and b.n_samples:
        # Means of a constant column are equal to the last digit.
        y_differs = None if a.y_mean is None else a.y_mean != b.y_mean
        _mark_vanished(combined, a.x_mean != b.x_mean, y_differs)
    elif sign < 0:
        with np.errstate(over="ignore"):  # then nothing is refused for its size
            _check_difference(a, b, combined)
    combined.xx_diag = np.maximum(combined.xx_diag, 0.0)
    return combined


def _combined(a: Moments, b: Moments, sign: int, n: int, total: float, share: float) -> Moments:
    """Add up moments of the same columns; ``share`` is how far the mean moves from a to b."""
    scale = a.sum_weights * share
    dx = b.x_mean - a.x_mean
    xx = None
    if a.xx is not None and b.xx is not None:
        xx = a.xx + sign * b.xx + scale * np.outer(dx, dx)
    combined = replace(
        a,
        n_samples=n,
        sum_weights=total,
        x_mean=a.x_mean + share * dx,
        xx_diag=a.xx_diag + sign * b.xx_diag + scale * dx**2,
        xx=xx,
        feature_names=a.feature_names or b.feature_names,
        target_names=a.target_names or b.target_names,
        eps=max(a.eps, b.eps),
        x_peak=_peak(a.x_peak, b.x_peak, a.xx_diag, sign),
    )
    if a.y_mean is None or b.y_mean is None:
        return combined
    dy = b.y_mean - a.y_mean
    assert a.yy is not None and b.yy is not None
    if sp.issparse(a.yx) and sp.issparse(b.yx):
        yx = sp.csc_array(a.yx + sign * b.yx)
    else:
        yx = centred_yx(a) + sign * centred_yx(b)
        _subtract_outer(yx, -scale * dy, dx)
    return replace(
        combined,
        y_mean=a.y_mean + share * dy,
        yy=a.yy + sign * b.yy + scale * np.outer(dy, dy),
        yx=yx,
        y_peak=_peak(a.y_peak, b.y_peak, np.diag(a.yy), sign),
    )


def _peak(a: Array | None, b: Array | None, squares: Array, sign: int) -> Array | None:
    """Return the largest sums of squares in the history of a sum or a difference."""
    peaks = [peak for peak in (a, b, squares if sign < 0 else None) if peak is not None]
    return np.max(peaks, axis=0) if peaks else None


def centred_yx(moments: Moments) -> Array:
    """Return ``Σ w (y − ȳ)(x − x̄)ᵀ`` as a dense array, whichever way it is kept."""
    if not sp.issparse(moments.yx):
        dense: Array = moments.yx
        return dense
    assert moments.y_mean is not None
    return _subtract_outer(
        moments.yx.toarray(), moments.sum_weights * moments.y_mean, moments.x_mean
    )


def align_classes(a: Moments, b: Moments) -> tuple[Moments, Moments]:
    """Give both the union of their classes: a class not seen has indicators of zero."""
    assert a.classes is not None and b.classes is not None
    if np.array_equal(a.classes, b.classes):
        return a, b
    if (a.classes.dtype.kind in "US") != (b.classes.dtype.kind in "US"):
        raise ValueError(
            f"Class labels of different kinds cannot be combined: {a.classes[:3]} and "
            f"{b.classes[:3]}."
        )
    union = np.union1d(a.classes, b.classes)
    return _spread_classes(a, union), _spread_classes(b, union)


def _spread_classes(moments: Moments, union: Array) -> Moments:
    assert moments.y_mean is not None and moments.yy is not None
    assert moments.classes is not None
    place = np.searchsorted(union, moments.classes)
    k = len(union)
    y_peak = None
    if moments.y_peak is not None:
        y_peak = np.zeros(k)
        y_peak[place] = moments.y_peak
    y_mean = np.zeros(k)
    y_mean[place] = moments.y_mean
    yy = np.zeros((k, k))
    yy[np.ix_(place, place)] = moments.yy
    if sp.issparse(moments.yx):
        spread = sp.csr_array(
            (np.ones(len(place)), (place, np.arange(len(place)))), shape=(k, len(place))
        )
        yx: Any = sp.csc_array(spread @ moments.yx)
    else:
        yx = np.zeros((k, moments.n_x))
        yx[place] = moments.yx
    return replace(
        moments,
        y_mean=y_mean,
        yy=yy,
        yx=yx,
        y_peak=y_peak,
        classes=union,
        target_names=tuple(str(c) for c in union),
    )


def _check_contained(a: Moments, b: Moments, n: int, total: float) -> None:
    if n < 0 or total < -1e-9 * a.sum_weights or (n > 0 and total <= 0):
        raise ValueError(
            f"Cannot subtract moments of {b.n_samples} rows (weight {b.sum_weights:g}) from "
            f"moments of {a.n_samples} rows (weight {a.sum_weights:g}): they were never added."
        )


def _check_difference(a: Moments, b: Moments, rest: Moments) -> None:
    """Refuse a difference that no rows have; warn of columns of which rounding is left."""
    lost = _check_remainder(a.xx_diag, rest.xx_diag, (a, b, rest), "candidate")
    if rest.yy is not None:
        assert a.yy is not None
        lost += _check_remainder(np.diag(a.yy), np.diag(rest.yy), (a, b, rest), "reference")
    if rest.n_samples > 1:
        try:
            check_possible(rest)
        except ValueError as error:
            raise ValueError(
                f"Cannot subtract: of what is left, {error}. These moments were never added."
            ) from error
    if lost:
        listed = ", ".join(lost[:10]) + (f" and {len(lost) - 10} more" if len(lost) > 10 else "")
        warnings.warn(
            f"In the {rest.n_samples} rows that are left, what is left of {listed} is constant or "
            "lost to rounding, and will not be selected; if it should be, sum these rows anew.",
            PrecisionLossWarning,
            stacklevel=4,
        )


def _check_remainder(
    squares: Array, after: Array, moments: tuple[Moments, Moments, Moments], kind: str
) -> list[str]:
    """Refuse a difference whose sums of squares are negative, or left over where no rows are.

    Returns the columns that had a spread before and have none beyond rounding now.
    """
    a, b, rest = moments
    x = kind == "candidate"
    means: Any = (a.x_mean, b.x_mean) if x else (a.y_mean, b.y_mean)
    mean = np.abs(means).max(axis=0)
    peak = rest.x_peak if x else rest.y_peak
    assert peak is not None
    w, n, eps = a.sum_weights, rest.n_samples, rest.eps
    # Rounding of the sums of squares, and of the means that they are about.
    slack = 1e4 * (eps * peak + np.sqrt(w * peak) * eps * mean + w * (eps * mean) ** 2)
    bad = np.flatnonzero((after < -slack) | ((after > slack) & (n <= 1)))
    names = rest.feature_names if x else rest.target_names
    if bad.size:
        which = repr(names[bad[0]]) if names else str(bad[0])
        raise ValueError(
            f"Cannot subtract: {n} rows would be left with a sum of squares of "
            f"{after[bad[0]]:g} in {kind} {which}. These moments were never added."
        )
    if n <= 1 or (not x and rest.classes is not None):
        return []
    before = a.x_peak if x else a.y_peak
    spread = squares > ROUNDING * eps * (squares if before is None else before)
    lost = np.flatnonzero(spread & (after <= ROUNDING * eps * peak))
    return [f"{kind} {names[j]!r}" if names else f"{kind} {j}" for j in lost]
