"""References of tables: gaps and mixed kinds, whatever batches and weights rows come in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from projse import ProjSe


def rows_of(seed: int, n: int = 120) -> tuple[pd.DataFrame, pd.DataFrame, np.random.Generator]:
    """Candidates, references with gaps that drift from the first rows to the last, and chance."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.normal(size=n), "u": rng.normal(size=n)})
    X["s"] = rng.choice(list("abc"), n)
    Y = pd.DataFrame({"y_1": X.x + rng.normal(size=n) + np.linspace(0, 5, n)})
    Y.loc[rng.random(n) < 0.25, "y_1"] = np.nan
    Y["y_2"] = X.u + rng.normal(size=n)
    return X, Y, rng


def assert_same(found: ProjSe, want: ProjSe) -> None:
    np.testing.assert_array_equal(found.selected_, want.selected_)
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=0, atol=1e-10)
    assert found.output_names_.tolist() == want.output_names_.tolist()


@pytest.mark.parametrize("where", ["y", "covariates"])
def test_weights_pool_no_level_of_references_and_covariates(seed: int, where: str) -> None:
    X, Y, rng = rows_of(seed)
    labels = pd.DataFrame({"c": np.array(list("ab" * 58 + "cdef"))})
    weight = np.where(np.arange(120) < 116, 50, 1)
    again = np.repeat(np.arange(120), weight)
    y = Y[["y_2"]].join(labels) if where == "y" else Y[["y_2"]]
    z = labels if where == "covariates" else None
    found = ProjSe(2).fit(X, y, sample_weight=weight, covariates=z)
    copies = None if z is None else z.iloc[again]
    assert_same(found, ProjSe(2).fit(X.iloc[again], y.iloc[again], covariates=copies))


@pytest.mark.parametrize("missing", ["indicator", "mean"])
def test_gaps_of_references_are_filled_with_the_mean_of_all_weighted_rows(
    seed: int, missing: str
) -> None:
    X, Y, rng = rows_of(seed)
    weight = rng.integers(1, 4, 120)
    again = np.repeat(np.arange(120), weight)
    found = ProjSe(2, missing=missing).fit(X, Y, sample_weight=weight)
    assert_same(found, ProjSe(2, missing=missing).fit(X.iloc[again], Y.iloc[again]))


@pytest.mark.parametrize("missing", ["indicator", "mean"])
def test_gaps_of_references_are_filled_with_the_mean_of_all_days(seed, tmp_path, missing) -> None:
    X, Y, _ = rows_of(seed)
    rows, folder, state = X.join(Y), tmp_path / "days", tmp_path / "state"
    folder.mkdir()
    for day, part in enumerate((rows[:60], rows[60:])):
        part.to_parquet(folder / f"{day}.parquet")
        found = ProjSe(2, missing=missing).fit_source(folder, targets="y_*", state=state)
    assert_same(found, ProjSe(2, missing=missing).fit(X, Y))


def test_rows_without_a_weight_are_dropped_if_asked_to(seed: int) -> None:
    X, Y, rng = rows_of(seed)
    X, y = X[["x", "u"]].to_numpy(), Y.y_2.to_numpy()
    weight = rng.integers(1, 4, 120).astype(float)
    weight[:7] = np.nan
    found = ProjSe(1, missing="drop").fit(X, y, sample_weight=weight)
    want = ProjSe(1).fit(X[7:], y[7:], sample_weight=weight[7:])
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=0, atol=1e-10)
    with pytest.raises(ValueError, match="sample_weight contains NaN"):
        ProjSe(1, missing="mean").fit(X, y, sample_weight=weight)
