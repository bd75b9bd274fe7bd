"""The benchmarks in one command: ``python benchmarks/run.py``.

Progress goes to stderr, the tables to stdout, and tables, figures and charts to a folder.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import contestants
import growth
import machine
import peers
import report
import saved
import shapes
from measure import isolated
from rows import Row, not_run
from suites import ROW_SUITES, run_case

Result = TypeVar("Result")

RESULTS = Path(__file__).resolve().parent / "results"
SUITES: dict[str, list[str]] = {
    **{suite: list(cases) for suite, cases in ROW_SUITES.items()},
    "peers": [*shapes.SHAPES, *contestants.CONTESTANTS],
    "growth": list(growth.AXES),
}
LIMIT, QUICK_LIMIT = 120.0, 10.0

_start = time.perf_counter()


def progress(message: str) -> None:
    """Say on stderr what is under way."""
    print(f"[{time.perf_counter() - _start:6.0f} s] {message}", file=sys.stderr, flush=True)


def attempt(title: str, function: Callable[..., Result], *arguments: Any) -> Result | Exception:
    """Call in a new process; return what goes wrong, which must not take other calls with it."""
    progress(title)
    try:
        return isolated(function, *arguments)
    except Exception as error:
        progress(f"{title} failed: {error}")
        return error


def run_rows(suite: str, cases: list[str], quick: bool) -> list[Row]:
    rows: list[Row] = []
    for case in cases:
        found = attempt(f"{suite}: {case}", run_case, suite, case, quick)
        if isinstance(found, Exception):
            why = f"{type(found).__name__}: {str(found)[:120]}"
            found = [not_run(case, case, "–", why)]
        rows += found
    return rows


def run_growth(axes: list[str], quick: bool) -> list[growth.Growth]:
    found = [attempt(f"growth: {axis}", growth.run_axis, axis, quick) for axis in axes]
    return [one for one in found if not isinstance(one, Exception)]


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument("--only", nargs="+", choices=list(SUITES), help="which suites to run")
    parser.add_argument(
        "--case", nargs="+", metavar="NAME", help="which cases, shapes or contestants; see --list"
    )
    parser.add_argument("--list", action="store_true", help="name all cases, and end")
    parser.add_argument(
        "--peers-python", metavar="PATH", help="interpreter of the peers' environment"
    )
    parser.add_argument(
        "--make-peers-env", metavar="DIR", type=Path, help="create that environment, and use it"
    )
    parser.add_argument(
        "--time-limit", type=float, metavar="S", help=f"of a peer; {LIMIT:g} if not given"
    )
    parser.add_argument("--output", type=Path, metavar="DIR", help="where to save the results")
    options = parser.parse_args(arguments)
    unknown = set(options.case or ()) - {name for names in SUITES.values() for name in names}
    if unknown:
        parser.error(f"no case is called {', '.join(sorted(unknown))}; see --list")
    return options


def command_line(arguments: list[str]) -> str:
    """Return the command as it was given, less the folders of this machine."""
    shown = ["PATH" if os.path.isabs(argument) else argument for argument in arguments]
    core = os.environ.get("OPENBLAS_CORETYPE")
    kernels = [f"OPENBLAS_CORETYPE={core}"] if core else []
    return shlex.join([*kernels, "python", "benchmarks/run.py", *shown])


def main() -> None:
    options = parse()
    if options.list:
        for suite, names in SUITES.items():
            print(f"{suite}: {'; '.join(names)}")
        return
    if not report.can_draw():
        progress("no charts: matplotlib is not installed")
    chosen = {
        suite: [name for name in names if not options.case or name in options.case]
        for suite, names in SUITES.items()
        if not options.only or suite in options.only
    }
    root = options.output or (RESULTS / "quick" if options.quick else RESULTS)
    folder = root / machine.kind() if root == RESULTS else root
    for suite, names in chosen.items():
        if not names:
            continue
        made = {
            "quick": options.quick,
            "command": command_line(sys.argv[1:]),
            "date": dt.date.today().isoformat(),
            "machine": machine.describe(),
        }
        start = time.perf_counter()
        if suite == "growth":
            found: Any = run_growth(names, options.quick)
        elif suite == "peers":
            python = options.peers_python or sys.executable
            if options.make_peers_env:
                python = peers.make_environment(options.make_peers_env, progress)
            limit = options.time_limit or (QUICK_LIMIT if options.quick else LIMIT)
            found = peers.run(python, options.quick, limit, options.case, progress)
        else:
            found = run_rows(suite, names, options.quick)
        made["minutes"] = round((time.perf_counter() - start) / 60, 1)
        # Saved after each suite: an hour's work must not hang on the last minute.
        saved.save(suite, found, made, folder, cases=bool(options.case))
    print(report.write_page(root))
    progress("done")


if __name__ == "__main__":
    main()
