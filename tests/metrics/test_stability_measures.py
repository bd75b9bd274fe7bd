"""Agreement of selected sets and of relevances between runs, against plain formulas."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.stats
from variants import slow

from projse.metrics import (
    nogueira_stability,
    pearson_stability,
    stability_interval,
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


@cache
def index_of_very_many(runs):
    return nogueira_stability(runs(np.random.default_rng(0), 200_000))


@pytest.mark.parametrize("runs", [bernoulli_runs, noisy_ranking_runs])
@pytest.mark.parametrize("level", [0.95, *slow(0.8)])
def test_the_interval_of_nogueira_covers_as_it_says(seed, runs, level):
    rng = np.random.default_rng([seed, 6])
    truth = index_of_very_many(runs)
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


# Limits that hold for few runs, and where nearly all agree


def clear_ranking_runs(rng, n_runs):
    """The three best of twenty, which noise changes in one run of four."""
    noisy = np.repeat([4.0, 0.0], [3, 17]) + rng.normal(size=(n_runs, 20))
    return np.argsort(np.argsort(-noisy, axis=1), axis=1) < 3


def steady_runs(rng, n_runs):
    """The same three variables, but for one run in thirty."""
    Z = np.zeros((n_runs, 50), dtype=bool)
    Z[:, :3] = True
    other = rng.random(n_runs) < 1 / 30
    Z[other, 2], Z[other, 3] = False, True
    return Z


@pytest.mark.parametrize("n_runs", [10, *slow(30, 100)])
@pytest.mark.parametrize(
    "runs", [bernoulli_runs, noisy_ranking_runs, clear_ranking_runs, steady_runs]
)
def test_the_limits_cover_as_they_say_with_few_runs_and_near_1(seed, runs, n_runs):
    rng = np.random.default_rng([seed, 9])
    truth = index_of_very_many(runs)
    n_trials = 600
    limits = [stability_interval(runs(rng, n_runs)) for _ in range(n_trials)]
    covered = sum(low <= truth <= high for low, high in limits)
    assert covered >= scipy.stats.binom.ppf(FALSE_ALARM, n_trials, 0.93)


def test_limits_of_many_runs_are_those_that_were_published(seed):
    Z = bernoulli_runs(np.random.default_rng([seed, 10]), 20_000)
    assert stability_interval(Z, 0.9) == pytest.approx(
        nogueira_stability(Z, confidence=0.9)[1], abs=1e-4
    )


def test_the_limits_are_of_the_index_without_each_run(seed):
    rng = np.random.default_rng([seed, 11])
    Z = rng.random((9, 40)) < 0.5
    Z[:, 0], Z[:, 1] = True, False
    value, others = (
        nogueira_stability(Z),
        [nogueira_stability(np.delete(Z, i, axis=0)) for i in range(9)],
    )
    error = np.sqrt(8 / 9 * ((others - np.mean(others)) ** 2).sum())
    reach = scipy.stats.t.ppf(0.975, 8) * error
    k = Z.sum(axis=1).mean()
    event = 2 / (9 * 8 * k * (1 - k / 40)) * max(1 - 2 * value, 0)
    # D² = t² s² + z² e D at the limit, D from the index.
    high = stability_interval(Z)[1] - value
    assert high**2 == pytest.approx(reach**2 + scipy.stats.norm.ppf(0.975) ** 2 * event * high)


@pytest.mark.parametrize("n_runs", [3, 5, 10, 100])
def test_equal_sets_are_no_proof_that_the_next_is_equal(n_runs):
    low, high = stability_interval([[1, 1, 0, 0, 0, 0]] * n_runs)
    assert high == 1.0
    # A run in z² / M may differ in one variable of two.
    differ = scipy.stats.norm.ppf(0.975) ** 2 / n_runs
    assert low == pytest.approx(max(1 - 2 * differ / (2 * (1 - 2 / 6)), 0))


def test_disjoint_sets_are_no_proof_that_no_two_will_ever_meet():
    value = nogueira_stability(np.eye(6))
    low, high = stability_interval(np.eye(6))
    assert low == value < 0 < high < 0.5


def test_limits_hold_the_index_and_lie_between_0_and_1(seed):
    rng = np.random.default_rng([seed, 12])
    for _ in range(50):
        Z = rng.random((int(rng.integers(2, 12)), int(rng.integers(3, 9)))) < rng.random()
        Z[0, 0], Z[0, 1] = True, False
        value, narrow = nogueira_stability(Z), stability_interval(Z, 0.8)
        low, high = stability_interval(Z, 0.99)
        assert min(value, 0.0) <= low <= narrow[0] <= value <= narrow[1] <= high <= 1.0


@pytest.mark.parametrize("Z", [[[1, 0, 0], [1, 1, 0]], [[1, 0], [0, 0], [0, 0]]])
def test_nothing_is_known_of_two_runs_or_of_one_that_is_not_empty(Z):
    assert stability_interval(Z) == (min(nogueira_stability(Z), 0.0), 1.0)


@pytest.mark.parametrize("confidence", [0, 1, 95, None, "95%", True, np.nan])
def test_limits_refuse_levels_outside_0_and_1(confidence):
    with pytest.raises(ValueError, match=r"confidence=.* must lie between 0 and 1"):
        stability_interval([[1, 0], [0, 1], [1, 0]], confidence)


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
