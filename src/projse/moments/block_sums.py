"""Sums of products over rows that lie in blocks, a stack of blocks at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.moments.row_sums import BatchSum, Operands, Stacks, Sums, add_with_ones

Array = NDArray[Any]


class BlockSum(BatchSum):
    """Adds rows that lie in blocks (:class:`projse.sources.blocked_rows.BlockedRows`).

    A batch is a stack of whole blocks, (n, rows, columns), and one call multiplies all of it.
    """

    def __init__(self, rows: Operands) -> None:
        super().__init__(rows)
        dtype, size = rows.dtype, rows.most_rows
        self.block = min(rows.X.block_rows, rows.batch_size)
        self.x_stacks = Stacks(rows.X, rows.x_shift, dtype, size)
        self.y_stacks: Stacks | None = None
        if rows.Y is not None:
            # References that come along lie beside a column of ones: one product gives all.
            self.y_stacks = Stacks(rows.Y, rows.y_shift, dtype, size, with_ones=True)
        self.ones = np.ones((1, 1, size), dtype=dtype)

    def add(self, sums: Sums, start: int, stop: int, *, with_y: bool) -> None:
        """Add the rows from ``start`` to ``stop``; sums of Y alone only ``with_y``."""
        weight, p = self.weight, len(sums.x)
        for begin, end, rows in _pieces(start, stop, self.batch_size, self.block):
            counted = None
            if weight is None:
                w = self.ones[:, :, :rows]
                sums.n_samples += end - begin
                sums.weight += end - begin
            else:
                w, counted = _counted(weight[begin:end], rows)
                sums.n_samples += w.size
                sums.weight += float(w.sum())
                w = w.astype(self.dtype)
            if sums.wants_x:
                assert sums.x_extremes is not None
                raw = _kept(self.x_stacks.raw(begin, end, rows), counted)
                sums.x_extremes.take(raw[:, :, :p])
            wider = _kept(self.x_stacks(begin, end, rows), counted)
            x, y = wider[:, :, :p], None
            if self.y_stacks is not None:
                if sums.wants_y and with_y:
                    assert sums.y_extremes is not None
                    sums.y_extremes.take(_kept(self.y_stacks.raw(begin, end, rows), counted))
                y = _kept(self.y_stacks(begin, end, rows), counted)
            if sums.xx is None:
                sums.add_squares(_block_squares(x, None if weight is None else w))
            if y is None:
                sums.x += np.matmul(w, x).sum(axis=0)[0]
            else:
                left = (y if weight is None else y * w.transpose(0, 2, 1)).transpose(0, 2, 1)
                second = np.matmul(left, y).sum(axis=0) if with_y else None
                add_with_ones(sums, np.matmul(left, x).sum(axis=0), second)
            if sums.xx is not None:
                left = wider if weight is None else wider * w.transpose(0, 2, 1)
                product = np.matmul(left.transpose(0, 2, 1), x).sum(axis=0)
                sums.xx += product
                sums.add_squares(np.diagonal(product))


def _pieces(start: int, stop: int, batch_size: int, block: int) -> Iterator[tuple[int, int, int]]:
    """Cut rows into batches of whole blocks, and what is left into a block of its own."""
    for begin in range(start, stop, batch_size):
        end = min(begin + batch_size, stop)
        whole = begin + (end - begin) // block * block
        if begin < whole:
            yield begin, whole, block
        if whole < end:
            yield whole, end, end - whole


def _counted(weight: Array, rows: int) -> tuple[Array, Array | None]:
    """Return weights above 0 as (n, 1, rows), and which rows have them; None for all of them."""
    counted = weight > 0
    if counted.all():
        return weight.reshape(-1, 1, rows), None
    return weight[counted][None, None], counted


def _kept(stack: Array, counted: Array | None) -> Array:
    """Leave out rows of weight 0, whatever they hold: the others are a stack of one."""
    return stack if counted is None else stack.reshape(-1, stack.shape[2])[counted][None]


def _block_squares(x: Array, w: Array | None) -> Array:
    """Return the sums of squares of the columns: as products of each column with itself."""
    columns = x.transpose(0, 2, 1)
    weighted = columns if w is None else columns * w
    return np.matmul(weighted[:, :, None], columns[..., None])[..., 0, 0].sum(axis=0)
