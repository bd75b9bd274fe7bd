"""What `pvalues_` and `n_features_to_select="auto"` promise, by simulation.

The bounds fail by chance with a probability below 1e-6 a seed, all tests of this file together.
"""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.stats
from agreement import fit
from marks import arbitrary_picks
from paper import FORMS, paper_form
from variants import slow

from projse import PAPER, Moments, ProjSe
from projse.exceptions import RankExhaustedWarning
from projse.search.group_significance import GivenGroups
from projse.search.significance import GivenPicks, PlainScores, selection_pvalue

FALSE_ALARM = 1e-8
"""Probability that one bound fails by chance."""


def assert_share(count, n_trials, level, *, at_least=True):
    """A count of events of probability `level`; at most that, where `at_least` is False."""
    binom = scipy.stats.binom
    assert count <= binom.isf(FALSE_ALARM, n_trials, level), f"{count} of {n_trials}"
    if at_least:
        assert count >= binom.ppf(FALSE_ALARM, n_trials, level), f"{count} of {n_trials}"


def test_a_pick_of_which_nothing_is_left_scores_nothing_and_takes_nothing_out():
    scores = PlainScores(3)
    along, across = np.array([0.0, 0.5, 0.0]), np.array([0.25, 0.0, 0.0])
    assert [scores.add(c) for c in (along, along, across, across)] == [0.25, 0.0, 0.0625, 0.0]


def span(A):
    """Return an orthonormal basis of the columns."""
    U, values, _ = np.linalg.svd(A, full_matrices=False)
    return U[:, values > 1e-9 * values[0]]


def odd_references(rng, m, n_y):
    """References of any shape: heavy tails, skew, a large mean, related to each other."""
    Y = rng.standard_t(3, size=(m, n_y)) + rng.exponential(size=(m, 1))
    return Y @ rng.normal(size=(n_y, n_y)) + 10.0


def labels(rng, m, n_y):
    return rng.permutation(np.arange(m) % n_y)


def rank_deficient(rng, m, n_y):
    Y = odd_references(rng, m, n_y)
    return np.hstack([Y, Y @ rng.normal(size=(n_y, 2)), np.ones((m, 1))])


