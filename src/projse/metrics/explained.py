"""How much of each output each pick adds to the picks before it, from products alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.metrics.whitening import ordered_whitening
from projse.moments.sums import Moments
from projse.moments.views import second_moments

Array = NDArray[Any]


def explained(
    moments: Moments, center: bool = True, *, n_given: int = 0, groups: Array | None = None
) -> Array:
    """R² that each candidate adds, as :func:`added_r2` has it, from moments.

    Parameters
    ----------
    moments : Moments
        Of the picks, in order (see :func:`projse.moments.views.restricted`), with their products.
    center : bool
        Whether the regressions have an intercept.
    n_given, groups
        As in :func:`added_r2`.

    Returns
    -------
    ndarray of shape (k, n_y)
    """
    xx, xy, yy = second_moments(moments, center)
    return added_r2(xx, xy, np.diag(yy), n_given=n_given, groups=groups, eps=moments.eps)


def added_r2(
    xx: Array,
    xy: Array,
    y_squares: Array,
    *,
    n_given: int = 0,
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
    n_given : int
        The first variables are taken out of everything: no row tells of them, and R² is a share
        of what they leave of an output.
    groups : ndarray of int of shape (k − n_given,) or None
        Which row of the result each variable counts for, ascending; None: each for its own.
    eps : float
        Unit roundoff of the products.

    Returns
    -------
    ndarray of shape (n_rows, n_y)
        Not negative. Its columns add up to the R² of all variables. NaN for an output that is
        constant, or that the given variables leave nothing of.

    Notes
    -----
    ``O(k² (k + n_y))`` flops. A variable that is constant, or a combination of those before it,
    adds 0: rank loss is no failure.
    """
    T = ordered_whitening(xx, tol=eps ** (2 / 3))
    shares = (T @ xy) ** 2
    left = y_squares - shares[:n_given].sum(axis=0)
    known = (left > eps ** (2 / 3) * y_squares) & (y_squares > 0)
    shares = shares[n_given:]
    if groups is not None:
        by_group = np.zeros((int(groups.max(initial=-1)) + 1, len(y_squares)))
        np.add.at(by_group, groups, shares)
        shares = by_group
    # Rounding may leave a sum a little above 1.
    total = np.maximum(shares.sum(axis=0), left)
    out: Array = np.full(shares.shape, np.nan)
    out[:, known] = shares[:, known] / total[known]
    return out
