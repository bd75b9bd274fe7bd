"""How many rows make a batch: as many as stay in a cache, and as small products take to.

Sources lay rows out in blocks of this size, so that the pass over them takes each as it lies.
"""

from __future__ import annotations

BATCH_BYTES = 1 << 20
"""Rows of [Y X] that one batch holds, in bytes: with its squares, a core's second-level cache."""

SMALL_PRODUCT = 1_000_000
"""OpenBLAS multiplies without repacking while rows × columns × depth stay within this."""


def small_depth(q: int, p: int) -> int:
    """Rows a q × p product may have to be small; 0 where slicing it up does not pay."""
    depth = SMALL_PRODUCT // max(q * p, 1) // 16 * 16
    return depth if depth >= 32 else 0
