"""Make the counts of docs/promises.md from saved files only.

    python tools/promises.py collect    # asks pytest how many tests there are
    python tools/promises.py run plain  # runs the plain tests, and saves what passed on this Python
    python tools/promises.py run fault  # the same of all tests that inject a fault
    python tools/promises.py run rooms  # of moments, kernels, search and determinism: these need
                                        # few packages, where a Python has no wheels of some
    OPENBLAS_CORETYPE=Haswell python tools/promises.py run rooms  # kernels for a processor
    python tools/promises.py run matrix   # all of determinism: also of files, Dask, Spark, tables
    python tools/promises.py run archive  # the plain tests, in an unpacked source archive
    python tools/promises.py page       # writes the table of docs/promises.md

What is not there yet is left out: a row without a file behind it cannot be made.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "promises.md"
COLLECTED = Path(__file__).with_suffix(".json")
RAN = Path(__file__).parent / "ran"


class Kind(NamedTuple):
    """Tests that are run together, and whose outcomes are saved."""

    what: str
    marker: str = "not slow"
    places: tuple[str, ...] = ("",)


MATRIX = "estimators/test_determinism.py"
MARKED = (
    "engines",
    MATRIX,
    "estimators/test_many_outputs.py",
    "estimators/test_table_sources.py",
    "reports/test_fingerprint.py",
    "search/test_width.py",
)
"""Where tests of determinism lie, since others cannot even be read where packages lack."""
PRECISE = "search/test_high_precision.py"
KINDS = {
    "plain": Kind("plain tests"),
    "archive": Kind("plain tests of the unpacked source archive, with what it installs,"),
    "rooms": Kind(
        "plain tests of determinism, moments, kernels and search",
        places=(MATRIX, "kernels", "moments", "search"),
    ),
    "matrix": Kind("all tests of determinism", "determinism", MARKED),
    "fault": Kind("tests that inject a fault,", "fault"),
}


class Suite(NamedTuple):
    """Tests that are counted by themselves: what one is, what it holds, and how to run them."""

    what: str
    holds: str
    options: str


SUITES = {
    "precise": Suite(
        "problems against an evaluation in 50 digits",
        "a test each, by several routes: picks and scores to [the bound](numbers.md)",
        f'-m "" tests/{PRECISE}',
    ),
    "matrix": Suite(
        "ways to give the same rows",
        "a test each: the same picks, scores to 1e-10, of float32 and sketches to their bounds",
        "-m determinism",
    ),
}

NAMED = ("numpy", "scipy", "scikit-learn", "pandas", "polars", "pyarrow", "dask", "pyspark")
"""Packages whose versions a run names."""

MODULES = {"scikit-learn": "sklearn"}

START, END = "<!-- counts: made by tools/promises.py page -->", "<!-- end of counts -->"


class Row(NamedTuple):
    """A line of the table."""

    what: str
    number: str
    outcome: str
    command: str


def rows(root: Path = ROOT) -> Iterator[Row]:
    """Yield what was tried, from the files under ``root``."""
    yield from _tests(_read(root / "tools" / "promises.json"))
    ran = [json.loads(p.read_text()) for p in (root / "tools" / "ran").glob("*.json")]
    for found in sorted(ran, key=_order):
        yield _ran(found)
    yield from _branches(_read(root / "tools" / "branches.json"))
    yield from _mutants(root / "tools" / "mutants")
    for folder in (root / "tools" / "fuzz", root / "benchmarks" / "soak"):
        for path in sorted((folder / "results").glob("*.json")):
            found = json.loads(path.read_text(encoding="utf-8"))
            command = str(found["command"])
            yield Row(found["what"], _number(found["count"]), found["outcome"], command)
    for name, page in (("calibration", "calibration"), ("knockoffs", "benchmarks-knockoffs")):
        files = [_read(p) for p in (root / "benchmarks" / name / "results").glob("*.json")]
        if count := sum(len(found["found"]) for found in files):
            said = f"tables with their errors: [{page}.md]({page}.md)"
            what = (
                "data sets simulated, " + ("p-values and intervals", "discoveries")[name[0] == "k"]
            )
            yield Row(what, _number(count), said, f"python benchmarks/{name} run")


def _tests(found: dict[str, Any]) -> Iterator[Row]:
    if not found:
        return
    slow = found["all"] - found["fast"]
    said = f"{_number(found['fast'])} in the plain run, {_number(slow)} slow ones; "
    said += f"{_number(found['fault'])} of all inject a fault"
    yield Row("tests, with one seed", _number(found["all"]), said, 'pytest -m ""')
    for name, (what, holds, options) in SUITES.items():
        if name in found:
            yield Row(what, _number(found[name]), holds, f"pytest {options}")


def _ran(found: dict[str, Any]) -> Row:
    outcomes, python = found["outcomes"], found["python"]
    said = [f"{_number(outcomes.get(key, 0))} {key}" for key in ("passed", "failed", "skipped")]
    if xfailed := outcomes.get("xfailed"):
        said.append(f"{_number(xfailed)} failed as expected")
    said += [f"commit {found['commit']}"] if found.get("commit") else []
    shown = NAMED[:4] if found["kind"] != "matrix" else NAMED
    with_ = [f"{name} {found['versions'][name]}" for name in shown if name in found["versions"]]
    command = f"python tools/promises.py run {found['kind']}"
    if core := found.get("core"):
        with_.append(f"OpenBLAS for {core}")
        command = f"OPENBLAS_CORETYPE={core} {command}"
    what = f"{KINDS[found['kind']].what} run on Python {python} with {', '.join(with_)}"
    return Row(what, _number(sum(outcomes.values())), ", ".join(said), command)


def _order(found: dict[str, Any]) -> tuple[Any, ...]:
    numbers = (found["python"].split()[0], found["versions"]["numpy"])
    numbered = [tuple(map(int, v.split("."))) for v in numbers]
    return (list(KINDS).index(found["kind"]), *numbered, found.get("core", ""))


def _branches(found: dict[str, Any]) -> Iterator[Row]:
    if not found:
        return
    share = found["shares"]
    said = ", ".join(f"{room} {share[room]:.1f} %" for room in ("moments", "kernels", "search"))
    flag = "" if found["tests"] == "all tests" else " -m fast"
    what = f"lines and branches that {found['tests']} take"
    yield Row(what, f"{share['all']:.1f} %", said, f"python tools/branches.py measure{flag}")


def _mutants(folder: Path) -> Iterator[Row]:
    found, explained = _read(folder / "results.json"), _read(folder / "explained.json")
    if not found:
        return
    tried = found["tried"]
    survived = [name for name, outcome in tried.items() if outcome == "survived"]
    known = sum(name in explained for name in survived)
    said = f"{_number(len(tried) - len(survived))} killed by the fast tests, {known} change nothing"
    said += f" that can be seen, {len(survived) - known} open"
    what = f"faults put into kernels and search, of {_number(found['of'])} drawn at random"
    yield Row(what, _number(len(tried)), said, f"python tools/mutants run --count {len(tried)}")


def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def _number(count: int) -> str:
    """Write a whole number with thin spaces between thousands."""
    return f"{count:,}".replace(",", "\u202f")


def table(root: Path = ROOT) -> str:
    """Return the table as Markdown."""
    lines = ["| what | how many | outcome | command |", "|---|---|---|---|"]
    cells = ((r.what, r.number, r.outcome, f"`{r.command}`") for r in rows(root))
    return "\n".join([*lines, *(f"| {' | '.join(cell)} |" for cell in cells)])


def page(text: str, root: Path = ROOT) -> str:
    """Put the table in its place in the text of the page."""
    before, rest = text.split(START)
    return f"{before}{START}\n\n{table(root)}\n\n{END}{rest.split(END)[1]}"


class _Counts:
    """Counts the tests of each kind, when pytest has found them."""

    def __init__(self) -> None:
        self.found = dict.fromkeys(("all", "fast", "fault", *SUITES), 0)

    def pytest_itemcollected(self, item: Any) -> None:
        self.found["all"] += 1
        self.found["fast"] += item.get_closest_marker("slow") is None
        self.found["fault"] += item.get_closest_marker("fault") is not None
        self.found["precise"] += item.path.match(PRECISE)
        self.found["matrix"] += item.get_closest_marker("determinism") is not None


def collect() -> dict[str, int]:
    """Count the tests of each kind."""
    import pytest

    counts = _Counts()
    code = pytest.main(["--collect-only", "-qq", "-n0", "-m", "", str(ROOT)], plugins=[counts])
    if code != 0:
        raise RuntimeError(f"pytest could not collect the tests: {code}")
    return counts.found


class _Outcomes:
    """Counts how tests ended, by the worst of their three phases."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        # To pytest a failure that was expected is skipped, with a reason.
        expected = report.outcome == "skipped" and hasattr(report, "wasxfail")
        outcome = "xfailed" if expected else report.outcome
        worst = ("passed", "skipped", "xfailed", "failed")
        self._of[report.nodeid] = max(
            self._of.get(report.nodeid, "passed"), outcome, key=worst.index
        )

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:  # tests that could not be read would be missing without a word
            self._of[report.nodeid] = "failed"

    @property
    def found(self) -> dict[str, int]:
        return dict(sorted(Counter(self._of.values()).items()))


