"""Put one small fault at a time into kernels and search, and see whether a fast test fails.

    nice python tools/mutants run --count 200     # goes on where it was stopped
    nice python tools/mutants run --again         # only what survived without an explanation
    python tools/mutants show                     # what survived, and why that is right

Which faults come next is drawn with a fixed seed from all that `changes.py` knows, each by its own
name: a fault keeps its place when others come and go. A fault is killed if a fast test of
kernels or search fails, or uses up more processor time than all tests together; if it survives
these, the fast tests of estimators and metrics look too. Only tests that run the line are asked,
since others cannot notice: which those are is measured first, and again when the package has
changed; tests that are newer than that are always asked. Survivors stand in ``results.json``; those
that change nothing that can be seen are explained in ``explained.json``.
``PROJSE_MUTANTS_LOG`` names a file for what the tests print.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import importlib
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
sys.path[0] = str(FOLDER)

from changes import Change, changes  # noqa: E402

ROOT = FOLDER.parents[1]
ROOMS = ("kernels", "search")
RESULTS, EXPLAINED = FOLDER / "results.json", FOLDER / "explained.json"
LINES = ROOT / ".coverage-mutants"
"""Which tests run which lines."""

NEAR = ["tests/kernels", "tests/search"]
FAR = ["tests/estimators", "tests/metrics"]
SEED = 19
CPU_SECONDS = 120
IMPORTED_ONCE = (
    "numpy", "scipy.linalg", "scipy.sparse.linalg", "scipy.stats", "sklearn.base", "pandas",
    "sklearn.linear_model", "sklearn.model_selection", "sklearn.utils.estimator_checks", "pytest",
    "sklearn.feature_selection", "polars", "pyarrow.parquet", "pyarrow.csv", "dask.array",
    "dask.dataframe", "narwhals", "joblib", "threadpoolctl", "matplotlib.pyplot",
)  # fmt: skip


def faults() -> dict[str, tuple[str, Change]]:
    """Return every fault of the rooms by its key, in an order drawn with the seed."""
    found = {}
    for room in ROOMS:
        for path in sorted((ROOT / "src" / "projse" / room).glob("*.py")):
            name, text = path.relative_to(ROOT / "src").as_posix(), path.read_text(encoding="utf-8")
            for change in changes(text):
                # Names a fault so that it is known again as long as its line is.
                line = text.splitlines()[change.line - 1].strip()
                before_after = f"{change.before} -> {change.after}"
                found[f"{name} | {line} | {change.column} | {before_after}"] = (name, change)
    return {key: found[key] for key in sorted(found, key=_drawn)}


def _drawn(key: str) -> bytes:
    return hashlib.sha256(f"{SEED} {key}".encode()).digest()


class Asked:
    """Keeps the tests that run a line, and those of which it is not known."""

    def __init__(self, running: set[str], known: set[str]) -> None:
        self.running, self.known = running, known

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out tests that cannot notice."""
        items[:] = [i for i in items if i.nodeid in self.running or i.nodeid not in self.known]


class Measured:
    """Writes down which tests run which lines."""

    def __init__(self) -> None:
        from coverage import Coverage

        self.lines = Coverage(str(LINES), config_file=False, source_pkgs=["projse"])
        self.lines.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Go on under the name of the next test."""
        self.lines.switch_context(nodeid)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Save what was measured, unless a test failed."""
        self.lines.stop()
        if exitstatus == 0:
            self.lines.save()


