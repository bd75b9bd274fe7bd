"""Sums of all products of rows, of references and candidates alike: one symmetric product."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.moments.row_sums import BatchSum, Operands, Sums, kept

Array = NDArray[Any]


class PackedSum(BatchSum):
    """Adds rows of arrays.

    A batch is copied as ``[1 Y X]`` into memory that is used again, in the order in which X lies;
    one symmetric product of it gives all sums. It takes as many multiplications as those of
    ``Y'Y``, ``Y'X`` and ``X'X``, in one long call. Weights enter by their roots, so that it stays
    symmetric.
    """

    def __init__(self, rows: Operands) -> None:
        super().__init__(rows)
        self.X, self.Y = rows.X, rows.Y
        self.q = 0 if rows.Y is None else rows.Y.shape[1]
        width = 1 + self.q + rows.X.shape[1]
        self.memory = np.empty(width * rows.most_rows, dtype=rows.dtype)
        self.product = np.empty((width, width), dtype=rows.dtype)
        self.y_shift, self.x_shift = rows.y_shift, rows.x_shift

    def add(self, sums: Sums, start: int, stop: int, *, with_y: bool) -> None:
        """Add the rows from ``start`` to ``stop``."""
        first = 1 + self.q
        for begin in range(start, stop, self.batch_size):
            end = min(begin + self.batch_size, stop)
            packed = self._packed(begin, end)
            counted = None
            if self.weight is None:
                sums.weight += end - begin
            else:
                w = self.weight[begin:end]
                if not w.all():
                    # A row of weight 0 is gone, whatever it holds.
                    counted = w > 0
                    packed, w = packed[:, counted], w[counted]
                sums.weight += float(w.sum())
            sums.n_samples += packed.shape[1]
            if packed.shape[1] and not sums.by_squares:
                self._stretch(sums, packed, begin, end, counted)
            if self.weight is not None:
                packed *= np.sqrt(w)
            left = packed if sums.xx is not None else packed[:first]
            product = np.matmul(left, packed.T, out=self.product[: len(left)])
            squares = np.diagonal(product)
            sums.x += product[0, first:]
            if self.q:
                sums.y += product[0, 1:first]
                sums.yy += product[1:first, 1:first]
                sums.yx += product[1:first, first:]
            if sums.xx is None:
                x_squares = np.square(packed[first:]).sum(axis=1)
            else:
                sums.xx += product[first:, first:]
                x_squares = squares[first:]
            sums.add_squares(x_squares, squares[1:first])

    def _packed(self, begin: int, end: int) -> Array:
        """Return a batch about the shifts, of shape (1 + n_y + n_x, rows)."""
        n, first = end - begin, 1 + self.q
        packed = self._room(n, by_column=self.X.strides[0] < self.X.strides[1])
        packed[0] = 1
        if self.q:
            _copy(self.Y[begin:end], self.y_shift, packed[1:first])
        _copy(self.X[begin:end], self.x_shift, packed[first:])
        return packed

    def _room(self, n: int, *, by_column: bool) -> Array:
        """Return memory for n rows, of shape (1 + n_y + n_x, n)."""
        width = len(self.product)
        memory = self.memory[: width * n]
        return memory.reshape(width, n) if by_column else memory.reshape(n, width).T

    def _stretch(
        self, sums: Sums, packed: Array, begin: int, end: int, counted: Array | None
    ) -> None:
        """Take the extremes of the rows as they lie, without rounding."""
        sums.stretch(
            kept(self.X[begin:end], counted) if sums.wants_x else None,
            kept(self.Y[begin:end], counted) if self.q and sums.wants_y else None,
        )


def _copy(rows: Array, shift: Array | None, out: Array) -> None:
    """Write rows about a shift to ``out``, of shape (columns, rows)."""
    if shift is None:
        out[...] = rows.T
    else:
        np.subtract(rows, shift, out=out.T, casting="unsafe")


class WrittenSum(PackedSum):
    """Adds rows of :class:`~projse.sources.table.column_blocks.ColumnBlocks`, made as needed."""

    def __init__(self, rows: Operands) -> None:
        super().__init__(rows)
        self.write = rows.X.writer(rows.x_shift)
        width = len(self.product)
        self.shift = np.zeros(width)
        if rows.y_shift is not None:
            self.shift[1 : 1 + self.q] = rows.y_shift
        if rows.x_shift is not None:
            self.shift[1 + self.q :] = rows.x_shift
        # Splines lie between 0 and 1, and are as good as known to reach both: so many rows share
        # their squares that none of them stands out.
        self.ends = np.tile([[0.0], [1.0]], width)
        self.open = np.flatnonzero(np.concatenate([np.ones(1 + self.q, bool), ~rows.X.bounded]))

    def _packed(self, begin: int, end: int) -> Array:
        first = 1 + self.q
        packed = self._room(end - begin, by_column=True)
        packed[0] = 1.0
        if self.q:
            _copy(self.Y[begin:end], self.y_shift, packed[1:first])
        self.write(begin, end, packed[first:])
        return packed

    def _stretch(
        self, sums: Sums, packed: Array, begin: int, end: int, counted: Array | None
    ) -> None:
        """Take the extremes of rows that are not known to have bounds."""
        first, last = 1 + self.q, int(self.open[-1]) + 1
        some = packed[:last] if last == len(self.open) else packed[self.open]
        shift = self.shift[self.open]
        self.ends[0, self.open] = some.min(axis=1) + shift
        self.ends[1, self.open] = some.max(axis=1) + shift
        sums.stretch(self.ends[:, first:], self.ends[:, 1:first] if self.q else None)
