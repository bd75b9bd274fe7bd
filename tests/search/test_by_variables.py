"""Variables of several columns: picks, scores, p-values and ridges are those of the definition."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import quietly
from honest_groups import Honest, draw, in_rounds, orth, softly
from numpy.testing import assert_allclose, assert_array_equal
from planted import planted
from scipy.stats import beta, kstest

from projse import PAPER, Moments, ProjSe
from projse.search.adjusted import Chance
from projse.search.group_significance import group_pvalue, pillai_tail

FEW, MANY = range(2), range(150)


def fitted(X, Y, **parameters):
    return quietly(ProjSe(**parameters).fit, X, Y)


def agree(model, want):
    picks, scores, pvalues = want[:3]
    assert_array_equal(model.selected_, picks)
    assert_allclose(model.scores_, scores, rtol=1e-7, atol=1e-9)
    assert_allclose(model.pvalues_, pvalues, rtol=1e-5, atol=1e-9)


def check_softly(rng, redundancy):
    X, Y, labels, groups = draw(rng)
    k = int(rng.integers(1, len(groups) + 1))
    want = softly(Honest(X, Y, groups), k, redundancy)
    given = "auto" if redundancy is None else redundancy
    model = fitted(X, Y, n_features_to_select=k, groups=labels, redundancy=given)
    agree(model, want)
    assert_allclose(model.redundancy_, want[3][-1], atol=1e-8)


@pytest.mark.parametrize("redundancy", [None, 0.3, 1.0])
def test_soft_conditioning_is_that_of_explicit_projectors(seed, redundancy):
    for i in FEW:
        check_softly(np.random.default_rng([seed, i]), redundancy)


@pytest.mark.slow
@pytest.mark.parametrize("redundancy", [None, 0.05, 0.5, 1.0])
def test_soft_conditioning_is_that_of_explicit_projectors_many_times(seed, redundancy):
    for i in MANY:
        check_softly(np.random.default_rng([seed, 1, i]), redundancy)


ROUNDS = [
    {"alpha": 0.0, "round_size": None},
    {"alpha": 0.0, "round_size": None, "exhausted": "restart"},
    {"alpha": 0.0, "round_size": None, "exhausted": "stop"},
    {"alpha": 0.0, "round_size": 1},
    {"alpha": 0.7, "round_size": 1},
    {"alpha": 0.7, "round_size": 2},
]


def check_rounds(rng, alpha, round_size, exhausted="residual"):
    X, Y, labels, groups = draw(rng)
    k = int(rng.integers(1, len(groups) + 1))
    want = in_rounds(Honest(X, Y, groups, alpha), k, round_size, exhausted)
    form = {"alpha": alpha, "round_size": round_size, "exhausted": exhausted, "redundancy": 0.0}
    agree(fitted(X, Y, n_features_to_select=k, groups=labels, **form), want)


@pytest.mark.parametrize("form", ROUNDS)
def test_rounds_take_out_all_directions_of_a_variable(seed, form):
    for i in FEW:
        check_rounds(np.random.default_rng([seed, 2, i]), **form)


@pytest.mark.slow
@pytest.mark.parametrize("form", ROUNDS)
def test_rounds_take_out_all_directions_of_a_variable_many_times(seed, form):
    for i in MANY:
        check_rounds(np.random.default_rng([seed, 3, i]), **form)


@pytest.mark.parametrize("with_covariates", [False, True])
def test_everything_is_conditioned_on_covariates_and_included_variables(seed, with_covariates):
    for i in FEW:
        rng = np.random.default_rng([seed, 4, i])
        X, Y, labels, groups = draw(rng)
        Z = rng.normal(size=(len(X), 2)) + X[:, :2] / 5 if with_covariates else None
        first = [int(rng.integers(len(groups)))]
        problem = Honest(X, Y, groups, include=first, covariates=Z)
        picks, scores, pvalues, _ = softly(problem, 3, barred=first)
        model = ProjSe(4, groups=labels, include=first).fit(X, Y, covariates=Z)
        assert_array_equal(model.selected_, first + picks)
        assert_allclose(model.scores_[1:], scores, rtol=1e-7, atol=1e-9)
        assert_allclose(model.pvalues_[1:], pvalues, rtol=1e-5, atol=1e-9)
        assert model.rounds_.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_variable_that_comes_first_has_the_score_that_it_would_be_picked_with(seed, alpha):
    X, Y, labels, _ = draw(np.random.default_rng([seed, 35]))
    picked = fitted(X, Y, n_features_to_select=1, groups=labels, alpha=alpha)
    first = picked.selected_.tolist()
    given = fitted(X, Y, n_features_to_select=1, groups=labels, alpha=alpha, include=first)
    assert_allclose(given.scores_, picked.scores_)


def test_without_centring_the_space_has_as_many_dimensions_as_rows(seed):
    X, Y, labels, groups = draw(np.random.default_rng([seed, 9]))
    want = softly(Honest(X, Y, groups, center=False), 4)
    model = fitted(X, Y, n_features_to_select=4, groups=labels, center=False)
    assert_array_equal(model.selected_, want[0])
    assert_allclose(model.scores_, want[1], rtol=1e-7, atol=1e-9)
    assert np.isnan(model.pvalues_).all()


def test_one_view_explains_the_orthonormal_columns_of_its_groups(seed):
    for i in FEW:
        X, _, labels, groups = draw(np.random.default_rng([seed, 5, i]))
        centred = X - X.mean(axis=0)
        white = np.hstack([orth(centred[:, g]) for g in groups])
        want = softly(Honest(X, white, groups), 3, largest=1.0)
        model = ProjSe(3, groups=labels).fit(X)
        assert_array_equal(model.selected_, want[0])
        assert_allclose(model.scores_, want[1], rtol=1e-7)


@pytest.mark.parametrize("form", [{}, PAPER, {"round_size": 2}, {"redundancy": 0.4}])
def test_groups_of_one_column_are_no_groups_bit_for_bit(seed, form):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 15))
    Y = X[:, :4] @ rng.normal(size=(4, 3)) + rng.normal(size=(90, 3))
    plain = fitted(X, Y, n_features_to_select=9, **form)
    alone = {f"group {j}": [j] for j in reversed(range(15))}
    for groups in (alone, rng.permutation(15).tolist()):
        model = fitted(X, Y, n_features_to_select=9, groups=groups, **form)
        for name in ("selected_", "scores_", "margins_", "pvalues_", "ranking_", "support_"):
            assert_array_equal(getattr(model, name), getattr(plain, name))


@pytest.mark.parametrize("form", [{}, PAPER, {"redundancy": 0.0}])
def test_mixing_the_columns_within_a_group_changes_nothing(seed, form):
    rng = np.random.default_rng([seed, 6])
    X, Y, labels, groups = draw(rng)
    mixed = X.copy()
    for g in groups:
        mixed[:, g] = X[:, g] @ (rng.normal(size=(len(g), len(g))) + 3 * np.eye(len(g)))
    a, b = (fitted(A, Y, n_features_to_select=4, groups=labels, **form) for A in (X, mixed))
    assert_array_equal(a.selected_, b.selected_)
    assert_allclose(a.scores_, b.scores_, rtol=1e-6, atol=1e-9)
    assert_allclose(a.pvalues_, b.pvalues_, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_with_next_to_no_redundancy_copies_of_columns_are_taken_out_wholly(seed, alpha):
    """What is left of a copy is rounding, and no direction of the variable that holds it."""
    for i in FEW:
        rng = np.random.default_rng([seed, 10, i])
        X = rng.normal(size=(80, 9))
        Y = X[:, :4] @ rng.normal(size=(4, 3)) + rng.normal(size=(80, 3))
        X = np.c_[X, 3 * X[:, 0] + 1, X[:, 1] - X[:, 0]]
        form = {"groups": [0, 0, 1, 1, 2, 3, 3, 4, 5, 1, 2], "alpha": alpha}
        hard = fitted(X, Y, n_features_to_select=6, redundancy=0.0, round_size=1, **form)
        soft = fitted(X, Y, n_features_to_select=6, redundancy=1e-12, **form)
        assert_array_equal(soft.selected_, hard.selected_)
        assert_allclose(soft.scores_, hard.scores_, atol=1e-5)


@pytest.mark.parametrize("form", [{}, PAPER], ids=["default", "paper"])
@pytest.mark.parametrize(("small", "same"), [(1e-6, "nothing"), (1e-4, "all")])
def test_a_direction_of_which_conditioning_leaves_too_few_digits_counts_for_nothing(
    seed, small, same, form
):
    """Of the square of a direction, 1e-12 is left, or 1e-8; products are known to about 1e-16."""
    rng = np.random.default_rng([seed, 11])
    first, a, z, *others = rng.normal(size=(7, 80))
    Y = np.c_[a, a + z] + 0.5 * rng.normal(size=(80, 2))

    def picks(second):
        X = np.c_[first, a, second, *others]
        model = fitted(
            X, Y, n_features_to_select=2, groups=[0, 1, 1, 2, 3, 4, 5], include=[0], **form
        )
        assert_array_equal(model.selected_, [0, 1])
        return model.scores_[1], model.pvalues_[1]

    want = picks(z if same == "all" else first - a)
    assert_allclose(picks(first - a + small * z), want, rtol=1e-4, atol=1e-12)


def test_what_conditioning_leaves_of_near_copies_in_a_group_is_no_direction_if_it_is_rounding(seed):
    """The small differences of the copies hold the variable that came first, exactly."""
    rng = np.random.default_rng([seed, 12])
    for _ in range(3):
        x, *Z = rng.normal(size=(7, 80))
        Z, others = np.array(Z).T, rng.normal(size=(80, 4))
        first = Z @ rng.normal(size=(6, 3))
        Y = np.c_[x, x + Z[:, 0]] + 0.5 * rng.normal(size=(80, 2))
        copies = x[:, None] + 1e-3 * Z @ rng.normal(size=(6, 7))
        found = []
        for group in (copies, np.c_[x, Z[:, :3]]):  # given the first, the same space
            labels = [0] * 3 + [1] * group.shape[1] + [2, 3, 4, 5]
            X = np.c_[first, group, others]
            model = fitted(X, Y, n_features_to_select=2, groups=labels, include=[0])
            assert_array_equal(model.selected_, [0, 1])
            found.append(model.scores_[1])
        assert_allclose(*found, rtol=1e-4)


def test_columns_that_repeat_within_a_group_change_nothing(seed):
    X, Y, labels, _ = draw(np.random.default_rng([seed, 7]))
    twice, labels2 = np.hstack([X, 3 * X - 1]), np.concatenate([labels, labels])
    a = fitted(X, Y, n_features_to_select=3, groups=labels)
    b = fitted(twice, Y, n_features_to_select=3, groups=labels2)
    assert_array_equal(a.selected_, b.selected_)
    assert_allclose(a.scores_, b.scores_, rtol=1e-6)


def test_chance_does_not_grow_with_the_number_of_columns(seed):
    rng = np.random.default_rng(seed)
    m, r, values, n = 60, 3, np.array([1.0, 0.6, 0.3]), 400
    H = np.zeros(m)
    H[:r] = values
    chance = Chance(values, m, n)
    bound = (values.sum() + 2 * np.sqrt(values @ values * np.log(n)) + 2 * np.log(n)) / m
    for d in (1, 2, 5, 30):
        Q = np.linalg.qr(rng.normal(size=(n, m, d)))[0]
        T = np.einsum("kij,i->k", Q**2, H)
        scores = chance.scores(T, np.full(n, d))
        # By the bound, one of n is expected above it at most; by the lines, half below the mean.
        assert np.count_nonzero(scores > bound) <= 9
        assert 0.4 * n < np.count_nonzero(scores < values.sum() / m) + (d == 1) * n / 9 < 0.85 * n
    best = chance.scores(np.array([1.0, 1.6, 1.9]), np.array([1, 2, 3]))
    assert_allclose(best, 1.0)
    assert_allclose(chance.scores(np.array([1.9]), np.array([m])), 1.9 / m)


def test_the_only_variable_has_the_score_of_chance_where_it_fills_the_space(seed):
    rng = np.random.default_rng(seed)
    for m in rng.integers(2, 12, size=1000):
        spectrum = rng.uniform(size=rng.integers(1, m + 1))
        total = spectrum.sum()
        totals = total * (1 + 1e-15 * rng.integers(-4, 5, size=20))
        found = Chance(spectrum, float(m), 1).scores(totals, np.full(20, m))
        assert_allclose(found, total / m, atol=1e-10)


def test_the_total_of_a_score_has_that_score(seed):
    rng = np.random.default_rng(seed)
    chance = Chance(rng.uniform(size=4), 300.0, 25)
    sizes = np.array([1, 2, 4, 9])
    for score in rng.uniform(0, 0.2, size=5):
        assert_allclose(chance.scores(chance.totals(score, sizes), sizes), score)


def check_null(seed, d, r, n):
    """P-values of the trace of random subspaces look uniform."""
    rng, m = np.random.default_rng([seed, d, r]), 80
    Q = np.linalg.qr(rng.normal(size=(n, m, d)))[0]
    p = pillai_tail(np.sum(Q[:, :r] ** 2, axis=(1, 2)), d, r, m)
    assert kstest(p, "uniform").pvalue > 1e-4


@pytest.mark.parametrize(("d", "r"), [(1, 3), (5, 3), (30, 1), (75, 10)])
def test_pvalues_of_unrelated_groups_are_uniform(seed, d, r):
    check_null(seed, d, r, 600)


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 5, 30])
@pytest.mark.parametrize("r", [1, 3, 10])
def test_pvalues_of_unrelated_groups_are_uniform_for_all_sizes(seed, d, r):
    check_null(seed, d, r, 4000)


@pytest.mark.slow
def test_the_pvalue_of_the_best_of_many_sizes_is_uniform(seed):
    rng = np.random.default_rng([seed, 8])
    labels = np.repeat(np.arange(12), [1, 1, 1, 1, 2, 2, 5, 5, 5, 10, 10, 30])
    found = []
    for _ in range(600):
        X, Y = rng.normal(size=(100, len(labels))), rng.normal(size=(100, 3))
        found.append(ProjSe(1, groups=labels, alpha=0.0).fit(X, Y).pvalues_[0])
    assert kstest(found, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("m", [8, 40])
def test_the_law_is_exact_where_one_direction_decides(m):
    share, r = np.linspace(0.01, 0.99, 25), 5
    exact = beta.sf(share, r / 2, (m - r) / 2)
    assert_allclose(pillai_tail(share, 1, r, m), exact, rtol=1e-9)
    assert_allclose(pillai_tail(share, r, 1, m), exact, rtol=1e-9)
    # All but one of the dimensions: what the one left out has of the references is missing.
    missing = beta.cdf(share, r / 2, (m - r) / 2)
    assert_allclose(pillai_tail(r - share, m - 1, r, m), missing, rtol=1e-9, atol=1e-12)


def test_a_group_that_fills_the_rows_is_no_surprise():
    assert group_pvalue(3.0, 40, 3, 40.0, np.array([40, 1])) == 1.0
    assert_array_equal(pillai_tail([3.0, 0.0], [40, 0], 3, 40.0), 1.0)
    assert np.isnan(group_pvalue(3.0, 2, 40, 40.0, np.array([2])))


@pytest.mark.parametrize("d", [1, 2])
def test_rounding_of_a_pick_that_is_explained_wholly_does_not_change_its_pvalue(d):
    sizes = np.array([1, 1, 2, 2, 2])  # those of 2 columns have the same score well below 2
    below, above = (group_pvalue(d * share, d, 2, 8.0, sizes) for share in (1 - 1e-15, 1 + 1e-15))
    assert above > 1e-5
    assert_allclose(above, below, rtol=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("near", [1e-1, 1e-3, 3e-5])
@pytest.mark.parametrize("form", [{}, {"redundancy": 0.5}, {"redundancy": 1.0}])
def test_a_combination_of_near_copies_in_a_group_before_has_a_pvalue_of_1(seed, form, near, sign):
    rng = np.random.default_rng([seed, 31])
    before, change = rng.normal(size=(2, 60))
    y = before + 0.5 * change + 0.3 * rng.normal(size=60)
    X = np.column_stack([before, before + near * change, sign * change, rng.normal(size=(60, 3))])
    model = fitted(X, y, n_features_to_select=5, groups=list("aabcde"), **form)
    picks = model.selected_.tolist()
    last = max(picks.index(0), picks.index(1))
    if picks[last] == 1:  # the change, after the group
        assert model.pvalues_[last] == 1.0


def draw_that_share(rng):
    """Variables that share columns: with some of them taken out, others have fewer, or none."""
    Z = rng.normal(size=(60, 9))
    X = Z[:, [0, 1, 2, 1, 3, 0, 4, 2, 5, 5, 6, 0, 7, 8]] * rng.uniform(0.1, 10, 14)
    Y = Z[:, :3] @ rng.normal(size=(3, 3)) + 2 * rng.normal(size=(60, 3))
    groups = [[0, 1], [2, 3, 4], [5, 6], [7, 8], [9, 10], [11], [12, 13]]
    return X, Y, np.repeat(range(7), [len(g) for g in groups]), groups


@pytest.mark.parametrize("form", ROUNDS[3:5])
def test_what_rounds_before_explain_wholly_is_not_chosen_from(seed, form):
    for i in FEW:
        X, Y, labels, groups = draw_that_share(np.random.default_rng([seed, 34, i]))
        X[:, 0], X[:, 11] = 3 * X[:, 0] + Y[:, 0], 3 * X[:, 0] + Y[:, 0]  # a copy of what is found
        want = in_rounds(Honest(X, Y, groups, form["alpha"]), 6, form["round_size"])
        model = fitted(X, Y, n_features_to_select=6, groups=labels, redundancy=0.0, **form)
        agree(model, want)


def test_nor_is_what_picks_leave_nothing_of_with_next_to_no_redundancy(seed):
    rng = np.random.default_rng([seed, 36])
    Z = rng.normal(size=(60, 8))
    X, groups = Z[:, [0, 1, 0, 2, 3, 4, 5, 6, 7]], [0, 0, 1, 2, 2, 3, 3, 4, 4]
    Y = Z[:, 0] + Z[:, 1] + 0.3 * Z[:, 2] + 0.3 * rng.normal(size=60)
    soft, hard = (
        fitted(X, Y, n_features_to_select=3, groups=groups, round_size=1, redundancy=redundancy)
        for redundancy in (1e-12, 0.0)
    )
    assert hard.selected_[0] == 0  # and nothing is left of the second
    assert_array_equal(soft.selected_, hard.selected_)
    assert_allclose(soft.scores_, hard.scores_, rtol=1e-5)


@pytest.mark.parametrize("redundancy", [None, 0.3, 1.0])
def test_directions_that_picks_have_taken_do_not_count_in_pvalues(seed, redundancy):
    """Each variable shares columns with others; with the picks taken out, it has fewer."""
    for i in FEW:
        X, Y, labels, groups = draw_that_share(np.random.default_rng([seed, 32, i]))
        want = softly(Honest(X, Y, groups), 6, redundancy)
        given = "auto" if redundancy is None else redundancy
        agree(fitted(X, Y, n_features_to_select=6, groups=labels, redundancy=given), want)


def test_pvalues_of_what_a_pick_leaves_of_a_variable_are_uniform(seed):
    rng, pvalues = np.random.default_rng([seed, 33]), []
    for _ in range(300):
        X, noise = rng.normal(size=(60, 4)), rng.normal(size=(60, 3))
        X[:, 3] = X[:, 1]
        Y = 3 * X[:, [0]] + 3 * X[:, [1]] + noise
        model = fitted(X, Y, n_features_to_select=2, groups=list("aabb"))
        assert_array_equal(model.selected_, FEW)
        pvalues.append(model.pvalues_[1])
    assert kstest(pvalues, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("weight", [1e-300, 1e100, 1e300])
def test_weights_of_any_size_give_groups_pvalues_or_none(seed, weight):
    X, Y = planted(seed)
    groups = {"a": [0, 1], "b": [2, 3, 4]}
    found = ProjSe(2, groups=groups).fit(X, Y, sample_weight=np.full(len(X), weight))
    if weight < 1:
        assert np.isnan(found.pvalues_).all()
    else:
        assert found.pvalues_.tolist() == [0.0, 0.0]


def test_references_of_no_dimension_have_no_pvalues():
    assert np.isnan(group_pvalue(0.0, 2, 0, 40.0, np.array([2, 1])))


@pytest.mark.parametrize("width", [100, pytest.param(300, marks=pytest.mark.slow)])
def test_gene_sets_wider_than_the_rows_do_not_hide_a_real_column(seed, width):
    rng, n = np.random.default_rng(seed), 3 * width
    X = rng.normal(size=(60, n + 10))
    Y = X[:, [n + 5]] @ rng.normal(size=(1, 3)) + 0.5 * rng.normal(size=(60, 3))
    sets = {f"set{i}": np.arange(width * i, width * (i + 1)) for i in range(3)}
    models = [fitted(X, Y, n_features_to_select=3, groups=sets, **form) for form in ({}, PAPER)]
    for model in models:
        assert model.variable_names_[model.selected_[0]] == f"x{n + 5}"
    moments = Moments.from_arrays(X, Y, with_xx=True)
    same = quietly(ProjSe(3, groups=sets).fit_moments, moments)
    assert_array_equal(same.selected_, models[0].selected_)
