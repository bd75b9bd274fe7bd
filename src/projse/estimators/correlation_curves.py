"""Canonical correlations of growing sets of picks: along a path, and on a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.metrics.canonical_blocks import CanonicalBlocks
from projse.parameters import is_whole

Array = NDArray[Any]


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
