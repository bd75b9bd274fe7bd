"""The command never writes over what it reads, and rows that are given twice do not count twice."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from day_files import table
from processes import COMMAND, Done, run
from variants import slow

from projse import Moments, moments_from


@pytest.fixture
def data(seed, tmp_path):
    """Two files of rows, one of them compressed text."""
    folder = tmp_path / "data"
    folder.mkdir()
    pq.write_table(table(seed), folder / "in.parquet")
    pacsv.write_csv(table(seed), folder / "in.csv")
    return folder


def everything(folder):
    """Read all files below a folder."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def check_refused(done, *words):
    code, out, err = done
    assert code == 1
    assert out == ""
    assert err.count("\n") == 1
    assert all(word in err for word in words), err


SPELLINGS = ["same", "dots", "link", "link to a link", "hard link", "folder behind a link"]


def spelled(path, how, elsewhere):
    """Name a file in another way."""
    elsewhere.mkdir(exist_ok=True)
    if how == "dots":
        return path.parent / ".." / path.parent.name / "." / path.name
    if how == "hard link":
        os.link(path, elsewhere / "hard.moments")
        return elsewhere / "hard.moments"
    if how == "folder behind a link":
        (elsewhere / "folder").symlink_to(path.parent)
        return elsewhere / "folder" / path.name
    if how.startswith("link"):
        (elsewhere / "a.json").symlink_to(path)
        (elsewhere / "b.json").symlink_to("a.json")
        return elsewhere / ("a.json" if how == "link" else "b.json")
    return path


@pytest.mark.parametrize("how", SPELLINGS)
@pytest.mark.parametrize("source", ["in.csv", "*.parquet", *slow("in.parquet", ".", "**/*.csv")])
def test_rows_are_not_overwritten_by_any_name_of_their_file(
    monkeypatch, command, data, tmp_path, how, source
):
    monkeypatch.chdir(data)
    name = "in.csv" if source.endswith("csv") else "in.parquet"
    output = spelled(data / name, how, tmp_path / "elsewhere")
    before = everything(tmp_path)
    for arguments in (
        ["moments", "build", source, "-t", "y_*", "-o", output],
        ["select", source, "-t", "y_*", "--json", output],
        ["select", source, "-t", "y_*", "--csv", output],
        ["select", source, "-t", "y_*", "--json", "-", "--csv", output],
    ):
        check_refused(command(*arguments), "overwrite", name, "Name another file")
    assert everything(tmp_path) == before


@pytest.mark.parametrize("how", SPELLINGS)
def test_moments_are_not_overwritten_by_any_name_of_their_file(command, data, tmp_path, how):
    rows = table(0)
    names = [tmp_path / f"{i}.moments" for i in range(3)]
    moments_from(rows, targets="y_*").save(names[0])
    moments_from(rows.slice(0, 100), targets="y_*").save(names[1])
    moments_from(rows.slice(100), targets="y_*").save(names[2])
    output = spelled(names[1], how, tmp_path / "elsewhere")
    before = everything(tmp_path)
    for arguments in (
        ["moments", "merge", names[1], names[2], "-o", output],
        ["moments", "merge", names[2], names[1], "-o", output],
        ["moments", "subtract", names[0], names[1], "-o", output],
        ["moments", "subtract", names[1], names[2], "-o", output],
        ["select", names[1], "-k", "2", "--json", output],
        ["select", names[2], names[1], "-k", "2", "--csv", output],
    ):
        check_refused(command(*arguments), "overwrite", "1.moments")
    assert everything(tmp_path) == before


def test_nothing_is_read_before_an_output_is_refused(command, data):
    (data / "in.parquet").write_bytes(b"no rows at all")
    path = data / "in.parquet"
    check_refused(command("moments", "build", path, "-t", "y_*", "-o", path), "overwrite")


@pytest.mark.parametrize("place", ["state/out.moments", "state/files/a.moments", "via/a", "state"])
def test_the_state_folder_is_no_place_for_results(command, data, tmp_path, place):
    state = tmp_path / "state"
    rows = data / "in.parquet"
    first = ["moments", "build", rows, "-t", "y_*", "-o", tmp_path / "a.moments", "--state", state]
    if place != "state":  # before there is a folder of that name, it could be a file
        assert command(*first)[0] == 0
        (tmp_path / "via").symlink_to(state / "files")
    before = everything(tmp_path)
    output = tmp_path / place
    check_refused(
        command("moments", "build", rows, "-t", "y_*", "-o", output, "--state", state), "state"
    )
    for option in ("--json", "--csv"):
        arguments = ("select", rows, "-t", "y_*", option, output, "--state", state)
        check_refused(command(*arguments), "state")
    assert everything(tmp_path) == before


def test_two_outputs_do_not_go_to_one_file(command, data, tmp_path):
    (tmp_path / "link").symlink_to("a")
    outputs = ("--json", tmp_path / "a", "--csv", tmp_path / "link")
    done = command("select", data / "in.parquet", "-t", "y_*", *outputs)
    check_refused(done, "--json and --csv", "Name two files")


