"""The permutation test: against a plain loop of fits, under the null, and on planted data."""

from __future__ import annotations

import sys
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import scipy.stats
from agreement import fit
from marks import arbitrary_picks
from paper import FORMS, in_form, paper_form
from planted import PICKS, planted, planted_labels
from sklearn.base import clone
from variants import slow

import projse.estimators.null_scores
from projse import PermutationTest, ProjSe, permutation_test
from projse.exceptions import RankExhaustedWarning

FALSE_ALARM = 1e-8
"""Probability that a bound on a simulation fails by chance."""


def cosine_cubed(A, B):
    return (A.T @ B) ** 3


# Against refitting


def refitted(selector, X, y, n_permutations, seed):
    """Null scores by the book: shuffle the rows of y, fit, and look at the scores."""
    picks = fit(clone(selector), X, y).selected_
    null = np.zeros((n_permutations, len(picks)))
    again = clone(selector).set_params(n_features_to_select=len(picks))
    for row, child in zip(null, np.random.SeedSequence(seed).spawn(n_permutations), strict=True):
        order = np.random.default_rng(child).permutation(X.shape[0])
        shuffled = y.iloc[order] if hasattr(y, "iloc") else y[order]
        found = fit(again, X, shuffled).scores_
        row[: len(found)] = found
    return null


def check_against_refits(selector, X, y, seed, n_permutations=12, rtol=1e-8):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankExhaustedWarning)
        got = permutation_test(selector, X, y, n_permutations=n_permutations, random_state=seed)
    want = refitted(selector, X, y, n_permutations, seed)
    observed = fit(clone(selector), X, y)
    np.testing.assert_array_equal(got.selected, observed.selected_)
    np.testing.assert_array_equal(got.scores, observed.scores_)
    np.testing.assert_allclose(got.null_scores, want, rtol=rtol, atol=rtol / 100)
    as_high = (want >= observed.scores_ * (1 - 1e-10)).sum(axis=0)
    np.testing.assert_array_equal(got.pvalues, (1 + as_high) / (n_permutations + 1))
    np.testing.assert_allclose(
        got.standard_errors**2, got.pvalues * (1 - got.pvalues) / (n_permutations + 1)
    )
    return got


def views(rng, m=40, n_x=9, n_y=3):
    X = rng.normal(size=(m, n_x)) + 0.5 * rng.normal(size=(m, 1)) + 3 * rng.normal(size=n_x)
    told = 0.3 * (X[:, [0]] - X[:, [0]].mean())
    return X, told + rng.normal(size=(m, n_y)) @ rng.normal(size=(n_y, n_y)) - 0.5


SELECTORS = {
    "linear": ProjSe(3),
    "number by rank": ProjSe(),
    "share": ProjSe(0.3),
    "residual rounds": ProjSe(7),
    "restart": ProjSe(7, exhausted="restart"),
    "round size": ProjSe(5, round_size=1),
    "include, exclude": ProjSe(5, include=[4, 2], exclude=[0]),
    "not centred": ProjSe(5, center=False),
    "ridge": ProjSe(4, alpha=0.1),
    "truncated": ProjSe(4, rank=2),
    "qr": ProjSe(5, solver="qr"),
    "qr, ridge": ProjSe(2, solver="qr", alpha=0.1),
    "poly": ProjSe(4, kernel="poly", degree=3, coef0=0.5),
    "rbf": ProjSe(4, kernel="rbf"),
    "rbf, not scaled": ProjSe(4, kernel="rbf", scale=False, gamma=1e-3),
    "rbf, centred": ProjSe(2, kernel="rbf", center_kernel=True),
    "callable": ProjSe(3, kernel=cosine_cubed),
    "callable, rounds": ProjSe(5, kernel=cosine_cubed, round_size=2),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SELECTORS)
