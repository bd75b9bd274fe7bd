"""Alignment of two kernels on samples, against its definition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse as sp
import scipy.stats
from planted import two_views

from projse.metrics import (
    kernel_alignment,
    linear_kernel_alignment,
)


def literal_alignment(K, L, centered):
    if centered:
        H = np.eye(len(K)) - 1 / len(K)
        K, L = H @ K @ H, H @ L @ H
    return np.trace(K @ L) / np.sqrt(np.trace(K @ K) * np.trace(L @ L))


@pytest.mark.parametrize("centered", [True, False])
def test_alignment_is_the_cosine_between_centred_matrices(seed, centered):
    X, Y = two_views(np.random.default_rng([seed, 9]))
    K = np.exp(-0.1 * scipy.spatial.distance.cdist(X, X, "sqeuclidean"))
    L = (Y @ Y.T + 1) ** 2
    before = K.copy(), L.copy()
    want = literal_alignment(K, L, centered)
    assert kernel_alignment(K, L, centered=centered) == pytest.approx(want, rel=1e-10)
    assert kernel_alignment(L, 3 * K, centered=centered) == pytest.approx(want, rel=1e-10)
    assert kernel_alignment(1e200 * K, 1e-200 * L, centered=centered) == pytest.approx(want)
    assert kernel_alignment(K, -L, centered=centered) == pytest.approx(-want, rel=1e-10)
    assert kernel_alignment(K, K, centered=centered) == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_array_equal([K, L], before)
    if centered:
        assert kernel_alignment(K + 5, L) == pytest.approx(want, rel=1e-8)


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("shape", [(40, 5, 3), (6, 9, 3), (6, 2, 9), (6, 9, 8), (7, 7, 7)])
def test_linear_alignment_is_that_of_the_linear_kernels(seed, shape, centered):
    m, n_x, n_y = shape
    X, Y = two_views(np.random.default_rng([seed, 10]), m, n_x, n_y)
    want = literal_alignment(X @ X.T, Y @ Y.T, centered)
    forms = [np.asarray, sp.csr_array, sp.csc_matrix, np.asfortranarray]
    for make_x in [*forms, pd.DataFrame]:
        for make_y in forms:
            got = linear_kernel_alignment(make_x(X), make_y(Y), centered=centered)
            assert got == pytest.approx(want, rel=1e-9)
    for scale in (1e120, 1e-120):
        got = linear_kernel_alignment(scale * X, Y / scale, centered=centered)
        assert got == pytest.approx(want, rel=1e-9)
    assert linear_kernel_alignment(X, X, centered=centered) == pytest.approx(1.0, abs=1e-12)


def test_linear_alignment_of_one_column_each_is_the_squared_correlation(seed):
    X, Y = two_views(np.random.default_rng([seed, 11]))
    want = np.corrcoef(X[:, 0], Y[:, 0])[0, 1] ** 2
    assert linear_kernel_alignment(X[:, :1], Y[:, 0]) == pytest.approx(want, rel=1e-10)


@pytest.mark.parametrize("m", [60, 4])
def test_linear_alignment_takes_class_labels(seed, m):
    rng = np.random.default_rng([seed, 12])
    labels = np.array(["a", "b", "c"])[np.arange(m) % 3]
    X = rng.normal(size=(m, 5)) + (labels == "b")[:, None]
    want = linear_kernel_alignment(X, pd.get_dummies(labels).to_numpy(dtype=float))
    for form in (labels, labels.tolist(), pd.Series(labels), np.arange(m) % 3):
        assert linear_kernel_alignment(X, form) == pytest.approx(want, rel=1e-10)
        assert linear_kernel_alignment(sp.csr_array(X), form) == pytest.approx(want, rel=1e-10)


@pytest.mark.parametrize("m", [50, 5])
def test_linear_alignment_survives_large_means(seed, m):
    X, Y = two_views(np.random.default_rng([seed, 13]), m=m, n_x=8)
    want = linear_kernel_alignment(X, Y)
    assert linear_kernel_alignment(X + 1e7, Y - 1e7) == pytest.approx(want, rel=1e-6)


def test_linear_alignment_builds_no_matrix_between_samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300_000, 2))  # whose kernel matrix would take 720 GB
    assert linear_kernel_alignment(X, X[:, 0] + 0.1 * X[:, 1]) > 0.5


def test_alignment_of_unrelated_views_is_small(seed):
    rng = np.random.default_rng([seed, 14])
    X, Y = rng.normal(size=(2000, 5)), rng.normal(size=(2000, 5))
    assert linear_kernel_alignment(X, Y) < 0.05
    assert linear_kernel_alignment(X + 3, Y + 3, centered=False) > 0.9


@pytest.mark.parametrize(
    ("K", "L", "message"),
    [
        (np.eye(3), np.eye(4), r"shapes \(3, 3\) and \(4, 4\)"),
        (np.ones((3, 2)), np.eye(3), r"K must be a square kernel matrix.*\(3, 2\)"),
        (np.eye(3), np.ones(3), r"L must be a square kernel matrix"),
        (np.eye(3), np.triu(np.ones((3, 3))), "L is asymmetric"),
        (np.diag([1.0, np.nan]), np.eye(2), "K contains NaN"),
        (np.full((3, 3), 0.1), np.eye(3), "K is constant"),
        (np.eye(2), np.zeros((2, 2)), "L is constant"),
        (np.eye(2) * 1j, np.eye(2), "K must hold real numbers"),
    ],
)
def test_alignment_refuses(K, L, message):
    with pytest.raises(ValueError, match=message):
        kernel_alignment(K, L)


def test_alignment_without_centring_refuses_zero_and_takes_constants():
    with pytest.raises(ValueError, match="L is zero"):
        kernel_alignment(np.eye(2), np.zeros((2, 2)), centered=False)
    ones = np.ones((2, 2))
    assert kernel_alignment(ones, ones, centered=False) == pytest.approx(1.0)


@pytest.mark.parametrize("m", [20, 2])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_linear_alignment_refuses(m, make):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(m, 3)), rng.normal(size=(m, 2))
    with pytest.raises(ValueError, match="X is constant"):
        linear_kernel_alignment(make(np.full((m, 3), 0.1)), Y)
    with pytest.raises(ValueError, match="Y is constant"):
        linear_kernel_alignment(make(X), np.full(m, 0.1))
    with pytest.raises(ValueError, match="X is zero"):
        linear_kernel_alignment(make(np.zeros((m, 3))), Y, centered=False)
    with pytest.raises(ValueError, match="Y is None"):
        linear_kernel_alignment(make(X), None)
    with pytest.raises(ValueError, match="different numbers of rows"):
        linear_kernel_alignment(make(X), Y[:-1])
    X[0, 1] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN or infinity, in column 1"):
        linear_kernel_alignment(make(X), Y)
