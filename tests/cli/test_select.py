"""``projse select`` on real files, as a user runs it."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from day_files import NAMES, many_candidates, table
from planted import planted, planted_labels
from processes import COMMAND, picks, run
from scipy.stats import norm

from projse import PAPER, ProjSe

N_ROWS = 240


def expected(seed, n, **parameters):
    X, Y = planted(seed, N_ROWS)
    return [f"x_{j}" for j in ProjSe(n, **parameters).fit(X, Y).selected_]


def test_select_shows_a_table_and_a_line_of_what_was_read(command, seed, folder):
    done = command("select", str(folder), "--targets", "y_*", "-k", "5", COLUMNS="100")
    assert picks(done) == expected(seed, 5)
    header = done.stdout.splitlines()[0].split()
    assert header[:7] == ["rank", "name", "score", "correlation", "margin", "p-value", "0"]
    last = done.stdout.splitlines()[-1]
    for part in ("Read 240 rows from 4 files", "rows/s", "8 candidates", "3 references (rank 3)"):
        assert part in last
    assert done.stderr == ""
    assert "\x1b" not in done.stdout


def test_rounds_of_several_picks_are_shown(command, folder):
    done = command("select", str(folder), "-t", "y_*", "-k", "5", "--paper", COLUMNS="100")
    assert done.stdout.splitlines()[0].split()[6] == "round"
    assert "The reference space was used up: a new round starts at pick 4" in done.stdout


@pytest.mark.parametrize("columns", [30, 45, 60])
def test_select_fits_a_narrow_terminal(command, folder, columns):
    done = command("select", str(folder), "-t", "y_*", "-k", "4", COLUMNS=str(columns))
    assert len(picks(done)) == 4
    assert all(len(line) <= columns for line in done.stdout.splitlines()[:6])


@pytest.mark.parametrize("how", ["file", "glob", "several", "csv"])
def test_select_reads_files_globs_and_formats(command, seed, folder, how):
    data = {"glob": [f"{folder}/*.parquet"], "several": sorted(map(str, folder.iterdir()))}.get(how)
    if data is None:
        t = table(seed)
        pq.write_table(t, folder.parent / "all.parquet")
        pacsv.write_csv(t, folder.parent / "all.csv")
        data = [str(folder.parent / ("all.parquet" if how == "file" else "all.csv"))]
    done = command("select", *data, "--targets", "y_0,y_1", "--targets", "y_2", "-k", "3")
    assert picks(done) == expected(seed, 3)


def test_select_options_reach_the_selection(command, seed, folder):
    base = ("select", str(folder), "--targets", "y_*")
    done = command(*base, "-k", "3", "--kernel", "rbf", "--gamma", "0.7")
    assert picks(done) == expected(seed, 3, kernel="rbf", gamma=0.7)
    assert "p-value" not in done.stdout
    done = command(*base, "-k", "3", "--kernel", "poly", "--degree", "2", "--coef0", "1")
    assert picks(done) == expected(seed, 3, kernel="poly", degree=2, coef0=1.0)
    done = command(
        *base, "-k", "4", "--round-size", "1", "--include", "x_7", "--exclude", "x_0,x_1"
    )
    X, Y = planted(seed, N_ROWS)
    rest = [2, 3, 4, 5, 6, 7]
    want = ProjSe(4, round_size=1, include=[5]).fit(X[:, rest], Y).selected_
    assert picks(done) == [f"x_{rest[j]}" for j in want]
    assert picks(command(*base, "-k", "5", "--paper")) == expected(seed, 5, **PAPER)
    done = command(*base, "-k", "5", "--paper", "--alpha", "0.3", "--round-size", "2")
    assert picks(done) == expected(seed, 5, **{**PAPER, "alpha": 0.3, "round_size": 2})
    assert "Rounds of 2 picks: a new round starts at pick 3, 5" in done.stdout
    done = command(*base, "-k", "5", "--alpha", "auto", "--redundancy", "1", "--json", "-")
    found = json.loads(done.stdout)
    assert (found["redundancy"], found["round_size"]) == (1.0, 1)
    assert [p["name"] for p in found["picks"]] == expected(seed, 5, redundancy=1.0)
    done = command(*base, "--features", "x_[2-5]", "-k", "0.5", "--quiet", "--jobs", "1")
    assert len(picks(done)) == 2
    assert len(picks(command(*base, "-k", "auto"))) >= 3
    assert len(picks(command(*base))) == 3
    done = command(*base, "-k", "5", "--exhausted", "stop")
    assert len(picks(done)) == 3
    assert done.stderr.startswith("projse: note: Selected 3 of 5")


def test_select_says_where_tails_make_p_values_too_small(command, seed, tmp_path):
    rng = np.random.default_rng(seed)
    scores = norm.ppf((np.arange(100) + 0.5) / 100)
    frame = pd.DataFrame({name: rng.permutation(scores) for name in ("a", "b", "c", "y")})
    frame["y"] += frame["b"]
    path = tmp_path / "a.csv"
    frame.to_csv(path, index=False)
    plain = command("select", str(path), "--targets", "y", "-k", "2")
    assert "tails" not in plain.stdout
    frame.loc[3, "b"], frame.loc[4, "y"] = 7.0, 11.0
    frame.to_csv(path, index=False)
    told = " ".join(command("select", str(path), "--targets", "y", "-k", "2").stdout.split())
    assert "P-values take tails as normal, but output 'y' has a value" in told
    assert "deviations from its mean, and 'b' has a value" in told
    assert "--permutations" in told


def test_select_explains_classes_with_weights(command, seed, tmp_path, failure):
    X, codes = planted_labels(seed, N_ROWS)
    frame = table(seed).to_pandas()[NAMES]
    frame[NAMES] = X
    frame["label"] = [f"kind {c}" for c in codes]
    frame["w"] = np.arange(N_ROWS) % 3
    frame["note"] = "text"
    frame.to_parquet(tmp_path / "a.parquet")
    done = command(
        "select", str(tmp_path), "--class", "label", "--weight", "w", "--numeric-only",
        "-k", "2",
    )  # fmt: skip
    want = ProjSe(2).fit(X, codes, sample_weight=frame["w"]).selected_
    assert picks(done) == [f"x_{j}" for j in want]
    assert "3 classes" in done.stdout
    assert "P-values take the weights as counts" in " ".join(done.stdout.split())
    with_text = command("select", str(tmp_path), "--class", "label", "--weight", "w", "-k", "2")
    assert picks(with_text) == picks(done)
    by_target = command("select", str(tmp_path), "--targets", "label", "--weight", "w", "-k", "2")
    assert picks(by_target) == picks(done)


def test_select_drops_missing_rows_on_request(command, tmp_path, failure):
    frame = table(0).to_pandas()
    frame.loc[3, "x_1"] = None
    frame.to_parquet(tmp_path / "a.parquet")
    error = failure("select", tmp_path, "--targets", "y_*")
    assert "'x_1' (1)" in error
    assert "--missing drop" in error
    done = command("select", str(tmp_path), "-t", "y_*", "--drop-missing")
    assert "Read 239 rows" in done.stdout


def test_select_one_view(command, seed, folder):
    arguments = ("--one-view", "--features", "x_*", "-k", "4")
    done = command("select", str(folder), *arguments)
    X, _ = planted(seed, N_ROWS)
    assert picks(done) == [f"x_{j}" for j in ProjSe(4).fit(X).selected_]
    assert "one view" in done.stdout


def test_select_with_a_state_reads_only_what_is_new(command, seed, folder, tmp_path):
    select = ("select", f"{folder}/*", "-t", "y_*", "-k", "3", "--state")
    first = command(*select, str(tmp_path / "state"))
    assert "Read 240 rows from 4 files" in first.stdout
    again = command(*select, str(tmp_path / "state"))
    assert "Nothing new to read; 4 files kept from before, 240 rows in all" in again.stdout
    pq.write_table(table(seed).slice(0, 60), folder / "day-09.parquet")
    more = command(*select, str(tmp_path / "state"), "--state-by", "time")
    assert "Read 60 rows from 1 file " in more.stdout
    assert "4 files kept from before, 300 rows in all" in more.stdout
    assert picks(first) == picks(again) == expected(seed, 3)


def test_select_with_a_state_of_many_candidates_makes_all_picks(command, seed, tmp_path):
    folder = many_candidates(seed, tmp_path / "many")
    select = ("select", str(folder), "-t", "y_*", "--paper", "-k")
    want = picks(command(*select, "6"))
    state = ("--state", str(tmp_path / "state"))
    assert picks(command(*select, "2", *state, "--without-xx")) == want[:2]
    upgraded = command(*select, "6", *state)
    assert picks(upgraded) == want
    assert "Read 200 rows from 2 files" in upgraded.stdout
    for more in ((), ("--with-xx",)):
        again = command(*select, "6", *state, *more)
        assert picks(again) == want
        assert "Nothing new to read" in again.stdout


def test_picks_that_lack_the_products_are_a_failure_that_names_the_option(command, seed, tmp_path):
    folder = many_candidates(seed, tmp_path / "many")
    done = command("select", str(folder), "-t", "y_*", "-k", "6", "--paper", "--without-xx")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Selected 2 of 6 variables" in done.stderr
    assert "--with-xx" in done.stderr


INTERRUPTED = """
import os, signal, sys
import projse.moments.stream_run
from projse.cli import main

