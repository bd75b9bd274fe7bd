"""Kernel matrices centred over the variables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.kernels.feature_gram import ENTRY_ROUNDING, FeatureGram, tiles
from projse.kernels.linear_gram import LinearGram

Array = NDArray[Any]


class CentredGram(FeatureGram):
    """Kernel matrices centred over the variables in feature space, and normalised again.

    Each set is centred by its own mean: ``φ(y) − mean φ(Y)`` and ``φ(x) − mean φ(X)``. The
    candidates' part needs a pass over all of ``K_XX``.
    """

    def __init__(self, inner: FeatureGram) -> None:
        self.inner = inner
        self.eps = inner.eps
        self.n_conditioned = inner.n_conditioned
        # A mean does not tell a small entry from a zero one: entries are known to eps, no better.
        self.noise = max(inner.noise, ENTRY_ROUNDING * inner.eps)
        n_alive = max(int(inner.alive.sum()), 1)
        n_y = max(inner.n_y, 1)
        y_mean = inner.yy.sum(axis=1) / n_y
        self._yx_row = np.zeros(inner.n_y)
        self._yx_column = np.empty(inner.n_x)
        self._x_mean = np.empty(inner.n_x)
        for tile in tiles(inner.n_x):
            block = inner.block(tile)
            self._yx_row += block[:, inner.alive[tile]].sum(axis=1) / n_alive
            self._yx_column[tile] = block.sum(axis=0) / n_y
        for tile in tiles(inner.n_x, 512):
            indices = np.arange(tile.start, tile.stop)
            self._x_mean[tile] = inner.x_rows(indices).sum(axis=1) / n_alive
        self._x_total = float(self._x_mean[inner.alive].sum() / n_alive)
        self._yx_total = float(self._yx_row.sum() / n_y)
        yy = inner.yy - y_mean[:, None] - y_mean + y_mean.sum() / n_y
        floor = ENTRY_ROUNDING * inner.eps
        y_norms, x_norms = np.diag(yy), 1 - 2 * self._x_mean + self._x_total
        self._live_y = np.flatnonzero(y_norms > floor)
        self.alive = inner.alive & (x_norms > floor)
        self._uy = 1 / np.sqrt(y_norms[self._live_y])
        self._ux = 1 / np.sqrt(np.where(self.alive, x_norms, 1.0))
        self.yy = yy[np.ix_(self._live_y, self._live_y)] * self._uy[:, None] * self._uy

    @property
    def linear(self) -> LinearGram | None:
        return self.inner.linear

    def block(self, columns: Any) -> Array:
        block = self.inner.block(columns)
        block -= self._yx_row[:, None]
        block -= self._yx_column[columns]
        block += self._yx_total
        block = block[self._live_y]
        block *= self._uy[:, None]
        block *= self._ux[columns]
        block[:, ~self.alive[columns]] = 0.0
        return block

    @property
    def x_amplification(self) -> Array:
        # Centring leaves the rounding of the whole entry, which normalising then enlarges.
        return self.inner.x_amplification * self._ux

    @property
    def y_amplification(self) -> Array:
        return self.inner.y_amplification[self._live_y] * self._uy

    @property
    def narrow_x_rows(self) -> bool:
        return self.inner.narrow_x_rows

    @property
    def far_x_rows(self) -> bool:
        return self.inner.far_x_rows

    @property
    def rare_references(self) -> bool:
        return self.inner.rare_references

    def on_few_rows(self, indices: Array) -> NDArray[np.bool_] | None:
        return self.inner.on_few_rows(indices)

    def x_rows(self, indices: Array, columns: Array | None = None) -> Array:
        rows = self.inner.x_rows(indices, columns)
        everywhere = slice(None) if columns is None else columns
        rows -= self._x_mean[indices][:, None]
        rows -= self._x_mean[everywhere]
        rows += self._x_total
        rows *= self._ux[indices][:, None]
        rows *= self._ux[everywhere]
        rows[:, ~self.alive[everywhere]] = 0.0
        rows[~self.alive[indices]] = 0.0
        return rows
