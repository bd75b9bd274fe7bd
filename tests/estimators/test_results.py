"""Results one can hold: names, the table, what picks explain, what could stand in for them."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from planted import planted, planted_labels
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.preprocessing import OneHotEncoder

from projse import (
    PAPER,
    KnockoffProjSe,
    Moments,
    ProjSe,
    ProjSeCV,
    StabilityProjSe,
    TwoViewProjSe,
)
from projse.exceptions import ProductsMissingError
from projse.metrics import canonical_correlations
from projse.search import picked, task

COLUMNS = ["rank", "name", "score", "correlation", "margin", "pvalue", "round"]


def least_squares(X, Y):
    """R² of regressions on the first 1, 2, … columns, less that of the one before."""
    r2 = [np.zeros(Y.shape[1])]
    for k in range(1, X.shape[1] + 1):
        left = Y - LinearRegression().fit(X[:, :k], Y).predict(X[:, :k]).reshape(Y.shape)
        r2.append(1 - left.var(axis=0) / Y.var(axis=0))
    return np.diff(r2, axis=0)


def mixed(seed, m=120, n=30, q=4):
    """Candidates that overlap, and outputs that several of them are behind."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) @ (np.eye(n) + 0.2 * rng.normal(size=(n, n)))
    return X, X[:, :8] @ rng.normal(size=(8, q)) + 2 * rng.normal(size=(m, q))


def inner_products(A, B):
    return A.T @ B


# Names and the table


def test_names_and_table_are_in_the_order_of_selection(seed):
    X, Y = planted(seed)
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(X.shape[1])])
    selector = ProjSe(4).fit(frame, Y)
    assert selector.selected_names_.tolist() == [f"gene {j}" for j in selector.selected_]
    assert ProjSe(4).fit(X, Y).selected_names_.tolist() == [f"x{j}" for j in selector.selected_]
    table = selector.table()
    assert list(table.columns) == COLUMNS
    assert table["rank"].tolist() == [1, 2, 3, 4]
    assert table["name"].tolist() == selector.selected_names_.tolist()
    for name in ("score", "correlation", "margin", "pvalue", "round"):
        np.testing.assert_array_equal(table[name], getattr(selector, f"{name}s_"))


def test_the_frame_is_the_one_asked_for():
    X, Y = planted(0)
    selector = ProjSe(3).fit(X, Y)
    assert isinstance(selector.table(), pd.DataFrame)
    assert isinstance(selector.table("polars"), pl.DataFrame)
    selector.set_output(transform="polars")
    assert isinstance(selector.table(), pl.DataFrame)
    assert selector.table().columns == COLUMNS
    assert isinstance(selector.table("pandas"), pd.DataFrame)
    with pytest.raises(ValueError, match="output='excel' is not one of 'pandas', 'polars'"):
        selector.table("excel")


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    selector = ProjSe(2).fit(*planted(0))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        ImportError, match=r"needs pandas.*projse-select\[dataframes\].*output='polars'"
    ):
        selector.table()
    assert selector.table("polars").columns == COLUMNS
    assert selector.stand_ins(1)


def test_unfitted_selectors_have_no_results():
    for estimator in (ProjSe(2), ProjSeCV(), StabilityProjSe(ProjSe(2))):
        assert not hasattr(estimator, "selected_names_")
        assert not hasattr(estimator, "explained_")
        assert "<table><caption>" not in estimator._repr_html_()
        with pytest.raises(NotFittedError):
            estimator.table()


def test_the_diagram_has_the_table_and_nothing_in_a_name_runs():
    X, Y = planted(0, n_features=30)
    names = [f'<img src=x onerror="alert({j})">' for j in range(30)]
    selector = ProjSe(25).fit(pd.DataFrame(X, columns=names), Y)
    page = selector._repr_html_()
    own = page[page.index("<table><caption>") :]
    assert page.startswith(clone(selector)._repr_html_()[:20])
    assert "<img" not in own
    assert "&lt;img src=x onerror=&quot;alert(5)&quot;&gt;" in own
    assert own.count("<tr>") == 21
    assert "the first 20 are shown" in own
    assert "<td>1</td>" in own
    long = pd.DataFrame(X, columns=["n" * 5000 + str(j) for j in range(30)])
    assert "…</td>" in ProjSe(2).fit(long, Y)._repr_html_()


