"""How many rows a batch of the pass has.

A batch is read from memory once and used many times, so it has to stay in a cache; and threads
run side by side only within one call, so it has to be long. Sources lay rows out in blocks of this
size, so that the pass over them takes each as it lies.
"""

from __future__ import annotations

BATCH_BYTES = 3 << 19
"""Rows of [Y X] that one batch holds, in bytes.

With the kernels Haswell, Zen and SkylakeX of OpenBLAS, on cores with 512 KB and with 2 MB of
second-level cache, there is no clear difference from 1 to 4 MB; with less the calls are too short.
BLAS copies what it multiplies into buffers of its own, and sums run along memory: so neither its
kernels nor the caches of a core show. Slices so small that the AVX-512 kernels multiply without a
copy are a quarter faster on rows in a cache, and no faster on rows that come from memory.
"""


def batch_rows(width: int, itemsize: int) -> int:
    """Rows of a batch of so many columns."""
    return min(max(BATCH_BYTES // (max(width, 1) * itemsize), 128), 8192)
