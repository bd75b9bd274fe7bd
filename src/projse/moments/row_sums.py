"""Sums of products over runs of dense rows, a batch at a time.

A batch is read from memory once and used, while it is in cache, for the cross-products, the sums
and the squared norms. Threads run side by side only while they are inside one call of BLAS or of
a ufunc, and waking one that waits costs more than a small call: so the calls are few and long,
and their results go to memory that is used again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.moments.extremes import Extremes
from projse.moments.folding import Shift

Array = NDArray[Any]

THIN_COLUMNS = 16
"""Up to this many references are copied by row even if they lie by column: BLAS multiplies thin
matrices several times as fast so."""

THIN_BYTES = 2 << 20
"""Extremes of references of up to this size are taken of all rows at once: calls for each batch
would be so short that threads wait for each other."""


@dataclass
class Sums:
    """Weighted sums over some rows of products of ``x - x_shift`` and ``y - y_shift``.

    The extremes of the references are taken where they are asked for, those of the candidates
    beside ``xx``, which costs so much more; both of the values themselves, not about the shift.
    ``by_squares``, those of both are bounds instead, which cost nothing, about the shift: no value
    is further from it than the root of the sum of squares of its batch.
    """

    x: Array
    y: Array
    yy: Array
    yx: Array
    xx_diag: Array
    xx: Array | None
    x_extremes: Extremes | None = None
    y_extremes: Extremes | None = None
    by_squares: bool = False
    n_samples: int = 0
    weight: float = 0.0

    @classmethod
    def zeros(
        cls,
        n_x: int,
        n_y: int,
        with_xx: bool,
        y_extremes: bool = True,
        by_squares: bool = False,
    ) -> Sums:
        """Start with no rows."""
        return cls(
            x=np.zeros(n_x),
            y=np.zeros(n_y),
            yy=np.zeros((n_y, n_y)),
            yx=np.zeros((n_y, n_x)),
            xx_diag=np.zeros(n_x),
            xx=np.zeros((n_x, n_x)) if with_xx else None,
            x_extremes=Extremes.of_no_rows(n_x) if with_xx or by_squares else None,
            y_extremes=Extremes.of_no_rows(n_y) if y_extremes or by_squares else None,
            by_squares=by_squares,
        )

    def tile(self, columns: slice) -> Sums:
        """Return views of the sums that belong to some columns of X."""
        xx = None if self.xx is None else self.xx[columns.start :, columns]
        extremes = None if self.x_extremes is None else self.x_extremes.tile(columns)
        sums = self.x[columns], self.y, self.yy, self.yx[:, columns], self.xx_diag[columns]
        return Sums(*sums, xx, extremes, self.y_extremes, self.by_squares)

    def __iadd__(self, other: Sums) -> Sums:
        self.n_samples += other.n_samples
        self.weight += other.weight
        for name in ("x", "y", "yy", "yx", "xx_diag", "xx"):
            mine = getattr(self, name)
            if mine is not None:
                mine += getattr(other, name)
        for name in ("x_extremes", "y_extremes"):
            if getattr(self, name) is not None:
                getattr(self, name).merge(getattr(other, name))
        return self

    @property
    def wants_x(self) -> bool:
        """Whether values of X are asked for."""
        return self.x_extremes is not None and not self.by_squares

    @property
    def wants_y(self) -> bool:
        """Whether values of Y are asked for."""
        return self.y_extremes is not None and not self.by_squares

    def stretch(self, x: Array | None, y: Array | None = None) -> None:
        """Let the extremes, where they are taken, reach as far as these rows."""
        if self.x_extremes is not None and x is not None:
            self.x_extremes.take(x)
        if self.y_extremes is not None and y is not None:
            self.y_extremes.take(y)

    def add_squares(self, x: Array | None, y: Array | None = None) -> None:
        """Add the sums of squares of X of a batch; both bound the extremes ``by_squares``."""
        if x is not None:
            self.xx_diag += x
        if self.by_squares:
            assert self.x_extremes is not None and self.y_extremes is not None
            for extremes, squares in ((self.x_extremes, x), (self.y_extremes, y)):
                if squares is not None:
                    extremes.take_squares(squares)


class Stacks:
    """Hands out rows of one dense array as stacks, converted and shifted in a buffer.

    An array that needs neither is handed out as it is: BLAS reads C- and F-ordered rows alike.
    The buffer takes the order of the array, so that it is filled along memory, unless the array is
    thin. ``with_ones`` puts a column of ones before the others, so that products with them give
    sums as well; to copy a batch also brings it into the cache, which plain loops do faster than
    products.
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
        self.width = self.n_columns + with_ones
        self.shift = None if shift is None else Shift(shift.astype(dtype))
        self.with_ones = with_ones
        thin = with_ones and self.n_columns <= THIN_COLUMNS
        self.by_column = array.strides[0] < array.strides[1] and not thin
        ready = array.dtype == dtype and _blas_ready(array)
        self.direct = shift is None and ready and not with_ones
        if self.direct:
            return
        self.buffer = np.empty(rows * self.width, dtype=dtype)

    def __call__(self, start: int, stop: int, depth: int) -> Array:
        """Return rows as an array of shape (n, depth, columns)."""
        n, columns = (stop - start) // depth, self.width
        stack = self.raw(start, stop, depth)
        if self.direct:
            return stack
        whole = self.buffer[: (stop - start) * columns]
        if self.by_column:
            whole = whole.reshape(n, columns, depth).transpose(0, 2, 1)
        else:
            whole = whole.reshape(n, depth, columns)
        out = whole
        if self.with_ones:
            whole[:, :, 0], out = 1, whole[:, :, 1:]
        if self.shift is None:
            out[...] = stack
        else:
            self.shift.subtract(stack, out)
        return whole

    def raw(self, start: int, stop: int, depth: int) -> Array:
        """Return rows as they lie in the array, of shape (n, depth, columns)."""
        if self.stacked:
            stack: Array = self.array.stack(start, stop, depth)
            return stack
        n = (stop - start) // depth
        return self.array[start:stop].reshape(n, depth, self.n_columns)

    def rows(self, start: int, stop: int) -> Array:
        """Return rows as a matrix."""
        rows: Array = self.array[start:stop] if self.direct else self(start, stop, stop - start)[0]
        return rows


