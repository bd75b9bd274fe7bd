"""The knockoff filter: thresholds, e-values and their combination, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from projse.search.knockoff_filter import combine, e_bh, evalues, threshold


def contests(rng, n=40, n_real=12):
    """Statistics of which the first are real; the others win as often as they lose."""
    size = rng.exponential(size=n)
    sign = rng.choice([-1.0, 1.0], size=n)
    size[:n_real] += 2.0
    sign[:n_real] = 1.0
    return size * sign


def plain_threshold(W, level, n_twins=1):
    for t in sorted(np.abs(W[W != 0])):
        if (1 + np.sum(-t >= W)) / n_twins / max(np.sum(t <= W), 1) <= level:
            return t
    return np.inf


@pytest.mark.parametrize("n_twins", [1, 4])
@pytest.mark.parametrize("level", [0.05, 0.1, 0.2, 0.5])
def test_threshold_is_the_first_with_few_enough_twins(seed, level, n_twins):
    rng = np.random.default_rng(seed)
    for n_real in (0, 5, 30):
        W = contests(rng, n_real=n_real)
        W[rng.integers(40)] = 0.0
        for figures in (W, np.round(W, 1)):
            expected = plain_threshold(figures, level, n_twins)
            assert threshold(figures, level, n_twins) == expected


def test_nothing_is_found_among_nothing():
    for W in (np.zeros(5), -np.ones(5)):
        assert threshold(W, 0.5) == np.inf
        assert_array_equal(evalues(W, 0.5), np.zeros(5))
        assert combine([W, W], 0.5).order.size == 0


def test_one_draw_is_knockoff_plus(seed):
    rng = np.random.default_rng(seed)
    for n_real in (0, 4, 12, 30):
        for level in (0.1, 0.2, 0.5):
            W = contests(rng, n_real=n_real)
            found = combine([W], level)
            t = plain_threshold(W, level)
            assert found.threshold == t
            assert set(found.order) == set(np.flatnonzero(t <= W))
            assert_array_equal(W[found.order], np.sort(W[found.order])[::-1])


def test_e_bh_takes_the_most_that_reach_their_bar(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        e = rng.exponential(3.0, size=30) ** 2
        bar = e_bh(e, 0.2)
        sizes = [k for k in range(1, 31) if np.sort(e)[-k] >= 30 / (0.2 * k)]
        assert np.sum(e >= bar) == max(sizes, default=0)


def test_e_values_of_what_does_not_matter_sum_to_their_number(seed):
    """Whatever the level, and where real variables take part: by many draws of the signs."""
    rng = np.random.default_rng(seed)
    size = rng.exponential(size=40)
    for k in (1, 5):
        for n_real, level in ((0, 0.05), (0, 0.3), (10, 0.05), (10, 0.3)):
            sums = []
            for _ in range(500):
                W = size * rng.choice([-1.0, 1.0], size=40, p=[k / (k + 1), 1 / (k + 1)])
                W[:n_real] = size[:n_real] + 1
                sums.append(evalues(W, level, k)[n_real:].sum() / 40)
            assert np.mean(sums) < 1 + 4 * np.std(sums) / np.sqrt(500)


def test_few_strong_variables_have_e_values_although_half_the_level_has_no_threshold(seed):
    W = contests(np.random.default_rng(seed), n_real=12)
    W[12:] *= 0.1
    assert threshold(W, 0.05) == np.inf
    assert_allclose(evalues(W, 0.05)[:12], 40.0)
    assert set(range(12)) <= set(combine([W] * 5, 0.1).order)


def test_combined_draws_keep_the_rate_of_false_discoveries(seed):
    rng = np.random.default_rng(seed)
    shares = []
    for _ in range(100):
        found = combine([contests(rng) for _ in range(5)], 0.2)
        shares.append(np.mean(found.order >= 12) if found.order.size else 0.0)
    assert np.mean(shares) < 0.2 + 4 * np.std(shares) / np.sqrt(100)


def test_with_several_twins_few_discoveries_are_enough(seed):
    """Of k twins each, a k-th of the wins that one twin asks for."""
    W = contests(np.random.default_rng(seed), n_real=4)
    W[4:] = -0.01 * np.abs(W[4:])
    assert threshold(W, 0.1) == np.inf
    assert set(combine([W], 0.1, 4).order) == set(range(4))
    assert set(combine([W] * 3, 0.1, 4).order) == set(range(4))
    assert combine([W] * 3, 0.1, 2).order.size == 0


def test_agreement_compares_the_halves_of_the_draws(seed):
    rng = np.random.default_rng(seed)
    W = contests(rng, n_real=20)
    W[20:] *= 0.1
    reverse = -W
    for n in (1, 3):  # two draws have halves of one draw each
        assert combine([W, W] * n, 0.2).agreement == 1.0
        assert combine([W, reverse] * n, 0.2).agreement == 0.0
    assert np.isnan(combine([W], 0.2).agreement)
    assert combine([W * 0] * 4, 0.2).agreement == 1.0


def test_what_single_draws_discover_is_kept(seed):
    rng = np.random.default_rng(seed)
    draws = [contests(rng) for _ in range(4)]
    found = combine(draws, 0.2)
    for W, alone in zip(draws, found.alone, strict=True):
        assert_array_equal(alone, plain_threshold(W, 0.2) <= W)
    assert_allclose(found.statistics, np.mean(draws, axis=0))