report = projse.moments.stream_run.Run._report

def after_two_files(run, part):
    report(run, part)
    if run.n_parts == 2:
        os.kill(os.getpid(), signal.SIGINT)

projse.moments.stream_run.Run._report = after_two_files
main()
"""


@pytest.mark.parametrize(
    "words",
    [
        ["select"],
        ["select", "--cv"],
        ["moments", "build", "-o", "a.moments"],
    ],
)
@pytest.mark.slow
def test_ctrl_c_says_what_is_kept_and_how_to_go_on(command, folder, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    arguments = (*words, "days", "-t", "y_*")
    interrupted = (sys.executable, "-c", INTERRUPTED, *arguments)
    done = run(*interrupted)
    assert done.returncode == 130
    assert done.stderr == (
        "projse: interrupted: nothing is kept; --state DIR keeps the sums of each file as it is "
        "done.\n"
    )
    done = run(*interrupted, "--state", "state")
    assert done.returncode == 130
    assert done.stdout == ""
    assert done.stderr == (
        "projse: interrupted: 2 of 4 files done, kept in state; run the same command again to go "
        "on.\n"
    )
    done = command(*arguments, "--state", "state")
    assert done.returncode == 0
    assert "Read 120 rows from 2 files" in done.stdout
    assert "2 files kept from before, 240 rows in all" in done.stdout


def test_json_and_csv_hold_the_selection_exactly(command, seed, folder, tmp_path):
    X, Y = planted(seed, N_ROWS)
    want = ProjSe(5).fit(X, Y)
    select = ("select", str(folder), "-t", "y_*", "-k", "5")
    done = command(*select, "--json", "-")
    assert done.returncode == 0
    assert re.fullmatch(r"projse: Read 240 rows from 4 files .*\n", done.stderr)
    found = json.loads(done.stdout)
    assert [pick["index"] for pick in found["picks"]] == want.selected_.tolist()
    assert [pick["name"] for pick in found["picks"]] == [f"x_{j}" for j in want.selected_]
    for key, values in {
        "score": want.scores_,
        "correlation": want.correlations_,
        "margin": want.margins_,
        "p_value": want.pvalues_,
        "round": want.rounds_,
    }.items():
        np.testing.assert_allclose([p[key] for p in found["picks"]], values, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose([p["score"] for p in found["picks"]], want.scores_, rtol=1e-10)
    assert found["n_rows"] == 240
    assert found["references"] == ["y_0", "y_1", "y_2"]
    done = command(*select, "--csv", "-", "--quiet")
    assert done.stderr == ""
    lines = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [line["name"] for line in lines] == [f"x_{j}" for j in want.selected_]
    assert [float(line["score"]) for line in lines] == [p["score"] for p in found["picks"]]
    both = ("--json", str(tmp_path / "a.json"), "--csv", str(tmp_path / "a.csv"))
    assert picks(command(*select, *both)) == [f"x_{j}" for j in want.selected_]
    assert json.loads((tmp_path / "a.json").read_text())["picks"] == found["picks"]
    assert (tmp_path / "a.csv").read_text() == done.stdout


def test_pvalues_that_are_not_there_are_null_in_json(command, folder):
    done = command("select", str(folder), "-t", "y_*", "-k", "2", "--kernel", "rbf", "--json", "-")
    assert [pick["p_value"] for pick in json.loads(done.stdout)["picks"]] == [None, None]


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="the system has no pseudo-terminals")
@pytest.mark.slow
def test_a_terminal_sees_a_progress_bar_with_rows_a_second(folder):
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    command = [COMMAND, "select", str(folder), "-t", "y_*", "-k", "2"]
    with subprocess.Popen(
        command, stderr=theirs, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment
    ) as process:
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # the end of a pseudo-terminal
            while chunk := os.read(ours, 4096):
                seen += chunk
        assert process.wait(timeout=120) == 0
    os.close(ours)
    assert re.search(rb"\d/4 files", seen)
    assert re.search(rb"rows, [\d,]+/s", seen)


# Failures


def test_failures_are_one_line_and_exit_with_1(command, seed, folder, tmp_path, failure):
    assert "nowhere" in failure("select", tmp_path / "nowhere", "-t", "y_*")
    assert "'y_9'" in failure("select", folder, "-t", "y_9")
    assert "n_features_to_select=99" in failure("select", folder, "-t", "y_*", "-k", "99")
    assert "day-00.parquet is not a moments" in failure(
        "moments", "info", folder / "day-00.parquet"
    )
    assert "no file" in failure("moments", "merge", tmp_path / "a", "-o", tmp_path / "b")
    (folder / "day-01.parquet").write_bytes(b"PAR1 and no more")
    error = failure("select", folder, "-t", "y_*", "--state", tmp_path / "state")
    assert "day-01.parquet" in error
    assert "restore it or remove it" in error
    (tmp_path / "file").touch()
    assert "is a file" in failure("select", folder, "-t", "y_*", "--state", tmp_path / "file")
    error = failure("select", folder / "day-00.parquet", "-t", "y_*", "--json", tmp_path / "no/a")
    assert "no/a" in error
    done = command("--debug", "select", str(tmp_path / "nowhere"), "-t", "y_*")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["select"],
        ["select", "{}"],
        ["select", "{}", "-t", "y_*", "-k", "none"],
        ["select", "{}", "-t", "y_*", "-k", "0"],
        ["select", "{}", "-t", "y_*", "-k", "1.5"],
        ["select", "{}", "-t", "y_*", "--class", "x_1"],
        ["select", "{}", "-t", "y_*", "--one-view"],
        ["select", "{}", "-t", "y_*", "--kernel", "nonsense"],
        ["select", "{}", "-t", "y_*", "--alpha", "much"],
        ["select", "{}", "-t", "y_*", "--redundancy", "none"],
        ["select", "{}", "-t", "y_*", "--round-size", "0"],
        ["select", "{}", "-t", "y_*", "--round-size", "1.5"],
        ["select", "{}", "-t", "y_*", "--json", "-", "--csv", "-"],
        ["moments", "nonsense"],
        ["moments", "build", "{}", "-o", "a"],
        ["moments", "build", "{}", "-t", "y_*"],
        ["moments", "merge", "a", "b"],
        ["moments", "subtract", "a", "-o", "b"],
    ],
)
def test_bad_usage_exits_with_2(command, folder, arguments):
    done = command(*(part.format(folder) for part in arguments))
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_help_is_there_for_every_command_and_names_the_others(command):
    done = command("--help")
    for word in ("select", "moments", "demo", "--install-completion", "projse select DATA"):
        assert word in done.stdout
    for words in (["select"], ["moments"], ["moments", "build"], ["moments", "merge"]):
        done = command(*words, "-h")
        assert done.returncode == 0
        assert "Usage: projse" in done.stdout
    done = command("select", "--help")
    for word in ("--targets", "--class", "--state", "--json", "--weight", "--exclude", "-k"):
        assert word in done.stdout


def test_shell_completion_completes(command):
    words = {"COMP_WORDS": "projse mom", "COMP_CWORD": "1"}
    done = command(_PROJSE_COMPLETE="complete_bash", **words)
    assert "moments" in done.stdout


STREAMS = Path(__file__).parents[2] / "docs" / "streams.md"


def without_times(text):
    """Leave out what no two runs share."""
    return re.sub(r"in [\d.]+ s \([\d,]+ rows/s\)", "in … s", text)


@pytest.mark.skipif(shutil.which("sh") is None, reason="the session is that of a Unix shell")
@pytest.mark.slow
def test_the_session_in_the_guide_is_real(tmp_path):
    text = STREAMS.read_text()
    (session,) = re.findall(r"```console\n(.*?)\n```", text, flags=re.DOTALL)
    python = next(b for b in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "days" in b)
    make_files = python.split("by_day =")[0]
    done = subprocess.run([sys.executable, "-c", make_files], cwd=tmp_path, check=False)
    assert done.returncode == 0
    path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    for part in session.split("$ ")[1:]:
        command, shown = part.split("\n", 1)
        done = run("sh", "-c", f"cd '{tmp_path}' && {command}", PATH=path, COLUMNS="92")
        assert done.returncode == 0, done.stderr
        lines = [line.rstrip() for line in without_times(done.stdout).splitlines()]
        assert lines == without_times(shown).rstrip().splitlines()


@pytest.mark.parametrize("data", ["{}", "{}/*", "{}/*.csv", "{}/../**/*.csv", "{}/../d*", "{}/.."])
def test_picks_are_not_written_among_the_data(seed, command, failure, tmp_path, data):
    folder = tmp_path / "days"
    folder.mkdir()
    pacsv.write_csv(table(seed), folder / "day.csv")
    data = data.format(folder)
    error = failure("select", data, "-t", "y_*", "--csv", folder / "picks.csv")
    assert "picks.csv would lie among the data" in error
    assert "another folder" in error
    assert not (folder / "picks.csv").exists()
    (folder / ".hidden").mkdir()
    beside = (folder / "picks.txt", folder / "_picks.csv", folder / ".hidden" / "picks.csv")
    elsewhere = tmp_path.parent / f"{tmp_path.name}-picks.csv"
    beside = [place for place in beside if not data.endswith(("*", "*.csv"))]
    for place in (*beside, elsewhere):
        assert command("select", data, "-t", "y_*", "--csv", place).returncode == 0
        assert command("select", data, "-t", "y_*").returncode == 0, "and it can be read again"


@pytest.mark.parametrize(
    "option",
    [
        ("--significance", "5"),
        ("--alpha", "-1"),
        ("--redundancy", "3"),
        ("--kernel", "rbf", "--gamma", "-1"),
        ("--jobs", "0"),
        ("--fdr", "2"),
        ("-k", "0"),
        ("--stability", "1"),
    ],
    ids=" ".join,
)
def test_values_that_never_make_sense_are_bad_usage(command, folder, option):
    done = command("select", folder, "-t", "y_*", *option)
    assert done.returncode == 2
    assert "Invalid value" in done.stderr
    assert option[-1].lstrip("-") in done.stderr or "greater than" in done.stderr


@pytest.mark.parametrize("group", ["A=x_0,x_1,x_2", "A=x_[0-2]"])
@pytest.mark.parametrize("left_out", ["x_1", "x_[1]"])
@pytest.mark.parametrize("data", ["files", "moments"])
def test_a_column_of_a_group_is_left_out_of_it(command, folder, tmp_path, data, group, left_out):
    asked = ("-k", "3", "--csv", "-", "-q")
    columns = ("-t", "y_*") if data == "files" else ()
    out = folder
    if data == "moments":
        out = tmp_path / "all.moments"
        assert command("moments", "build", folder, "-t", "y_*", "-o", out).returncode == 0
    want = command("select", out, *columns, *asked, "-x", "x_1", "-g", "A=x_0,x_2")
    done = command("select", out, *columns, *asked, "-x", left_out, "-g", group)
    assert done.returncode == want.returncode == 0
    assert done.stdout == want.stdout
    assert "x_1" not in done.stdout


@pytest.mark.parametrize("data", ["files", "moments"])
def test_a_group_of_which_all_columns_are_left_out_is_none(command, folder, tmp_path, data):
    asked = ("-k", "3", "--csv", "-", "-q")
    columns = ("-t", "y_*") if data == "files" else ()
    out = folder
    if data == "moments":
        out = tmp_path / "all.moments"
        assert command("moments", "build", folder, "-t", "y_*", "-o", out).returncode == 0
    groups = ("-g", "A=x_0,x_1", "-g", "B=x_2,x_3")
    want = command("select", out, *columns, *asked, "-x", "A", *groups)
    done = command("select", out, *columns, *asked, "-x", "x_0,x_1", *groups)
    assert done.returncode == 0
    assert done.stdout == want.stdout


def test_the_name_of_a_group_is_left_out_as_a_whole(command, failure, folder, tmp_path):
    asked = ("-t", "y_*", "-k", "4", "--csv", "-", "-q")
    want = command("select", folder, *asked, "-x", "x_0,x_1", "-g", "B=x_2,x_3").stdout
    groups = ("-g", "A=x_0,x_1", "-g", "B=x_[23]")
    assert command("select", folder, *asked, *groups, "-x", "A").stdout == want
    out = tmp_path / "all.moments"
    assert command("moments", "build", folder, "-t", "y_*", "-o", out).returncode == 0
    left = command("select", out, *asked[2:], *groups, "-x", "A").stdout
    assert [line.split(",")[1] for line in left.splitlines()] == [
        line.split(",")[1] for line in want.splitlines()
    ]
    alone = command("select", folder, *asked, "-g", "A=x_0,x_1", "-x", "A").stdout
    assert alone == command("select", folder, *asked, "-x", "x_0,x_1").stdout
    assert "'C' (exclude)" in failure("select", folder, *asked, *groups, "-x", "C")


def test_one_of_a_thing_is_not_called_several(command, folder):
    done = command("select", folder, "-t", "y_0", "-f", "x_0", "-k", "1")
    assert "1 candidate, 1 reference (rank 1)" in done.stdout
    assert "1 candidate in 1 variable," in command(
        "select", folder, "-t", "y_0", "-f", "x_0", "-k", "1", "-g", "A=x_0"
    ).stdout.replace("\n", " ")


def test_stability_of_all_variables_names_the_option(failure, folder):
    told = failure("select", folder, "-t", "y_*", "-k", "8", "--stability", "5")
    assert "select fewer" in told
    assert "-k on the command line" in told
