"""ProjSeCV: equal to an honest loop, and right where the number of variables is known."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from agreement import quietly
from honest_ridge import honest_r2
from numpy.testing import assert_allclose, assert_array_equal
from planted import planted, planted_labels
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.utils.estimator_checks import parametrize_with_checks
from variants import slow

import projse.estimators.cross_validation
import projse.estimators.folds
from projse import PAPER, Moments, ProjSe, ProjSeCV, block_moments
from projse.estimators.tuning_grid import AUTO
from projse.exceptions import NothingPredictsWarning


# Their rows are few, and often noise.
@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingPredictsWarning")
@pytest.mark.filterwarnings("ignore::projse.exceptions.OrderedRowsWarning")
@parametrize_with_checks([ProjSeCV(n_features=1, cv=3)])
@pytest.mark.slow
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def known_number(seed, n_true=4, m=400, n_x=15, n_y=5):
    """Outputs that need each of the first ``n_true`` columns, clearly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n_x))
    basis, _ = np.linalg.qr(rng.normal(size=(n_y, n_y)))
    return X, X[:, :n_true] @ basis[:n_true] + 0.3 * rng.normal(size=(m, n_y)) + 2


def honest(selector, X, Y, splits, sizes, weight=None, one_hot=None):
    """Refit and predict every fold, from the rows."""
    scores = np.empty((len(sizes), len(splits)))
    targets = Y if one_hot is None else one_hot
    for f, (train, test) in enumerate(splits):
        w = None if weight is None else weight[train]
        picks = quietly(
            clone(selector).set_params(n_features_to_select=max(sizes)).fit, X[train], Y[train], w
        ).selected_
        for s, size in enumerate(sizes):
            columns = X[:, picks[:size]]
            scores[s, f] = honest_r2(
                *(columns[train], targets[train], columns[test], targets[test]),
                center=selector.center,
                weight=w,
                test_weight=None if weight is None else weight[test],
            )
    return scores


def curve(model, n_splits):
    return np.stack([model.cv_results_[f"split{f}_test_score"] for f in range(n_splits)], axis=1)


SPLITTERS = {
    "k-fold": KFold(4, shuffle=True, random_state=0),
    "leave few out": KFold(12),
    "repeated": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    "shuffle": ShuffleSplit(4, test_size=0.3, random_state=0),
    "time": TimeSeriesSplit(4),
}


# Without an intercept, regressions on these variables are worse than a mean.
@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingPredictsWarning")
@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("center", [True, *slow(False)])
@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.slow
def test_equals_an_honest_loop(seed, splitter, center, by_rows, monkeypatch):
    if by_rows:
        monkeypatch.setattr(projse.estimators.cross_validation, "FOLD_BYTES", 0)
    X, Y = known_number(seed, m=120, n_x=8)
    selector = ProjSe(center=center, **AUTO)
    cv = SPLITTERS[splitter]
    model = ProjSeCV(selector, n_features=5, param_grid=None, cv=cv).fit(X, Y)
    splits = list(cv.split(X))
    want = honest(selector, X, Y, splits, range(1, 6))
    assert_allclose(curve(model, len(splits)), want, atol=1e-8)
    assert_allclose(model.cv_results_["mean_test_score"], want.mean(axis=1), atol=1e-8)
    assert model.n_splits_ == len(splits)
    final = ProjSe(model.n_features_, center=center, **AUTO).fit(X, Y)
    assert_array_equal(model.selected_, final.selected_)


def test_weights_equal_an_honest_loop(seed):
    X, Y = known_number(seed, m=100, n_x=7)
    weight = np.random.default_rng(seed).integers(0, 3, 100).astype(float)
    cv = KFold(4)
    selector = ProjSe(**PAPER)
    model = ProjSeCV(selector, n_features=4, param_grid=None, cv=cv)
    model.fit(X, Y, sample_weight=weight)
    want = honest(selector, X, Y, list(cv.split(X)), range(1, 5), weight)
    assert_allclose(curve(model, 4), want, atol=1e-8)