CASES = {
    # m, n_x, n_y, references, parameters
    "one output": (30, 5, 1, odd_references, {}),
    "some outputs": (40, 12, 4, odd_references, {}),
    "one candidate": (25, 1, 3, odd_references, {}),
    "many candidates": (20, 150, 3, odd_references, {}),
    "hardly more rows than outputs": (14, 6, 11, odd_references, {}),
    "more outputs than rows, of low rank": (12, 6, 4, rank_deficient, {}),
    "not scaled": (20, 8, 2, odd_references, {"scale": False}),
    "classes": (30, 8, 3, labels, {}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_pvalues_of_the_first_pick_are_uniform_under_the_null(seed, case):
    m, n_x, n_y, references, parameters = CASES[case]
    rng = np.random.default_rng([seed, 1])
    pvalues = []
    for _ in range(300):
        scales = rng.uniform(0.1, 10, size=n_x)
        X = rng.normal(size=(m, n_x)) * scales + rng.normal(size=n_x)
        selector = paper_form(1, **parameters).fit(X, references(rng, m, n_y))
        pvalues.append(selector.pvalues_[0])
    assert scipy.stats.kstest(pvalues, "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_pvalues_of_a_first_pick_by_ridges_are_on_the_safe_side_under_the_null(seed, case):
    """The best by a score with ridges is not the best by the share that is tested."""
    m, n_x, n_y, references, parameters = CASES[case]
    rng = np.random.default_rng([seed, 11])
    pvalues = []
    for _ in range(150):
        X = rng.normal(size=(m, n_x)) + rng.normal(size=n_x)
        pvalues.append(ProjSe(1, **parameters).fit(X, references(rng, m, n_y)).pvalues_[0])
    safe = "greater" if n_y > 1 else "two-sided"
    assert scipy.stats.kstest(pvalues, "uniform", alternative=safe).pvalue > FALSE_ALARM


@pytest.mark.parametrize("round_size", [None, "auto", *slow(1)])
@pytest.mark.parametrize("n_y", [1, 3])
@pytest.mark.slow
def test_pvalues_of_later_picks_are_on_the_safe_side_under_the_null(seed, n_y, round_size):
    rng = np.random.default_rng([seed, 2])
    pvalues = []
    for _ in range(250):
        X, Y = rng.normal(size=(40, 10)), odd_references(rng, 40, n_y)
        form = {} if round_size == "auto" else {**PAPER, "round_size": round_size}
        pvalues.append(ProjSe(5, **form).fit(X, Y).pvalues_)
    for t, column in enumerate(np.transpose(pvalues)):
        # Small ones may be rarer than promised, never more frequent.
        assert scipy.stats.kstest(column, "uniform", alternative="greater").pvalue > FALSE_ALARM, t


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("level", [0.05, *slow(0.3)])
@pytest.mark.parametrize("n_y", [1, 4])
@pytest.mark.slow
def test_auto_selects_anything_from_noise_as_often_as_its_level(seed, n_y, level, form):
    rng = np.random.default_rng([seed, 3])
    n_trials, wrong = 400, 0
    for _ in range(n_trials):
        X, Y = rng.normal(size=(40, 15)), odd_references(rng, 40, n_y)
        wrong += len(fit(ProjSe("auto", significance=level, **FORMS[form]), X, Y).selected_) > 0
    assert_share(wrong, n_trials, level, at_least=form == "paper" or n_y == 1)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_y", [1, 4])
@pytest.mark.slow
def test_candidates_that_depend_on_each_other_make_auto_more_cautious(seed, n_y, form):
    rng = np.random.default_rng([seed, 4])
    n_trials, wrong = 300, 0
    for _ in range(n_trials):
        X = rng.normal(size=(40, 15)) + 2 * rng.normal(size=(40, 1))
        selector = ProjSe("auto", **FORMS[form])
        wrong += len(fit(selector, X, odd_references(rng, 40, n_y)).selected_) > 0
    assert_share(wrong, n_trials, 0.05, at_least=False)


MIXTURES = {
    1: np.array([[3.0], [-2.0], [1.5]]),
    3: 3 * np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0.6, 0.6], [0.7, -0.7, 0]]),
}
"""How planted variables enter the outputs: no two alike, which long rounds tell apart."""


MORE_PLANTED = [(1, 3), (3, 2), (3, 3), (3, 5)]


@pytest.mark.parametrize("form", [{}, *slow(PAPER, {**PAPER, "round_size": 1})])
@pytest.mark.parametrize(
    ("n_y", "n_planted"),
    [
        (1, 1),
        pytest.param(3, 3, marks=pytest.mark.slow),
        *(pytest.param(*pair, marks=pytest.mark.slow) for pair in MORE_PLANTED),
    ],
)
def test_auto_finds_what_is_planted_and_adds_noise_as_often_as_its_level(
    seed, n_y, n_planted, form
):
    rng = np.random.default_rng([seed, 5])
    n_trials, wrong = 300, 0
    for _ in range(n_trials):
        X = rng.normal(size=(150, 14))
        true = rng.permutation(14)[:n_planted]
        Y = X[:, true] @ MIXTURES[n_y][:n_planted] + 0.7 * rng.normal(size=(150, n_y))
        found = fit(ProjSe("auto", **form), X, Y).selected_
        assert set(found[:n_planted]) == set(true)
        wrong += len(found) > n_planted
    assert_share(wrong, n_trials, 0.05, at_least=bool(form))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.slow
def test_auto_finds_variables_behind_the_same_outputs(seed, form):
    """The first takes their common direction out of the round; given it, the second stands out."""
    rng = np.random.default_rng([seed, 7])
    n_trials, wrong = 300, 0
    for _ in range(n_trials):
        X = rng.normal(size=(150, 14))
        Y = X[:, :2] @ [[2.0, 1.0, -1.0], [1.5, 0.75, -0.75]] + rng.normal(size=(150, 3))
        found = fit(ProjSe("auto", **FORMS[form]), X, Y).selected_
        assert {0, 1} <= set(found)
        wrong += len(found) > 2
    assert_share(wrong, n_trials, 0.05, at_least=False)


