"""Statistics of variables and their twins: antisymmetric, and by the mathematics they claim."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from twins_from_rows import unit_columns

from projse import PAPER, ProjSe
from projse.search.contest import STATISTICS, Rivals, ahead, odds
from projse.search.entry_order import EntryOrder
from projse.search.twins import Twins, least_reconstructable


def drawn(seed, m=60, p=6, q=3, n_real=3, mixed=True, size=6, n_twins=1, groups=None):
    """Rivals, products of a draw of twins with the outputs, and those of the outputs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, p))
    if mixed:
        X = X @ (rng.normal(size=(p, p)) + 3 * np.eye(p))
    X = unit_columns(X)
    Y = X[:, :n_real] @ rng.normal(size=(n_real, q)) * size + rng.normal(size=(m, q))
    Y -= Y.mean(axis=0)
    S = X.T @ X
    s = least_reconstructable(S, n_twins)
    twins = Twins(S, X.T @ Y, Y.T @ Y, m - 1, s, n_twins)
    groups = np.arange(p) if groups is None else np.array(groups)
    return Rivals(S, s, groups, m - 1, n_twins), twins.draw(rng), Y.T @ Y


def statistic(name, seed):
    if name == "order":
        return EntryOrder(ProjSe(), np.random.default_rng(seed))
    return STATISTICS[name]


@pytest.mark.parametrize("n_twins", [1, 3])
@pytest.mark.parametrize("groups", [range(6), (0, 1, 0, 2, 2, 2)], ids=["columns", "groups"])
@pytest.mark.parametrize("name", [*STATISTICS, "order"])
def test_rivals_that_change_places_do_so_for_their_variable_alone(seed, name, groups, n_twins):
    """A winner that goes to the place of a twin makes the figure negative, and nothing else."""
    rivals, C, K = drawn(seed, groups=groups, n_twins=n_twins)
    W = statistic(name, seed)(rivals, C, K)
    assert W.shape == (max(groups) + 1,)
    assert np.any(W != 0)
    for g in range(len(W)):
        members = np.flatnonzero(np.array(groups) == g)
        signs = []
        for turn in range(n_twins + 1):
            turned = C.copy()
            turned[:, members] = np.roll(C[:, members], turn, axis=0)
            again = statistic(name, seed)(rivals, turned, K)
            assert_allclose(np.abs(again), np.abs(W), atol=1e-7)
            others = np.arange(len(W)) != g
            assert_allclose(again[others], W[others], atol=1e-7)
            signs.append(np.sign(again[g]))
        if np.abs(W[g]) > 1e-6:
            assert sorted(signs) == [-1] * n_twins + [1]


def test_gram_does_not_know_places(seed):
    rivals, _, _ = drawn(seed, n_twins=2)
    places = np.arange(18).reshape(3, 6)
    places[:, 4] = places[[2, 0, 1], 4]
    assert_allclose(rivals.gram[np.ix_(places.ravel(), places.ravel())], rivals.gram)


@pytest.mark.parametrize("n_twins", [1, 5])
@pytest.mark.parametrize("name", [*STATISTICS, "order"])
def test_real_variables_win(seed, name, n_twins):
    rivals, C, K = drawn(seed, 400, 10, n_real=4, mixed=False, size=40, n_twins=n_twins)
    W = statistic(name, seed)(rivals, C, K)
    assert W[:4].min() > np.abs(W[4:]).max()


@pytest.mark.parametrize("name", ["likelihood", "ridge"])
def test_units_and_mixing_of_the_outputs_hardly_matter(seed, name):
    """Noise is what tells their directions apart, as long as there are rows to know it by."""
    rivals, C, K = drawn(seed, m=20_000)
    M = np.array([[1.0, 0.5, 0.0], [0.0, 3.0, 0.0], [0.2, 0.0, 0.1]])
    plain, mixed = (
        f(rivals, C @ A, A.T @ K @ A) for f in [STATISTICS[name]] for A in (np.eye(3), M)
    )
    assert_allclose(mixed, plain, rtol=0.02, atol=0.02 * np.abs(plain).max())