@pytest.mark.slow
def test_it_equals_a_loop_of_fits(seed, name, form):
    X, Y = views(np.random.default_rng([seed, 1]))
    check_against_refits(in_form(SELECTORS[name], form), X, Y, seed)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_it_equals_a_loop_of_fits_for_one_output(seed, kernel):
    X, Y = views(np.random.default_rng([seed, 2]), n_y=1)
    check_against_refits(ProjSe(3, kernel=kernel), X, Y[:, 0], seed, n_permutations=40)


KINDS = {
    "sparse X": lambda X, Y: (sp.csr_array(np.where(X > 0, X, 0.0)), Y),
    "sparse Y": lambda X, Y: (X, sp.csr_array(np.where(Y > 0, Y, 0.0))),
    "sparse": lambda X, Y: (sp.csc_matrix(np.maximum(X, 0)), sp.csr_matrix(np.maximum(Y, 0))),
    "labels": lambda X, Y: (X, np.array(list("abc"))[np.arange(len(X)) % 3]),
    "labels, sparse X": lambda X, Y: (sp.csr_array(X), np.arange(len(X)) % 3),
    "bytes": lambda X, Y: ((20 * X).astype(np.int8), np.arange(len(X)) % 3),
    "multilabel": lambda X, Y: (X, np.greater(Y, Y.mean(axis=0))),
    "frames": lambda X, Y: (
        pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]),
        pd.DataFrame(Y),
    ),
    "order F": lambda X, Y: (np.asfortranarray(X), np.asfortranarray(Y)),
}


@arbitrary_picks
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.slow
def test_it_equals_a_loop_of_fits_for_all_kinds_of_data(seed, form, kind, kernel):
    X, Y = KINDS[kind](*views(np.random.default_rng([seed, 3])))
    check_against_refits(ProjSe(5, kernel=kernel, **FORMS[form]), X, Y, seed)


