"""Rows that lie in memory a block at a time, the columns of each block side by side.

Columns that arrive one by one (from Arrow) are copied along memory, and a batch of the engine is
one contiguous block: neither a transposition nor a stride of megabytes, which caches and
prefetching do not take to.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.sources.batch_size import batch_rows

Array = NDArray[Any]


SMALL_PRODUCT = 1_000_000
"""Multiplications up to which the AVX-512 kernels of OpenBLAS multiply as it lies what others copy
into buffers first: half the time where references are few. Other kernels do not mind."""

LEAST_ROWS = 128
"""Of a block: each is a product of its own, and must be worth the call."""


def block_rows(n_x: int, n_y: int, itemsize: int) -> int:
    """Rows of a block: those of a small product with the references, else those of a batch."""
    rows = batch_rows(n_x + n_y, itemsize)
    small = SMALL_PRODUCT // max((n_y + 1) * n_x, 1) // 16 * 16
    return min(small, rows) if small >= LEAST_ROWS else rows


class BlockedRows:
    """A matrix of rows in blocks, with as much of an array's face as the engine looks at.

    Parameters
    ----------
    blocks : ndarray of shape (n_blocks, n_columns, block_rows)
        The last block may have room to spare.
    n_rows : int
        Rows in use.

    Notes
    -----
    Rows within one block are handed out as a view, others as a copy. ``strides`` says what holds
    within a block: that columns run along memory.
    """

    ndim = 2

    def __init__(self, blocks: Array, n_rows: int) -> None:
        self.blocks = blocks
        self.block_rows = blocks.shape[2]
        self.shape = (n_rows, blocks.shape[1])
        self.dtype = blocks.dtype
        self.itemsize = blocks.itemsize
        self.strides = (self.itemsize, self.itemsize * max(n_rows, 1))
        self.flags = blocks.flags

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            rows, columns = key
            if isinstance(rows, slice) and rows == slice(None):
                if isinstance(columns, slice):
                    if columns.indices(self.shape[1]) == (0, self.shape[1], 1):
                        return self
                    return BlockedRows(self.blocks[:, columns], self.shape[0])
                if np.ndim(columns):
                    # By take: an index would leave the columns in an order of its own.
                    return BlockedRows(np.take(self.blocks, columns, axis=1), self.shape[0])
            return self[rows][..., columns]
        if not isinstance(key, slice):
            block, row = np.divmod(key, self.block_rows)
            return self.blocks[block, :, row]
        start, stop, step = key.indices(self.shape[0])
        first, last = start // self.block_rows, (max(stop, start + 1) - 1) // self.block_rows
        if first == last:
            offset = first * self.block_rows
            return self.blocks[first, :, start - offset : stop - offset : step].T
        whole = self.blocks[first : last + 1].transpose(0, 2, 1)
        offset = first * self.block_rows
        return whole.reshape(-1, self.shape[1])[start - offset : stop - offset : step]

    def astype(self, dtype: Any) -> BlockedRows:
        """Return a copy of another dtype."""
        with np.errstate(invalid="ignore"):  # room to spare holds anything
            return BlockedRows(self.blocks.astype(dtype), self.shape[0])

    def stack(self, start: int, stop: int, depth: int) -> Array:
        """Return rows as (slices, depth, columns); a view where slices are blocks or within one."""
        block, offset = divmod(start, self.block_rows)
        if depth == self.block_rows and not offset:
            return self.blocks[block : block + (stop - start) // depth].transpose(0, 2, 1)
        return self[start:stop].reshape((stop - start) // depth, depth, self.shape[1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self[:], dtype=dtype)


def fill(blocks: Array, column: int, start: int, values: Array) -> None:
    """Write values into a column, from a row on."""
    size = blocks.shape[2]
    first, offset = divmod(start, size)
    if offset:
        head = min(size - offset, len(values))
        blocks[first, column, offset : offset + head] = values[:head]
        values, first = values[head:], first + 1
    n_whole = len(values) // size
    if n_whole:
        blocks[first : first + n_whole, column] = values[: n_whole * size].reshape(n_whole, size)
        values = values[n_whole * size :]
    if len(values):
        blocks[first + n_whole, column, : len(values)] = values
