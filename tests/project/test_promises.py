"""The page of promises is made of the files, its gates measure what they say."""

from __future__ import annotations

import ast
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from threadpoolctl import threadpool_info

ROOT = Path(__file__).parents[2]
PROMISES = runpy.run_path(str(ROOT / "tools" / "promises.py"))
BRANCHES = runpy.run_path(str(ROOT / "tools" / "branches.py"))
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")


def test_the_page_is_made_of_the_files():
    assert PROMISES["page"](PAGE) == PAGE, "python tools/promises.py page"


def test_every_file_that_the_page_names_exists():
    named = re.findall(r"`((?:tests|tools|benchmarks)/[\w/]+(?:\.py)?)`", PAGE)
    named += [f"docs/{link}" for link in re.findall(r"\]\(([\w./-]+)[#)]", PAGE)]
    named += re.findall(r"`python ([\w/.]+)", PAGE)
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_rows_come_from_files_and_are_left_out_without(tmp_path):
    assert list(PROMISES["rows"](tmp_path)) == []
    results = tmp_path / "tools" / "fuzz" / "results"
    results.mkdir(parents=True)
    saved = {"what": "inputs of x", "count": 12345, "outcome": "fine", "command": "python x"}
    (results / "x.json").write_text(json.dumps({**saved, "seconds": 1}))
    (tmp_path / "tools" / "promises.json").write_text('{"all": 30, "fast": 20, "fault": 3}')
    text = PROMISES["table"](tmp_path)
    assert "| inputs of x | 12\u202f345 | fine | `python x` |" in text
    assert "20 in the plain run, 10 slow ones; 3 of all inject a fault" in text
    assert "50 digits" not in text
    counted = {"all": 30, "fast": 20, "fault": 3, "precise": 7, "matrix": 5}
    (tmp_path / "tools" / "promises.json").write_text(json.dumps(counted))
    text = PROMISES["table"](tmp_path)
    assert "| problems against an evaluation in 50 digits | 7 |" in text
    assert "| ways to give the same rows | 5 |" in text


def test_runs_are_told_by_their_saved_outcomes(tmp_path):
    ran = tmp_path / "tools" / "ran"
    ran.mkdir(parents=True)
    versions = dict.fromkeys(PROMISES["NAMED"], "2.10.0")
    for kind, python, outcomes in (
        ("fault", "3.11.7", {"passed": 8}),
        ("plain", "3.13.0", {"passed": 1200, "failed": 1}),
        ("plain", "3.9.0", {"passed": 5, "skipped": 2}),
    ):
        saved = {"kind": kind, "python": python, "versions": versions, "outcomes": outcomes}
        (ran / f"{kind}-{python}.json").write_text(json.dumps(saved))
    shown = [(row.number, row.outcome) for row in PROMISES["rows"](tmp_path)]
    assert shown == [
        ("7", "5 passed, 0 failed, 2 skipped"),
        ("1\u202f201", "1\u202f200 passed, 1 failed, 0 skipped"),
        ("8", "8 passed, 0 failed, 0 skipped"),
    ]


def _save(folder, name, **found):
    versions = dict.fromkeys(PROMISES["NAMED"][:4], "2.10.0")
    (folder / f"{name}.json").write_text(
        json.dumps({"python": "3.11.7", "versions": versions, "outcomes": {"passed": 5}, **found})
    )


def test_every_kind_of_run_has_a_row_of_its_own(tmp_path):
    ran = tmp_path / "tools" / "ran"
    ran.mkdir(parents=True)
    for kind in PROMISES["KINDS"]:
        _save(ran, kind, kind=kind)
    whats = [row.what for row in PROMISES["rows"](tmp_path)]
    assert len(set(whats)) == len(whats) == len(PROMISES["KINDS"])


def test_a_run_with_kernels_for_a_processor_names_them(tmp_path):
    ran = tmp_path / "tools" / "ran"
    ran.mkdir(parents=True)
    _save(ran, "a", kind="rooms")
    _save(ran, "b", kind="rooms", core="Haswell")
    without, row = PROMISES["rows"](tmp_path)
    assert row.what == f"{without.what}, OpenBLAS for Haswell"
    assert row.command == f"OPENBLAS_CORETYPE=Haswell {without.command}"


