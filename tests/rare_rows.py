"""A selection where the best scores rest on one or two rows."""

from __future__ import annotations

import numpy as np

RARE = [3, 7, 11]


def problem(seed, m=400, p=16, q=4):
    """Candidates 3, 7 and 11 are 0 but in a row or two, where outputs are that are 0 elsewhere."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, p))
    Y = X[:, :4] @ rng.normal(size=(4, q)) + rng.normal(size=(m, q))
    X[:, RARE] = 0.0
    Y[:, :3] = 0.0
    X[17, 3] = Y[17, 0] = 5.0
    X[[18, 19], 7] = Y[[18, 19], 1] = -2.0
    X[21, 11] = Y[21, 2] = 1.0
    return X, Y
