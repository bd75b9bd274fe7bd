"""Sums of products over rows that are made as they are needed, packed with their references."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.moments.row_sums import BatchSum, Operands, Sums

Array = NDArray[Any]


class PackedSum(BatchSum):
    """Adds rows of :class:`~projse.sources.table.column_blocks.ColumnBlocks`.

    A batch is written as ``[1 Y X]``, by column, into memory that is used again; one symmetric
    product of it gives all sums. Weights enter by their roots, so that it stays symmetric.
    """

    def __init__(self, rows: Operands) -> None:
        super().__init__(rows)
        self.Y, self.write = rows.Y, rows.X.writer(rows.x_shift)
        self.q = 0 if rows.Y is None else rows.Y.shape[1]
        self.y_shift = rows.y_shift
        width = 1 + self.q + rows.X.shape[1]
        self.shift = np.zeros(width)
        if rows.y_shift is not None:
            self.shift[1 : 1 + self.q] = rows.y_shift
        if rows.x_shift is not None:
            self.shift[1 + self.q :] = rows.x_shift
        # Splines lie between 0 and 1, and are as good as known to reach both: so many rows share
        # their squares that none of them stands out.
        self.ends = np.tile([[0.0], [1.0]], width)
        self.open = np.flatnonzero(np.concatenate([np.ones(1 + self.q, bool), ~rows.X.bounded]))
        self.memory = np.empty(width * rows.most_rows)
        self.product = np.empty((width, width))

    def add(self, sums: Sums, start: int, stop: int, *, with_y: bool) -> None:
        """Add the rows from ``start`` to ``stop``."""
        first = 1 + self.q
        for begin in range(start, stop, self.batch_size):
            end = min(begin + self.batch_size, stop)
            packed = self._packed(begin, end)
            if self.weight is None:
                sums.weight += end - begin
            else:
                w = self.weight[begin:end]
                if not w.all():
                    # A row of weight 0 is gone, whatever it holds.
                    packed, w = packed[:, w > 0], w[w > 0]
                sums.weight += float(w.sum())
            sums.n_samples += packed.shape[1]
            if packed.shape[1]:
                self._take_ends(packed)
                sums.stretch(self.ends[:, first:], self.ends[:, 1:first] if self.q else None)
            if self.weight is not None:
                packed *= np.sqrt(w)
            left = packed if sums.xx is not None else packed[:first]
            product = np.matmul(left, packed.T, out=self.product[: len(left)])
            sums.x += product[0, first:]
            if self.q:
                sums.y += product[0, 1:first]
                sums.yy += product[1:first, 1:first]
                sums.yx += product[1:first, first:]
            if sums.xx is None:
                sums.xx_diag += np.square(packed[first:]).sum(axis=1)
            else:
                sums.xx += product[first:, first:]
                sums.xx_diag += np.diagonal(product)[first:]

    def _packed(self, begin: int, end: int) -> Array:
        """Write a batch about the shifts, of shape (1 + n_y + n_x, rows)."""
        n, first = end - begin, 1 + self.q
        packed = self.memory[: len(self.product) * n].reshape(-1, n)
        packed[0] = 1.0
        if self.q:
            packed[1:first] = self.Y[begin:end].T
            if self.y_shift is not None:
                packed[1:first] -= self.y_shift[:, None]
        self.write(begin, end, packed[first:])
        return packed

    def _take_ends(self, packed: Array) -> None:
        """Take the smallest and the largest value of each row that is not known to have bounds."""
        last = int(self.open[-1]) + 1
        some = packed[:last] if last == len(self.open) else packed[self.open]
        shift = self.shift[self.open]
        self.ends[0, self.open] = some.min(axis=1) + shift
        self.ends[1, self.open] = some.max(axis=1) + shift
