"""Dask arrays and data frames as rows: one task a block, a tree of sums, and no row travels.

Dask is imported when a collection comes in, never before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from projse.engines.dask_collections import (
    as_array,
    cut_like_x,
    describe,
    first_rows,
    fits,
    holds_dates,
    holds_more_than_numbers,
    is_float,
    is_frame,
    named_covariates,
    one_block_wide,
    row_chunks,
    to_array,
)
from projse.engines.dask_tasks import compute, leaves, tree
from projse.engines.reduction import Layout, Part, Reduction
from projse.sources.rows import is_dask

T = TypeVar("T")


@dataclass
class DaskRows:
    """Matching collections of candidates, references (None: one view), weights and covariates.

    All have as many partitions; whether these are of the same length, where Dask does not know
    it, is seen in the pass. Names and widths are kept apart, as cutting frames anew loses them.
    """

    X: Any
    Y: Any
    weight: Any
    layout: Layout
    covariates: Any = None

    @classmethod
    def of(cls, X: Any, Y: Any, sample_weight: Any, covariates: Any = None) -> DaskRows:
        """Check collections without computing anything but, where it is needed, their lengths."""
        if not is_dask(X):
            raise TypeError(
                "y, sample_weight or covariates is a Dask collection, but X is not; pass a Dask X, "
                "or compute them first."
            )
        Y, sample_weight = as_array(Y), as_array(sample_weight)
        n_x, columns, feature_names = describe(X, "X")
        if X.ndim != 2:
            raise ValueError(
                f"X must be two-dimensional; it has {X.ndim} dimensions. Reshape your data."
            )
        layout = Layout(n_x=n_x, columns=columns, feature_names=feature_names)
        if Y is not None:
            n_y, target_columns, target_names = describe(Y, "y")
            layout = replace(
                layout, n_y=n_y, target_columns=target_columns, target_names=target_names
            )
        if sample_weight is not None and not np.isscalar(sample_weight):
            width, _, names = describe(sample_weight, "sample_weight")
            if width != 1 or sample_weight.ndim != 1:
                raise ValueError("Sample weights must be 1D; pass one weight a row.")
            layout = replace(layout, weight_name=names[0] if names else None)
        if covariates is not None:
            covariates, names = named_covariates(covariates)
            layout = replace(layout, covariate_names=names)
        X, Y = one_block_wide(X, "X"), one_block_wide(Y, "y")
        covariates = one_block_wide(covariates, "covariates")
        return cls(X, Y, sample_weight, layout, covariates)._cut_alike()

    @property
    def n_x(self) -> int:
        """Number of candidates."""
        assert self.layout.n_x is not None
        return self.layout.n_x

    @property
    def n_y(self) -> int | None:
        """Number of reference columns; None for what may be class labels."""
        n_y = self.layout.n_y
        return None if n_y is None or (n_y == 1 and not is_float(self.Y)) else n_y

    @property
    def one_view(self) -> bool:
        """Whether the references are the candidates themselves."""
        return self.Y is None

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the candidates."""
        return self.layout.feature_names

    def target_type(self, asked: str) -> str:
        """Leave it as asked for: with "auto", the values tell."""
        return asked

    @property
    def may_be_table(self) -> bool:
        """Whether some columns are no numbers, as far as their types tell."""
        views = [c for c in (self.X, self.Y) if c is not None]
        return any(holds_more_than_numbers(c) for c in views) or holds_dates(self.covariates)

    def head(self, n: int) -> tuple[Any, Any, Any, Any]:
        """Compute candidates, references, weights and covariates of the first rows, of up to n."""
        X, Y, weight, covariates = first_rows(self._given, n)
        return X, Y, weight, covariates

    def reduce(self, reduction: Reduction[T]) -> Part[T]:
        """Make a pass over the rows: a result a partition, added up in a tree."""
        (total,) = self._pass(reduction, partial(tree, add=reduction.add))
        return total

    def parts(self, reduction: Reduction[T]) -> list[Part[T]]:
        """Make a pass over the rows, and keep the partitions apart."""
        return self._pass(reduction, list)

    def _pass(
        self, reduction: Reduction[T], combine: Callable[[list[Any]], list[Any]]
    ) -> list[Part[T]]:
        """Reduce the partitions and combine the parts, as ``combine`` does lazily."""
        parts = self._attempt(reduction, combine)
        if any(part.misaligned for part in parts):
            self._take(cut_like_x(*self._given))
            parts = self._attempt(reduction, combine)
        return parts

    def _attempt(
        self, reduction: Reduction[T], combine: Callable[[list[Any]], list[Any]]
    ) -> list[Part[T]]:
        lazy = leaves(self._given, self.layout, reduction)
        return compute(combine(lazy), lazy)

    @property
    def _given(self) -> list[Any]:
        return [self.X, self.Y, self.weight, self.covariates]

    def _take(self, given: list[Any]) -> None:
        self.X, self.Y, self.weight, self.covariates = given

    def _cut_alike(self) -> DaskRows:
        def others() -> list[Any]:
            return [c for c in self._given[1:] if c is not None and not np.isscalar(c)]

        if not all(is_frame(c) for c in (self.X, *others())):
            # As arrays now: Dask may join the partitions of frames that it reads.
            self._take([to_array(c) if is_frame(c) else c for c in self._given])
        if not all(is_dask(c) and fits(row_chunks(self.X), row_chunks(c)) for c in others()):
            self._take(cut_like_x(*self._given))
        return self
