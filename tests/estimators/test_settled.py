"""Parameters between two calls of partial_fit: they count, or they are refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from projse import ProjSe


def halves(seed: int) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(120, 5)), columns=list("abcde"))
    X["code"] = np.repeat(np.arange(12), 10)[rng.permutation(120)]
    X["city"] = rng.choice(["Oslo", "Rome", "Bath"], 120)
    Y = X[["a", "b"]].to_numpy() @ rng.normal(size=(2, 3)) + rng.normal(size=(120, 3))
    Y = pd.DataFrame(Y, columns=["u", "v", "w"])
    return [(X[:60], Y[:60]), (X[60:], Y[60:])]


@pytest.mark.parametrize(
    ("name", "before", "now"),
    [
        ("missing", "refuse", "drop"),
        ("missing", "indicator", "mean"),
        ("basis", "linear", "spline"),
        ("categorical_features", "from_dtype", ["code"]),
        ("categorical_features", np.array([5]), np.array([5, 4])),
        ("target_type", "auto", "continuous"),
    ],
)
def test_what_shaped_the_sums_cannot_change(seed: int, name: str, before: Any, now: Any) -> None:
    first, second = halves(seed)
    selector = ProjSe(3, **{name: before}).partial_fit(*first)
    picks = selector.selected_
    selector.set_params(**{name: now})
    with pytest.raises(ValueError, match=rf"^{name}=.* was .* when the rows so far were summed"):
        selector.partial_fit(*second)
    assert selector.selected_ is picks
    again = pickle.loads(pickle.dumps(selector))
    with pytest.raises(ValueError, match=f"^{name}="):
        again.partial_fit(*second)
    selector.set_params(**{name: before}).partial_fit(*second)
    assert selector.moments_.n_samples == 120


def test_the_same_columns_in_another_form_are_no_change(seed: int) -> None:
    first, second = halves(seed)
    selector = ProjSe(3, categorical_features=["code"]).partial_fit(*first)
    selector.set_params(categorical_features=np.array(["code"])).partial_fit(*second)
    assert selector.moments_.n_samples == 120


@pytest.mark.parametrize(
    "changed",
    [
        {"n_features_to_select": 5},
        {"alpha": 3.0},
        {"redundancy": 0.0},
        {"exclude": ["a"]},
        {"include": ["e"]},
        {"min_frequency": 40},
        {"scale": False},
        {"rank": 1},
    ],
)
def test_what_concerns_the_selection_takes_effect(seed: int, changed: dict[str, Any]) -> None:
    first, second = halves(seed)
    selector = ProjSe(3).partial_fit(*first).set_params(**changed).partial_fit(*second)
    want = clone(selector).partial_fit(*first).partial_fit(*second)
    assert selector.selected_.tolist() == want.selected_.tolist()
    np.testing.assert_array_equal(selector.scores_, want.scores_)


def test_a_new_fit_settles_anew(seed: int) -> None:
    first, second = halves(seed)
    selector = ProjSe(3).partial_fit(*first).set_params(missing="indicator").fit(*first)
    assert selector.partial_fit(*second).moments_.n_samples == 120
