"""How many rows a batch of the pass has.

A batch is read from memory once and used many times, so it has to stay in a cache; and threads
run side by side only within one call, so it has to be long. Sources that have columns lay rows out
in blocks of at most this size, so that the pass over them takes each as it lies.
"""

from __future__ import annotations

BATCH_BYTES = 3 << 19
"""Rows of [Y X] that one batch holds, in bytes.

With the kernels Haswell, Zen and SkylakeX of OpenBLAS, on cores with 512 KB and with 2 MB of
second-level cache, there is no clear difference around this; with less the calls are too short.
BLAS copies what it multiplies into buffers of its own, and sums run along memory: so neither its
kernels nor the caches of a core show. Slices so small that the AVX-512 kernels multiply without a
copy are a quarter faster on rows in a cache, and no faster on rows that come from memory.
"""

MOST_ROWS, MOST_SINGLE_ROWS = 8192, 2048
"""Of a batch, and of one in float32.

Kernels add the rows of a batch one by one. Where values are alike, as in columns of few values,
every addition rounds the same way: a float32 sum of n rows is then off by up to n / 2²⁵ of itself.
"""


def batch_rows(width: int, itemsize: int) -> int:
    """Rows of a batch of so many columns."""
    most = MOST_ROWS if itemsize > 4 else MOST_SINGLE_ROWS
    return min(max(BATCH_BYTES // (max(width, 1) * itemsize), 128), most)
