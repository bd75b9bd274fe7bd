"""Leverage: how much of a variable's spread a single row makes up.

Moments cannot tell: a column that is 0 but for one row and a column of noise may have the same mean
and the same sum of squares. So rows are looked at, where they are at hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.sources.rows import Rows

Array = NDArray[Any]


def largest_leverage(rows: Rows, columns: Array, *, center: bool) -> Array:
    """Return the largest share of one row in the sum of squares of some columns of X.

    Parameters
    ----------
    rows : Rows
    columns : ndarray of int of shape (k,)
    center : bool
        Squares are about the mean.

    Returns
    -------
    ndarray of shape (k,)
        ``max w d² / Σ w d²``, in [0, 1]: 1/k where k rows differ from all others, and alike; 0 for
        a column of zeros.

    Notes
    -----
    A few reads of each column, one column in memory at a time.
    """
    rows = rows.counted()
    w = np.ones(rows.n_samples) if rows.weight is None else rows.weight
    by_column = sp.csc_array(rows.X[:, columns]) if rows.is_sparse else None
    return np.array(
        [
            _leverage(
                rows.X[:, j] if by_column is None else by_column[:, [place]].toarray()[:, 0],
                w,
                center,
            )
            for place, j in enumerate(columns.tolist())
        ]
    )


def _leverage(column: Any, w: Array, center: bool) -> float:
    d = np.asarray(column, dtype=np.float64)
    size = float(np.abs(d).max(initial=0.0))
    if size == 0.0:
        return 0.0
    d = d / size  # whose squares neither overflow nor vanish
    if center:
        d -= (w @ d) / w.sum()
    d *= d
    d *= w
    total = float(d.sum())
    return float(d.max() / total) if total > 0 else 0.0
