"""Estimators that leave the rows to a selector take what it takes, in fit and in transform."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.utils import get_tags

from projse import KnockoffProjSe, ProjSe, ProjSeCV, StabilityProjSe

OF_A_SELECTOR = {
    "cv": ProjSeCV,
    "stability": lambda selector: StabilityProjSe(selector, 5, random_state=0),
    "knockoffs": lambda selector: KnockoffProjSe(selector, n_draws=2, random_state=0),
}


@pytest.mark.parametrize("make", OF_A_SELECTOR.values(), ids=OF_A_SELECTOR)
@pytest.mark.parametrize("missing", ["refuse", "drop", "indicator", "mean"])
@pytest.mark.parametrize("basis", ["linear", "spline"])
def test_tags_are_those_of_the_selector(make: Any, missing: str, basis: str) -> None:
    selector = ProjSe(2, missing=missing, basis=basis)
    own, theirs = get_tags(make(selector)).input_tags, get_tags(selector).input_tags
    assert (own.allow_nan, own.sparse) == (theirs.allow_nan, theirs.sparse)


@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingSelectedWarning")
@pytest.mark.filterwarnings("ignore:No features were selected")
@pytest.mark.parametrize("make", OF_A_SELECTOR.values(), ids=OF_A_SELECTOR)
@pytest.mark.parametrize("missing", ["drop", "indicator", "mean"])
def test_transform_takes_the_gaps_that_fit_took(seed: int, make: Any, missing: str) -> None:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(200, 5)), columns=list("abcde"))
    y = 3 * X["b"] + rng.normal(size=200)
    X.iloc[::9, 0] = np.nan
    fitted = make(ProjSe(2, missing=missing)).fit(X, y)
    assert_array_equal(fitted.transform(X), X.loc[:, fitted.support_])
