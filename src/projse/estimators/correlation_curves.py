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
    n_x: int,
    n_y: int,
    sizes: Sequence[int] | None,
    n_components: int | None,
) -> Array:
    """Correlate the first k of n_x picks with the first k of n_y, for each size k."""
    chosen = _sizes(sizes, max(n_x, n_y), "sizes")
    if n_components is not None and (not is_whole(n_components) or n_components < 1):
        raise ValueError(f"n_components={n_components!r} must be a number from 1, or None.")
    pairs = [(min(k, n_x), min(k, n_y)) for k in chosen]
    if n_components == 1:
        return np.array([blocks.first([i], [j])[0, 0] for i, j in pairs])
    width = min(n_x, n_y) if n_components is None else n_components
    out = np.full((len(pairs), width), np.nan)
    for row, (i, j) in zip(out, pairs, strict=True):
        values = blocks.all(i, j)[:width]
        row[: len(values)] = values
    return out


def correlation_grid(
    blocks: CanonicalBlocks,
    n_x: int,
    n_y: int,
    x_sizes: Sequence[int] | None,
    y_sizes: Sequence[int] | None,
) -> Array:
    """Return the first canonical correlation for all pairs of sizes."""
    return blocks.first(_sizes(x_sizes, n_x, "x_sizes"), _sizes(y_sizes, n_y, "y_sizes"))


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
