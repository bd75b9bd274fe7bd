"""Kernel matrices by an elementwise map of linear Gram matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.kernels.feature_gram import FeatureGram, tiles
from projse.kernels.kernel_functions import Kernel
from projse.kernels.linear_gram import LinearGram

Array = NDArray[Any]


class ElementwiseGram(FeatureGram):
    """A kernel of the linear Gram matrices; with the linear kernel nothing is copied."""

    KEEP_ELEMENTS = 1 << 27

    def __init__(self, gram: LinearGram, kernel: Kernel, scale: bool) -> None:
        self.gram = gram
        self.eps = gram.eps
        self.n_conditioned = gram.n_conditioned
        self.noise = kernel.noise(gram.eps)
        y_norms = gram.yy.diagonal()
        self._live_y = (y_norms > 0).nonzero()[0]
        self.alive = gram.xx_diag > 0
        self._all_alive = bool(self.alive.all())
        y_norms = y_norms[self._live_y]
        x_norms = gram.xx_diag if self._all_alive else np.where(self.alive, gram.xx_diag, 1.0)
        # A unit-norm variable is its inner products over its norm; the kernel then sees norm 1.
        self._uy = 1 / np.sqrt(y_norms) if scale else np.ones_like(y_norms)
        self._ux = 1 / np.sqrt(x_norms) if scale else np.ones_like(x_norms)
        self._gy = np.ones_like(y_norms) if scale else y_norms
        self._gx = np.ones_like(x_norms) if scale else x_norms
        self.kernel = kernel
        self._unit_norms = scale
        self._kept: Array | None = None
        yy = gram.yy
        if len(self._live_y) < len(yy):
            yy = yy[np.ix_(self._live_y, self._live_y)]
        yy = yy * self._uy[:, None] * self._uy
        self._cosines_yy = yy
        self.yy = self._map(yy.copy(), self._gy, self._gy)
        np.fill_diagonal(self.yy, 1.0)

    @property
    def linear(self) -> LinearGram:
        return self.gram

    @property
    def x_amplification(self) -> Array:
        own = self.kernel.amplification(self._gx)
        known = self.gram.x_amplification
        return own if known is None else own * known

    @property
    def y_amplification(self) -> Array:
        own = self.kernel.amplification(self._gy)
        known = self.gram.y_amplification
        return own if known is None else own * known[self._live_y]

    @property
    def y_off(self) -> Array | None:
        off = self.gram.y_off
        return None if off is None or self.kernel.name != "linear" else off[self._live_y] * self._uy

    @property
    def x_norms(self) -> Array:
        return np.sqrt(self.gram.xx_diag)

    def _map(self, g: Array, gy: Array, gx: Array, left: Any = ..., right: Any = ...) -> Array:
        """Apply the kernel to inner products, which are overwritten, of some variables each."""
        if self._unit_norms:
            return self.kernel.of_unit_norms(g)
        return self.kernel(g, gy[left], gx[right])

    def with_gamma(self, gamma: float | str) -> ElementwiseGram:
        """Set the width of an RBF kernel: a number, or from the mean distance."""
        if self.kernel.name != "rbf":
            return self
        value = 1 / (2 * self.mean_distance() ** 2) if isinstance(gamma, str) else float(gamma)
        self.kernel = Kernel("rbf", gamma=value)
        self.yy = self._map(self._cosines_yy.copy(), self._gy, self._gy)
        np.fill_diagonal(self.yy, 1.0)
        return self

    def mean_distance(self) -> float:
        """Mean distance between the references, or of one reference to the candidates."""
        if self.gram.n_y == 0:
            return self._mean_candidate_distance()
        n, gy = self.n_y, self._gy
        if n == 0:
            return 1.0
        if n > 1:
            distances = self._distances(self._cosines_yy.copy(), gy, gy)
            np.fill_diagonal(distances, 0.0)
            if total := float(distances.sum()):
                return total / (n * (n - 1))
        total = 0.0
        for tile in tiles(self.n_x):
            distances = self._distances(self._base(tile), gy, self._gx[tile])
            total += float(distances[:, self.alive[tile]].sum())
        return total / max(n * int(self.alive.sum()), 1) or 1.0

    def _distances(self, g: Array, gy: Array, gx: Array) -> Array:
        """Turn inner products into distances, in place; exactly 0 within rounding."""
        g *= -2.0
        g += gy[:, None]
        g += gx
        g[g <= 32 * self.eps * np.maximum(gy[:, None], gx)] = 0.0
        return np.sqrt(g, out=g)

    def _mean_candidate_distance(self) -> float:
        """Mean distance between the candidates: one view, in one blocked pass."""
        assert self.gram.x_rows is not None
        live = np.flatnonzero(self.alive)
        total = 0.0
        for tile in tiles(len(live), 256):
            rows = live[tile]
            products = self.gram.x_rows(rows, live)
            products *= self._ux[rows][:, None]
            products *= self._ux[live]
            distances = self._distances(products, self._gx[rows], self._gx[live])
            distances[np.arange(len(rows)), np.arange(tile.start, tile.stop)] = 0.0
            total += float(distances.sum())
        return total / max(len(live) * (len(live) - 1), 1) or 1.0

    def _base(self, columns: Any) -> Array:
        """Inner products of the variables as the kernel sees them."""
        block = self.gram.block(columns)
        if len(self._live_y) < self.gram.n_y:
            block = block[self._live_y]
        block *= self._uy[:, None]
        block *= self._ux[columns]
        return block

    def block(self, columns: Any) -> Array:
        if self._kept is not None:
            return np.array(self._kept[:, columns])
        block = self._map(self._base(columns), self._gy, self._gx, right=columns)
        if not self._all_alive:
            block[:, ~self.alive[columns]] = 0.0
        return block

    def left(self, w: Array) -> Array:
        if self.kernel.name == "linear":
            full = np.zeros(self.gram.n_y)
            full[self._live_y] = w * self._uy / np.sqrt(self._gy)
            product = self.gram.left(full)
            product *= self._ux
            product /= np.sqrt(self._gx)
            product[~self.alive] = 0.0
            return product
        if self._kept is None and self.n_y * self.n_x <= self.KEEP_ELEMENTS:
            kept = np.empty((self.n_y, self.n_x))
            for tile in tiles(self.n_x):
                kept[:, tile] = self.block(tile)
            self._kept = kept
        return w @ self._kept if self._kept is not None else super().left(w)

    @property
    def has_x_rows(self) -> bool:
        return self.gram.x_rows is not None

    @property
    def narrow_x_rows(self) -> bool:
        return self.gram.narrow_x_rows

    @property
    def far_x_rows(self) -> bool:
        return self.gram.far_x_rows

    @property
    def rare_references(self) -> bool:
        return self.gram.rare_references

    def on_few_rows(self, indices: Array) -> NDArray[np.bool_] | None:
        few = self.gram.on_few_rows
        return None if few is None else few(indices)

    def x_rows(self, indices: Array, columns: Array | None = None) -> Array:
        if self.gram.x_rows is None:
            raise ValueError(
                "These moments hold no products of the candidates with each other; build them "
                "with Moments.from_arrays(..., with_xx=True)."
            )
        rows = self.gram.x_rows(indices, columns)
        everywhere = slice(None) if columns is None else columns
        rows *= self._ux[indices][:, None]
        rows *= self._ux[everywhere]
        rows = self._map(rows, self._gx, self._gx, indices, everywhere)
        if columns is None:
            for i, j in enumerate(indices.tolist()):
                rows[i, j] = 1.0
        else:
            rows[indices[:, None] == columns] = 1.0
        if not self._all_alive:
            rows[:, ~self.alive[everywhere]] = 0.0
            rows[~self.alive[indices]] = 0.0
        return rows
