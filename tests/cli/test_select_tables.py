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


def test_moments_of_days_add_up_where_nothing_has_to_be_filled(seed, command, tmp_path):
    frame = patients(seed, gaps=False).drop(columns="day")  # its trend has an origin
    whole = tmp_path / "whole.csv"
    frame.to_csv(whole, index=False)
    days = []
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
        day, out = tmp_path / f"{i}.csv", tmp_path / f"{i}.moments"
        frame.iloc[rows].to_csv(day, index=False)
        done = command("moments", "build", day, "-t", "y_*", "-o", out)
        assert done.returncode == 0, done.stderr
        days.append(out)
    done = command("moments", "merge", *days, "-o", tmp_path / "month.moments")
    assert done.returncode == 0, done.stderr
    month = command("select", tmp_path / "month.moments", "-k", "3")
    assert picks(month) == picks(command("select", whole, "-t", "y_*", "-k", "3"))


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


def test_files_of_few_rows_with_other_columns_are_told_apart(failure, tmp_path):
    frame = patients(0, gaps=False)
    frame.iloc[:150].to_csv(tmp_path / "0.csv", index=False)
    lost = frame.columns[1]
    frame.iloc[150:].drop(columns=lost).to_csv(tmp_path / "1.csv", index=False)
    given = ["select", tmp_path / "0.csv", tmp_path / "1.csv", "-t", "y_*", "-k", "2"]
    for more in ([], ["--permutations", "9"]):
        assert f"1.csv lacks column {lost!r}" in failure(*given, *more)


def test_names_that_begin_with_a_blank_or_hold_a_comma_can_be_given(command, failure, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 4)), columns=["a", " b", "height, cm", " y"])
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    assert "Did you mean ' y'?" in failure("select", path, "-t", "y", "-k", "1")
    assert "double quotes" in failure("select", path, "-t", "height, cm", "-k", "1")
    assert "quotes" not in failure("select", path, "-t", " y", "-w", '"height, cm"', "-k", "1")
    for target in (" y", '" y"'):
        done = command("select", path, "-t", target, "-x", '" b","height, cm"', "-k", "1")
        assert picks(done) == ["a"], done.stderr
    done = command("select", path, "-t", " y", "-x", "a, height*", "-k", "1")
    assert picks(done) == ["b"], done.stderr


def test_text_that_is_not_utf8_is_named_with_its_remedy(command, failure, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "y"])
    frame["town"] = rng.choice(["Tromsø", "Røros"], 40)
    latin, wide = tmp_path / "latin.csv", tmp_path / "wide.csv"
    frame.to_csv(latin, index=False, encoding="latin-1")
    frame.to_csv(wide, index=False, encoding="utf-16")
    assert "'town' (strings that are not UTF-8: iconv" in failure("select", latin, "-t", "y")
    assert picks(command("select", latin, "-t", "y", "-x", "town", "-k", "1")) == ["a"]
    assert "is UTF-16" in failure("select", wide, "-t", "y")


def test_a_column_of_gaps_that_leaves_no_rows_is_told(failure, tmp_path):
    frame = pd.DataFrame({"a": range(10), "y": range(10), "empty": [None] * 10})
    frame.to_csv(tmp_path / "t.csv", index=False)
    said = failure("select", tmp_path / "t.csv", "-t", "y", "-k", "1", "--missing", "drop")
    assert "each has a gap" in said
    assert "--missing" in said


def test_notes_are_shown_where_the_command_fails_after_them(command, tmp_path):
    frame = pd.DataFrame({"a": [f"{i} kg" for i in range(100)], "y": np.arange(100.0) ** 2})
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = command("select", tmp_path / "t.csv", "-t", "y", "-k", "1")
    assert done.returncode == 1
    assert "identifier" in done.stderr
    assert "nothing to select from" in done.stderr


