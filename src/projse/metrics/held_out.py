"""How well selected variables predict rows that were not used, from moments alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.metrics.whitening import ordered_whitening
from projse.moments.sparse_products import centred_yx
from projse.moments.sums import Moments
from projse.moments.views import restricted, second_moments

Array = NDArray[Any]


def held_out_r2(train: Moments, test: Moments, selected: Array, center: bool = True) -> Array:
    """R² on the rows of ``test`` of regressions on the first 1, 2, … selected variables.

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
    ndarray of shape (k, n_y)
        As ``sklearn.metrics.r2_score`` of least squares on ``selected[:i]`` defines it, one output
        a column: 1 is perfect, 0 is the mean of the test rows, and there is no lower limit. An
        output that is constant in the test rows has 1 where it is predicted exactly, else 0.

    Notes
    -----
    In coordinates that are white on the training rows in the order of selection, the coefficients
    of a smaller regression are the first ones of a larger one. ``O(k² (k + n_y))`` flops, whatever
    the number of rows.
    """
    train, test = restricted(train, selected), restricted(test, selected)
    xx, xy, _ = second_moments(train, center)
    # What is left of a variable must have digits of its own: other rows are judged by it.
    T = ordered_whitening(xx, tol=train.eps ** (2 / 3))
    B = T @ xy
    # Second moments of the test rows about the means of the training rows, or about zero.
    assert test.xx is not None and test.yy is not None
    assert test.y_mean is not None and train.y_mean is not None
    dx = test.x_mean - (train.x_mean if center else 0.0)
    dy = test.y_mean - (train.y_mean if center else 0.0)
    w = test.sum_weights
    H = T @ (test.xx + w * np.outer(dx, dx)) @ T.T
    h = T @ (centred_yx(test).T + w * np.outer(dx, dy))
    total = np.diag(test.yy)
    empty = total + w * dy**2
    steps = B * (2 * (np.tril(H, -1) @ B) - 2 * h) + np.diag(H)[:, None] * B**2
    residual = empty + np.cumsum(steps, axis=0)
    constant = total <= 16 * test.eps * empty
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = 1 - residual / total
    exact = residual <= 16 * test.eps * np.maximum(empty, np.finfo(np.float64).tiny)
    return np.where(constant, exact.astype(np.float64), r2)
