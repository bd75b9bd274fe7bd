"""One pass over dense rows: sums of products about a shift, in cache-sized batches.

This is where the time goes when there are many rows. Every batch is read from memory once and
used, while it is in cache, for the cross-products, the sums and the squared norms. Batches are
grouped into stripes whose limits depend on the shape alone, and stripes are added in order, so
the result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse._threads import effective_n_threads, ordered_map

Array = NDArray[Any]
Progress = Callable[[int, int], None]

BATCH_BYTES = 3 << 18
"""Rows of [Y X] that one batch holds, in bytes: with its squares, a core's second-level cache."""

TILE_COLUMNS = 1024
"""A wider X is handled in tiles of about this many columns, each by one thread."""

ROWS_A_CLASS = 8
"""With fewer rows a class than this, on average, indicators are multiplied as a sparse matrix."""

SMALL_PRODUCT = 1_000_000
"""OpenBLAS multiplies without repacking while rows × columns × depth stay within this."""

SMALL_PASS = 5_000_000
"""Below this many multiplications, starting threads takes longer than the pass."""

MAX_STRIPES = 64


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


def product_dtype(*arrays: Array | None) -> np.dtype[Any]:
    """Return float32 when every dense array is float32 (or narrower float), else float64."""
    dtypes = [a.dtype for a in arrays if a is not None]
    single = all(d == np.float32 for d in dtypes)
    return np.dtype(np.float32 if single else np.float64)


def choose_shift(head: Array, dtype: np.dtype[Any]) -> Array | None:
    """Return a shift for the columns, or None where no column needs one.

    Sums about zero are as accurate as sums about the mean while the mean is no larger than a few
    standard deviations. The first rows decide; a shift anywhere inside the data's range is a good
    one, so a drift after them does no harm.
    """
    if head.dtype.itemsize == 1:
        return None  # sums of bytes and of their squares are exact
    head = np.asarray(head, dtype=np.float64)
    mean = head.mean(axis=0)
    if np.all(np.abs(mean) <= 2 * head.std(axis=0)):
        return None
    return mean.astype(dtype)


class _Columns:
    """Hands out row batches of one dense array, converted and shifted in a work buffer.

    An array that needs neither is handed out as it is: BLAS reads row slices of C- and F-ordered
    arrays alike. The buffer takes the order of the array, so that it is filled along memory.
    """

    def __init__(self, array: Array, shift: Array | None, dtype: np.dtype[Any], rows: int) -> None:
        self.array = array
        self.shift = shift
        self.direct = shift is None and array.dtype == dtype and _blas_ready(array)
        self.by_column = array.strides[0] < array.strides[1]
        if self.direct:
            return
        n = array.shape[1]
        shape = (n, rows) if self.by_column else (rows, n)
        self.buffer = np.empty(shape, dtype=dtype)
        if shift is not None:
            # A whole block of shifts lets the subtraction run as one long loop.
            self.shifts = np.empty_like(self.buffer)
            self.shifts[:] = shift[:, None] if self.by_column else shift

    def __call__(self, start: int, stop: int) -> Array:
        batch = self.array[start:stop]
        if self.direct:
            return batch
        k = stop - start
        if self.by_column:
            out, source = self.buffer[:, :k], batch.T
            shifts = None if self.shift is None else self.shifts[:, :k]
        else:
            out, source = self.buffer[:k], batch
            shifts = None if self.shift is None else self.shifts[:k]
        if shifts is None:
            out[...] = source
        else:
            np.subtract(source, shifts, out=out, casting="unsafe")
        return out.T if self.by_column else out


def _blas_ready(array: Array) -> bool:
    """Tell whether BLAS can read row slices of the array without a copy."""
    item = array.itemsize
    row, column = array.strides
    unit = (column == item and row % item == 0 and row >= item * array.shape[1]) or (
        row == item and column % item == 0 and column >= item * array.shape[0]
    )
    return bool(unit and array.flags.aligned)


