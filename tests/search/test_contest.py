"""Statistics of variables and their twins: antisymmetric, and by the mathematics they claim."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from twins_from_rows import unit_columns

from projse import ProjSe
from projse.search.contest import STATISTICS, Pairs
from projse.search.entry_order import EntryOrder
from projse.search.twins import Twins, least_reconstructable


def drawn(seed, m=60, p=6, q=3, n_real=3, mixed=True, size=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, p))
    if mixed:
        X = X @ (rng.normal(size=(p, p)) + 3 * np.eye(p))
    X = unit_columns(X)
    Y = X[:, :n_real] @ rng.normal(size=(n_real, q)) * size + rng.normal(size=(m, q))
    Y -= Y.mean(axis=0)
    S = X.T @ X
    twins = Twins(S, X.T @ Y, Y.T @ Y, m - 1, least_reconstructable(S))
    return twins.gram, twins.draw(rng), Y.T @ Y, m - 1


def statistic(name, seed):
    if name == "order":
        return EntryOrder(ProjSe(), np.random.default_rng(seed))
    return STATISTICS[name]


@pytest.mark.parametrize("groups", [range(6), (0, 1, 0, 2, 2, 2)], ids=["columns", "groups"])
@pytest.mark.parametrize("name", [*STATISTICS, "order"])
def test_a_swap_with_the_twin_changes_the_sign_of_that_variable_alone(seed, name, groups):
    gram, C, K, degrees = drawn(seed)
    groups = np.array(groups)
    W = statistic(name, seed)(Pairs(gram, groups, degrees), C, K)
    for g in range(groups.max() + 1):
        members = np.flatnonzero(groups == g)
        order = np.arange(12)
        order[members], order[members + 6] = members + 6, members
        swapped = Pairs(gram[np.ix_(order, order)], groups, degrees)
        expected = W.copy()
        expected[g] *= -1
        assert_allclose(statistic(name, seed)(swapped, C[order], K), expected, atol=1e-7)
    assert np.any(W != 0)


@pytest.mark.parametrize("name", [*STATISTICS, "order"])
def test_real_variables_win(seed, name):
    gram, C, K, degrees = drawn(seed, m=400, p=10, n_real=4, mixed=False, size=40)
    W = statistic(name, seed)(Pairs(gram, np.arange(10), degrees), C, K)
    assert W[:4].min() > np.abs(W[4:]).max()


@pytest.mark.parametrize("name", ["likelihood", "ridge"])
def test_units_and_mixing_of_the_outputs_hardly_matter(seed, name):
    """Noise is what tells their directions apart, as long as there are rows to know it by."""
    gram, C, K, degrees = drawn(seed, m=20_000)
    M = np.array([[1.0, 0.5, 0.0], [0.0, 3.0, 0.0], [0.2, 0.0, 0.1]])
    pairs = Pairs(gram, np.arange(6), degrees)
    plain, mixed = (
        f(pairs, C @ A, A.T @ K @ A) for f in [STATISTICS[name]] for A in (np.eye(3), M)
    )
    assert_allclose(mixed, plain, rtol=0.02, atol=0.02 * np.abs(plain).max())


def test_likelihood_is_that_of_the_difference_given_the_sums(seed, monkeypatch):
    """With given variances of the effects: two densities, by their definition."""
    monkeypatch.setattr("projse.search.contest.ROUNDS", 1)
    gram, C, K, degrees = drawn(seed, q=2)
    pairs = Pairs(gram, np.arange(6), degrees)
    W = STATISTICS["likelihood"](pairs, C, K)
    c_sum, c = pairs.in_noise_units(C, K)
    t = pairs.mean_effect(c_sum)
    # c_sum = P b + noise of covariance P, c = s b + noise of variance s, b ~ N(0, t I).
    P, s = pairs.sums, pairs.s
    cov_sum = t * P @ P + P
    for j in range(6):
        gain = t * s[j] * P[j] @ np.linalg.inv(cov_sum)
        variance = t * s[j] ** 2 + s[j] - gain @ (t * s[j] * P[j])
        ratio = sum(
            multivariate_normal.logpdf(c[j, k], gain @ c_sum[:, k], variance)
            - multivariate_normal.logpdf(-c[j, k], gain @ c_sum[:, k], variance)
            for k in range(c.shape[1])
        )
        assert_allclose(W[j], ratio, rtol=1e-6, atol=1e-9)


def test_sums_and_differences_are_free_of_each_other(seed):
    gram, _, _, degrees = drawn(seed)
    pairs = Pairs(gram, np.arange(6), degrees)
    turn = np.block([[np.eye(6), np.eye(6)], [np.eye(6), -np.eye(6)]]) / np.sqrt(2)
    turned = turn @ gram @ turn.T
    assert_allclose(turned[:6, 6:], 0, atol=1e-10)
    assert_allclose(turned[:6, :6], pairs.sums, atol=1e-10)
    assert_allclose(turned[6:, 6:], np.diag(pairs.s), atol=1e-10)
