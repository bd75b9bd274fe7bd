"""Eigendecompositions straight from LAPACK are those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from projse.kernels.eigh import SMALL, eigh


@pytest.mark.parametrize("n", [1, 4, 60, SMALL, SMALL + 1])
@pytest.mark.parametrize("order", ["C", "F"])
def test_values_ascend_and_vectors_diagonalise(seed, n, order):
    A = np.random.default_rng(seed).normal(size=(n, n))
    K = np.asarray(A @ A.T, order=order)
    before = K.copy()
    values, vectors = eigh(K)
    assert_allclose(values, np.linalg.eigvalsh(K), atol=1e-10 * values[-1])
    assert_allclose((vectors * values) @ vectors.T, before, atol=1e-10 * values[-1])
    assert_allclose(K, before, rtol=0)


def test_nothing_has_no_directions():
    values, vectors = eigh(np.empty((0, 0)))
    assert values.shape == (0,)
    assert vectors.shape == (0, 0)


def test_what_is_not_finite_is_an_error_and_no_answer():
    with pytest.raises(np.linalg.LinAlgError):
        eigh(np.full((5, 5), np.nan))
