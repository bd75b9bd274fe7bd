"""``projse select --fdr`` on real files, as a user runs it."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

from projse import KnockoffProjSe, ProjSe

N_REAL = 12


@pytest.fixture
def tables(tmp_path, seed):
    """Two files of a table of which the first twelve columns matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 24))
    Y = X[:, :N_REAL] @ rng.choice([-1.0, 1.0], size=(N_REAL, 3)) + rng.normal(size=(400, 3))
    names = [*(f"x_{j}" for j in range(24)), *(f"y_{k}" for k in range(3))]
    frame = pd.DataFrame(np.column_stack([X, Y]), columns=names)
    folder = tmp_path / "rows"
    folder.mkdir()
    frame[:150].to_parquet(folder / "a.parquet", index=False)
    frame[150:].to_parquet(folder / "b.parquet", index=False)
    return folder, X, Y


def expected(X, Y, **parameters):
    found = KnockoffProjSe(random_state=0, **parameters).fit(X, Y)
    return [f"x_{j}" for j in found.selected_]


def test_discoveries_are_those_of_the_estimator(command, tables):
    folder, X, Y = tables
    done = command("select", folder, "-t", "y_*", "--fdr", "0.2", "--draws", "5", "--json", "-")
    answer = json.loads(done.stdout)
    assert [d["name"] for d in answer["discoveries"]] == expected(X, Y, fdr=0.2, n_draws=5)
    assert len(answer["discoveries"]) >= N_REAL
    assert answer["fdr"] == 0.2
    assert answer["n_variables"] == 24
    assert answer["n_twins"] == 2
    assert 0 < answer["agreement"] <= 1
    assert "if errors are normal and rows independent" in answer["holds"]


@pytest.mark.slow
def test_the_table_says_what_holds_and_how_stable_it_is(command, tables):
    folder, X, Y = tables
    done = command("select", folder, "-t", "y_*", "--fdr", "0.2", COLUMNS="100")
    header, *lines = done.stdout.splitlines()
    assert header.split() == ["rank", "name", "e-value", "ahead", "of", "draws"]
    names = [
        line.split()[1] for line in lines[1:] if line.split()[:1] and line.split()[0].isdigit()
    ]
    assert names[: len(expected(X, Y, fdr=0.2))] == expected(X, Y, fdr=0.2)
    prose = " ".join(lines)
    assert "At most 20% of the discoveries are expected to be false" in prose
    assert "50 draws of 2 twins a variable; both halves of them agree" in prose
    assert "Read 400 rows from 2 files" in prose
    assert done.stderr == ""


def test_csv_holds_a_record_a_discovery(command, tables, tmp_path):
    folder, X, Y = tables
    command("select", folder, "-t", "y_*", "--fdr", "0.2", "--csv", tmp_path / "found.csv")
    records = list(csv.DictReader(io.StringIO((tmp_path / "found.csv").read_text())))
    assert [r["name"] for r in records] == expected(X, Y, fdr=0.2)
    assert set(records[0]) == {
        "rank",
        "name",
        "index",
        "group",
        "e_value",
        "statistic",
        "frequency",
    }


@pytest.mark.slow
def test_files_of_moments_and_what_is_left_out(command, tables, tmp_path):
    folder, X, Y = tables
    for part in "ab":
        command(
            *("moments", "build", folder / f"{part}.parquet", "-t", "y_*"),
            *("-o", tmp_path / f"{part}.moments", "-q"),
        )
    files = tmp_path / "a.moments", tmp_path / "b.moments"
    rest = ("--fdr", "0.2", "--include", "x_0", "-x", "x_23", "--json", "-")
    done = command("select", *files, *rest)
    found = json.loads(done.stdout)["discoveries"]
    assert [d["name"] for d in found] == expected(
        X, Y, selector=ProjSe(include=[0], exclude=[23]), fdr=0.2
    )


def test_nothing_found_is_a_note_and_no_table(command, tables):
    folder, *_ = tables
    done = command("select", folder, "-t", "y_*", "-f", "x_2?", "--fdr", "0.1")
    assert done.returncode == 0
    assert "projse: note: Nothing was found at fdr=0.1" in done.stderr
    assert "0 of 4 variables found" in done.stdout


def test_what_does_not_go_with_it_is_refused(command, tables):
    folder, *_ = tables
    for more, message in (
        (("-t", "y_*", "-k", "3"), "leave out -k"),
        (("--one-view",), "leave out --one-view"),
        (("-t", "y_*", "--kernel", "rbf"), "kernel='linear'"),
    ):
        done = command("select", folder, "--fdr", "0.1", *more)
        assert done.returncode != 0
        assert message in done.stderr.replace("\n", " ")
    done = command("select", folder, "-t", "y_*", "--fdr", "2")
    assert "fdr=2.0 must be" in done.stderr


def test_tables_of_strings_and_gaps(command, tmp_path, seed):
    """Strings are categories; gaps need a word, and the message says which."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, size=(400, 8))
    frame = pd.DataFrame(np.array(["red", "green", "blue"])[codes], columns=list("abcdefgh"))
    signal = np.zeros(400)
    for j in range(5):
        signal += np.array([-1.5, 0.0, 1.5])[codes[:, j]]
    frame["n"] = rng.normal(size=400)
    frame["y"] = signal + rng.normal(size=400)
    frame.to_csv(tmp_path / "colours.csv", index=False)
    rest = ("-t", "y", "--fdr", "0.4", "--draws", "4", "--json", "-")
    answer = json.loads(command("select", tmp_path / "colours.csv", *rest).stdout)
    assert {d["name"] for d in answer["discoveries"]} >= set("abcde")
    assert answer["n_candidates"] == answer["n_variables"] == 9
    frame.loc[::9, "n"] = np.nan
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    refused = command("select", tmp_path / "gaps.csv", *rest)
    assert refused.returncode == 1
    assert "--missing" in refused.stderr
    answer = json.loads(
        command("select", tmp_path / "gaps.csv", *rest, "--missing", "indicator").stdout
    )
    model = KnockoffProjSe(ProjSe(missing="indicator"), fdr=0.4, n_draws=4, random_state=0)
    here = model.fit(frame.drop(columns="y"), frame["y"])
    assert [d["name"] for d in answer["discoveries"]] == here.selected_names_.tolist()


def test_covariates_and_gaps_that_are_filled_are_no_references(command, tables, tmp_path):
    folder, _, _ = tables
    frame = pd.read_parquet(folder)
    frame["sex"] = np.where(np.arange(len(frame)) % 2, "f", "m")
    frame.loc[3, "y_1"] = np.nan
    frame.to_csv(tmp_path / "rows.csv", index=False)
    given = ("select", tmp_path / "rows.csv", "-t", "y_*", "--missing", "mean", "--json", "-")
    for how in (("--fdr", "0.2", "--draws", "1"), ("-k", "2")):
        done = command(*given, "--covariates", "sex", *how)
        found = json.loads(done.stdout)
        assert found["references"] == ["y_0", "y_1", "y_2"], done.stderr
        assert found["covariates"] == ["sex=f", "sex=m"]
