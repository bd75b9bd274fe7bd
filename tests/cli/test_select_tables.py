"""The command on tables of strings, booleans, dates and gaps."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from patients import TARGETS, patients
from processes import picks

from projse import ProjSe


def test_a_table_of_any_columns_runs_on_the_first_try(seed, command, tmp_path):
    frame = patients(seed, gaps=False)
    frame.insert(0, "patient", [f"p{i}" for i in range(len(frame))])
    frame.to_csv(tmp_path / "patients.csv")  # with an index that has no name
    done = command("select", tmp_path / "patients.csv", "-t", "y_*", "-k", "4")
    assert done.returncode == 0, done.stderr
    features = list(frame.columns[1:8])
    want = ProjSe(4).fit(frame[features], frame[TARGETS])
    assert picks(done) == [features[j] for j in want.selected_]
    assert "8 candidates" in done.stdout
    assert "no name" in done.stderr
    assert "'patient'" in done.stderr


def test_gaps_are_one_message_away_from_a_result(seed, command, failure, tmp_path):
    frame = patients(seed)
    frame.to_csv(tmp_path / "patients.csv", index=False)
    path = tmp_path / "patients.csv"
    assert "--missing" in failure("select", path, "-t", "y_*", "-k", "4")
    features = list(frame.columns[:7])
    for options, parameters in (
        (("--missing", "mean"), {"missing": "mean"}),
        (
            ("--missing", "indicator", "--basis", "spline"),
            {"missing": "indicator", "basis": "spline"},
        ),
        (("--missing", "drop", "--min-frequency", "40"), {"missing": "drop", "min_frequency": 40}),
        (("--drop-missing", "--categorical", "c*"), {"missing": "drop"}),
    ):
        done = command("select", path, "-t", "y_*", "-k", "4", *options)
        want = ProjSe(4, **parameters).fit(frame[features], frame[TARGETS])
        assert picks(done) == [features[j] for j in want.selected_], done.stderr
    refused = command("select", path, "-t", "y_*", "--drop-missing", "--missing", "mean")
    assert refused.returncode == 2
    assert "--drop-missing" in refused.stderr


def test_moments_of_tables_are_built_merged_and_selected_from(seed, command, tmp_path):
    frame = patients(seed, gaps=False)
    state = tmp_path / "state"
    days = tmp_path / "days"
    days.mkdir()
    totals = []
    for i, rows in enumerate(np.split(np.arange(len(frame)), [150])):
        frame.iloc[rows].to_csv(days / f"{i}.csv", index=False)
        out = tmp_path / f"{i}.moments"
        done = command("moments", "build", days, "-t", "y_*", "-o", out, "--state", state)
        assert done.returncode == 0, done.stderr
        totals.append(out)
    rest = tmp_path / "rest.moments"
    assert command("moments", "subtract", totals[1], totals[0], "-o", rest).returncode == 0
    both = command("select", totals[0], rest, "-k", "3")
    whole = command("select", totals[1], "-k", "3")
    assert picks(both) == picks(whole)
    shown = command("moments", "info", totals[1]).stdout
    assert "7: age, city" in shown
    assert "columns once encoded" in shown


def test_a_name_with_a_comma_stands_in_double_quotes(command: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 4)), columns=["a", "b", "height, cm", "y"])
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    code, out, err = command("select", path, "-t", '"height, cm", y', "-k", "2", "--csv", "-", "-q")
    assert code == 0, err
    assert {line.split(",")[1] for line in out.splitlines()[1:]} == {"a", "b"}
    code, _, err = command("select", path, "-t", '"height, cm', "-k", "2")
    assert code == 2
    assert "double quotes" in " ".join(err.split())


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["select", "--json", "-"], ["select"], ["--help"]])
def test_a_reader_that_has_gone_ends_the_command_as_it_ends_others(
    tmp_path: Path, arguments: list[str]
) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 4)), columns=list("abcy"))
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    if "select" in arguments:
        arguments = [*arguments, str(path), "-t", "y", "-k", "2", "-q"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "projse", *arguments],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")
