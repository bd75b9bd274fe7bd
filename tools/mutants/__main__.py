"""Put one small fault at a time into kernels and search, and see whether a fast test fails.

    nice python tools/mutants run --count 200     # goes on where it was stopped
    python tools/mutants show                     # what survived, and why that is right

Which faults come next is drawn with a fixed seed from all that `changes.py` knows. A fault is
killed if a fast test of kernels or search fails, or uses up the processor time of several
whole runs; if it survives these, the fast tests of estimators and metrics look too. Survivors stand
in ``results.json``; those that change nothing that can be seen are explained in ``explained.json``.
``PROJSE_MUTANTS_LOG`` names a file for what the tests print.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[0] = str(FOLDER)

from changes import Change, changes  # noqa: E402

ROOT = FOLDER.parents[1]
ROOMS = ("kernels", "search")
RESULTS, EXPLAINED = FOLDER / "results.json", FOLDER / "explained.json"
NEAR = ["tests/kernels", "tests/search"]
FAR = ["tests/estimators", "tests/metrics"]
SEED = 19
CPU_SECONDS = 300
IMPORTED_ONCE = (
    "numpy", "scipy.linalg", "scipy.sparse.linalg", "scipy.stats", "sklearn.base", "pandas",
    "sklearn.linear_model", "sklearn.model_selection", "sklearn.utils.estimator_checks", "pytest",
    "sklearn.feature_selection", "polars", "pyarrow.parquet", "pyarrow.csv", "dask.array",
    "dask.dataframe", "narwhals", "joblib", "threadpoolctl", "matplotlib.pyplot",
)  # fmt: skip


def faults() -> list[tuple[str, Change]]:
    """Return every fault of the rooms, in an order drawn with the seed."""
    found = []
    for room in ROOMS:
        for path in sorted((ROOT / "src" / "projse" / room).glob("*.py")):
            name = path.relative_to(ROOT / "src").as_posix()
            found += [(name, change) for change in changes(path.read_text(encoding="utf-8"))]
    random.Random(SEED).shuffle(found)  # nosec B311
    return found


def key(name: str, change: Change) -> str:
    """Name a fault so that it is known again as long as its line is."""
    line = (ROOT / "src" / name).read_text(encoding="utf-8").splitlines()[change.line - 1].strip()
    return f"{name} | {line} | {change.column} | {change.before} -> {change.after}"


def fails(tests: list[str], source: Path) -> bool:
    """Run tests in a fork of this process, with the package of ``source``."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        silence = os.open(
            os.environ.get("PROJSE_MUTANTS_LOG", os.devnull), os.O_WRONLY | os.O_CREAT
        )
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        sys.path.insert(0, str(source))
        os.environ["PYTHONPATH"] = str(source)
        code = 70
        try:
            import pytest

            options = ["-n0", "-x", "-q", "-p", "no:cacheprovider", "--no-header"]
            code = int(pytest.main([*options, *tests]))
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return status != 0


def run(count: int) -> None:
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
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        sys.dont_write_bytecode = True
        if fails(NEAR, source):
            raise SystemExit("The tests fail without any fault.")
        drawn = faults()
        results["of"], results["seed"] = len(drawn), SEED
        for name, change in drawn[:count]:
            if (known := key(name, change)) in results["tried"]:
                continue
            start, path = time.process_time() + _children(), source / name
            kept = path.read_text(encoding="utf-8")
            path.write_text(change.text, encoding="utf-8")
            outcome = "survived"
            for where, tests in (("near", NEAR), ("far", FAR)):
                if outcome == "survived" and fails(tests, source):
                    outcome = f"killed, {where}"
            path.write_text(kept, encoding="utf-8")
            results["tried"][known] = outcome
            results["seconds"] += round(time.process_time() + _children() - start, 1)
            RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
            print(outcome, known, flush=True)


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
    options = parser.parse_args()
    if options.command == "run":
        run(options.count)
    else:
        show()
