"""Put the saved engine figures into the README: ``python benchmarks/readme.py``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from report import number, spread, table, target, with_unit
from rows import Row

HERE = Path(__file__).resolve().parent
README = HERE.parent / "README.md"
RESULTS = HERE / "results" / "benchmarks.json"
START, END = "<!-- benchmarks: start -->", "<!-- benchmarks: end -->"


def section(results: dict[str, Any]) -> str:
    """Write the table of the engine, with the machine and the command behind it."""
    machine = results["machine"]
    fields = Row.__dataclass_fields__
    rows = [Row(**{k: v for k, v in entry.items() if k in fields}) for entry in results["engine"]]
    lines = [
        [row.work, row.measure, target(row), with_unit(row.value, row.unit), spread(row)]
        for row in rows
        if row.value is not None
    ]
    header = ["work", "measure", "target", "measured", "lowest – highest (runs)"]
    made = (
        f"Made by `{results['command']}` on {results['date']}, commit {machine['commit']}: "
        f"{machine['processor']}, {machine['cores']} cores, {number(machine['memory_gib'])} GiB. "
        "All figures, with times and memory, are in "
        "[benchmarks/results](benchmarks/results/benchmarks.md)."
    )
    return f"{table(header, lines)}\n\n{made}"


def with_section(text: str, results: dict[str, Any]) -> str:
    """Return the README with the part between the marks written anew."""
    before, rest = text.split(START)
    after = rest.split(END)[1]
    return f"{before}{START}\n{section(results)}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(with_section(README.read_text(), json.loads(RESULTS.read_text())))
