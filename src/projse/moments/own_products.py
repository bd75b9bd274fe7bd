"""Products of some candidates with all candidates, from one more pass over the same rows.

Conditioning needs rows of ``G_XX`` for the picks only. In such a pass the columns of these
candidates stand where the references stood, so that every way to sum rows can make it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.exceptions import SourceError
from projse.moments.accumulate import accumulate_dense
from projse.moments.extremes import Extremes
from projse.moments.sparse_products import centred_cross, centred_yx, subtract_outer
from projse.moments.sums import Moments
from projse.sources.rows import Rows

Array = NDArray[Any]


@dataclass(frozen=True)
class OwnProducts:
    """What a pass tells of some candidates S.

    Attributes
    ----------
    products : ndarray of shape (k, n_x)
        ``Σ w (x_S − x̄_S)(x − x̄)ᵀ``.
    low, high : ndarray of shape (k,)
        Their smallest and largest values.
    """

    products: Array
    low: Array
    high: Array


Cross = Callable[[Array], OwnProducts]
"""Makes the products of the candidates of given indices by a pass over rows elsewhere."""

IN_MEMORY = 256.0
OVER_FILES = 256.0
OVER_STATE = 1024.0
ON_CLUSTER = 1024.0
ONCE = float("inf")
"""Price of another pass, in multiplications a value. Rows in memory and files are read again for
little; that products at hand also serve further rows and other requests is worth as much. A pass
over a state reads again what was to be read once, a cluster may make its rows anew, and some
sources are good for one pass only."""


COPY_BYTES = 64 << 20
"""Columns of some candidates are copied this many bytes at a time."""


def own_products(rows: Rows, moments: Moments) -> Callable[[Array], Array]:
    """Make the products of rows in memory that moments were summed from.

    Costs ``m k n_x`` multiplications, or those of a sparse product.
    """
    x_mean, w = moments.x_mean, moments.sum_weights

    def cross(indices: Array) -> Array:
        if rows.is_sparse:
            data = rows.counted()
            return centred_cross(
                data.X[:, indices], data.X, x_mean[indices], x_mean, data.weight, w
            )
        dtype = np.dtype(np.float64) if _is_double(moments) else None
        total = np.zeros((len(indices), rows.X.shape[1]))
        for part in _slices(rows, len(indices)):
            X, weight = rows.X[part], None if rows.weight is None else rows.weight[part]
            sums, x_shift, y_shift = accumulate_dense(
                X, X[:, indices], weight, with_squares=False, y_extremes=False, dtype=dtype
            )
            dx, dy = x_mean - x_shift, x_mean[indices] - y_shift
            total += subtract_outer(sums.yx, dy, sums.x - sums.weight * dx)
            subtract_outer(total, sums.y, dx)
        return total

    return cross


def products_among(rows: Rows, moments: Moments, indices: Array) -> Array:
    """Return the products of some candidates with each other, of rows in memory.

    Costs ``m k²`` multiplications and a look at k columns; shape (k, k).
    """
    x_mean = moments.x_mean[indices]
    if rows.is_sparse:
        data = rows.counted()
        some = data.X[:, indices]
        return centred_cross(some, some, x_mean, x_mean, data.weight, moments.sum_weights)
    total = np.zeros((len(indices), len(indices)))
    for part in _slices(rows, len(indices)):
        some = np.subtract(rows.X[part][:, indices], x_mean, dtype=np.float64)
        if rows.weight is not None:
            counted = rows.weight[part] > 0
            some = some[counted] * np.sqrt(rows.weight[part][counted])[:, None]
        total += some.T @ some
    return total


def _slices(rows: Rows, n_columns: int) -> list[slice]:
    """Cut rows so that a copy of some columns of a slice stays small."""
    if hasattr(rows.X, "block_rows"):
        return [slice(None)]  # the columns of blocks lie apart: no slice of rows is without a copy
    m, itemsize = rows.X.shape[0], max(rows.X.dtype.itemsize, 4)
    depth = max(COPY_BYTES // (itemsize * max(n_columns, 1)), 1024)
    return [slice(start, start + depth) for start in range(0, m, depth)]


@dataclass(frozen=True)
class Against:
    """Lets some candidates of rows stand for their references."""

    indices: Array
    double: bool

    @classmethod
    def of(cls, indices: Array, first: Moments) -> Against:
        """Multiply as the first pass did."""
        return cls(indices, _is_double(first))

    def __call__(self, rows: Rows) -> Rows:
        """Put the columns in the place of the references."""
        some = rows.X[:, self.indices]
        if self.double and some.dtype == np.float32:
            some = some.astype(np.float64)
        return Rows(rows.X, some, rows.weight, rows.feature_names)

    def with_extremes(self, moments: Moments, rows: Rows) -> Moments:
        """Add the extremes of these columns to the moments of rows that they stand in."""
        columns = rows.counted().Y
        shift = np.zeros(len(self.indices))
        low, high = Extremes.of(columns).about(shift, moments.n_samples)
        return replace(moments, y_min=low, y_max=high)


def _is_double(moments: Moments) -> bool:
    """Whether products were made in float64: of float32 rows, where their squares need it."""
    return bool(moments.eps < np.finfo(np.float32).eps)


def taken_from(total: Moments, first: Moments, what: str) -> OwnProducts:
    """Take the products out of the sums of a pass :class:`Against` some candidates.

    Parameters
    ----------
    total : Moments
        Of the pass.
    first : Moments
        Of the first pass, which must have seen the same rows.
    what : str
        What messages call the rows.
    """
    means_agree = np.abs(total.x_mean - first.x_mean) <= _rounding_of_mean(first)
    if (
        total.n_samples != first.n_samples
        or not np.isclose(total.sum_weights, first.sum_weights, rtol=1e-9)
        or not means_agree.all()
    ):
        now = "" if total.n_samples == first.n_samples else f", now {total.n_samples:,}"
        raise SourceError(
            f"{what} changed between two passes ({first.n_samples:,} rows before{now}); products "
            "of the two would be of different rows. Run again once nothing writes to it; rows that "
            "are made anew each time (at random, say) must be stored or kept in memory first."
        )
    assert total.y_min is not None and total.y_max is not None
    return OwnProducts(centred_yx(total), total.y_min, total.y_max)


def _rounding_of_mean(moments: Moments) -> Array:
    """How far two sums of the same rows, in other batches, may differ in their means."""
    size = np.sqrt(moments.xx_diag / moments.sum_weights) + np.abs(moments.x_mean)
    rounding: Array = 1e4 * moments.eps * size
    return rounding