def test_labels_equal_an_honest_loop(seed):
    X, y = planted_labels(seed, n_samples=150)
    cv = StratifiedKFold(5)
    selector = ProjSe(**AUTO)
    model = ProjSeCV(selector, n_features=5, param_grid=None).fit(X, y)
    one_hot = np.eye(3)[y]
    want = honest(selector, X, y, list(cv.split(X, y)), range(1, 6), one_hot=one_hot)
    assert_allclose(curve(model, 5), want, atol=1e-8)


@pytest.mark.parametrize("n_true", [1, 2, 4])
@pytest.mark.parametrize("rule", ["1se", "best"])
@pytest.mark.slow
def test_finds_the_number_where_it_is_known(seed, n_true, rule):
    X, Y = known_number(seed, n_true, m=600)
    model = ProjSeCV(rule=rule, cv=5).fit(X, Y)
    assert set(model.selected_) >= set(range(n_true))
    if rule == "1se":
        assert model.n_features_ == n_true
    assert model.support_.sum() == model.n_features_
    assert model.transform(X).shape == (600, model.n_features_)


def test_chooses_other_parameters_in_the_same_pass(seed):
    X, Y = known_number(seed)
    passes = []

    def counting(*args, **kwargs):
        passes.append(1)
        return moments_of_blocks(*args, **kwargs)

    moments_of_blocks = projse.estimators.folds.moments_of_blocks
    grid = {"round_size": [None, 1], "alpha": [0.0, 100.0], "rank": [1, None]}
    with pytest.MonkeyPatch.context() as mp:
        mp.setattr(projse.estimators.folds, "moments_of_blocks", counting)
        model = ProjSeCV(n_features=6, param_grid=grid).fit(X, Y)
    assert len(passes) == 1
    assert set(model.best_params_) == set(grid)
    assert len(model.cv_results_["params"]) == 8 * 6
    assert model.selector_.get_params()["alpha"] == model.best_params_["alpha"]
    alone = ProjSeCV(ProjSe(**model.best_params_), n_features=6, param_grid=None).fit(X, Y)
    assert alone.n_features_ == model.n_features_
    assert_allclose(alone.best_score_, model.best_score_)


def test_one_standard_error_rule(seed):
    X, Y = known_number(seed)
    model = ProjSeCV(n_features=8, param_grid=None).fit(X, Y)
    mean = model.cv_results_["mean_test_score"]
    best = int(np.argmax(mean))
    limit = mean[best] - model.cv_results_["standard_error"][best]
    assert model.n_features_ == np.flatnonzero(mean >= limit)[0] + 1
    assert_allclose(model.best_score_, mean[model.n_features_ - 1])
    splits = curve(model, 5)
    assert_allclose(model.cv_results_["standard_error"], splits.std(axis=1, ddof=1) / np.sqrt(5))


def test_any_estimator_and_scorer(seed):
    X, Y = known_number(seed, m=150, n_x=8)
    selector = ProjSe(**AUTO)
    model = ProjSeCV(selector, n_features=5, param_grid=None, estimator=LinearRegression())
    model.set_params(n_jobs=2).fit(X, Y)
    assert model.predicts_
    for f, (train, test) in enumerate(KFold(5).split(X)):
        picks = clone(selector).set_params(n_features_to_select=5).fit(X[train], Y[train]).selected_
        columns = X[:, picks]
        want = LinearRegression().fit(columns[train], Y[train]).score(columns[test], Y[test])
        assert_allclose(curve(model, 5)[-1, f], want, atol=1e-8)
    scored = ProjSeCV(n_features=[1, 3], estimator=Ridge(), scoring="neg_mean_squared_error").fit(
        X, Y
    )
    assert np.all(scored.cv_results_["mean_test_score"] < 0)
    assert scored.predicts_ is None, "a score without a zero says nothing about it"
    assert set(scored.cv_results_["n_features"]) == {1, 3}
    X, y = planted_labels(seed)
    labels = np.array(["a", "b", "c"])[y]
    logistic = LogisticRegression(max_iter=500)
    model = ProjSeCV(n_features=4, param_grid=None, estimator=logistic).fit(X, labels)
    assert model.best_score_ > 0.6
    single = ProjSeCV(n_features=3, estimator=Ridge()).fit(X, X[:, 1] + X[:, 2])
    assert single.best_score_ > 0.99


