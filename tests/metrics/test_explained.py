"""What each pick adds is what least squares adds, in the order of selection."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from projse import Moments
from projse.metrics.explained import added_r2
from projse.moments.views import restricted, second_moments


def explained(moments, center=True, groups=None):
    xx, xy, yy = second_moments(moments, center)
    return added_r2(xx, xy, np.diag(yy), groups=groups, eps=moments.eps)


def least_squares(X, Y, weight=None, center=True):
    """R² of regressions on the first 1, 2, … columns, less that of the one before."""
    w = np.ones(len(X)) if weight is None else weight
    mean = np.average(Y, axis=0, weights=w) if center else 0.0
    spread = w @ (Y - mean) ** 2
    r2 = [np.zeros(Y.shape[1])]
    for k in range(1, X.shape[1] + 1):
        fit = LinearRegression(fit_intercept=center).fit(X[:, :k], Y, w)
        r2.append(1 - w @ (Y - fit.predict(X[:, :k])) ** 2 / spread)
    return np.diff(r2, axis=0)


@pytest.fixture
def data(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 6)) @ rng.normal(size=(6, 6)) + rng.normal(size=6)
    return X, X[:, :3] @ rng.normal(size=(3, 4)) + rng.normal(size=(60, 4)) + 1.0


@pytest.mark.parametrize("center", [True, False])
def test_each_pick_adds_the_r2_that_least_squares_adds(data, seed, center):
    X, Y = data
    order = np.array([4, 1, 5, 0])
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, size=len(X))
    moments = Moments.from_arrays(X, Y, weight, with_xx=True)
    found = explained(restricted(moments, order), center)
    np.testing.assert_allclose(found, least_squares(X[:, order], Y, weight, center), atol=1e-9)


def test_combinations_copies_and_constants_add_nothing(data):
    X, Y = data
    X = np.column_stack([X[:, :2], X[:, 0] + X[:, 1], X[:, 1], np.ones(len(X)), X[:, 2]])
    found = explained(Moments.from_arrays(X, Y, with_xx=True))
    np.testing.assert_array_equal(found[2:5], 0.0)
    np.testing.assert_allclose(found[[0, 1, 5]], least_squares(X[:, [0, 1, 5]], Y), atol=1e-9)


def test_constant_outputs_are_nan_and_copies_are_explained_wholly(data):
    X, _ = data
    Y = np.column_stack([np.full(len(X), 3.0), X[:, 1]])
    found = explained(Moments.from_arrays(X, Y, with_xx=True))
    assert np.isnan(found[:, 0]).all()
    assert found[:, 1].sum() == pytest.approx(1.0, abs=1e-12)
    assert (found[:, 1] >= 0).all()
    assert found[2:, 1].max() < 1e-12


def test_columns_of_a_group_count_together(data):
    X, Y = data
    moments = Moments.from_arrays(X, Y, with_xx=True)
    found = explained(moments, groups=np.array([0, 0, 1, 2, 2, 2]))
    single = explained(moments)
    expected = [single[:2].sum(axis=0), single[2], single[3:].sum(axis=0)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_nothing_picked_explains_nothing():
    assert added_r2(np.empty((0, 0)), np.empty((0, 3)), np.ones(3)).shape == (0, 3)