# What picks explain


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        PAPER,
        {"solver": "qr"},
        {"kernel": "poly"},
        {"kernel": "rbf"},
        {"include": [7, 3]},
        {"round_size": 2},
        {"kernel": inner_products},
    ],
    ids=["default", "paper", "qr", "poly", "rbf", "include", "rounds", "callable"],
)
@pytest.mark.parametrize("shape", [(120, 30, 4), (25, 40, 30)], ids=["tall", "fat"])
@pytest.mark.filterwarnings("ignore::projse.exceptions.UnreliableSelectionWarning")
def test_explained_is_what_least_squares_adds_on_every_route(seed, parameters, shape):
    X, Y = mixed(seed, *shape)
    selector = ProjSe(4, **parameters).fit(X, Y)
    expected = least_squares(X[:, selector.selected_], Y)
    np.testing.assert_allclose(selector.explained_, expected, atol=1e-8)
    again = pickle.loads(pickle.dumps(selector))
    np.testing.assert_array_equal(again.explained_, selector.explained_)


def test_explained_of_one_view_is_that_of_all_columns(seed):
    for m, n in ((80, 10), (12, 30)):
        X = mixed(seed, m, n)[0]
        for selector in (ProjSe(3).fit(X), ProjSe(3, **PAPER).fit(X)):
            expected = least_squares(X[:, selector.selected_], X)
            np.testing.assert_allclose(selector.explained_, expected, atol=1e-8)
            assert selector.output_names_.tolist() == [f"x{j}" for j in range(n)]


def test_explained_of_class_labels_is_that_of_their_indicators(seed):
    X, codes = planted_labels(seed)
    labels = np.array(["low", "middle", "high"])[codes]
    selector = ProjSe(3).fit(X, labels)
    assert selector.output_names_.tolist() == ["high", "low", "middle"]
    Y = OneHotEncoder(sparse_output=False).fit_transform(labels[:, None])
    expected = least_squares(X[:, selector.selected_], Y)
    np.testing.assert_allclose(selector.explained_, expected, atol=1e-9)


def test_explained_is_given_the_covariates(seed):
    X, Y = mixed(seed)
    Z = np.random.default_rng(seed).normal(size=(len(X), 2))
    X, Y = X + Z[:, :1], Y + Z @ np.ones((2, Y.shape[1]))
    frame = pd.DataFrame(Y, columns=list("abcd"))
    selector = ProjSe(3).fit(X, frame, covariates=Z)
    rest = [A - LinearRegression().fit(Z, A).predict(Z) for A in (X[:, selector.selected_], Y)]
    np.testing.assert_allclose(selector.explained_, least_squares(*rest), atol=1e-9)
    assert selector.output_names_.tolist() == list("abcd")


def test_files_sparse_rows_and_moments_tell_the_same(seed, tmp_path):
    X, Y = mixed(seed)
    table = pd.DataFrame(np.hstack([X, Y]), columns=[f"x{j}" for j in range(30)] + list("abcd"))
    path = tmp_path / "rows.parquet"
    table.to_parquet(path)
    fits = [
        ProjSe(4).fit(X, Y),
        ProjSe(4).fit(sp.csr_array(X), Y),
        ProjSe(4).fit_moments(Moments.from_arrays(X, Y, with_xx=True)),
        ProjSe(4).fit_source(path, targets=list("abcd")),
        ProjSe(4).partial_fit(X[:50], Y[:50]).partial_fit(X[50:], Y[50:]),
    ]
    assert fits[3].output_names_.tolist() == list("abcd")
    for selector in fits[1:]:
        np.testing.assert_allclose(selector.explained_, fits[0].explained_, atol=1e-8)
        for one, other in zip(selector.stand_ins(2), fits[0].stand_ins(2), strict=True):
            assert one[:2] == other[:2]
            np.testing.assert_allclose(one[2:], other[2:], rtol=1e-6)


@pytest.mark.parametrize("form", [PAPER, {"kernel": "poly", "redundancy": 1.0}])
def test_explained_is_given_the_covariates_where_nothing_was_conditioned_on_picks(seed, form):
    X, Y = mixed(seed, m=80, n=9, q=4)
    Z = np.random.default_rng(seed).normal(size=(80, 2))
    residuals = [A - LinearRegression().fit(Z, A).predict(Z) for A in (X, Y)]
    for weight in (None, np.arange(80) % 3 + 1):
        selector = ProjSe(3, **form).fit(X, Y, sample_weight=weight, covariates=Z)
        if weight is None:
            expected = least_squares(residuals[0][:, selector.selected_], residuals[1])
            np.testing.assert_allclose(selector.explained_, expected, atol=1e-8)
        moments = Moments.from_arrays(X, Y, weight, covariates=Z)
        other = ProjSe(3, **form).fit_moments(moments)
        np.testing.assert_allclose(selector.explained_, other.explained_, atol=1e-8)