def accumulate_dense(
    X: Array,
    Y: Array | sp.csr_array | None,
    weight: Array | None,
    *,
    with_xx: bool = False,
    n_jobs: int | None = None,
    batch_size: int | None = None,
    dtype: np.dtype[Any] | None = None,
    codes: Array | None = None,
    progress: Progress | None = None,
) -> tuple[Sums, Array, Array]:
    """Sum the products of the columns of ``[Y X]`` over all rows.

    Parameters
    ----------
    X : ndarray of shape (m, p)
        Any real dtype and any strides; converted a batch at a time.
    Y : ndarray or csr_array of shape (m, q), or None
        Sparse references (class indicators, label sets) are multiplied as they are; their
        products with each other are left out.
    weight : ndarray of shape (m,) or None
        Non-negative row weights.
    with_xx : bool
        Also sum the p × p products of X with itself.
    codes : ndarray of int of shape (m,) or None
        The column of Y that holds a row's one entry, where Y are the indicators of classes: the
        products are then sums over the rows of each class.
    n_jobs, batch_size, dtype, progress
        Threads, rows a batch, the dtype of the products, and a callback ``(done, total)``.

    Returns
    -------
    sums : Sums
        float64 sums about the shifts.
    x_shift, y_shift : ndarray of shape (p,), (q,)

    Notes
    -----
    ``m q (q + 2p)`` flops, ``p²`` more a row with ``with_xx``. Beyond the sums the memory is one
    batch a thread.
    """
    m, p = X.shape
    sparse_y = Y is not None and sp.issparse(Y)
    q = 0 if Y is None else Y.shape[1]
    if dtype is None:
        dtype = product_dtype(X, None if sparse_y else Y)
    by_class = codes is not None and m >= ROWS_A_CLASS * q
    # Sums over classes do little with each value: fewer and longer loops are worth more than cache.
    tile_columns = 4 * TILE_COLUMNS if by_class else TILE_COLUMNS
    wide = p > tile_columns
    n_tiles = -(-p // tile_columns)
    cuts = [p * i // n_tiles for i in range(n_tiles + 1)]
    tiles = [slice(a, b) for a, b in pairwise(cuts)]
    if batch_size is None:
        width = p // n_tiles + (0 if sparse_y else q)
        batch_size = int(np.clip(BATCH_BYTES // (width * dtype.itemsize), 128, 8192))
        if wide and not by_class:
            # The sums are large: a longer batch spreads the cost of adding to them.
            batch_size = max(batch_size, 1024)
        depth = small_depth(q, p)
        if 0 < depth <= batch_size and not wide:
            batch_size -= batch_size % depth
    head: Any = slice(0, min(m, max(batch_size, 256)))
    if weight is not None:
        head = np.flatnonzero(weight)[head]
    x_shift = choose_shift(X[head], dtype)
    y_shift = None if Y is None or sparse_y else choose_shift(Y[head], dtype)

    order: Array | None = None
    if by_class and codes is not None:
        order = np.argsort(codes, kind="stable")
        if weight is not None:
            order = order[weight[order] > 0]
    n_rows = m if order is None else len(order)
    work = m * (p * (q + 2 + (p if with_xx else 0)) + q * q)
    n_threads = 1 if work < SMALL_PASS else effective_n_threads(n_jobs)
    n_batches = -(-n_rows // batch_size)
    n_stripes = 1 if wide else min(MAX_STRIPES, -(-n_batches // 4))
    edges = [n_batches * i // n_stripes * batch_size for i in range(n_stripes)] + [n_rows]

    def add_rows(into: Sums, start: int, stop: int, columns: slice) -> Sums:
        # All of C_XX takes each tile with the columns from its first one on: half the products.
        used = slice(columns.start, p) if with_xx else columns
        shift = None if x_shift is None else x_shift[used]
        first = columns.start == 0
        if order is not None and codes is not None:
            rows = order[start:stop]
            _add_classes(into, X[:, used], codes, weight, rows, shift, dtype, batch_size, first)
        else:
            _add_rows(
                into,
                X[:, used],
                Y,
                weight,
                (start, stop),
                shift,
                y_shift,
                dtype,
                batch_size,
                with_yy=first,
            )
        return into

    if wide:
        total = Sums.zeros(p, q, with_xx)

        def tile(columns: slice) -> Sums:
            return add_rows(total.tile(columns), 0, n_rows, columns)

        for done, part in enumerate(ordered_map(tile, tiles, n_threads), start=1):
            total.n_samples, total.weight = part.n_samples, part.weight
            if progress is not None:
                progress(done, n_tiles)
        if total.xx is not None:
            for columns in tiles:
                total.xx[columns, columns.stop :] = total.xx[columns.stop :, columns].T
    else:

        def stripe(i: int) -> Sums:
            return add_rows(Sums.zeros(p, q, with_xx), edges[i], edges[i + 1], tiles[0])

        parts = ordered_map(stripe, range(n_stripes), n_threads)
        total = next(parts)
        if progress is not None:
            progress(1, n_stripes)
        for done, part in enumerate(parts, start=2):
            total += part
            if progress is not None:
                progress(done, n_stripes)
    x_full = np.zeros(p) if x_shift is None else x_shift.astype(np.float64)
    y_full = np.zeros(q) if y_shift is None else y_shift.astype(np.float64)
    return total, x_full, y_full


def _add_rows(
    sums: Sums,
    X: Array,
    Y: Array | sp.csr_array | None,
    weight: Array | None,
    rows: tuple[int, int],
    x_shift: Array | None,
    y_shift: Array | None,
    dtype: np.dtype[Any],
    batch_size: int,
    *,
    with_yy: bool,
) -> None:
    """Add a run of rows to the sums, batch by batch, in float64 whatever the products are in."""
    start, stop = rows
    sparse_y = sp.issparse(Y)
    size = min(batch_size, max(stop - start, 1))
    x_batches = _Columns(X, x_shift, dtype, size)
    y_batches = None if Y is None or sparse_y else _Columns(Y, y_shift, dtype, size)
    ones = np.ones(size, dtype=dtype)
    squares: Array | None = None
    cross = TransposedProduct(len(sums.y), len(sums.x), size, dtype)
    for begin in range(start, stop, batch_size):
        end = min(begin + batch_size, stop)
        x = x_batches(begin, end)
        y: Any = None
        if Y is not None:
            y = Y[begin:end] if y_batches is None else y_batches(begin, end)
        if weight is None:
            w = ones[: end - begin]
            sums.weight += end - begin
        else:
            w = weight[begin:end]
            counted = w > 0
            if not counted.all():
                # A row of weight 0 is gone, whatever it holds.
                w, x = w[counted], x[counted]
                y = y if y is None else y[counted]
            sums.weight += float(w.sum())
            w = w.astype(dtype)
        sums.n_samples += len(w)
        wider, x = x, x[:, : len(sums.x)]
        # Sums and squares come first: plain loops bring rows into the cache faster than products.
        if sums.xx is None:
            if squares is None or len(squares) < len(x):
                squares = np.empty_like(x)
            # Not by einsum, which lets no other thread run.
            sums.xx_diag += w @ np.multiply(x, x, out=squares[: len(x)])
        sums.x += w @ x
        if y is not None:
            if with_yy:
                sums.y += y.T @ w if sparse_y else w @ y
            left = _weighted(y, weight, w)
            sums.yx += left.T @ x if sparse_y else cross(left, x)
            if with_yy and not sparse_y:
                sums.yy += left.T @ y
        if sums.xx is not None:
            product = _weighted(wider, weight, w).T @ x
            sums.xx += product
            sums.xx_diag += np.diagonal(product)


def _add_classes(
    sums: Sums,
    X: Array,
    codes: Array,
    weight: Array | None,
    rows: Array,
    x_shift: Array | None,
    dtype: np.dtype[Any],
    batch_size: int,
    with_y: bool,
) -> None:
    """Add rows that are in the order of their classes: a product with indicators is their sum."""
    in_order = bool((np.diff(rows) == 1).all())
    buffer = np.empty((min(batch_size, len(rows)), X.shape[1]), dtype=dtype)
    squares = np.empty((len(buffer), len(sums.x)), dtype=dtype)
    for begin in range(0, len(rows), batch_size):
        batch = rows[begin : begin + batch_size]
        wider = buffer[: len(batch)]
        wider[...] = X[batch[0] : batch[-1] + 1] if in_order else X[batch]
        if x_shift is not None:
            wider -= x_shift
        x = wider[:, : len(sums.x)]
        w = np.ones(len(batch), dtype=dtype) if weight is None else weight[batch].astype(dtype)
        if sums.xx is None:
            sums.xx_diag += w @ np.multiply(x, x, out=squares[: len(x)])
        else:
            product = _weighted(wider, weight, w).T @ x
            sums.xx += product
            sums.xx_diag += np.diagonal(product)
        labels = codes[batch]
        cuts = np.flatnonzero(labels[1:] != labels[:-1]) + 1
        for a, b in pairwise([0, *cuts.tolist(), len(batch)]):
            total = w[a:b] @ x[a:b]
            sums.yx[labels[a]] += total
            sums.x += total
            if with_y:
                sums.y[labels[a]] += float(w[a:b].sum(dtype=np.float64))
        sums.n_samples += len(batch)
        sums.weight += float(w.sum(dtype=np.float64))


def small_depth(q: int, p: int) -> int:
    """Rows a q × p product may have to be small; 0 where slicing it up does not pay."""
    depth = SMALL_PRODUCT // max(q * p, 1) // 16 * 16
    return depth if depth >= 32 else 0


class TransposedProduct:
    """``yᵀx`` as a sum of products that are small for BLAS: a quarter faster at 100 × 100.

    y and x have shapes (k, q) and (k, p) and any strides; slicing the rows up copies nothing. The
    slices' products are kept in a buffer that is made once.
    """

    def __init__(self, q: int, p: int, rows: int, dtype: np.dtype[Any]) -> None:
        self.depth = small_depth(q, p)
        n = rows // self.depth if self.depth else 0
        self.slices = np.empty((n, q, p), dtype=dtype) if n > 1 else None

    def __call__(self, y: Array, x: Array) -> Array:
        n = len(y) // self.depth if self.depth else 0
        if self.slices is None or n < 2:
            return y.T @ x
        whole = n * self.depth
        product: Array = np.matmul(
            y[:whole].reshape(n, self.depth, -1).transpose(0, 2, 1),
            x[:whole].reshape(n, self.depth, -1),
            out=self.slices[:n],
        ).sum(axis=0)
        if whole < len(y):
            product += y[whole:].T @ x[whole:]
        return product


def _weighted(rows: Any, weight: Array | None, w: Array) -> Any:
    """Multiply rows by their weights, where there are weights."""
    if weight is None:
        return rows
    return rows.multiply(w[:, None]).tocsr() if sp.issparse(rows) else rows * w[:, None]
