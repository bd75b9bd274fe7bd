"""Accuracy of support vector machines, and alignment with classes, without m × m matrices."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC, LinearSVC

Array = NDArray[Any]

BLOCK = 2048


def linear_accuracy(X: Array, y: Array, X_test: Array, y_test: Array) -> float:
    """Test accuracy of a linear SVM with default parameters."""
    model = LinearSVC(random_state=0, max_iter=5000).fit(X, y)
    return float(model.score(X_test, y_test))


def rbf_accuracy(X: Array, y: Array, X_test: Array, y_test: Array) -> float:
    """Test accuracy of an SVM with an RBF kernel, σ the mean distance between training rows."""
    model = SVC(gamma=mean_distance_gamma(X), cache_size=500).fit(X, y)
    predicted = np.concatenate(
        [predict(model, X_test[i : i + BLOCK]) for i in range(0, len(X_test), BLOCK)]
    )
    return float((predicted == y_test).mean())


def predict(model: SVC, X: Array) -> Array:
    """Predict as ``model.predict``, by two matrix products instead of a loop over the rows."""
    K = rbf(X, model.support_vectors_, model._gamma)
    ends = np.cumsum(model.n_support_)
    starts = ends - model.n_support_
    pairs = list(combinations(range(len(model.classes_)), 2))
    W = np.zeros((len(model.support_vectors_), len(pairs)))
    for p, (i, j) in enumerate(pairs):
        W[starts[i] : ends[i], p] = model.dual_coef_[j - 1, starts[i] : ends[i]]
        W[starts[j] : ends[j], p] = model.dual_coef_[i, starts[j] : ends[j]]
    won = K @ W + model.intercept_ > 0
    votes = np.zeros((len(X), len(model.classes_)), dtype=int)
    for p, (i, j) in enumerate(pairs):
        votes[:, i] += won[:, p]
        votes[:, j] += ~won[:, p]
    return model.classes_[votes.argmax(axis=1)]


def mean_distance_gamma(X: Array, n: int = 2000) -> float:
    """Return ``1 / (2 σ²)`` with σ the mean distance between (at most n evenly spaced) rows."""
    some = X[:: max(1, len(X) // n)]
    distances = np.sqrt(_squared_distances(some, some))
    m = len(some)
    sigma = float(distances.sum() / (m * (m - 1)))
    return 1 / (2 * sigma**2)


def rbf(A: Array, B: Array, gamma: float) -> Array:
    """Return the RBF kernel between rows."""
    K = _squared_distances(A, B)
    K *= -gamma
    return np.exp(K, out=K)


def _squared_distances(A: Array, B: Array) -> Array:
    squares = np.einsum("ij,ij->i", A, A)[:, None] + np.einsum("ij,ij->i", B, B)
    return np.maximum(squares - 2 * A @ B.T, 0, out=squares)


def rbf_alignment(X: Array, y: Array) -> float:
    """Align the RBF kernel of rows with the linear kernel of their classes, both centred.

    ``projse.metrics.kernel_alignment`` of the two m × m matrices, from blocks of rows of them.
    """
    gamma, m = mean_distance_gamma(X), len(X)
    classes, codes = np.unique(y, return_inverse=True)
    onehot = np.eye(len(classes))[codes]
    sizes = onehot.sum(axis=0)
    row_sums, within, squares = np.zeros(m), 0.0, 0.0
    for start in range(0, m, BLOCK):
        stop = min(m, start + BLOCK)
        K = rbf(X[start:stop], X, gamma)
        row_sums[start:stop] = K.sum(axis=1)
        squares += float(np.vdot(K, K))
        within += float(np.vdot(K @ onehot, onehot[start:stop]))
    total = row_sums.sum()
    norm_k = squares - 2 * (row_sums @ row_sums) / m + (total / m) ** 2
    label_rows = onehot @ sizes
    norm_l = (sizes**2).sum() - 2 * (label_rows @ label_rows) / m + (label_rows.sum() / m) ** 2
    inner = within - 2 * (row_sums @ label_rows) / m + total * label_rows.sum() / m**2
    return float(inner / np.sqrt(norm_k * norm_l))
