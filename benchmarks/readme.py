"""Put the saved figures into README and docs/benchmarks.md: ``python benchmarks/readme.py``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from peers import PeerResults, PeerRow
from rows import spread, target
from saved import Results, load
from suites import ROW_SUITES, TITLES
from text import number, table, with_unit

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


def front(results: Results) -> str:
    """Write the few figures of the README, the last of them from the benchmark of quality."""
    lines = []
    for suite, work, measure in FRONT:
        (row,) = (
            row
            for row in results[suite][0]
            if row.work.startswith(work) and row.measure.startswith(measure)
        )
        lines.append([row.work, row.measure, f"**{with_unit(row.value, row.unit)}**"])
    (counts,) = re.findall(r"^\| all cells \| (\d+) \| (\d+%) \(", SETTINGS.read_text(), re.M)
    lines.append(
        [
            f"defaults, {counts[0]} cells of data set × number of picks, held-out rows",
            "level with the better of fastcan and ranking by correlation, or ahead of it",
            f"**{counts[1]}**",
        ]
    )
    return table(["work", "measure", "measured"], lines)


def section(results: Results) -> str:
    """Write the tables of the suites of rows, with the machine and the command behind each."""
    parts = []
    for suite in ROW_SUITES:
        if suite not in results:
            continue
        rows, made = results[suite]
        lines = [
            [row.work, row.measure, target(row), with_unit(row.value, row.unit), spread(row)]
            for row in rows
            if row.value is not None
        ]
        header = ["work", "measure", "target", "measured", "lowest – highest (runs)"]
        parts += [f"## {TITLES[suite]}\n", table(header, lines) + "\n", _made_by(made) + "\n"]
    if "peers" in results:
        parts.append(peers_section(*results["peers"]))
    parts.append(
        "All figures, with times and memory, are in "
        "[benchmarks/results](../benchmarks/results/benchmarks.md)."
    )
    return "\n".join(parts)


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


def pages(results: Results) -> dict[Path, str]:
    """Return the pages that quote results, as they have to be."""
    parts = {README: front(results), PAGE: section(results)}
    return {path: between_marks(path.read_text(), part) for path, part in parts.items()}


if __name__ == "__main__":
    for path, text in pages(load(RESULTS)).items():
        path.write_text(text)
