"""A short run of each fuzz target: no input ends in an error that is not ours; runs add up."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from projse import ProjSe
from projse.exceptions import SourceError

ROOT = Path(__file__).resolve().parents[2]
FUZZ = ROOT / "tools" / "fuzz"
SECONDS = os.environ.get("PROJSE_FUZZ_SECONDS", "60")
"""Of the processor, for each target."""

TARGETS = sorted(path.stem.removeprefix("target_") for path in FUZZ.glob("target_*.py"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="timers of POSIX end what hangs")
@pytest.mark.parametrize("target", TARGETS)
def test_no_input_ends_in_an_error_that_is_not_ours(target, tmp_path):
    options = ["--only", target, "--seconds", SECONDS, "--output", str(tmp_path / "results")]
    done = subprocess.run(
        [sys.executable, str(FUZZ), "run", *options, "--work", str(tmp_path / "work")],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    log = (tmp_path / "work" / target / "log").read_text(errors="replace")[-2000:]
    result = json.loads((tmp_path / "results" / f"{target}.json").read_text())
    crashes = [path.read_text() for path in (tmp_path / "work").rglob("crashes/*.txt")]
    assert result["defects"] == [], (crashes, log)
    assert done.returncode == 0, done.stderr
    assert result["count"] > 10, log


@pytest.mark.parametrize("path", sorted((FUZZ / "results").glob("*.json")), ids=lambda p: p.stem)
def test_saved_results_are_of_these_targets_and_without_defects(path):
    result = json.loads(path.read_text())
    assert path.stem in TARGETS
    assert result.keys() >= {"what", "count", "seconds", "outcome", "command"}
    assert result["count"] > 0
    assert result["defects"] == []


@pytest.fixture
def part(monkeypatch):
    """Import a module of the fuzzer."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    yield lambda name: importlib.import_module(f"fuzz.{name}")
    for name in [name for name in sys.modules if name.split(".")[0] == "fuzz"]:
        del sys.modules[name]


def raised(call):
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


class Passing:
    """A line in a file of the package that calls what fails: as in ``int(text)``."""

    def __init__(self, file):
        code = compile("def call(f): return f()\ndef say(): raise ValueError('no')\n", file, "exec")
        exec(code, vars(self))


def test_own_errors_are_those_that_a_statement_of_ours_raises(part):
    judge = part("judge")
    ours = Passing(f"{judge.PACKAGE}/made_up.py")
    for error in (
        raised(lambda: ProjSe(-1).fit(np.eye(3), np.eye(3))),
        raised(lambda: ProjSe(1).fit(np.full((3, 2), np.nan), np.eye(3))),  # scikit-learn's check
        raised(ours.say),
        raised(lambda: (_ for _ in ()).throw(SourceError("no"))),
    ):
        assert judge.is_own(error), error
    for foreign in (
        lambda: int("x"),  # compiled code called by us: its words, not ours
        lambda: np.zeros(2) + np.zeros(3),
        lambda: open("/nowhere/at/all"),  # noqa: SIM115
        lambda: [][0],
    ):
        assert not judge.is_own(raised(lambda call=foreign: ours.call(call)))
    for builtin in (lambda: ours.call(np.zeros(2).reshape), lambda: ours.call(open)):
        assert not judge.is_own(raised(builtin))
    assert not judge.is_own(raised(Passing("elsewhere.py").say))
    assert not judge.is_own(AssertionError("no"))


def test_an_error_that_is_caught_and_raised_again_is_still_whose_it_was(part):
    judge = part("judge")

    def again(call):
        try:
            call()
        except ValueError:
            raise

    assert judge.is_own(raised(lambda: again(Passing(f"{judge.PACKAGE}/x.py").say)))
    code = compile(
        "def bare():\n try:\n  int('x')\n except ValueError:\n  raise\n"
        "def named():\n try:\n  int('x')\n except ValueError as e:\n  raise e\n",
        f"{judge.PACKAGE}/made_up.py",
        "exec",
    )
    names = {}
    exec(code, names)
    assert not judge.is_own(raised(names["bare"]))
    assert not judge.is_own(raised(names["named"]))


def test_runs_add_up_and_defects_stay_found(part):
    added = part("cli").added
    one = added(
        {}, {"tried": {"succeeded": 3, "own error": 4}, "seconds": 60.0, "defects": []}, "x"
    )
    assert (one["count"], one["seconds"], one["runs"]) == (7, 60.0, 1)
    assert one["outcome"].startswith("3 succeeded, 4 ended in our own error, defects found: 0, ")
    bad = {"tried": {"own error": 1, "crashed": 1}, "seconds": 30.0, "defects": ["KeyError a.py:1"]}
    two = added(one, bad, "x")
    assert (two["count"], two["seconds"], two["defects"]) == (9, 90.0, ["KeyError a.py:1"])
    assert "defects found: 1, mended: 0;" in two["outcome"]
    three = added(two, {"tried": {"succeeded": 1}, "seconds": 30.0, "defects": []}, "x")
    assert (three["count"], three["runs"], three["defects"]) == (10, 3, [])
    assert three["found"] == ["KeyError a.py:1"]
    assert "defects found: 1, mended: 1; 2 minutes of the processor" in three["outcome"]


def test_no_process_grows_for_hours(part, tmp_path, monkeypatch):
    one = tmp_path / "one.py"
    one.write_text(
        "import json, pathlib, sys\n"
        "name, folder, seconds, seed = sys.argv[1:]\n"
        "print(seed, seconds)\n"
        "counts = {'succeeded': 5, 'seconds': float(seconds) + 0.5, 'defects': []}\n"
        "pathlib.Path(folder, 'counts.json').write_text(json.dumps(counts))\n"
    )
    cli = part("cli")
    monkeypatch.setattr(cli, "ONE", one)
    monkeypatch.setattr(cli, "TURN", 900)
    done = cli.fuzz("x", tmp_path / "work", 2000, 7)
    turns = [line.split() for line in (tmp_path / "work" / "log").read_text().splitlines()]
    assert [seed for seed, _ in turns] == ["7", "8", "9"]
    assert all(600 < float(seconds) < 700 for _, seconds in turns)
    assert done["tried"] == {"succeeded": 15}
    assert 2000 <= done["seconds"] < 2002
    assert done["defects"] == []
    assert cli.fuzz("x", tmp_path / "work", 60, 7)["seconds"] == 60.5


def test_what_failed_before_is_tried_again(part, tmp_path):
    crashes = tmp_path / "crashes"
    crashes.mkdir()
    (crashes / "abc").write_bytes(b"input")
    (crashes / "abc.txt").write_text("KeyError")
    part("cli")._try_again(tmp_path)
    assert [path.name for path in crashes.iterdir()] == []
    assert (tmp_path / "again" / "abc").read_bytes() == b"input"
