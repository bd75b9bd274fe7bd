"""Put the saved figures into the README: ``python benchmarks/readme.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from peers import PeerResults, PeerRow
from rows import spread, target
from saved import Results, load
from suites import ROW_SUITES, TITLES
from text import number, table, with_unit

HERE = Path(__file__).resolve().parent
README = HERE.parent / "README.md"
RESULTS = HERE / "results"
START, END = "<!-- benchmarks: start -->", "<!-- benchmarks: end -->"


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
        parts += [f"### {TITLES[suite]}\n", table(header, lines) + "\n", _made_by(made) + "\n"]
    if "peers" in results:
        parts.append(peers_section(*results["peers"]))
    parts.append(
        "All figures, with times and memory, are in "
        "[benchmarks/results](benchmarks/results/benchmarks.md)."
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
        "### Peers\n\n"
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


def with_section(text: str, results: Results) -> str:
    """Return the README with the part between the marks written anew."""
    before, rest = text.split(START)
    after = rest.split(END)[1]
    return f"{before}{START}\n{section(results)}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(with_section(README.read_text(), load(RESULTS)))
