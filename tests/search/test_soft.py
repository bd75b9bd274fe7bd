"""Soft conditioning: equal to its formula, and between forward selection and ranking."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from marks import arbitrary_picks
from numpy.testing import assert_allclose, assert_array_equal
from paper import paper_form
from scipy import stats

from projse import PAPER, Moments, ProjSe, TwoViewProjSe
from projse.exceptions import ProductsMissingWarning, RankExhaustedWarning
from projse.projectors import select_by_projectors
from projse.search.coordinates import DenseCoordinates
from projse.search.soft import SoftConditioning

AUTO = {"alpha": "auto", "redundancy": "auto", "round_size": "auto"}


def normalised(A, weight=None):
    w = np.ones(len(A)) if weight is None else weight
    A = (A - np.average(A, axis=0, weights=w)) * np.sqrt(w)[:, None]
    return A / np.linalg.norm(A, axis=0)


def given(A, S):
    """What is left of columns once those in S are taken out wholly."""
    if not S.shape[1]:
        return A
    basis, _ = np.linalg.qr(S)
    return A - basis @ (basis.T @ A)


def by_formula(X, Y, k, ridge, alpha, include=(), exclude=(), weight=None):
    """Picks, scores, and shares given all picks before, from explicit matrices."""
    X, Y = normalised(X, weight), normalised(Y, weight)
    first = X[:, list(include)]
    left = given(X, first)
    norms = np.linalg.norm(left, axis=0)
    dead = norms < 1e-6
    X_left, Y_left = np.where(dead, 0, left / np.where(dead, 1, norms)), given(Y, first)
    Kxx, Kyx, Kyy = X_left.T @ X_left, Y_left.T @ X_left, Y_left.T @ Y_left
    alpha = alpha * np.trace(Kyy) / np.trace(Y.T @ Y)
    picks, scores, shares = [], [], []
    while len(picks) < k - len(include):
        S = picks
        inverse = np.linalg.inv(Kxx[np.ix_(S, S)] + ridge * np.eye(len(S)))
        yx = Kyx - Kyx[:, S] @ inverse @ Kxx[S]
        yy = Kyy - Kyx[:, S] @ inverse @ Kyx[:, S].T
        norm = np.diag(Kxx - Kxx[:, S] @ inverse @ Kxx[S])
        weighed = np.linalg.solve(yy + alpha * np.eye(len(yy)), yx)
        score = np.where(dead, -1, np.einsum("ij,ij->j", yx, weighed) / np.where(dead, 1, norm))
        score[[*S, *include, *exclude]] = -1
        j = int(np.argmax(score >= score.max() * (1 - 1e-10)))
        x = given(X_left[:, [j]], X_left[:, S])[:, 0]
        basis, _ = np.linalg.qr(given(Y_left, X_left[:, S]))
        shares.append(np.sum((basis.T @ x) ** 2) / (x @ x))
        picks.append(j)
        scores.append(score[j])
    return [*include, *picks], scores, shares


def related(seed, m=80, p=18, q=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, p)) + rng.normal(size=(m, 1)) + rng.normal(size=p)
    return X, X[:, :6] @ rng.normal(size=(6, q)) + 2 * rng.normal(size=(m, q))


@pytest.mark.parametrize("alpha", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("redundancy", [0.02, 0.3, 0.5, 0.9])
def test_picks_scores_and_pvalues_are_those_of_the_formula(seed, redundancy, alpha):
    X, Y = related(seed)
    m, p, q = len(X), X.shape[1], Y.shape[1]
    model = ProjSe(9, alpha=alpha, redundancy=redundancy, round_size=1).fit(X, Y)
    picks, scores, shares = by_formula(X, Y, 9, redundancy / (1 - redundancy), alpha)
    assert_array_equal(model.selected_, picks)
    assert_allclose(model.scores_, scores, rtol=1e-9)
    tails = [stats.beta.sf(h, q / 2, (m - 1 - t - q) / 2) for t, h in enumerate(shares)]
    pvalues = [-np.expm1((p - t) * np.log1p(-tail)) for t, tail in enumerate(tails)]
    assert_allclose(model.pvalues_, pvalues, rtol=1e-6, atol=1e-14)


@pytest.mark.parametrize("options", [{"include": (3, 5)}, {"exclude": (0, 1)}])
def test_with_variables_that_come_first_or_never(seed, options):
    X, Y = related(seed)
    model = ProjSe(7, alpha=1.0, redundancy=0.2, round_size=1, **options).fit(X, Y)
    picks, scores, _ = by_formula(X, Y, 7, 0.25, 1.0, **options)
    assert_array_equal(model.selected_, picks)
    assert_allclose(model.scores_[-len(scores) :], scores, rtol=1e-9)


def test_weights_count_as_repetitions(seed):
    X, Y = related(seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(X))
    weighted = ProjSe(6, **AUTO).fit(X, Y, weight)
    repeated = ProjSe(6, **AUTO).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    assert_array_equal(weighted.selected_, repeated.selected_)
    assert_allclose(weighted.scores_, repeated.scores_)
    assert_allclose(weighted.pvalues_, repeated.pvalues_, rtol=1e-6)
    assert_allclose(weighted.redundancy_, repeated.redundancy_)


@arbitrary_picks
@pytest.mark.parametrize("redundancy", [0.05, 0.5, 0.8])
def test_a_copy_of_a_pick_keeps_its_share_of_the_score(seed, redundancy):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=200)
    X = np.column_stack([x, x, rng.normal(size=(200, 2))])
    Y = x + rng.normal(size=200)
    # A heavy ridge leaves the references as they are, so that only the copy itself is conditioned.
    model = ProjSe(2, alpha=1e9, redundancy=redundancy, round_size=1, exclude=[2, 3]).fit(X, Y)
    assert_allclose(model.scores_[1] / model.scores_[0], redundancy, rtol=1e-6)


def test_a_whole_share_ranks_variables_one_by_one(seed):
    X, Y = related(seed)
    model = ProjSe(18, redundancy=1.0, round_size=1).fit(X, Y)
    single = np.array(
        [ProjSe(1, exclude=np.delete(np.arange(18), j)).fit(X, Y).scores_[0] for j in range(18)]
    )
    assert_array_equal(model.selected_, np.argsort(-single, kind="stable"))
    assert_allclose(model.scores_, np.sort(single)[::-1])


def test_a_vanishing_share_is_forward_selection(seed):
    X, Y = related(seed)
    hard = paper_form(8, alpha=0.5, round_size=1).fit(X, Y)
    soft = paper_form(8, alpha=0.5, redundancy=1e-10, round_size=1).fit(X, Y)
    assert_array_equal(soft.selected_, hard.selected_)
    assert_allclose(soft.scores_, hard.scores_, rtol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_the_same_from_rows_moments_and_sparse(seed, kernel):
    X, Y = related(seed)
    selector = ProjSe(7, kernel=kernel, **AUTO)
    want = selector.fit(X, Y)
    picks, scores = want.selected_, want.scores_
    parts = [Moments.from_arrays(X[i::3], Y[i::3]) for i in range(3)]
    for got in (
        ProjSe(7, kernel=kernel, **AUTO).fit_moments(parts[0] + parts[1] + parts[2]),
        ProjSe(7, kernel=kernel, **AUTO).fit(sp.csr_array(X), Y),
    ):
        assert_array_equal(got.selected_, picks)
        assert_allclose(got.scores_, scores, rtol=1e-8)


def test_rows_made_for_a_shortlist_are_those_of_the_whole_matrix(seed, monkeypatch):
    X, Y = related(seed, m=60, p=300)
    want = ProjSe(40, **AUTO).fit(X, Y)
    assert want.moments_.xx is not None
    monkeypatch.setattr("projse.search.products.CHEAP_PRODUCTS", 0)
    monkeypatch.setattr("projse.kernels.linear_gram.COPY_ELEMENTS", 0)
    monkeypatch.setattr("projse.search.task.IN_MEMORY", 0.0)
    monkeypatch.setattr("projse.search.shortlist.SHORTLIST", 8)
    X_wide = np.hstack([X, np.random.default_rng(seed).normal(size=(60, 900))])
    on_demand = ProjSe(40, exclude=np.arange(300, 1200), **AUTO).fit(X_wide, Y)
    assert on_demand.moments_.xx is None
    assert_array_equal(on_demand.selected_, want.selected_)
    assert_allclose(on_demand.scores_, want.scores_, rtol=1e-8)


def test_all_real_variables_are_found_where_outputs_share_one_dimension(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1000, 40))
    latent = X[:, 32:] @ rng.uniform(0.5, 1.5, 8)
    Y = np.outer(latent, rng.uniform(0.5, 1.5, 3)) + 2 * rng.normal(size=(1000, 3))
    assert set(ProjSe(8, **AUTO).fit(X, Y).selected_) == set(range(32, 40))


def test_real_variables_are_found_with_more_outputs_than_rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2000))
    Y = X[:, -5:] @ rng.normal(size=(5, 100)) + 2 * rng.normal(size=(60, 100))
    found = set(ProjSe(5, **AUTO).fit(X, Y).selected_) & set(range(1995, 2000))
    assert len(found) >= 4


@pytest.mark.slow
def test_pvalues_given_the_picks_hold_their_level():
    rng = np.random.default_rng(0)
    n_selected = []
    for _ in range(400):
        X = rng.normal(size=(60, 20)) + rng.normal(size=(60, 1))
        Y = rng.normal(size=(60, 3)) + rng.normal(size=(60, 1))
        n_selected.append(len(ProjSe("auto", significance=0.1, **AUTO).fit(X, Y).selected_))
    # At most 10 %, and three standard errors of 400 trials.
    assert np.count_nonzero(n_selected) <= 40 + 18


def test_auto_respects_what_happens_once_the_references_are_used_up(seed):
    X, Y = related(seed)
    assert ProjSe(3, **AUTO, exhausted="restart").fit(X, Y).round_size_ is None
    with pytest.warns(RankExhaustedWarning):
        stop = ProjSe(9, **AUTO, exhausted="stop").fit(X, Y)
    assert len(stop.selected_) == Y.shape[1]


@pytest.mark.parametrize("options", [{}, {"include": [0]}, {"redundancy": 1e-15}])
def test_nothing_is_left_of_an_output_that_is_among_the_candidates(seed, options):
    X = np.random.default_rng(seed).normal(size=(50, 6))
    with pytest.warns(RankExhaustedWarning):  # and no other warning
        selector = ProjSe(4, alpha=0.0, **options).fit(X, 3 * X[:, 2])
    assert_array_equal(selector.selected_, [*options.get("include", []), 2])


@pytest.mark.parametrize("estimator", [ProjSe, TwoViewProjSe])
def test_auto_is_the_default(estimator):
    assert {name: estimator().get_params()[name] for name in AUTO} == AUTO


@pytest.mark.parametrize("round_size", [None, 5])
def test_rounds_of_several_picks_are_conditioned_on_wholly(seed, round_size):
    X, Y = related(seed)
    model = ProjSe(7, round_size=round_size).fit(X, Y)
    assert (model.redundancy_, model.round_size_) == (0.0, round_size)
    hard = ProjSe(7, redundancy=0.0, round_size=round_size).fit(X, Y)
    assert_array_equal(model.scores_, hard.scores_)


def test_a_single_pick_has_its_pvalue_without_products_of_the_candidates(seed):
    X, Y = related(seed)
    bare = Moments.from_arrays(X, Y, with_xx=False)
    want, got = ProjSe(1, **AUTO).fit(X, Y), ProjSe(1, **AUTO).fit_moments(bare)
    assert_array_equal(got.selected_, want.selected_)
    assert_allclose(got.pvalues_, want.pvalues_, rtol=1e-6)
    with pytest.warns(ProductsMissingWarning, match="Selected 1 of 3"):
        some = ProjSe(3, **AUTO).fit_moments(bare)
    assert_array_equal(some.selected_, want.selected_)


def inner_products(A, B):
    return A.T @ B


def test_one_view_that_is_too_wide_to_factor_names_the_papers_form(seed, monkeypatch):
    monkeypatch.setattr("projse.kernels.routes.FACTORED_COLUMNS", 15)
    monkeypatch.setattr("projse.search.products.KEPT_COLUMNS", 15)
    X, _ = related(seed)
    for wide in (
        lambda: ProjSe(3, **AUTO).fit(X),
        lambda: ProjSe(3, **AUTO).fit(sp.csr_array(X[:12])),
        lambda: ProjSe(3, kernel="rbf", **AUTO).fit(X[:12]),
        lambda: ProjSe(3, kernel=inner_products, **AUTO).fit(X),
        lambda: ProjSe(3, **AUTO).fit_source(pd.DataFrame(X).add_prefix("x")),
        lambda: ProjSe(3, **AUTO).partial_fit(X),
    ):
        with pytest.raises(ValueError, match=r"\*\*projse\.PAPER"):
            wide()
    assert len(ProjSe(3, **PAPER).fit(X).selected_) == 3
    few = ProjSe(3, **AUTO).fit(X[:12])  # 12 rows have 11 directions, however many columns
    assert few.reference_rank_ == 11


def test_two_views_take_the_same_settings(seed):
    X, Y = related(seed, q=6)
    settings = {"alpha": 0.5, "redundancy": 0.3, "round_size": 1}
    views = TwoViewProjSe((4, 3), **settings).fit(X, Y)
    assert_array_equal(views.x_selected_, ProjSe(4, **settings).fit(X, Y).selected_)
    assert_array_equal(views.y_selected_, ProjSe(3, **settings).fit(Y, X).selected_)


@pytest.mark.parametrize("bad", [-0.1, 1.1, np.nan, "soft", None, True])
def test_a_share_that_makes_no_sense_is_refused(bad):
    with pytest.raises(ValueError, match="redundancy="):
        ProjSe(2, redundancy=bad).fit(np.eye(4), np.eye(4)[:, :2])


def test_the_form_of_the_paper_is_a_word_away(seed):
    X, Y = related(seed)
    paper = ProjSe(6, **PAPER).fit(X, Y)
    assert_array_equal(paper.selected_[:4], select_by_projectors(X, Y, 4)[0])
    assert (paper.alpha_, paper.redundancy_, paper.round_size_) == (0.0, 0.0, None)
    with pytest.raises(TypeError):
        PAPER["alpha"] = 1.0


def test_coefficients_on_the_picks_are_those_of_a_ridge_regression(seed):
    X, Y = (normalised(A) for A in related(seed))
    K, S = X.T @ X, [4, 0, 9, 2]
    coordinates = np.linalg.qr(Y)[0].T @ X
    everywhere = np.ones(len(K), bool)
    soft = SoftConditioning(DenseCoordinates(coordinates), everywhere, lambda *_: 0.3, 1e-12, 1e-12)
    for j in S:
        soft.take(j, K[j].copy())
    ridged = K[np.ix_(S, S)] + 0.3 * np.eye(len(S))
    of_candidates, of_coordinates = soft.coefficients(slice(None))
    assert_allclose(of_candidates, np.linalg.solve(ridged, K[S]), atol=1e-10)
    assert_allclose(of_coordinates, np.linalg.solve(ridged, coordinates[:, S].T), atol=1e-10)


def test_a_given_candidate_that_scores_nothing_is_not_taken():
    R = DenseCoordinates(np.array([[0.9, 0.5, 0.0]]))
    soft = SoftConditioning(R, np.ones(3, bool), lambda place, norm: 0.0, 1e-12, 1e-12)
    eligible = np.array([True, False, True])
    taken = [soft.best(np.ones(3, bool), None, 1), soft.best(eligible, None, 1)]
    taken.append(soft.best(eligible, None, 2))
    assert [pick.index for pick in taken] == [1, 0, 0]
    assert [pick.n_candidates for pick in taken] == [3, 2, 2]
