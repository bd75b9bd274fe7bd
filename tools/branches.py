"""Measure which lines and branches of the package the tests take, and hold them to a bound.

    python tools/branches.py measure            # all tests, fast and slow; half an hour
    python tools/branches.py measure -m fast    # the plain run only: what it leaves out is more
    python tools/branches.py check coverage.json

Shares are those of coverage.py: lines and branches taken, of all lines and branches. Commands and
workers that tests start count too. ``measure`` writes ``tools/branches.json``, of which the page of
promises is made.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SAVED = Path(__file__).with_suffix(".json")
ALL = 95.0
ROOMS = {"moments": 98.0, "kernels": 98.0, "search": 98.0}
"""Where a wrong number would be born: hardly a branch that no test takes."""


def shares(report: dict[str, Any]) -> dict[str, float]:
    """Return the share of lines and branches taken, in all and a room, of a report in JSON."""
    taken, there = Counter[str](), Counter[str]()
    for name, file in report["files"].items():
        parts = Path(name).parts
        room = parts[parts.index("projse") + 1].removesuffix(".py")
        found = file["summary"]
        for key in ("all", room):
            taken[key] += found["covered_lines"] + found["covered_branches"]
            there[key] += found["num_statements"] + found["num_branches"]
    return {key: round(100 * taken[key] / there[key], 2) for key in sorted(there) if there[key]}


def faults(found: dict[str, float]) -> list[str]:
    """Say which bounds are not held."""
    bounds = {"all": ALL, **ROOMS}
    return [
        f"{key}: {found.get(key, 0.0)} % of lines and branches, less than {bound} %"
        for key, bound in bounds.items()
        if found.get(key, 0.0) < bound
    ]


def measure(marks: str) -> dict[str, float]:
    """Run the tests and return the shares; save them."""
    report = ROOT / ".coverage.report.json"
    python = [sys.executable, "-m"]
    tests = [*python, "pytest", "-q", "--cov=projse", "--cov-branch", f"--cov-report=json:{report}"]
    subprocess.run([*tests, "-m", marks], cwd=ROOT, check=True)
    found = shares(json.loads(report.read_text(encoding="utf-8")))
    part = "fast tests" if marks else "all tests"
    SAVED.write_text(json.dumps({"tests": part, "shares": found}, indent=1) + "\n")
    return found


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["measure", *rest]:
            found = measure("not slow" if rest == ["-m", "fast"] else "")
        case ["check", name]:
            found = shares(json.loads(Path(name).read_text(encoding="utf-8")))
        case _:
            raise SystemExit(__doc__)
    for key, share in found.items():
        print(f"{key:12} {share:6.2f} %")
    if said := faults(found):
        raise SystemExit("\n".join(said))
