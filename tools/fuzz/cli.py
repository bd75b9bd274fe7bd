"""The command line: fuzz targets in turn, write what came of each; try an input again."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import math
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from fuzz import TARGETS

RESULTS = Path(__file__).resolve().parent / "results"
ONE = Path(__file__).resolve().parent / "one.py"
TURN = 900
"""Seconds of the processor after which a fresh process goes on from the corpus: atheris never frees
what a comparison in instrumented code gives, and arrays give arrays. One of 'encoder' had grown to
0.8 GB in five minutes; at 4 GB libFuzzer would end it, and call that a defect."""


def main(arguments: list[str] | None = None) -> int:
    """Do what the command says; 1 where an input found a defect."""
    parser = argparse.ArgumentParser(prog="tools/fuzz", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="fuzz targets in turn")
    run.add_argument("--only", nargs="+", choices=TARGETS, default=list(TARGETS))
    run.add_argument("--seconds", type=float, default=3600, help="for each target")
    run.add_argument("--seed", type=int, default=1)
    run.add_argument("--work", type=Path, default=Path("fuzz-work"), help="corpus and crashes")
    run.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    again = commands.add_parser("again", help="try one input, and show what it raises")
    again.add_argument("target", choices=TARGETS)
    again.add_argument("input", type=Path)
    options = parser.parse_args(arguments)
    if options.command == "again":
        target = importlib.import_module(f"fuzz.target_{options.target}")
        target.load()
        target.attempt(options.input.read_bytes())
        return 0
    options.output.mkdir(parents=True, exist_ok=True)
    found = 0
    for name in options.only:
        path = options.output / f"{name}.json"
        before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        seed = options.seed + before.get("runs", 0)
        result = added(before, fuzz(name, options.work / name, options.seconds, seed), name)
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        print(f"{name}: {result['count']:,} inputs, {result['outcome']}", file=sys.stderr)
        found += len(result["defects"])
    return 1 if found else 0


def fuzz(name: str, folder: Path, seconds: float, seed: int) -> dict[str, Any]:
    """Fuzz a target for so long, in processes one after the other: none grows old.

    The corpus of earlier runs is gone on from, and what failed in them is tried again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for leftover in ("counts.json", "current"):
        (folder / leftover).unlink(missing_ok=True)
    _try_again(folder)
    totals: Counter[str] = Counter()
    defects: set[str] = set()
    left, turn = seconds, seconds / max(math.ceil(seconds / TURN), 1)
    with (folder / "log").open("wb") as log:
        while left > 0.1 * seconds or not totals:
            started = time.monotonic()
            process = subprocess.Popen(
                [sys.executable, str(ONE), name, str(folder), str(min(left, turn)), str(seed)],
                stdout=log,
                stderr=log,
            )
            try:
                ended = process.wait(timeout=10 * turn + 900)
            except subprocess.TimeoutExpired:
                process.kill()
                ended = process.wait()
            counts = _read(folder / "counts.json")
            defects.update(counts.pop("defects", []))
            totals.update(counts)
            left -= max(counts.get("seconds", 0), 1 if counts else time.monotonic() - started)
            if ended != 0:
                defects.add(_ended(ended))
                _set_aside(folder, len(defects))
                if not counts:
                    break
            seed += 1
    spent = totals.pop("seconds", 0)
    return {"tried": dict(totals), "seconds": spent, "defects": sorted(defects)}


def added(before: dict[str, Any], run: dict[str, Any], name: str) -> dict[str, Any]:
    """Add a run to the result of those before it; open defects are those of the last."""
    tried = Counter(before.get("tried", {})) + Counter(run["tried"])
    found = sorted({*before.get("found", []), *run["defects"]})
    seconds = before.get("seconds", 0) + run["seconds"]
    mended = len(found) - len(run["defects"])
    return {
        "what": f"inputs of the fuzz target {name!r}",
        "count": tried.total(),
        "tried": dict(tried),
        "seconds": round(seconds, 1),
        "runs": before.get("runs", 0) + 1,
        "outcome": (
            f"{tried['succeeded']:,} succeeded, {tried['own error']:,} ended in our own error, "
            f"defects found: {len(found)}, mended: {mended}; "
            f"{seconds / 60:.0f} minutes of the processor"
        ),
        "command": f"python tools/fuzz run --only {name}",
        "engine": "atheris" if importlib.util.find_spec("atheris") else "blind mutations",
        "defects": run["defects"],
        "found": found,
    }


def _try_again(folder: Path) -> None:
    """Hand what failed in the run before to the next one."""
    for path in (folder / "crashes").glob("*"):
        if path.suffix == ".txt":
            path.unlink()
        else:
            (folder / "again").mkdir(exist_ok=True)
            path.replace(folder / "again" / path.name)


def _read(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    plain: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    path.unlink()
    return plain


def _ended(code: int) -> str:
    if code == -signal.SIGPROF:
        return "hang: an input took too long"
    return f"the process ended with {code}"


def _set_aside(folder: Path, number: int) -> None:
    """Keep the input that ended a process."""
    current = folder / "current"
    if current.exists():
        current.replace(folder / "crashes" / f"ended-{number}")
