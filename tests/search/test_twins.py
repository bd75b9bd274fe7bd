"""Twins from moments: the law of those from rows, whatever is singular."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import toeplitz
from scipy.optimize import minimize
from scipy.stats import kstest
from twins_from_rows import twins_from_rows, unit_columns

from projse.search.contest import Rivals
from projse.search.twins import (
    Twins,
    definite_root,
    echelon_root,
    equal_distances,
    least_reconstructable,
    orthogonal_corner,
    wishart,
)


def problem(seed, m=40, p=4, q=3):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(p, p)) + 2 * np.eye(p)
    X = unit_columns(rng.normal(size=(m, p)) @ mixing)
    Y = 2 * X[:, :1] + rng.normal(size=(m, q)) @ rng.normal(size=(q, q))
    return X, Y - Y.mean(axis=0), rng


def twins_of(X, Y, s, n_twins=1):
    return Twins(X.T @ X, X.T @ Y, Y.T @ Y, len(X) - 1, s, n_twins)


def gram_of(X, s, n_twins=1):
    """Products of candidates and twins."""
    return Rivals(X.T @ X, s, np.arange(len(s)), len(X) - 1, n_twins).gram


def both_ways(seed, n, n_twins=1, **sizes):
    """Products of twins with outputs, from moments and from rows."""
    X, Y, rng = problem(seed, **sizes)
    s = least_reconstructable(X.T @ X, n_twins)
    twins = twins_of(X, Y, s, n_twins)
    ours = np.array([twins.draw(rng)[1:] for _ in range(n)])
    theirs = np.array([twins_from_rows(X, s, rng, n_twins).T @ Y for _ in range(n)])
    return ours.reshape(n, -1), theirs.reshape(n, -1)


def same_law(ours, theirs, sigmas):
    n = len(ours)
    spread = np.sqrt(ours.var(axis=0) + theirs.var(axis=0))
    assert np.all(np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < sigmas * spread / np.sqrt(n))
    units = spread / np.sqrt(2)
    a, b = np.cov((ours / units).T), np.cov((theirs / units).T)
    # The variance of a covariance of n draws is at most 2/n in these units, for both.
    assert np.all(np.abs(a - b) < sigmas * np.sqrt(4 / n))
    for x, y in zip(ours.T, theirs.T, strict=True):
        assert kstest(x, y).pvalue > 1e-6


@pytest.mark.parametrize("n_twins", [1, 3])
def test_products_with_the_outputs_have_the_law_of_those_from_rows(seed, n_twins):
    same_law(*both_ways(seed, 300, n_twins), sigmas=5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes",
    [
        {"m": 60, "p": 8, "q": 3},
        {"m": 9, "p": 4, "q": 3},  # not a row to spare
        {"m": 10, "p": 4, "q": 3},  # one to spare: a singular Wishart matrix
        {"m": 200, "p": 5, "q": 1},
        {"m": 60, "p": 4, "q": 2, "n_twins": 4},
        {"m": 13, "p": 4, "q": 2, "n_twins": 2},  # not a row to spare
    ],
    ids=str,
)
def test_over_thousands_of_draws_the_law_is_that_of_rows(seed, sizes):
    same_law(*both_ways(seed, 5000, **sizes), sigmas=5)


@pytest.mark.parametrize("n_twins", [1, 2, 5])
def test_gram_is_that_of_rows(seed, n_twins):
    X, _, rng = problem(seed)
    for distances in (equal_distances, least_reconstructable):
        s = distances(X.T @ X, n_twins)
        both = np.column_stack([X, twins_from_rows(X, s, rng, n_twins)])
        assert_allclose(gram_of(X, s, n_twins), both.T @ both, atol=1e-6)


def test_draws_can_be_those_of_rows(seed):
    """Candidates, twins and outputs together have products that some rows have."""
    for m, k in ((12, 1), (16, 2)):
        X, Y, rng = problem(seed, m=m, p=4, q=3)
        s = least_reconstructable(X.T @ X, k)
        twins = twins_of(X, Y, s, k)
        for _ in range(20):
            C = twins.draw(rng).reshape(-1, 3)
            whole = np.block([[gram_of(X, s, k), C], [C.T, Y.T @ Y]])
            assert np.linalg.eigvalsh(whole)[0] > -1e-9 * np.trace(whole)


def test_outputs_that_depend_on_each_other_do_so_in_every_draw(seed):
    X, Y, rng = problem(seed)
    Y = np.column_stack([Y, Y[:, 0] - 2 * Y[:, 1], X[:, 1]])  # the last is explained wholly
    for k in (1, 3):
        s = equal_distances(X.T @ X, k)
        C = twins_of(X, Y, s, k).draw(rng).reshape(-1, 5)
        assert_allclose(C[:, 3], C[:, 0] - 2 * C[:, 1], atol=1e-8)
        assert_allclose(C[:, 4], gram_of(X, s, k)[:, 1], atol=1e-5)


@pytest.mark.parametrize("k", [1, 4])
def test_more_outputs_than_rows_leave_as_many_dimensions_as_there_are(seed, k):
    X, _, rng = problem(seed, m=40, p=6)
    Y = rng.normal(size=(40, 60))
    Y -= Y.mean(axis=0)
    s = equal_distances(X.T @ X, k)
    C = twins_of(X, Y, s, k).draw(rng).reshape(-1, 60)
    # All that outputs are lies in their span: products tell the rows, and with them the gram.
    rows = C @ np.linalg.pinv(Y, rcond=1e-6)
    assert_allclose(rows @ rows.T, gram_of(X, s, k), atol=1e-4)


@pytest.mark.parametrize("k", [1, 4])
def test_rounding_of_outputs_is_no_dimension_where_others_fill_the_rows(seed, k):
    """What near copies tell of the rest, by small differences, is known to eight digits less."""
    X, Y, rng = problem(seed, m=40, p=6, q=60)
    Y[:, 1:34] = Y[:, :1] + 1e-4 * rng.normal(size=(40, 33))
    Y -= Y.mean(axis=0)
    s = equal_distances(X.T @ X, k)
    assert np.isfinite(twins_of(X, Y, s, k).draw(rng)).all()


def test_rounding_of_the_moments_does_not_change_the_draw(seed):
    X, Y, rng = problem(seed, m=300, p=6, q=4)
    labels = np.eye(4)[rng.integers(4, size=300)]  # they sum to 1: rank 3
    for outputs in (Y, labels - labels.mean(axis=0)):
        order = rng.permutation(300)
        other = X[order], outputs[order]
        for k in (1, 4):
            draws = [
                twins_of(*rows, least_reconstructable(rows[0].T @ rows[0], k), k).draw(
                    np.random.default_rng(seed)
                )
                for rows in ((X, outputs), other)
            ]
            assert_allclose(*draws, atol=1e-8)


def test_too_few_rows_are_refused():
    with pytest.raises(ValueError, match="7 dimensions do not hold 4 candidates"):
        Twins(np.eye(4), np.zeros((4, 1)), np.eye(1), 7, np.ones(4))
    with pytest.raises(ValueError, match="11 dimensions do not hold 4 candidates"):
        Twins(np.eye(4), np.zeros((4, 1)), np.eye(1), 11, np.ones(4), 2)


def test_corner_of_all_there_is_is_orthogonal(seed):
    Z = orthogonal_corner(5, 3, 0, np.random.default_rng(seed))
    assert_allclose(Z.T @ Z, np.eye(3), atol=1e-10)


def test_wishart_has_its_mean(seed):
    rng = np.random.default_rng(seed)
    mean = np.mean([wishart(3, 7, rng) for _ in range(2000)], axis=0)
    assert_allclose(mean, 7 * np.eye(3), atol=5 * np.sqrt(14 / 2000) + 0.05)


@pytest.mark.parametrize("least", [0.5, -1e-13])
def test_the_root_of_a_matrix_that_is_definite_but_for_rounding_is_one(seed, least):
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))
    A = (Q * [9.0, 4.0, 0.25, least]) @ Q.T
    root = definite_root(A)
    assert_allclose(root @ root.T, A, atol=1e-11)


def test_echelon_root_has_the_rank_of_the_matrix(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3, 6)) * [1, 1, 0, 1, 1, 1]
    K = A.T @ A
    R = echelon_root(K, 1e-10 * np.diag(K))
    assert R.shape == (3, 6)
    assert_allclose(R.T @ R, K, atol=1e-8)
    assert_array_equal(echelon_root(np.zeros((2, 2)), np.zeros(2)), np.empty((0, 2)))


# How far twins are from their variables


def sums(S, s, k):
    return (k + 1) * S - k * np.diag(s)


def reconstructability(S, s, k):
    return np.trace(np.linalg.inv(sums(S, s, k))) + k * np.sum(1 / s)


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_descent_finds_the_least_reconstructable_twins(rho, k):
    S = toeplitz(rho ** np.arange(6))
    s = least_reconstructable(S, k)
    assert np.linalg.eigvalsh(sums(S, s, k))[0] > 0
    loss = reconstructability(S, s, k)

    def bounded(t):
        safe = np.all(t > 0) and np.linalg.eigvalsh(sums(S, t, k))[0] > 1e-9
        return reconstructability(S, t, k) if safe else 1e9

    best = minimize(bounded, s * 0.9, method="Nelder-Mead", options={"maxfev": 4000})
    assert loss <= best.fun * (1 + 1e-4)
    assert loss < reconstructability(S, 0.9 * equal_distances(S, k), k)


def test_one_close_pair_does_not_bring_all_twins_close(seed):
    S = np.eye(10)
    S[0, 1] = S[1, 0] = 0.97
    assert equal_distances(S).max() < 0.07
    assert least_reconstructable(S)[2:].min() > 0.9


@pytest.mark.parametrize("k", [1, 3])
def test_trace_of_the_inverse_is_that_of_all_products(seed, k):
    """The loss is what it says: the trace of G⁻¹."""
    X, _, _ = problem(seed, p=5)
    S = X.T @ X
    for share in (0.3, 0.6, 0.9):
        s = share * equal_distances(S, k)
        assert_allclose(np.trace(np.linalg.inv(gram_of(X, s, k))), reconstructability(S, s, k))
