"""Names of columns and files cannot command a terminal: the command shows them as text."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from planted import planted
from processes import COMMAND
from variants import slow

from projse import Moments, ProjSe
from projse.cli.text import json_text, shown, shown_lines

ATTACKS = {
    "colour": "x\x1b[31mred",
    "title": "x\x1b]0;owned\x07",
    "C1": "x\x9b31m\x90q\x9c",
    "direction": "x\u202egnp.exe\u2066\u200f\u061c",
    "newline": "x\nprojse: error: all is well",
    "return": "x\rprojse: done",
    "separators": "x\u2028y\u2029z\x85\x0b\x0c",
    "delete": "x\x7f\x08\x08",
    "tags": "x\U000e0001\U000e0041",
    "markup": "[bold]x[/] :warning:",
}


ALL = len(ATTACKS)


def is_safe(text):
    return all(line.isprintable() for line in text.split("\n"))


@pytest.fixture
def rows(seed, tmp_path):
    """Write a file whose every column bears a hostile name."""
    X, Y = planted(seed, 240)
    others = np.random.default_rng(seed).normal(size=(len(ATTACKS) - X.shape[1], len(X)))
    columns = dict(zip(ATTACKS.values(), [*X.T, *others], strict=True))
    table = pa.table(columns | {f"y\x1b[{j}m": y for j, y in enumerate(Y.T)})
    pq.write_table(table, tmp_path / "a.parquet")
    return tmp_path / "a.parquet"


@pytest.mark.parametrize("attack", ATTACKS)
def test_text_is_shown_on_one_line_without_control_characters(attack):
    text = ATTACKS[attack]
    assert shown(text).isprintable()
    assert shown_lines(text).count("\n") == text.count("\n")
    assert is_safe(shown_lines(text))
    assert is_safe(json_text({text: [text]}))
    assert json.loads(json_text({text: [text]})) == {text: [text]}


def test_text_without_tricks_is_shown_as_it_is():
    for text in ("x_1", "Größe in m²", "温度", "גובה", "a b\\n", "🙂", ""):
        assert shown(text) == text
        assert json.dumps(text, ensure_ascii=False) in json_text([text])


def test_the_bytes_of_a_name_that_is_not_utf8_are_shown():
    name = os.fsdecode(b"na\xefve")
    assert shown(name) == "na\\udcefve"
    assert json.loads(json_text(name)) == name
    json_text(name).encode()


def test_tables_and_notes_show_names_as_text(command, rows):
    code, out, err = command("select", rows, "-t", "y*", "-k", str(ALL))
    assert code == 0, err
    assert is_safe(out)
    assert is_safe(err)
    for name in ATTACKS.values():
        assert shown(name) in out
    assert len(re.findall(r"^ *\d+ ", out, flags=re.MULTILINE)) == ALL


def test_warnings_are_notes_of_one_safe_line(command, rows, monkeypatch):
    fit_source = ProjSe.fit_source

    def warn(self, *args, **options):
        warnings.warn(ATTACKS["title"] + ATTACKS["newline"], UserWarning, stacklevel=2)
        return fit_source(self, *args, **options)

    monkeypatch.setattr(ProjSe, "fit_source", warn)
    code, _, err = command("select", rows, "-t", "y*", "-k", "2")
    assert code == 0
    assert err.count("\n") == 1
    assert is_safe(err)


def test_info_shows_names_as_text(command, rows, tmp_path):
    name = tmp_path / "a\x1b[5m\n.moments"
    code, out, err = command("moments", "build", rows, "-t", "y*", "-o", name)
    assert (code, err) == (0, "")
    assert is_safe(out)
    assert out.count("\n") == 1
    code, out, _ = command("moments", "info", name)
    assert code == 0
    assert is_safe(out)
    assert out.count("\n") == 8
    assert shown(ATTACKS["title"]) in out
    _, out, _ = command("moments", "info", name, "--json")
    assert is_safe(out)
    (found,) = json.loads(out)
    assert found["features"] == [*Moments.load(name).feature_names]
    assert found["file"] == str(name)


def test_results_for_programs_keep_the_names(command, rows, tmp_path):
    select = ("select", rows, "-t", "y*", "-k", str(ALL), "--quiet")
    files = ("--json", tmp_path / "a.json", "--csv", tmp_path / "a.csv")
    assert command(*select, *files)[0] == 0
    _, csv_out, _ = command(*select, "--csv", "-")
    _, json_out, _ = command(*select, "--json", "-")
    assert (tmp_path / "a.csv").read_bytes().decode() == csv_out
    lines = list(csv.DictReader(io.StringIO(csv_out, newline="")))
    assert {line["name"] for line in lines} == set(ATTACKS.values())
    assert [line["rank"] for line in lines] == [str(i + 1) for i in range(ALL)]
    for text in (json_out, (tmp_path / "a.json").read_text()):
        assert is_safe(text)
        assert {pick["name"] for pick in json.loads(text)["picks"]} == set(ATTACKS.values())


@pytest.mark.parametrize("place", ["missing", "damaged", "column", "not moments", "output"])
def test_errors_are_one_safe_line_whatever_a_file_is_called(
    command,
    rows,
    tmp_path,
    place,
):
    name = "".join(ATTACKS[attack] for attack in ATTACKS if attack != "markup")
    folder = tmp_path / f"{name[:20]}"
    folder.mkdir()
    path = folder / f"{name[:100]}.parquet"
    if place != "missing":
        path.write_bytes(rows.read_bytes() if place in ("column", "output") else b"PAR1")
    arguments = {
        "not moments": ("moments", "info", path),
        "column": ("select", path, "-t", "z\x1b[1m\n"),
        "output": ("select", path, "-t", "y*", "--json", path),
    }.get(place, ("select", path, "-t", "y*"))
    code, out, err = command(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith("projse: error: ")
    assert err.count("\n") == 1
    assert is_safe(err)
    assert shown(name[:20]) in err
    code, _, err = command("--debug", *arguments)
    assert code == 1
    assert "Traceback" in err
    assert is_safe(err)


@pytest.mark.parametrize(
    "arguments",
    [
        ["demo", "\x1b]0;owned\x07\x9b\u202e"],
        ["demo", "--\x1b[31m\u202e"],
        ["moments", "subtract", "a", "b", "-o", "c", "--\x1b[31m\u202e"],
    ],
)
def test_bad_usage_is_safe_to_show(command, arguments):
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert is_safe(err)


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are Unicode there")
def test_a_file_whose_name_is_not_utf8_can_be_used_and_named(command, rows, tmp_path):
    folder = tmp_path / os.fsdecode(b"t\xfcr")
    folder.mkdir()
    path = rows.rename(folder / os.fsdecode(b"na\xefve.parquet"))
    moments, result = folder / "a.moments", folder / "a.json"
    assert command("moments", "build", path, "-t", "y*", "-o", moments)[0] == 0
    assert command("select", path, "-t", "y*", "-k", "2", "--json", result)[0] == 0
    assert json.loads(result.read_text())["data"] == [str(path)]
    code, out, _ = command("moments", "info", moments)
    assert code == 0
    assert "t\\udcfcr" in out
    code, _, err = command("select", path, "-t", "z")
    assert code == 1
    assert "na\\udcefve.parquet has no column 'z'" in err


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="the system has no pseudo-terminals")
@pytest.mark.parametrize("option", [*slow("--csv"), "--json"])
@pytest.mark.parametrize("where", ["-", *slow("/dev/stdout")])
@pytest.mark.slow
def test_results_on_a_terminal_are_safe(rows, option, where):
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}
    arguments = ["select", str(rows), "-t", "y*", "-k", str(ALL), "--quiet", option, where]
    with subprocess.Popen(
        [COMMAND, *arguments],
        stdout=theirs,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=environment,
    ) as process:
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # the end of a pseudo-terminal
            while chunk := os.read(ours, 4096):
                seen += chunk
        assert process.wait(timeout=120) == 0, process.stderr.read()
    os.close(ours)
    text = seen.decode().replace("\r\n", "\n")
    assert is_safe(text)
    assert "31mred" in text
