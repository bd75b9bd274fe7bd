"""Canonical correlations against bases of both spaces."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse as sp
import scipy.stats
from planted import two_views
from sklearn.cross_decomposition import CCA

from projse import subspace_correlation
from projse.metrics import (
    canonical_correlations,
)


def by_bases(X, Y, center=True):
    """Cosines of the angles between the spaces, by Björck and Golub."""
    X, Y = (A - A.mean(axis=0) if center else A for A in (X, Y))
    bases = [scipy.linalg.orth(A / np.linalg.norm(A, axis=0)) for A in (X, Y)]
    return scipy.linalg.svdvals(bases[0].T @ bases[1])


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("shape", [(40, 5, 3), (40, 3, 5), (60, 1, 4), (60, 4, 1), (200, 20, 20)])
def test_canonical_correlations_are_cosines_between_the_spaces(seed, shape, center):
    X, Y = two_views(np.random.default_rng([seed, 15]), *shape)
    want = by_bases(X, Y, center)
    for make in (np.asarray, sp.csr_array, sp.csc_matrix, pd.DataFrame):
        got = canonical_correlations(make(X), Y, center=center)
        assert got.shape == (min(shape[1:]),)
        np.testing.assert_allclose(got, want, atol=1e-9)
    np.testing.assert_allclose(canonical_correlations(Y, X, center=center), want, atol=1e-9)
    got = canonical_correlations(X, sp.csr_matrix(Y), center=center)
    np.testing.assert_allclose(got, want, atol=1e-9)


def test_the_first_canonical_correlation_is_that_of_scikit_learn(seed):
    rng = np.random.default_rng([seed, 16])
    X, Y = two_views(rng, m=300)
    Y += 3 * X[:, [1]]  # a first direction that iteration finds fast
    found = CCA(n_components=1, max_iter=20_000, tol=1e-14).fit(X, Y)
    u, v = (part[:, 0] for part in found.transform(X, Y))
    want = np.corrcoef(u, v)[0, 1]
    assert canonical_correlations(X, Y)[0] == pytest.approx(want, abs=1e-6)


def test_known_angles_are_found(seed):
    rng = np.random.default_rng([seed, 17])
    A = rng.normal(size=(50, 7))
    Q = np.linalg.qr(A - A.mean(axis=0))[0]
    cosines = np.array([1.0, 0.9, 0.5, 0.0])
    X = Q[:, :4]
    Y = X[:, :3] * cosines[:3] + Q[:, 4:] * np.sqrt(1 - cosines[:3] ** 2)
    for offset, scale in ((0.0, 1.0), (100.0, 1e-6), (3.0, 1e9)):
        mixed_x = scale * (X @ rng.normal(size=(4, 4)) + offset)
        mixed_y = Y @ rng.normal(size=(3, 3))
        got = canonical_correlations(mixed_x, mixed_y)
        np.testing.assert_allclose(got, cosines[:3], atol=1e-5)


def test_one_column_gives_the_correlation_with_a_space(seed):
    X, Y = two_views(np.random.default_rng([seed, 18]))
    for j in range(5):
        got = canonical_correlations(X[:, [j]], Y[:, 0])
        np.testing.assert_allclose(got, [abs(np.corrcoef(X[:, j], Y[:, 0])[0, 1])], atol=1e-12)
        got = canonical_correlations(X[:, [j]], Y)
        np.testing.assert_allclose(got, subspace_correlation(X[:, [j]], Y), atol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_constant_and_dependent_columns_add_nothing(seed, make):
    rng = np.random.default_rng([seed, 19])
    X, Y = two_views(rng)
    want = canonical_correlations(X, Y)
    constant = np.full((40, 1), 0.1)
    more_x = np.hstack([X, constant, X[:, [0]], 2 * X[:, [1]] - X[:, [2]], 0 * constant])
    more_y = np.hstack([Y, Y @ rng.normal(size=(3, 2)), 1e8 * constant])
    got = canonical_correlations(make(more_x), make(more_y))
    assert got.shape == (6,)
    np.testing.assert_allclose(got[:3], want, atol=1e-8)
    np.testing.assert_array_equal(got[3:], 0.0)
    none = canonical_correlations(make(np.hstack([constant, 0 * constant])), Y)
    np.testing.assert_array_equal(none, [0.0, 0.0])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_a_pixel_that_is_on_in_one_image_gives_no_nan(seed, make):
    rng = np.random.default_rng([seed, 20])
    X = np.where(rng.random((60, 12)) < 0.5, rng.random((60, 12)), 0.0)
    X[:, 3], X[:, 4] = 0.0, 0.0
    X[7, 3], X[7, 4] = 1e-3, 1.0  # the same picture twice
    X[9, 10] = 1e4
    for k in range(1, 7):
        got = canonical_correlations(make(X[:, :k]), make(X[:, 6 : 6 + k]))
        assert got.shape == (k,)
        assert np.all((got >= 0) & (got <= 1))
        assert np.all(np.diff(got) <= 0)
        want = by_bases(X[:, [j for j in range(k) if j != 4 or k < 5]], X[:, 6 : 6 + k])
        n = min(len(got), len(want))
        np.testing.assert_allclose(got[:n], want[:n], atol=1e-8)


def test_with_as_many_columns_as_rows_every_correlation_is_1(seed):
    X, Y = two_views(np.random.default_rng([seed, 21]), m=10, n_x=30, n_y=3)
    np.testing.assert_allclose(canonical_correlations(X, Y), 1.0, atol=1e-9)


def test_weights_count_rows(seed):
    rng = np.random.default_rng([seed, 22])
    X, Y = two_views(rng)
    counts = rng.integers(0, 4, size=40)
    want = canonical_correlations(np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0))
    got = canonical_correlations(X, Y, counts)
    np.testing.assert_allclose(got, want, atol=1e-9)


def test_labels_give_the_share_between_classes(seed):
    rng = np.random.default_rng([seed, 23])
    labels = np.arange(60) % 3
    x = rng.normal(size=60) + labels
    means = np.array([x[labels == c].mean() for c in range(3)])
    want = means[labels].std() / x.std()
    np.testing.assert_allclose(canonical_correlations(x[:, None], labels), [want], atol=1e-12)
    wide = canonical_correlations(rng.normal(size=(60, 5)), labels.astype(str))
    assert wide.shape == (3,)  # the indicators sum to one: there are two directions
    assert wide[1] > 0
    assert wide[2] == 0


def test_float32_loses_its_own_digits_only(seed):
    X, Y = two_views(np.random.default_rng([seed, 24]), m=500)
    got = canonical_correlations(X.astype(np.float32), Y.astype(np.float32))
    np.testing.assert_allclose(got, canonical_correlations(X, Y), atol=1e-4)


def test_canonical_correlations_refuse():
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(ValueError, match="Y is None"):
        canonical_correlations(X, None)
    with pytest.raises(ValueError, match="1 row"):
        canonical_correlations(X[:1], X[:1])
    with pytest.raises(ValueError, match="1 row"):
        canonical_correlations(X, X, [0, 0, 1, 0, 0, 0])
    with pytest.raises(ValueError, match="different numbers of rows"):
        canonical_correlations(X, X[:3])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        canonical_correlations(np.where(X == 3, np.nan, X), X)
