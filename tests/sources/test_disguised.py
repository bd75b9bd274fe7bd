"""Strings that look like numbers or dates are warned about, and others are not."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from projse import ProjSe
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
    "months by name": (list(DAYS.strftime("%d %b %Y")), "dates ('"),
    "months first": (list(DAYS.strftime("%B %d, %Y")), "dates ('"),
    "some days": (["-", *DAYS.strftime("%d-%b-%y")][:N], "beside '-'"),
}
PLAIN = {
    "codes": [f"{k:05}" for k in range(N)],
    "names": [f"person {k}" for k in range(N)],
    "three letters": [f"row {k}" for k in range(N)],
    "few": [("1,5", "2,5")[k % 2] for k in range(N)],
    "streets": [f"{k} March Street {k}" for k in range(N)],
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


IN_TEXT = "beside '-', which marks no gap unless na_values (--na) says so"
IN_FRAMES = "beside '-', which is no gap: put None in its place"


@pytest.mark.parametrize("form", ["frame", "batch", "parquet", "csv"])
@pytest.mark.parametrize("of", ["X", "y"])
def test_what_to_do_about_gaps_fits_where_the_rows_come_from(
    form: str, of: str, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"a": np.arange(N) % 7.0, "b": STRANGE["dashes"][0], "c": np.arange(N)})
    target = "b" if of == "y" else "c"
    selector = ProjSe(1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if form in ("frame", "batch"):
            fit = selector.fit if form == "frame" else selector.partial_fit
            fit(frame.drop(columns=target), frame[target])
        else:
            getattr(frame, f"to_{form}")(tmp_path / f"rows.{form}", index=False)
            selector.fit_source(tmp_path / f"rows.{form}", targets=target)
    (told,) = [str(w.message) for w in caught if "beside" in str(w.message)]
    assert (IN_TEXT if form == "csv" else IN_FRAMES) in told


@pytest.mark.parametrize("name", PLAIN)
def test_categories_are_left_in_peace(name: str) -> None:
    look(PLAIN[name], "pandas")


def test_a_column_that_is_declared_is_left_in_peace() -> None:
    look(STRANGE["days"][0], "pandas", categorical_features=["b"])
    look(pd.Categorical(STRANGE["days"][0]), "pandas")


def labels(values: list[str], how: str, tmp_path: Path, **options: Any) -> None:
    X = np.random.default_rng(0).normal(size=(N, 3))
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=values)
    selector = ProjSe(1, **options)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All first scores are equal")
        warnings.filterwarnings("ignore", ".*has a label of its own")
        if how == "files":
            frame.to_parquet(tmp_path / "rows.parquet")
            selector.fit_source(tmp_path / "rows.parquet", targets="y")
        elif how == "batches":
            selector.partial_fit(X, frame["y"])
        else:
            selector.fit(X, frame["y"] if how == "series" else frame["y"].to_numpy(dtype=object))


@pytest.mark.parametrize("how", ["series", "array", "batches", "files"])
def test_one_column_of_labels_that_look_like_numbers_is_named(how: str, tmp_path: Path) -> None:
    for name in ("thousands", "days"):
        with pytest.warns(UnreliableSelectionWarning, match="taken for a class") as found:
            labels(STRANGE[name][0], how, tmp_path)
        messages = [str(w.message) for w in found if "taken for a class" in str(w.message)]
        assert len(messages) == 1
        assert STRANGE[name][1] in messages[0]


@pytest.mark.parametrize("how", ["series", "batches", "files"])
def test_labels_that_are_labels_are_left_in_peace(how: str, tmp_path: Path) -> None:
    labels(PLAIN["codes"], how, tmp_path)
    labels(PLAIN["few"], how, tmp_path)
    labels(STRANGE["thousands"][0], how, tmp_path, target_type="class")