def test_wide_files_keep_the_products_that_their_passes_made(seed, tmp_path):
    X, Y = mixed(seed, m=60, n=700, q=3)
    names = [f"x{j}" for j in range(700)]
    path = tmp_path / "wide.parquet"
    pd.DataFrame(np.hstack([X, Y]), columns=[*names, *"abc"]).to_parquet(path)
    selector = ProjSe(4).fit_source(path, targets=list("abc"))
    assert selector.moments_.xx is None
    expected = least_squares(X[:, selector.selected_], Y)
    np.testing.assert_allclose(selector.explained_, expected, atol=1e-8)
    compare_with_refits(selector, X, Y, {})
    assert len(pickle.dumps(selector)) < 8 * 700 * (3 + 4 + 10) + 40_000


def test_fits_that_had_no_need_of_products_say_how_to_get_them(monkeypatch):
    X, Y = mixed(0, m=400, n=20, q=12)
    monkeypatch.setattr(picked, "CHEAP", 0)
    selector = ProjSe(10, **PAPER).fit(X, Y)
    assert not hasattr(selector, "explained_")
    with pytest.raises(AttributeError, match=r"fit_moments\(.*with_xx=True"):
        selector.explained_  # noqa: B018
    with pytest.raises(ProductsMissingError, match=r"fit_moments\(.*with_xx=True"):
        selector.stand_ins()
    told = ProjSe(10, **PAPER).fit_moments(Moments.from_arrays(X, Y, with_xx=True))
    assert told.explained_.shape == (10, 12)
    assert len(told.stand_ins(1)) == 10


def test_only_fits_keep_products(monkeypatch):
    """Resamples, folds and permutations have no use for them."""
    calls = []
    monkeypatch.setattr(task, "gather", lambda *args, **kw: calls.append(args))
    X, Y = planted(0)
    StabilityProjSe(ProjSe(2), n_resamples=3, random_state=0).fit(X, Y)
    assert not calls


# Stand-ins


def partial_correlation(a, b, given):
    """Squared partial correlation of two columns."""
    rest = [A - LinearRegression().fit(given, A).predict(given) for A in (a, b)]
    return np.corrcoef(*rest)[0, 1] ** 2


def compare_with_refits(selector, X, Y, parameters, k=2, **fit):
    """Stand-ins keep the share of the score that refits with the other picks included find."""
    found = iter(selector.stand_ins(k))
    n = X.shape[1]
    for j in selector.selected_:
        others = [int(i) for i in selector.selected_ if i != j]

        def score(x, others=others):
            free = [i for i in range(n) if i not in (x, *others)]
            again = {**parameters, "include": others, "exclude": free}
            refit = ProjSe(len(others) + 1, **again).fit(X, Y, **fit)
            return refit.scores_[-1]

        left = [i for i in range(n) if i not in selector.selected_]
        for _ in range(k):
            one = next(found)
            x = int(one.name[1:])
            assert one.pick == f"x{j}"
            assert x in left
            assert one.keeps == pytest.approx(score(x) / score(j), rel=1e-6)
    assert next(found, None) is None


@pytest.mark.parametrize(
    "parameters",
    [{}, {"alpha": 0.1, "round_size": 2, "redundancy": 0.0}, {"solver": "qr"}, {"kernel": "rbf"}],
    ids=["default", "rounds", "qr", "rbf"],
)
def test_stand_ins_keep_what_refits_find(seed, parameters):
    X, Y = mixed(seed, n=12)
    compare_with_refits(ProjSe(3, **parameters).fit(X, Y), X, Y, parameters)


def test_stand_ins_of_fat_outputs_covariates_and_weights_keep_what_refits_find(seed):
    X, Y = mixed(seed, m=25, n=12, q=40)
    compare_with_refits(ProjSe(3).fit(X, Y), X, Y, {})
    X, Y = mixed(seed, n=12)
    rng = np.random.default_rng(seed)
    fit = {"covariates": rng.normal(size=(len(X), 2)), "sample_weight": rng.uniform(0.5, 2, 120)}
    compare_with_refits(ProjSe(3).fit(X, Y, **fit), X, Y, {}, **fit)


