"""Products of some candidates with all: slices of rows add up to those of whole columns."""

import numpy as np
import pytest

from projse.moments import own_products as module
from projse.moments.in_memory import moments_of
from projse.sources.rows import make_rows


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("mean", [0.0, 1e5])
def test_slices_of_rows_add_up(seed, weighted, mean, monkeypatch):
    monkeypatch.setattr(module, "COPY_BYTES", 1)
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3000, 12)) + mean * rng.standard_normal(12)
    X[1024:2048] += 3.0
    weight = rng.integers(0, 3, 3000).astype(float) if weighted else None
    if weighted:
        weight[1024:2048] = 0.0
    rows = make_rows(X, X[:, :2], weight, target_type="continuous")
    indices = np.array([7, 0, 11])
    found = module.own_products(rows, moments_of(rows))(indices)
    w = np.ones(3000) if weight is None else weight
    A = X - np.average(X, axis=0, weights=w)
    expected = (A * w[:, None])[:, indices].T @ A
    np.testing.assert_allclose(found, expected, atol=1e-9 * 3000 * (1 + mean * 1e-3))
