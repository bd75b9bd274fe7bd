"""A report says what the estimators say."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace

import numpy as np
import pytest
from planted import planted, planted_labels
from sklearn.exceptions import NotFittedError

import projse
from projse import (
    PAPER,
    ProjSe,
    ProjSeCV,
    StabilityProjSe,
    TwoViewProjSe,
    permutation_test,
)
from projse.reports.gather import gather, wilson_interval


def fitted(seed, k=4, **parameters):
    return ProjSe(k, **parameters).fit(*planted(seed))


def column(gathered, key):
    return [pick[key] for pick in gathered["picks"]]


def test_picks_are_those_of_the_selector_in_their_order(seed):
    selector = fitted(seed)
    gathered = gather(selector)
    assert column(gathered, "rank") == [1, 2, 3, 4]
    assert column(gathered, "index") == selector.selected_.tolist()
    assert column(gathered, "name") == selector.selected_names_.tolist()
    for key, values in (
        ("score", selector.scores_),
        ("correlation", selector.correlations_),
        ("margin", selector.margins_),
        ("pvalue", selector.pvalues_),
        ("round", selector.rounds_),
    ):
        np.testing.assert_allclose(column(gathered, key), values, rtol=1e-5)


def test_what_picks_explain_is_that_of_the_selector_best_output_first(seed):
    selector = fitted(seed)
    explained = gather(selector)["explained"]
    best = np.argsort(-selector.explained_.sum(axis=0))
    assert explained["outputs"] == [f"y{j}" for j in best]
    np.testing.assert_allclose(explained["values"], selector.explained_[:, best], rtol=1e-4)
    np.testing.assert_allclose(explained["total"], selector.explained_.sum(axis=0)[best], rtol=1e-4)
    np.testing.assert_allclose(explained["along"][-1], explained["mean"], rtol=1e-5)


def test_outputs_that_are_constant_or_picks_themselves_are_left_out(seed):
    X, Y = planted(seed)
    explained = gather(ProjSe(3).fit(X, np.hstack([Y, np.ones((len(Y), 1))])))["explained"]
    assert sorted(explained["outputs"]) == ["y0", "y1", "y2"]
    np.testing.assert_allclose(explained["mean"], np.mean(explained["total"]), rtol=1e-5)
    one = ProjSe(3).fit(X)
    others = gather(one)["explained"]["outputs"]
    assert sorted(others) == sorted(set(map("x{}".format, range(8))) - set(one.selected_names_))
    assert gather(ProjSe(8).fit(X))["explained"] is None


def test_stand_ins_are_those_of_the_selector_also_where_names_repeat(seed):
    pd = pytest.importorskip("pandas")
    X, Y = planted(seed)
    selector = ProjSe(4).fit(pd.DataFrame(X, columns=[f"x{j}" for j in range(8)]), Y)
    expected = [(s.pick, s.name) for s in selector.stand_ins(3)]
    picks = gather(selector)["picks"]
    assert [(p["name"], s["name"]) for p in picks for s in p["stand_ins"]] == expected
    twice = ProjSe(4).fit(X, Y)
    twice.feature_names_in_ = np.array(["same"] * 8, dtype=object)
    assert [len(p["stand_ins"]) for p in gather(twice)["picks"]] == [3, 3, 3, 3]


def test_all_of_it_is_plain_json(seed):
    X, Y = planted(seed)
    cv = ProjSeCV(n_features=4, cv=3).fit(X, Y)
    stable = StabilityProjSe(ProjSe(3), n_resamples=5, random_state=0).fit(X, Y)
    for selector in (cv, fitted(seed), fitted(seed, kernel="rbf"), fitted(seed, include=[1])):
        gathered = gather(selector, stability=stable)
        assert json.loads(json.dumps(gathered, allow_nan=False)) == gathered


@pytest.mark.parametrize(
    ("kind", "fit"),
    [
        ("one view", lambda seed: ProjSe(3).fit(planted(seed)[0])),
        ("classes", lambda seed: ProjSe(3).fit(*planted_labels(seed))),
        ("outputs", fitted),
    ],
)
def test_the_summary_says_what_was_explained(kind, fit, seed):
    summary = gather(fit(seed))["summary"]
    assert summary["kind"] == kind
    assert summary["n_candidates"] == 8
    assert summary["n_rows"] == 200


def test_fits_that_kept_little_are_reported_with_what_there_is(seed):
    X, Y = planted(seed)
    covariates = ProjSe(2).fit(X[:, :6], Y, covariates=X[:, 6:])
    factored = ProjSe(2, solver="qr").fit(X, Y)
    called = ProjSe(2, kernel=lambda A, B: A.T @ B).fit(X, Y)
    for selector in (covariates, factored, called, ProjSe(2, **PAPER).fit(X, Y)):
        gathered = gather(selector)
        assert len(gathered["picks"]) == 2
        assert gathered["summary"]["n_candidates"] == selector.n_features_in_
    assert gather(factored)["repeat"]["data"]["moments"] is None


def test_curves_of_cross_validation_hold_every_point(seed):
    X, Y = planted(seed)
    grid = {"alpha": [0, 0.1]}
    cv = ProjSeCV(n_features=5, cv=3, param_grid=grid, rule="best").fit(X, Y)
    curves = gather(cv)["cv"]
    assert curves["n_features"] == cv.n_features_
    assert [curve["params"] for curve in curves["curves"]] == ["alpha=0", "alpha=0.1"]
    assert curves["chosen"] in {"alpha=0", "alpha=0.1"}
    means = [point["mean"] for curve in curves["curves"] for point in curve["points"]]
    np.testing.assert_allclose(means, cv.cv_results_["mean_test_score"], rtol=1e-5)
    assert gather(cv.selector_, cv=cv)["cv"] == curves


def test_frequencies_come_most_frequent_first_with_intervals_around_them(seed):
    X, Y = planted(seed)
    selector = ProjSe(3).fit(X, Y)
    stable = StabilityProjSe(ProjSe(3), n_resamples=20, random_state=seed).fit(X, Y)
    gathered = gather(selector, stability=stable)
    shown = gathered["stability"]["frequencies"]
    values = [item["frequency"] for item in shown]
    assert values == sorted(values, reverse=True)
    assert len(shown) == (stable.selection_frequencies_ > 0).sum()
    assert all(item["low"] <= item["frequency"] <= item["high"] for item in shown)
    picked = {item["name"] for item in shown if item["picked"]}
    assert picked <= set(selector.selected_names_)
    expected = stable.selection_frequencies_[selector.selected_]
    np.testing.assert_allclose(column(gathered, "frequency"), expected, rtol=1e-5)


def test_the_interval_of_a_share_is_wilsons():
    stats = pytest.importorskip("scipy.stats")
    low, high = wilson_interval(np.array([0.0, 0.3, 1.0]), 20, 0.9)
    for i, k in enumerate((0, 6, 20)):
        exact = stats.binomtest(k, 20).proportion_ci(0.9, method="wilson")
        np.testing.assert_allclose((low[i], high[i]), (exact.low, exact.high), atol=1e-12)


def test_of_very_many_outputs_the_best_explained_are_kept(seed, monkeypatch):
    monkeypatch.setattr("projse.reports.gather.EXPLAINED_CELLS", 8)
    selector = fitted(seed)
    explained = gather(selector)["explained"]
    assert len(explained["outputs"]) == 2
    assert explained["n_outputs"] == 3
    assert explained["total"][0] >= explained["total"][1]


def test_candidates_that_were_not_picked_can_be_searched_unless_they_are_very_many(
    seed, monkeypatch
):
    selector = fitted(seed)
    expected = [f"x{j}" for j in range(8) if j not in selector.selected_]
    assert gather(selector)["not_picked"] == expected
    monkeypatch.setattr("projse.reports.gather.SEARCHED_LETTERS", 7)
    assert gather(selector)["not_picked"] is None


def test_other_estimators_are_refused_with_the_remedy(seed, tmp_path):
    X, Y = planted(seed)
    two = TwoViewProjSe(2).fit(X, Y)
    with pytest.raises(TypeError, match="x_selector_ and its y_selector_"):
        projse.report(two, tmp_path / "a.html")
    stable = StabilityProjSe(ProjSe(2), n_resamples=5, random_state=0).fit(X, Y)
    with pytest.raises(TypeError, match="stability="):
        projse.report(stable, tmp_path / "a.html")
    other = ProjSe(2).fit(X[:, :5], Y)
    with pytest.raises(ValueError, match="fitted on 8 candidates, the selector on 5"):
        projse.report(other, tmp_path / "a.html", stability=stable)
    with pytest.raises(NotFittedError):
        projse.report(ProjSe(2), tmp_path / "a.html")
    assert not list(tmp_path.iterdir())


def test_a_report_is_written_whole_or_not_at_all(seed, tmp_path, monkeypatch):
    path = tmp_path / "picks.html"
    path.write_text("before")
    assert projse.report(fitted(seed), path) == path
    assert path.read_text().startswith("<!doctype html>")
    assert [p.name for p in tmp_path.iterdir()] == ["picks.html"]
    whole = path.read_text()

    def no_space(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_space)
        with pytest.raises(OSError, match="No space left"):
            projse.report(fitted(seed, k=2), path)
    assert path.read_text() == whole, "the page of before is still there"
    assert [p.name for p in tmp_path.iterdir()] == ["picks.html"]
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        projse.report(fitted(seed), tmp_path / "no" / "picks.html")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        projse.report(fitted(seed), tmp_path)


def test_a_permutation_test_becomes_a_check(seed):
    X, Y = planted(seed)
    noise = np.random.default_rng(seed).normal(size=X.shape)
    for rows, status in ((X, "fine"), (noise, "look")):
        selector = ProjSe(1).fit(rows, Y)
        test = permutation_test(ProjSe(1), rows, Y, n_permutations=39, random_state=0)
        if status == "look" and test.pvalues[0] <= selector.significance:
            continue  # one data set in twenty
        found = {c["title"]: c for c in gather(selector, permutations=test)["checks"]}
        check = found["Shuffled outputs"]
        assert check["status"] == status
        assert "39 shuffles" in check["text"]
        assert check["names"] == ([] if status == "fine" else selector.selected_names_.tolist())
    two = permutation_test(ProjSe(2), X, Y, n_permutations=39, random_state=0)
    (check,) = [
        c for c in gather(ProjSe(2).fit(X, Y), permutations=two)["checks"] if "Sh" in c["title"]
    ]
    assert ("later picks" in check["text"]) or (
        "the first pick is the one to go by" in check["text"]
    )
    with pytest.raises(TypeError, match="what permutation_test returns, not ProjSe"):
        gather(selector, permutations=selector)
    with pytest.raises(ValueError, match="more candidates"):
        gather(ProjSe(1).fit(X[:, :1], Y), permutations=replace(test, selected=np.array([5])))


@pytest.mark.parametrize("missing", ["mean", "indicator"])
def test_outputs_without_names_are_counted_where_gaps_are_encoded(seed, missing):
    X, Y = planted(seed)
    Y[:9, 1] = np.nan
    summary = gather(ProjSe(2, missing=missing).fit(X, Y))["summary"]
    assert summary["n_outputs"] == 3
    assert summary["n_output_columns"] == 3 + (missing == "indicator")