def _run(kind, root, monkeypatch, code=pytest.ExitCode.OK, **environment):
    """Run a kind below ``root``, where pytest does nothing; return what it saved."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(pytest, "main", lambda options, plugins: code)
    run = PROMISES["run"]
    monkeypatch.setitem(run.__globals__, "ROOT", root)
    monkeypatch.setitem(run.__globals__, "RAN", root / "ran")
    assert run(kind)
    (path,) = (root / "ran").glob("*.json")
    return path, json.loads(path.read_text())


@pytest.mark.parametrize("asked", ["Haswell", "Sandybridge"])
def test_the_processor_is_what_openblas_says_not_what_was_asked_for(tmp_path, monkeypatch, asked):
    # This process has loaded OpenBLAS: the variable comes too late to change anything.
    path, found = _run("rooms", tmp_path, monkeypatch, OPENBLAS_CORETYPE=asked)
    loaded = {info["architecture"] for info in threadpool_info() if "architecture" in info}
    assert set(found["core"].split("+")) == loaded
    assert path.stem.endswith(f"-{found['core']}")


def test_a_run_without_a_choice_of_processor_names_none(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    path, found = _run("plain", tmp_path, monkeypatch)
    assert "core" not in found
    assert path.stem.endswith(f"-numpy-{found['versions']['numpy']}")


def test_runs_of_a_source_archive_are_told_from_those_of_a_clone(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="archive"):
        _run("archive", tmp_path, monkeypatch)
    (tmp_path / "PKG-INFO").touch()
    with pytest.raises(SystemExit, match="archive"):
        _run("plain", tmp_path, monkeypatch)
    assert _run("archive", tmp_path, monkeypatch)[1]["kind"] == "archive"


def test_a_run_names_the_commit_that_it_tested(tmp_path, monkeypatch):
    (tmp_path / "bare").mkdir()
    assert _run("rooms", tmp_path / "bare", monkeypatch)[1]["commit"] is None
    root = tmp_path / "clone"
    (root / "src").mkdir(parents=True)
    (root / "src" / "code.py").write_text("x = 1\n")
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *arguments], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    tested = _run("rooms", root, monkeypatch)[1]["commit"]
    assert len(tested) >= 9
    assert head.stdout.startswith(tested)
    (root / "src" / "code.py").write_text("x = 2\n")
    assert _run("rooms", root, monkeypatch)[1]["commit"] == f"{tested} with changes"


@pytest.mark.parametrize("path", sorted((ROOT / "tools" / "ran").glob("*.json")), ids=str)
def test_saved_runs_have_no_failure(path):
    assert set(json.loads(path.read_text())["outcomes"]) <= {"passed", "skipped", "xfailed"}


def test_a_test_counts_once_by_its_worst_phase():
    outcomes = PROMISES["_Outcomes"]()
    phases = [("a", "passed"), ("a", "failed"), ("a", "passed"), ("b", "passed"), ("c", "skipped")]
    for nodeid, outcome in phases:
        outcomes.pytest_runtest_logreport(SimpleNamespace(nodeid=nodeid, outcome=outcome))
    # So pytest reports a failure that was expected.
    expected = SimpleNamespace(nodeid="d", outcome="skipped", wasxfail="why")
    outcomes.pytest_runtest_logreport(expected)
    assert outcomes.found == {"failed": 1, "passed": 1, "skipped": 1, "xfailed": 1}


def test_a_file_of_tests_that_cannot_be_read_is_a_failure():
    outcomes = PROMISES["_Outcomes"]()
    for name, failed in {"a.py": False, "b.py": True}.items():
        outcomes.pytest_collectreport(SimpleNamespace(nodeid=name, failed=failed))
    assert outcomes.found == {"failed": 1}


def test_the_matrix_is_looked_for_where_its_tests_are():
    mark = "mark." + "determinism"
    files = [path for path in (ROOT / "tests").rglob("*.py") if mark in path.read_text("utf-8")]
    places = [ROOT / "tests" / place for place in PROMISES["MARKED"]]
    assert len(files) > 5
    for path in files:
        assert any(path == place or place in path.parents for place in places), path


def test_failures_that_were_expected_are_told_apart_from_what_was_skipped(tmp_path):
    (tmp_path / "tools" / "ran").mkdir(parents=True)
    outcomes = {"passed": 5, "skipped": 2, "xfailed": 1}
    _save(tmp_path / "tools" / "ran", "a", kind="rooms", outcomes=outcomes)
    (row,) = PROMISES["rows"](tmp_path)
    assert row.number == "8"
    assert row.outcome == "5 passed, 0 failed, 2 skipped, 1 failed as expected"


@pytest.mark.parametrize("code", [pytest.ExitCode.INTERRUPTED, pytest.ExitCode.NO_TESTS_COLLECTED])
def test_a_run_that_pytest_could_not_make_saves_nothing(tmp_path, monkeypatch, code):
    with pytest.raises(SystemExit, match="nothing is saved"):
        _run("plain", tmp_path, monkeypatch, code)
    assert not (tmp_path / "ran").exists()


def test_shares_are_of_lines_and_branches_and_held_to_their_bounds():
    def file(lines, branches):
        return {
            "summary": {
                "covered_lines": lines,
                "num_statements": 100,
                "covered_branches": branches,
                "num_branches": 50,
            }
        }

    files = {"src/projse/search/a.py": file(99, 48), "src/projse/warn.py": file(90, 45)}
    found = BRANCHES["shares"]({"files": files})
    assert found == {"all": 94.0, "search": 98.0, "warn": 90.0}
    assert [said.split(":")[0] for said in BRANCHES["faults"](found)] == [
        "all",
        "moments",
        "kernels",
    ]
    assert BRANCHES["faults"]({"all": 95.0, "moments": 98, "kernels": 98, "search": 98}) == []


@pytest.fixture
def changes(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "mutants"))
    import changes

    yield changes.changes
    for name in ("changes", "asking"):
        sys.modules.pop(name, None)


def test_faults_are_one_small_change_each(changes):
    source = "def f(a, b: int = 1):\n    if a < b and not b:\n        return max(a + b, 2)\n"
    found = list(changes(source))
    plain = ast.unparse(ast.parse(source))
    assert all(change.text != plain for change in found)
    assert len({change.text for change in found}) == len(found)
    shown = {(change.before, change.after) for change in found}
    assert {("a < b", "a <= b"), ("a + b", "a - b"), ("max", "min"), ("2", "3")} <= shown
    assert ("not b", "b") in shown


def test_faults_leave_types_assertions_and_words_of_errors_alone(changes):
    source = "def f(a: 'int' = None) -> 'x':\n    assert a < 1\n    raise ValueError(1 + 1)\n"
    assert list(changes(source)) == []


def test_a_fault_is_put_into_functions_wherever_they_are_held(changes, tmp_path, monkeypatch):
    import asking

    source = """from functools import lru_cache

