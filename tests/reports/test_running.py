"""Columns that number the rows are noted, wherever the rows come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from projse import ProjSe
from projse.reports.checks import checks


def rows(seed: int, n: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "y"])
    frame["id"] = np.arange(1001, 1001 + n)
    frame["shuffled"] = rng.permutation(n)
    frame["count"] = rng.integers(0, n, n)
    frame["half"] = frame["id"] / 2
    return frame


def running(selector: ProjSe) -> list[str]:
    names = [str(name) for name in selector.feature_names_in_]
    found = {check["title"]: check for check in checks(selector, names)}
    told = found.get("Running numbers")
    if told is None:
        return []
    assert told["status"] == "look"
    return list(told["names"])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numbers_of_rows_are_noted_in_any_order(seed: int, dtype: str) -> None:
    frame = rows(seed)
    X = frame.drop(columns="y").astype(dtype)
    assert running(ProjSe(2).fit(X, frame["y"])) == ["id", "shuffled"]
    assert running(ProjSe(2).fit(X[:79], frame["y"][:79])) in (["id"], ["id", "shuffled"])
    assert running(ProjSe(2).fit(X[["a", "b", "count", "half"]], frame["y"])) == []
    assert running(ProjSe(2).fit(X[:20], frame["y"][:20])) == []


@pytest.mark.parametrize("parameters", [{}, {"missing": "mean"}, {"missing": "indicator"}])
def test_numbers_of_rows_are_noted_in_tables_and_files(
    seed: int, tmp_path: Path, parameters: dict[str, Any]
) -> None:
    frame = rows(seed)
    frame.insert(0, "city", ["Oslo", "Rome"] * 40)
    assert running(ProjSe(2, **parameters).fit(frame.drop(columns="y"), frame["y"])) == [
        "id",
        "shuffled",
    ]
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert running(ProjSe(2, **parameters).fit_source(tmp_path, targets="y")) == ["id", "shuffled"]


def test_rows_that_count_differently_are_not_numbered(seed: int) -> None:
    frame = rows(seed)
    weight = np.linspace(0.5, 1.5, len(frame))
    selector = ProjSe(2).fit(frame[["a", "id"]], frame["y"], sample_weight=weight)
    assert running(selector) == []