def test_auto_stops_at_the_round_where_the_paper_does(seed):
    rng = np.random.default_rng([seed, 8])
    X = rng.normal(size=(150, 14))
    Y = X[:, :2] @ [[2.0, 1.0, -1.0], [1.5, 0.75, -0.75]] + rng.normal(size=(150, 3))
    # Where further rounds may look again, later picks of a round are looked at at half the level.
    stopped = fit(paper_form("auto", exhausted="stop", significance=0.025), X, Y)
    assert set(stopped.rounds_) == {1}
    with pytest.warns(RankExhaustedWarning, match="with_xx=True"):
        without = paper_form("auto").fit_moments(Moments.from_arrays(X, Y, with_xx=False))
    assert without.selected_.tolist() == stopped.selected_.tolist()


def test_a_stricter_level_adds_less_noise(seed):
    rng = np.random.default_rng([seed, 6])
    X = rng.normal(size=(60, 20))
    Y = X[:, :2] @ rng.normal(size=(2, 3)) + rng.normal(size=(60, 3))
    found = [
        fit(ProjSe("auto", significance=level), X, Y).selected_.tolist()
        for level in (0.9, 0.1, 1e-3, 1e-9)
    ]
    for longer, shorter in pairwise(found):
        assert longer[: len(shorter)] == shorter


# What p-values cannot tell


def unrelated(rng, mean=0.0):
    return rng.normal(size=(60, 8)) + mean, rng.normal(size=(60, 2)) + mean


@pytest.mark.parametrize("n_y", [1, 2])
def test_without_centring_there_are_no_pvalues(seed, n_y):
    """Unrelated variables with means share most of their length: 0.05 would mean nothing."""
    X, Y = unrelated(np.random.default_rng([seed, 9]), mean=3.0)
    assert paper_form(4, center=False).fit(X, Y[:, :n_y]).scores_[0] > 0.5
    for form in FORMS.values():
        got = ProjSe(4, center=False, **form).fit(X, Y[:, :n_y])
        assert np.isnan(got.pvalues_).all()
        assert not np.isnan(ProjSe(4, **form).fit(X, Y[:, :n_y]).pvalues_).any()
    for call in (lambda s: s.fit(X, Y), lambda s: s.fit_moments(Moments.from_arrays(X, Y))):
        with pytest.raises(ValueError, match=r"'auto'.*center=False.*Use center=True"):
            call(ProjSe("auto", center=False))


def by_fit(selector, X, Y, weight):
    return fit(selector, X, Y, sample_weight=weight)


def by_moments(selector, X, Y, weight):
    return selector.fit_moments(Moments.from_arrays(X, Y, weight, with_xx=True))


@pytest.mark.parametrize("route", [by_fit, by_moments])
def test_weights_that_are_no_counts_have_no_pvalues(seed, route):
    rng = np.random.default_rng([seed, 10])
    X, Y = unrelated(rng)
    Y += 3 * X[:, :2]
    weight = rng.uniform(0.5, 1.5, size=60) * (rng.random(60) < 0.9)
    want = route(ProjSe("auto"), X, Y, weight)
    assert {0, 1} <= set(want.selected_)
    shares = weight / weight.sum()
    with pytest.raises(ValueError, match=r"sums to 1 over \d+ rows.*multiply them by \d+") as error:
        route(ProjSe("auto"), X, Y, shares)
    factor = float(str(error.value).split("multiply them by ")[1].split(",")[0])
    assert factor == pytest.approx(np.count_nonzero(weight), rel=0.01)
    assert route(ProjSe("auto"), X, Y, shares * factor).selected_[:2].tolist() == (
        want.selected_[:2].tolist()
    )
    plain = route(ProjSe(3), X, Y, shares)
    assert plain.selected_.tolist() == route(ProjSe(3), X, Y, weight).selected_.tolist()
    assert np.isnan(plain.pvalues_).all()


# With a ridge

HARD = {"redundancy": 0.0}


def projected(X, Y, picks):
    """Scores of the picks of one round without a ridge, by explicit bases."""
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    Q = np.linalg.svd(Y, full_matrices=False)[0]
    R, scores = Q.T @ (X / np.linalg.norm(X, axis=0)), []
    for j in picks:
        scores.append(R[:, j] @ R[:, j])
        q = R[:, j] / np.linalg.norm(R[:, j])
        R = R - np.outer(q, q @ R)
    return scores


