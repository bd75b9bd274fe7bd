"""Groups through every face: the same picks, of variables; columns where columns are meant."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from agreement import ROUTES, check, quietly
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from variants import slow

from projse import (
    PAPER,
    Moments,
    ProjSe,
    ProjSeCV,
    StabilityProjSe,
    TwoViewProjSe,
    block_moments,
    permutation_test,
)
from projse.exceptions import ProductsMissingError, UnreliableSelectionWarning
from projse.metrics.held_out import held_out_r2
from projse.search.products import KEPT_COLUMNS

EFFECTS = np.array([[0.0, 1.5, -1.5, 3.0], [2.0, -1.0, 0.5, -2.0], [1.0, 0.0, 3.0, -1.0]])
GROUPS = {"city": "city_*", "noise": "noise_*"}


def towns(seed, m=300, noise=30):
    """A factor of 4 levels and a number that matter; a factor of 30 levels and numbers of noise."""
    rng = np.random.default_rng(seed)
    city, other = rng.integers(4, size=m), rng.integers(noise, size=m)
    z = rng.normal(size=(m, 4))
    frame = {"z0": z[:, 0], **{f"city_{k}": city == k for k in range(4)}, "z1": z[:, 1]}
    frame |= {f"noise_{k}": other == k for k in range(noise)} | {"z2": z[:, 2], "z3": z[:, 3]}
    X = pd.DataFrame(frame).astype(float)
    Y = EFFECTS[:, city].T + np.outer(z[:, 3], [1.0, 1.0, 2.0]) + rng.normal(size=(m, 3))
    return X, pd.DataFrame(Y, columns=["y0", "y1", "y2"])


@pytest.mark.parametrize("form", [{}, PAPER, {"redundancy": 0.0}, {"redundancy": 1.0}])
def test_a_real_factor_and_a_real_number_come_before_a_factor_of_noise(seed, form):
    X, Y = towns(seed)
    model = quietly(ProjSe(2, groups=GROUPS, **form).fit, X, Y)
    assert set(model.variable_names_[model.selected_]) == {"city", "z3"}
    assert model.variable_names_.tolist() == ["z0", "city", "z1", "noise", "z2", "z3"]
    assert (model.pvalues_ < 1e-6).all()
    assert ((model.scores_ > 0) & (model.scores_ <= 1)).all()


def test_results_are_of_variables_and_the_support_is_of_columns(seed):
    X, Y = towns(seed)
    model = ProjSe(2, groups=GROUPS).fit(X, Y)
    chosen = ["city_0", "city_1", "city_2", "city_3", "z3"]
    assert model.get_feature_names_out().tolist() == chosen
    assert X.columns[model.support_].tolist() == chosen
    assert model.set_output(transform="pandas").transform(X).columns.tolist() == chosen
    assert model.n_features_in_ == len(model.support_) == 38
    assert len(model.ranking_) == 6
    assert model.ranking_[model.selected_].tolist() == [1, 2]
    for name in ("scores_", "margins_", "pvalues_", "rounds_", "correlations_"):
        assert len(getattr(model, name)) == 2
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.variable_names_, model.variable_names_)
    model.set_params(groups=None).fit(X, Y)
    assert not hasattr(model, "variables_")
    assert_array_equal(model.variable_names_, X.columns)


def test_variables_stop_where_significance_ends(seed):
    X, Y = towns(seed)
    for form in ({}, PAPER):
        model = ProjSe("auto", groups=GROUPS, significance=1e-6, **form).fit(X, Y)
        assert set(model.variable_names_[model.selected_]) == {"city", "z3"}


def numbers(seed):
    rng = np.random.default_rng([seed, 1])
    X = rng.normal(size=(120, 14)) + rng.normal(size=14)
    Y = X[:, [3, 4, 9]] @ rng.normal(size=(3, 3)) + 2 * rng.normal(size=(120, 3))
    return X, Y, [0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 5, 5, 5, 6]


FAST = ("gram", "moments", "batches", "csc")


@pytest.mark.parametrize("route", [*FAST, *slow(*sorted(set(ROUTES) - {"qr", *FAST}))])
@pytest.mark.parametrize("form", [{}, *slow(PAPER)])
def test_rows_sparse_rows_batches_and_moments_give_the_same(seed, route, form):
    X, Y, groups = numbers(seed)
    want = quietly(ProjSe(5, groups=groups, **form).fit, X, Y)
    got = ROUTES[route](ProjSe(5, groups=groups, **form), X, Y)
    check(got, want, route)
    assert_allclose(got.pvalues_, want.pvalues_, rtol=1e-6, atol=1e-12)


def test_references_that_were_factored_give_the_same(seed):
    X, Y, groups = numbers(seed)
    want = ProjSe(5, groups=groups).fit(X, Y)
    check(ProjSe(5, groups=groups, solver="qr").fit(X, Y), want)
    wide = np.hstack([Y, Y @ np.random.default_rng(seed).normal(size=(3, 150))])
    a, b = (ProjSe(4, groups=groups, solver=s).fit(X, wide) for s in ("auto", "gram"))
    check(a, b, rtol=1e-6)


@pytest.mark.parametrize("ending", ["parquet", *slow("csv")])
def test_files_give_the_same(seed, tmp_path, ending):
    X, Y = towns(seed)
    frame = pd.concat([X, Y], axis=1)
    for i, part in enumerate((frame[:100], frame[100:])):
        path = tmp_path / f"part{i}.{ending}"
        part.to_csv(path, index=False) if ending == "csv" else part.to_parquet(path)
    want = ProjSe(4, groups=GROUPS).fit(X, Y)
    got = ProjSe(4, groups=GROUPS).fit_source(tmp_path, targets="y*")
    check(got, want)
    assert_array_equal(got.variable_names_, want.variable_names_)


@pytest.mark.slow
def test_dask_gives_the_same(seed):
    dask, dd = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
    X, Y = towns(seed)
    with dask.config.set(scheduler="threads", num_workers=2):
        parts = (dd.from_pandas(A, npartitions=3) for A in (X, Y))
        got = ProjSe(4, groups=GROUPS).fit(*parts)
    check(got, ProjSe(4, groups=GROUPS).fit(X, Y))


def test_weights_count_as_rows(seed):
    X, Y, groups = numbers(seed)
    weight = np.random.default_rng(seed).integers(0, 3, size=len(X))
    rows = np.repeat(np.arange(len(X)), weight)
    got = ProjSe(4, groups=groups).fit(X, Y, sample_weight=weight)
    want = ProjSe(4, groups=groups).fit(X[rows], Y[rows])
    check(got, want)
    assert_allclose(got.pvalues_, want.pvalues_, rtol=1e-6)


def test_include_and_exclude_name_variables(seed):
    X, Y = towns(seed)
    model = ProjSe(3, groups=GROUPS, include=["noise"], exclude=["city", 0]).fit(X, Y)
    names = model.variable_names_[model.selected_].tolist()
    assert names[:2] == ["noise", "z3"]
    assert not {"city", "z0"} & set(names)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"include": ["city_1"]}, ["include", "'city_1'", "group 'city'"]),
        ({"exclude": "city_1"}, ["exclude", "'city_1'", "group 'city'"]),
        ({"include": ["town"]}, ["include", "'town'", "no variable"]),
        ({"include": [6]}, ["index 6", "variables 0 to 5"]),
        ({"include": ["city"], "exclude": ["city"]}, ["overlap", "'city'"]),
        ({"n_features_to_select": 7}, ["n_features_to_select=7", "6 variables"]),
        ({"kernel": "rbf"}, ["kernel='rbf'", "single columns", "'noise'", "30"]),
        ({"center_kernel": True}, ["center_kernel=True", "'noise'"]),
        ({"groups": {"a": "town_*"}}, ["'town_*'"]),
    ],
)
def test_what_cannot_be_is_refused_by_name(seed, parameters, words):
    X, Y = towns(seed)
    with pytest.raises(ValueError, match=re.escape(words[0])) as caught:
        ProjSe(**{"n_features_to_select": 1, "groups": GROUPS, **parameters}).fit(X, Y)
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert "\n" not in message


def test_other_kernels_take_groups_of_one_column(seed):
    X, Y, _ = numbers(seed)
    model = ProjSe(3, kernel="rbf", groups=range(14)).fit(X, Y)
    assert_array_equal(model.selected_, ProjSe(3, kernel="rbf").fit(X, Y).selected_)


def test_moments_without_products_are_refused(seed):
    X, Y, groups = numbers(seed)
    moments = Moments.from_arrays(X, Y, with_xx=False)
    with pytest.raises(ProductsMissingError, match="groups needs the products"):
        ProjSe(1, groups=groups).fit_moments(moments)


def test_too_many_columns_for_a_stream_are_refused_and_rows_in_memory_are_not(seed):
    rng = np.random.default_rng(seed)
    values = rng.random((200, KEPT_COLUMNS + 10))
    X = sp.csr_array(np.where(values < 0.1, 10 * values, 0.0))
    Y = rng.normal(size=(200, 2))
    Y += X[:, [7, 8]].toarray() * 20
    groups = {"pair": [7, 8]}
    with pytest.raises(ProductsMissingError, match="use no groups"):
        ProjSe(1, groups=groups).fit_source(iter([(X, Y)]))
    assert ProjSe(1, groups=groups).fit(X, Y).selected_.tolist() == [7]


def test_solver_qr_is_refused_in_one_view(seed):
    X, _, groups = numbers(seed)
    with pytest.raises(ValueError, match=r"solver='qr'.*groups in one view"):
        ProjSe(1, groups=groups, solver="qr").fit(X)


def test_a_group_that_two_rows_make_up_waits_and_is_told(seed):
    X, Y, groups = numbers(seed)
    X[:, 3:6] = 0
    X[[0, 1], 3], X[[0, 1], 4], X[[0, 1], 5] = [50, -50], [50, -49], [1, 1]
    X[0, 5] = 80
    Y[0] += 200
    model = quietly(ProjSe(3, groups=groups).fit, X, Y)
    assert 2 not in model.selected_
    with pytest.warns(UnreliableSelectionWarning, match=r"variable\(s\) '2'"):
        ProjSe(1, groups=groups, **PAPER).fit(X, Y)


def test_cross_validation_counts_variables_and_judges_all_their_columns(seed):
    X, Y = towns(seed, 400, noise=8)
    model = ProjSeCV(ProjSe(groups=GROUPS), n_features=4, param_grid=None).fit(X, Y)
    assert set(model.variable_names_[model.selected_]) >= {"city", "z3"}
    assert model.transform(X).shape[1] == model.support_.sum() >= 5
    scores = model.cv_results_
    assert scores["n_features"].tolist() == [1, 2, 3, 4]
    train, test = np.arange(80, 400), np.arange(80)
    halves = [Moments.from_arrays(X.iloc[i], Y.iloc[i], with_xx=True) for i in (train, test)]
    fold = ProjSe(2, groups=GROUPS).fit_moments(halves[0])
    columns = fold.variables_.columns_of(fold.selected_)
    assert_allclose(scores["split0_test_score"][1], held_out_r2(*halves, columns)[-1])
    judged = ProjSeCV(
        ProjSe(groups=GROUPS), n_features=[2], param_grid=None, estimator=LinearRegression()
    ).fit(X, Y)
    assert abs(judged.best_score_ - scores["mean_test_score"][1]) < 0.05
    with pytest.raises(ValueError, match="param_grid names 'groups'"):
        ProjSeCV(ProjSe(), param_grid={"groups": [GROUPS]}).fit(X, Y)


@pytest.mark.parametrize("blocks", [10, *slow(None)])
def test_frequencies_are_of_variables(seed, blocks):
    X, Y = towns(seed, noise=8)
    selector = ProjSe(2, groups=GROUPS)
    model = StabilityProjSe(selector, 10, random_state=seed, blocks=blocks).fit(X, Y)
    assert set(model.variable_names_[model.selected_]) == {"city", "z3"}
    assert model.selection_frequencies_.shape == (6,)
    assert model.relevances_.shape == (10, 6)
    assert model.support_.sum() == model.transform(X).shape[1] == 5
    parts = block_moments(X, Y, 10, with_xx=True)
    by_moments = StabilityProjSe(selector, 10, random_state=seed).fit_moments(parts)
    assert_array_equal(np.sort(by_moments.selected_), np.sort(model.selected_))


@pytest.mark.parametrize("m", [300, *slow(30)])
def test_both_views_take_groups(seed, m):
    rng = np.random.default_rng([seed, 2])
    shared = rng.normal(size=(m, 2))
    X, Y = rng.normal(size=(m, 40)), rng.normal(size=(m, 12))
    X[:, [4, 5]] += 6 * shared
    Y[:, [2, 7]] += 6 * shared
    model = TwoViewProjSe(2, groups={"a": [4, 5]}, y_groups={"b": [2, 7]}).fit(X, Y)
    assert model.x_selected_names_[0] == "a"
    assert model.y_selected_names_[0] == "b"
    x, _y = model.transform(X, Y)
    assert x.shape[1] == model.x_selector_.support_.sum() == 3
    assert {2, 7} <= set(np.flatnonzero(model.y_selector_.support_))
    path = model.canonical_correlation_path(n_components=None)
    assert path.shape == (2, 3)
    assert np.isfinite(path[0]).sum() == 2  # the first picks have two columns each
    again = model.canonical_correlation_path(X, Y)
    assert_allclose(again, model.canonical_correlation_path(), atol=1e-8)
    assert model.canonical_correlation_grid().shape == (2, 2)
    assert len(model.canonical_correlations_) == 3


def test_permutations_are_of_groups(seed):
    X, Y = towns(seed, 150, noise=5)
    test = permutation_test(ProjSe(2, groups=GROUPS), X, Y, n_permutations=19, random_state=seed)
    assert set(test.feature_names) == {"city", "z3"}
    assert test.pvalues[0] == 1 / 20


def test_partial_fit_and_clone_keep_groups(seed):
    X, Y = towns(seed)
    model = clone(ProjSe(2, groups=GROUPS))
    for part in (slice(0, 120), slice(120, None)):
        model.partial_fit(X[part], Y[part])
    check(model, ProjSe(2, groups=GROUPS).fit(X, Y))
    assert model.variable_names_[1] == "city"


def test_the_command_takes_groups(seed, command, tmp_path):
    X, Y = towns(seed)
    path = tmp_path / "towns.csv"
    pd.concat([X, Y], axis=1).to_csv(path, index=False)
    asked = ("select", path, "-t", "y*", "-k", 2, "-g", "city=city_*", "--group", "noise=noise_*")
    done = command(*asked)
    assert done.returncode == 0
    assert " city " in done.stdout
    assert "38 candidates in 6 variables" in done.stdout
    done = command(*asked, "--json", "-", "-q")
    assert '"city_0",' in done.stdout
    assert '"n_variables": 6' in done.stdout
    for bad, words in (("city", "NAME=COLUMNS"), ("city=town_*", "'town_*'")):
        done = command("select", path, "-t", "y*", "-g", bad)
        assert done.returncode
        assert words in done.stderr
