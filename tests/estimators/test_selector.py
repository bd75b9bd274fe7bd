"""What all selectors of columns share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from projse import KnockoffProjSe, ProjSe, TwoViewProjSe


@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingSelectedWarning")
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_no_columns_of_a_table_are_a_table_without_columns(seed: int, kind: Any) -> None:
    rng = np.random.default_rng(seed)
    columns = {f"x{j}": rng.normal(size=90) for j in range(5)}
    X = kind({**columns, "clinic": rng.choice(["Oslo", "Rome"], 90)})
    # With one twin, fdr=0.01 needs a hundred discoveries.
    none = KnockoffProjSe(fdr=0.01, n_draws=1, n_twins=1, random_state=0)
    none.fit(X, rng.normal(size=(90, 2)))
    assert not none.support_.any()
    with pytest.warns(UserWarning, match="No features were selected"):
        small = none.transform(X)
    assert type(small) is type(X)
    assert small.shape[1] == 0


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_pandas_frames_are_made_of_tables_of_any_kind(seed: int, kind: Any) -> None:
    rng = np.random.default_rng(seed)
    day = np.datetime64("2021-01-01", "us") + rng.integers(0, 900, 60) * np.timedelta64(1, "D")
    columns = {
        "clinic": rng.choice(["Oslo", "Rome"], 60),
        "day": day,
        "wait": day - day[0],
        "dose": rng.normal(size=60),
    }
    selector = ProjSe(4).set_output(transform="pandas")
    small = selector.fit(kind(columns), rng.normal(size=(60, 2))).transform(kind(columns))
    assert type(small) is pd.DataFrame
    assert [dtype.kind for dtype in small.dtypes[1:]] == ["M", "m", "f"]
    assert small["clinic"].tolist() == columns["clinic"].tolist()
    assert (small[["day", "wait", "dose"]] == pd.DataFrame(columns)[["day", "wait", "dose"]]).all(
        axis=None
    )


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(("asked", "made"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_two_views_of_any_kind_are_the_frames_that_are_asked_for(
    seed: int, kind: Any, asked: str, made: Any
) -> None:
    rng = np.random.default_rng(seed)
    X, Y = (kind({f"{v}{j}": rng.normal(size=40) for j in range(4)}) for v in "xy")
    views = TwoViewProjSe(2).set_output(transform=asked).fit(X, Y)
    assert [type(view) for view in (*views.transform(X, Y), views.transform(X))] == [made] * 3
