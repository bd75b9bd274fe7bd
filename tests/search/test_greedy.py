"""The search against a literal deflation, on coordinates with and without structure."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from numpy.testing import assert_allclose
from paper import paper_form

from projse.kernels.elementwise_gram import ElementwiseGram
from projse.search import deflation as _deflation
from projse.search import greedy as _search
from projse.search.coordinates import DenseCoordinates
from projse.search.deflation import ProjectedDeflation
from projse.search.greedy import greedy


def literal(R, n):
    """Textbook updates of the whole of R, with the tie rule."""
    R = R.copy()
    left = np.ones(R.shape[1], dtype=bool)
    picks, scores = [], []
    for _ in range(n):
        s = np.where(left, (R**2).sum(axis=0), -1.0)
        if s.max() <= 1e-24:
            break
        j = int(np.argmax(s >= s.max() * (1 - 1e-10)))
        picks.append(j)
        scores.append(s[j])
        left[j] = False
        q = R[:, j] / np.linalg.norm(R[:, j])
        for _ in range(2):
            R -= np.outer(q, q @ R)
    return picks, scores


def search(R, n):
    deflation = ProjectedDeflation(DenseCoordinates(R), noise=1e-15, relative_noise=1e-13)
    return list(islice(greedy(deflation, np.ones(R.shape[1], dtype=bool)), n))


def random_coordinates(rng, rank, n):
    R = rng.standard_normal((rank, n))
    return R / np.linalg.norm(R, axis=0) * rng.uniform(0.05, 1, n)


@pytest.fixture(params=["plain", "lazy", "lazy with tiny active sets"])
def laziness(request, monkeypatch):
    if request.param != "plain":
        monkeypatch.setattr(_deflation, "LAZY_CANDIDATES", 8)
        monkeypatch.setattr(_deflation, "LAZY_CHOLESKY", 8)
    if request.param == "lazy with tiny active sets":
        monkeypatch.setattr(_search, "ACTIVE_SHARE", 64)
    return request.param


@pytest.mark.parametrize(("rank", "n"), [(1, 50), (5, 40), (20, 300), (40, 30)])
def test_equals_literal_deflation(seed, laziness, rank, n):
    rng = np.random.default_rng(seed)
    R = random_coordinates(rng, rank, n)
    picks, scores = literal(R, rank)
    found = search(R, rank)
    assert [p.index for p in found] == picks
    assert_allclose([p.score for p in found], scores, rtol=1e-9)


def test_ties_go_to_the_lowest_index(seed, laziness):
    rng = np.random.default_rng(seed)
    base = random_coordinates(rng, 6, 6)
    base /= np.linalg.norm(base, axis=0)
    copies = np.repeat(base, 20, axis=1)[:, rng.permutation(120)]
    copies *= rng.choice([-1.0, 1.0], 120)
    picks, scores = literal(copies, 6)
    found = search(copies, 120)
    assert [p.index for p in found][:6] == picks
    assert_allclose([p.score for p in found][:6], scores, rtol=1e-9)
    assert len(found) == 6, "copies of a pick have nothing left"


def test_scores_over_many_magnitudes_stay_exact(seed, laziness):
    rng = np.random.default_rng(seed)
    rank, n = 12, 200
    spectrum = np.logspace(0, -6, rank)[:, None]
    R = spectrum * rng.standard_normal((rank, n))
    R /= np.linalg.norm(R, axis=0)
    picks, scores = literal(R, rank)
    found = search(R, rank)
    assert [p.index for p in found] == picks
    assert_allclose([p.score for p in found], scores, rtol=1e-8)


def test_scores_that_rounding_brings_below_0_do_not_end_the_search(seed, laziness):
    """All share two coordinates, of which a pick leaves the same rounding: of either sign."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        R = np.repeat(rng.uniform(0.1, 1.0, size=(4, 1)), 64, axis=1)
        R[2:] = 1e-9 * rng.standard_normal((2, 64))
        R[:, 1:] /= 2
        assert [pick.index for pick in search(R, 5)] == literal(R, 3)[0]


def test_margins_are_gaps_to_the_true_runner_up(seed, laziness):
    rng = np.random.default_rng(seed)
    R = random_coordinates(rng, 8, 150)
    found = search(R, 8)
    left = np.ones(150, dtype=bool)
    deflated = R.copy()
    for pick in found:
        s = np.where(left, (deflated**2).sum(axis=0), -1.0)
        second = np.sort(s)[-2]
        assert_allclose(pick.margin, 1 - second / s.max(), rtol=1e-7, atol=1e-10)
        left[pick.index] = False
        q = deflated[:, pick.index] / np.linalg.norm(deflated[:, pick.index])
        deflated -= np.outer(q, q @ deflated)


def test_lazy_search_reads_less(seed, monkeypatch):
    monkeypatch.setattr(_deflation, "LAZY_CANDIDATES", 8)
    rng = np.random.default_rng(seed)
    n = 4000
    R = random_coordinates(rng, 30, n)
    R *= rng.uniform(0, 1, n) ** 2

    class Counting(DenseCoordinates):
        read = 0

        def tile(self, columns):
            part = super().tile(columns)
            type(self).read += part.shape[1]
            return part

        def project(self, q):
            type(self).read += self.n
            return super().project(q)

    deflation = ProjectedDeflation(Counting(R), noise=1e-15, relative_noise=1e-13)
    found = list(islice(greedy(deflation, np.ones(n, dtype=bool)), 20))
    assert [p.index for p in found] == literal(R, 20)[0]
    assert Counting.read < 0.5 * 20 * n


