"""Held-out R² of ridge regressions the long way: from rows, by scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LinearRegression, Ridge

from projse.metrics.held_out import CHARGE, PENALTIES


def honest_r2(X, Y, X_test, Y_test, *, center=True, weight=None, test_weight=None):
    """Fit on (X, Y), each output with the penalty of the least GCV, and judge on the test rows."""
    w = np.ones(len(X)) if weight is None else weight
    v = np.ones(len(X_test)) if test_weight is None else test_weight
    spread = np.average(X**2, axis=0, weights=w)
    if center:
        spread -= np.average(X, axis=0, weights=w) ** 2
    scale = np.where(spread > 1e-20, np.sqrt(np.abs(spread)), np.inf)
    X, X_test = X / scale, X_test / scale
    fits = [_fit(X, Y, penalty, w, center) for penalty in PENALTIES]
    best = np.argmin([gcv for gcv, _ in fits], axis=0)
    every = [model.predict(X_test) for _, model in fits]
    predicted = np.stack([every[best[j]][:, j] for j in range(Y.shape[1])], axis=1)
    both, weights = np.concatenate([Y, Y_test]), np.concatenate([w, v])
    about = both - np.average(both, axis=0, weights=weights)
    sd = np.sqrt(np.average(about**2, axis=0, weights=weights))
    moves = sd > 1e-12
    of_means = (Y_test - np.average(Y, axis=0, weights=w))[:, moves] / sd[moves]
    errors = (Y_test - predicted)[:, moves] / sd[moves]
    return 1 - (v @ errors**2).sum() / (v @ of_means**2).sum()


def _fit(X, Y, penalty, w, center):
    """Return the generalised cross-validation of a penalty, output by output, and the model."""
    least_squares = LinearRegression(fit_intercept=center)
    model = Ridge(alpha=penalty, fit_intercept=center) if penalty else least_squares
    model.fit(X, Y, sample_weight=w)
    centred = X - np.average(X, axis=0, weights=w) if center else X
    squares = np.linalg.svd(centred * np.sqrt(w)[:, None], compute_uv=False) ** 2
    squares = squares[squares > 1e-10 * squares.max()]
    left = w.sum() - center - CHARGE * (squares / (squares + penalty)).sum()
    error = w @ (Y - model.predict(X)) ** 2
    return error / left**2 if left > 0 else np.full(len(error), np.inf), model
