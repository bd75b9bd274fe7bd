"""Each check finds what it is for, names it, and is silent without."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from planted import planted

from projse import ProjSe, ProjSeCV, StabilityProjSe
from projse.reports.checks import LISTED, checks


def found(selector, **more):
    """Checks by their title."""
    names = [f"x{j}" for j in range(selector.n_features_in_)]
    return {check["title"]: check for check in checks(selector, names, **more)}


def quietly(selector, X, Y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return selector.fit(X, Y)


def test_nothing_is_worth_a_look_where_nothing_is_wrong(seed):
    result = found(ProjSe(2).fit(*planted(seed)))
    assert {check["status"] for check in result.values()} == {"fine"}
    assert {"Chance", "Constant columns", "Duplicate columns", "Leverage of single rows"} <= set(
        result
    )


def test_a_selection_of_nothing_is_told_and_not_praised(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(60, 5)), rng.normal(size=(60, 2))
    selector = ProjSe("auto", significance=1e-9).fit(X, Y)
    result = found(selector)
    assert not len(selector.selected_)
    assert next(iter(result)) == "Nothing selected"
    assert "1e-09" in result["Nothing selected"]["text"]
    assert not {"Chance", "Ties and close calls", "Leverage of single rows"} & set(result)


def test_weights_that_p_values_take_as_counts_are_told(seed):
    X, Y = planted(seed)
    weight = np.random.default_rng(seed).integers(1, 4, len(X))
    chance = found(ProjSe(2).fit(X, Y, sample_weight=weight))["Chance"]
    assert chance["status"] == "look"
    assert f"{weight.sum():,} rows instead of {len(X):,}" in chance["text"]
    shares = found(ProjSe(2).fit(X, Y, sample_weight=weight / weight.sum()))["Chance"]
    assert "counts" not in shares["text"]  # they cannot be, and there are no p-values


def test_ties_and_copies_are_named(seed):
    X, Y = planted(seed)
    X = np.hstack([X, -2 * X[:, [5]]])
    result = found(ProjSe(2).fit(X, Y))
    assert result["Ties"]["status"] == "look"
    assert result["Ties"]["names"] == ["x5"]
    assert result["Duplicate columns"]["names"] == ["x8"]


def test_close_calls_are_named(seed):
    X, Y = planted(seed)
    near = X[:, [5]] + 0.01 * np.random.default_rng(seed).normal(size=(len(X), 1))
    result = found(ProjSe(1).fit(np.hstack([X, near]), Y))
    assert result["Close calls"]["status"] == "look"
    assert len(result["Close calls"]["names"]) == 1


def test_picks_that_may_be_chance_are_named(seed):
    X, Y = planted(seed)
    selector = ProjSe(8).fit(X, Y)
    weak = selector.pvalues_ > 0.05
    check = found(selector)["Chance"]
    assert check["status"] == ("look" if weak.any() else "fine")
    assert check["names"] == [f"x{j}" for j in selector.selected_[weak]]


def test_without_pvalues_chance_is_not_judged(seed):
    assert found(ProjSe(2, kernel="rbf").fit(*planted(seed)))["Chance"]["status"] == "unknown"


def test_more_picks_than_directions_are_told(seed):
    X, Y = planted(seed)
    assert found(ProjSe(3).fit(X, Y))["Room in the outputs"]["status"] == "fine"
    check = found(ProjSe(5).fit(X, Y))["Room in the outputs"]
    assert check["status"] == "look"
    assert "3 directions" in check["text"]
    assert "5 picks" in check["text"]


def test_fewer_picks_than_asked_for_are_told(seed):
    X, Y = planted(seed)
    selector = quietly(ProjSe(5, exhausted="stop", alpha=0, redundancy=0, round_size=None), X, Y)
    assert len(selector.selected_) == 3
    assert "3 of the 5" in found(selector)["Room in the outputs"]["text"]


def test_few_rows_for_many_outputs_are_told(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(30, 5)), rng.normal(size=(30, 12))
    check = found(quietly(ProjSe(2, solver="gram"), X, Y))["Rows for the outputs"]
    assert check["status"] == "look"
    assert "41 %" in check["text"]


def test_picks_that_rest_on_one_row_are_named(seed):
    X, Y = planted(seed)
    X[:, 7] = 0
    X[3, 7] = 1
    selector = quietly(ProjSe(3, include=[7]), X, Y)
    check = found(selector)["Leverage of single rows"]
    assert check["status"] == "look"
    assert check["names"] == ["x7"]


def test_constant_columns_are_counted_and_some_named(seed):
    X, Y = planted(seed)
    X = np.hstack([X, np.full((len(X), 20), 0.1)])
    check = found(ProjSe(2).fit(X, Y))["Constant columns"]
    assert check["status"] == "look"
    assert check["n_names"] == 20
    assert check["names"] == [f"x{8 + i}" for i in range(LISTED)]
    assert "20 candidates" in check["text"]


def test_what_was_not_kept_is_not_called_fine(seed):
    result = found(ProjSe(2, solver="qr").fit(*planted(seed)))
    for title in ("Rows for the outputs", "Constant columns", "Duplicate columns"):
        assert result[title]["status"] == "unknown"


def test_selections_that_predict_nothing_are_told(seed):
    X, Y = planted(seed)
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=Y.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        good = ProjSeCV(n_features=3, cv=3, param_grid=None).fit(X, Y)
        bad = ProjSeCV(n_features=3, cv=3, param_grid=None).fit(X, noise)
    assert found(good.selector_, cv=good)["Prediction of other rows"]["status"] == "fine"
    status = found(bad.selector_, cv=bad)["Prediction of other rows"]["status"]
    assert status == ("fine" if bad.predicts_ else "look")


def test_picks_that_do_not_come_back_are_named(seed):
    X, Y = planted(seed)
    selector = ProjSe(4).fit(X, Y)
    stable = StabilityProjSe(ProjSe(4), n_resamples=10, random_state=seed).fit(X, Y)
    rare = stable.selection_frequencies_[selector.selected_] < stable.threshold
    check = found(selector, stability=stable)["Other rows, same variables?"]
    assert check["names"] == [f"x{j}" for j in selector.selected_[rare]]
    assert check["status"] == ("look" if rare.any() else "fine")


def test_what_is_worth_a_look_comes_first(seed):
    X, Y = planted(seed)
    X[:, 7] = 1
    status = [check["status"] for check in checks(ProjSe(2).fit(X, Y), [f"x{j}" for j in range(8)])]
    assert status == sorted(status, key=("look", "unknown", "fine").index)
    assert "look" in status


@pytest.mark.parametrize("n", [1, 2])
def test_counts_are_written_as_people_do(n, seed):
    X, Y = planted(seed)
    X[:, 8 - n :] = 1
    text = found(ProjSe(2).fit(X, Y))["Constant columns"]["text"]
    assert ("1 candidate " in text) if n == 1 else ("2 candidates " in text)