def test_stand_ins_are_closest_given_the_other_picks(seed):
    X, Y = mixed(seed)
    selector = ProjSe(4).fit(X, Y)
    found = {(one.pick, one.name): one.closeness for one in selector.stand_ins(5)}
    left = np.setdiff1d(np.arange(30), selector.selected_)
    for j in selector.selected_:
        others = X[:, selector.selected_[selector.selected_ != j]]
        closeness = {i: partial_correlation(X[:, j], X[:, i], others) for i in left}
        best = sorted(left, key=lambda i: -closeness[i])[:5]
        assert [name for pick, name in found if pick == f"x{j}"] == [f"x{i}" for i in best]
        for i in best:
            assert found[f"x{j}", f"x{i}"] == pytest.approx(closeness[i], rel=1e-9)


def test_a_copy_of_a_pick_stands_in_for_all_of_it(seed):
    X, Y = planted(seed)
    X = np.hstack([X, X[:, [5]] + 1e-4 * np.random.default_rng(seed).normal(size=(len(X), 1))])
    selector = ProjSe(3, exclude=[3]).fit(X, Y)
    first = selector.stand_ins(20)[0]
    assert {first.pick, first.name} == {"x5", "x8"}
    assert first.closeness == pytest.approx(1.0, abs=1e-5)
    assert first.keeps == pytest.approx(1.0, abs=1e-3)
    assert all(one.name != "x3" for one in selector.stand_ins(20))
    assert selector.table(stand_ins=1)["stand_ins"][0] == first.name
    assert selector.table("polars", stand_ins=2).columns == [*COLUMNS, "stand_ins"]


def test_picks_that_repeat_others_have_no_share_to_keep():
    X, Y = planted(0)
    X = np.hstack([X, X[:, [5]]])
    selector = ProjSe(9, redundancy=1.0).fit(X, Y)
    table = {one.pick for one in selector.stand_ins(2)}
    assert table == set()
    selector = ProjSe(2, include=[5, 8]).fit(X, Y)
    assert all(np.isnan(one.keeps) and one.closeness == 0 for one in selector.stand_ins(2))


def test_a_selection_of_nothing_has_empty_results():
    X = np.random.default_rng(0).normal(size=(40, 5))
    Y = np.random.default_rng(1).normal(size=(40, 2))
    nothing = ProjSe("auto", significance=1e-9).fit(X, Y)
    one_view = ProjSe(2, **PAPER).partial_fit(np.ones((3, 5)))  # of which more rows may tell
    for selector, n in ((nothing, 2), (one_view, 5)):
        assert len(selector.table()) == 0
        assert selector.explained_.shape == (0, n)
        assert selector.stand_ins() == []


@pytest.mark.parametrize("k", [0, -1, 1.5, "3"])
def test_numbers_of_stand_ins_are_checked(k):
    with pytest.raises(ValueError, match=f"k={k!r} must be a number of stand-ins"):
        ProjSe(2).fit(*planted(0)).stand_ins(k)


# Other estimators


def test_cross_validation_hands_on_the_results_of_its_choice(seed):
    X, Y = planted(seed)
    model = ProjSeCV(param_grid=None).fit(X, Y)
    final = model.selector_
    np.testing.assert_array_equal(model.explained_, final.explained_)
    assert model.selected_names_.tolist() == final.selected_names_.tolist()
    assert model.output_names_.tolist() == ["y0", "y1", "y2"]
    assert model.table().equals(final.table())
    assert model.stand_ins(1) == final.stand_ins(1)
    assert isinstance(model.set_output(transform="polars").table(), pl.DataFrame)
    assert "<table><caption>" in model._repr_html_()


def test_stability_lists_frequencies_with_intervals(seed):
    X, Y = planted(seed)
    model = StabilityProjSe(ProjSe(3), n_resamples=20, random_state=seed).fit(X, Y)
    table = model.table()
    assert list(table.columns) == ["rank", "name", "frequency", "low", "high", "stable"]
    assert len(table) == np.count_nonzero(model.selection_frequencies_)
    assert table["name"][: len(model.selected_)].tolist() == model.selected_names_.tolist()
    assert table["stable"].sum() == len(model.selected_)
    assert ((table["low"] <= table["frequency"]) & (table["frequency"] <= table["high"])).all()
    assert (np.diff(table["frequency"]) <= 0).all()
    assert "<table><caption>" in model._repr_html_()


def test_both_sides_of_two_views_have_results(seed):
    X, Y = mixed(seed)
    model = TwoViewProjSe(2).fit(X, Y)
    assert model.x_selector_.selected_names_.tolist() == model.x_selected_names_.tolist()
    assert model.y_selector_.selected_names_.tolist() == model.y_selected_names_.tolist()
    assert model.y_selector_.output_names_[0] == "x0"
    expected = least_squares(Y[:, model.y_selected_], X)
    np.testing.assert_allclose(model.y_selector_.explained_, expected, atol=1e-9)


