"""Kernels on variables: elementwise maps of Gram matrices, normalised to ``κ(x, x) = 1``.

The linear, polynomial and RBF kernels between two variables depend on their inner product and
their norms alone, so a kernel matrix costs a pass over a Gram matrix, never over the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.kernels.gram import LinearGram

Array = NDArray[Any]

ENTRY_ROUNDING = 32
"""An inner product of normalised variables is known to this many units of roundoff."""

TILE = 4096
"""Columns handled at a time where a whole matrix is not needed."""


@dataclass(frozen=True)
class Kernel:
    """A kernel that is an elementwise function of inner products.

    Attributes
    ----------
    name : {"linear", "poly", "rbf"}
    degree, coef0 : int, float
        Of ``(⟨x, y⟩ + coef0)^degree``.
    gamma : float
        Of ``exp(−γ ‖x − y‖²)``.
    """

    name: str
    degree: int = 3
    coef0: float = 0.0
    gamma: float = 1.0

    def of_unit_norms(self, g: Array) -> Array:
        """Map inner products of variables of norm 1, in place where that is possible."""
        if self.name == "rbf":
            g -= 1.0
            np.minimum(g, 0.0, out=g)
            g *= 2 * self.gamma
            return np.exp(g, out=g)
        if self.name == "linear":
            return g
        if self.coef0:
            g += self.coef0
            g /= 1 + self.coef0
        return _power(g, self.degree)

    def __call__(self, g: Array, gy: Array, gx: Array) -> Array:
        """Map inner products to normalised kernel values, in place where that is possible.

        Parameters
        ----------
        g : ndarray of shape (k, l)
            Inner products; overwritten.
        gy, gx : ndarray of shape (k,), (l,)
            Squared norms, positive.
        """
        if self.name == "rbf":
            g *= -2.0
            g += gy[:, None]
            g += gx
            np.maximum(g, 0.0, out=g)
            g *= -self.gamma
            return np.exp(g, out=g)
        c = self.coef0 if self.name == "poly" else 0.0
        if c:
            g += c
        g /= np.sqrt(gy + c)[:, None]
        g /= np.sqrt(gx + c)
        return _power(g, self.degree) if self.name == "poly" else g

    def amplification(self, norms: Array) -> Array:
        """How many times its usual rounding a kernel value of variables of these norms is off.

        A small distance is the difference of squared norms; γ is what they are measured in.
        """
        return np.sqrt(1 + 2 * self.gamma * norms) if self.name == "rbf" else np.ones_like(norms)

    def noise(self, eps: float) -> float:
        """Size of a kernel value that rounding alone can give to unrelated variables."""
        base = ENTRY_ROUNDING * eps
        if self.name == "poly" and not self.coef0:
            return max(base**self.degree, np.finfo(np.float64).tiny ** 0.5)
        return base


def _power(g: Array, degree: int) -> Array:
    """Raise to a whole power by multiplication: several times faster than ``pow``."""
    result: Array | None = None
    while degree:
        if degree & 1:
            result = g.copy() if result is None else np.multiply(result, g, out=result)
        degree >>= 1
        if degree:
            g *= g
    assert result is not None
    return result


class FeatureGram(ABC):
    """Normalised kernel matrices between references Y and candidates X.

    ``yy`` has shape (n_y, n_y); its last ``n_covariates`` references are only conditioned on.
    ``alive`` marks the candidates that are not constant. The rounding of an entry is ``noise``
    times the amplifications of its two variables.
    """

    yy: Array
    n_covariates: int = 0
    alive: NDArray[np.bool_]
    noise: float
    eps: float

    @property
    def x_amplification(self) -> Array:
        """How many times ``noise`` an entry of each candidate is off, shape (n_x,)."""
        return np.ones(self.n_x)

    @property
    def y_amplification(self) -> Array:
        """The same of each reference, shape (n_y,)."""
        return np.ones(self.n_y)

    @property
    def n_x(self) -> int:
        """Number of candidates."""
        return len(self.alive)

    @property
    def n_y(self) -> int:
        """Number of references that are not constant."""
        return len(self.yy)

    @abstractmethod
    def block(self, columns: Any) -> Array:
        """Return columns of ``K_YX``, shape (n_y, k), as a new array."""

    @abstractmethod
    def x_rows(self, indices: Array, columns: Array | None = None) -> Array:
        """Return rows of ``K_XX`` as a new array: whole ones, or some columns of them."""

    @property
    def has_x_rows(self) -> bool:
        """Whether rows of ``K_XX`` can be had."""
        return True

    @property
    def narrow_x_rows(self) -> bool:
        """Whether some columns of rows of ``K_XX`` cost less than all."""
        return True

    def left(self, w: Array) -> Array:
        """Return ``wᵀ K_YX``, shape (n_x,)."""
        out = np.empty(self.n_x)
        for tile in tiles(self.n_x):
            out[tile] = w @ self.block(tile)
        return out


class ElementwiseGram(FeatureGram):
    """A kernel of the linear Gram matrices; with the linear kernel nothing is copied."""

    KEEP_ELEMENTS = 1 << 27

    def __init__(
        self, gram: LinearGram, kernel: Kernel, scale: bool, n_covariates: int = 0
    ) -> None:
        self.gram = gram
        self.eps = gram.eps
        self.noise = kernel.noise(gram.eps)
        y_norms = np.diag(gram.yy).copy()
        self._live_y = np.flatnonzero(y_norms > 0)
        self.n_covariates = int((self._live_y >= gram.n_y - n_covariates).sum())
        self.alive = gram.xx_diag > 0
        y_norms = y_norms[self._live_y]
        x_norms = np.where(self.alive, gram.xx_diag, 1.0)
        # A unit-norm variable is its inner products over its norm; the kernel then sees norm 1.
        self._uy = 1 / np.sqrt(y_norms) if scale else np.ones_like(y_norms)
        self._ux = 1 / np.sqrt(x_norms) if scale else np.ones_like(x_norms)
        self._gy = np.ones_like(y_norms) if scale else y_norms
        self._gx = np.ones_like(x_norms) if scale else x_norms
        self.kernel = kernel
        self._unit_norms = scale
        self._kept: Array | None = None
        yy = gram.yy[np.ix_(self._live_y, self._live_y)] * self._uy[:, None] * self._uy
        self._cosines_yy = yy
        self.yy = self._map(yy.copy(), self._gy, self._gy)
        np.fill_diagonal(self.yy, 1.0)

    @property
    def x_amplification(self) -> Array:
        return self.kernel.amplification(self._gx)

    @property
    def y_amplification(self) -> Array:
        return self.kernel.amplification(self._gy)

    def _map(self, g: Array, gy: Array, gx: Array) -> Array:
        """Apply the kernel to inner products, which are overwritten."""
        return self.kernel.of_unit_norms(g) if self._unit_norms else self.kernel(g, gy, gx)

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
        n = self.n_y - self.n_covariates
        if n == 0:
            return 1.0
        gy = self._gy[:n]
        if n > 1:
            distances = self._distances(self._cosines_yy[:n, :n].copy(), gy, gy)
            np.fill_diagonal(distances, 0.0)
            if total := float(distances.sum()):
                return total / (n * (n - 1))
        total = 0.0
        for tile in tiles(self.n_x):
            distances = self._distances(self._base(tile)[:n], gy, self._gx[tile])
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
        block = self._map(self._base(columns), self._gy, self._gx[columns])
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

    def x_rows(self, indices: Array, columns: Array | None = None) -> Array:
        if self.gram.x_rows is None:
            raise ValueError(
                "These moments hold no products of the candidates with each other; build them "
                "with Moments.from_arrays(..., with_xx=True)."
            )
        rows = self.gram.x_rows(indices, columns)
        columns = np.arange(self.n_x) if columns is None else columns
        rows *= self._ux[indices][:, None]
        rows *= self._ux[columns]
        rows = self._map(rows, self._gx[indices], self._gx[columns])
        rows[:, ~self.alive[columns]] = 0.0
        rows[indices[:, None] == columns] = 1.0
        rows[~self.alive[indices]] = 0.0
        return rows


class CentredGram(FeatureGram):
    """Kernel matrices centred over the variables in feature space, and normalised again.

    Each set is centred by its own mean: ``φ(y) − mean φ(Y)`` and ``φ(x) − mean φ(X)``. The
    candidates' part needs a pass over all of ``K_XX``.
    """

    def __init__(self, inner: FeatureGram) -> None:
        self.inner = inner
        self.eps = inner.eps
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

    def x_rows(self, indices: Array, columns: Array | None = None) -> Array:
        rows = self.inner.x_rows(indices, columns)
        everywhere = slice(None) if columns is None else columns
        rows -= self._x_mean[indices][:, None]
        rows -= self._x_mean[everywhere]
        rows += self._x_total
        rows *= self._ux[indices][:, None]
        rows *= self._ux[everywhere]
        rows[:, ~self.alive[everywhere]] = 0.0
        return rows


class CallableGram(FeatureGram):
    """Kernel matrices from a user's function on columns, checked and normalised.

    ``function(A, B)`` gets columns as the parameters ``center`` and ``scale`` leave them, with
    rows multiplied by the roots of their weights, and returns κ for each pair of columns.
    """

    def __init__(
        self,
        function: Callable[[Array, Array], Any],
        X: Array,
        Y: Array | None,
        n_covariates: int = 0,
    ) -> None:
        self._function = function
        self._X = X
        self.eps = float(np.finfo(np.float64).eps)
        self.noise = ENTRY_ROUNDING * self.eps
        Y = X[:, :0] if Y is None else Y
        yy = self._evaluate(Y, Y) if Y.shape[1] else np.empty((0, 0))
        check_kernel_matrix(yy)
        x_norms = np.empty(X.shape[1])
        for tile in tiles(X.shape[1], 256):
            block = self._evaluate(X[:, tile], X[:, tile])
            check_kernel_matrix(block)
            x_norms[tile] = np.diag(block)
        y_norms = np.diag(yy)
        live_y = np.flatnonzero((y_norms > 0) & Y.any(axis=0))
        self.n_covariates = int((live_y >= Y.shape[1] - n_covariates).sum())
        self.alive = (x_norms > 0) & X.any(axis=0)
        self._Y = np.ascontiguousarray(Y[:, live_y])
        self._uy = 1 / np.sqrt(y_norms[live_y])
        self._ux = 1 / np.sqrt(np.where(self.alive, x_norms, 1.0))
        self.yy = yy[np.ix_(live_y, live_y)] * self._uy[:, None] * self._uy

    def _evaluate(self, A: Array, B: Array) -> Array:
        values = np.asarray(self._function(A, B), dtype=np.float64)
        if values.shape != (A.shape[1], B.shape[1]):
            raise ValueError(
                f"kernel(A, B) returned shape {values.shape} for {A.shape[1]} and {B.shape[1]} "
                f"columns; it must return one value a pair of columns, "
                f"shape {(A.shape[1], B.shape[1])}."
            )
        if not np.isfinite(values).all():
            raise ValueError("kernel(A, B) returned NaN or infinity; check it on your columns.")
        return values.copy()

    def block(self, columns: Any) -> Array:
        block = self._evaluate(self._Y, self._X[:, columns])
        block *= self._uy[:, None]
        block *= self._ux[columns]
        block[:, ~self.alive[columns]] = 0.0
        return block

    def x_rows(self, indices: Array, columns: Array | None = None) -> Array:
        everywhere = slice(None) if columns is None else columns
        rows = self._evaluate(self._X[:, indices], self._X[:, everywhere])
        rows *= self._ux[indices][:, None]
        rows *= self._ux[everywhere]
        rows[:, ~self.alive[everywhere]] = 0.0
        rows[~self.alive[indices]] = 0.0
        return rows


def check_kernel_matrix(K: Array) -> None:
    """Refuse a matrix that cannot be a kernel's: asymmetric or indefinite."""
    size = float(np.abs(K).max(initial=0.0))
    gap = float(np.abs(K - K.T).max(initial=0.0))
    if gap > 1e-8 * size:
        raise ValueError(
            f"kernel(A, A) is asymmetric: entries differ by up to {gap:.3g}; return κ(a, b) = "
            "κ(b, a)."
        )
    smallest = float(np.linalg.eigvalsh((K + K.T) / 2)[0]) if len(K) else 0.0
    if smallest < -1e-8 * max(size, 1e-300) * len(K):
        raise ValueError(
            f"kernel(A, A) is indefinite: it has an eigenvalue {smallest:.3g} (largest entry "
            f"{size:.3g}); use a positive semi-definite kernel."
        )


def tiles(n: int, width: int = TILE) -> list[slice]:
    """Cut ``range(n)`` into slices of at most ``width``."""
    return [slice(start, min(start + width, n)) for start in range(0, n, width)]
