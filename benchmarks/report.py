"""The page of the results, in Markdown, with its charts."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from typing import Any

from growth import Growth
from peers import PeerResults, PeerRow
from rows import Row, spread, target
from saved import Results, load_machines, replace_text
from suites import ROW_SUITES, TITLES
from text import number, seconds_text, table, with_unit

CHARTS = {
    "engine": "Measured figures against their targets",
    "defaults": "Measured figures against their targets",
    "trust": "Measured figures against their targets",
    "discoveries": "Measured figures against their targets",
    "stream": "Measured figures against their targets",
    "tables": "Measured figures against their targets",
    "outputs": "Measured figures against their targets",
    "clusters": "Measured figures against their targets",
    "peers": "Time against held-out R²",
}

QUICK = (
    "**Quick run: sizes are shrunk until the code merely runs. Figures compare with nothing, and "
    "targets do not apply.**"
)


def disturbed(entries: list[Any]) -> list[str]:
    """Name the cases during which other processes used more than a twentieth of the machine."""
    names = [
        f"{getattr(entry, 'case', None) or entry.axis} ({100 * entry.other_work:.0f} %)"
        for entry in entries
        if (entry.other_work or 0.0) > 0.05
    ]
    return list(dict.fromkeys(names))


def engine_table(rows: list[Row], quick: bool) -> str:
    """Targets of the engine beside what was measured."""
    lines = []
    for row in rows:
        met = {True: "yes", False: "**no**", None: "–"}[None if quick else row.passed]
        beside = ", ".join(f"{name} {seconds_text(s)}" for name, s in row.seconds.items())
        memory = ", ".join(f"{name} {number(mib)}" for name, mib in row.memory_mib.items())
        measured = f"**{with_unit(row.value, row.unit)}**" if row.value is not None else "–"
        lines.append(
            [
                row.work,
                row.measure,
                target(row),
                measured,
                spread(row),
                met,
                beside or "–",
                memory or "–",
                row.note,
            ]
        )
    return table(
        [
            "work",
            "measure",
            "target",
            "measured",
            "lowest – highest (runs)",
            "met",
            "median time",
            "peak extra MiB",
            "note",
        ],
        lines,
    )


def peers_tables(results: PeerResults) -> str:
    """Write one table a shape, fastest first, those that did not finish last."""
    parts = []
    for shape, references in results.references.items():
        rows = [row for row in results.rows if row.shape == shape]
        if not rows:
            continue
        rows.sort(key=lambda row: math.inf if row.seconds is None else row.seconds)
        known = [f"{name} {number(r2)}" for name, r2 in references.items() if name != "status"]
        parts.append(f"### {shape}: {rows[0].sizes}\n")
        parts.append(f"Held-out R² to judge by: {', '.join(known)}.\n")
        parts.append(
            table(
                [
                    "contestant",
                    "package",
                    "settings",
                    "time",
                    "time ÷ that of projse, paper",
                    "lowest – highest (runs)",
                    "peak extra MiB",
                    "picks",
                    "held-out R²",
                ],
                [_peer_line(row) for row in rows],
            )
            + "\n"
        )
    return "\n".join(parts)


def _peer_line(row: PeerRow) -> list[str]:
    package = f"{row.package} {row.version}".strip()
    if row.seconds is None or row.ratio is None:
        return [row.contestant, package, row.settings, row.status, *["–"] * 5]
    ratio = row.ratio
    return [
        row.contestant,
        package,
        row.settings,
        seconds_text(row.seconds),
        f"{number(ratio['median'])} ×",
        f"{number(ratio['low'])} – {number(ratio['high'])} ({ratio['n_pairs']})",
        number(row.memory_mib),
        f"{row.n_picks} of {row.wanted}",
        "–" if row.r2 is None else f"{row.r2:.4f}",
    ]


def growth_table(growths: list[Growth]) -> str:
    """Exponents of ProjSe and of the textbook baseline side by side."""
    lines = []
    for growth in growths:
        fixed = ", ".join(f"{key} = {value}" for key, value in growth.fixed.items())
        cells = []
        for who in ("projse", "textbook"):
            middle, low, high = growth.exponents[who]
            cells.append(f"**{middle:.2f}** ({low:.2f} – {high:.2f})")
        last = {who: seconds[-1] for who, seconds in growth.seconds.items()}
        lines.append(
            [
                f"{growth.symbol} from {growth.sizes[0]} to {growth.sizes[-1]}",
                fixed,
                *cells,
                f"{seconds_text(last['projse'])}, {seconds_text(last['textbook'])}",
                f"{number(last['textbook'] / last['projse'])} ×",
            ]
        )
    return table(
        [
            "what grows",
            "what stays",
            "exponent, projse (lowest – highest)",
            "exponent, textbook",
            "time at the largest: projse, textbook",
            "speed-up there",
        ],
        lines,
    )


def machine_lines(machine: dict[str, Any]) -> str:
    """Write what it ran on, and a warning where other work was running."""
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    lines = [
        f"- Machine: {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB, {machine['system']}",
        f"- BLAS: {'; '.join(machine['blas'])}",
        f"- Software: Python {machine['python']}, {packages}; commit {machine['commit']}",
    ]
    load = machine.get("load_average")
    if load and load[0] > 0.5 * machine["cores"]:
        lines.append(
            f"- **The machine was busy when this started (load {load[0]}): do not trust it.**"
        )
    return "\n".join(lines)


def made_by(made: dict[str, Any], entries: list[Any]) -> str:
    """Write where the figures of a suite come from, and which of them not to trust."""
    parts = [f"Made by `{made['command']}`, {made['date']}, in {made['minutes']} minutes.\n"]
    parts.append(machine_lines(made["machine"]) + "\n")
    if made.get("note"):
        parts.append(f"**{made['note']}**\n")
    busy = disturbed(entries)
    if busy:
        parts.append(
            "**Other processes used the processor meanwhile; do not trust these cases:** "
            f"{', '.join(busy)}.\n"
        )
    return "\n".join(parts)


def markdown(results: Results, charts: list[str], kind: str) -> str:
    """Write what one kind of machine gave: a part a suite, with the command behind it."""
    parts = [f"# {kind_title(kind)}\n"] if kind else []
    for suite in [*ROW_SUITES, "peers", "growth"]:
        if suite not in results:
            continue
        found, made = results[suite]
        parts.append(f"## {TITLES.get(suite, suite.capitalize())}\n")
        if made["quick"]:
            parts.append(QUICK + "\n")
        parts.append(made_by(made, [] if suite == "peers" else found))
        if suite == "peers":
            parts += [
                f"A contestant that takes longer than {found.limit:g} s is stopped. The judge is a "
                "linear model on the picks (ridge where rows are few), on rows that nobody has "
                "seen.\n",
                peers_tables(found),
            ]
        elif suite == "growth":
            parts.append(growth_table(found) + "\n")
        else:
            parts.append(engine_table(found, made["quick"]) + "\n")
        if f"{suite}.png" in charts:
            path = f"{kind}/{suite}.png" if kind else f"{suite}.png"
            parts.append(f"![{CHARTS[suite]}]({path})\n")
    return "\n".join(parts)


def kind_title(kind: str) -> str:
    """Write the name of a kind of machine as people do: Intel, AVX-512, Haswell kernels."""
    maker, vectors, kernels, *_ = [*kind.split("-"), "", ""]
    maker = maker.upper() if maker == "amd" else maker.capitalize()
    vectors = vectors.upper().replace("AVX5", "AVX-5")
    kernels = f"{kernels.capitalize()} kernels" if kernels else ""
    return ", ".join(part for part in (maker, vectors, kernels) if part)


def can_draw() -> bool:
    """Whether matplotlib is there."""
    return importlib.util.find_spec("matplotlib") is not None


def write_page(root: Path) -> str:
    """Write benchmarks.md and the charts from what was saved; return the Markdown."""
    parts = [
        "# Benchmarks\n",
        "Contestants ran in turns in one process; a ratio is the median over rounds of the ratio "
        "within a round. Memory is the peak of the resident set beyond what was in use before.\n",
    ]
    for kind, results in load_machines(root).items():
        charts: list[str] = []
        if can_draw():
            import charts as drawing

            charts = drawing.draw(results, root / kind)
        parts.append(markdown(results, charts, kind))
    text = "\n".join(parts)
    replace_text(root / "benchmarks.md", text)
    return text
