"""The pair that correlates most: found in tiles of both views, without the matrix of all pairs."""

import numpy as np
import pytest

from projse.estimators import best_pair as module
from projse.estimators.best_pair import best_pair
from projse.kernels.feature_gram import tiles
from projse.sources.rows import make_rows


def _honest(X, Y, weight):
    w = np.ones(len(X)) if weight is None else weight
    A, B = (M - np.average(M, axis=0, weights=w) for M in (X, Y))
    A, B = A * np.sqrt(w)[:, None], B * np.sqrt(w)[:, None]
    squares = (A.T @ B) ** 2 / np.outer((A**2).sum(0), (B**2).sum(0))
    return tuple(np.argwhere(squares >= squares.max() * (1 - 1e-10))[0])


@pytest.mark.parametrize("weighted", [False, True])
def test_pair_of_tiles_is_that_of_all_pairs(seed, weighted, monkeypatch):
    monkeypatch.setattr(module, "tiles", lambda n, width=7: tiles(n, min(width, 7)))
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((40, 30)), rng.standard_normal((40, 25))
    x, y = rng.integers(30), rng.integers(25)
    Y[:, y] += 2 * X[:, x]
    weight = rng.uniform(0.5, 2.0, 40) if weighted else None
    rows = make_rows(X, Y, weight, target_type="continuous")
    everything = np.ones(30, dtype=bool), np.ones(25, dtype=bool)
    assert best_pair(rows, True, *everything) == _honest(X, Y, weight)


def test_first_of_equal_pairs_wins_across_tiles(seed, monkeypatch):
    monkeypatch.setattr(module, "tiles", lambda n, width=3: tiles(n, min(width, 3)))
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((50, 9)), rng.standard_normal((50, 9))
    Y[:, 7] = X[:, 1]
    Y[:, 2] = -X[:, 1]
    X[:, 5] = 3 * X[:, 1]
    rows = make_rows(X, Y, None, target_type="continuous")
    allowed = np.ones(9, dtype=bool)
    assert best_pair(rows, True, allowed, allowed) == (1, 2)
    without = allowed.copy()
    without[1] = False
    assert best_pair(rows, True, without, allowed) == (5, 2)
