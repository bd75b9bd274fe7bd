"""Targets of text with another value in every row: said wherever the rows come from."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from projse import ProjSe, moments_from
from projse.exceptions import UnreliableSelectionWarning

OWN = "has a label of its own in each of 40 rows"


def people(seed: int, n_names: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(40, 4)), columns=["a", "b", "c", "z"])
    frame["who"] = [f"person {i % n_names}" for i in rng.permutation(40)]
    return frame


@contextmanager
def told_once(words: str) -> Iterator[None]:
    """Expect one such warning, beside others: with such targets, scores are tied as well."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    told = [w for w in caught if re.search(words, str(w.message))]
    assert [w.category for w in told] == [UnreliableSelectionWarning]


@pytest.mark.parametrize("targets", [["who"], ["who", "z"]])
def test_names_as_targets_are_told_in_memory(seed: int, targets: list[str]) -> None:
    frame = people(seed)
    y = frame["who"] if targets == ["who"] else frame[targets]
    with told_once(OWN):
        ProjSe(2).fit(frame[["a", "b", "c"]], y)


@pytest.mark.parametrize("kind", [pd.Series, pd.Categorical, "frame"])
def test_categoricals_are_told_too(seed: int, kind: Any) -> None:
    frame = people(seed).astype({"who": "category"})
    y = frame[["who"]] if kind == "frame" else kind(frame["who"])
    for X in (frame[["a", "b"]], frame[["a"]].assign(b=frame["b"] > 0)):
        with told_once(f"^y {OWN}"):
            ProjSe(1).fit(X, y)


@pytest.mark.parametrize("targets", ["who", ["who", "z"]])
@pytest.mark.parametrize("dtype", [object, "category"])
def test_the_second_batch_tells_it_and_no_other(seed: int, targets: Any, dtype: Any) -> None:
    frame = people(seed).astype({"who": dtype})
    more = frame.assign(who=frame["who"].astype(object) + " junior").astype({"who": dtype})
    selector = ProjSe(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        selector.partial_fit(frame[["a", "b"]][:25], frame[targets][:25])
    with told_once(OWN):
        selector.partial_fit(frame[["a", "b"]][25:], frame[targets][25:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        selector.partial_fit(more[["a", "b"]], more[targets])


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize(
    "asked",
    [{"targets": "who"}, {"targets": ["who", "z"]}, {"class_target": "who", "exclude": "z"}],
)
def test_names_as_targets_are_told_in_files(
    seed: int, tmp_path: Path, form: str, asked: dict[str, Any]
) -> None:
    getattr(people(seed)[:25], f"to_{form}")(tmp_path / f"1.{form}", index=False)
    getattr(people(seed)[25:], f"to_{form}")(tmp_path / f"2.{form}", index=False)
    for read in (ProjSe(2).fit_source, moments_from):
        with told_once(f"^Column 'who' of y {OWN}"):
            read(tmp_path, **asked)


def test_the_command_tells_it_too(seed: int, command: Any, tmp_path: Path) -> None:
    people(seed).to_csv(tmp_path / "t.csv", index=False)
    for option in ("-t", "--class"):
        done = command("select", tmp_path / "t.csv", option, "who", "-k", "2")
        assert done.returncode == 0
        assert f"'who' of y {OWN}" in " ".join(done.stderr.split())


def test_classes_of_two_rows_are_classes(seed: int, tmp_path: Path) -> None:
    frame = people(seed, n_names=20)
    frame.to_csv(tmp_path / "t.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ProjSe(2).fit(frame[["a", "b", "c"]], frame["who"])
        ProjSe(2).fit_source(tmp_path, targets="who", exclude="z")


def test_a_first_batch_of_all_classes_is_no_reason_to_tell(seed: int) -> None:
    frame = people(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ProjSe(2).partial_fit(frame[["a", "b", "c"]], frame["who"])
        ProjSe(2).partial_fit(frame[["a", "b", "c"]], frame[["who", "z"]])
