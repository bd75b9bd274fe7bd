"""The results page, from saved files and the paper's numbers only."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

from projse_paper.markdown import at, difference, number, source, table
from projse_paper.paper import numbers
from projse_paper.sections import ALL
from projse_paper.store import Record, Store, finished, replace_text


def write_page(store: Store, path: Path) -> str:
    """Write the page; return its text."""
    text = make_page(store)
    replace_text(path, text)
    return text


def make_page(store: Store) -> str:
    """Return the page as Markdown."""
    records = {name: store.records(name) for name in ALL}
    parts = [INTRODUCTION, _short(records), _made(records)]
    for i, (name, module) in enumerate(ALL.items(), start=1):
        parts += [f"## {i}. {module.TITLE}", module.section(records[name])]
    return "\n\n".join(part for part in parts if part) + "\n"


INTRODUCTION = """\
# The paper, made again

Every number of the paper's experiments beside ours, the difference, and where they differ an
experiment that shows why. This page is written by `projse-paper page` from the files in
`experiments/results`, never by hand. Each row links the files its numbers come from; each file
names the command, the commit, the versions, the machine and the seconds. The paper's numbers come
from `experiments/projse_paper/paper_numbers.toml`. *Quoted* means taken from the paper and not run
here. What could not be run says so, and why. Lines marked **beyond** use what projse adds to the
paper (ridge, leading directions, residual rounds, cross-validation), with settings chosen without
looking at the test rows, or at the classes in clustering.

To make it again: `pip install -e . -e experiments`, then `projse-paper run all` and
`projse-paper page`. A run that was stopped goes on where it was; `--quick` takes minutes and shows
that everything runs."""


def _short(records: dict[str, dict[str, Record]]) -> str:
    views, series = records["two-view"], records["timeseries"]
    lines = []
    paper = numbers()["two_view"]["mnist"]["projse"]
    record = views.get("mnist-projse-linear")
    for size, theirs in zip(paper["sizes"], paper["rho"], strict=True):
        ours = at(record, size, "rho_test")
        held = "–" if ours is None else "yes" if ours >= theirs - 0.01 else "**no**"
        what = f"MNIST halves, ρ at {size} variables: within 0.01 of the paper, or above"
        cells = [number(theirs, 3), number(ours, 3), difference(ours, theirs, 3)]
        lines.append([what, *cells, held, source(record)])
    what = "ShapesAll, linear SVM: 59 selected variables above all 512"
    lines += _beside_all(series, "shapesall", 59, "linear_accuracy", what, operator.gt)
    what = "Crop, RBF SVM: 20 selected variables within 0.03 of all 46"

    def near(ours: float, base: float) -> bool:
        return ours >= base - 0.03

    lines += _beside_all(series, "crop", 20, "rbf_accuracy", what, near)
    return "## In short\n\n" + table(
        ["what", "paper, or all variables", "ours", "difference", "holds", "files"], lines
    )


def _beside_all(
    records: dict[str, Record],
    dataset: str,
    size: int,
    measure: str,
    what: str,
    holds: Callable[[float, float], bool],
) -> list[list[str]]:
    """Hold some selected variables against all; no line where either was not run."""
    whole = finished(records, f"{dataset}-all")
    record = finished(records, f"{dataset}-projse-linear")
    if whole is None or record is None:
        return []
    base, ours = whole.results[measure][0], at(record, size, measure)
    held = "yes" if ours is not None and holds(ours, base) else "**no**"
    cells = [f"all: {number(base, 3)}", number(ours, 3), difference(ours, base, 3)]
    return [[what, *cells, held, source(record, whole)]]


def _made(records: dict[str, dict[str, Record]]) -> str:
    """Say how the files were made: commands, commits, time, machine."""
    lines = []
    for name, found in records.items():
        if not found:
            continue
        made = [record.content["made"] for record in found.values()]
        whole = {entry["command"].split(" --only")[0] for entry in made}
        in_parts = any("--only" in entry["command"] for entry in made)
        commands = [f"`{command}`" for command in sorted(whole)]
        commits = sorted({entry["commit"] or "unknown" for entry in made})
        machines = sorted({_machine(entry["machine"]) for entry in made})
        missing = sum(record.reason is not None for record in found.values())
        total = sum(entry["seconds"] for entry in made) / 60
        lines.append(
            [
                name,
                str(len(found) - missing),
                str(missing),
                f"{total:.1f}",
                "; ".join(commands) + (", in parts with `--only`" if in_parts else ""),
                ", ".join(commits),
                "; ".join(machines),
            ]
        )
    header = ["experiment", "units", "not run", "minutes", "commands", "commits", "machine"]
    return "\n\n".join(
        [
            "How these numbers were made. Minutes are the sum over the units, on the clock. The "
            "machine was shared with other work during the run, and several units ran side by "
            "side: its times are upper bounds.",
            table(header, lines),
        ]
    )


def _machine(machine: dict[str, Any]) -> str:
    return f"{machine['processor']}, {machine['cores']} cores"
