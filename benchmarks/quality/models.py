"""What judges the picks: the same few models for every contestant, on held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.svm import SVC

from quality.problem import Array, Kind

RIDGES = np.logspace(-5, 2, 22)
MEASURES: dict[Kind, str] = {
    "numbers": "R² of a ridge regression, mean over the outputs",
    "labels": "R² of a ridge regression on the indicators, mean over the labels",
    "classes": "accuracy, mean of a linear and an RBF SVM (balanced where classes are uneven)",
    "two views": "first canonical correlation, picks of both sides, with a ridge",
    "one view": "variance of all columns explained by a ridge regression on the picks",
}


def ridge_r2(X: Array, Y: Array, X_test: Array, Y_test: Array) -> float:
    """Return the held-out R² of a ridge regression, mean over the outputs.

    The penalty of each output is chosen by generalised cross-validation on the training rows.
    Outputs have unit variance over all rows, so that few test rows do not make R² explode.
    """
    U, s, V = np.linalg.svd(X, full_matrices=False)
    target = U.T @ Y
    outside = (Y**2).sum(axis=0) - (target**2).sum(axis=0)
    m, best = len(X), np.full(Y.shape[1], np.inf)
    B = np.zeros((X.shape[1], Y.shape[1]))
    for ridge in RIDGES * m:
        kept = s**2 / (s**2 + ridge)
        error = outside + (((1 - kept)[:, None] * target) ** 2).sum(axis=0)
        gcv = error / (1 - (1 + kept.sum()) / m) ** 2 if kept.sum() < m - 1.5 else best
        better = gcv < best
        B[:, better] = V.T @ ((s / (s**2 + ridge))[:, None] * target[:, better])
        best = np.where(better, gcv, best)
    return float(1 - np.mean((Y_test - X_test @ B) ** 2))


def svm_accuracy(X: Array, y: Array, X_test: Array, y_test: Array) -> tuple[float, float]:
    """Return the accuracies of a linear and of an RBF machine (C = 1, γ as scikit-learn scales)."""
    counts = np.bincount(y)
    uneven = counts.max() > 2 * counts[counts > 0].min()
    score: Any = balanced_accuracy_score if uneven else accuracy_score
    weight = "balanced" if uneven else None
    linear, rbf = (
        score(y_test, SVC(kernel=kernel, class_weight=weight).fit(X, y).predict(X_test))
        for kernel in ("linear", "rbf")
    )
    return float(linear), float(rbf)


def held_out_correlation(X: Array, Y: Array, X_test: Array, Y_test: Array) -> float:
    """Return the first canonical correlation on held-out rows.

    The directions come from the training rows with a ridge of (columns / rows) on the correlation
    matrix of each side, about what they would inflate a correlation by.
    """
    m = len(X)
    roots = []
    for A in (X, Y):
        values, vectors = np.linalg.eigh(A.T @ A / m)
        values = np.maximum(values, 0) + A.shape[1] / m
        roots.append(vectors / np.sqrt(values) @ vectors.T)
    U, _, V = np.linalg.svd(roots[0] @ (X.T @ Y / m) @ roots[1])
    a, b = X_test @ roots[0] @ U[:, 0], Y_test @ roots[1] @ V[0]
    if min(a.std(), b.std()) <= 1e-12:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])
