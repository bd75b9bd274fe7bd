"""Reports of variables that are several columns: groups, categories, dates, gaps."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from patients import TARGETS, patients
from planted import planted

from projse import ProjSe, ProjSeCV, StabilityProjSe
from projse.reports.gather import gather

GROUPS = {"a": [0, 1], "b": [2, 3, 4]}


def of_patients(seed, view="two", **parameters):
    frame = patients(seed)
    features = frame[list(frame.columns[:7])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ProjSe(3, **parameters).fit(features, None if view == "one" else frame[TARGETS])


FITS = {
    "mixed table": lambda seed: of_patients(seed, missing="indicator", basis="spline"),
    "groups of a table": lambda seed: of_patients(
        seed, missing="mean", groups={"who": ["age", "smoker"], "where": ["city", "code"]}
    ),
    "one view of a table": lambda seed: of_patients(seed, "one", missing="mean"),
    "groups": lambda seed: ProjSe(2, groups=GROUPS).fit(*planted(seed)),
    "one view of groups": lambda seed: ProjSe(2, groups=GROUPS).fit(planted(seed)[0]),
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_picks_are_variables_with_their_columns(seed, fit):
    selector = fit(seed)
    gathered = gather(selector)
    assert [p["name"] for p in gathered["picks"]] == selector.selected_names_.tolist()
    n = len(selector.variable_names_)
    assert gathered["summary"]["n_candidates"] == n
    assert len(gathered["not_picked"]) == n - len(selector.selected_)
    dimensions = np.bincount(selector._picked.pick_of).tolist()
    for pick, dimension in zip(gathered["picks"], dimensions, strict=True):
        assert pick["n_columns"] >= dimension
    for pick in gathered["picks"]:
        assert 1 <= len(pick["columns"]) <= pick["n_columns"]
    assert json.loads(json.dumps(gathered, allow_nan=False)) == gathered


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_variables_of_several_columns_have_stand_ins(seed, fit):
    selector = fit(seed)
    gathered = gather(selector)
    assert gathered["has_stand_ins"]
    assert not gathered["left_out"]
    left = set(selector.variable_names_) - set(selector.selected_names_)
    for pick in gathered["picks"]:
        assert len(pick["stand_ins"]) == min(3, len(left))
        assert {s["name"] for s in pick["stand_ins"]} <= left


def test_columns_of_groups_and_of_encoded_columns_are_named(seed):
    picks = gather(FITS["groups"](seed))["picks"]
    members = {"a": ["x0", "x1"], "b": ["x2", "x3", "x4"]}
    for pick in picks:
        assert pick["columns"] == members.get(pick["name"], [pick["name"]])
    picks = {
        p["name"]: p for p in gather(of_patients(seed, missing="mean", include=["city"]))["picks"]
    }
    assert {"city=Oslo", "city=Bergen", "city=Ålesund"} <= set(picks["city"]["columns"])


def test_outputs_of_one_view_are_the_columns_that_no_pick_has(seed):
    selector = FITS["one view of groups"](seed)
    taken = {f"x{j}" for j in selector.variables_.columns_of(selector.selected_)}
    outputs = gather(selector)["explained"]["outputs"]
    assert set(outputs) == {f"x{j}" for j in range(8)} - taken
    table = FITS["one view of a table"](seed)
    assert len(table.output_names_) == table.explained_.shape[1]
    own = {name for p in gather(table)["picks"] for name in p["columns"]}
    assert not own & set(gather(table)["explained"]["outputs"])


def test_checks_name_variables_instead_of_columns(seed):
    X, Y = planted(seed)
    X = np.column_stack([X, X[:, 7], np.ones((len(X), 3)), X[:, 6]])
    X[:, 5] = np.eye(len(X))[3]
    groups = {"a": [0, 1], "still": [9, 10], "half": [2, 11, 12]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector = ProjSe(3, groups=groups, include=["x5"]).fit(X, Y)
    found = {check["title"]: check for check in gather(selector)["checks"]}
    assert found["Constant columns"]["names"] == ["still"]
    assert found["Duplicate columns"]["names"] == ["x8"]
    assert found["Leverage of single rows"]["names"] == ["x5"]
    for seen in found.values():
        assert set(seen["names"]) <= set(selector.variable_names_)


def test_groups_in_the_one_and_not_in_the_other_are_refused(seed):
    X, Y = planted(seed)
    selector = ProjSe(2, groups=GROUPS).fit(X, Y)
    other = StabilityProjSe(ProjSe(2), n_resamples=5, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="fitted on 8 candidates, the selector on 5"):
        gather(selector, stability=other)
    same = StabilityProjSe(ProjSe(2, groups=GROUPS), n_resamples=5, random_state=0).fit(X, Y)
    cv = ProjSeCV(ProjSe(groups=GROUPS), n_features=2, cv=3, param_grid=None).fit(X, Y)
    gathered = gather(selector, stability=same, cv=cv)
    np.testing.assert_allclose(
        [p["frequency"] for p in gathered["picks"]],
        same.selection_frequencies_[selector.selected_],
        rtol=1e-5,
    )


def test_identifiers_are_no_constants_and_outputs_are_counted_as_given(seed):
    frame = patients(seed).assign(who=lambda f: [f"P{i}" for i in range(len(f))], still=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector = ProjSe(2, missing="mean").fit(frame.drop(columns=TARGETS), frame[TARGETS])
    gathered_ = gather(selector)
    found = {check["title"]: check for check in gathered_["checks"]}
    assert found["Identifiers"]["status"] == "look"
    assert found["Identifiers"]["names"] == ["who"]
    assert found["Constant columns"]["names"] == ["still"]
    summary = gathered_["summary"]
    assert summary["n_outputs"] == len(TARGETS)
    assert summary["n_output_columns"] == selector.explained_.shape[1] > len(TARGETS)
    fine = {c["title"]: c["status"] for c in gather(of_patients(seed, missing="mean"))["checks"]}
    assert fine["Identifiers"] == "fine"