def test_what_variables_of_several_columns_explain_is_what_all_their_columns_do(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 9))
    Y = X[:, [0, 4, 7]] @ rng.normal(size=(3, 4)) + rng.normal(size=(120, 4))
    groups = [0, 0, 0, 1, 1, 2, 2, 3, 4]
    selector = ProjSe(4, groups=groups).fit(X, Y)
    columns, before = [], np.zeros(4)
    for i, v in enumerate(selector.selected_):
        columns += [j for j, label in enumerate(groups) if label == v]
        model = LinearRegression().fit(X[:, columns], Y)
        after = r2_score(Y, model.predict(X[:, columns]), multioutput="raw_values")
        assert_allclose(selector.explained_[i], after - before, atol=1e-10)
        before = after
    assert list(selector.table()["name"]) == list(selector.selected_names_)


def test_outputs_of_one_view_are_all_its_columns(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(60, 4)), columns=["a", "s_1", "s_2", "b"])
    grouped = ProjSe(2, groups={"S": "s_*"}).fit(frame)
    assert grouped.output_names_.tolist() == list(frame)
    assert grouped.explained_.shape == (2, 4)
    mixed = ProjSe(2).fit(frame.assign(city=rng.choice(["x", "y", "z"], 60)))
    assert mixed.explained_.shape == (2, len(mixed.output_names_))
    assert "city=x" in mixed.output_names_


def test_all_but_each_pick_are_taken_out_in_k_log_k_steps(seed, monkeypatch):
    from projse.search.conditioning import Conditioning

    X, Y = planted(seed, n_samples=400)
    X = np.column_stack([X, np.random.default_rng(seed).normal(size=(400, 24))])
    selector = ProjSe(16).fit(X, Y)
    widths = []
    extend = Conditioning.extend

    def counted(self, indices, *more):
        widths.extend([self.gram.n_x] * len(indices))
        extend(self, indices, *more)

    monkeypatch.setattr(Conditioning, "extend", counted)
    selector.stand_ins(1)
    assert len(widths) == 16 * 4
    assert max(widths) <= 2 * 16


def test_picks_of_several_columns_correlate_by_their_spaces(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 6)) @ rng.normal(size=(6, 6))
    own = (X - X.mean(axis=0)).T @ (X - X.mean(axis=0))
    single = picked.among_picks(own, np.arange(6))
    assert_allclose(single, np.corrcoef(X.T), atol=1e-8)
    spaces = [[0, 1], [2], [3, 4, 5]]
    found = picked.among_picks(own, np.array([0, 0, 1, 2, 2, 2]))
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        expected = canonical_correlations(X[:, spaces[i]], X[:, spaces[j]])[0]
        assert abs(found[i, j]) == pytest.approx(expected, abs=1e-8)
        assert found[i, j] == found[j, i]


def test_discoveries_and_both_views_have_tables(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 20))
    Y = X[:, :12] @ rng.normal(size=(12, 4)) + 0.5 * rng.normal(size=(400, 4))
    model = KnockoffProjSe(fdr=0.2, n_draws=5, random_state=0)
    with pytest.raises(NotFittedError):
        model.table()
    table = model.fit(X, Y).table()
    assert list(table) == ["rank", "name", "evalue", "statistic", "frequency", "group"]
    assert table["name"].tolist() == [f"x{j}" for j in model.selected_]
    assert table["evalue"].tolist() == model.evalues_[model.selected_].tolist()
    assert "<table><caption>" in model._repr_html_()
    both = TwoViewProjSe((3, 2)).fit(X, Y)
    table = both.table("polars")
    assert table.columns == ["view", *COLUMNS]
    assert table["view"].to_list() == ["X"] * 3 + ["Y"] * 2
    assert table["rank"].to_list() == [1, 2, 3, 1, 2]
    names = [*both.x_selected_names_, *both.y_selected_names_]
    assert table["name"].to_list() == names
    assert table["score"].to_list() == [*both.x_scores_, *both.y_scores_]


def test_tables_of_groups_name_their_columns(seed):
    X, Y = planted(seed)
    table = ProjSe(2, groups={"a": [0, 1], "b": [2, 3, 4]}, include=["b"]).fit(X, Y).table()
    assert list(table) == [*COLUMNS, "columns"]
    assert table["columns"][0] == "x2; x3; x4"
