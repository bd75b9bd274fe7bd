"""Dense rows of a table whose splines are evaluated in the threads of the pass over them.

Splines are several times as large as the numbers that they are made of. Some rows at a time they
stay in a cache; all of them, written to memory and read again, cost as much as their products.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.sources.table.blocks import Block
from projse.sources.table.splines import Splines

Array = NDArray[Any]

TOGETHER = 25
"""Numbers whose splines are evaluated in one call."""

CHUNK = 1 << 11
"""Rows that are evaluated at a time."""


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
        write = self.writer()
        for first in range(start, stop, CHUNK):
            last = min(first + CHUNK, stop)
            write(first, last, out[:, first - start : last - start])
        return out.T

    def writer(self, shift: Array | None = None) -> Writer:
        """Return what makes rows about a shift of shape (columns,), for one thread."""
        return Writer(self, np.zeros(self.shape[1]) if shift is None else shift)


class Writer:
    """Makes rows of blocks, in memory that is used again from call to call."""

    def __init__(self, rows: ColumnBlocks, shift: Array) -> None:
        self.rows, self.shift = rows, shift
        self.runs: list[tuple[list[int], Splines]] = []
        splines = [v for v, block in enumerate(rows.blocks) if block.plan is not None]
        # Neighbours of one kind are evaluated together; a gap has a column of its own in between.
        for _, run in groupby(enumerate(splines), lambda iv: _kind(rows.blocks[iv[1]], *iv)):
            members = [v for _, v in run]
            for first in range(0, len(members), TOGETHER):
                some = members[first : first + TOGETHER]
                plans = [rows.blocks[v].plan for v in some]
                knots = [plan.knots for plan in plans if plan is not None]
                assert plans[0] is not None
                degree = plans[0].degree
                width = len(knots[0]) + degree - 2
                start = rows.starts[some[0]]
                own = shift[start : start + width * len(some)]
                self.runs.append((some, Splines(knots, degree, own)))

    def __call__(self, start: int, stop: int, out: Array) -> None:
        """Write rows to ``out`` of shape (columns, rows)."""
        part = slice(start, stop)
        blocks, starts = self.rows.blocks, self.rows.starts
        for members, splines in self.runs:
            values = [blocks[v].spline[part] for v in members]  # type: ignore[index]
            first = starts[members[0]]
            width = len(members) * splines.n_functions
            columns = out[first : first + width]
            splines(values, _stacked(columns, splines.n_functions))
            for v in members:
                gap = blocks[v].gap
                if gap is not None and gap[part].any():
                    own_columns = slice(starts[v], starts[v + 1] - 1)
                    out[own_columns, gap[part]] = -self.shift[own_columns, None]
        for v, block in enumerate(blocks):
            begin = starts[v + 1] - 1 if block.plan is not None else starts[v]
            if block.plan is None or block.gap is not None:
                columns = out[begin : starts[v + 1]]
                block.write(part, columns.T)
                columns -= self.shift[begin : starts[v + 1], None]


def _kind(block: Block, i: int, v: int) -> tuple[Any, ...]:
    """Return what neighbours have in common: the i-th spline is the v-th block."""
    assert block.plan is not None
    return len(block.plan.knots), block.plan.degree, v - i, None if block.gap is None else v


def _stacked(columns: Array, width: int) -> Array:
    """View (k * width, n) as (k, width, n)."""
    shape = (len(columns) // width, width, columns.shape[1])
    strides = (width * columns.strides[0], *columns.strides)
    return np.lib.stride_tricks.as_strided(columns, shape, strides)
