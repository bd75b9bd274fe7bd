"""Put the saved figures into README and docs/benchmarks.md: ``python benchmarks/readme.py``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from peers import PeerResults, PeerRow
from report import kind_title
from rows import Row, target
from saved import Results, load_machines
from suites import ROW_SUITES, TITLES
from text import number, table, with_unit

Machines = dict[str, Results]
"""What was found on each kind of machine."""

HERE = Path(__file__).resolve().parent
README = HERE.parent / "README.md"
PAGE = HERE.parent / "docs" / "benchmarks.md"
SETTINGS = HERE.parent / "docs" / "settings.md"  # holds the counts of benchmarks/quality
RESULTS = HERE / "results"
START, END = "<!-- benchmarks: start -->", "<!-- benchmarks: end -->"

# What the README shows: suite, beginning of the work, beginning of the measure.
FRONT = (
    ("engine", "1M × 100 × 100 float64, 10 picks, linear", "time ÷ numpy's"),
    ("engine", "200k × 100 × 100 float64", "speed-up over fastcan"),
    ("defaults", "1M × 100 × 100 float64", "time of the default"),
    ("stream", "20 Parquet files, 10000k × 200", "peak memory"),
)


def front(machines: Machines) -> str:
    """Write the few figures of the README, a column a machine; below them, the one of quality."""
    lines = []
    for suite, work, measure in FRONT:
        found = {
            kind: row
            for kind, results in machines.items()
            for row in results.get(suite, ([],))[0]
            if row.work.startswith(work) and row.measure.startswith(measure)
        }
        one = next(iter(found.values()))
        figures = [
            f"**{with_unit(found[kind].value, one.unit)}**" if kind in found else "–"
            for kind in machines
        ]
        lines.append([one.work, one.measure, *figures])
    counts, fresh = re.findall(r"^\| all cells \| (\d+) \| (\d+%) \(", SETTINGS.read_text(), re.M)
    return (
        table(["work", "measure", *map(kind_title, machines)], lines)
        + f"\n\nDefaults on held-out rows, {counts[0]} cells of data set × number of picks: level "
        "with the better of fastcan and ranking by correlation, or ahead of it, in "
        f"**{counts[1]}**. On {fresh[0]} cells of fresh data, looked at when all rules stood: "
        f"**{fresh[1]}**."
    )


def section(machines: Machines) -> str:
    """Write the tables of the suites of rows, with the machines and the commands behind each."""
    parts = []
    for suite in ROW_SUITES:
        of = {kind: results[suite] for kind, results in machines.items() if suite in results}
        if not of:
            continue
        cells: dict[tuple[str, str], dict[str, str]] = {}
        for kind, (rows, _) in of.items():
            for row in rows:
                if row.value is not None:
                    cells.setdefault((row.work, row.measure), {})[kind] = _figure(row)
        lines = [[*key, *(line.get(kind, "–") for kind in of)] for key, line in cells.items()]
        header = ["work", "measure", *map(kind_title, of)]
        parts += [f"## {TITLES[suite]}\n", table(header, lines) + "\n"]
        parts += [_made_by(made) + "\n" for _, made in of.values()]
    parts += [
        peers_section(*results["peers"]) for results in machines.values() if "peers" in results
    ]
    parts.append(
        "All figures, with times and memory, are in "
        "[benchmarks/results](../benchmarks/results/benchmarks.md)."
    )
    return "\n".join(parts)


def _figure(row: Row) -> str:
    """Write a figure with the lowest and the highest, and its target."""
    text = f"**{with_unit(row.value, row.unit)}**"
    if row.low is not None and row.high is not None:
        text += f" ({number(row.low)} – {number(row.high)})"
    aim = target(row)
    return text if aim == "–" else f"{text}, target {aim}"


def peers_section(found: PeerResults, made: dict[str, Any]) -> str:
    """Write one line a contestant: time over that of projse, and held-out R², a shape a column."""
    by_shape = {
        shape: {row.contestant: row for row in found.rows if row.shape == shape}
        for shape in found.references
    }
    names = list(dict.fromkeys(row.contestant for row in found.rows))
    sizes = {row.shape: row.sizes for row in found.rows}
    lines = []
    for name in names:
        rows = [by_shape[shape].get(name) for shape in by_shape]
        package = next(f"{row.package} {row.version}".strip() for row in rows if row)
        lines.append([name, package, *(_peer(row) for row in rows)])
    header = ["contestant", "package", *(f"{shape}: {sizes[shape]}" for shape in by_shape)]
    return (
        "## Peers\n\n"
        "Time over that of projse in the paper's form, and held-out R² of a linear model on the "
        f"picks: nobody wins by doing less. Stopped after {found.limit:g} s.\n\n"
        f"{table(header, lines)}\n\n"
        f"{_made_by(made)}\n"
    )


def _peer(row: PeerRow | None) -> str:
    if row is None or row.ratio is None or row.r2 is None:
        return "–" if row is None else row.status
    fewer = "" if row.n_picks == row.wanted else f" ({row.n_picks} picks)"
    return f"{number(row.ratio['median'])} ×, R² {row.r2:.3f}{fewer}"


def _made_by(made: dict[str, Any]) -> str:
    machine = made["machine"]
    return (
        f"Made by `{made['command']}` on {made['date']}, commit {machine['commit']}: "
        f"{machine['processor']}, {machine['cores']} cores, {number(machine['memory_gib'])} GiB."
        + (f" {made['note']}" if made.get("note") else "")
    )


def between_marks(text: str, part: str) -> str:
    """Return a page with the part between the marks written anew."""
    before, rest = text.split(START)
    after = rest.split(END)[1]
    return f"{before}{START}\n{part}\n{END}{after}"


def pages(machines: Machines) -> dict[Path, str]:
    """Return the pages that quote results, as they have to be."""
    parts = {README: front(machines), PAGE: section(machines)}
    return {path: between_marks(path.read_text(), part) for path, part in parts.items()}


if __name__ == "__main__":
    for path, text in pages(load_machines(RESULTS)).items():
        path.write_text(text)
