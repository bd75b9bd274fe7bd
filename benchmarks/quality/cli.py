"""The command line: run what is missing, print the tables, draw the charts."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from quality import store
from quality.contestants import CONTESTANTS
from quality.datasets import DATASETS
from quality.evaluate import Bench, sizes

DEFAULT = (
    "correlation ranking",
    "fastcan",
    "random",
    "best pair",
    "projse",
    "projse, paper",
    "SelectKBest",
    "MultiTaskLasso",
    "OrthogonalMatchingPursuit",
    "fastcan, beam",
    "SequentialFeatureSelector",
    "abess",
    "mRMR",
    "PCovCUR",
    "PMDCCA",
)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/quality", description=__doc__)
    parser.add_argument("command", choices=("run", "tables", "charts", "page", "planted", "list"))
    parser.add_argument("--only", nargs="+", metavar="NAME", help="contestants")
    parser.add_argument("--data", nargs="+", metavar="NAME", help="data sets")
    parser.add_argument(
        "--half", choices=("tune", "report", "fresh"), help="one part of the data sets"
    )
    parser.add_argument("--subject", default="projse", help="whose cells the tables count")
    parser.add_argument("--runs", type=int, default=200, help="draws of each planted case")
    parser.add_argument("--quick", action="store_true", help="two folds, small sets: does it run?")
    parser.add_argument("--output", type=Path, default=None, help="folder of the results")
    options = parser.parse_args(arguments)
    if options.output is None:
        options.output = store.RESULTS / "quick" if options.quick else store.RESULTS
    for names, known in ((options.only, CONTESTANTS), (options.data, DATASETS)):
        for name in names or ():
            if name not in known:
                parser.error(f"{name!r} is unknown; the command 'list' names all")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Do what the command says."""
    options = parse(arguments)
    if options.command == "run":
        run(options)
    elif options.command == "tables":
        from quality import tables

        print(tables.page(store.load(options.output), options.subject, options.half))
    elif options.command == "charts":
        from quality import charts

        charts.draw(store.load(options.output), options.subject, options.output)
    elif options.command == "page":
        from quality import settings_page

        settings_page.write(store.load(options.output))
    elif options.command == "planted":
        from quality import planted

        print(planted.table(options.only or ["projse", *DEFAULT[:2]], options.runs))
    else:
        for dataset in DATASETS.values():
            print(f"{dataset.half:7}{dataset.kind:10}{dataset.name}")
        print("\n".join(CONTESTANTS))
    return 0


def run(options: argparse.Namespace) -> None:
    """Run every pair that has no file yet."""
    names = options.only or list(DEFAULT)
    for dataset in DATASETS.values():
        if options.data and dataset.name not in options.data:
            continue
        if options.half and dataset.half != options.half:
            continue
        missing = [
            CONTESTANTS[name]
            for name in names
            if dataset.kind in CONTESTANTS[name].kinds
            and not store.path_of(options.output, dataset.name, name).exists()
        ]
        if not missing:
            continue
        try:
            bench = Bench(dataset, options.quick)
        except FileNotFoundError as absent:
            _say(f"{dataset.name}: {absent}")
            continue
        for contestant in missing:
            start = time.perf_counter()
            result = {
                "dataset": dataset.name,
                "kind": dataset.kind,
                "half": dataset.half,
                "made": dataset.made,
                "contestant": contestant.name,
                "sizes": sizes(bench.problem),
            }
            _, n_x, n_y = sizes(bench.problem)
            if not contestant.installed:
                result["status"] = f"skipped: {contestant.module} is not installed"
                _say(f"{dataset.name}, {contestant.name}: {result['status']}")
                continue
            if n_x * n_y > 1000 * contestant.widest:
                result["status"] = "skipped: takes too long at this width"
            else:
                try:
                    result.update(status="ok", **bench.run(contestant))
                except Exception as error:  # a peer that fails must not take the others with it
                    result["status"] = f"failed: {type(error).__name__}: {str(error)[:120]}"
            store.save(options.output, dataset.name, contestant.name, result)
            _say(
                f"{dataset.name}, {contestant.name}: {result['status']}, "
                f"{time.perf_counter() - start:.1f} s"
            )


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
