"""Sums of products over runs of dense rows, a batch at a time.

A batch is read from memory once and used, while it is in cache, for the cross-products, the sums
and the squared norms. Threads run side by side only while they are inside one call of BLAS or of
a ufunc, and waking one that waits costs more than a small call: so the calls are few and long,
and their results go to memory that is used again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[Any]

SMALL_PRODUCT = 1_000_000
"""OpenBLAS multiplies without repacking while rows × columns × depth stay within this."""

THIN_COLUMNS = 32
"""Up to this many references are copied beside a column of ones: one product then gives all."""


@dataclass
class Sums:
    """Weighted sums over some rows of products of ``x - x_shift`` and ``y - y_shift``."""

    x: Array
    y: Array
    yy: Array
    yx: Array
    xx_diag: Array
    xx: Array | None
    n_samples: int = 0
    weight: float = 0.0

    @classmethod
    def zeros(cls, n_x: int, n_y: int, with_xx: bool) -> Sums:
        """Start with no rows."""
        return cls(
            x=np.zeros(n_x),
            y=np.zeros(n_y),
            yy=np.zeros((n_y, n_y)),
            yx=np.zeros((n_y, n_x)),
            xx_diag=np.zeros(n_x),
            xx=np.zeros((n_x, n_x)) if with_xx else None,
        )

    def tile(self, columns: slice) -> Sums:
        """Return views of the sums that belong to some columns of X."""
        xx = None if self.xx is None else self.xx[columns.start :, columns]
        return Sums(
            self.x[columns], self.y, self.yy, self.yx[:, columns], self.xx_diag[columns], xx
        )

    def __iadd__(self, other: Sums) -> Sums:
        self.n_samples += other.n_samples
        self.weight += other.weight
        for name in ("x", "y", "yy", "yx", "xx_diag", "xx"):
            mine = getattr(self, name)
            if mine is not None:
                mine += getattr(other, name)
        return self


class _Stacks:
    """Hands out rows of one dense array as stacks, converted and shifted in a buffer.

    An array that needs neither is handed out as it is: BLAS reads C- and F-ordered rows alike.
    The buffer takes the order of the array, so that it is filled along memory. ``with_ones`` puts
    a column of ones before the others, by row: the order in which BLAS multiplies thin matrices
    several times as fast.
    """

    def __init__(
        self,
        array: Any,
        shift: Array | None,
        dtype: np.dtype[Any],
        rows: int,
        *,
        with_ones: bool = False,
    ) -> None:
        self.array = array
        self.stacked = hasattr(array, "stack")
        self.n_columns = array.shape[1]
        self.shift = shift
        self.with_ones = with_ones
        self.by_column = array.strides[0] < array.strides[1] and not with_ones
        ready = array.dtype == dtype and _blas_ready(array)
        self.direct = shift is None and ready and not with_ones
        if self.direct:
            return
        self.buffer = np.ones(rows * (self.n_columns + with_ones), dtype=dtype)
        if shift is not None and not self.by_column:
            # A whole block of shifts lets the subtraction run as one long loop.
            self.shifts = np.empty((rows, self.n_columns), dtype=dtype)
            self.shifts[:] = shift

    def __call__(self, start: int, stop: int, depth: int) -> Array:
        """Return rows as an array of shape (n, depth, columns)."""
        if self.stacked:
            stack: Array = self.array.stack(start, stop, depth)
        else:
            stack = self.array[start:stop].reshape(-1, depth, self.n_columns)
        if self.direct:
            return stack
        n, columns = (stop - start) // depth, self.n_columns + self.with_ones
        whole = self.buffer[: (stop - start) * columns]
        if self.by_column:
            whole = whole.reshape(n, columns, depth).transpose(0, 2, 1)
        else:
            whole = whole.reshape(n, depth, columns)
        out = whole[:, :, 1:] if self.with_ones else whole
        if self.shift is None:
            out[...] = stack
        elif self.by_column:
            np.subtract(stack, self.shift, out=out, casting="unsafe")
        else:
            shifts = self.shifts[: stop - start].reshape(stack.shape)
            np.subtract(stack, shifts, out=out, casting="unsafe")
        return whole


def _blas_ready(array: Array) -> bool:
    """Tell whether BLAS can read row slices of the array without a copy."""
    item = array.itemsize
    row, column = array.strides
    unit = (column == item and row % item == 0 and row >= item * array.shape[1]) or (
        row == item and column % item == 0 and column >= item * array.shape[0]
    )
    return bool(unit and array.flags.aligned)


class RowSum:
    """Adds runs of rows to sums, batch by batch, in float64 whatever the products are in.

    A batch is a stack of matrices: one, or the blocks that the rows lie in. One call multiplies
    the whole stack, because threads run side by side only while they are inside such calls.
    """

    def __init__(
        self,
        X: Array,
        Y: Array | sp.csr_array | None,
        weight: Array | None,
        x_shift: Array | None,
        y_shift: Array | None,
        dtype: np.dtype[Any],
        batch_size: int,
    ) -> None:
        size = min(batch_size, max(X.shape[0], 1))
        self.weight, self.dtype = weight, dtype
        self.batch_size = batch_size
        self.block = min(getattr(X, "block_rows", batch_size), batch_size)
        self.x_stacks = _Stacks(X, x_shift, dtype, size)
        self.sparse_y = self.y_stacks = None
        self.thin, self.n_y = False, 0
        if sp.issparse(Y):
            self.sparse_y = Y
        elif Y is not None:
            self.thin = Y.shape[1] <= THIN_COLUMNS
            self.n_y = Y.shape[1] + self.thin
            self.y_stacks = _Stacks(Y, y_shift, dtype, size, with_ones=self.thin)
        self.ones = np.ones((1, 1, size), dtype=dtype)
        self.work = np.empty(0, dtype=dtype)
        self.products: dict[tuple[int, ...], _Products] = {}

    def _products(self, shape: tuple[int, ...]) -> _Products:
        """Return the sums of batches of this shape; all share their memory."""
        found = self.products.get(shape)
        if found is None:
            if len(self.products) > 3:
                self.products.clear()  # rows of weight 0 leave batches of many lengths
            found = self.products[shape] = _Products(shape, self.n_y, self.dtype, self.work)
            self.work = found.work
        return found

    def add(self, sums: Sums, start: int, stop: int, *, with_y: bool) -> None:
        """Add the rows from ``start`` to ``stop``; sums of Y alone only ``with_y``."""
        weight = self.weight
        for begin, end, depth in _pieces(start, stop, self.batch_size, self.block):
            x = self.x_stacks(begin, end, depth)
            y: Any = None
            if self.sparse_y is not None:
                y = self.sparse_y[begin:end]
            elif self.y_stacks is not None:
                y = self.y_stacks(begin, end, depth)
            if weight is None:
                w = self.ones[:, :, :depth]
                sums.n_samples += end - begin
                sums.weight += end - begin
            else:
                x, y, w = _counted(x, y, weight[begin:end])
                sums.n_samples += w.size
                sums.weight += float(w.sum())
                w = w.astype(self.dtype)
            wider = x
            if x.shape[2] > len(sums.x):
                x = x[:, :, : len(sums.x)]
            products = self._products(x.shape)
            # First: plain loops bring rows into the cache faster than products.
            if sums.xx is None:
                sums.xx_diag += products.squares(w, x, weight is not None)
            if not self.thin:
                sums.x += products.sum_x(w, x)
            if self.sparse_y is not None:
                flat = self.ones[0, 0, : end - begin] if weight is None else w.ravel()
                _add_sparse(sums, y, x.reshape(-1, x.shape[2]), flat, with_y=with_y)
            elif y is not None:
                self._add_dense(sums, products, y, x, w, with_y=with_y)
            if sums.xx is not None:
                left = wider if weight is None else wider * w.transpose(0, 2, 1)
                product = _first_axis_sum(np.matmul(left.transpose(0, 2, 1), x))
                sums.xx += product
                sums.xx_diag += np.diagonal(product)

    def _add_dense(
        self, sums: Sums, products: _Products, y: Array, x: Array, w: Array, *, with_y: bool
    ) -> None:
        """Add the products with dense references; thin ones bring the sums along."""
        left = y if self.weight is None else y * w.transpose(0, 2, 1)
        if with_y and not self.thin:
            sums.y += products.sum_y(w, y)
        product = products.cross(left, x)
        if self.thin:
            sums.x += product[0]
            product = product[1:]
        sums.yx += product
        if not with_y:
            return
        second = products.second(left, y)
        if self.thin:
            sums.y += second[0, 1:]
            second = second[1:, 1:]
        sums.yy += second


def _add_sparse(sums: Sums, y: sp.csr_array, x: Array, w: Array, *, with_y: bool) -> None:
    """Add the products with sparse references."""
    if with_y:
        sums.y += y.T @ w
    sums.yx += (y.multiply(w[:, None]).tocsr() if (w != 1).any() else y).T @ x


def _pieces(start: int, stop: int, batch_size: int, block: int) -> Iterator[tuple[int, int, int]]:
    """Cut rows into batches of whole blocks, and what is left into a block of its own."""
    for begin in range(start, stop, batch_size):
        end = min(begin + batch_size, stop)
        whole = begin + (end - begin) // block * block
        if begin < whole:
            yield begin, whole, block
        if whole < end:
            yield whole, end, end - whole


def _counted(x: Array, y: Any, weight: Array) -> tuple[Array, Any, Array]:
    """Leave out rows of weight 0, whatever they hold; weights get the shape (slices, 1, depth)."""
    counted = weight > 0
    if counted.all():
        return x, y, weight.reshape(x.shape[0], 1, x.shape[1])
    if y is not None:
        y = y[counted] if sp.issparse(y) else y.reshape(-1, y.shape[2])[counted][None]
    return x.reshape(-1, x.shape[2])[counted][None], y, weight[counted][None, None]


class _Products:
    """Sums over the rows of a stack, in memory that is used again from batch to batch.

    Stacks of X have the shape ``shape``: (n, depth, columns); weights (n or 1, 1, depth). What is
    handed out is overwritten by the next call.
    """

    def __init__(
        self, shape: tuple[int, ...], q: int, dtype: np.dtype[Any], work: Array | None = None
    ) -> None:
        n, rows, p = shape
        self.depth = rows
        if n == 1 and 0 < 2 * small_depth(q, p) <= rows:
            self.depth = small_depth(q, p)
            n = rows // self.depth
        size = max(shape[0] * rows, n * q) * p
        self.work = np.empty(size, dtype=dtype) if work is None or work.size < size else work
        self.squares_by_row = self.work[: shape[0] * rows * p].reshape(shape)
        self.squares_by_column = self.squares_by_row.reshape(shape[0], p, rows).transpose(0, 2, 1)
        self.slices = self.work[: n * q * p].reshape(n, q, p)
        self.product = np.empty((q, p), dtype=dtype)
        self.x_sums = np.empty((shape[0], 1, p), dtype=dtype)
        self.y_sums = np.empty((shape[0], 1, q), dtype=dtype)
        self.seconds = np.empty((shape[0], q, q), dtype=dtype)
        self.norms = np.empty((shape[0], p, 1, 1), dtype=dtype)

    def sum_x(self, w: Array, x: Array) -> Array:
        """Return the weighted sums of the columns of X."""
        return _first_axis_sum(np.matmul(w, x, out=self.x_sums))[0]

    def sum_y(self, w: Array, y: Array) -> Array:
        """Return the weighted sums of the columns of Y."""
        return _first_axis_sum(np.matmul(w, y, out=self.y_sums))[0]

    def squares(self, w: Array, x: Array, weighted: bool) -> Array:
        """Return the weighted sums of the squares of X."""
        by_column = x.strides[1] < x.strides[2]
        if by_column and not weighted:
            columns = x.transpose(0, 2, 1)
            np.matmul(columns[:, :, None], columns[..., None], out=self.norms)
            return _first_axis_sum(self.norms[..., 0, 0])
        # Not by einsum, which lets no other thread run.
        squares = self.squares_by_column if by_column else self.squares_by_row
        return self.sum_x(w, np.multiply(x, x, out=squares))

    def cross(self, y: Array, x: Array) -> Array:
        """Return ``yᵀx``, in slices that are small for BLAS: a quarter faster at 100 × 100."""
        n, rows, p = x.shape
        if n > 1:
            np.matmul(y.transpose(0, 2, 1), x, out=self.slices)
            return np.add.reduce(self.slices, axis=0, out=self.product)
        y, x = y[0], x[0]
        if rows == self.depth:
            return np.matmul(y.T, x, out=self.product)
        n, left = divmod(rows, self.depth)
        np.matmul(
            y[: rows - left].reshape(n, self.depth, -1).transpose(0, 2, 1),
            x[: rows - left].reshape(n, self.depth, p),
            out=self.slices,
        )
        product: Array = np.add.reduce(self.slices, axis=0, out=self.product)
        if left:
            product += y[rows - left :].T @ x[rows - left :]
        return product

    def second(self, left: Array, y: Array) -> Array:
        """Return ``yᵀy``, one of them weighted."""
        return _first_axis_sum(np.matmul(left.transpose(0, 2, 1), y, out=self.seconds))


def _first_axis_sum(array: Array) -> Array:
    return array[0] if len(array) == 1 else np.add.reduce(array, axis=0)


class ClassSum:
    """Adds rows that are in the order of their classes: a product with indicators is their sum."""

    def __init__(
        self,
        X: Array,
        codes: Array,
        weight: Array | None,
        order: Array,
        shift: Array | None,
        dtype: np.dtype[Any],
        batch_size: int,
    ) -> None:
        self.X, self.codes, self.weight, self.order = X, codes, weight, order
        self.shift, self.dtype, self.batch_size = shift, dtype, batch_size
        self.buffer = np.empty((min(batch_size, len(order)), X.shape[1]), dtype=dtype)
        self.work = np.empty(self.buffer.size, dtype=dtype)

    def add(self, sums: Sums, start: int, stop: int, *, with_y: bool) -> None:
        """Add the rows from ``start`` to ``stop`` of the order; sums of Y alone only ``with_y``."""
        rows = self.order[start:stop]
        in_order = bool((np.diff(rows) == 1).all())
        for begin in range(0, len(rows), self.batch_size):
            batch = rows[begin : begin + self.batch_size]
            wider = self.buffer[: len(batch)]
            wider[...] = self.X[batch[0] : batch[-1] + 1] if in_order else self.X[batch]
            if self.shift is not None:
                wider -= self.shift
            x = wider[:, : len(sums.x)]
            if self.weight is None:
                w = np.ones(len(batch), dtype=self.dtype)
            else:
                w = self.weight[batch].astype(self.dtype)
            if sums.xx is None:
                squares = self.work[: x.size].reshape(x.shape)
                sums.xx_diag += w @ np.multiply(x, x, out=squares)
            else:
                left = wider if self.weight is None else wider * w[:, None]
                product = left.T @ x
                sums.xx += product
                sums.xx_diag += np.diagonal(product)
            labels = self.codes[batch]
            cuts = np.flatnonzero(labels[1:] != labels[:-1]) + 1
            for a, b in pairwise([0, *cuts.tolist(), len(batch)]):
                total = w[a:b] @ x[a:b]
                sums.yx[labels[a]] += total
                sums.x += total
                if with_y:
                    sums.y[labels[a]] += float(w[a:b].sum(dtype=np.float64))
            sums.n_samples += len(batch)
            sums.weight += float(w.sum(dtype=np.float64))


def slice_rows(q: int, p: int) -> int:
    """Rows of a slice of the products of q references with p candidates; 0: do not slice."""
    return small_depth(q + (0 < q <= THIN_COLUMNS), p)


def small_depth(q: int, p: int) -> int:
    """Rows a q × p product may have to be small; 0 where slicing it up does not pay."""
    depth = SMALL_PRODUCT // max(q * p, 1) // 16 * 16
    return depth if depth >= 32 else 0