def _blas_ready(array: Array) -> bool:
    """Tell whether BLAS can read row slices of the array without a copy."""
    item = array.itemsize
    row, column = array.strides
    unit = (column == item and row % item == 0 and row >= item * array.shape[1]) or (
        row == item and column % item == 0 and column >= item * array.shape[0]
    )
    return bool(unit and array.flags.aligned)


@dataclass(frozen=True)
class Operands:
    """Rows to multiply, what is subtracted from them, and how they are cut.

    Attributes
    ----------
    X : ndarray or BlockedRows of shape (n_rows, n_x)
    Y : ndarray, BlockedRows or CSR array of shape (n_rows, n_y), or None
    weight : ndarray of shape (n_rows,), or None
    x_shift, y_shift : ndarray, or None
    dtype : dtype
        Of the products within a batch.
    batch_size : int
    with_squares : bool
        Whether the sums of the candidates' squares are asked for; rows in blocks give them anyway.
    """

    X: Any
    Y: Any
    weight: Array | None
    x_shift: Array | None
    y_shift: Array | None
    dtype: np.dtype[Any]
    batch_size: int
    with_squares: bool = True

    @property
    def most_rows(self) -> int:
        """Rows of the largest batch."""
        return min(self.batch_size, max(self.X.shape[0], 1))


class BatchSum:
    """Adds runs of rows to sums, batch by batch, in float64 whatever the products are in."""

    def __init__(self, rows: Operands) -> None:
        self.weight, self.dtype, self.batch_size = rows.weight, rows.dtype, rows.batch_size

    def add(self, sums: Sums, start: int, stop: int, *, with_y: bool) -> None:
        """Add the rows from ``start`` to ``stop``; sums of Y alone only ``with_y``."""
        raise NotImplementedError