@pytest.mark.parametrize("named", ["batch", "b*"])
def test_codes_among_covariates_can_be_declared_categories(seed, command, tmp_path, named):
    rng = np.random.default_rng(seed)
    batch = rng.integers(4, size=300)
    frame = pd.DataFrame(rng.normal(size=(300, 5)), columns=list("acdef"))
    shift = np.array([0.0, 9.0, -9.0, 3.0])[batch]  # no straight line through the codes
    frame["a"] += shift
    frame["y"] = frame["c"] + shift + rng.normal(size=300)
    frame["batch"] = batch
    path = tmp_path / "batches.csv"
    frame.to_csv(path, index=False)
    asked = ("select", path, "-t", "y", "-k", "2", "--covariates", "batch")
    done = command(*asked, "--categorical", named)
    features = list("acdef")
    want = ProjSe(2).fit(
        frame[features], frame[["y"]], covariates=frame[["batch"]].astype("category")
    )
    assert picks(done) == [features[j] for j in want.selected_], done.stderr
    assert picks(done)[0] == "c"
    assert picks(command(*asked))[0] == "a"  # as numbers, they leave the shift
    assert command(*asked, "--categorical", "nothing").returncode != 0


def test_marks_of_gaps_are_named_by_an_option(seed, command, failure, tmp_path):
    frame = patients(seed, gaps=False)
    path, state = tmp_path / "patients.csv", tmp_path / "state"
    marked = frame.astype({"age": object})
    marked.loc[::9, "age"] = "?"
    marked.loc[1::9, "age"] = "n/d"
    marked.to_csv(path, index=False)
    features = list(frame.columns[:7])
    frame["age"] = frame["age"].mask(marked["age"].isin(["?", "n/d"]))
    want = ProjSe(4, missing="indicator").fit(frame[features], frame[TARGETS])
    select = ("select", path, "-t", "y_*", "-k", "4", "--missing", "indicator")
    marks = ("--na", "?,n/d")
    held = (*marks, "--permutations", "9")  # whose rows are in memory, and no longer in a file
    for options in ((*marks, "--state", state), ("--na", "?", "--na", "n/d"), held):
        done = command(*select, *options)
        assert picks(done) == [features[j] for j in want.selected_], done.stderr
    assert "na_values" in failure(*select, "--state", state)
    out = tmp_path / "all.moments"
    built = command(
        "moments", "build", *select[1:4], "--missing", "drop", "--na", "?,n/d", "-o", out
    )
    assert f"moments of {frame['age'].notna().sum()} rows" in built.stdout
    assert "settled" in failure("select", out, "-k", "4", "--na", "?")


def test_numbers_beside_a_mark_name_the_option(seed, command, tmp_path):
    frame = patients(seed, gaps=False).astype({"age": object})
    frame.loc[::9, "age"] = "?"
    frame.to_csv(tmp_path / "patients.csv", index=False)
    done = command("select", tmp_path / "patients.csv", "-t", "y_*", "-k", "4")
    assert "'age'" in done.stderr
    assert "beside '?', which marks no gap unless na_values (--na) says so" in " ".join(
        done.stderr.split()
    )


def test_a_gap_of_an_output_that_is_filled_is_no_output(command, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    X[7, 0] = 9.0
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame["y_0"], frame["y_1"] = X[:, 0] + rng.normal(size=60), X[:, 1] + rng.normal(size=60)
    frame.loc[3, "y_1"] = np.nan
    frame.to_csv(tmp_path / "rows.csv", index=False)
    given = ("select", tmp_path / "rows.csv", "-t", "y_*", "-k", "2")
    page = tmp_path / "page.html"
    done = command(*given, "--missing", "mean", "--report", page)
    assert "2 references (rank 2)" in done.stdout, done.stderr
    assert "(gap)" not in done.stdout + page.read_text(encoding="utf-8")
    assert "3 references (rank 3)" in command(*given, "--missing", "indicator").stdout
