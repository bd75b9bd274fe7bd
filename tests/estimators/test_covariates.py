"""Covariates are taken out alike, whatever the way to a selection."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from agreement import check
from scipy.stats import kstest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold
from variants import slow

import projse
from projse import (
    Moments,
    ProjSe,
    ProjSeCV,
    StabilityProjSe,
    TwoViewProjSe,
    block_moments,
    moments_from,
    permutation_test,
)
from projse.estimators.null_scores import permutations
from projse.estimators.permutation import _seeds
from projse.exceptions import SourceError, StateError

VARIANTS = ["linear, numbers", *slow("poly, numbers", "rbf, numbers", "rbf, labels")]


def confounded(seed, m=120, n_x=9, n_y=3):
    """X and Y that share two columns of X, and what two covariates bring into both."""
    rng = np.random.default_rng([seed, 77])
    Z = np.c_[rng.normal(50, 10, m), rng.normal(size=m)]
    X = rng.normal(size=(m, n_x)) + Z @ rng.normal(size=(2, n_x)) * [0.1]
    Y = X[:, [4, 1]] @ rng.normal(size=(2, n_y)) + 0.5 * rng.normal(size=(m, n_y))
    return X, Y + Z @ rng.normal(size=(2, n_y)), Z


def beta(A, Z):
    return np.linalg.lstsq(np.c_[np.ones(len(Z)), Z], A, rcond=1e-12)[0]


def residuals(A, Z, by=None):
    """What is left of A given Z, and the mean; by the coefficients of other rows, if given."""
    return A - np.c_[np.ones(len(Z)), Z] @ (beta(A, Z) if by is None else by)


def table(X, Y, Z, labels=None):
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    columns |= {f"y{j}": Y[:, j] for j in range(Y.shape[1])}
    columns |= {f"z{j}": Z[:, j] for j in range(Z.shape[1])}
    return pa.table(columns | ({} if labels is None else {"label": labels}))


# The same from everywhere


def from_moments(selector, X, y, Z, folder):
    return selector.fit_moments(Moments.from_arrays(X, y, covariates=Z))


def by_update(selector, X, y, Z, folder):
    moments = Moments.from_arrays(X[:50], y[:50], covariates=Z[:50])
    return selector.fit_moments(moments.update(X[50:], y[50:], covariates=Z[50:]))


def by_partial_fit(selector, X, y, Z, folder):
    selector.partial_fit(X[:70], y[:70], covariates=Z[:70])
    return selector.partial_fit(X[70:], y[70:], covariates=Z[70:])


def after_a_fit(selector, X, y, Z, folder):
    selector.fit(X[:70], y[:70], covariates=Z[:70])
    return selector.partial_fit(X[70:], y[70:], covariates=Z[70:])


def by_blocks(selector, X, y, Z, folder):
    blocks = block_moments(X, y, 7, covariates=Z, with_xx=True, random_state=0)
    return selector.fit_moments(sum(blocks[1:], start=blocks[0]))


def from_file(selector, X, y, Z, folder):
    Moments.from_arrays(X, y, covariates=Z).save(folder / "m")
    return selector.fit_moments(Moments.load(folder / "m"))


def written(X, y, Z, folder):
    labels = y if y.ndim == 1 else None
    t = table(X, np.empty((len(X), 0)) if y.ndim == 1 else y, Z, labels)
    for start, stop in ((0, 30), (30, 100), (100, len(X))):
        pq.write_table(t.slice(start, stop - start), folder / f"{start}.parquet")
    return {"class_target": "label"} if y.ndim == 1 else {"targets": "y*"}


def from_parquet(selector, X, y, Z, folder):
    return selector.fit_source(folder, covariates="z*", **written(X, y, Z, folder))


def from_a_state(selector, X, y, Z, folder):
    days = folder / "days"
    days.mkdir()
    names = written(X, y, Z, days)
    first = [str(days / "0.parquet"), str(days / "30.parquet")]
    moments_from(first, covariates="z*", state=folder / "state", **names)
    return selector.fit_source(days, covariates="z*", state=folder / "state", **names)


def from_npy(selector, X, y, Z, folder):
    n_y = 1 if y.ndim == 1 else y.shape[1]
    np.save(folder / "a.npy", np.c_[Z, X, y])
    x = [str(2 + j) for j in range(X.shape[1])]
    targets = [str(2 + X.shape[1] + j) for j in range(n_y)]
    names = {"class_target": targets[0]} if y.ndim == 1 else {"targets": targets}
    return selector.fit_source(folder / "a.npy", features=x, covariates=["0", "1"], **names)


ROUTES = [
    *(from_moments, by_update, by_partial_fit, after_a_fit, by_blocks, from_file),
    *(from_parquet, from_a_state, from_npy),
]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("route", ROUTES)
def test_every_way_gives_the_picks_and_scores_of_memory(seed, route, variant, tmp_path):
    kernel, kind = variant.split(", ")
    X, Y, Z = confounded(seed)
    y = Y if kind == "numbers" else np.digitize(Y[:, 0], np.quantile(Y[:, 0], [0.3, 0.6]))
    want = ProjSe(5, kernel=kernel).fit(X, y, covariates=Z)
    got = route(ProjSe(5, kernel=kernel), X, y, Z, tmp_path)
    check(got, want)
    np.testing.assert_allclose(got.pvalues_, want.pvalues_, rtol=1e-6, atol=1e-12)
    if kind == "numbers":
        check(want, ProjSe(5, kernel=kernel).fit(residuals(X, Z), residuals(Y, Z)))


@pytest.mark.parametrize("route", [by_update, by_blocks, from_parquet, *slow(*ROUTES)])
def test_labels_given_covariates_are_the_same_from_everywhere(seed, route, tmp_path):
    X, Y, Z = confounded(seed)
    labels = np.digitize(Y[:, 0], np.quantile(Y[:, 0], [0.3, 0.6]))
    indicators = (labels[:, None] == np.arange(3)).astype(float)
    want = ProjSe(5).fit(residuals(X, Z), residuals(indicators, Z))
    check(route(ProjSe(5), X, labels, Z, tmp_path), want)


@pytest.mark.parametrize("route", ["memory", "sparse", "files"])
def test_wide_candidates_without_their_products(seed, route, tmp_path):
    """Products of the picks come from another pass, and are of what is left."""
    X, Y, Z = confounded(seed, n_x=700)
    want = ProjSe(6).fit(residuals(X, Z), residuals(Y, Z))
    if route == "files":
        got = ProjSe(6).fit_source(tmp_path, covariates="z*", **written(X, Y, Z, tmp_path))
    else:
        given = sp.csr_array(X) if route == "sparse" else X
        got = ProjSe(6).fit(given, Y, covariates=Z)
    if route == "files":
        assert got.moments_.xx is None
    check(got, want)


@pytest.mark.parametrize("form", [{}, projse.PAPER])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_view_is_of_what_is_left(seed, kernel, form, tmp_path):
    X, _, Z = confounded(seed)
    include = [3] if form else None
    selector = ProjSe(4, kernel=kernel, include=include, **form)
    want = ProjSe(**selector.get_params()).fit(residuals(X, Z))
    check(selector.fit(X, covariates=Z), want)
    check(selector.fit_moments(Moments.from_arrays(X, covariates=Z)), want)
    pq.write_table(table(X, X[:, :0], Z), tmp_path / "a.parquet")
    check(selector.fit_source(tmp_path / "a.parquet", covariates="z*"), want)


def test_without_centring_nothing_is_added_to_the_covariates(seed):
    X, Y, Z = confounded(seed)
    left = [A - Z @ np.linalg.lstsq(Z, A, rcond=None)[0] for A in (X, Y)]
    want = ProjSe(5, center=False).fit(*left)
    check(ProjSe(5, center=False).fit(X, Y, covariates=Z), want)
    moments = Moments.from_arrays(X, Y, covariates=Z)
    check(ProjSe(5, center=False).fit_moments(moments), want)


def test_categories_know_their_levels_in_every_batch(seed):
    X, Y, _ = confounded(seed)
    words = np.repeat(["a", "b", "c"], 40)
    site = pd.DataFrame({"site": pd.Categorical(words, categories=list("abcd"))})
    want = ProjSe(4).fit(X, Y, covariates=words)
    check(ProjSe(4).fit(X, Y, covariates=site), want)
    selector = ProjSe(4)
    for rows in (slice(0, 50), slice(50, 120)):
        selector.partial_fit(X[rows], Y[rows], covariates=site[rows])
    check(selector, want)
    assert selector.moments_.target_names[3:] == ("site=a", "site=b", "site=c", "site=d")


def test_levels_of_batches_add_up(seed):
    X, Y, Z = confounded(seed)
    frame = pd.DataFrame({"site": np.repeat(["b", "c", "a"], 40), "age": Z[:, 0]})
    want = ProjSe(4).fit(X, Y, covariates=frame)
    for order in ((0, 1), (1, 0)):
        selector = ProjSe(4)
        for part in order:
            rows = (slice(0, 70), slice(70, 120))[part]
            selector.partial_fit(X[rows], Y[rows], covariates=frame[rows])
        check(selector, want)
        names = selector.moments_.target_names
        assert names[3:] == ("site=a", "site=b", "site=c", "age")
        assert selector.moments_.n_covariates == 4
    with pytest.raises(ValueError, match="different variables: 'site' and 'place'"):
        selector.partial_fit(X, Y, covariates=frame.rename(columns={"site": "place"}))
    many = pd.DataFrame({"site": np.arange(1200).astype(str), "age": 0.0})
    selector.partial_fit(np.tile(X, (5, 1)), np.tile(Y, (5, 1)), covariates=many[:600])
    with pytest.raises(ValueError, match=r"'site' has more than 1000 levels.*identifier"):
        selector.partial_fit(np.tile(X, (5, 1)), np.tile(Y, (5, 1)), covariates=many[600:])


# What covariates are for


def test_a_variable_that_only_shares_a_confounder_is_explained_away(seed):
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 10, size=500)
    X = rng.normal(size=(500, 10))
    X[:, 7] += age / 3
    Y = np.c_[age, -age] / 5 + X[:, [2]] + 0.3 * rng.normal(size=(500, 2))
    assert ProjSe(1).fit(X, Y).selected_.tolist() == [7]
    given = ProjSe("auto", significance=1e-4).fit(X, Y, covariates=age)
    assert given.selected_.tolist() == [2]
    assert ProjSeCV(cv=3).fit(X, Y, covariates=age).selected_.tolist() == [2]
    stable = StabilityProjSe(ProjSe(1), 10, random_state=0).fit(X, Y, covariates=age)
    assert stable.selected_.tolist() == [2]
    tested = permutation_test(ProjSe(1), X, Y, covariates=age, n_permutations=19, random_state=0)
    assert tested.selected.tolist() == [2]
    assert tested.pvalues[0] == 0.05


def null_pvalues(rng, n, m, n_z, categories):
    """First p-values where Y and X have nothing in common but covariates."""
    out = []
    for _ in range(n):
        Z = rng.normal(size=(m, n_z))
        given = Z
        if categories:
            codes = rng.integers(0, 4, m)
            codes[:4] = range(4)
            given = pd.DataFrame(Z).assign(site=np.array(list("abcd"))[codes])
            given.columns = given.columns.astype(str)
            Z = np.c_[Z, codes[:, None] == np.arange(4)]
        X = rng.normal(size=(m, 6)) + 3 * Z @ rng.normal(size=(Z.shape[1], 6))
        y = rng.normal(size=(m, 1)) + 3 * Z @ rng.normal(size=(Z.shape[1], 1))
        out.append(ProjSe(1).fit(X, y, covariates=given).pvalues_[0])
    return out


def test_pvalues_are_uniform_where_only_covariates_relate(seed):
    rng = np.random.default_rng([seed, 5])
    assert kstest(null_pvalues(rng, 100, 25, 8, False), "uniform").pvalue > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("categories", [False, True])
def test_pvalues_are_uniform_in_many_data_sets(seed, categories):
    rng = np.random.default_rng([seed, 6])
    assert kstest(null_pvalues(rng, 800, 30, 10, categories), "uniform").pvalue > 1e-4


# Cross-validation


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("center", [True, False])
def test_folds_are_judged_by_regressions_on_the_training_rows(seed, center, weighted):
    X, Y, Z = confounded(seed)
    weight = np.random.default_rng(seed).integers(1, 4, 120) if weighted else None
    w = np.ones(120) if weight is None else weight
    selector = ProjSe(center=center)
    got = ProjSeCV(selector, n_features=4, cv=KFold(4), param_grid=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", projse.exceptions.NothingPredictsWarning)
        got.fit(X, Y, sample_weight=weight, covariates=Z)
    design = np.c_[np.ones(120), Z] if center else Z
    for f, (train, test) in enumerate(KFold(4).split(X)):
        root = np.sqrt(w[train])[:, None]
        left = []
        for A in (X, Y):
            by = np.linalg.lstsq(design[train] * root, A[train] * root, rcond=None)[0]
            left.append(A - design @ by)
        picks = ProjSe(4, center=center).fit(
            X[train], Y[train], None if weight is None else w[train], covariates=Z[train]
        )
        check(
            ProjSe(4, center=center).fit(
                left[0][train], left[1][train], None if weight is None else w[train]
            ),
            picks,
        )
        for k in (1, 2, 3, 4):
            x = left[0][:, picks.selected_[:k]]
            want = honest_r2_given(x, left[1], train, test, w, center, Z.shape[1])
            at = got.cv_results_["n_features"] == k
            assert got.cv_results_[f"split{f}_test_score"][at][0] == pytest.approx(want, abs=1e-8)


def honest_r2_given(x, y, train, test, w, center, n_given):
    """Held-out R² of a ridge regression on residuals; covariates cost degrees of freedom too."""
    from projse.metrics.held_out import CHARGE, PENALTIES

    xt, yt, wt = x[train], y[train], w[train]
    m = wt.sum()
    norms = np.sqrt((wt[:, None] * xt**2).sum(axis=0))
    K = (xt * wt[:, None]).T @ xt / np.outer(norms, norms)
    c = (xt * wt[:, None]).T @ yt / norms[:, None]
    best = np.full(y.shape[1], np.inf)
    held = np.zeros(y.shape[1])
    for penalty in PENALTIES:
        ridge = K + penalty / m * np.eye(len(K))
        b = np.linalg.solve(ridge, c)
        df = np.trace(np.linalg.solve(ridge, K))
        rest = yt - (xt / norms) @ b
        room = m - int(center) - n_given - CHARGE * df
        gcv = (wt @ rest**2) / room**2 if room > 0 else np.full(len(best), np.inf)
        better = (gcv < best) | (penalty == PENALTIES[0])
        off = y[test] - (x[test] / norms) @ b
        held = np.where(better, w[test] @ off**2, held)
        best = np.where(better, gcv, best)
    # About their mean in all rows; without centring, products are about zero throughout.
    mean = w @ y / w.sum() if center else 0.0
    spread = w @ (y - mean) ** 2
    return 1 - (held / spread).sum() / ((w[test] @ y[test] ** 2) / spread).sum()


def test_folds_by_rows_and_by_moments_agree(seed, monkeypatch):
    X, Y, Z = confounded(seed)
    options = {"n_features": 4, "param_grid": None}
    want = ProjSeCV(cv=4, **options).fit(X, Y, covariates=Z)
    tests = [test for _, test in KFold(4).split(X)]
    parts = [Moments.from_arrays(X[t], Y[t], covariates=Z[t], with_xx=True) for t in tests]
    given = ProjSeCV(**options).fit_moments(parts)
    monkeypatch.setattr("projse.estimators.cross_validation.FOLD_BYTES", 0)
    rows = ProjSeCV(cv=4, **options).fit(X, Y, covariates=Z)
    for got in (given, rows):
        scores = got.cv_results_["mean_test_score"]
        np.testing.assert_allclose(scores, want.cv_results_["mean_test_score"], atol=1e-8)
        assert got.selected_.tolist() == want.selected_.tolist()


@pytest.mark.slow
def test_an_estimator_sees_the_covariates_before_the_picks(seed):
    X, Y, Z = confounded(seed)
    got = ProjSeCV(n_features=[2], cv=3, param_grid=None, estimator=Ridge()).fit(X, Y, covariates=Z)
    train, test = next(KFold(3).split(X))
    picks = ProjSe(2).fit(X[train], Y[train], covariates=Z[train]).selected_
    both = np.c_[Z, X[:, picks]]
    want = Ridge().fit(both[train], Y[train]).score(both[test], Y[test])
    assert got.cv_results_["split0_test_score"][0] == pytest.approx(want)
    assert got.predicts_ is None
    labels = np.array(["a", "b"])[(Y[:, 0] > np.median(Y[:, 0])).astype(int)]
    model = LogisticRegression(max_iter=5000)
    by_label = ProjSeCV(n_features=[2], cv=3, estimator=model).fit(X, labels, covariates=Z)
    assert len(by_label.selected_) == 2


# Resamples, two views, permutations


@pytest.mark.parametrize("kind", ["numbers", "labels", "one view"])
@pytest.mark.parametrize("blocks", [None, 6])
def test_a_resample_of_all_rows_is_the_fit(seed, blocks, kind):
    X, Y, Z = confounded(seed)
    y = {"numbers": Y, "labels": (Y[:, 0] > np.median(Y[:, 0])).astype(str), "one view": None}[kind]
    want = ProjSe(3).fit(X, y, covariates=Z)
    got = StabilityProjSe(ProjSe(3), 2, subsample=1.0, blocks=blocks, random_state=0)
    got.fit(X, y, covariates=Z)
    for picks in got.selections_:
        assert picks.tolist() == want.selected_.tolist()


@pytest.mark.parametrize("m", [120, 12])
def test_both_views_are_of_what_is_left(seed, m):
    X, Y, Z = confounded(seed, m=m, n_x=20, n_y=6)
    got = TwoViewProjSe(3).fit(X, Y, covariates=Z)
    want = TwoViewProjSe(3).fit(residuals(X, Z), residuals(Y, Z))
    assert got.x_selected_.tolist() == want.x_selected_.tolist()
    assert got.y_selected_.tolist() == want.y_selected_.tolist()
    np.testing.assert_allclose(got.x_scores_, want.x_scores_, rtol=1e-7)
    np.testing.assert_allclose(got.y_scores_, want.y_scores_, rtol=1e-7)
    np.testing.assert_allclose(got.canonical_correlations_, want.canonical_correlations_, rtol=1e-7)


def test_held_out_rows_of_two_views_need_their_covariates(seed):
    X, Y, Z = confounded(seed, n_y=4)
    a, b = slice(0, 80), slice(80, 120)
    got = TwoViewProjSe(2).fit(X[a], Y[a], covariates=Z[a])
    left = [residuals(A, Z, beta(A[a], Z[a])) for A in (X, Y)]
    want = TwoViewProjSe(2).fit(*(A[a] for A in left))
    path = got.canonical_correlation_path(X[b], Y[b], covariates=Z[b])
    np.testing.assert_allclose(
        path, want.canonical_correlation_path(*(A[b] for A in left)), rtol=1e-7
    )
    with pytest.raises(ValueError, match="2 and of 0 columns of covariates"):
        got.canonical_correlation_path(X[b], Y[b])


@pytest.mark.parametrize("kernel", ["linear", "rbf", "callable"])
@pytest.mark.parametrize("kind", ["numbers", "labels", "wholly explained"])
def test_residuals_are_shuffled_and_the_covariates_taken_out_again(seed, kernel, kind):
    """Freedman and Lane, written out: what is added to shuffled residuals is taken out again."""
    X, Y, Z = confounded(seed, m=40)
    y = Y
    if kind == "labels":
        y = np.digitize(Y[:, 0], np.quantile(Y[:, 0], [0.3, 0.6]))
        Y = (y[:, None] == np.arange(3)).astype(float)
    elif kind == "wholly explained":
        Y[:, 1] = Z @ [1.0, 3.0]
    function = (lambda A, B: A.T @ B) if kernel == "callable" else kernel
    selector = ProjSe(3, kernel=function)
    got = permutation_test(selector, X, y, covariates=Z, n_permutations=3, random_state=0)
    R = residuals(Y, Z)
    if kind == "wholly explained":
        R[:, 1] = 0.0
    fitted = np.c_[np.ones(40), Z] @ beta(Y, Z)
    for order, scores in zip(permutations(_seeds(0, 3), 40), got.null_scores, strict=True):
        want = ProjSe(3, kernel=function).fit(X, fitted + R[order], covariates=Z)
        np.testing.assert_allclose(scores, want.scores_, rtol=1e-6)


@pytest.mark.slow
def test_permutation_pvalues_hold_their_level(seed):
    rng = np.random.default_rng([seed, 8])
    found = []
    for _ in range(150):
        Z = rng.exponential(size=(30, 3))
        X = rng.exponential(size=(30, 5)) + 2 * Z @ rng.normal(size=(3, 5))
        Y = rng.exponential(size=(30, 2)) + 2 * Z @ rng.normal(size=(3, 2))
        test = permutation_test(
            ProjSe(1), X, Y, covariates=Z, n_permutations=49, random_state=int(rng.integers(1e9))
        )
        found.append(test.pvalues[0])
    assert kstest(found, "uniform").pvalue > 1e-4


# Refused in words


def test_covariates_of_files_are_checked(seed, tmp_path):
    X, Y, Z = confounded(seed)
    t = table(X, Y, Z, np.array(["a", "b"] * 60))
    t = t.append_column("list", pa.array([[1.0]] * 120))
    pq.write_table(t, tmp_path / "a.parquet")
    path = tmp_path / "a.parquet"
    for names, words in (
        ("list", r"covariates that are no numbers, categories or dates: 'list' \(list"),
        (["z0", "nope"], "no column 'nope' .covariates"),
        (["y0"], "'y0' cannot be a covariate and a target"),
    ):
        with pytest.raises(SourceError, match=words):
            ProjSe(2).fit_source(path, targets="y*", covariates=names, numeric_only=True)
    with pytest.raises(SourceError, match="'z0' cannot be a feature and a target, covariate"):
        ProjSe(2).fit_source(path, targets="y*", features=["x0", "x1", "z0"], covariates="z0")
    with pytest.raises(ValueError, match=r"no column names.*covariates"):
        ProjSe(2).fit_source((X, Y), covariates="z0")
    options = {"targets": "y*", "numeric_only": True, "state": tmp_path / "state"}
    ProjSe(2).fit_source(path, covariates="z0", **options)
    with pytest.raises(StateError, match="covariates: now also 'z1'"):
        ProjSe(2).fit_source(path, covariates="z*", **options)
    with pytest.raises(StateError, match="covariates: now without 'z0'"):
        ProjSe(2).fit_source(path, **options)


def test_missing_covariates_are_named_or_dropped(seed, tmp_path):
    X, Y, Z = confounded(seed)
    labels = np.array(["a", "b"] * 60)
    gap = Z.copy()
    gap[[3, 100], 1] = np.nan
    pq.write_table(table(X, Y, gap, labels), tmp_path / "a.parquet")
    path, keep = tmp_path / "a.parquet", np.isfinite(gap).all(axis=1)
    numbers = {"targets": "y*", "exclude": "label"}
    classes = {"class_target": "label", "exclude": "y*"}
    for names, y in ((numbers, Y), (classes, labels)):
        with pytest.raises(ValueError, match=r"'z1'.*"):
            ProjSe(2).fit_source(path, covariates="z*", **names)
        got = ProjSe(2).fit_source(path, covariates="z*", missing="drop", **names)
        check(got, ProjSe(2).fit(X[keep], y[keep], covariates=Z[keep]))


def test_the_command_takes_covariates(seed, tmp_path, command):
    X, Y, Z = confounded(seed)
    pq.write_table(table(X, Y, Z), tmp_path / "a.parquet")
    want = ProjSe(3).fit(X, Y, covariates=Z)
    arguments = [tmp_path / "a.parquet", "-t", "y*", "--covariates", "z0,z1"]
    done = command("select", *arguments, "-k", 3, "--json", "-")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert [pick["index"] for pick in said["picks"]] == want.selected_.tolist()
    assert (said["references"], said["covariates"]) == (["y0", "y1", "y2"], ["z0", "z1"])
    assert command("moments", "build", *arguments, "-o", tmp_path / "m").returncode == 0
    assert "3 references given 2 covariates" in command("select", tmp_path / "m", "-k", 3).stdout
    assert "2: z0, z1" in command("moments", "info", tmp_path / "m").stdout


def test_covariates_that_explain_everything_are_named(seed):
    X, Y, Z = confounded(seed)
    for view, given in ((Z @ np.ones((2, 4)), Y), (X, Z @ np.ones((2, 2)))):
        with pytest.raises(ValueError, match="explained wholly by the covariates"):
            ProjSe(2).fit(view, given, covariates=Z)
