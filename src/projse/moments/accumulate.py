"""One pass over dense rows: sums of products about a shift, in cache-sized batches.

This is where the time goes when there are many rows. Every batch is read from memory once and
used, while it is in cache, for the cross-products, the sums and the squared norms. Batches are
grouped into stripes whose limits depend on the shape alone, and stripes are added in order, so
the result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.moments.block_sums import BlockSum
from projse.moments.class_sums import ClassSum
from projse.moments.folding import reduce_rows
from projse.moments.packed_sums import PackedSum, WrittenSum
from projse.moments.row_sums import BatchSum, Operands, RowSum, Sums
from projse.sources.batch_size import batch_rows
from projse.threads import LEAST_FOR_BLAS, effective_n_threads, ordered_map

Array = NDArray[Any]
Progress = Callable[[int, int], None]

BLOCKS_BYTES = 3 << 20
"""What a batch of rows that lie in blocks holds: one call takes all its blocks."""

TILE_COLUMNS = 1024
"""A wider X is handled in tiles of about this many columns, each by one thread."""

ROWS_A_CLASS = 8
"""With fewer rows a class than this, on average, indicators are multiplied as a sparse matrix."""

SMALL_PASS = 5_000_000
"""Below this many multiplications, starting threads takes longer than the pass."""

PRODUCTS_ROWS = 2048
"""So many rows make a batch where many candidates are multiplied with each other, and four rows a
column where they are few: adding to the sums of their products then takes little."""

MAX_STRIPES = 64

HEAD_ROWS = 256
"""So many first rows decide about a shift."""


def product_dtype(*arrays: Array | None) -> np.dtype[Any]:
    """Return float32 when every dense array is float32 (or narrower float), else float64."""
    dtypes = [a.dtype for a in arrays if a is not None]
    single = all(d == np.float32 for d in dtypes)
    return np.dtype(np.float32 if single else np.float64)


def choose_shift(head: Array, dtype: np.dtype[Any], weighted: bool = False) -> Array | None:
    """Return a shift for the columns, or None where no column needs one.

    Sums about zero are as accurate as sums about the mean while the mean is no larger than a few
    standard deviations. The first rows decide; a shift anywhere inside the data's range is a good
    one, so a drift after them does no harm.

    A column that is constant so far is shifted by its own value: while it stays constant, all its
    sums are exactly 0, and a column whose sums are not is none.
    """
    if not len(head) or (head.dtype.itemsize == 1 and not weighted):
        return None  # sums of bytes and of their squares are exact
    n = head.shape[1]
    tiles = [slice(start, start + TILE_COLUMNS) for start in range(0, n, TILE_COLUMNS)]
    if all(_is_near_zero(head[:, columns]) for columns in tiles):
        return None
    shift = np.empty(n)
    for columns in tiles:
        tile = np.asarray(head[:, columns], dtype=np.float64)
        # About the first row, so that the mean of a constant column is its value.
        shift[columns] = tile[0] + reduce_rows(np.add, tile - tile[0]) / len(tile)
    return shift.astype(dtype)


def _is_near_zero(tile: Array) -> bool:
    """Tell whether all means are within two standard deviations, or exactly 0.

    A variance that is lost in rounding is far below the square of the mean.
    """
    tile = np.asarray(tile, dtype=np.float64)
    sums = np.einsum("ij->j", tile)
    near = sums * sums < np.einsum("ij,ij->j", tile, tile) * (0.8 * len(tile))
    return bool(near.all() or (near | (sums == 0)).all())


def accumulate_dense(
    X: Any,
    Y: Array | sp.csr_array | None,
    weight: Array | None,
    *,
    with_xx: bool = False,
    with_squares: bool = True,
    y_extremes: bool = True,
    by_squares: bool = False,
    n_jobs: int | None = None,
    batch_size: int | None = None,
    dtype: np.dtype[Any] | None = None,
    codes: Array | None = None,
    progress: Progress | None = None,
) -> tuple[Sums, Array, Array]:
    """Sum the products of the columns of ``[Y X]`` over all rows.

    Parameters
    ----------
    X : ndarray, BlockedRows or ColumnBlocks of shape (m, p)
        Any real dtype and any strides; converted, or made, a batch at a time.
    Y : ndarray or csr_array of shape (m, q), or None
        Sparse references (class indicators, label sets) are multiplied as they are; their
        products with each other are left out.
    weight : ndarray of shape (m,) or None
        Non-negative row weights.
    with_xx : bool
        Also sum the p × p products of X with itself.
    with_squares : bool
        Sum the squares of X; without, ``xx_diag`` may be anything.
    y_extremes : bool
        Also take the smallest and the largest values of dense references.
    by_squares : bool
        Take bounds of the values of both views instead, for dense rows without weights.
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
    made_here = hasattr(X, "writer")
    q = 0 if Y is None else Y.shape[1]
    if dtype is None:
        dtype = product_dtype(X, None if sparse_y else Y)
    blocks = getattr(X, "block_rows", 0)
    block = 0 if sparse_y else blocks
    by_class = codes is not None and m >= ROWS_A_CLASS * q
    # Sums over classes do little with each value: fewer and longer loops are worth more than cache.
    tile_columns = 4 * TILE_COLUMNS if by_class else TILE_COLUMNS
    wide = p > tile_columns
    n_tiles = -(-p // tile_columns)
    cuts = [p * i // n_tiles for i in range(n_tiles + 1)]
    tiles = [slice(a, b) for a, b in pairwise(cuts)]
    if batch_size is None:
        width = p // n_tiles + (0 if sparse_y else q)
        batch_size = batch_rows(width, dtype.itemsize)
        if block:
            # The product of each block is kept until the end of the batch.
            width += p * q // block
            batch_size = max(BLOCKS_BYTES // (width * dtype.itemsize), block)
        # The sums are large: a longer batch spreads the cost of adding to them.
        if wide and not by_class:
            batch_size = max(batch_size, 1024)
        elif with_xx and not block:
            batch_size = max(batch_size, min(4 * width, PRODUCTS_ROWS))
        if made_here:
            batch_size = X.batch_rows
        if 0 < block <= batch_size:
            batch_size -= batch_size % block
        if sparse_y and blocks:
            batch_size = blocks  # a block is handed out as it lies; more of them would be copied
    head: Any = slice(0, min(m, HEAD_ROWS))
    if weight is not None:
        # Rows that count for next to nothing may lie anywhere, far from those that count.
        head = np.flatnonzero(weight > weight.sum() / (4 * m + 1))[head]
    weighted = weight is not None
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        x_shift = choose_shift(X[head], dtype, weighted)
        y_shift = None if Y is None or sparse_y else choose_shift(Y[head], dtype, weighted)

    order: Array | None = None
    if by_class and codes is not None:
        order = np.argsort(codes, kind="stable")
        if weight is not None:
            order = order[weight[order] > 0]
    n_rows = m if order is None else len(order)
    work = m * (p * (q + 2 + (p if with_xx else 0)) + q * q)
    n_threads = 1 if work < SMALL_PASS else effective_n_threads(n_jobs)
    run = _one_by_one if work < LEAST_FOR_BLAS else ordered_map
    n_batches = -(-n_rows // batch_size)
    n_stripes = 1 if wide else min(MAX_STRIPES, -(-n_batches // (2 if block else 4)))
    edges = [n_batches * i // n_stripes * batch_size for i in range(n_stripes)] + [n_rows]

    def row_sum(columns: slice) -> BatchSum:
        # All of C_XX takes each tile with the columns from its first one on: half the products.
        used = slice(columns.start, p) if with_xx else columns
        shift = None if x_shift is None else x_shift[used]
        if made_here:
            return WrittenSum(Operands(X, Y, weight, shift, y_shift, dtype, batch_size))
        rows = Operands(X[:, used], Y, weight, shift, y_shift, dtype, batch_size, with_squares)
        if order is not None and codes is not None:
            return ClassSum(rows, codes, order)
        if block:
            return BlockSum(rows)
        packed = with_xx and q and not wide and not sparse_y and not blocks
        return PackedSum(rows) if packed else RowSum(rows)

    if wide:
        total = Sums.zeros(p, q, with_xx, y_extremes, by_squares)

        def tile(columns: slice) -> Sums:
            part = total.tile(columns)
            row_sum(columns).add(part, 0, n_rows, with_y=columns.start == 0)
            return part

        with closing(run(tile, tiles, n_threads)) as parts:
            for done, part in enumerate(parts, start=1):
                total.n_samples, total.weight = part.n_samples, part.weight
                if progress is not None:
                    progress(done, n_tiles)
        if total.xx is not None:
            for columns in tiles:
                total.xx[columns, columns.stop :] = total.xx[columns.stop :, columns].T
    else:
        idle: list[BatchSum] = []

        def stripe(i: int) -> Sums:
            # One for each thread: new memory costs as much as the rows that fit in it.
            rows = idle.pop() if idle else row_sum(tiles[0])
            part = Sums.zeros(p, q, with_xx, y_extremes, by_squares)
            rows.add(part, edges[i], edges[i + 1], with_y=True)
            idle.append(rows)
            return part

        with closing(run(stripe, range(n_stripes), n_threads)) as parts:
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


def _one_by_one(
    function: Callable[[Any], Sums], tasks: Sequence[Any], n_threads: int
) -> Generator[Sums, None, None]:
    """Do as :func:`ordered_map` does, without threads and without a word to BLAS."""
    yield from map(function, tasks)
