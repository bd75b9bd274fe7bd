"""Tails: what stands out in a variable and in a reference is told, where p-values mind it."""

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
    assert [tail.column for tail in found] == [2, 1]
    assert [tail.rare_rows for tail in found] == [None, None]
    z = [(A[3] - A[rows].mean()) / A[rows].std() for A in (X[:, 2], Y[:, 1])]
    assert_allclose([tail.distance for tail in found], np.abs(z), rtol=1e-9)


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
    x, y = told(X, labels)
    assert x.column == 2
    assert y.column == 2  # of a, b, rare
    assert y.rare_rows == pytest.approx(2)


def in_rows(rng, m, share, n, values=(0.0, 1.0)):
    """Columns with the second of two values in a share of the rows, drawn anew for each."""
    events = np.full(m, values[0])
    events[: round(share * m)] = values[1]
    return np.column_stack([rng.permutation(events) for _ in range(n)])


@pytest.mark.parametrize("values", [(0.0, 1.0), (7.0, -3.0), (1e6, 1e6 + 1)])
@pytest.mark.parametrize("weighted", [False, True])
def test_rare_against_rare_is_told_with_the_rows_of_both(seed, values, weighted):
    rng = np.random.default_rng(seed)
    X = np.column_stack([normal_scores(rng, 200, 3), in_rows(rng, 200, 0.1, 2, values)])
    labels = np.where(in_rows(rng, 200, 0.04, 1).ravel() > 0, "rare", "usual")
    weight = rng.integers(1, 3, 200).astype(float) if weighted else None
    x, y = told(X, labels, sample_weight=weight)
    assert x.column in (3, 4)
    counts = np.ones(200) if weight is None else weight
    assert x.rare_rows == pytest.approx(counts[X[:, x.column] == values[1]].sum(), rel=1e-6)
    assert y.rare_rows == pytest.approx(counts[labels == "rare"].sum(), rel=1e-6)
    z = np.sqrt((counts.sum() - x.rare_rows) / x.rare_rows)
    assert x.distance == pytest.approx(z, rel=1e-6)


@pytest.mark.parametrize(
    ("m", "x_share", "y_share", "is_told"),
    [
        (200, 0.1, 0.05, True),
        (200, 0.05, 0.1, True),
        (200, 0.1, 0.1, True),
        (1000, 0.1, 0.1, False),
        (1000, 0.05, 0.05, True),
        (200, 0.5, 0.05, False),
        (200, 0.2, 0.2, False),
    ],
)
def test_rare_against_rare_counts_by_rows_and_shares(seed, m, x_share, y_share, is_told):
    # In 400 data sets each, p <= 0.05 came in 9 to 18 % where it is told, in 2 to 6 % where not.
    rng = np.random.default_rng(seed)
    X, Y = in_rows(rng, m, x_share, 4), in_rows(rng, m, y_share, 3)
    assert (told(X, Y) is not None) == is_told
    labels = np.where(Y[:, 0] > 0, "a", "b")
    assert (told(X, labels) is not None) == is_told


def test_the_law_of_two_values_put_together_anew_is_what_it_says(seed):
    # Mean third and fourth powers: s_x s_y / √m and 3 + g_x g_y / m.
    rng = np.random.default_rng(seed)
    m, p, q = 400, 0.06, 0.1
    x, y = (in_rows(rng, m, share, 1).ravel() for share in (p, q))
    x, y = ((v - v.mean()) / np.linalg.norm(v - v.mean()) for v in (x, y))
    r = np.array([x @ rng.permutation(y) for _ in range(20_000)])
    spread = np.sqrt(np.mean(r**2))
    third = (1 - 2 * p) * (1 - 2 * q) / np.sqrt(m * p * (1 - p) * q * (1 - q))
    excess = (1 / (p * (1 - p)) - 6) * (1 / (q * (1 - q)) - 6) / m
    assert_allclose(np.mean(r**3) / spread**3, third, atol=0.15)
    assert_allclose(np.mean(r**4) / spread**4, 3 + excess, atol=0.5)


def test_a_third_value_makes_it_no_column_of_two(seed):
    rng = np.random.default_rng(seed)
    X, Y = in_rows(rng, 200, 0.1, 1), in_rows(rng, 200, 0.05, 1)
    assert told(X, Y) is not None
    X[(X == 0).ravel().nonzero()[0][:40]] = 0.5
    assert told(X, Y) is None  # the furthest row of 20 alike stands out from nothing


def test_bounds_of_extremes_tell_nothing_and_where_there_are_none_a_long_reference_is_told(seed):
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
    x, y = long_tails(moments, every, center=True)
    assert x is None
    assert y.column == 1
    assert long_tails(moments, every[:0], center=True) is None
    assert long_tails(moments, every[:0], center=True, unseen=True) == (None, y)
    assert long_tails(Moments.from_arrays(X, Y[:, [0, 2]]), every, center=True, unseen=True) is None
