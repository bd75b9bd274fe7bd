"""Fixed-X knockoffs made from rows, as plainly as the textbook has them: the oracle."""

from __future__ import annotations

import numpy as np
from scipy.linalg import sqrtm


def unit_columns(X):
    X = X - X.mean(axis=0)
    return X / np.linalg.norm(X, axis=0)


def twins_from_rows(X, s, rng, n_twins=1):
    """Twins of centred columns of unit norm: a random basis of what is orthogonal to them.

    Several twins of each column stand one set after the other.
    """
    (m, p), k = X.shape, n_twins
    S, D = X.T @ X, np.diag(s)
    shared = np.kron(np.ones((k, k)), D - D @ np.linalg.inv(S) @ D)
    L = np.real(sqrtm(shared + np.kron(np.eye(k), D)))
    taken = np.linalg.qr(np.column_stack([np.ones(m), X]))[0]
    noise = rng.normal(size=(m, k * p))
    U = np.linalg.qr(noise - taken @ (taken.T @ noise))[0]
    # The sign of a column of qr goes by its first entry, which is not random.
    U = U * rng.choice([-1.0, 1.0], size=k * p)
    return np.tile(X - X @ np.linalg.inv(S) @ D, (1, k)) + U @ L
