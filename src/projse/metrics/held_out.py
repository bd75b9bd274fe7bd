"""How well selected variables predict rows that were not used, from moments alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.metrics.whitening import ordered_whitening
from projse.moments.counts import rows_that_count
from projse.moments.partial import partialled
from projse.moments.rounding import squared_norms
from projse.moments.sparse_products import centred_yx
from projse.moments.sums import Moments
from projse.moments.views import restricted, second_moments

Array = NDArray[Any]

PENALTIES = (1e4, 1e3, 1e2, 10.0, 1.0, 0.1, 0.0)
"""Of a ridge on variables of unit variance, in rows. The best one is about ``k (1 − R²) / R²`` for
k variables that matter alike, and a factor of three to either side costs little."""

CHARGE = 1.5
"""What a degree of freedom of a regression costs, in rows. It would be 1 for variables that were
given; these were picked by the same rows and fit them better than they should (Kim and Gu charge
1.4, Friedman 2 to 3). It is also a bound: no regression spends more than two thirds of the rows."""


def held_out_r2(train: Moments, test: Moments, selected: Array, center: bool = True) -> Array:
    """R² on the rows of ``test`` of ridge regressions on the first 1, 2, … selected variables.

    Parameters
    ----------
    train, test : Moments
        Of the rows the regressions are fitted on, and of those they are judged on; with the
        products of the candidates.
    selected : ndarray of int of shape (k,)
        Candidates in the order of selection.
    center : bool
        Whether the regressions have an intercept.

    Returns
    -------
    ndarray of shape (k,)
        The share of the squared error of the training means that the regressions save, outputs
        being in units of their standard deviation in all rows: 1 is perfect, 0 is no better than
        the training means, and there is no lower limit. Outputs that are constant in all rows do
        not count. Covariates are taken out of both by regressions on the training rows, and the
        error of these takes the place of that of the means.

    Notes
    -----
    Each regression and output has a penalty of its own out of ``PENALTIES``, the one with the least
    generalised cross-validation on the training rows::

        GCV = ‖residual‖² / (m − 1 − CHARGE · df)²,    df = tr K (K + λI)⁻¹,    λ = penalty / m

    with K the correlations of the variables (without centring, cosines, and m instead of m − 1). In
    coordinates that whiten ``K + λI`` in the order of selection, the coefficients of a smaller
    regression are the first ones of a larger one, and its residuals and degrees of freedom are
    running sums. ``O(k² (k + n_y))`` flops a penalty, whatever the number of rows.

    ``sklearn.metrics.r2_score`` divides output by output by the spread of the test rows about their
    own mean, which is next to nothing by chance where they are few, or labels rare.
    """
    train, test = restricted(train, selected), restricted(test, selected)
    train, test = partialled(train, center), partialled(test, center, by=train)
    xx, xy, yy = second_moments(train, center)
    norms = np.sqrt(np.maximum(np.diag(xx), 0.0))
    unit = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    K, c = xx * unit[:, None] * unit, xy * unit[:, None]
    # Second moments of the test rows about the means of the training rows, or about zero.
    assert test.xx is not None and test.yy is not None
    assert test.y_mean is not None and train.y_mean is not None
    dx = test.x_mean - (train.x_mean if center else 0.0)
    dy = test.y_mean - (train.y_mean if center else 0.0)
    w = test.sum_weights
    held_xx = (test.xx + w * np.outer(dx, dx)) * unit[:, None] * unit
    held_xy = (centred_yx(test).T + w * np.outer(dx, dy)) * unit[:, None]
    empty = np.diag(test.yy) + w * dy**2

    m = rows_that_count(train.sum_weights, train.n_samples)
    n_given = int(center) + train.n_partialled
    least = np.full(c.shape, np.inf)
    residual = np.zeros(c.shape)
    for penalty in PENALTIES:
        # What is left of a variable must have digits of its own: other rows are judged by it.
        T = ordered_whitening(K + np.diag(penalty / m * (norms > 0)), tol=train.eps ** (2 / 3))
        B, H = T @ c, T @ K @ T.T
        fitted = _residuals(B, H, B, np.diag(yy))
        left = np.maximum(m - n_given - CHARGE * np.cumsum(np.diag(H)), 0.0)[:, None]
        gcv = np.full(c.shape, np.inf)
        np.divide(np.maximum(fitted, 0.0), left**2, out=gcv, where=left > 0)
        # The largest penalty stands where all regressions would spend too much.
        better = (gcv < least) | (penalty == PENALTIES[0])
        held = _residuals(B, T @ held_xx @ T.T, T @ held_xy, empty)
        residual = np.where(better, held, residual)
        least = np.where(better, gcv, least)

    spread = squared_norms(train + test, "y", center=True)
    weights = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    shifts = test.y_mean - train.y_mean
    of_means = (np.diag(test.yy) + w * shifts**2) @ weights
    return np.asarray(1 - residual @ weights / of_means if of_means else np.zeros(len(c)))


def _residuals(B: Array, H: Array, h: Array, empty: Array) -> Array:
    """Return sums of squared residuals of regressions with the first 1, 2, … coefficients.

    Parameters
    ----------
    B : ndarray of shape (k, n_y)
        Coefficients.
    H, h, empty : ndarray of shape (k, k), (k, n_y) and (n_y,)
        Second moments of some rows: of the coordinates, with the outputs, and of the outputs.
    """
    steps = B * (2 * (np.tril(H, -1) @ B) - 2 * h) + np.diag(H)[:, None] * B**2
    return np.asarray(empty + np.cumsum(steps, axis=0))
