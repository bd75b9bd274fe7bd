"""What "auto" stands for: a ridge of each pick's own, equal to its formula."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2

from projse import Moments, ProjSe
from projse.search.auto import OwnRidge

AUTO = {"alpha": "auto", "redundancy": "auto", "round_size": "auto"}


def unit(A):
    A = A - A.mean(axis=0)
    return A / np.linalg.norm(A, axis=0)


def by_formula(X, Y, k, largest=np.inf):
    """Picks, scores and shares from explicit matrices, solved anew for each pick."""
    m, n = X.shape
    X, Y = unit(X), unit(Y)
    Kxx, Kyx, Kyy = X.T @ X, Y.T @ X, Y.T @ Y
    q = np.trace(Kyy) ** 2 / np.sum(Kyy**2)
    picks, scores, ridges, shares = [], [], [], []
    while len(picks) < k:
        S = [j for j, ridge in zip(picks, ridges, strict=True) if np.isfinite(ridge)]
        inverse = np.linalg.inv(Kxx[np.ix_(S, S)] + np.diag([r for r in ridges if np.isfinite(r)]))
        yx = Kyx - Kyx[:, S] @ inverse @ Kxx[S]
        yy = Kyy - Kyx[:, S] @ inverse @ Kyx[:, S].T
        norm = np.diag(Kxx - Kxx[:, S] @ inverse @ Kxx[S])
        weighed = np.linalg.solve(yy + np.eye(len(yy)), yx)
        score = np.einsum("ij,ij->j", yx, weighed) / norm
        score[picks] = -1
        j = int(np.argmax(score >= score.max() * (1 - 1e-10)))
        left = np.trace(yy) / len(yy)
        gain = min(np.mean(yx[:, j] ** 2) / norm[j], left)
        chance = (left - gain) / m
        best = chi2(q).isf(1 - 0.5 ** ((len(picks) + 1) / n)) / q
        signal = gain - chance * max(best, 1.0)
        picks.append(j)
        scores.append(score[j])
        share = min(chance / signal, largest) if signal > 0 else largest
        ridges.append(norm[j] * share)
        shares.append(1.0 if np.isinf(share) else share / (1 + share))
    return picks, scores, shares


def related(seed, m=80, p=18, q=4, noise=2.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, p)) + rng.normal(size=(m, 1)) + rng.normal(size=p)
    return X, X[:, :6] @ rng.normal(size=(6, q)) + noise * rng.normal(size=(m, q))


@pytest.mark.parametrize(("m", "q"), [(80, 4), (30, 40), (400, 1)])
def test_picks_scores_and_shares_are_those_of_the_formula(seed, m, q):
    X, Y = related(seed, m, q=q)
    picks, scores, shares = by_formula(X, Y, 9)
    for k in (1, 4, 9):
        model = ProjSe(k, **AUTO).fit(X, Y)
        assert_array_equal(model.selected_, picks[:k])
        assert_allclose(model.scores_, scores[:k], rtol=1e-8)
        assert_allclose(model.redundancy_, shares[k - 1], rtol=1e-6)
    assert (model.alpha_, model.round_size_) == (1.0, 1)


@pytest.mark.parametrize("m", [60, 12])
def test_a_copy_keeps_at_most_half_in_one_view(seed, m):
    X, _ = related(seed, m)
    picks, scores, shares = by_formula(X, X, 6, largest=1.0)
    model = ProjSe(6, **AUTO).fit(X)
    assert_array_equal(model.selected_, picks)
    assert_allclose(model.scores_, scores, rtol=1e-8)
    assert_allclose(model.redundancy_, shares[-1], rtol=1e-6)
    assert max(shares) <= 0.5


def test_what_is_certain_is_taken_out_and_what_may_be_chance_is_not(seed):
    X, Y = related(seed, m=2000, noise=0.1)
    assert ProjSe(1, **AUTO).fit(X, Y).redundancy_ < 0.01
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(40, 200)), rng.normal(size=(40, 3))
    assert ProjSe(10, **AUTO).fit(X, Y).redundancy_ > 0.5


def test_references_that_are_explained_wholly_leave_no_noise(seed):
    X, _ = related(seed)
    model = ProjSe(1, **AUTO).fit(X, X[:, [3]])
    assert model.selected_.tolist() == [3]
    assert model.redundancy_ < 1e-10


def test_fewer_picks_are_the_first_of_more_from_any_route(seed):
    X, Y = related(seed)
    want = ProjSe(12, **AUTO).fit(X, Y)
    moments = Moments.from_arrays(X[:30], Y[:30]) + Moments.from_arrays(X[30:], Y[30:])
    for k in (2, 5, 12):
        got = ProjSe(k, **AUTO).fit_moments(moments)
        assert_array_equal(got.selected_, want.selected_[:k])
        assert_allclose(got.scores_, want.scores_[:k])


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_the_ridge_goes_by_the_shape_of_a_spectrum_not_by_its_size(size):
    values = np.array([3.0, 2.0, 1.0])
    place, plain = np.array([0.3, 0.2, 0.1]), OwnRidge(values, 0.0, 100, 10)
    assert_allclose(OwnRidge(size * values, 0.0, 100, 10)(place, 1.0), plain(place, 1.0))


def test_once_all_is_explained_wholly_nothing_more_is_taken_out():
    ridge = OwnRidge(np.ones(1), 0.0, 50, 4)
    assert ridge(np.ones(1), 1.0) == 0.0
    assert ridge(np.zeros(1), 1.0) == np.inf
