"""Near-copies and candidates that depend on each other become one variable."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from twins_from_rows import unit_columns

from projse.search.near_copies import group_copies, whitened


def correlations(X):
    X = unit_columns(X)
    return X.T @ X


def test_near_copies_share_a_label_and_others_do_not(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 6))
    X[:, 3] = -X[:, 0] + 0.01 * rng.normal(size=200)
    labels = group_copies(correlations(X), np.arange(6), 0.98)
    assert_array_equal(labels, [0, 1, 2, 0, 3, 4])
    assert_array_equal(group_copies(correlations(X), np.arange(6), 1.0), np.arange(6))
    assert_array_equal(group_copies(np.eye(1), np.array([7]), 0.5), [0])
    assert_array_equal(group_copies(correlations(X[:, [0, 3]]), np.arange(2), 0.98), [0, 0])


@pytest.mark.parametrize("limit", [0.5, 0.75, 1.0])
def test_correlations_of_just_the_limit_join_nothing_whatever_the_others_are(limit):
    S = np.eye(5)
    S[1, 3] = S[3, 1] = -limit
    assert_array_equal(group_copies(S, np.arange(5), limit), np.arange(5))
    S[0, 4] = S[4, 0] = 1.0
    joined = [0, 1, 2, 3, 4] if limit == 1 else [0, 1, 2, 3, 0]
    assert_array_equal(group_copies(S, np.arange(5), limit), joined)
    S[0, 4] = S[4, 0] = 1.0 + 1e-15  # rounding
    assert_array_equal(group_copies(S, np.arange(5), limit), joined)


def test_groups_that_hold_copies_of_each_other_are_joined(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 6))
    X[:, 5] = X[:, 0]
    assert_array_equal(
        group_copies(correlations(X), np.array([4, 4, 2, 2, 9, 9]), 0.98), [0, 0, 1, 1, 0, 0]
    )


def test_a_chain_of_neighbours_is_not_one_cluster(seed):
    lag = np.abs(np.subtract.outer(np.arange(60), np.arange(60)))
    labels = group_copies(0.985**lag, np.arange(60), 0.98)
    assert labels.max() > 10


def test_bases_are_orthonormal_within_variables_and_of_full_rank(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 7))
    X[:, 2] = X[:, 0]  # an exact copy
    S = correlations(X)
    B, of_column, labels = whitened(S, np.array([0, 1, 0, 2, 2, 3, 4]), 1e-10)
    assert_array_equal(labels, [0, 1, 0, 2, 2, 3, 4])
    assert_array_equal(np.sort(of_column), [0, 1, 2, 2, 3, 4])
    W = B.T @ S @ B
    within = np.equal.outer(of_column, of_column)
    assert_allclose(W[within], np.eye(6)[within], atol=1e-8)
    for column, g in zip(B.T, of_column, strict=True):
        assert not column[labels != g].any()


def test_candidates_that_depend_on_each_other_become_one_variable(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 8))
    X[:, 5] = X[:, 1] + X[:, 3]
    X[:, 7] = X[:, 6] + 1e-4 * X[:, 0]  # the share of column 0 is small, and exact
    B, of_column, labels = whitened(correlations(X), np.arange(8), 1e-11)
    assert_array_equal(labels, [0, 1, 2, 1, 3, 1, 0, 0])
    assert_array_equal(np.bincount(of_column), [2, 2, 1, 1])
    assert np.linalg.eigvalsh(B.T @ correlations(X) @ B)[0] > 1e-8


def test_levels_of_a_category_are_one_variable(seed):
    rng = np.random.default_rng(seed)
    levels = np.eye(4)[rng.integers(4, size=200)]
    X = np.column_stack([rng.normal(size=(200, 2)), levels])
    _, of_column, labels = whitened(correlations(X), np.arange(6), 1e-11)
    assert_array_equal(labels, [0, 1, 2, 2, 2, 2])
    assert_array_equal(of_column, [0, 1, 2, 2, 2])


def test_what_takes_part_by_less_than_what_counts_is_joined_where_nothing_else_is(
    seed, monkeypatch
):
    monkeypatch.setattr("projse.search.near_copies.SUPPORT", 0.9)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 20))
    S = correlations(np.column_stack([X, X.sum(axis=1)]))
    B, _, labels = whitened(S, np.arange(21), 1e-11)
    assert labels.max() < 20
    assert np.linalg.eigvalsh(B.T @ S @ B)[0] > 1e-8
