"""Kernel matrices of some of the candidates."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from projse.kernels.feature_gram import FeatureGram

Array = NDArray[Any]


class SomeColumns(FeatureGram):
    """Another's kernel matrices, of some of its candidates and all of its references.

    Parameters
    ----------
    inner : FeatureGram
    columns : ndarray of int of shape (n,)
        Its candidates that are kept.
    """

    def __init__(self, inner: FeatureGram, columns: Array) -> None:
        self.inner, self.columns = inner, columns
        self.yy, self.alive = inner.yy, inner.alive[columns]
        self.n_conditioned = inner.n_conditioned
        self.noise, self.eps = inner.noise, inner.eps

    @property
    def x_amplification(self) -> Array:
        kept: Array = self.inner.x_amplification[self.columns]
        return kept

    @property
    def y_amplification(self) -> Array:
        return self.inner.y_amplification

    @property
    def y_off(self) -> Array | None:
        return self.inner.y_off

    def block(self, columns: Any) -> Array:
        return self.inner.block(self.columns[columns])

    def x_rows(self, indices: Array, columns: Array | None = None) -> Array:
        kept = self.columns if columns is None else self.columns[columns]
        return self.inner.x_rows(self.columns[indices], kept)
