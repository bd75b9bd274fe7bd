"""Held-out R² from moments equals regressions on the rows."""

from __future__ import annotations

import numpy as np
import pytest
from honest_ridge import honest_r2
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

import projse.metrics.held_out
from projse import Moments
from projse.metrics.held_out import held_out_r2


def halves(X, Y, weight=None):
    m = len(X) // 2
    parts = (slice(0, m), slice(m, None))
    w = [None if weight is None else weight[part] for part in parts]
    return [Moments.from_arrays(X[p], Y[p], v, with_xx=True) for p, v in zip(parts, w, strict=True)]


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("m", [24, 60, pytest.param(2000, marks=pytest.mark.slow)])
def test_equals_ridge_regressions_for_every_number_of_variables(seed, m, center):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 20)) * rng.uniform(0.1, 10, size=20) + rng.normal(size=20)
    Y = X[:, :3] @ rng.normal(size=(3, 4)) * [0, 0.3, 1, 3] + 2 * rng.normal(size=(m, 4))
    order = rng.permutation(20)
    half = m // 2
    got = held_out_r2(*halves(X, Y), order, center)
    want = [
        honest_r2(X[:half, p], Y[:half], X[half:, p], Y[half:], center=center)
        for p in (order[: k + 1] for k in range(20))
    ]
    assert_allclose(got, want, rtol=1e-8, atol=1e-8)


def test_dependent_picks_add_nothing_and_constant_outputs_do_not_count(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 6))
    X = np.column_stack([X, X[:, 0], np.ones(60)])
    Y = X[:, :4] @ rng.normal(size=(4, 3)) + 0.3 * rng.normal(size=(60, 3))
    Y = np.column_stack([Y, np.r_[rng.normal(size=30), np.zeros(30)]])
    order = np.array([0, 6, 7, 1, 2])
    got = held_out_r2(*halves(X, Y), order)
    for k in range(5):
        p = order[: k + 1]
        assert_allclose(got[k], honest_r2(X[:30, p], Y[:30], X[30:, p], Y[30:]), atol=1e-7)
    with_constant = np.column_stack([Y, np.full(60, 0.1)])
    assert_allclose(held_out_r2(*halves(X, with_constant), order), got)


def test_weights_on_another_scale_change_nothing(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 6))
    Y = X[:, :2] + rng.normal(size=(80, 2))
    order = np.arange(6)
    want = held_out_r2(*halves(X, Y), order)
    assert_allclose(held_out_r2(*halves(X, Y, np.full(80, 1e-3)), order), want)


def test_is_the_usual_r2_of_least_squares_where_rows_are_many(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20_000, 5))
    y = X[:, :2] @ rng.normal(size=(2, 1)) + rng.normal(size=(20_000, 1))
    half = len(X) // 2
    model = LinearRegression().fit(X[:half], y[:half])
    want = r2_score(y[half:], model.predict(X[half:]))
    assert held_out_r2(*halves(X, y), np.arange(5))[-1] == pytest.approx(want, abs=2e-3)


def test_rows_that_all_sit_at_the_training_mean_score_zero():
    X, Y = np.arange(8.0)[:, None], np.array([[0.0, 1, 2, 3, 1.5, 1.5, 1.5, 1.5]]).T
    assert held_out_r2(*halves(X, Y), np.array([0])) == [0.0]


def test_no_regression_spends_more_than_two_thirds_of_the_rows(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(80, 39)), rng.normal(size=(80, 3))
    bounded = held_out_r2(*halves(X, Y), np.arange(39))
    assert bounded.min() > -3
    monkeypatch.setattr(projse.metrics.held_out, "PENALTIES", (0.0,))
    assert held_out_r2(*halves(X, Y), np.arange(39)).min() < -10