def test_results_go_where_a_link_leads(command, data, tmp_path):
    (tmp_path / "real").mkdir()
    rows = data / "in.parquet"
    for name, arguments in {
        "a.moments": ("moments", "build", rows, "-t", "y_*", "-o"),
        "a.json": ("select", rows, "-t", "y_*", "--json"),
        "a.csv": ("select", rows, "-t", "y_*", "--csv"),
    }.items():
        (tmp_path / "real" / name).write_text("old")
        (tmp_path / name).symlink_to(tmp_path / "real" / name)
        assert command(*arguments, tmp_path / name)[0] == 0
        assert (tmp_path / name).is_symlink()
        assert not (tmp_path / "real" / name).read_bytes().startswith(b"old")
    assert sorted(path.name for path in (tmp_path / "real").iterdir()) == [
        "a.csv",
        "a.json",
        "a.moments",
    ]
    assert Moments.load(tmp_path / "real" / "a.moments").n_samples == 240


def test_a_result_that_cannot_be_written_leaves_the_old_one(command, data, tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_text("old")

    def no_space(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    code, _, err = command("select", data / "in.parquet", "-t", "y_*", "--json", path)
    assert code == 1
    assert "No space left" in err
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["a.json"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_devices_and_pipes_are_written_to_and_not_replaced(command, data, tmp_path):
    rows, pipe = data / "in.parquet", tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert command("select", rows, "-t", "y_*", "-k", "2", "--json", pipe)[0] == 0
    assert len(json.loads(os.read(reader, 1 << 16))["picks"]) == 2
    os.close(reader)
    check_refused(command("moments", "build", rows, "-t", "y_*", "-o", pipe), "pipe")
    assert pipe.is_fifo()


@pytest.mark.parametrize("how", ["same", "dots", "link", "hard link", "copy"])
def test_moments_given_twice_are_refused_by_name(command, tmp_path, how):
    one, other = tmp_path / "one.moments", tmp_path / "other.moments"
    moments_from(table(0), targets="y_*").save(one)
    moments_from(table(1), targets="y_*").save(other)
    if how == "copy":
        again = shutil.copy(one, tmp_path / "copy.moments")
    else:
        again = spelled(one, how, tmp_path / "elsewhere")
    output = tmp_path / "out.moments"
    for arguments in (
        ["moments", "merge", one, other, again, "-o", output],
        ["moments", "merge", again, one, "-o", output],
        ["moments", "subtract", other, one, again, "-o", output],
        ["select", one, again, "-k", "2"],
    ):
        what = "hold the same moments" if how == "copy" else "are the same file"
        check_refused(command(*arguments), str(one), str(again), what, "Leave one out")
    assert not output.exists()
    assert command("moments", "merge", one, other, "-o", output)[0] == 0
    assert Moments.load(output).n_samples == 480


@pytest.fixture
def unicode_table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("数,😀,y\n1,2,3\n2,1,5\n3,5,2\n4,4,4\n", encoding="utf-8")
    return path


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}


def test_results_are_not_lost_in_a_locale_without_their_names(unicode_table):
    select = (COMMAND, "select", unicode_table, "-t", "y", "-k", "2", "-q")
    shown = run(*select, **ASCII)
    assert shown.returncode == 0
    assert r"\u6570" in shown.stdout
    assert r"\U0001f600" in shown.stdout
    for option in ("--json", "--csv"):
        done = run(*select, option, "-", **ASCII)
        assert done.returncode == 0
        assert "数" in done.stdout
        assert "😀" in done.stdout


def in_shell(line: str, *words: str | Path) -> Done:
    return run("sh", "-c", line, "sh", *words)


@pytest.mark.fault
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", ["--help", "--version", "select --help", "demo"])
def test_a_full_output_is_one_line(arguments):
    done = in_shell(f'"$1" {arguments} > /dev/full', COMMAND)
    assert done.returncode == 1
    assert done.stderr.startswith("projse: error: Output cannot be written: No space left")
    assert done.stderr.count("\n") == 1


@pytest.mark.fault
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_file_that_finds_no_room_is_named(command, unicode_table):
    done = command("select", unicode_table, "-t", "y", "--report", "/dev/full")
    assert done.returncode == 1
    assert "/dev/full cannot be written: No space left" in done.stderr
    assert "Free some space" in done.stderr


@pytest.mark.fault
def test_a_closed_output_is_no_error_but_where_it_is_asked_for(unicode_table, tmp_path):
    line = '"$1" select "$2" -t y -k 1 --json "$3" >&-'
    assert in_shell(line, COMMAND, unicode_table, tmp_path / "o.json") == (0, "", "")
    assert json.loads((tmp_path / "o.json").read_text())["picks"]
    done = in_shell(line, COMMAND, unicode_table, "-")
    assert done.returncode == 1
    assert "Standard output is closed; name a file to write." in done.stderr


@pytest.mark.fault
def test_a_working_directory_that_is_gone_is_told(unicode_table, tmp_path):
    line = 'mkdir "$2/gone"; cd "$2/gone"; rmdir "$2/gone"; "$1" select "$3" -t y -k 1'
    done = in_shell(line, COMMAND, tmp_path, "../t.csv")
    assert done.returncode == 1
    assert "The working directory is gone; change to another" in done.stderr
    assert in_shell(line, COMMAND, tmp_path, unicode_table).returncode == 0
