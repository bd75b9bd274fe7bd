"""Sums of products of rows with the indicators of their classes: sums over the rows of a class."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.moments.row_sums import BatchSum, Operands, Sums

Array = NDArray[Any]


class ClassSum(BatchSum):
    """Adds rows in the ``order`` of their classes: a product with indicators is their sum."""

    def __init__(self, rows: Operands, codes: Array, order: Array) -> None:
        super().__init__(rows)
        self.X, self.codes, self.order, self.shift = rows.X, codes, order, rows.x_shift
        shape = min(rows.batch_size, len(order)), rows.X.shape[1]
        self.buffer = np.empty(shape, dtype=rows.dtype)
        self.work = np.empty(self.buffer.size, dtype=rows.dtype)

    def add(self, sums: Sums, start: int, stop: int, *, with_y: bool) -> None:
        """Add the rows from ``start`` to ``stop`` of the order; sums of Y alone only ``with_y``."""
        rows = self.order[start:stop]
        in_order = bool((np.diff(rows) == 1).all())
        for begin in range(0, len(rows), self.batch_size):
            batch = rows[begin : begin + self.batch_size]
            wider = self.buffer[: len(batch)]
            wider[...] = self.X[batch[0] : batch[-1] + 1] if in_order else self.X[batch]
            sums.stretch(wider[:, : len(sums.x)])
            if self.shift is not None:
                wider -= self.shift
            x = wider[:, : len(sums.x)]
            if self.weight is None:
                w = np.ones(len(batch), dtype=self.dtype)
            else:
                w = self.weight[batch].astype(self.dtype)
            if sums.xx is None:
                squares = self.work[: x.size].reshape(x.shape)
                sums.xx_diag += w @ np.multiply(x, x, out=squares)
            else:
                left = wider if self.weight is None else wider * w[:, None]
                product = left.T @ x
                sums.xx += product
                sums.xx_diag += np.diagonal(product)
            labels = self.codes[batch]
            cuts = np.flatnonzero(labels[1:] != labels[:-1]) + 1
            for a, b in pairwise([0, *cuts.tolist(), len(batch)]):
                total = w[a:b] @ x[a:b]
                sums.yx[labels[a]] += total
                sums.x += total
                if with_y:
                    sums.y[labels[a]] += float(w[a:b].sum(dtype=np.float64))
            sums.n_samples += len(batch)
            sums.weight += float(w.sum(dtype=np.float64))
