"""What happens after the first round: conditioning, include, covariates, p-values, stopping."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats
from agreement import ROUTES, Agreement, check, fit
from marks import arbitrary_picks
from paper import FORMS, paper_form
from scipy.linalg import orth
from sklearn.linear_model import LinearRegression
from threadpoolctl import threadpool_limits
from variants import slow

import projse.search.coordinates
from projse import PAPER, Moments, ProjSe
from projse.exceptions import RankExhaustedWarning
from projse.kernels.routes import KernelSpec, from_moments
from projse.projectors import select_by_projectors
from projse.search.by_columns import ColumnSearch
from projse.search.rounds import Plan, ReferenceSpace


def problem(rng, m=80, n_x=12, n_y=3):
    """Correlated candidates; references of several of them, in strengths that differ."""
    X = rng.normal(size=(m, n_x)) + 0.7 * rng.normal(size=(m, 1)) + rng.normal(size=n_x)
    weights = rng.normal(size=(n_x, n_y)) * (rng.random((n_x, n_y)) < 0.6)
    return X, X @ weights + rng.normal(size=(m, n_y))


def residuals(A, *on, center=True):
    """What is left of the columns of A once others, and the mean, are regressed out."""
    parts = [np.ones((len(A), 1))] if center else []
    Z = np.concatenate([*parts, *on], axis=1) if parts or on else np.empty((len(A), 0))
    basis = orth(Z, rcond=1e-12)
    for _ in range(2):  # what rounding left would be a direction where nothing is left
        A = A - basis @ (basis.T @ A)
    return A


def literal_rounds(X, Y, n, round_size=None, include=(), covariates=None):
    """Round by round on residuals: regress out the picks, select by projectors from the rest."""
    picks, scores, rounds = list(include), [], []
    Z = () if covariates is None else (covariates,)
    while len(picks) < n:
        left = np.setdiff1d(np.arange(X.shape[1]), picks)
        on = (X[:, picks], *Z)
        X_left, Y_left = residuals(X[:, left], *on), residuals(Y, *on)
        wanted = min(n - len(picks), round_size or n, len(left))
        indices, values = select_by_projectors(X_left, Y_left, wanted)
        picks += left[indices].tolist()
        scores += values.tolist()
        rounds += [rounds[-1] + 1 if rounds else 1] * len(indices)
    return picks[len(include) :], scores, rounds


def later(selector):
    """The picks after round 0, as a selector for comparison."""
    part = paper_form()
    first = int((selector.rounds_ == 0).sum())
    for name in ("selected_", "scores_", "margins_", "pvalues_", "rounds_"):
        setattr(part, name, getattr(selector, name)[first:])
    return part


# Residual rounds


def forward_stepwise(X, y, n):
    """Add the candidate of largest partial R², one a step."""
    picks, scores = [], []
    for _ in range(n):
        rest = residuals(y, X[:, picks])
        partial = np.full(X.shape[1], -1.0)
        for j in set(range(X.shape[1])) - set(picks):
            x = residuals(X[:, [j]], X[:, picks])
            partial[j] = 1 - np.sum(residuals(rest, x, center=False) ** 2) / np.sum(rest**2)
        picks.append(int(np.argmax(partial)))
        scores.append(partial[picks[-1]])
    return picks, scores


@pytest.mark.parametrize("route", ROUTES)
def test_one_target_is_forward_stepwise_regression(seed, route):
    rng = np.random.default_rng(seed)
    agreement = Agreement()
    for _ in range(4):
        X, Y = problem(rng, n_y=1)
        got = ROUTES[route](paper_form(9), X, Y)
        agreement.check(got, forward_stepwise(X, Y, 9), route)
        assert got.rounds_.tolist() == list(range(1, 10))
    agreement.assert_mostly_full()


@pytest.mark.parametrize("elements", [1 << 23, *slow(0)], ids=["formed", "implicit"])
@pytest.mark.parametrize("n", [10, *slow(None)])
@pytest.mark.parametrize("round_size", [None, 1, *slow(2, 5)])
@pytest.mark.parametrize("route", ROUTES)
def test_rounds_equal_selection_from_residuals(seed, route, round_size, n, elements, monkeypatch):
    monkeypatch.setattr(projse.search.coordinates, "DENSE_ELEMENTS", elements)
    rng = np.random.default_rng([seed, 1])
    agreement = Agreement()
    for _ in range(4):
        X, Y = problem(rng)
        picks, scores, rounds = literal_rounds(X, Y, n or 3, round_size)
        got = ROUTES[route](paper_form(n, round_size=round_size), X, Y)
        agreement.check(got, (picks, scores), route)
        assert got.rounds_.tolist() == rounds
        assert got.reference_rank_ == 3
    agreement.assert_mostly_full()


@pytest.mark.parametrize("route", ROUTES)
def test_rounds_go_on_where_references_are_dependent(seed, route):
    """As many picks as columns in Y, but Y has a smaller rank."""
    rng = np.random.default_rng([seed, 2])
    X, Y = problem(rng, n_y=2)
    Y = Y @ rng.normal(size=(2, 4))
    got = ROUTES[route](paper_form(4), X, Y)
    check(got, literal_rounds(X, Y, 4)[:2], route)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("variant", [{"rank": 2}, {"rank": 0.6}, {"tol": 0.3}, {"alpha": 0.3}, {}])
def test_rounds_do_not_depend_on_the_solver(seed, variant, form):
    rng = np.random.default_rng([seed, 3])
    X, Y = problem(rng, n_y=5)
    parameters = {**FORMS[form], **variant}
    gram, qr = (fit(ProjSe(10, solver=s, **parameters), X, Y) for s in ("gram", "qr"))
    check(qr, gram, near=1e-6)


@pytest.mark.parametrize("route", ROUTES)
def test_rounds_end_when_nothing_is_left_to_explain(seed, route):
    """Eight references, all much alike, that three candidates explain in full."""
    X = problem(np.random.default_rng([seed, 16]))[0]
    Y = X[:, :1] + 0.1 * X[:, [5, 9]] @ np.random.default_rng([seed, 17]).normal(size=(2, 8))
    got = ROUTES[route](paper_form(12), X, Y)
    assert sorted(got.selected_) == [0, 5, 9]


@pytest.mark.parametrize("exhausted", ["residual", "restart"])
def test_first_picks_are_those_of_the_paper(seed, exhausted):
    rng = np.random.default_rng([seed, 4])
    X, Y = problem(rng)
    paper = paper_form(3, exhausted="stop").fit(X, Y)
    check(paper_form(3, exhausted=exhausted).fit(X, Y), paper)
    longer = paper_form(9, exhausted=exhausted).fit(X, Y)
    assert longer.selected_[:3].tolist() == paper.selected_.tolist()
    np.testing.assert_allclose(longer.scores_[:3], paper.scores_, rtol=1e-10)


def feature_space_rounds(K_yy, K_yx, K_xx, n):
    """Residual rounds with kernel matrices: Schur complements, written out."""
    picks, scores = [], []
    while len(picks) < n:
        S = np.array(picks, dtype=int)
        inverse = np.linalg.pinv(K_xx[np.ix_(S, S)], hermitian=True)
        yy = K_yy - K_yx[:, S] @ inverse @ K_yx[:, S].T
        yx = K_yx - K_yx[:, S] @ inverse @ K_xx[S]
        norms = np.diag(K_xx - K_xx[:, S] @ inverse @ K_xx[S]).copy()
        norms[S] = np.inf
        for _ in range(min(len(K_yy), n - len(picks))):
            score = np.einsum("ij,ij->j", yx, np.linalg.pinv(yy, 1e-10, hermitian=True) @ yx)
            score /= norms
            score[picks] = 0.0
            j = int(np.argmax(score))
            picks.append(j)
            scores.append(score[j])
            # the shadow of x in the span of Y: K_YY^+ k has coordinates a, and is taken out
            a = yx[:, j] / np.sqrt(yx[:, j] @ np.linalg.pinv(yy, 1e-10, hermitian=True) @ yx[:, j])
            yx = yx - np.outer(a, a @ np.linalg.pinv(yy, 1e-10, hermitian=True) @ yx)
            yy = yy - np.outer(a, a)
    return picks, scores


@pytest.mark.parametrize("kernel", ["poly", "rbf"])
def test_rounds_in_feature_space(seed, kernel):
    rng = np.random.default_rng([seed, 5])
    X, Y = problem(rng)
    A, B = (residuals(M) / np.linalg.norm(residuals(M), axis=0) for M in (X, Y))
    both = np.concatenate([B, A], axis=1)
    G = both.T @ both
    K = (G + 1) ** 3 / 8 if kernel == "poly" else np.exp(-0.5 * (2 - 2 * G))
    got = paper_form(8, kernel=kernel, coef0=1.0, gamma=0.5).fit(X, Y)
    check(got, feature_space_rounds(K[:3, :3], K[:3, 3:], K[3:, 3:], 8), rtol=1e-6, near=1e-6)


def test_nothing_is_conditioned_on_softly_where_rounds_restart(seed):
    X, Y = problem(np.random.default_rng([seed, 6]))
    form = {"exhausted": "restart", "round_size": 1}
    plain = ProjSe(5, redundancy=0.0, **form).fit(X, Y)
    got = ProjSe(5, **form).fit(X, Y)
    assert got.redundancy_ == 0.0
    assert got.selected_.tolist() == plain.selected_.tolist()
    np.testing.assert_array_equal(got.scores_, plain.scores_)


@pytest.mark.filterwarnings("ignore::projse.exceptions.UnreliableSelectionWarning")
@pytest.mark.parametrize("round_size", [None, 2])
@pytest.mark.parametrize("n", [3, 7, 12])
def test_one_view_restarts_as_the_same_variables_in_two_views_do(seed, n, round_size):
    rng = np.random.default_rng([seed, 7])
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 12))
    form = {"exhausted": "restart", "round_size": round_size}
    one, two = (paper_form(n, **form).fit(X, Y) for Y in (None, X))
    assert len(set(one.selected_)) == n
    assert one.rounds_.tolist() == two.rounds_.tolist()
    # In what two of three dimensions leave, all scores are 1 up to rounding.
    if round_size is None:
        assert one.selected_.tolist() == two.selected_.tolist()
        np.testing.assert_allclose(one.scores_, two.scores_, rtol=1e-6)


def test_restart_uses_the_same_space_again(seed):
    rng = np.random.default_rng([seed, 6])
    X, Y = problem(rng)
    got = paper_form(9, exhausted="restart").fit(X, Y)
    left = np.arange(12)
    for t in (0, 3, 6):
        indices, scores = select_by_projectors(X[:, left], Y, 3)
        assert got.selected_[t : t + 3].tolist() == left[indices].tolist()
        np.testing.assert_allclose(got.scores_[t : t + 3], scores, rtol=1e-8)
        left = np.setdiff1d(left, got.selected_[: t + 3])
    assert got.rounds_.tolist() == [1] * 3 + [2] * 3 + [3] * 3


@pytest.mark.parametrize("how", ["gram", "qr", "moments"])
def test_a_share_of_the_trace_is_one_of_all_directions_whatever_tol_cuts(seed, how):
    rng = np.random.default_rng([seed, 21])
    X, Y = rng.normal(size=(60, 5)), rng.normal(size=(60, 8)) @ rng.normal(size=(8, 8))
    unit = (Y - Y.mean(axis=0)) / Y.std(axis=0) / np.sqrt(60)
    values = np.linalg.svd(unit)[1] ** 2
    shares = np.cumsum(values) / values.sum()
    share = float((shares[1] + shares[2]) / 2)
    for place, expected in ((1, 2), (4, 3)):
        tol = float((values[place] + values[place + 1]) / 2 / values[0])
        parameters = {"rank": share, "tol": tol, "solver": "qr" if how == "qr" else "gram"}
        selector = ProjSe(1, **parameters)
        if how == "moments":
            selector.fit_moments(Moments.from_arrays(X, Y))
        else:
            selector.fit(X, Y)
        assert selector.reference_rank_ == expected


def test_stop_warns_when_it_selects_fewer(seed):
    X, Y = problem(np.random.default_rng([seed, 7]))
    with pytest.warns(RankExhaustedWarning, match="Selected 3 of 9"):
        assert len(paper_form(9, exhausted="stop").fit(X, Y).selected_) == 3
    with pytest.warns(RankExhaustedWarning, match="with_xx=True"):
        paper_form(9).fit_moments(Moments.from_arrays(X, Y, with_xx=False))


@pytest.mark.parametrize("round_size", [None, 1])
@pytest.mark.parametrize("route", ROUTES)
def test_combinations_of_picks_are_never_picked(seed, route, round_size):
    rng = np.random.default_rng([seed, 8])
    X, Y = problem(rng)
    X[:, 9:] = X[:, :9] @ rng.normal(size=(9, 3))  # rank 9
    got = ROUTES[route](paper_form(12, round_size=round_size), X, Y)
    assert len(got.selected_) == 9
    assert np.linalg.matrix_rank(residuals(X)[:, got.selected_]) == 9
    X[:, 9:] = X[:, [0, 1, 2]] * [2.0, -1e-3, 1e4]  # copies
    got = ROUTES[route](paper_form(12, round_size=round_size), X, Y)
    assert sorted(got.selected_ % 9) == list(range(9))


@arbitrary_picks
def test_rounding_is_never_picked(seed):
    """Small whole numbers: what is left of them is either nothing or a good deal."""
    rng = np.random.default_rng([seed, 20])
    for _ in range(60):
        X, y = rng.integers(-1, 3, (6, 8)).astype(float), rng.integers(0, 2, (6, 1)).astype(float)
        y[0], y[1] = 0, 1
        picks = fit(paper_form(8, round_size=2), X).selected_
        assert np.linalg.matrix_rank(residuals(X)[:, picks]) == len(picks)
        scores = fit(paper_form(5, kernel="poly"), X[:, :5] > 0, y).scores_
        assert scores.min(initial=1.0) > 1e-24


# Include, exclude, covariates


@pytest.mark.parametrize("round_size", [None, 1])
@pytest.mark.parametrize("route", ROUTES)
def test_include_conditions_everything_else(seed, route, round_size):
    rng = np.random.default_rng([seed, 9])
    agreement = Agreement()
    for _ in range(3):
        X, Y = problem(rng)
        include, excluded = [7, 2, 10], [0, 5]
        keep = np.setdiff1d(np.arange(12), excluded)
        inside = np.searchsorted(keep, include)
        picks, scores, _ = literal_rounds(X[:, keep], Y, 9, round_size, inside)
        selector = paper_form(9, include=include, exclude=excluded, round_size=round_size)
        got = ROUTES[route](selector, X, Y)
        assert got.selected_[:3].tolist() == include
        assert got.rounds_[:3].tolist() == [0, 0, 0]
        assert got.rounds_[3] == 1
        assert np.all((got.scores_ >= 0) & (got.scores_ <= 1))
        first = select_by_projectors(X[:, [7]], Y, 1)[1]
        np.testing.assert_allclose(got.scores_[:1], first, rtol=1e-8)
        assert np.isnan(got.pvalues_[:3]).all()
        assert not set(got.selected_) & set(excluded)
        agreement.check(later(got), (keep[picks], scores), route)
    agreement.assert_mostly_full()


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("n_y", [1, 3])
def test_include_without_a_number_goes_on_through_the_references(seed, n_y, route):
    X, Y = problem(np.random.default_rng([seed, 21]), n_y=n_y)
    got = ROUTES[route](paper_form(include=[3, 7]), X, Y)
    want = literal_rounds(X, Y, 2 + n_y, include=[3, 7])
    assert got.selected_[:2].tolist() == [3, 7]
    check(later(got), want[:2])


@pytest.mark.parametrize("form", FORMS)
def test_included_copies_and_constants_change_nothing(seed, form):
    rng = np.random.default_rng([seed, 10])
    for _ in range(20):
        X, Y = problem(rng)
        X[:, 3], X[:, 4] = rng.uniform(0.1, 9) * X[:, 2], 5.0
        want = later(fit(ProjSe(5, include=[2], exclude=[3, 4], **FORMS[form]), X, Y))
        got = fit(ProjSe(7, include=[2, 3, 4], **FORMS[form]), X, Y)
        np.testing.assert_allclose(got.scores_[1:3], 0.0, atol=1e-12)
        check(later(got), want, near=1e-6)
        np.testing.assert_allclose(later(got).pvalues_, want.pvalues_, rtol=1e-6, atol=1e-12)


def test_include_may_use_up_the_references(seed):
    rng = np.random.default_rng([seed, 19])
    for n_y in (1, 2, 3) * 5:
        X, Y = problem(rng, n_y=n_y)
        got = fit(paper_form(8, include=[0, 1, 2, 3, 4]), X, Y)
        np.testing.assert_allclose(got.scores_[n_y:5], 0.0, atol=1e-12)
        picks, scores, _ = literal_rounds(X, Y, 8, include=range(5))
        check(later(got), (picks, scores), near=1e-6)


@pytest.mark.parametrize("kind", ["continuous", "labels", "csr"])
@pytest.mark.parametrize("covariate", ["numbers", "strings", "both"])
def test_covariates_are_regressed_out(seed, kind, covariate):
    rng = np.random.default_rng([seed, 11])
    agreement = Agreement()
    for _ in range(3):
        X, Y = problem(rng)
        ages, groups = rng.normal(50, 10, size=(80, 2)), rng.choice(["a", "b", "c"], 80)
        one_hot = (groups[:, None] == np.array(["a", "b", "c"])).astype(float)
        X += 0.1 * ages[:, :1] + one_hot @ rng.normal(size=(3, 12))
        Y += 0.2 * ages[:, 1:] + one_hot @ rng.normal(size=(3, 3))
        given, Z = {
            "numbers": (ages, ages),
            "strings": (groups, one_hot),
            "both": (np.column_stack([ages.astype(object), groups]), np.hstack([ages, one_hot])),
        }[covariate]
        y = Y
        if kind == "labels":
            y = np.digitize(Y[:, 0], np.quantile(Y[:, 0], [0.3, 0.6]))
            Y = (y[:, None] == np.arange(3)).astype(float)
        picks, scores, _ = literal_rounds(X, Y, 8, covariates=Z)
        X_in, y_in = (sp.csr_array(X), sp.csr_array(y)) if kind == "csr" else (X, y)
        got = paper_form(8).fit(X_in, y_in, covariates=given)
        agreement.check(got, (picks, scores), f"{kind}, {covariate}")
        for form in FORMS.values():
            got = ProjSe(8, **form).fit(X_in, y_in, covariates=given)
            alike = ProjSe(8, **form).fit(residuals(X, Z), residuals(Y, Z))
            agreement.check(got, alike, "residuals")
            assert got.reference_rank_ == alike.reference_rank_
    agreement.assert_mostly_full()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_a_copy_of_a_covariate_is_never_picked(seed, kernel, scale, form):
    """In feature space too, whatever rows that weigh nothing hold."""
    X, Y = problem(np.random.default_rng([seed, 18]))
    Z, weight = X[:, 5:7].copy(), np.repeat([0, 1, 3], [5, 70, 5])
    Z[:2] = 1e6, np.nan
    selector = ProjSe(12, kernel=kernel, scale=scale, **FORMS[form])
    got = fit(selector, X, Y, sample_weight=weight, covariates=Z)
    assert len(got.selected_) == 10
    assert not {5, 6} & set(got.selected_)


@pytest.mark.parametrize("center_kernel", [False, True])
@pytest.mark.parametrize("kernel", ["poly", "rbf", "callable"])
def test_covariates_are_taken_out_before_the_kernel(seed, kernel, center_kernel):
    rng = np.random.default_rng([seed, 12])
    X, Y = problem(rng)
    Z = rng.normal(size=(80, 2))
    X, Y = X + Z @ rng.normal(size=(2, 12)), Y + Z @ rng.normal(size=(2, 3))
    function = (lambda A, B: (A.T @ B) ** 3) if kernel == "callable" else kernel
    selector = ProjSe(6, kernel=function, center_kernel=center_kernel)
    got = selector.fit(X, Y, covariates=Z)
    check(got, ProjSe(**selector.get_params()).fit(residuals(X, Z), residuals(Y, Z)))


# Significance


def test_pvalues_follow_the_beta_distribution(seed):
    rng = np.random.default_rng([seed, 13])
    X, Y = problem(rng, n_x=20)
    X[:, 19] = 0.0
    Z = rng.normal(size=(80, 2))
    for covariates, include, round_size in [(None, [], None), (Z, [], 2), (Z, [4, 5], 1)]:
        selector = paper_form(11, include=include or None, round_size=round_size)
        got = selector.fit(X, Y, covariates=covariates)
        conditioned = 0 if covariates is None else 2
        for t, (score, r) in enumerate(zip(got.scores_, got.rounds_, strict=True)):
            if r == 0:
                continue
            before = int((got.rounds_ < r).sum())
            degrees = 80 - 1 - conditioned - before
            taken = t - before
            tail = scipy.stats.beta.sf(score, (3 - taken) / 2, (degrees - 3 + taken) / 2)
            p = -np.expm1((19 - t) * np.log1p(-tail))
            np.testing.assert_allclose(got.pvalues_[t], p, rtol=1e-6, atol=1e-300)


@pytest.mark.parametrize("form", [PAPER, {**PAPER, "round_size": 1}, {}])
def test_auto_stops_at_the_first_pick_that_is_not_significant(seed, form):
    rng = np.random.default_rng([seed, 14])
    X = rng.normal(size=(200, 20))
    Y = X[:, :4] @ rng.normal(size=(4, 3)) + 0.5 * rng.normal(size=(200, 3))
    got = ProjSe("auto", **form).fit(X, Y)
    n = len(got.selected_)
    assert 1 <= n < 20
    assert np.all(got.pvalues_ <= 0.05)
    longer = ProjSe(n + 1, **form).fit(X, Y)
    if longer.rounds_[:n].tolist() == got.rounds_.tolist():  # no round was left for a second look
        assert longer.selected_[:n].tolist() == got.selected_.tolist()
        assert longer.pvalues_[n] > 0.025, "half the level, where it was looked at twice"
    stricter = ProjSe("auto", significance=1e-8, **form).fit(X, Y)
    assert len(stricter.selected_) <= n


# Against forward selection by canonical correlation


@pytest.mark.slow
@pytest.mark.parametrize("form", [PAPER, {**PAPER, "round_size": 1}, {}])
@pytest.mark.parametrize("n_y", [1, 3, 10])
@threadpool_limits.wrap(limits=1)
def test_held_out_r2_is_that_of_fastcan(seed, n_y, form):
    fastcan = pytest.importorskip("fastcan")
    rng = np.random.default_rng([seed, 15])
    gaps = []
    for kind in ("factors", "chain", "common") * 3:
        n_x = int(rng.integers(40, 61))
        X = rng.normal(size=(1300, n_x))
        if kind == "factors":
            X = 1.5 * X + rng.normal(size=(1300, 10)) @ rng.normal(size=(10, n_x))
        elif kind == "common":
            X += rng.normal(size=(1300, 1))
        else:
            for j in range(1, n_x):
                X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
        Y = X[:, rng.permutation(n_x)[:15]] @ rng.normal(size=(15, n_y))
        Y += 0.7 * Y.std(axis=0) * rng.normal(size=Y.shape)
        train, test = slice(0, 300), slice(300, None)
        ours = ProjSe(40, **form).fit(X[train], Y[train]).selected_
        theirs = fastcan.FastCan(40, verbose=0).fit(X[train], Y[train]).indices_
        for n in (5, 10, 20, 40):
            r2 = [
                LinearRegression().fit(X[train][:, s], Y[train]).score(X[test][:, s], Y[test])
                for s in (ours[:n], theirs[:n])
            ]
            if n > n_y or form != PAPER:
                gaps.append(r2[0] - r2[1])
    assert np.mean(gaps) > -0.01


def test_auto_ends_a_round_at_the_first_pick_that_does_not_convince(monkeypatch):
    told = iter([1e-9, 0.9, 1e-9, 0.9, 0.9])
    monkeypatch.setattr(ColumnSearch, "pvalue", lambda *_: next(told))
    X, Y = problem(np.random.default_rng(0))
    selector = ProjSe("auto", **PAPER).fit(X, Y)
    assert selector.rounds_.tolist() == [1, 2]
    assert selector.pvalues_.tolist() == [1e-9, 1e-9]
    assert next(told, None) is None


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 10.0])
@pytest.mark.parametrize("shortest", [1.0, 1e-2, 1e-4])
def test_the_shortest_direction_magnifies_the_rounding_of_what_lies_along_the_longest(
    seed, shortest, alpha
):
    """What a score of 1 leaves behind is rounding up to eps² times the condition number.

    What no reference has any part of is known to 32 eps, divided by the length of each direction.
    """
    rng = np.random.default_rng([seed, 21])
    A = rng.normal(size=(200, 12))
    Q, _ = np.linalg.qr(A - A.mean(axis=0))
    mixing, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    moments = Moments.from_arrays(Q[:, 8:], (Q[:, :8] * np.geomspace(1, shortest, 8)) @ mixing)
    gram = from_moments(moments, KernelSpec())
    deflation, rank = ReferenceSpace(gram, Plan(3, alpha=alpha), gram.alive).open()
    values = np.linalg.eigvalsh(gram.yy)
    condition = max(values[-1] / (values[0] + alpha), 1.0)
    assert rank == 8
    unrelated = deflation.floor(np.arange(4), 0.0)
    within = deflation.floor(np.arange(4), 1.0) - unrelated
    np.testing.assert_allclose(within / (gram.eps**2 * condition), 64**2, rtol=0.1)
    lengths = np.sum(1 / (values + alpha))
    np.testing.assert_allclose(unrelated / (gram.eps**2 * lengths), 32**2, rtol=0.1)