@pytest.mark.parametrize("alpha", [0.1, 1.0])
@pytest.mark.parametrize("solver", ["gram", "qr"])
def test_pvalues_with_a_ridge_are_those_of_the_projection(seed, alpha, solver):
    rng = np.random.default_rng([seed, 20])
    X, Y = rng.normal(size=(60, 12)), odd_references(rng, 60, 5)
    model = ProjSe(5, alpha=alpha, round_size=None, solver=solver, **HARD).fit(X, Y)
    scores = projected(X, Y, model.selected_)
    expected = [selection_pvalue(s, 5, t, 12 - t, 59) for t, s in enumerate(scores)]
    np.testing.assert_allclose(model.pvalues_, expected, rtol=1e-6)
    assert (np.array(scores) > model.scores_).all(), "the ridge takes something from a score"


@pytest.mark.slow
@pytest.mark.parametrize("round_size", [None, 1])
@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_pvalues_of_one_candidate_are_uniform_under_the_null_with_a_ridge(seed, alpha, round_size):
    rng = np.random.default_rng([seed, 21])
    options = {"alpha": alpha, "round_size": round_size, **HARD}
    pvalues = []
    for _ in range(600):
        X, Y = rng.normal(size=(40, 1)) + 3.0, odd_references(rng, 40, 4)
        pvalues.append(ProjSe(1, **options).fit(X, Y).pvalues_[0])
    assert scipy.stats.kstest(pvalues, "uniform").pvalue > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("round_size", [None, 1])
@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_pvalues_with_a_ridge_are_on_the_safe_side_under_the_null(seed, alpha, round_size):
    """The best with the ridge is not better without it than the best without it."""
    rng = np.random.default_rng([seed, 22])
    options = {"alpha": alpha, "round_size": round_size, **HARD}
    pvalues = []
    for _ in range(400):
        X, Y = rng.normal(size=(40, 10)), odd_references(rng, 40, 4)
        pvalues.append(ProjSe(5, **options).fit(X, Y).pvalues_)
    for t, column in enumerate(np.transpose(pvalues)):
        assert scipy.stats.kstest(column, "uniform", alternative="greater").pvalue > FALSE_ALARM, t


@pytest.mark.parametrize("dependent", [None, "copy", "in the references"])
def test_pvalues_are_the_same_at_the_end_and_one_by_one(seed, dependent):
    rng = np.random.default_rng([seed, 30])
    X, Y = rng.normal(size=(60, 9)), rng.normal(size=(60, 4))
    X[:, 0] += Y[:, 0]
    if dependent == "copy":
        X[:, 5] = X[:, 2]
    elif dependent:
        X[:, 1] = Y @ rng.normal(size=4)
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    X /= np.linalg.norm(X, axis=0)
    K, R = X.T @ X, np.linalg.qr(Y)[0].T @ X
    at_the_end, one_by_one = (GivenPicks(4, 59.0, 1e-10) for _ in range(2))
    expected = []
    for t, j in enumerate([0, 1, 2, 3, 5, 8]):
        for given in (at_the_end, one_by_one):
            given.add(j, K[j], R[:, j], 9 - t)
        expected.append(one_by_one.last())
    np.testing.assert_allclose(at_the_end.all(), expected, rtol=1e-6)
    # The last one from its definition: both sides given the picks before it.
    S = span(X[:, [0, 1, 2, 3, 5]])
    x, Z = X[:, 8] - S @ (S.T @ X[:, 8]), span(Y - S @ (S.T @ Y))
    assert (S.shape[1], Z.shape[1]) == {None: (5, 4), "copy": (4, 4)}.get(dependent, (5, 3))
    share = np.linalg.norm(Z.T @ x) ** 2 / (x @ x)
    want = selection_pvalue(share, Z.shape[1], 0, 4, 59 - S.shape[1])
    assert expected[-1] == pytest.approx(want, rel=1e-6)


