"""Blocks of rows of a table: they add up to the table, in memory and in partitions of Dask."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from projse import Moments, ProjSe, StabilityProjSe, block_moments


def table(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    n = 240
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    X.loc[rng.random(n) < 0.1, "b"] = np.nan
    X["city"] = rng.choice(["Bergen", "Oslo", "Turku"], n)
    y = pd.DataFrame(rng.normal(size=(n, 2)), columns=["u", "v"])
    y["u"] += 2 * X["a"] + 2 * (X["city"] == "Oslo")
    return X, y


def check_same_picks(blocks: list[Moments], X: Any, y: Any, **options: Any) -> None:
    total = sum(blocks[1:], start=blocks[0])
    found, want = ProjSe(3).fit_moments(total), ProjSe(3, **options).fit(X, y)
    assert found.selected_.tolist() == want.selected_.tolist()
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=1e-8)


@pytest.mark.parametrize("basis", ["linear", "spline"])
def test_blocks_of_a_table_add_up_to_it(seed: int, basis: str) -> None:
    X, y = table(seed)
    options: Any = {"missing": "indicator", "basis": basis}
    blocks = block_moments(X, y, 12, random_state=seed, **options)
    assert len(blocks) == 12
    check_same_picks(blocks, X, y, **options)
    stable = StabilityProjSe(ProjSe(2), random_state=seed).fit_moments(blocks)
    assert {0, 4} <= set(np.argsort(-stable.selection_frequencies_)[:2].tolist())


def test_partitions_of_a_table_are_blocks(seed: int) -> None:
    frames = pytest.importorskip("dask.dataframe")
    X, y = table(seed)
    options: Any = {"missing": "indicator"}
    cut = {"npartitions": 5, "sort": False}
    blocks = block_moments(
        frames.from_pandas(X, **cut), frames.from_pandas(y, **cut), None, **options
    )
    assert len(blocks) == 5
    check_same_picks(blocks, X, y, **options)


def test_rows_that_are_dropped_and_groups_of_rows_exclude_each_other(seed: int) -> None:
    X, y = table(seed)
    with pytest.raises(ValueError, match="groups and missing='drop'"):
        block_moments(X, y, 12, missing="drop", groups=np.arange(len(X)))