def test_from_moments_of_folds(seed, tmp_path):
    X, Y = known_number(seed, m=200)
    folds = [np.arange(i, 200, 4) for i in range(4)]
    paths = [tmp_path / f"{i}.moments" for i in range(4)]
    for path, rows in zip(paths, folds, strict=True):
        Moments.from_arrays(X[rows], Y[rows], with_xx=True).save(path)
    selector = ProjSe(**AUTO)
    model = ProjSeCV(selector, n_features=6, param_grid=None).fit_moments(paths)
    splits = [(np.setdiff1d(np.arange(200), rows), rows) for rows in folds]
    assert_allclose(curve(model, 4), honest(selector, X, Y, splits, range(1, 7)), atol=1e-8)
    assert model.n_features_ == 4
    labels = np.where(X[:, 0] > 0, "up", "down")
    X[folds[0], 0] = np.abs(X[folds[0], 0])
    labels[folds[0]] = "up"
    parts = [Moments.from_arrays(X[rows], labels[rows], with_xx=True) for rows in folds]
    assert ProjSeCV(n_features=2).fit_moments(parts).n_features_in_ == 15


def test_groups_names_and_sparse(seed):
    X, Y = known_number(seed, m=100, n_x=8)
    groups = np.arange(100) // 10
    frame = pd.DataFrame(X, columns=[f"v{j}" for j in range(8)])
    selector = ProjSe(include=["v7"])
    model = ProjSeCV(selector, n_features=6, cv=GroupKFold(5)).fit(frame, Y, groups=groups)
    assert model.selected_[0] == 7
    assert "v7" in model.get_feature_names_out()
    dense = ProjSeCV(n_features=6).fit(X * (X > 0), Y)
    sparse = ProjSeCV(n_features=6).fit(sp.csr_array(X * (X > 0)), Y)
    assert_allclose(curve(sparse, 5), curve(dense, 5), atol=1e-8)


def test_a_selection_that_ends_early_keeps_its_score(seed):
    X, Y = planted(seed)
    model = ProjSeCV(ProjSe(exhausted="stop"), n_features=6, param_grid=None).fit(X, Y)
    mean = model.cv_results_["mean_test_score"]
    assert_allclose(mean[3:], mean[2])


