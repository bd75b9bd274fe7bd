"""What p-values take for granted is told where the rows do not have it, in words with names."""

from __future__ import annotations

import numpy as np
import pandas as pd
from planted import planted
from scipy.stats import norm

from projse import PAPER, ProjSe
from projse.estimators.caveats import pvalue_caveats


def caveats(selector):
    return pvalue_caveats(selector, selector.moments_, selector.variable_names_)


def with_tails(seed, where="both"):
    """The pick x5 and the first output have a far row each; the rest are normal scores."""
    X, Y = planted(seed, n_samples=100)
    for column in (X.T, Y.T):
        for values in column:
            values[values.argsort()] = norm.ppf((np.arange(100) + 0.5) / 100)
    if where in ("both", "x"):
        X[3, 5] = 7.0
    if where in ("both", "y"):
        Y[4, 0] = 7.0
    columns = [f"gene{j}" for j in range(X.shape[1])]
    return pd.DataFrame(X, columns=columns), pd.DataFrame(Y, columns=["a", "b", "c"])


def test_a_pick_and_an_output_with_long_tails_are_named(seed):
    (said,) = caveats(ProjSe(3).fit(*with_tails(seed)))
    assert "'gene5' has a value" in said
    assert "output 'a'" in said
    assert "permutation_test" in said


def test_one_long_tail_is_not_told(seed):
    for where in ("x", "y", "none"):
        assert caveats(ProjSe(3).fit(*with_tails(seed, where))) == []


def test_rare_against_rare_is_told_with_rows_and_without_ranks(seed):
    rng = np.random.default_rng(seed)
    m = 200
    X = pd.DataFrame(rng.permuted(np.arange(m)[:, None] < 20 + np.arange(6), axis=0).astype(float))
    X.columns = [f"event{j}" for j in range(6)]
    y = np.where(rng.permutation(m) < 9, "ill", "well")
    (said,) = caveats(ProjSe(3).fit(X, y))
    assert "'event" in said
    assert "output 'ill' has the rarer of its two values in 9 of 200 rows" in said
    assert "ranks" not in said
    assert "permutation_test" in said
    # Of a number with a far row, ranks are a remedy.
    numbers = norm.ppf((rng.permuted(np.tile(np.arange(m), (3, 1)), axis=1).T + 0.5) / m)
    numbers[3, 0] = 12.0
    (said,) = caveats(ProjSe(3).fit(pd.DataFrame(numbers, columns=["a", "b", "c"]), y))
    assert "'a' has a value" in said
    assert "output 'ill' has the rarer" in said
    assert "ranks" in said


def test_weights_and_tails_are_both_told(seed):
    X, Y = with_tails(seed)
    weight = np.random.default_rng(seed).integers(1, 4, len(X))
    weight[[3, 4]] = 1  # those that stand out
    counts, tails = caveats(ProjSe(3).fit(X, Y, sample_weight=weight))
    assert "rows instead of 100" in counts
    assert "tails as normal" in tails


def test_a_variable_that_was_not_tested_is_not_looked_at(seed):
    X, Y = with_tails(seed)
    # What is included from the start has no p-value.
    assert caveats(ProjSe(3, include=["gene5"]).fit(X, Y)) == []
    assert caveats(ProjSe(3, exclude=["gene5"]).fit(X, Y)) == []


def test_nothing_is_said_where_there_are_no_p_values(seed):
    X, Y = with_tails(seed)
    assert caveats(ProjSe(3, kernel="rbf").fit(X, Y)) == []
    assert caveats(ProjSe(3).fit(X)) == []


def test_picks_of_several_columns_are_not_looked_at_and_that_is_told(seed):
    # A level or a gap that is rare is left out of its variable, though its column has a long tail.
    X, Y = with_tails(seed, "y")
    X["city"] = np.where(Y["a"] > Y["a"].median(), "Oslo", "Bergen")
    X.loc[7, "city"] = "Hamar"
    X["dose"] = Y["b"] + 0.1 * X["gene1"]
    X.loc[9, "dose"] = np.nan
    selector = ProjSe(4, missing="indicator").fit(X, Y)
    assert {"city", "dose"} & set(selector.selected_names_)
    (said,) = caveats(selector)
    assert "output 'a' has a value" in said
    assert "not looked at in picks of several columns" in said
    assert not any(name in said for name in X)
    Y["a"] = Y["a"].clip(-3, 3)
    assert caveats(ProjSe(4, missing="indicator").fit(X, Y)) == []


def test_candidates_whose_extremes_were_not_kept_are_told_beside_a_long_tail_of_an_output(seed):
    X, Y = with_tails(seed)
    for selector in (ProjSe(1), ProjSe(3, **PAPER)):
        (said,) = caveats(selector.fit(X, Y))
        assert "output 'a' has a value" in said
        assert "kept no extremes of candidates" in said
        for where in ("x", "none"):
            assert caveats(selector.fit(*with_tails(seed, where))) == []