def by_densities(rivals, c_sum, c, t):
    """Log-odds of each variable by definition, given variances t of effects; and new variances.

    With noise of unit variance, products with the outputs have the covariance of the rivals; of
    the effects b of the first set they have the mean gram[:, :p] b, b ~ N(0, (k + 1) diag(t)).
    """
    p, k = rivals.p, rivals.n_twins
    gram, n = rivals.gram, k + 1
    root = np.sqrt(n)
    sums = np.kron(np.ones((1, n)), np.eye(p)) / root
    W, variances = np.empty(p), np.empty(p)
    for j in range(p):
        pick = np.eye(n * p)[j::p]
        differences = root * (pick - pick.mean(axis=0))
        seen = np.vstack([sums, differences[:k]])  # the last difference follows from the others
        data = np.concatenate([c_sum, c[:k, j]])
        logs, squares = [], []
        for real in range(n):
            effects = gram[:, np.r_[:p]].copy()
            effects[:, j] = gram[:, real * p + j]  # this one of the rivals is the real one
            cov = seen @ (gram + n * effects * t @ effects.T) @ seen.T
            logs.append(sum(multivariate_normal.logpdf(x, np.zeros(p + k), cov) for x in data.T))
            with_effect = root * t[j] * seen @ effects[:, j]  # of b_j / √n
            gain = np.linalg.solve(cov, with_effect)
            squares.append(np.mean((gain @ data) ** 2) + t[j] - gain @ with_effect)
        chances = np.exp(np.array(logs) - max(logs))
        W[j] = odds(np.array(logs)[:, None])[0]
        variances[j] = chances @ squares / chances.sum()
    return W, variances


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 3])
def test_likelihood_is_that_of_the_differences_given_the_sums(seed, k, rounds, monkeypatch):
    """Densities of all that rivals show; variances are the mean squares of effects given those."""
    monkeypatch.setattr("projse.search.contest.ROUNDS", rounds)
    rivals, C, K = drawn(seed, q=2, n_twins=k)
    c_sum, c = rivals.in_noise_units(C, K)
    t = np.full(rivals.p, rivals.mean_effect(c_sum))
    for _ in range(rounds):
        W, t = by_densities(rivals, c_sum, c, t)
    assert_allclose(STATISTICS["likelihood"](rivals, C, K), W, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_sums_and_differences_are_free_of_each_other(seed, k):
    rivals, C, _ = drawn(seed, n_twins=k)
    n = k + 1
    mean = np.kron(np.ones((1, n)), np.eye(6)) / np.sqrt(n)
    apart = np.sqrt(n) * np.kron(np.eye(n) - 1 / n, np.eye(6))
    assert_allclose(mean @ rivals.gram @ apart.T, 0, atol=1e-10)
    assert_allclose(mean @ rivals.gram @ mean.T, rivals.sums, atol=1e-10)
    expected = np.kron(n * np.eye(n) - 1, np.diag(rivals.s))
    assert_allclose(apart @ rivals.gram @ apart.T, expected, atol=1e-10)
    c_sum, c = rivals.split(C)
    flat = C.reshape(-1, 3)
    assert_allclose(c_sum, mean @ flat)
    assert_allclose(c.reshape(-1, 3), apart @ flat, atol=1e-10)


def test_noise_is_what_variables_and_twins_leave(seed):
    for k in (1, 3):
        rivals, C, K = drawn(seed, n_twins=k)
        flat = C.reshape(-1, 3)
        left = K - flat.T @ np.linalg.solve(rivals.gram, flat)
        noise = (left + 4 * np.diag(np.diag(K)) / 59) / (59 - 6 * (k + 1) + 4)
        c_sum, _ = rivals.in_noise_units(C, K)
        plain, _ = rivals.split(C)
        assert_allclose(c_sum @ c_sum.T, plain @ np.linalg.solve(noise, plain.T), rtol=1e-6)


@pytest.mark.parametrize("k", [1, 3])
def test_ridge_is_a_regression_on_variables_and_twins(seed, k):
    rivals, C, K = drawn(seed, n_twins=k)
    c_sum, c = rivals.in_noise_units(C, K)
    products = (c_sum + c) / np.sqrt(k + 1)
    penalty = np.eye(6 * (k + 1)) / rivals.mean_effect(c_sum)
    effects = np.linalg.solve(rivals.gram + penalty, products.reshape(-1, 3)).reshape(c.shape)
    want = np.sqrt(k + 1) * ahead(np.linalg.norm(effects, axis=2))
    assert_allclose(STATISTICS["ridge"](rivals, C, K), want, rtol=1e-6, atol=1e-10)


def test_order_takes_products_as_they_are_whether_means_were_taken_out_of_rows_or_not(seed):
    rivals, C, K = drawn(seed)
    centred, as_they_are = (
        EntryOrder(ProjSe(center=center, **PAPER), np.random.default_rng(seed))(rivals, C, K)
        for center in (True, False)
    )
    assert_allclose(as_they_are, centred)


def test_a_tie_at_the_top_is_nobodys():
    figures = np.array([[3.0, 1.0, 2.0, 1.0], [1.0, 3.0, 2.0, 2.0], [2.0, 0.0, 0.0, 2.0]])
    assert_allclose(ahead(figures), [1, -2, 0, 0])
    assert_allclose(odds(figures)[2:], 0)
    assert_allclose(odds(figures)[0], 3 - np.log((np.e + np.e**2) / 2))
    assert_allclose(odds(figures[:2]), [2, -2, 0, -1])
