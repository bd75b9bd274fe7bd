"""One number in two spellings among the levels of a category: said once, for all kinds of rows."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from projse import ProjSe, StabilityProjSe, TwoViewProjSe, moments_from
from projse.estimators import table_rows
from projse.exceptions import UnreliableSelectionWarning
from projse.sources.two_spellings import spelt_twice
from projse.sources.variables import Column, Variables

TOLD = r"^Column 'ward' of X has the levels '1' and '1\.0', and 2 more such pairs: .*Spell them"


def wards(seed: int, form: str) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "y"])
    frame["ward"] = [form.format(k % 3 + 1) for k in rng.permutation(60)]
    return frame


def spellings(run: Callable[[], Any], words: str = "spellings") -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    told = [w for w in caught if re.search(words, str(w.message))]
    assert all(w.category is UnreliableSelectionWarning for w in told)
    return [str(w.message) for w in told]


def once(run: Callable[[], Any], words: str = TOLD) -> None:
    (message,) = spellings(run)
    assert re.search(words, message)


@pytest.fixture
def both(seed: int) -> pd.DataFrame:
    return pd.concat([wards(seed, "{}"), wards(seed, "{}.0")], ignore_index=True)


@pytest.mark.parametrize("held", ["at once", "in slices"])
def test_frames_tell_it_once(
    both: pd.DataFrame, held: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if held == "in slices":
        monkeypatch.setattr(table_rows, "ENCODED_BYTES", 1)
    for estimator in (ProjSe(2), StabilityProjSe(ProjSe(1), n_resamples=5)):
        once(lambda e=estimator: e.fit(both[["a", "ward"]], both["y"]))


def test_references_and_covariates_tell_it(both: pd.DataFrame) -> None:
    y = both[["ward", "y"]]
    once(lambda: ProjSe(1).fit(both[["a"]], y), "^Column 'ward' of y ")
    covariates = both[["ward"]]
    for candidates in (both[["a"]], both[["a"]].assign(b=both["ward"] + "x")):
        once(
            lambda X=candidates: ProjSe(1).fit(X, both["y"], covariates=covariates),
            "^Column 'ward' of covariates ",
        )
    views = both[["a", "y"]].to_numpy(), both[["y", "a"]].to_numpy() ** 2
    table = covariates.assign(day=pd.date_range("2020-01-01", periods=len(both)))
    once(lambda: TwoViewProjSe(1).fit(*views, covariates=table), "^Column 'ward' of covariates ")


def test_files_that_disagree_tell_it_once(seed: int, tmp_path: Path) -> None:
    for name, form in (("1", "{}"), ("2", "{}.0")):
        wards(seed, form).to_csv(tmp_path / f"{name}.csv", index=False)
    declared: Any = {"categorical_features": ["ward"]}
    once(lambda: ProjSe(2, **declared).fit_source(tmp_path, targets="y"))
    once(lambda: moments_from(tmp_path, targets="y", **declared))


def test_a_state_tells_it_with_the_file_that_disagrees(seed: int, tmp_path: Path) -> None:
    rows, state = tmp_path / "rows", tmp_path / "state"
    rows.mkdir()

    def run() -> None:
        options: Any = {"targets": "y", "state": state, "categorical_features": ["ward"]}
        moments_from(rows, **options)

    wards(seed, "{}").to_csv(rows / "1.csv", index=False)
    assert not spellings(run)
    wards(seed, "{}.0").to_csv(rows / "2.csv", index=False)
    once(run)


def test_partial_fit_tells_it_with_the_batch_that_disagrees(seed: int) -> None:
    selector = ProjSe(2)

    def run(form: str) -> Callable[[], Any]:
        frame = wards(seed, form)
        return lambda: selector.partial_fit(frame[["a", "ward"]], frame["y"])

    assert not spellings(run("{}"))
    once(run("{}.0"))
    assert not spellings(run("{}.0"))


def test_partitions_that_disagree_tell_it_once(both: pd.DataFrame) -> None:
    import dask.dataframe as dd

    parts = dd.from_pandas(both, npartitions=2, sort=False)
    for method in ("fit", "partial_fit"):
        once(lambda m=method: getattr(ProjSe(2), m)(parts[["a", "ward"]], parts["y"]))


def test_whole_numbers_next_to_gaps_are_one_level(seed: int) -> None:
    frame = wards(seed, "{}")
    frame["ward"] = frame["ward"].astype(float).where(frame.index > 4)
    options: Any = {"categorical_features": ["ward"], "missing": "indicator"}
    assert not spellings(lambda: ProjSe(2, **options).fit(frame[["a", "ward"]], frame["y"]))


@pytest.mark.parametrize(
    "keys",
    [("1", "2.0"), ("1", "01"), ("1", "1.5"), ("1", "1,000"), ("a", "a.0"), ("1", "+1.0")],
    ids=str,
)
def test_other_levels_are_two(keys: tuple[str, str]) -> None:
    columns = [Column(0, "level", key) for key in keys]
    assert not spelt_twice(Variables(("a", "b"), tuple(columns)))
    elsewhere = [Column(0, "level", "1"), Column(1, "level", "1.0"), Column(0, "value", "1.0")]
    assert not spelt_twice(Variables(("a", "b"), tuple(elsewhere)))


@pytest.mark.parametrize("second", ["1.0", "1.00", "1,0", "1,00"])
def test_spellings_of_files(second: str) -> None:
    columns = (Column(0, "level", second), Column(0, "level", "1"))
    assert spelt_twice(Variables(("a",), columns)) == {"a": [("1", second)]}
