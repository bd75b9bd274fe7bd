"""Kernel matrices with the rows of ``K_XX`` that a selection has kept, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.kernels.feature_gram import FeatureGram
from projse.kernels.linear_gram import LinearGram

Array = NDArray[Any]


class KeptRows(FeatureGram):
    """Another's kernel matrices, with rows of ``K_XX`` that were made before.

    Parameters
    ----------
    inner : FeatureGram
    indices : ndarray of int of shape (k,)
        Candidates whose rows are kept.
    rows : ndarray of shape (k, n_x)
    """

    def __init__(self, inner: FeatureGram, indices: Array, rows: Array) -> None:
        self.inner = inner
        self.yy, self.alive = inner.yy, inner.alive
        self.n_conditioned = inner.n_conditioned
        self.noise, self.eps = inner.noise, inner.eps
        self._place = {int(j): i for i, j in enumerate(indices)}
        self._rows = rows

    @property
    def linear(self) -> LinearGram | None:
        return self.inner.linear

    @property
    def x_amplification(self) -> Array:
        return self.inner.x_amplification

    @property
    def y_amplification(self) -> Array:
        return self.inner.y_amplification

    @property
    def y_off(self) -> Array | None:
        return self.inner.y_off

    def block(self, columns: Any) -> Array:
        return self.inner.block(columns)

    def left(self, w: Array) -> Array:
        return self.inner.left(w)

    def x_rows(self, indices: Array, columns: Array | None = None) -> Array:
        rows = self._rows[[self._place[int(j)] for j in indices]]
        return rows if columns is None else np.array(rows[:, columns])
