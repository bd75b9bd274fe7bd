"""Kernel matrices from a function of the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.kernels.feature_gram import ENTRY_ROUNDING, FeatureGram, tiles

Array = NDArray[Any]


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
        few_rows: Callable[[Array], NDArray[np.bool_]] | None = None,
        n_conditioned: int = 0,
    ) -> None:
        self.n_conditioned = n_conditioned
        self._few_rows = few_rows
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

    def on_few_rows(self, indices: Array) -> NDArray[np.bool_] | None:
        return None if self._few_rows is None else self._few_rows(indices)

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
