"""Rank of the references: below which size a direction is rounding."""

from __future__ import annotations

import numpy as np

STORED = 16
"""A direction is known where it is this many times as long as the rounding of stored values."""


def default_tol(n: int, eps: float) -> float:
    """Relative size below which an eigenvalue of an n × n Gram matrix is rounding.

    The matrix is a sum over many rows, so its own rounding is a modest multiple of eps even when
    it is small.
    """
    return 8 * max(n, 16) * eps


def singular_cut(m: int, q: int, stored: float) -> float:
    """Relative size below which a singular value of m × q references is rounding.

    The arithmetic is in float64, but values stored with unit roundoff ``stored`` are known no
    better than that.
    """
    eps = float(np.finfo(np.float64).eps)
    return max(max(m, q, 64) * eps, 4 * stored if stored > eps else 0.0)