def test_it_equals_a_loop_of_fits_for_float32(seed):
    X, Y = views(np.random.default_rng([seed, 4]), m=80)
    X, Y = X.astype(np.float32), Y.astype(np.float32)
    got = permutation_test(ProjSe(3), X, Y, n_permutations=20, random_state=seed)
    # Picks that float32 does not tell apart may differ; the first score does not.
    want = refitted(ProjSe(3), X, Y, 20, seed)
    np.testing.assert_allclose(got.null_scores[:, 0], want[:, 0], rtol=1e-3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_features", [4, 12])
def test_it_equals_a_loop_of_fits_with_more_references_than_rows(seed, n_features, form):
    rng = np.random.default_rng([seed, 5])
    X, Y = rng.normal(size=(16, 30)), rng.normal(size=(16, 25))
    Y[:, 8:] = Y[:, :8] @ rng.normal(size=(8, 17))  # rank 8, or every score would be 1
    check_against_refits(ProjSe(n_features, **FORMS[form]), X, Y, seed, rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_it_equals_a_loop_of_fits_where_a_gram_matrix_loses_directions(seed, form):
    rng = np.random.default_rng([seed, 6])
    X, Y = views(rng)
    Y[:, 2] = Y[:, 0] + 1e-9 * rng.normal(size=len(Y))
    check_against_refits(ProjSe(5, **FORMS[form]), X, Y, seed, rtol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_it_equals_a_loop_of_fits_where_products_of_candidates_are_made_on_demand(seed, form):
    X, Y = views(np.random.default_rng([seed, 7]), n_x=400)
    check_against_refits(ProjSe(5, **FORMS[form]), X, Y, seed)


def test_many_rows_in_batches_are_one_product(seed, monkeypatch):
    X, Y = views(np.random.default_rng([seed, 8]))
    want = permutation_test(ProjSe(5), X, Y, n_permutations=30, random_state=seed)
    monkeypatch.setattr(projse.estimators.null_scores, "BATCH_ELEMENTS", 100)
    monkeypatch.setattr(projse.estimators.null_scores, "GROUP_ELEMENTS", 100)
    got = permutation_test(ProjSe(5), X, Y, n_permutations=30, random_state=seed)
    np.testing.assert_allclose(got.null_scores, want.null_scores, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:Of column.*a single row makes up")
def test_very_wide_sparse_products_stay_sparse(seed, monkeypatch):
    monkeypatch.setattr("projse.moments.in_memory.SPARSE_YX_ELEMENTS", 1)
    X, Y = KINDS["sparse"](*views(np.random.default_rng([seed, 9])))
    check_against_refits(ProjSe(5), X, Y, seed)


# What the p-values mean


@pytest.mark.parametrize("kernel", ["linear", *slow("rbf")])
@pytest.mark.parametrize("kind", ["one output", *slow("three outputs", "labels")])
@pytest.mark.slow
def test_pvalues_of_the_first_pick_are_uniform_under_the_null(seed, kind, kernel):
    rng = np.random.default_rng([seed, 10])
    n_trials, n_permutations = 100, 19
    pvalues = []
    for trial in range(n_trials):
        X = rng.standard_t(3, size=(20, 6)) + rng.normal(size=(20, 1))
        y = rng.exponential(size=(20, 3)) if kind == "three outputs" else rng.exponential(size=20)
        if kind == "labels":
            y = rng.permutation(np.arange(20) % 3)
        test = permutation_test(
            ProjSe(1, kernel=kernel), X, y, n_permutations=n_permutations, random_state=trial
        )
        pvalues.append(test.pvalues[0])
    ranks = np.round(np.array(pvalues) * (n_permutations + 1))
    for level in (1, 2, 5, 10, 15):
        share = level / (n_permutations + 1)
        low = int((ranks <= level).sum())
        # Never too many small ones; and, as there are hardly any ties, not too few either.
        assert low <= scipy.stats.binom.isf(FALSE_ALARM, n_trials, share)
        assert low >= scipy.stats.binom.ppf(FALSE_ALARM, n_trials, share)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", cosine_cubed])
@pytest.mark.slow
def test_planted_variables_are_significant(seed, kernel):
    X, Y = planted(seed)
    test = permutation_test(ProjSe(2, kernel=kernel), X, Y, n_permutations=199, random_state=seed)
    assert set(test.selected) < set(PICKS)
    np.testing.assert_allclose(test.pvalues, 1 / 200)
    X, codes = planted_labels(seed)
    if not callable(kernel):
        test = permutation_test(ProjSe(1, kernel=kernel), X, codes, n_permutations=199)
        np.testing.assert_allclose(test.pvalues, 1 / 200)


@pytest.mark.slow
def test_the_first_pick_after_trusted_ones_is_calibrated(seed):
    rng = np.random.default_rng([seed, 11])
    n_trials, n_permutations = 150, 19
    low = np.zeros(2, dtype=int)
    for trial in range(n_trials):
        X = rng.normal(size=(40, 8))
        Y = 3 * X[:, [2]] + rng.normal(size=(40, 2))
        options = {"n_permutations": n_permutations, "random_state": trial}
        test = permutation_test(ProjSe(2, include=[2]), X, Y, **options)
        assert test.selected[0] == 2
        assert test.pvalues[0] == 1 / 20
        low += test.pvalues[1] <= np.array([0.051, 0.251])
    for count, level in zip(low, (0.05, 0.25), strict=True):
        assert count <= scipy.stats.binom.isf(FALSE_ALARM, n_trials, level + 0.01)
        assert count >= scipy.stats.binom.ppf(FALSE_ALARM, n_trials, level - 0.01)


def test_outputs_keep_their_relation_to_each_other(seed):
    rng = np.random.default_rng([seed, 12])
    X, Y = views(rng)
    mixed = Y @ rng.normal(size=(3, 3)) + 4.0
    one, other = (
        permutation_test(paper_form(3), X, y, n_permutations=20, random_state=seed)
        for y in (Y, mixed)
    )
    np.testing.assert_allclose(one.null_scores, other.null_scores, rtol=1e-6)
    np.testing.assert_array_equal(one.pvalues, other.pvalues)


@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_ties_count_as_high_as_the_data_themselves(seed, scale):
    x = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0]) * scale
    test = permutation_test(
        ProjSe(1), x[:, None] + 0.3, ["a"] * 3 + ["b"] * 3, n_permutations=60, random_state=seed
    )
    seeds = np.random.SeedSequence(seed).spawn(60)
    orders = [np.random.default_rng(child).permutation(6) for child in seeds]
    as_good = sum(set(order[:3]) in ({0, 1, 2}, {3, 4, 5}) for order in orders)
    assert test.pvalues[0] == (1 + as_good) / 61


def test_a_run_with_fewer_picks_scores_0_there(seed):
    x = np.array([1.0, 1.0, -1.0, -1.0])
    test = permutation_test(paper_form(1), x[:, None], x, n_permutations=50, random_state=seed)
    assert set(test.null_scores.ravel().round(9)) == {0.0, 1.0}


def test_fewer_picks_than_asked_for_are_reported_once(seed):
    X, Y = views(np.random.default_rng([seed, 13]))
    X[:, 4:] = X[:, :4] @ np.ones((4, 5))
    with pytest.warns(RankExhaustedWarning) as caught:
        test = permutation_test(paper_form(8), X, Y, n_permutations=10, random_state=seed)
    assert len(caught) == 1
    assert test.null_scores.shape == (10, len(test.selected))


# The pool, the seed, the progress


@pytest.mark.parametrize("kernel", ["linear", "rbf", cosine_cubed])
@pytest.mark.slow
def test_results_do_not_depend_on_the_pool(seed, kernel):
    X, Y = views(np.random.default_rng([seed, 14]))
    selector = ProjSe(5, kernel=kernel)
    want = permutation_test(selector, X, Y, n_permutations=50, random_state=seed)
    for n_jobs in (1, 2, 3):
        got = permutation_test(selector, X, Y, n_permutations=50, random_state=seed, n_jobs=n_jobs)
        np.testing.assert_array_equal(got.null_scores, want.null_scores)


@pytest.mark.slow
def test_results_do_not_depend_on_processes():
    X, Y = views(np.random.default_rng(15), n_x=300)
    for kernel in ("linear", cosine_cubed):
        selector = ProjSe(5, kernel=kernel)
        want = permutation_test(selector, X, Y, n_permutations=50, random_state=0)
        with joblib.parallel_config(backend="loky", n_jobs=2):
            got = permutation_test(selector, X, Y, n_permutations=50, random_state=0)
        np.testing.assert_array_equal(got.null_scores, want.null_scores)


def test_the_first_permutations_do_not_depend_on_how_many_there_are(seed):
    X, Y = views(np.random.default_rng([seed, 16]))
    few, many = (
        permutation_test(ProjSe(3), X, Y, n_permutations=n, random_state=seed) for n in (7, 40)
    )
    np.testing.assert_allclose(few.null_scores, many.null_scores[:7], rtol=1e-10)


def test_random_states_of_all_kinds(seed):
    X, Y = views(np.random.default_rng([seed, 17]))

    def null(random_state):
        options = {"n_permutations": 5, "random_state": random_state}
        return permutation_test(ProjSe(1), X, Y, **options).null_scores

    for make in (int, np.int64, np.random.default_rng, np.random.RandomState):
        np.testing.assert_array_equal(null(make(seed)), null(make(seed)))
        assert (null(make(seed)) != null(make(seed + 1))).any()
    source = np.random.SeedSequence(seed)
    np.testing.assert_array_equal(null(source), null(source))
    np.testing.assert_array_equal(null(source), null(seed))
    generator = np.random.default_rng(seed)
    assert (null(generator) != null(generator)).any()
    assert (null(None) != null(None)).any()
    for bad in (-1, 0.5, "seed"):
        with pytest.raises(ValueError, match=r"random_state="):
            null(bad)


def test_progress_is_reported_to_a_function():
    X, Y = views(np.random.default_rng(0))
    calls = []
    permutation_test(
        ProjSe(1), X, Y, n_permutations=50, progress=lambda done, total: calls.append((done, total))
    )
    done = [d for d, _ in calls]
    assert done == sorted(set(done))
    assert done[-1] == 50
    assert {total for _, total in calls} == {50}


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_progress_function_may_stop_the_test(n_jobs):
    X, Y = views(np.random.default_rng(0))

    def stop(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        permutation_test(ProjSe(1), X, Y, n_permutations=200, progress=stop, n_jobs=n_jobs)


def test_progress_true_shows_a_bar_on_standard_error(capsys):
    X, Y = views(np.random.default_rng(0))
    permutation_test(ProjSe(1), X, Y, n_permutations=20, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "permutations" in err
    assert "20/20" in err
    permutation_test(ProjSe(1), X, Y, n_permutations=20)
    assert capsys.readouterr() == ("", "")


def test_progress_without_rich_names_the_extra(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "rich"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "rich", None)
    X, Y = views(np.random.default_rng(0))
    with pytest.raises(ImportError, match=r"projse-select\[cli\]"):
        permutation_test(ProjSe(1), X, Y, n_permutations=20, progress=True)
    permutation_test(ProjSe(1), X, Y, n_permutations=20)


# The result


def test_the_result_names_the_picks(seed):
    X, Y = planted(seed)
    frame = pd.DataFrame(X, columns=[f"variable {j}" for j in range(8)])
    test = permutation_test(ProjSe(2), frame, Y, n_permutations=99, random_state=seed)
    assert isinstance(test, PermutationTest)
    assert set(test.feature_names) == {"variable 5", "variable 2"}
    assert test.n_permutations == 99
    assert test.null_scores.shape == (99, 2)
    lines = repr(test).splitlines()
    assert lines[0] == "PermutationTest(n_permutations=99)"
    assert test.feature_names[0] in lines[2]
    assert "0.0100" in lines[2]
    assert len({len(line) for line in lines[2:4]}) == 1  # a column below the other
    assert "Only the first p-value is exact" in lines[4]
    with pytest.raises(AttributeError):
        test.pvalues = None


def test_the_selector_is_left_as_it_was(seed):
    X, Y = planted(seed)
    selector = ProjSe(2)
    permutation_test(selector, X, Y, n_permutations=5)
    assert not hasattr(selector, "selected_")
    selector.fit(X, Y[:, :1])
    before = selector.scores_
    permutation_test(selector, X, Y, n_permutations=5)
    assert selector.scores_ is before
    assert selector.n_features_to_select == 2


# Bad input


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"selector": "ProjSe"}, TypeError, "selector must be a ProjSe, not str"),
        ({"selector": ProjSe("auto")}, ValueError, "n_features_to_select='auto'"),
        ({"selector": ProjSe(99)}, ValueError, "n_features_to_select=99"),
        ({"selector": ProjSe(1, kernel="cosine")}, ValueError, "kernel='cosine'"),
        ({"y": None}, ValueError, "y is None"),
        ({"y": np.zeros(10)}, ValueError, "All columns of y are constant"),
        ({"y": np.zeros(9)}, ValueError, "different numbers of rows"),
        ({"X": np.ones((3, 2)), "y": np.ones(3)}, ValueError, "X has 3 rows.* at least 4"),
        ({"X": np.full((10, 2), np.nan)}, ValueError, "Input X contains NaN"),
        ({"n_permutations": 0}, ValueError, "n_permutations=0 must be at least 1"),
        ({"n_permutations": 9.5}, TypeError, "n_permutations=9.5 must be a whole number"),
        ({"n_jobs": 0}, ValueError, "n_jobs=0"),
        ({"progress": "yes"}, TypeError, "progress='yes'"),
    ],
)
def test_it_refuses(arguments, error, message):
    rng = np.random.default_rng(0)
    given = {
        "selector": ProjSe(1),
        "X": rng.normal(size=(10, 3)),
        "y": rng.normal(size=10),
        "n_permutations": 5,
    }
    with pytest.raises(error, match=message):
        permutation_test(**{**given, **arguments})
