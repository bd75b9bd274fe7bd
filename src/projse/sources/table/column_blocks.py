"""Dense rows of a table whose splines are evaluated in the threads of the pass over them.

Splines are several times as large as the numbers that they are made of. Some rows at a time they
stay in a cache; all of them, written to memory and read again, cost as much as their products.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.sources.table.blocks import Block
from projse.sources.table.plan import ColumnPlan
from projse.sources.table.splines import Spline

Array = NDArray[Any]

CHUNK = 1 << 12
"""Rows that are evaluated at a time: loops so long that numpy's overhead is small, whose memory
still stays in a cache."""


class ColumnBlocks:
    """Blocks side by side, as rows that are made when they are asked for.

    Parameters
    ----------
    blocks : sequence of Block
    n : int
        Number of rows.
    """

    dtype = np.dtype(np.float64)
    batch_rows = CHUNK

    def __init__(self, blocks: Sequence[Block], n: int) -> None:
        self.blocks = list(blocks)
        self.starts = np.cumsum([0, *(len(block.what) for block in blocks)])
        self.shape = (n, int(self.starts[-1]))

    @property
    def nbytes(self) -> int:
        """Bytes of what the rows are made of."""
        parts = [part for b in self.blocks for part in (b.values, b.spline, b.codes, b.gap)]
        return sum(part.nbytes for part in parts if part is not None)

    @property
    def bounded(self) -> NDArray[np.bool_]:
        """Mark the columns of splines, which lie between 0 and 1."""
        return np.array([kind == "spline" for block in self.blocks for kind, _ in block.what])

    def __getitem__(self, rows: Any) -> Array:
        """Return rows, by a slice, a mask or their numbers, as an array that lies by column."""
        if not isinstance(rows, slice):
            chosen = np.flatnonzero(rows) if np.asarray(rows).dtype == bool else np.asarray(rows)
            blocks = [block.take(chosen) for block in self.blocks]
            return ColumnBlocks(blocks, len(chosen))[:]
        start, stop, step = rows.indices(self.shape[0])
        if step != 1:
            return self[np.arange(start, stop, step)]
        out = np.empty((self.shape[1], max(stop - start, 0)))
        self.writer()(start, stop, out)
        return out.T

    def writer(self, shift: Array | None = None) -> Writer:
        """Return what makes rows about a shift of shape (columns,), for one thread."""
        return Writer(self, np.zeros(self.shape[1]) if shift is None else shift)


class Writer:
    """Makes rows of blocks, in memory that is used again from call to call."""

    def __init__(self, rows: ColumnBlocks, shift: Array) -> None:
        self.rows, self.shift = rows, shift
        self.splines = [
            None if block.plan is None else self._spline(block.plan, start)
            for block, start in zip(rows.blocks, rows.starts[:-1], strict=True)
        ]
        most = max((spline.n_powers for spline in self.splines if spline is not None), default=0)
        self.memory = np.empty(2 * most * min(CHUNK, rows.shape[0]))

    def _spline(self, plan: ColumnPlan, start: int) -> Spline:
        width = len(plan.knots) + plan.degree - 2
        return Spline(plan.knots, plan.degree, self.shift[start : start + width])

    def __call__(self, start: int, stop: int, out: Array) -> None:
        """Write rows to ``out`` of shape (columns, rows)."""
        for first in range(start, stop, CHUNK):
            last = min(first + CHUNK, stop)
            self._write(slice(first, last), out[:, first - start : last - start])

    def _write(self, part: slice, out: Array) -> None:
        starts = self.rows.starts
        for v, (block, spline) in enumerate(zip(self.rows.blocks, self.splines, strict=True)):
            columns, shift = out[starts[v] : starts[v + 1]], self.shift[starts[v] : starts[v + 1]]
            gap = block.gap
            if spline is not None and block.spline is not None:
                own = columns[: spline.n_functions]
                spline(block.spline[part], own, self.memory)
                if gap is not None and gap[part].any():
                    own[:, gap[part]] = -shift[: spline.n_functions, None]
                columns, shift = columns[spline.n_functions :], shift[spline.n_functions :]
            if len(columns):
                block.write(part, columns.T)
                columns -= shift[:, None]
