"""Rows of ``K_XX`` for the picks, made for many likely picks at a time.

Conditioning needs a row a pick. Where a row costs a pass over the data, it is made together with
those of the candidates that score best: one pass for dozens of picks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Shortlist:
    """Rows of ``K_XX``, kept for a shortlist of candidates.

    Parameters
    ----------
    x_rows : callable
        Rows for given indices, shape (k, n).
    size : int
        Length of the shortlist; 1 where a row by itself costs little.
    """

    def __init__(self, x_rows: Callable[[Array], Array], size: int) -> None:
        self._x_rows = x_rows
        self._size = size
        self._rows: dict[int, Array] = {}
        self.n_fills = 0

    def row(self, j: int, scores: Array) -> Array:
        """Return the row of candidate j; ``scores`` tell which others may be wanted next."""
        if j not in self._rows:
            best = np.argpartition(-scores, min(self._size, len(scores)) - 1)[: self._size]
            others = best[best != j][: self._size - 1]
            indices = np.concatenate([[j], np.sort(others)]).astype(np.intp)
            self._rows = dict(zip(indices.tolist(), self._x_rows(indices), strict=True))
            self.n_fills += 1
        return self._rows.pop(j)