def fails(tests: list[str], source: Path, asked: Asked | None = None) -> bool:
    """Run tests in a fork of this process, with the package of ``source``."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        if asked is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        log = os.environ.get("PROJSE_MUTANTS_LOG", os.devnull)
        silence = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        sys.path.insert(0, str(source))
        os.environ["PYTHONPATH"] = str(source)
        code = 70
        try:
            import pytest

            options = ["-n0", "-x", "-q", "-p", "no:cacheprovider", "--no-header"]
            code = int(pytest.main([*options, *tests], plugins=[asked or Measured()]))
            if code == pytest.ExitCode.NO_TESTS_COLLECTED:
                code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return status != 0


class Runners:
    """Tells which tests run the place of a fault, measured by a run without any fault."""

    def __init__(self) -> None:
        newest = max(path.stat().st_mtime for path in (ROOT / "src").rglob("*.py"))
        if not LINES.exists() or LINES.stat().st_mtime < newest:
            LINES.unlink(missing_ok=True)
            if fails(NEAR + FAR, ROOT / "src"):
                raise SystemExit("The tests fail without any fault.")
        from coverage import CoverageData

        self._data = CoverageData(str(LINES))
        self._data.read()
        self.known = self._data.measured_contexts()

    def of(self, name: str, change: Change) -> Asked:
        """Return the tests that run the statement of a fault; all, if only importing runs it."""
        by_line = self._data.contexts_by_lineno(str(ROOT / "src" / name))
        lines = _statement(change)
        running = {test for line in lines for test in by_line.get(line, ())}
        return Asked(self.known if running == {""} else running, self.known)


def _statement(change: Change) -> range:
    """Return the lines of the statement of a fault; of one with a body, those before it."""
    lines = range(change.line, change.line + 1)
    for node in ast.walk(ast.parse(change.source)):  # outer ones first
        if isinstance(node, ast.stmt) and node.lineno <= change.line <= (node.end_lineno or 0):
            body = getattr(node, "body", None)
            end = body[0].lineno if body else (node.end_lineno or node.lineno) + 1
            lines = range(node.lineno, max(end, node.lineno + 1))
    return lines


def run(count: int, again: bool) -> None:
    """Try faults until ``count`` have been tried in all, saving after each."""
    assert "projse" not in sys.modules
    # As tests/conftest.py has it: before scipy and the BLAS are loaded.
    os.environ["SCIPY_ARRAY_API"] = "1"
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for module in IMPORTED_ONCE:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    os.chdir(ROOT)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"seconds": 0, "tried": {}}
    drawn = faults()
    tried = {key: outcome for key, outcome in results["tried"].items() if key in drawn}
    results.update(of=len(drawn), seed=SEED, tried=tried)
    explained = json.loads(EXPLAINED.read_text(encoding="utf-8"))
    open_ = [
        key for key, outcome in tried.items() if outcome == "survived" and key not in explained
    ]
    next_ = [key for key in drawn if key not in tried][: max(count - len(tried), 0)]
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        sys.dont_write_bytecode = True
        runners = Runners()
        for known in open_ if again else next_:
            name, change = drawn[known]
            start, path = time.process_time() + _children(), source / name
            kept = path.read_text(encoding="utf-8")
            path.write_text(change.text, encoding="utf-8")
            asked = runners.of(name, change)
            outcome = "survived"
            for where, tests in (("near", _mirror(name)), ("near", NEAR), ("far", FAR)):
                if outcome == "survived" and tests and fails(tests, source, asked):
                    outcome = f"killed, {where}"
            path.write_text(kept, encoding="utf-8")
            tried[known] = outcome
            results["seconds"] = round(
                results["seconds"] + time.process_time() + _children() - start, 1
            )
            RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
            print(outcome, known, flush=True)


def _mirror(name: str) -> list[str]:
    """Return the tests that bear the name of a module, which mostly notice its faults first."""
    room, module = Path(name).parts[-2:]
    path = Path("tests", room, f"test_{module}")
    return [str(path)] if path.exists() else []


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def counts() -> dict[str, int]:
    """Count what was tried, killed, explained and is open."""
    tried = json.loads(RESULTS.read_text(encoding="utf-8"))
    explained = json.loads(EXPLAINED.read_text(encoding="utf-8"))
    survived = [name for name, outcome in tried["tried"].items() if outcome == "survived"]
    return {
        "of": tried["of"],
        "tried": len(tried["tried"]),
        "killed": len(tried["tried"]) - len(survived),
        "explained": sum(name in explained for name in survived),
        "open": sum(name not in explained for name in survived),
    }


def show() -> None:
    """Print the counts and every survivor with its explanation."""
    if not RESULTS.exists():
        raise SystemExit("Nothing was tried yet: python tools/mutants run")
    tried = json.loads(RESULTS.read_text(encoding="utf-8"))["tried"]
    explained = json.loads(EXPLAINED.read_text(encoding="utf-8"))
    print(counts())
    for name, outcome in tried.items():
        if outcome == "survived":
            print(f"{name}\n    {explained.get(name, 'OPEN')}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="tools/mutants", description=__doc__)
    parser.add_argument("command", choices=("run", "show"))
    parser.add_argument("--count", type=int, default=200, help="faults in all, of those drawn")
    parser.add_argument("--again", action="store_true", help="only what is open, once more")
    options = parser.parse_args()
    if options.command == "run":
        run(options.count, options.again)
    else:
        show()
