"""Sums of squares that rounding or the range of floats has eaten: told apart, marked, refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.sources.rows import SMALLEST_SQUARES, refuse_overflow, refuse_vanishing

if TYPE_CHECKING:
    from projse.moments.sums import Moments

Array = NDArray[Any]

EPS = float(np.finfo(np.float64).eps)

LEAST = float(np.finfo(np.float64).smallest_subnormal)

ROUNDING = 64
"""Sums of squares are known to this many units of roundoff of the larger ones they come from."""


def refuse_vanishing_squares(moments: Moments) -> None:
    """Refuse moments of which a column is not constant, but without squares to go by."""
    for label in ("X",) if moments.one_view else ("X", "y"):
        squared_norms(moments, label, center=True)


def squared_norms(moments: Moments, label: str, center: bool) -> Array:
    """Squared norms of the variables, with 0 for those whose spread is within rounding.

    Rounding comes from means, which are known to their last digits and which sums of batches are
    about, or from a larger sum that rows were taken out of. The values themselves are exact: a
    spread of a few units in their last place is one. Squares that leave the range are refused.
    """
    w, n_covariates = moments.sum_weights, 0
    if label == "X":
        centred, mean, peak = moments.xx_diag, moments.x_mean, moments.x_peak
        names, label = moments.feature_names, moments._x_label
    else:
        assert moments.yy is not None and moments.y_mean is not None
        centred, mean, peak = moments.yy.diagonal(), moments.y_mean, moments.y_peak
        names, n_covariates = moments.target_names, moments.n_covariates
    if not center:
        with np.errstate(over="ignore"):
            norms: Array = centred + w * mean**2
        refuse_overflow(norms, label, names, n_covariates)
        small = (norms < SMALLEST_SQUARES) & ((norms > 0) | (mean != 0))
        refuse_vanishing(small, label, names, n_covariates)
        return norms
    with np.errstate(over="ignore"):
        rounding = w * (4 * EPS * mean) ** 2
    if peak is not None:
        rounding = np.maximum(rounding, ROUNDING * moments.eps * peak)
    norms = np.where(centred > rounding, centred, 0.0)
    low = norms < SMALLEST_SQUARES
    if low.any():
        refuse_vanishing(low & (norms > 0), label, names, n_covariates)
    return norms


def lost_to_shift(squares: Array, sums: Array, w: float, eps: float) -> Array:
    """Tell which columns, given sums about a shift, have no spread beyond the rounding of those."""
    offset = sums / (w or 1.0) * sums
    lost: Array = (squares > 0) & (squares - offset <= ROUNDING * eps * squares)
    return lost


def vanished(squares: Array, sums: Array, products: Array) -> Array | None:
    """Tell which columns have no squares although they are not constant, given sums about a shift.

    All sums of a constant column are exactly 0. ``products`` has a column for each. None where all
    columns have squares.
    """
    vanished: Array = squares < SMALLEST_SQUARES
    if not vanished.any():
        return None
    low = np.flatnonzero(vanished)
    vanished[low] = (squares[low] > 0) | (sums[low] != 0) | products[:, low].any(axis=0)
    return vanished


def vanished_sparse(squares: Array, mean: Array, A: sp.csr_array) -> Array | None:
    """Tell the same of sparse columns."""
    # Values that differ do so in their last digit at least: a larger mean would show it.
    vanished: Array = (squares < SMALLEST_SQUARES) & (np.abs(mean) < SMALLEST_SQUARES**0.25)
    vanished &= (mean != 0) | (squares > 0)
    if not vanished.any():
        return None
    low = np.flatnonzero(vanished)
    columns = A[:, low]
    vanished[low] = (columns.max(axis=0) != columns.min(axis=0)).toarray().ravel()
    return vanished


def mark_vanished(moments: Moments, x: Array | None, y: Array | None) -> None:
    """Give columns that are not constant a sum of squares above 0, in place.

    Further rows may make up for it; a selection refuses what is left so. The smallest number there
    is: however many of them are added, the sum stays below ``SMALLEST_SQUARES``.
    """
    if x is not None and x.any():
        x = x & (moments.xx_diag < LEAST)
        moments.xx_diag[x] = LEAST
        if moments.xx is not None:
            moments.xx[x, x] = LEAST
    if y is not None and moments.yy is not None and y.any():
        y = y & (np.diag(moments.yy) < LEAST)
        moments.yy[y, y] = LEAST


def suits_float32(squares: Array, A: Any) -> bool:
    """Tell whether sums of squares are finite and none has sunk to the bottom of the range."""
    if not np.isfinite(squares).all():
        return False
    limits = np.finfo(np.float32)
    low = np.flatnonzero(squares < limits.tiny / limits.eps**2)
    if not low.size or sp.issparse(A):
        return True
    # A constant column has no squares in any precision.
    first = A[0, low]
    return all((A[i : i + 4096, low] == first).all() for i in range(0, len(A), 4096))
