"""Dense rows of a table whose splines are evaluated in the threads of the pass over them.

Splines are several times as large as the numbers that they are made of. Some rows at a time they
stay in a cache; all of them, written to memory and read again, cost as much as their products.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.sources.table.blocks import Block
from projse.sources.table.splines import Splines, alike

Array = NDArray[Any]

CHUNK = 1 << 12
"""Rows that are evaluated at a time: loops so long that numpy's overhead is small, whose memory
still stays in a cache."""

RUN = 8
"""Numbers whose splines are evaluated side by side, for the same reason."""


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
        self.runs = [(first, last, self._splines(first, last)) for first, last in _runs(rows)]
        sizes = [(last - first) * s.n_powers for first, last, s in self.runs if s is not None]
        self.memory = np.empty(2 * max(sizes, default=0) * min(CHUNK, rows.shape[0]))

    def _splines(self, first: int, last: int) -> Splines | None:
        plans = [block.plan for block in self.rows.blocks[first:last] if block.plan is not None]
        if not plans:
            return None
        degree, start = plans[0].degree, self.rows.starts[first]
        width = len(plans[0].knots) + degree - 2
        shift = self.shift[start : start + len(plans) * width].reshape(-1, width)
        return Splines([plan.knots for plan in plans], degree, shift)

    def __call__(self, start: int, stop: int, out: Array) -> None:
        """Write rows to ``out`` of shape (columns, rows)."""
        for first in range(start, stop, CHUNK):
            last = min(first + CHUNK, stop)
            self._write(slice(first, last), out[:, first - start : last - start])

    def _write(self, part: slice, out: Array) -> None:
        blocks, starts = self.rows.blocks, self.rows.starts
        for first, last, splines in self.runs:
            block, n_functions = blocks[first], 0
            columns, shift = out[starts[first] : starts[last]], self.shift[starts[first] :]
            values = [own.spline[part] for own in blocks[first:last] if own.spline is not None]
            if splines is not None and values:
                n_functions = splines.n_functions
                own = columns[: len(values) * n_functions].reshape(len(values), n_functions, -1)
                splines(values, own, self.memory)
                if block.gap is not None and block.gap[part].any():
                    own[0][:, block.gap[part]] = -shift[:n_functions, None]
            if last - first == 1 and len(columns) > n_functions:
                block.write(part, columns[n_functions:].T)
                columns[n_functions:] -= shift[n_functions : len(columns), None]


def _runs(rows: ColumnBlocks) -> Iterator[tuple[int, int]]:
    """Yield the first block and the one behind the last of splines that are alike.

    Others, and those of numbers with gaps, stand alone.
    """
    first, before = 0, None
    for v, block in enumerate(rows.blocks):
        plan = block.plan
        plain = plan is not None and block.spline is not None and block.gap is None
        kind = alike(plan.knots, plan.degree) if plain and plan is not None else None
        if v > first and (kind is None or kind != before or v - first == RUN):
            yield first, v
            first = v
        before = kind
    if rows.blocks:
        yield first, len(rows.blocks)
