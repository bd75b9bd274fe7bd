"""How much of each output each pick adds to the picks before it, from products alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.metrics.whitening import ordered_whitening

Array = NDArray[Any]


def added_r2(
    xx: Array,
    xy: Array,
    y_squares: Array,
    *,
    groups: Array | None = None,
    eps: float = float(np.finfo(np.float64).eps),
) -> Array:
    """R² that each variable adds to a regression on those before it, by least squares.

    Parameters
    ----------
    xx : ndarray of shape (k, k)
        Products of the variables with each other, in order.
    xy : ndarray of shape (k, n_y)
        Products with the outputs.
    y_squares : ndarray of shape (n_y,)
        Squared norms of the outputs.
    groups : ndarray of int of shape (k,) or None
        Which row of the result each variable counts for, ascending; None: each for its own.
    eps : float
        Unit roundoff of the products.

    Returns
    -------
    ndarray of shape (n_rows, n_y)
        Not negative. Its columns add up to the R² of all variables. NaN for an output that is
        constant.

    Notes
    -----
    ``O(k² (k + n_y))`` flops. A variable that is constant, or a combination of those before it,
    adds 0: rank loss is no failure.
    """
    T = ordered_whitening(xx, tol=eps ** (2 / 3))
    shares = (T @ xy) ** 2
    known = y_squares > 0
    if groups is not None:
        by_group = np.zeros((int(groups.max(initial=-1)) + 1, len(y_squares)))
        np.add.at(by_group, groups, shares)
        shares = by_group
    # Rounding may leave a sum a little above 1.
    total = np.maximum(shares.sum(axis=0), y_squares)
    out: Array = np.full(shares.shape, np.nan)
    out[:, known] = shares[:, known] / total[known]
    return out