def test_picks_of_a_number_and_of_auto_have_the_same_pvalues(seed):
    rng = np.random.default_rng([seed, 31])
    X, Y = rng.normal(size=(80, 10)), rng.normal(size=(80, 3))
    Y[:, :2] += 3 * X[:, :2]
    auto = ProjSe("auto").fit(X, Y)
    number = ProjSe(len(auto.selected_)).fit(X, Y)
    assert auto.selected_.tolist() == number.selected_.tolist()
    np.testing.assert_allclose(number.pvalues_, auto.pvalues_, rtol=1e-6)


@arbitrary_picks
@pytest.mark.parametrize("form", [{}, PAPER], ids=["default", "paper"])
@pytest.mark.parametrize("grouped", [False, True])
def test_weights_make_no_room_for_outputs_that_fill_the_rows(seed, form, grouped):
    """Such outputs explain noise wholly, however often a weight counts each row."""
    rng = np.random.default_rng([seed, 32])
    X, Y = rng.normal(size=(10, 20)), rng.normal(size=(10, 12))
    weight = rng.integers(1, 5, size=10).astype(float)
    groups = (np.arange(20) // 2).tolist() if grouped else None
    first = ProjSe(1, groups=groups, **form).fit(X, Y, sample_weight=weight)
    assert np.isnan(first.pvalues_[0])
    with pytest.raises(ValueError, match="more rows than the references have dimensions"):
        ProjSe("auto", groups=groups, **form).fit(X, Y, sample_weight=weight)
    # Given all picks before: after four of them, five outputs fill what is left of nine dimensions.
    later = ProjSe(6, redundancy=0.5, groups=groups).fit(X, Y[:, :5], sample_weight=weight)
    n_known = 2 if grouped else 4
    assert np.isfinite(later.pvalues_[:n_known]).all()
    assert np.isnan(later.pvalues_[n_known])


@arbitrary_picks
@pytest.mark.parametrize("grouped", [False, True])
def test_weights_make_no_room_for_outputs_that_fill_what_covariates_leave(seed, grouped):
    rng = np.random.default_rng([seed, 33])
    X, Y, Z = (rng.normal(size=(10, n)) for n in (20, 7, 2))
    weight = rng.integers(2, 5, size=10).astype(float)
    groups = (np.arange(20) // 2).tolist() if grouped else None
    selector = ProjSe(1, groups=groups)
    # Ten rows, less a mean and two covariates, have seven dimensions.
    assert np.isnan(selector.fit(X, Y, sample_weight=weight, covariates=Z).pvalues_[0])
    fewer = selector.fit(X, Y[:, :6], sample_weight=weight, covariates=Z)
    assert np.isfinite(fewer.pvalues_[0])


@arbitrary_picks
def test_picks_past_the_rank_have_pvalue_1_as_columns_and_as_variables(seed):
    rng = np.random.default_rng([seed, 32])
    X, Y = rng.normal(size=(5, 12)), rng.normal(size=(5, 1))
    weight = rng.integers(1, 4, 5).astype(float)
    columns = ProjSe(8).fit(X, Y, sample_weight=weight)
    variables = ProjSe(8, groups=[0, 0, *range(1, 11)]).fit(X, Y, sample_weight=weight)
    assert (columns.pvalues_[4:] == 1).all()
    assert (variables.pvalues_[4:] == 1).all()
    assert len(columns.pvalues_) == len(variables.pvalues_) == 8
    # What rounding leaves of the fifth is more than nothing, in float32.
    X = X - X.mean(axis=0)
    K, R = X.T @ X, 1e-3 * X
    given = [GivenPicks(1, 4.0, 0.0, 4.0) for _ in range(2)]
    for j in range(5):
        for one in given:
            one.add(j, K[j] + 1e-6 * np.eye(12)[j], R[:1, j], 12)
    assert given[0].all()[4] == [given[1]._next(j) for j in range(5)][4] == 1


@pytest.mark.parametrize("groups", [None, [0, 0, 1, 2, 3, 4, 5, 6]])
def test_nothing_is_left_to_explain_where_the_picks_before_explain_everything(seed, groups):
    rng = np.random.default_rng([seed, 44])
    X = rng.normal(size=(50, 8))
    Y = X[:, [1, 4]] @ np.array([[1.0, 2.0], [3.0, -1.0]])
    selector = ProjSe(5, groups=groups).fit(X, Y)
    assert selector.pvalues_[:2].max() < 1e-6
    assert selector.pvalues_[2:].tolist() == [1.0] * 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it said that the rows are too few
        assert len(ProjSe("auto", groups=groups).fit(X, Y).selected_) == 2


@pytest.mark.parametrize("room", [6.0, 8.0, 59.0])
def test_variables_of_one_column_have_the_pvalues_of_columns(seed, room):
    """Also a copy of a pick, and where hardly any room, or none, is left for the references."""
    rng = np.random.default_rng([seed, 34])
    X, Y = rng.normal(size=(60, 9)), rng.normal(size=(60, 4))
    X[:, 1] = Y @ rng.normal(size=4)
    X[:, 5] = 2 * X[:, 2] - X[:, 0]
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    X /= np.linalg.norm(X, axis=0)
    K, R = X.T @ X, np.linalg.qr(Y)[0].T @ X
    columns, variables = GivenPicks(4, 59.0, 1e-10, room), GivenGroups(4, 59.0, 1e-10, room)
    picks, found, want = [0, 1, 2, 5, 3, 8, 7, 6], [], []
    for t, j in enumerate(picks):
        columns.add(j, K[j], R[:, j], 9 - t)
        want.append(columns.last())
        before, sizes = picks[:t], np.ones(9 - t, dtype=np.intp)
        found.append(variables.add(K[[[j]], [j]], K[before][:, [j]], R[:, [j]], sizes))
    np.testing.assert_allclose(found, want, rtol=1e-6)
    assert found[3] == 1
    if room == 6.0:  # a dimension more than the references have after the first pick
        assert np.isnan(found[4:]).tolist() == [True, True, True, False]


@arbitrary_picks
@pytest.mark.parametrize(
    ("round_size", "redundancy"), [(1, 0.0), (1, 0.3), (1, "auto"), (2, 0.0), (None, 0.0)]
)
def test_what_depends_on_variables_that_come_first_is_not_chosen_from(seed, round_size, redundancy):
    rng = np.random.default_rng([seed, 45])
    X, Y = rng.normal(size=(60, 8)), rng.normal(size=(60, 3))
    copies = np.column_stack([X[:, 0] - X[:, 3], 2 * X[:, 3], X[:, 0]])
    parameters = {"round_size": round_size, "redundancy": redundancy, "include": [0, 3]}
    want = ProjSe(5, **parameters).fit(X, Y)
    found = ProjSe(5, **parameters).fit(np.hstack([X, copies]), Y)
    np.testing.assert_array_equal(found.selected_, want.selected_)
    np.testing.assert_allclose(found.pvalues_, want.pvalues_, rtol=1e-6)
    n_candidates = X.shape[1] - 2
    alone = 1 - (1 - want.pvalues_[2]) ** (1 / n_candidates)
    assert 0 < alone < want.pvalues_[2] < 1


@arbitrary_picks
@pytest.mark.parametrize("round_size", [1, 2])
def test_nor_is_what_depends_on_picks_taken_out_wholly(seed, round_size):
    rng = np.random.default_rng([seed, 46])
    X, Y = rng.normal(size=(60, 6)), rng.normal(size=(60, 3))
    X[:, 0] += Y[:, 0]
    X[:, 4] = -3 * X[:, 0]
    parameters = {"round_size": round_size, "redundancy": 0.0}
    columns = ProjSe(4, **parameters).fit(X, Y)
    alone = ProjSe(4, **parameters).fit(np.delete(X, 4, axis=1), Y)
    more = np.hstack([X, rng.normal(size=(60, 2))])
    parameters |= {"groups": [*range(6), 6, 6], "exclude": [6]}
    variables = ProjSe(4, **parameters).fit(more, Y)
    np.testing.assert_array_equal(columns.selected_, variables.selected_)
    later = slice(round_size, None)
    for other in (variables, alone):
        np.testing.assert_allclose(columns.pvalues_[later], other.pvalues_[later], rtol=1e-6)


def test_the_best_of_candidates_that_score_nothing_has_the_pvalue_1():
    for n_candidates in (1, 8):
        assert selection_pvalue(0.0, 3, 0, n_candidates, 30.0) == 1.0
