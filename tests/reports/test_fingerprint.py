"""The same data have the same marks, other data have others."""

from __future__ import annotations

import numpy as np
import pytest
from planted import planted

from projse import Moments, ProjSe
from projse.reports.fingerprint import in_python, moments_hash, names_hash, parameters, versions


@pytest.mark.determinism
def test_marks_of_the_data_do_not_depend_on_how_they_were_summed(seed):
    X, Y = planted(seed)
    X[:, 3] = 0.1
    whole = moments_hash(Moments.from_arrays(X, Y, with_xx=True))
    order = np.random.default_rng(seed).permutation(len(X))
    assert moments_hash(Moments.from_arrays(X[order], Y[order], with_xx=False)) == whole
    halves = Moments.from_arrays(X[:90], Y[:90]) + Moments.from_arrays(X[90:], Y[90:])
    assert moments_hash(halves) == whole


@pytest.mark.parametrize(
    "change", ["a value of X", "a value of y", "a row less", "columns", "mean"]
)
def test_other_data_have_other_marks(change, seed):
    X, Y = planted(seed)
    before = moments_hash(Moments.from_arrays(X, Y))
    if change == "a value of X":
        X[7, 2] += 0.01
    elif change == "a value of y":
        Y[7, 1] += 0.01
    elif change == "a row less":
        X, Y = X[1:], Y[1:]
    elif change == "columns":
        X = X[:, ::-1]
    else:
        X = X + 1.0
    assert moments_hash(Moments.from_arrays(X, Y)) != before


def test_one_view_and_names_have_marks_too(seed):
    X, _ = planted(seed)
    assert len(moments_hash(Moments.from_arrays(X))) == 64
    assert names_hash(["a", "b"], ["c"]) != names_hash(["a"], ["b", "c"])
    assert names_hash(None, None) is None


def test_parameters_say_what_auto_came_to_and_python_makes_the_same_selector(seed):
    selector = ProjSe(2, exclude=[0]).fit(*planted(seed))
    found = {p["name"]: p for p in parameters(selector)}
    assert found["exclude"] == {"name": "exclude", "value": "[0]", "became": None}
    assert found["alpha"]["became"] == repr(selector.alpha_)
    assert set(found) == set(selector.get_params())
    scope: dict = {}
    exec(in_python(selector=selector, cv=None), scope)
    assert scope["selector"].get_params() == selector.get_params()


def test_versions_name_what_a_selection_depends_on():
    names = [entry["name"] for entry in versions()]
    assert names[:2] == ["projse", "Python"]
    assert {"numpy", "scipy", "scikit-learn", "system"} <= set(names)
