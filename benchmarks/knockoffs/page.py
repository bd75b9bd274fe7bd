"""The tables of the page on discoveries, made from the result files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knockoffs.contestants import LEVELS, STATISTICS_ON
from knockoffs.settings import DRAWS, SETTINGS, Setting

Array = NDArray[Any]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "discoveries.md"
START, END = "<!-- tables: made by benchmarks/knockoffs page -->", "<!-- end of tables -->"


def tables(results: list[dict[str, Any]]) -> str:
    """Return the tables of the page."""
    found = {(r["setting"], r["contestant"]): np.array(r["found"]) for r in results}
    n_sets = max((len(f) for f in found.values()), default=0)
    exact = [s for s in SETTINGS.values() if s.exact and not s.held_out]
    other = [s for s in SETTINGS.values() if not s.exact]
    parts = [
        f"Means of {n_sets} data sets a setting; one standard error of the mean is at most 0.022 "
        "(0.05 where fewer sets are named, and of the statistics). "
        "Sizes are rows × candidates × outputs.",
        "**Share of false discoveries** where the guarantee is exact, asked for at most 0.05, 0.1 "
        "and 0.2:",
        _rates(exact, found, 0),
        "**Share of the real variables that are found**, at the same levels:",
        _rates([s for s in exact if s.n_real], found, 1),
        "**Where the guarantee is not exact**, share of false discoveries as it comes:",
        _rates(other, found, 0),
        "and of real variables found:",
        _rates(other, found, 1),
        "**Statistics**: share of the real variables that one draw of one twin finds at level 0.1:",
        _statistics(found),
        "**The default against entry order** in settings that the default was not chosen "
        "on (their effect sizes were set after a look at what it finds in a few sets), with its "
        "twins, one draw, at level 0.1: share of the real variables found, mean difference "
        "with its standard error, and share of false discoveries:",
        _held_out(found),
    ]
    return "\n\n".join(parts)


def _rates(settings: list[Setting], found: dict[tuple[str, str], Array], which: int) -> str:
    columns = ["one draw", "several twins", "many draws", "from rows", "BH"]
    most = max((len(f) for f in found.values()), default=0)
    lines = []
    for s in settings:
        line: list[Any] = [s.name, s.text, s.n_real]
        for name in columns:
            figures = found.get((s.name, name))
            if figures is None:
                line.append("–")
                continue
            fewer = f" ({len(figures)} sets)" if len(figures) < most else ""
            line.append(_means(figures[:, :, which], len(LEVELS)) + fewer)
        lines.append(line)
    head = ["setting", "size", "real", "one twin", "several twins", f"{DRAWS} draws"]
    head += ["one twin, from rows", "BH"]
    return markdown(head, lines)


def _means(figures: Array, n: int) -> str:
    return " / ".join(f"{x:.3f}" for x in figures.mean(axis=0)[:n])


def _statistics(found: dict[tuple[str, str], Array]) -> str:
    names = {
        "one draw": "likelihood (default)",
        "ridge": "ridge",
        "order": "order",
        "score": "score",
    }
    level = LEVELS.index(0.1)
    lines = []
    for setting in STATISTICS_ON:
        figures = [found.get((setting, name)) for name in names]
        n = min((len(f) for f in figures if f is not None), default=0)
        means = ["–" if f is None else f"{f[:n, level, 1].mean():.3f}" for f in figures]
        lines.append([setting, n, *means])
    return markdown(["setting", "data sets", *names.values()], lines)


def _held_out(found: dict[tuple[str, str], Array]) -> str:
    lines = []
    for s in SETTINGS.values():
        pair = [found.get((s.name, name)) for name in ("several twins", "order, several twins")]
        if not s.held_out or any(f is None for f in pair):
            continue
        n = min(len(f) for f in pair if f is not None)
        a, b = (f[:n, 0] for f in pair if f is not None)
        ahead = a[:, 1] - b[:, 1]
        error = ahead.std(ddof=1) / np.sqrt(n)
        line: list[Any] = [s.name, s.text, s.n_real, n]
        line += [f"{x[:, 1].mean():.3f}" for x in (a, b)]
        line.append(f"{ahead.mean():+.3f} ± {error:.3f}")
        line += [f"{x[:, 0].mean():.3f}" for x in (a, b)]
        lines.append(line)
    head = ["setting", "size", "real", "data sets", "likelihood (default)", "order"]
    head += ["likelihood − order", "false, likelihood", "false, order"]
    return markdown(head, lines)


def markdown(head: list[str], lines: list[list[Any]]) -> str:
    """Write a table."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)


def page(text: str, results: list[dict[str, Any]]) -> str:
    """Return the text of the page with its tables made anew."""
    before, rest = text.split(START)
    after = rest.split(END)[1]
    return f"{before}{START}\n\n{tables(results)}\n\n{END}{after}"


def write(results: list[dict[str, Any]]) -> None:
    """Make the tables of the page anew."""
    PAGE.write_text(page(PAGE.read_text(), results))