class RowSum(BatchSum):
    """Adds rows as they lie in an array, by row or by column."""

    def __init__(self, rows: Operands) -> None:
        super().__init__(rows)
        dtype, size = rows.dtype, rows.most_rows
        self.X, self.Y = X, Y = rows.X, rows.Y
        self.x_stacks = Stacks(X, rows.x_shift, dtype, size)
        self.sparse_y = self.y_stacks = None
        if sp.issparse(Y):
            self.sparse_y = Y
        elif Y is not None:
            self.y_stacks = Stacks(Y, rows.y_shift, dtype, size, with_ones=True)
        self.with_squares = rows.with_squares
        self.ones = np.ones(size, dtype=dtype)
        self.work: _Work | None = None

    def add(self, sums: Sums, start: int, stop: int, *, with_y: bool) -> None:
        """Add the rows from ``start`` to ``stop``; sums of Y alone only ``with_y``."""
        p = len(sums.x)
        if self.work is None:
            width = 0 if self.y_stacks is None else self.y_stacks.width
            self.work = _Work(width, p, self.dtype)
        work = self.work
        stretch_y = with_y and self.y_stacks is not None and sums.wants_y
        if stretch_y and self._is_thin(stop - start):
            sums.stretch(None, self.Y[start:stop])
            stretch_y = False
        for begin in range(start, stop, self.batch_size):
            end = min(begin + self.batch_size, stop)
            w, counted = self._weights(begin, end)
            sums.n_samples += len(w)
            sums.weight += len(w) if self.weight is None else float(w.sum())
            w = w.astype(self.dtype, copy=False)
            # First: plain loops bring rows into the cache faster than products.
            sums.stretch(
                kept(self.X[begin:end], counted)[:, :p] if sums.wants_x else None,
                kept(self.Y[begin:end], counted) if stretch_y else None,
            )
            wider = kept(self.x_stacks.rows(begin, end), counted)
            x = wider if wider.shape[1] == p else wider[:, :p]
            if sums.xx is None and self.with_squares:
                sums.add_squares(work.squares(None if self.weight is None else w, x))
            if self.sparse_y is not None:
                y = kept(self.sparse_y[begin:end], counted)
                sums.x += work.sums(w, x)
                if with_y:
                    sums.y += y.T @ w
                left = y if self.weight is None else y.multiply(w[:, None]).tocsr()
                sums.yx += left.T @ x
            elif self.y_stacks is not None:
                y = kept(self.y_stacks.rows(begin, end), counted)
                left = y if self.weight is None else y * w[:, None]
                second = work.second(left, y) if with_y else None
                add_with_ones(sums, work.cross(left, x), second)
            else:
                sums.x += work.sums(w, x)
            if sums.xx is not None:
                left = wider if self.weight is None else wider * w[:, None]
                product = left.T @ x
                sums.xx += product
                sums.add_squares(np.diagonal(product))

    def _is_thin(self, n_rows: int) -> bool:
        """Whether so many rows of Y all count, and stay in cache until they are multiplied."""
        return self.weight is None and n_rows * self.Y.shape[1] * self.Y.itemsize <= THIN_BYTES

    def _weights(self, begin: int, end: int) -> tuple[Array, Array | None]:
        """Return weights above 0, and which rows have them; None for all of them."""
        if self.weight is None:
            return self.ones[: end - begin], None
        w = self.weight[begin:end]
        counted = w > 0
        if counted.all():
            return w, None
        return w[counted], counted


def kept(rows: Any, counted: Array | None) -> Any:
    """Leave out rows of weight 0, whatever they hold."""
    return rows if counted is None else rows[counted]


def add_with_ones(sums: Sums, cross: Array, second: Array | None) -> None:
    """Add products of ``[1 Y]``: their first row are the sums of the columns."""
    sums.x += cross[0]
    sums.yx += cross[1:]
    if second is not None:
        sums.y += second[0, 1:]
        sums.yy += second[1:, 1:]
        sums.add_squares(None, np.diagonal(second)[1:])


class _Work:
    """Sums over the rows of a batch, in memory that is used again from batch to batch.

    For rows of q references and p candidates. What is handed out is overwritten by the next call.
    """

    def __init__(self, q: int, p: int, dtype: np.dtype[Any]) -> None:
        self.line = np.empty(p, dtype=dtype)
        self.product = np.empty((q, p), dtype=dtype)
        self.square = np.empty((q, q), dtype=dtype)
        self.squared = np.empty(0, dtype=dtype)

    def sums(self, w: Array, x: Array) -> Array:
        """Return the weighted sums of the columns."""
        return np.matmul(w, x, out=self.line)

    def squares(self, w: Array | None, x: Array) -> Array:
        """Return the sums of the columns' squares; weighted, if there are weights."""
        if w is None:
            return np.einsum("ij,ij->j", x, x, out=self.line)
        # New memory for every batch would cost as much as the sums.
        if self.squared.size < x.size:
            self.squared = np.empty(x.size, dtype=x.dtype)
        out = self.squared[: x.size]
        by_column = x.strides[0] < x.strides[1]
        out = out.reshape(x.shape[::-1]).T if by_column else out.reshape(x.shape)
        return np.matmul(w, np.multiply(x, x, out=out), out=self.line)

    def cross(self, y: Array, x: Array) -> Array:
        """Return ``yᵀx``."""
        return np.matmul(y.T, x, out=self.product)

    def second(self, left: Array, y: Array) -> Array:
        """Return ``yᵀy``, one of them weighted."""
        return np.matmul(left.T, y, out=self.square)
