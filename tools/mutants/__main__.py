"""Put one small fault at a time into kernels and search, and see whether a fast test fails.

    nice python tools/mutants run --count 500     # goes on where it was stopped
    nice python tools/mutants run --again         # only what survived without an explanation
    python tools/mutants show                     # what survived, and why that is right

Which faults come next is drawn with a fixed seed from all that `changes.py` knows, each by its own
name: a fault keeps its place when others come and go. A fault is killed if a fast test of
kernels, search, estimators or metrics fails, or uses up much more processor time than without it.
Only tests that run the line are asked, since others cannot notice: which those are is measured
first, and again when the package has changed; tests that are newer than that are always asked.
A fault in what a function does is put into the functions in memory (`asking.py`), which costs as
much as the tests that are asked; one in what importing does, and all with ``--again``, into a
copy of the file. Survivors stand in ``results.json``; those that change nothing that can be seen
are explained in ``explained.json``. ``PROJSE_MUTANTS_LOG`` names a file for what the tests print.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import json
import os
import resource
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[0] = str(FOLDER)

from changes import Change, changes  # noqa: E402

ROOT = FOLDER.parents[1]
RESULTS, EXPLAINED = FOLDER / "results.json", FOLDER / "explained.json"
LINES = ROOT / ".coverage-mutants"
"""Which tests run which lines, and beside it for how long."""

SEED = 19
IMPORTED_ONCE = (
    "numpy", "scipy.linalg", "scipy.sparse.linalg", "scipy.stats", "sklearn.base", "pandas",
    "sklearn.linear_model", "sklearn.model_selection", "sklearn.utils.estimator_checks", "pytest",
    "sklearn.feature_selection", "polars", "pyarrow.parquet", "pyarrow.csv", "dask.array",
    "dask.dataframe", "narwhals", "joblib", "threadpoolctl", "matplotlib.pyplot",
)  # fmt: skip


def faults() -> dict[str, tuple[str, Change]]:
    """Return every fault of the rooms by its key, in an order drawn with the seed."""
    found = {}
    for room in ("kernels", "search"):
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


class Results:
    """What was tried, saved after each fault."""

    def __init__(self, drawn: dict[str, tuple[str, Change]]) -> None:
        saved = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"seconds": 0, "tried": {}}
        self.tried = {key: outcome for key, outcome in saved["tried"].items() if key in drawn}
        self.seconds, self.of = saved["seconds"], len(drawn)
        self._start = _used()
        self._screen = os.fdopen(os.dup(1), "w")  # not where the tests print

    def open(self) -> list[str]:
        """Return what survived without an explanation."""
        explained = json.loads(EXPLAINED.read_text(encoding="utf-8"))
        survived = [key for key, outcome in self.tried.items() if outcome == "survived"]
        return [key for key in survived if key not in explained]

    def add(self, key: str, outcome: str) -> None:
        """Write down what became of a fault."""
        self.tried[key] = outcome
        now = _used()
        self.seconds, self._start = round(self.seconds + now - self._start, 1), now
        saved = {"seconds": self.seconds, "tried": self.tried, "of": self.of, "seed": SEED}
        RESULTS.write_text(json.dumps(saved, indent=1, ensure_ascii=False) + "\n")
        print(outcome, key, file=self._screen, flush=True)


def _used() -> float:
    """Return the processor time of this process and of those that it has waited for."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, who))


def run(count: int, again: bool, only: str, jobs: int) -> None:
    """Try faults until ``count`` have been tried in all, saving after each."""
    assert "projse" not in sys.modules
    # As tests/conftest.py has it: before scipy and the BLAS are loaded.
    os.environ["SCIPY_ARRAY_API"] = "1"
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for module in IMPORTED_ONCE:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    from asking import Faults, Measured, Reloaded, Runners, fails

    os.chdir(ROOT)
    sys.dont_write_bytecode = True
    newest = max(path.stat().st_mtime for path in (ROOT / "src").rglob("*.py"))
    if not LINES.exists() or LINES.stat().st_mtime < newest:
        LINES.unlink(missing_ok=True)
        if fails(ROOT / "src", partial(Measured, LINES)):
            raise SystemExit("The tests fail without any fault.")
    runners, drawn = Runners(LINES), faults()
    results = Results(drawn)
    new = [key for key in drawn if key not in results.tried][: max(count - len(results.tried), 0)]
    at_once = {} if again else {key: drawn[key] for key in new if drawn[key][1].in_a_body}
    if at_once:
        fails(ROOT / "src", partial(Faults, at_once, runners, results.add, jobs))
        results = Results(drawn)
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        open_ = [key for key in results.open() if only in key]
        for key in open_ if again else [key for key in new if key not in at_once]:
            name, change = drawn[key]
            path = source / name
            kept = path.read_text(encoding="utf-8")
            path.write_text(change.text, encoding="utf-8")
            noticed = fails(source, partial(Reloaded, name, change, runners))
            path.write_text(kept, encoding="utf-8")
            results.add(key, "killed" if noticed else "survived")


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
    parser.add_argument("--only", default="", help="with --again: whose names have this text")
    parser.add_argument("--jobs", type=int, default=1, help="faults at a time")
    options = parser.parse_args()
    if options.command == "run":
        run(options.count, options.again, options.only, options.jobs)
    else:
        show()
