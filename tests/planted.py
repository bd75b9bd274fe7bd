"""A small problem whose first picks are decided, whatever the seed."""

from __future__ import annotations

import numpy as np

PICKS = (5, 2, 0)
"""Columns of X that the references are made of, in the order in which they are picked."""


def planted(seed, n_samples=200, n_features=8):
    """Candidates X, and references Y that span noisy copies of three of their columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features)) + rng.normal(size=n_features)
    noise = rng.normal(size=(n_samples, len(PICKS))) * [0.2, 0.6, 1.2]
    Y = (X[:, PICKS] + noise) @ np.array([[1.0, 0.5, 0.2], [-0.5, 1.0, 0.3], [0.1, -0.4, 1.0]])
    return X, Y + 1.0


def planted_labels(seed, n_samples=200, n_features=8):
    """Candidates X, and class labels 0, 1, 2 that two of their columns tell apart."""
    X, _ = planted(seed, n_samples, n_features)
    X[:, 5] -= X[:, 5].mean()
    codes = np.digitize(X[:, 5], [-0.4, 0.4])
    codes[:3] = 0, 1, 2
    X[:, 2] += 2.0 * (codes == 1)
    return X, codes


def two_views(rng, m=40, n_x=5, n_y=3):
    """Two views that share one direction, with means."""
    X = rng.normal(size=(m, n_x)) + rng.normal(size=n_x)
    Y = X[:, :1] + rng.normal(size=(m, n_y)) * rng.uniform(0.5, 2, size=n_y) + 1.0
    return X, Y