LIMIT = 1

class Sum:
    def of(self, a, b=2):
        return [x + b for x in [a]][0]

@lru_cache
def least(a, b):
    def inner(c):
        return min(a, c)
    return inner(b)
"""
    (tmp_path / "held_functions.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    from held_functions import Sum, least

    found = {(change.before, change.after): change for change in changes(source)}
    assert [pair for pair, change in found.items() if not change.in_a_body] == [
        ("1", "2"),
        ("2", "3"),
    ]
    of = Sum().of
    assert (of(5), least(1, 4)) == (7, 1)
    assert asking.put("held_functions.py", found["x + b", "x - b"])
    assert (of(5), least(1, 4)) == (3, 1)
    assert asking.put("held_functions.py", found["min", "max"])
    assert (of(5), least(1, 4)) == (7, 4)
    assert not asking.put("not_imported.py", found["min", "max"])


def test_a_run_of_tests_that_broke_is_no_fault_that_was_noticed(changes):
    import asking

    def ends(code):
        return code << 8

    assert asking.noticed(ends(asking.NOTICED))
    assert asking.noticed(24)  # by a signal: out of time
    assert not asking.noticed(ends(0))
    with pytest.raises(SystemExit, match="broke"):
        asking.noticed(ends(asking.BROKEN))
