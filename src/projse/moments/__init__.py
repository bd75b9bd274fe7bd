"""Moments: the few small matrices that stand for all rows, and add up.

Comes in: rows from memory, files and streams, and engines that run a reduction where rows lie.
Goes out: weighted sums, means and products of candidates and references, which can be added,
subtracted, saved and loaded.
Must not know: kernels, how variables are picked, what a user asked for.
"""

from projse.moments.blocks import block_moments
from projse.moments.stream import moments_from
from projse.moments.sums import Moments

__all__ = ["Moments", "block_moments", "moments_from"]