BAD = {
    "no y": ({}, {"y": None}, "target y is None"),
    "selector": ({"selector": Ridge()}, {}, "selector must be a ProjSe"),
    "callable": ({"selector": ProjSe(kernel=lambda A, B: A.T @ B)}, {}, "callable kernel"),
    "rule": ({"rule": "2se"}, {}, "rule='2se'"),
    "scoring alone": ({"scoring": "r2"}, {}, "estimator is None"),
    "unknown parameter": ({"param_grid": {"gama": [1]}}, {}, "names 'gama'"),
    "another word": ({"param_grid": "all"}, {}, "the only word is 'auto'"),
    "no grid": ({"param_grid": 3}, {}, "param_grid must be 'auto'"),
    "number in the grid": ({"param_grid": {"n_features_to_select": [1]}}, {}, "n_features lists"),
    "too many": ({"n_features": 9}, {}, "n_features holds 9"),
    "none": ({"n_features": []}, {}, "nothing to try"),
    "zero": ({"n_features": [0, 2]}, {}, "n_features holds 0"),
    "more folds than rows": ({"cv": 41}, {}, "cv=41 folds"),
    "folds of one row": ({"cv": 40}, {}, "R² needs 2"),
    "one fold": ({"cv": ShuffleSplit(1, random_state=0)}, {}, "at least 2 are needed"),
    "a class with one row": ({}, {"y": ["a"] * 39 + ["b"]}, "Class 'b' has 1 row"),
    "folds that lose a class": (
        {"cv": KFold(2)},
        {"y": ["a"] * 20 + ["b"] * 10 + ["c"] * 10},
        "hold no row of class 'a'",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(seed, case):
    parameters, data, message = BAD[case]
    X, Y = planted(seed, n_samples=40)
    model = ProjSeCV(**parameters)
    with pytest.raises((TypeError, ValueError), match=message):
        model.fit(**({"X": X, "y": Y} | data))
    assert not [name for name in vars(model) if name.endswith("_")]


def test_bad_moments(seed):
    X, Y = planted(seed)
    with pytest.raises(ValueError, match="with_xx=True"):
        ProjSeCV().fit_moments([Moments.from_arrays(X, Y, with_xx=False)] * 2)
    with pytest.raises(ValueError, match="at least 2"):
        ProjSeCV().fit_moments([Moments.from_arrays(X, Y)])
    with pytest.raises(ValueError, match="estimator needs the rows"):
        ProjSeCV(estimator=Ridge()).fit_moments([Moments.from_arrays(X, Y)] * 2)


def test_exclude_and_include_bound_the_numbers_that_are_tried(seed):
    X, Y = planted(seed, n_features=12)
    model = ProjSeCV(ProjSe(exclude=[0, 3], include=[5, 6]), param_grid=None).fit(X, Y)
    assert_array_equal(model.cv_results_["n_features"], np.arange(2, 11))
    assert model.selected_[:2].tolist() == [5, 6]
    assert not set(model.selected_) & {0, 3}
    with pytest.raises(ValueError, match="from 2 to 10"):
        ProjSeCV(ProjSe(exclude=[0, 3], include=[5, 6]), n_features=[1]).fit(X, Y)
    with pytest.raises(ValueError, match="from 2 to 10"):
        ProjSeCV(ProjSe(exclude=[0, 3], include=[5, 6]), n_features=[11]).fit(X, Y)


def test_each_entry_of_the_grid_is_judged_with_its_own_centring(seed):
    X, Y = planted(seed, n_features=8)
    X, Y = X + 3.0, Y + 5.0
    both = ProjSeCV(param_grid={"center": [True, False]}, n_features=[3]).fit(X, Y)
    alone = [
        ProjSeCV(ProjSe(center=c), n_features=[3], param_grid=None).fit(X, Y) for c in (True, False)
    ]
    want = [model.cv_results_["mean_test_score"][0] for model in alone]
    assert_allclose(both.cv_results_["mean_test_score"], want)


def test_what_y_is_cannot_be_tuned(seed):
    X, Y = planted(seed)
    with pytest.raises(ValueError, match="target_type"):
        ProjSeCV(param_grid={"target_type": ["class", "continuous"]}).fit(X, Y)


def test_wide_tables_keep_names_and_parameters(seed, monkeypatch):
    monkeypatch.setattr("projse.estimators.cross_validation.FOLD_BYTES", 0)
    X, Y = planted(seed, n_features=9)
    X = pd.DataFrame(X, columns=[f"g{j}" for j in range(9)])
    labels = np.where(Y[:, 0] > np.median(Y[:, 0]), "high", "low")
    model = ProjSeCV(ProjSe(include=["g2"], exclude=["g4"])).fit(X, labels)
    assert model.selector_.get_params() == {
        **ProjSe(include=["g2"], exclude=["g4"]).get_params(),
        **model.best_params_,
        "n_features_to_select": model.n_features_,
    }
    assert model.selector_.feature_names_in_.tolist() == X.columns.tolist()
    assert "g2" in model.selector_.get_feature_names_out()


def test_scores_that_are_nan_stay_nan_and_are_not_chosen(seed):
    X, Y = planted(seed, n_features=6)

    def scoring(model, X, y):
        return np.nan if X.shape[1] == 2 else -float(X.shape[1])

    model = ProjSeCV(
        estimator=LinearRegression(), scoring=scoring, rule="best", param_grid=None
    ).fit(X, Y)
    scores = model.cv_results_["mean_test_score"]
    assert np.isnan(scores[1])
    assert np.isfinite(np.delete(scores, 1)).all()
    assert model.n_features_ == 1


@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingPredictsWarning")
def test_long_lists_of_few_rows_do_not_explode(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 120))
    Y = X[:, :3] @ rng.normal(size=(3, 3)) + 2 * rng.normal(size=(40, 3))
    judged = {
        name: ProjSeCV(ProjSe(**AUTO), n_features=60, param_grid=None, estimator=estimator)
        for name, estimator in {"ridge": None, "least squares": LinearRegression()}.items()
    }
    worst = {name: curve(model.fit(X, Y), 5).mean(axis=1).min() for name, model in judged.items()}
    assert worst["least squares"] < worst["ridge"] - 1
    assert worst["ridge"] > -0.5


def copies_and_others(seed, m=300):
    """One strong variable with eleven copies, and four weaker ones of their own."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(m, 5))
    copies = Z[:, :1] + 0.05 * rng.normal(size=(m, 12))
    X = np.hstack([copies, Z[:, 1:], rng.normal(size=(m, 10))])
    return X, Z * [3.0, 1.5, 1.5, 1.5, 1.5] @ np.ones((5, 2)) + rng.normal(size=(m, 2))


def noisy_copies_of_one_cause(seed, m=80):
    """One cause behind forty noisy variables: the more of them are averaged, the better."""
    rng = np.random.default_rng(seed)
    cause = rng.normal(size=(m, 1))
    X = np.hstack([cause + 2 * rng.normal(size=(m, 40)), rng.normal(size=(m, 400))])
    return X, cause + 0.3 * rng.normal(size=(m, 4))


def alone_and_tuned(selector, X, Y, n_features):
    """Choose the number for a selector as it is, and with other settings beside it."""
    alone = ProjSeCV(selector, n_features=n_features, param_grid=None)
    tuned = ProjSeCV(selector, n_features=n_features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingPredictsWarning)
        return alone.fit(X, Y), tuned.fit(X, Y)


@pytest.mark.parametrize(
    ("case", "redundancy"), [(copies_and_others, 1.0), (noisy_copies_of_one_cause, 0.0)]
)
@pytest.mark.slow
def test_leaves_a_redundancy_that_is_clearly_worse(seed, case, redundancy):
    selector = ProjSe(**AUTO | {"redundancy": redundancy})
    alone, tuned = alone_and_tuned(selector, *case(seed), n_features=15)
    assert tuned.best_params_["redundancy"] != redundancy
    assert tuned.best_score_ > alone.best_score_ + 0.05
    assert tuned.selector_.redundancy == tuned.best_params_["redundancy"]


def test_leaves_an_alpha_that_is_clearly_worse(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 80))
    Y = X[:, -3:] @ rng.normal(size=(3, 50)) + rng.normal(size=(60, 50))
    alone, tuned = alone_and_tuned(ProjSe(**AUTO | {"alpha": 0.0}), X, Y, n_features=8)
    assert tuned.best_params_["alpha"] != 0.0
    assert tuned.best_score_ > alone.best_score_ + 0.05


@pytest.mark.slow
def test_what_the_selector_has_stays_where_others_are_no_better(seed):
    X, Y = known_number(seed)
    for own in (AUTO, AUTO | {"alpha": 2.0}):
        model = ProjSeCV(ProjSe(**own), n_features=4).fit(X, Y)
        assert model.best_params_ == own, "all of them find the four"
    tried = [params["redundancy"] for params in model.cv_results_["params"]]
    again = ProjSeCV(ProjSe(exhausted="restart", **AUTO), n_features=4).fit(X, Y)
    assert {0.0, 0.5, 1.0, "auto"} == set(tried)
    assert {params["redundancy"] for params in again.cv_results_["params"]} == {"auto"}


@pytest.mark.parametrize("rule", ["1se", "best"])
@pytest.mark.parametrize("estimator", [None, Ridge()])
@pytest.mark.slow
def test_what_predicts_nothing_is_said_to(seed, estimator, rule):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 10))
    # What three folds have learned, the fourth belies.
    Y = X[:, :5] * np.repeat([1.0, -1.0, 1.0, -1.0], 30)[:, None]
    model = ProjSeCV(ProjSe(**AUTO), n_features=[3, 5], cv=4, estimator=estimator, rule=rule)
    with pytest.warns(NothingPredictsWarning, match="best mean held-out R² is -0") as found:
        model.fit(X, Y)
    assert found[0].filename == __file__, "the warning points at the user's line"
    assert model.predicts_ is False
    assert model.n_features_ == 3
    assert model.best_params_ == AUTO
    assert model.best_score_ == model.cv_results_["mean_test_score"][0]
    assert model.fit(X, np.abs(Y) + X[:, :5]).predicts_ is True


def test_moments_of_no_rows_are_no_fold(seed):
    X, Y = planted(seed)
    parts = [Moments.from_arrays(X[i::3], Y[i::3], with_xx=True) for i in range(3)]
    want = ProjSeCV(n_features=3).fit_moments(parts)
    got = ProjSeCV(n_features=3).fit_moments([*parts, parts[0] - parts[0]])
    assert got.n_splits_ == 3
    assert got.best_score_ == want.best_score_


def test_folds_without_training_rows_are_refused():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 4)), rng.normal(size=(40, 2))
    halves = [(np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20))]
    weight = np.repeat([0.0, 1.0], 20)
    with pytest.raises(ValueError, match="Fold 0 leaves no training row of non-zero weight"):
        ProjSeCV(cv=[halves[0], halves[0]]).fit(X, Y, sample_weight=weight)


@pytest.mark.slow
def test_noise_seldom_seems_to_predict(seed):
    rng = np.random.default_rng(seed)
    seemed = 0
    for _ in range(25):
        X, Y = rng.normal(size=(60, 15)), rng.normal(size=(60, 3))
        model = ProjSeCV(ProjSe(**AUTO), n_features=5, param_grid=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NothingPredictsWarning)
            seemed += model.fit(X, Y).predicts_
    assert seemed <= 7


def table_with_gaps_and_rare_levels(seed, m=240):
    """Half of the gaps stand for an effect that the filled values do not have."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(m, 4)), columns=list("abcd"))
    X["code"] = pd.Categorical(rng.choice(list("uvwxyz"), m, p=[0.4, 0.4, 0.17, 0.01, 0.01, 0.01]))
    gaps = rng.uniform(size=m) < 0.4
    Y = np.column_stack([X["a"] + (X["code"] == "u"), 3.0 * gaps]) + rng.normal(size=(m, 2))
    X["c"] = X["c"].where(~gaps)
    return X, Y


def as_selected(X, train):
    """What columns of a table are, given the training rows: single columns, and pooled levels."""
    counts = X["code"].iloc[train].value_counts()
    code = X["code"].astype(str).where(X["code"].isin(counts.index[counts >= 5]), "rare")
    filled = X[list("abcd")].fillna(X["c"].iloc[train].mean())
    return [*filled.to_numpy().T[:, :, None], pd.get_dummies(code).to_numpy(dtype=float)]


@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingPredictsWarning")
@pytest.mark.parametrize("how", ["rows", "wide", "moments", "groups", "estimator"])
def test_tables_are_judged_by_what_selection_sees_of_them(seed, how, monkeypatch):
    X, Y = table_with_gaps_and_rare_levels(seed)
    fold = np.repeat([0, 1, 2], [70, 80, 90])
    splits = list(PredefinedSplit(fold).split())
    selector = ProjSe(missing="mean", groups=[0, 1, 2, 2, 3] if how == "groups" else None)
    judge = LinearRegression() if how == "estimator" else None
    model = ProjSeCV(selector, param_grid=None, cv=splits, estimator=judge)
    if how == "wide":
        monkeypatch.setattr(projse.estimators.cross_validation, "FOLD_BYTES", 0)
    if how == "moments":
        folds = block_moments(X, Y, 3, groups=fold, missing="mean", stratify=False, with_xx=True)
        folds.sort(key=lambda block: block.n_samples)
        assert [block.n_samples for block in folds] == [len(test) for _, test in splits]
        quietly(model.fit_moments, folds)
    else:
        quietly(model.fit, X, Y)
    n = 4 if how == "groups" else 5
    want = np.empty((n, 3))
    for f, (train, test) in enumerate(splits):
        spaces = as_selected(X, train)
        if how == "groups":
            spaces[2:4] = [np.concatenate(spaces[2:4], axis=1)]
        one = clone(selector).set_params(n_features_to_select=n)
        picks = quietly(one.fit, X.iloc[train], Y[train]).selected_
        for k in range(n):
            columns = np.concatenate([spaces[j] for j in picks[: k + 1]], axis=1)
            parts = columns[train], Y[train], columns[test], Y[test]
            if judge is None:
                want[k, f] = honest_r2(*parts)
            else:
                want[k, f] = clone(judge).fit(*parts[:2]).score(*parts[2:])
    assert_allclose(curve(model, 3), want, atol=1e-8)


@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingPredictsWarning")
@pytest.mark.parametrize("by_rows", [False, True])
def test_gaps_beside_their_column_are_filled_by_the_training_rows(seed, by_rows, monkeypatch):
    if by_rows:
        monkeypatch.setattr(projse.estimators.cross_validation, "FOLD_BYTES", 0)
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(120, 3)), rng.normal(size=(120, 2))
    X[:, 1] += np.arange(120) / 20  # a drift, so that the mean of some rows is not that of others
    Y[:, 0] += X[:, 1]
    gap = rng.uniform(size=120) < 0.4
    X[gap, 1] = np.nan
    splits = list(TimeSeriesSplit(3).split(X))
    selector = ProjSe(missing="indicator")
    model = ProjSeCV(selector, param_grid=None, cv=splits).fit(X, Y)
    want = np.empty((3, 3))
    for f, (train, test) in enumerate(splits):
        filled = np.where(np.isnan(X), np.nanmean(X[train], axis=0), X)
        spaces = [filled[:, [0]], np.column_stack([filled[:, 1], gap]), filled[:, [2]]]
        picks = clone(selector).set_params(n_features_to_select=3).fit(X[train], Y[train]).selected_
        for k in range(3):
            columns = np.concatenate([spaces[j] for j in picks[: k + 1]], axis=1)
            want[k, f] = honest_r2(columns[train], Y[train], columns[test], Y[test])
    assert_allclose(curve(model, 3), want, atol=1e-8)


