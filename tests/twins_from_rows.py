"""Fixed-X knockoffs made from rows, as plainly as the textbook has them: the oracle."""

from __future__ import annotations

import numpy as np
from scipy.linalg import sqrtm


def unit_columns(X):
    X = X - X.mean(axis=0)
    return X / np.linalg.norm(X, axis=0)


def twins_from_rows(X, s, rng):
    """Twins of centred columns of unit norm: a random basis of what is orthogonal to them."""
    m, p = X.shape
    S, D = X.T @ X, np.diag(s)
    L = np.real(sqrtm(2 * D - D @ np.linalg.inv(S) @ D))
    taken = np.linalg.qr(np.column_stack([np.ones(m), X]))[0]
    noise = rng.normal(size=(m, p))
    U = np.linalg.qr(noise - taken @ (taken.T @ noise))[0]
    # The sign of a column of qr goes by its first entry, which is not random.
    U = U * rng.choice([-1.0, 1.0], size=p)
    return X - X @ np.linalg.inv(S) @ D + U @ L