def test_nothing_eligible_and_nothing_left_end_the_search(laziness):
    R = np.zeros((3, 20))
    assert search(R, 5) == []
    deflation = ProjectedDeflation(DenseCoordinates(np.ones((1, 20))), 0.0, 0.0)
    assert list(greedy(deflation, np.zeros(20, dtype=bool))) == []


def test_what_a_candidate_has_of_the_rounding_of_a_pick_is_not_picked():
    """The direction of the first goes with its rounding, along which all others are exact."""
    R = np.array([[1.0, 0.9, 0.0], [1e-6, 0.0, 1e-5]])
    deflation = ProjectedDeflation(DenseCoordinates(R), np.array([1e-6, 0.0, 0.0]), 1e-13)
    found = greedy(deflation, np.ones(3, dtype=bool))
    assert [next(found).index, next(found).index] == [0, 2]
    alone = ProjectedDeflation(DenseCoordinates(R[:, :2]), np.array([1e-6, 0.0]), 1e-13)
    assert [pick.index for pick in greedy(alone, np.ones(2, dtype=bool))] == [0]


# One view: pivoted Cholesky


def literal_cholesky(K, n):
    """Textbook updates of the whole kernel matrix, with the tie rule."""
    K = K.copy()
    left = np.ones(len(K), dtype=bool)
    picks, scores = [], []
    for _ in range(n):
        s = np.where(left, np.diag(K), -1.0)
        j = int(np.argmax(s >= s.max() * (1 - 1e-10)))
        picks.append(j)
        scores.append(s[j])
        left[j] = False
        K -= np.outer(K[j], K[j]) / K[j, j]
    return picks, scores


@pytest.mark.parametrize("conditioned", [[], [3, 40, 77]])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_one_view_equals_literal_cholesky(seed, laziness, kernel, conditioned):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 8)) @ rng.standard_normal((8, 200)) + rng.normal(size=(30, 200))
    X -= X.mean(axis=0)
    X /= np.linalg.norm(X, axis=0)
    C = X.T @ X
    K = {"linear": C, "poly": C**3, "rbf": np.exp(C - 1)}[kernel]
    if conditioned:
        part = K[np.ix_(conditioned, conditioned)]
        K = K - K[:, conditioned] @ np.linalg.solve(part, K[conditioned])
        K[conditioned] = K[:, conditioned] = 0.0
        norms = np.sqrt(np.diag(K))
        norms[conditioned] = 1.0
        K = K / np.outer(norms, norms)
    parameters = {"gamma": 0.5} if kernel == "rbf" else {}
    selector = paper_form(20, kernel=kernel, include=conditioned or None, **parameters).fit(X)
    n = 20 - len(conditioned)
    picks, scores = literal_cholesky(K, n)
    assert selector.selected_[len(conditioned) :].tolist() == picks
    assert_allclose(selector.scores_[len(conditioned) :], scores, rtol=1e-8)


def test_one_view_makes_whole_rows_only_to_catch_up(seed, monkeypatch):
    monkeypatch.setattr(_deflation, "LAZY_CHOLESKY", 8)
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 1500)) * np.exp(rng.normal(size=1500))
    X[:, :700] = X[:, :7] @ rng.standard_normal((7, 700)) + 0.1 * rng.standard_normal((40, 700))
    made = []

    def counting(self, indices, columns=None):
        made.append(columns is None)
        return made_by(self, indices, columns)

    made_by = ElementwiseGram.x_rows
    monkeypatch.setattr(ElementwiseGram, "x_rows", counting)
    lazy = paper_form(60, kernel="poly").fit(X)
    monkeypatch.setattr(_deflation, "LAZY_CHOLESKY", 10**9)
    whole_rows, made[:] = sum(made), []
    plain = paper_form(60, kernel="poly").fit(X)
    assert lazy.selected_.tolist() == plain.selected_.tolist()
    assert_allclose(lazy.scores_, plain.scores_, rtol=1e-9)
    assert_allclose(lazy.margins_, plain.margins_, rtol=1e-6, atol=1e-9)
    assert sum(made) == 59
    assert whole_rows < 30


class Poisoned:
    """A space whose scores are NaN from the start, after a pick, or in the bound of the others."""

    def __init__(self, where, n=64):
        self.n, self.where = n, where
        self.max_active = 16 if where == "bound" else 0

    def scores(self):
        scores = np.linspace(1.0, 0.1, self.n)
        if self.where in ("scores", "bound"):
            scores[-1 if self.where == "scores" else 40] = np.nan
        return scores

    def take(self, j):
        return np.full(self.n, np.nan)

    def narrow(self, active):
        pass

    def catch_up(self, scores):
        pass

    def floor(self, indices, initial):
        return np.nan * initial if self.where == "floor" else 0.0 * initial


@pytest.mark.parametrize("where", ["scores", "take", "bound"])
def test_a_search_among_nan_ends_with_an_error(where):
    picks = greedy(Poisoned(where), np.ones(64, dtype=bool))
    with pytest.raises(ValueError, match="not finite"):
        list(picks)


def test_a_floor_of_nan_ends_the_search():
    assert list(greedy(Poisoned("floor"), np.ones(64, dtype=bool))) == []
