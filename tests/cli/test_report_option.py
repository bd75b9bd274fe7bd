"""``projse select --report``: the page says what the command found, and is written as safely."""

from __future__ import annotations

import json
import shlex
import sys

import pytest
from pages import gathered


@pytest.fixture
def select(command, folder):
    def run(*arguments):
        return command("select", folder, "-t", "y_*", "-k", "3", *arguments)

    return run


def test_the_page_holds_the_picks_that_the_command_shows(select, tmp_path):
    page, record = tmp_path / "out.html", tmp_path / "out.json"
    done = select("--report", page, "--json", record)
    assert done.returncode == 0, done.stderr
    assert "x_5" in done.stdout, "the table is shown as well"
    found, expected = gathered(page.read_text()), json.loads(record.read_text())
    for key in ("rank", "name", "index", "round"):
        assert [p[key] for p in found["picks"]] == [p[key] for p in expected["picks"]]
    scores = [p["score"] for p in expected["picks"]]
    assert [p["score"] for p in found["picks"]] == pytest.approx(scores, rel=1e-5)
    assert sorted(found["explained"]["outputs"]) == ["y_0", "y_1", "y_2"]
    assert found["has_stand_ins"]


def test_the_page_has_the_command_to_type_again(select, folder, tmp_path):
    page = tmp_path / "it's here.html"
    select("--report", page)
    words = shlex.split(gathered(page.read_text())["repeat"]["command"])
    again = ["projse", "select", str(folder), "-t", "y_*", "-k", "3", "--report", str(page)]
    assert words == again


def test_the_page_has_the_notes_of_the_fit(command, folder, tmp_path):
    page = tmp_path / "out.html"
    short = ("-k", "5", "--paper", "--exhausted", "stop")
    done = command("select", folder, "-t", "y_*", *short, "--report", page)
    (note,) = gathered(page.read_text())["notes"]
    assert note in done.stderr
    assert "3 of 5" in note


def test_the_page_goes_to_standard_output_alone(select):
    done = select("--report", "-")
    assert done.stdout.startswith("<!doctype html>")
    assert done.stdout.endswith("</html>\n")
    both = select("--report", "-", "--csv", "-")
    assert both.returncode == 2
    assert "--csv and --report cannot both go to standard output" in both.stderr.replace("\n", " ")


def test_the_page_needs_no_data_frames(select, tmp_path, monkeypatch):
    for name in ("pandas", "polars", "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None)
    page = tmp_path / "out.html"
    assert select("--report", page).returncode == 0
    assert page.exists()


def test_the_page_is_never_written_over_what_is_read_nor_among_it(failure, folder, tmp_path):
    data = folder / "day-00.parquet"
    before = data.read_bytes()
    base = ("select", folder, "-t", "y_*", "--report")
    assert "would overwrite" in failure(*base, data)
    assert "lie among the data" in failure(*base, folder / "new.parquet")
    assert "no folder" in failure(*base, tmp_path / "no" / "out.html")
    assert data.read_bytes() == before
    same = failure(*base, tmp_path / "out", "--json", tmp_path / "out")
    assert "--json and --report both go to" in same
    state = failure(*base, tmp_path / "s" / "out.html", "--state", tmp_path / "s")
    assert "lies in the state folder" in state


def test_a_failed_selection_leaves_the_page_of_before(failure, folder, tmp_path):
    page = tmp_path / "out.html"
    page.write_text("before")
    failure("select", folder, "-t", "y_*", "-k", "99", "--report", page)
    assert page.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["out.html"]


def test_moments_give_the_same_page_but_for_the_way(command, folder, tmp_path):
    sums, one, other = tmp_path / "sums.moments", tmp_path / "a.html", tmp_path / "b.html"
    command("moments", "build", folder, "-t", "y_*", "--with-xx", "-o", sums)
    command("select", folder, "-t", "y_*", "-k", "3", "--report", one)
    command("select", sums, "-k", "3", "--report", other)
    a, b = gathered(one.read_text()), gathered(other.read_text())
    for key in ("picks", "summary", "explained", "checks"):
        assert a[key] == b[key]
    assert a["repeat"]["data"] == b["repeat"]["data"]