def core() -> str:
    """Return the processor whose kernels OpenBLAS really runs: it overrules what it cannot do."""
    import numpy  # noqa: F401, ICN001 - each loads an OpenBLAS of its own
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    found = {info["architecture"] for info in threadpool_info() if "architecture" in info}
    return "+".join(sorted(found))


def commit() -> str | None:
    """Return the commit that is tested, and whether its code was changed; None if unknown."""

    def git(*arguments: str) -> str:
        given = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(given, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", "src", "tests")
        return git("rev-parse", "--short=9", "HEAD") + (" with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def run(kind: str, *options: str) -> bool:
    """Run tests of a kind here, and save how they ended; tell whether all is well.

    With ``--lf``, an option of pytest, those that failed are tried again, and the outcomes of the
    others are kept.
    """
    import pytest

    # A source archive says what it is made of; a clone does not.
    if (kind == "archive") != (ROOT / "PKG-INFO").exists():
        raise SystemExit(f"run {kind!r}: {ROOT} is not the place; 'archive' is for an unpacked one")
    outcomes = _Outcomes()
    _, marker, places = KINDS[kind]
    paths = [str(ROOT / "tests" / place) for place in places]
    code = pytest.main(["-q", "-m", marker, *options, *paths], plugins=[outcomes])
    if code not in (0, 1):  # stopped, an error when tests were collected, none at all
        raise SystemExit(f"run {kind!r}: pytest ended with {int(code)}; nothing is saved")
    python = platform.python_version()
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        python += " free-threaded"
    versions = {name: version(name) for name in NAMED if find_spec(MODULES.get(name, name))}
    of = {"core": core()} if "OPENBLAS_CORETYPE" in os.environ else {}
    tested = {} if kind == "archive" else {"commit": commit()}
    name = "-".join([kind, *python.split(), "numpy", versions["numpy"], *of.values()])
    path = RAN / f"{name}.json"
    before = _read(path).get("outcomes", {}) if "--lf" in options else {}
    counts = Counter({**before, "failed": 0}) + Counter(outcomes.found)
    found = {
        "kind": kind,
        "python": python,
        **of,
        **tested,
        "versions": versions,
        "outcomes": dict(counts),
    }
    RAN.mkdir(exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n")
    return not counts["failed"]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["run", kind, *options] if kind in KINDS:
            raise SystemExit(0 if run(kind, *options) else 1)
        case ["collect"]:
            COLLECTED.write_text(json.dumps(collect(), indent=1) + "\n")
        case ["page"]:
            PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        case _:
            raise SystemExit(__doc__)
