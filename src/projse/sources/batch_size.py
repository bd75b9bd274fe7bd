"""How rows are cut for products: what is known about each BLAS, in one table.

A batch is read from memory once and used many times, so it has to stay in a cache; and threads
run side by side only within one call, so it has to be long. Sources lay rows out in blocks of this
size, so that the pass over them takes each as it lies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from projse.threads import blas_architectures


@dataclass(frozen=True)
class Cut:
    """What suits the kernels of a BLAS.

    Attributes
    ----------
    batch_bytes : int
        Rows of [Y X] that one batch holds, in bytes.
    small_product : int
        The BLAS multiplies without repacking while rows × columns × depth stay within this: a
        batch is then multiplied in slices. 0 where it has no such path.
    ones_beside : bool
        Copy few references next to a column of ones also where they need no copy, so that one
        product gives the sums as well.
    """

    batch_bytes: int
    small_product: int = 0
    ones_beside: bool = True

    def batch_rows(self, width: int, itemsize: int) -> int:
        """Rows of a batch of so many columns."""
        return min(max(self.batch_bytes // (max(width, 1) * itemsize), 128), 8192)

    def small_depth(self, q: int, p: int) -> int:
        """Rows a q × p product may have to be small; 0 where slicing it up does not pay."""
        depth = self.small_product // max(q * p, 1) // 16 * 16
        return depth if depth >= 32 else 0


PLAIN = Cut(batch_bytes=2 << 20)
"""For every BLAS that is not in the table: OpenBLAS without AVX-512, MKL, BLIS, Accelerate.

Measured with the kernels Haswell and Zen on cores with 512 KB of second-level cache: from 1.5 to
4 MB there is no difference, with less the calls are too short. The caches of a core do not show:
BLAS copies what it multiplies into buffers of its own, and sums run along memory.
"""

AVX512 = Cut(batch_bytes=1 << 20, small_product=1_000_000, ones_beside=False)
"""Measured with the kernels SkylakeX on cores with 2 MB of second-level cache."""

CUTS = {"SkylakeX": AVX512, "Cooperlake": AVX512, "SapphireRapids": AVX512}
"""By the kernels that OpenBLAS says it uses: those with a path for small products."""


@cache
def cut() -> Cut:
    """Return what suits the BLAS that is loaded."""
    return next((CUTS[name] for name in blas_architectures() if name in CUTS), PLAIN)