@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingPredictsWarning")
@pytest.mark.filterwarnings("ignore::projse.exceptions.OrderedRowsWarning")
def test_rows_without_weight_have_no_say_in_how_labels_are_spread(seed):
    rng = np.random.default_rng([seed, 7])
    y = np.repeat(["a", "b", "c"], [6, 60, 54])
    X = rng.normal(size=(120, 4)) + 2 * (y[:, None] == ["a", "b", "c", "d"])
    weight = np.ones(120)
    weight[10:50] = 0
    keep = weight > 0
    want = ProjSeCV(ProjSe(), cv=5, param_grid=None).fit(X[keep], y[keep])
    for labels in (y, np.where(keep, y, "a")):
        found = ProjSeCV(ProjSe(), cv=5, param_grid=None).fit(X, labels, sample_weight=weight)
        assert_allclose(found.cv_results_["mean_test_score"], want.cv_results_["mean_test_score"])
    fold = np.arange(120) % 3
    listed = ProjSeCV(ProjSe(), cv=PredefinedSplit(fold), param_grid=None)
    want = clone(listed).set_params(cv=PredefinedSplit(fold[keep])).fit(X[keep], y[keep])
    found = listed.fit(X, y, sample_weight=weight)
    assert_allclose(found.cv_results_["mean_test_score"], want.cv_results_["mean_test_score"])
