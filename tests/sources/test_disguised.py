"""Strings that look like numbers or dates are warned about, and others are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from projse.exceptions import UnreliableSelectionWarning
from projse.sources.table.encoder import TableEncoder

N = 60
DAYS = pd.date_range("2021-01-01", periods=N, freq="11D")
STRANGE = {
    "thousands": ([f"{k}.{100 + k},5" for k in range(N)], "numbers ('"),
    "currency": ([f"€ {k}.50" for k in range(N)], "numbers ('€ "),
    "percent": ([f"{k}%" for k in range(N)], "numbers"),
    "dashes": (["-" if k % 10 == 0 else f"{k}.25" for k in range(N)], "beside '-'"),
    "days": (list(DAYS.strftime("%d.%m.%Y")), "dates ('"),
    "american days": (list(DAYS.strftime("%m/%d/%Y")), "dates ('"),
}
PLAIN = {
    "codes": [f"{k:05}" for k in range(N)],
    "names": [f"person {k}" for k in range(N)],
    "three letters": [f"row {k}" for k in range(N)],
    "few": [("1,5", "2,5")[k % 2] for k in range(N)],
    "yes": [("yes", "no")[k % 2] for k in range(N)],
}


def look(values: list[str], kind: str, **options: Any) -> None:
    column: Any = {"a": np.arange(N, dtype=float), "b": values}
    table = pl.DataFrame(column) if kind == "polars" else pd.DataFrame(column)
    TableEncoder.look(table, max_levels=None, **options)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("name", STRANGE)
def test_values_that_look_like_something_else_are_named(name: str, kind: str) -> None:
    values, said = STRANGE[name]
    with pytest.warns(UnreliableSelectionWarning, match=r"Column 'b' of X .* look like") as found:
        look(values, kind)
    assert said in str(found[0].message)


@pytest.mark.parametrize("name", PLAIN)
def test_categories_are_left_in_peace(name: str) -> None:
    look(PLAIN[name], "pandas")


def test_a_column_that_is_declared_is_left_in_peace() -> None:
    look(STRANGE["days"][0], "pandas", categorical_features=["b"])
    look(pd.Categorical(STRANGE["days"][0]), "pandas")
