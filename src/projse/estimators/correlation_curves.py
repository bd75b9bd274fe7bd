"""Canonical correlations of growing sets of picks: along a path, and on a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.metrics.canonical_blocks import CanonicalBlocks
from projse.parameters import is_whole

Array = NDArray[Any]


class CorrelationCurvesMixin:
    """Adds canonical correlations of growing sets of picks to a fitted selection of two views."""

    x_selector_: Any
    y_selector_: Any

    def canonical_correlation_path(
        self,
        X: Any = None,
        Y: Any = None,
        sample_weight: Any = None,
        *,
        covariates: Any = None,
        sizes: Sequence[int] | None = None,
        n_components: int | None = 1,
    ) -> Array:
        """Canonical correlations of the first k selected variables of each side, for growing k.

        Parameters
        ----------
        X, Y : array-like or sparse matrix, default=None
            Held-out rows, with all columns: the combinations that correlate most are found on the
            rows of the fit, and their correlation is measured here. None: the rows of the fit.
        sample_weight : array-like of shape (n_samples,), default=None
            Of the held-out rows.
        covariates : array-like, default=None
            Of the held-out rows, where the fit had some: they are taken out by the regressions of
            the fit. Levels must be those of the fit: give categories a categorical dtype.
        sizes : sequence of int, default=None
            Which k; None: 1, 2, … up to the larger of the two selections. A side that has fewer
            takes all of its variables.
        n_components : int or None, default=1
            How many canonical correlations; None: all.

        Returns
        -------
        ndarray of shape (n_sizes,) or (n_sizes, n_components)
            Of the first one, or of several: NaN where there are fewer.

        Notes
        -----
        From moments alone, so the cost does not depend on the number of rows of the fit. On the
        rows of the fit it grows with k by itself; on held-out rows it may fall, and be negative.
        """
        blocks = self._blocks(X, Y, sample_weight, covariates)
        return correlation_path(blocks, *self._ends(), sizes, n_components)

    def canonical_correlation_grid(
        self,
        X: Any = None,
        Y: Any = None,
        sample_weight: Any = None,
        *,
        covariates: Any = None,
        x_sizes: Sequence[int] | None = None,
        y_sizes: Sequence[int] | None = None,
    ) -> Array:
        """First canonical correlation for all pairs of growing sets, as in the paper.

        Parameters
        ----------
        X, Y, sample_weight, covariates
            Held-out rows; see :meth:`canonical_correlation_path`.
        x_sizes, y_sizes : sequence of int, default=None
            How many of the selected variables of each side; None: 1, 2, … up to all.

        Returns
        -------
        ndarray of shape (n_x_sizes, n_y_sizes)
        """
        blocks = self._blocks(X, Y, sample_weight, covariates)
        return correlation_grid(blocks, *self._ends(), x_sizes, y_sizes)

    def _ends(self) -> tuple[Array, Array]:
        """Count the columns of the first 1, 2, … picks of X and of Y."""
        x, y = (
            np.cumsum([len(s._columns_of([j])) for j in s.selected_])
            for s in (self.x_selector_, self.y_selector_)
        )
        return x, y

    def _blocks(self, X: Any, Y: Any, sample_weight: Any, covariates: Any) -> CanonicalBlocks:
        """Return what correlations are made from, on the rows of the fit or on held-out ones."""
        raise NotImplementedError


def correlation_path(
    blocks: CanonicalBlocks,
    x_ends: Array,
    y_ends: Array,
    sizes: Sequence[int] | None,
    n_components: int | None,
) -> Array:
    """Correlate the first k picks of X with the first k of Y, for each size k.

    ``x_ends`` and ``y_ends`` tell how many columns the first 1, 2, … picks have.
    """
    n_x, n_y = len(x_ends), len(y_ends)
    chosen = _sizes(sizes, max(n_x, n_y), "sizes")
    if n_components is not None and (not is_whole(n_components) or n_components < 1):
        raise ValueError(f"n_components={n_components!r} must be a number from 1, or None.")
    pairs = [(int(x_ends[min(k, n_x) - 1]), int(y_ends[min(k, n_y) - 1])) for k in chosen]
    if n_components == 1:
        return np.array([blocks.first([i], [j])[0, 0] for i, j in pairs])
    width = int(min(x_ends[-1], y_ends[-1])) if n_components is None else n_components
    out = np.full((len(pairs), width), np.nan)
    for row, (i, j) in zip(out, pairs, strict=True):
        values = blocks.all(i, j)[:width]
        row[: len(values)] = values
    return out


def correlation_grid(
    blocks: CanonicalBlocks,
    x_ends: Array,
    y_ends: Array,
    x_sizes: Sequence[int] | None,
    y_sizes: Sequence[int] | None,
) -> Array:
    """Return the first canonical correlation for all pairs of sizes."""
    x = _sizes(x_sizes, len(x_ends), "x_sizes")
    y = _sizes(y_sizes, len(y_ends), "y_sizes")
    return blocks.first([int(x_ends[k - 1]) for k in x], [int(y_ends[k - 1]) for k in y])


def _sizes(sizes: Sequence[int] | None, most: int, parameter: str) -> list[int]:
    if sizes is None:
        return list(range(1, most + 1))
    chosen = list(sizes)
    for size in chosen:
        if not is_whole(size) or not 1 <= size <= most:
            raise ValueError(
                f"{parameter} holds {size!r}; {most} variables were selected, so sizes go from 1 "
                f"to {most}."
            )
    return [int(size) for size in chosen]
