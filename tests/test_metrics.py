"""Stability measures, kernel alignment and canonical correlations against plain formulas."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse as sp
import scipy.stats
from sklearn.cross_decomposition import CCA

from projse import subspace_correlation
from projse.metrics import (
    canonical_correlations,
    kernel_alignment,
    linear_kernel_alignment,
    nogueira_stability,
    pearson_stability,
)

FALSE_ALARM = 1e-7
"""Probability that a bound on a simulation fails by chance, on each side."""

# Nogueira's index


def sets_of_size(rng, n_runs, n_features, k):
    """Random sets of k variables, one a row."""
    order = np.argsort(rng.random((n_runs, n_features)), axis=1)
    return order < k


def literal_nogueira(Z):
    """The index and its variance, as they are printed, entry by entry."""
    M, d = len(Z), len(Z[0])
    p = [sum(row[f] for row in Z) / M for f in range(d)]
    k = [sum(row) for row in Z]
    mean = sum(p)
    chance = mean / d * (1 - mean / d)
    value = 1 - sum(M / (M - 1) * q * (1 - q) for q in p) / d / chance
    phi = [
        (
            sum(z * q for z, q in zip(row, p, strict=True)) / d
            - size * mean / d**2
            + value / 2 * (2 * size * mean / d**2 - size / d - mean / d + 1)
        )
        / chance
        for row, size in zip(Z, k, strict=True)
    ]
    average = sum(phi) / M
    return value, 4 / M**2 * sum((f - average) ** 2 for f in phi)


def test_nogueira_worked_example():
    # Frequencies 1, 2/3, 1/3, 0: the spread is 1/6, and 1/4 by chance.
    assert nogueira_stability([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]]) == pytest.approx(1 / 3)


def test_nogueira_equals_the_printed_formulas(seed):
    rng = np.random.default_rng([seed, 1])
    for _ in range(10):
        Z = rng.random((int(rng.integers(3, 12)), int(rng.integers(3, 9)))) < 0.4
        Z[0, 0], Z[0, 1] = True, False
        value, variance = literal_nogueira(Z.astype(int).tolist())
        for form in (Z, Z.astype(int), Z.astype(float), Z.tolist(), pd.DataFrame(Z)):
            assert nogueira_stability(form) == pytest.approx(value, abs=1e-12)
        for level, z in ((0.95, 1.959963985), (0.6826894921370859, 1.0)):
            again, (low, high) = nogueira_stability(Z, confidence=level)
            assert again == pytest.approx(value, abs=1e-12)
            half = z * variance**0.5
            assert (low, high) == pytest.approx((value - half, value + half), abs=1e-8)


def test_nogueira_is_the_mean_pairwise_correlation_of_sets_of_one_size(seed):
    rng = np.random.default_rng([seed, 2])
    for k in (1, 3, 9):
        Z = sets_of_size(rng, 12, 10, k)
        correlation = np.corrcoef(Z)[np.triu_indices(12, 1)].mean()
        assert nogueira_stability(Z) == pytest.approx(correlation, abs=1e-12)
        assert pearson_stability(Z) == pytest.approx(correlation, abs=1e-12)


def test_nogueira_is_kuncheva_s_index_for_sets_of_one_size(seed):
    Z = sets_of_size(np.random.default_rng([seed, 3]), 8, 12, 4)
    pairs = [(a & b).sum() for a, b in combinations(Z, 2)]
    kuncheva = np.mean([(12 * r - 16) / (4 * 8) for r in pairs])
    assert nogueira_stability(Z) == pytest.approx(kuncheva, abs=1e-12)


def test_nogueira_is_1_for_equal_sets_and_least_for_disjoint_ones():
    value, (low, high) = nogueira_stability([[1, 0, 1, 0]] * 5, confidence=0.9)
    assert value == low == high == 1.0
    assert nogueira_stability([[1, 0], [0, 1]]) == pytest.approx(-1.0)
    assert nogueira_stability(np.eye(4)) == pytest.approx(-1 / 3)


def test_nogueira_does_not_depend_on_the_order_of_rows_or_columns(seed):
    rng = np.random.default_rng([seed, 4])
    Z = sets_of_size(rng, 20, 10, 4)
    want = nogueira_stability(Z, confidence=0.95)
    got = nogueira_stability(Z[rng.permutation(20)][:, rng.permutation(10)], confidence=0.95)
    assert got[0] == pytest.approx(want[0], abs=1e-12)
    assert got[1] == pytest.approx(want[1], abs=1e-12)


def test_nogueira_of_random_sets_is_0_on_average(seed):
    rng = np.random.default_rng([seed, 5])
    values = [nogueira_stability(sets_of_size(rng, 10, 20, 5)) for _ in range(400)]
    # For sets of one size it is an average of correlations, whose expectation is exactly 0.
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values)) < 6 * error
    assert error < 0.005


def bernoulli_runs(rng, n_runs):
    """Variables selected independently with known frequencies; sets of any size."""
    return rng.random((n_runs, 20)) < np.repeat([0.95, 0.7, 0.3, 0.05], 5)


def noisy_ranking_runs(rng, n_runs):
    """The five best of twenty by noisy scores; sets of one size, entries that depend."""
    noisy = np.linspace(2.0, 0.0, 20) + 0.5 * rng.normal(size=(n_runs, 20))
    return np.argsort(np.argsort(-noisy, axis=1), axis=1) < 5


@pytest.mark.parametrize("runs", [bernoulli_runs, noisy_ranking_runs])
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_the_interval_of_nogueira_covers_as_it_says(seed, runs, level):
    rng = np.random.default_rng([seed, 6])
    truth = nogueira_stability(runs(np.random.default_rng(0), 400_000))
    n_trials = 600
    intervals = [nogueira_stability(runs(rng, 250), confidence=level)[1] for _ in range(n_trials)]
    covered = sum(low <= truth <= high for low, high in intervals)
    # 250 runs are not infinitely many: two percent either way are granted before chance.
    assert covered >= scipy.stats.binom.ppf(FALSE_ALARM, n_trials, level - 0.02)
    assert covered <= scipy.stats.binom.isf(FALSE_ALARM, n_trials, level + 0.02)


def test_the_frequencies_decide_the_value_of_many_independent_runs():
    p = np.repeat([0.95, 0.7, 0.3, 0.05], 5)
    expected = 1 - np.mean(p * (1 - p)) / (p.mean() * (1 - p.mean()))
    value = nogueira_stability(bernoulli_runs(np.random.default_rng(0), 400_000))
    assert value == pytest.approx(expected, abs=2e-3)


def test_the_interval_is_not_clipped():
    Z = np.zeros((10, 6), dtype=int)
    Z[:, :3] = 1
    Z[0, 2], Z[0, 3] = 0, 1
    value, (low, high) = nogueira_stability(Z, confidence=0.99)
    assert high > 1
    assert high - value == pytest.approx(value - low)


@pytest.mark.parametrize(
    ("Z", "message"),
    [
        ([[1, 0, 1]], r"Z has shape \(1, 3\)"),
        ([1, 0, 1], "Z must have shape .* 1 dimension"),
        (np.empty((3, 0)), r"Z has shape \(3, 0\)"),
        ([[0, 0], [0, 0]], "no variable is ever selected"),
        ([[1, 1], [1, 1]], "all variables are in all sets"),
        ([[1, 0.5], [0, 1]], "holds 0.5 in row 0, column 1"),
        ([[1, 0], [2, 1]], "holds 2 in row 1, column 0"),
        ([[1, 0], [0, np.nan]], "NaN or infinity, first in row 1"),
        ([["a", "b"], ["c", "d"]], "must hold real numbers"),
    ],
)
def test_nogueira_refuses(Z, message):
    with pytest.raises(ValueError, match=message):
        nogueira_stability(Z)


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.5, "95%", True, np.nan])
def test_nogueira_refuses_levels_outside_0_and_1(confidence):
    with pytest.raises(ValueError, match="confidence="):
        nogueira_stability([[1, 0], [0, 1]], confidence=confidence)


# Correlation of relevance


def test_pearson_stability_is_the_mean_over_all_pairs(seed):
    rng = np.random.default_rng([seed, 7])
    for n_runs in (2, 3, 30):
        W = rng.random((n_runs, 15)) * (rng.random((n_runs, 15)) < 0.5)
        W[:, 0], W[:, 1] = 1.0, 0.0
        pairs = [np.corrcoef(a, b)[0, 1] for a, b in combinations(W, 2)]
        assert pearson_stability(W) == pytest.approx(np.mean(pairs), abs=1e-12)
        assert pearson_stability(W * 1e-200) == pytest.approx(np.mean(pairs), abs=1e-12)
        assert pearson_stability(W * 1e200) == pytest.approx(np.mean(pairs), abs=1e-12)


def test_pearson_stability_is_1_for_relevances_equal_up_to_a_factor(seed):
    w = np.random.default_rng([seed, 8]).random(10)
    W = np.outer([1.0, 0.3, 7.0], w)
    assert pearson_stability(W) == pytest.approx(1.0, abs=1e-12)
    assert pearson_stability(W) <= 1.0
    assert pearson_stability([w, -w]) == pytest.approx(-1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("W", "message"),
    [
        ([[0.5, 0.0]], "two rows"),
        ([[0.5, 0.0], [0.0, 0.0], [0.1, 0.1]], "2 rows of W are constant, first row 1"),
        ([[0.1 + 0.2, 0.3], [0.0, 0.5]], "1 rows of W are constant, first row 0"),
        ([[0.5], [0.2]], "2 rows of W are constant"),
        ([[0.5, np.inf], [0.0, 1.0]], "NaN or infinity, first in row 0"),
    ],
)
def test_pearson_stability_refuses(W, message):
    with pytest.raises(ValueError, match=message):
        pearson_stability(W)


# Kernel alignment


def two_views(rng, m=40, n_x=5, n_y=3):
    X = rng.normal(size=(m, n_x)) + rng.normal(size=n_x)
    Y = X[:, :1] + rng.normal(size=(m, n_y)) * rng.uniform(0.5, 2, size=n_y) + 1.0
    return X, Y


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


# Canonical correlations


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
