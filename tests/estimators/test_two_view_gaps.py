"""Two views whose covariates have gaps, dates and categories: as by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from projse import TwoViewProjSe

N, HELD_OUT = 90, 40


def views(seed: int, wide: bool) -> tuple[Any, Any, pd.DataFrame, Any]:
    """Views that share what an age and a site bring into both, and one column of each."""
    rng = np.random.default_rng(seed)
    n = N + HELD_OUT
    shared, age = rng.normal(size=n), rng.normal(50, 10, size=n)
    site = rng.choice(["Bergen", "Oslo", "Voss"], n)
    effect = 0.2 * age + 3 * (site == "Oslo")
    X, Y = rng.normal(size=(n, 120 if wide else 8)), rng.normal(size=(n, 6))
    X[:, 2] += 2 * shared
    Y[:, 1] += 2 * shared
    X[:, 4] += effect
    Y[:, 3] += effect
    covariates = pd.DataFrame({"age": age, "site": pd.Series(site, dtype=object)})
    gaps = rng.random(n) < 0.2
    gaps[:3], gaps[3:6] = True, False
    covariates.loc[gaps, "age"] = np.nan
    covariates.loc[np.roll(gaps, 7), "site"] = None
    return X, Y, covariates, rng.integers(0, 3, n).astype(float)


def by_hand(covariates: pd.DataFrame, missing: str, weight: Any, mean: float | None) -> Any:
    """Numbers that say the same, and the mean that they were filled with."""
    age, known = covariates["age"].to_numpy(), covariates["age"].notna().to_numpy()
    w = np.ones(len(age)) if weight is None else weight
    if mean is None:
        mean = np.average(age[known], weights=w[known])
    columns = [np.where(known, age, mean)]
    if missing == "indicator":
        columns.append((~known).astype(float))
    site = covariates["site"].fillna("none")
    columns += [(site == name).to_numpy(dtype=float) for name in ("Bergen", "Oslo", "Voss", "none")]
    return np.column_stack(columns), mean


def part(rows: Any, *given: Any) -> list[Any]:
    return [None if g is None else g.iloc[rows] if hasattr(g, "iloc") else g[rows] for g in given]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("missing", ["indicator", "mean", "drop"])
def test_gaps_of_covariates_are_as_by_hand(
    seed: int, missing: str, wide: bool, weighted: bool
) -> None:
    *data, weight = views(seed, wide)
    sides, mean = [], None
    for rows in (slice(0, N), slice(N, None)):
        X, Y, Z, w = part(rows, *data, weight if weighted else None)
        if missing == "drop":
            X, Y, Z, w = part(Z.notna().all(axis=1).to_numpy(), X, Y, Z, w)
        Z, mean = by_hand(Z, missing, w, mean)
        sides.append({"X": X, "Y": Y, "sample_weight": w, "covariates": Z})
    want = TwoViewProjSe(3).fit(**sides[0])
    X, Y, Z, w = part(slice(0, N), *data, weight if weighted else None)
    found = TwoViewProjSe(3, missing=missing).fit(X, Y, w, Z)
    assert found.x_selected_.tolist() == want.x_selected_.tolist()
    assert found.y_selected_.tolist() == want.y_selected_.tolist()
    np.testing.assert_allclose(found.x_scores_, want.x_scores_, rtol=0, atol=1e-9)
    X, Y, Z, w = part(slice(N, None), *data, weight if weighted else None)
    held_out = found.canonical_correlation_path(X, Y, w, covariates=Z)
    honest = want.canonical_correlation_path(**sides[1])
    np.testing.assert_allclose(held_out, honest, rtol=0, atol=1e-7)


def test_rows_with_gaps_in_the_views_are_dropped_and_else_refused(seed: int) -> None:
    X, Y, _, _ = views(seed, wide=False)
    X[5, 2] = Y[7, 0] = np.nan
    kept = np.setdiff1d(np.arange(len(X)), [5, 7])
    want = TwoViewProjSe(2).fit(X[kept], Y[kept])
    found = TwoViewProjSe(2, missing="drop").fit(X, Y)
    assert found.x_selected_.tolist() == want.x_selected_.tolist()
    np.testing.assert_array_equal(found.y_scores_, want.y_scores_)
    assert found.transform(X).shape == (len(X), 2)
    for missing in ("refuse", "mean", "indicator"):
        with pytest.raises(ValueError, match="NaN"):
            TwoViewProjSe(2, missing=missing).fit(X, Y)
    with pytest.raises(ValueError, match=r"leaves none.*column 0 of Y has"):
        TwoViewProjSe(2, missing="drop").fit(X, np.full_like(Y, np.nan))


def test_dates_count_as_covariates_and_new_levels_are_named(seed: int) -> None:
    X, Y, Z, _ = views(seed, wide=False)
    days = np.random.default_rng(seed).integers(0, 300, len(X))
    X[:, 6] += days
    Y[:, 5] += days
    dates = pd.DataFrame({"day": pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D")})
    found = TwoViewProjSe(2).fit(X, Y, covariates=dates)
    assert 6 not in found.x_selected_
    assert 6 in TwoViewProjSe(2).fit(X, Y).x_selected_
    known = Z["site"].fillna("Oslo").to_frame()
    two = TwoViewProjSe(2, missing="mean").fit(X, Y, covariates=known)
    with pytest.raises(ValueError, match="'site=Tromsø', which no row of the fit has"):
        two.canonical_correlation_path(X, Y, covariates=known.assign(site="Tromsø"))
    with pytest.raises(ValueError, match="missing='fill'"):
        TwoViewProjSe(2, missing="fill").fit(X, Y)


def test_dask_collections_with_gaps_are_refused_in_words(seed: int) -> None:
    arrays = pytest.importorskip("dask.array")
    X, Y, _, _ = views(seed, wide=False)
    lazy = [arrays.from_array(view, chunks=(50, -1)) for view in (X, Y)]
    with pytest.raises(ValueError, match=r"missing='drop' is for rows in memory.*dropna"):
        TwoViewProjSe(2, missing="drop").fit(*lazy)
