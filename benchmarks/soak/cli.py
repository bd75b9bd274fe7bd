"""The command line: run the cases, and write what came of each to a file."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from soak.cases import CASES, Found

RESULTS = Path(__file__).resolve().parent / "results"
MEGABYTE = 1 << 20
FLAT = 16 * MEGABYTE
"""Growth that still is flat: of the allocator, which does not give back all that is freed."""

DRIFT = 1e-9
"""What sums may be off at most, relative to norms."""


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for; 1 where something drifted or grew."""
    parser = argparse.ArgumentParser(prog="benchmarks/soak", description=__doc__)
    parser.add_argument("command", choices=("run",))
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--count", type=int, help="of steps or rows, instead of the full count")
    parser.add_argument("--short", action="store_true", help="seconds instead of an hour")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    held = True
    for name in options.only:
        what, full, short, run = CASES[name]
        count = options.count or (short if options.short else full)
        start = time.process_time()  # others may have the cores meanwhile
        for found in run(count):  # whoever ends the run keeps what was done
            result = plain(name, what, found, time.process_time() - start)
            result["command"] = _command(name, found.count)
            text = json.dumps(result, indent=1) + "\n"
            (options.output / f"{name}.json").write_text(text, encoding="utf-8")
            told = f"{name}: {found.count:,}, {result['outcome']} ({result['seconds']:.0f} s)"
            print(told, file=sys.stderr, flush=True)
        held &= result["held"]
    return 0 if held else 1


def plain(name: str, what: str, found: Found, seconds: float) -> dict[str, Any]:
    """Return what is written of a run."""
    more_bytes, more_files = found.watch.growth()
    drift = max(found.drift.values())
    held = drift < DRIFT and more_bytes < FLAT and more_files <= 0 and found.same_picks
    outcome = (
        f"drift of {drift:.1e} at most against one big fit, "
        f"{'the same picks' if found.same_picks else 'OTHER picks'}; "
        f"memory {more_bytes / MEGABYTE:+.1f} MB, open files {more_files:+d} after the first tenth"
    )
    return {
        "what": what,
        "count": found.count,
        "seconds": round(seconds, 1),
        "outcome": outcome,
        "held": held,
        "name": name,
        "drift": {str(step): float(f"{value:.3g}") for step, value in found.drift.items()},
        "samples": [
            {"step": step, "megabytes": round(size / MEGABYTE, 1), "open files": files}
            for step, size, files in found.watch.samples
        ],
    }


def _command(name: str, count: int) -> str:
    counted = "" if count == CASES[name][1] else f" --count {count}"
    return f"python benchmarks/soak run --only {name}{counted}"
