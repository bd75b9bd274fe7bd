"""The command line: run what is missing, print the tables, make the page anew."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from knockoffs import store
from machine import commit

from calibration.measures import MEASURES, figures

RESULTS = Path(__file__).resolve().parent / "results"
A_SAVE = 25
"""Data sets between two writes."""


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/calibration", description=__doc__)
    parser.add_argument("command", choices=("run", "tables", "page", "list"))
    parser.add_argument("--only", nargs="+", choices=MEASURES, metavar="NAME", help="measures")
    parser.add_argument("--setting", nargs="+", metavar="NAME", help="settings")
    parser.add_argument("--share", type=float, default=1.0, help="of the data sets of a full run")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Do what the command says."""
    options = parse(arguments)
    if options.command == "run":
        run(options)
    elif options.command == "list":
        for name, measure in MEASURES.items():
            print(name, *measure.settings, sep="\n    ")
    else:
        from calibration import page

        results = store.load(options.output)
        if options.command == "tables":
            print(page.tables(results))
        else:
            from calibration import picture

            page.write(results)
            picture.draw(results, page.PICTURE)
    return 0


def run(options: argparse.Namespace) -> None:
    """Go on where the files end, emptiest first: a run that is stopped leaves no table out."""
    for share in (0.05, 0.1, 0.25, 0.5, 1.0):
        for name in options.only or MEASURES:
            for setting in MEASURES[name].settings:
                if not options.setting or setting in options.setting:
                    fill(options.output, name, setting, share * options.share)


def fill(folder: Path, name: str, setting: str, share: float) -> None:
    """Draw data sets of a setting until that share of a full run is there."""
    result = store.read(folder, setting, name)
    wanted, start = int(MEASURES[name].sets * share), time.perf_counter()
    if len(result["found"]) >= wanted:
        return
    made_by = commit("src", "benchmarks/calibration/*.py", digits=9) or "no commit"
    result["commits"] = sorted({*result.get("commits", []), made_by})
    while (done := len(result["found"])) < wanted:
        for number in range(done, min(done + A_SAVE, wanted)):
            found = figures(name, setting, number)
            result["found"].append([float(f"{x:.4g}") for x in found])
        store.save(folder, result)
    seconds = time.perf_counter() - start
    print(f"{name}, {setting}: {wanted} sets, {seconds:.0f} s", file=sys.stderr, flush=True)
