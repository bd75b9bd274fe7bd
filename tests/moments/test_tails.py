"""Tails: a row that stands out in a variable and in a reference is told, where p-values mind it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from projse import Moments
from projse.moments.tails import long_tails


def normal_scores(rng, m, n):
    """Columns whose values are quantiles of the normal law, each in an order of its own."""
    values = norm.ppf((np.arange(m) + 0.5) / m)
    return np.column_stack([rng.permutation(values) for _ in range(n)])


def with_a_far_row(A, column, distance):
    A = A.copy()
    A[3, column] = distance
    return A


def told(X, Y, **more):
    moments = Moments.from_arrays(X, Y, **more)
    return long_tails(moments, np.arange(X.shape[1]), center=True)


@pytest.mark.parametrize("m", [5, 12, 30, 100, 3000])
def test_normal_columns_have_no_long_tails_however_few_rows(seed, m):
    rng = np.random.default_rng(seed)
    assert told(normal_scores(rng, m, 6), normal_scores(rng, m, 4)) is None


@pytest.mark.parametrize("weighted", [False, True])
def test_the_furthest_pair_is_named_with_its_distances(seed, weighted):
    rng = np.random.default_rng(seed)
    X = with_a_far_row(with_a_far_row(normal_scores(rng, 100, 5), 2, 9.0), 4, -7.0)
    Y = with_a_far_row(normal_scores(rng, 100, 3), 1, -8.0)
    rows = np.arange(100)
    weight = None
    if weighted:  # each row counts as often as its weight says
        weight = rng.integers(1, 4, 100).astype(float)
        rows = np.repeat(rows, weight.astype(int))
    found = told(X, Y, sample_weight=weight)
    assert (found.column, found.reference) == (2, 1)
    z = [(A[3] - A[rows].mean()) / A[rows].std() for A in (X[:, 2], Y[:, 1])]
    assert_allclose([found.x_distance, found.y_distance], np.abs(z), rtol=1e-9)


def test_one_long_tail_beside_normal_columns_is_fine(seed):
    rng = np.random.default_rng(seed)
    X, Y = normal_scores(rng, 100, 5), normal_scores(rng, 100, 3)
    assert told(with_a_far_row(X, 2, 9.0), Y) is None
    assert told(X, with_a_far_row(Y, 1, 9.0)) is None


def test_the_same_distances_are_fine_in_many_rows(seed):
    rng = np.random.default_rng(seed)
    found = {}
    for m in (100, 10_000):
        X = with_a_far_row(normal_scores(rng, m, 5), 2, 8.0)
        found[m] = told(X, with_a_far_row(normal_scores(rng, m, 3), 1, 8.0)) is not None
    assert found == {100: True, 10_000: False}


def test_the_law_of_rows_put_together_anew_is_what_it_says(seed):
    # A mean fourth power of 3 + g_x g_y / m: what the limit of 0.1 is about.
    rng = np.random.default_rng(seed)
    m = 100
    x = with_a_far_row(normal_scores(rng, m, 1), 0, 6.0).ravel()
    y = with_a_far_row(normal_scores(rng, m, 1), 0, 6.0).ravel()
    x, y = ((v - v.mean()) / np.linalg.norm(v - v.mean()) for v in (x, y))
    r = np.array([x @ rng.permutation(y) for _ in range(20_000)])
    fourth = np.mean(r**4) / np.mean(r**2) ** 2
    g = [m * h**2 - 3 * h * (2 - h) for h in ((x**2).max(), (y**2).max())]
    assert g[0] * g[1] / m > 0.1
    assert_allclose(fourth, 3 + g[0] * g[1] / m, rtol=0.15)


def test_a_rare_class_is_a_long_tail(seed):
    rng = np.random.default_rng(seed)
    X = with_a_far_row(normal_scores(rng, 100, 5), 2, 8.0)
    labels = np.where(np.arange(100) < 50, "a", "b").astype(object)
    assert told(X, labels) is None
    labels[[7, 60]] = "rare"
    found = told(X, labels)
    assert found.column == 2
    assert found.reference == 2  # of a, b, rare


def test_nothing_is_said_where_extremes_are_not_known_or_bounds(seed):
    rng = np.random.default_rng(seed)
    X = with_a_far_row(normal_scores(rng, 100, 5), 2, 9.0)
    Y = with_a_far_row(normal_scores(rng, 100, 3), 1, 9.0)
    moments = Moments.from_arrays(X, Y)
    every = np.arange(5)
    assert long_tails(moments, every, center=True) is not None
    assert long_tails(moments, np.array([0, 1]), center=True) is None
    assert long_tails(moments, every[:0], center=True) is None
    assert long_tails(Moments.from_arrays(X), every, center=True) is None
    moments.x_bounded = every == 2
    assert long_tails(moments, every, center=True) is None
    moments.x_bounded, moments.y_bounded = None, np.arange(3) == 1
    assert long_tails(moments, every, center=True) is None
    moments.y_bounded, moments.x_min, moments.x_max = None, None, None
    assert long_tails(moments, every, center=True) is None
