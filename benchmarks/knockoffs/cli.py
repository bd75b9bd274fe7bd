"""The command line: run what is missing, print the tables, make the page anew."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from knockoffs import store
from knockoffs.contestants import CONTESTANTS, suits
from knockoffs.settings import SETS_A_DESIGN, SETTINGS, problem

WIDE = 1000
"""Settings with this many candidates take seconds a data set."""


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/knockoffs", description=__doc__)
    parser.add_argument("command", choices=("run", "tables", "page", "list"))
    parser.add_argument("--only", nargs="+", metavar="NAME", help="contestants")
    parser.add_argument("--setting", nargs="+", metavar="NAME", help="settings")
    parser.add_argument("--sets", type=int, default=500, help="data sets a setting")
    parser.add_argument("--output", type=Path, default=store.RESULTS, help="folder of the results")
    options = parser.parse_args(arguments)
    for names, known in ((options.only, CONTESTANTS), (options.setting, SETTINGS)):
        for name in names or ():
            if name not in known:
                parser.error(f"{name!r} is unknown; the command 'list' names all")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Do what the command says."""
    options = parse(arguments)
    if options.command == "run":
        run(options)
    elif options.command == "list":
        print("\n".join([*SETTINGS, "", *CONTESTANTS]))
    else:
        from knockoffs import page

        results = store.load(options.output)
        if options.command == "tables":
            print(page.tables(results))
        else:
            from knockoffs import picture

            page.write(results)
            picture.draw(results, options.output / "idea.png")
    return 0


def run(options: argparse.Namespace) -> None:
    """Go on where the files end, a design at a time; the widest settings come last."""
    names = options.only or list(CONTESTANTS)
    for wide in (False, True):
        pairs = [(n, s) for n in names for s in SETTINGS.values() if (s.p >= WIDE) == wide]
        for name, setting in pairs:
            if options.setting and setting.name not in options.setting:
                continue
            if not suits(name, setting):
                continue
            result = store.read(options.output, setting.name, name)
            start = time.perf_counter()
            while len(result["found"]) < options.sets:
                done = len(result["found"])
                stop = min(done + SETS_A_DESIGN - done % SETS_A_DESIGN, options.sets)
                for number in range(done, stop):
                    found = CONTESTANTS[name](problem(setting, number), setting, number)
                    result["found"].append([[round(x, 4) for x in pair] for pair in found])
                store.save(options.output, result)
            seconds = time.perf_counter() - start
            print(f"{setting.name}, {name}: {seconds:.0f} s", file=sys.stderr, flush=True)
