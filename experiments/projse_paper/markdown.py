"""Markdown of the results page: tables whose every row names the files its numbers come from."""

from __future__ import annotations

import math
from typing import Any

from projse_paper.benchmarks import text
from projse_paper.store import Record

table = text.table

RESULTS = "../experiments/results"
"""Folder of the results, as seen from the page."""


def source(*records: Record | None) -> str:
    """Link the files of records."""
    links = []
    for record in records:
        if record is not None:
            path = f"{RESULTS}/{record.path.parent.name}/{record.path.name}"
            links.append(f"[{record.name}]({path})")
    return ", ".join(links)


def number(value: float | None, digits: int = 2) -> str:
    """Write a figure with so many decimals; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.{digits}f}"


def with_spread(mean: float, spread: float, digits: int = 2) -> str:
    """Write a mean and its standard deviation, as the paper does."""
    return f"{mean:.{digits}f} ({spread:.{digits}f})"


def difference(ours: float | None, paper: float | None, digits: int = 2) -> str:
    """Write ours less the paper's, both rounded as they are shown."""
    if ours is None or paper is None:
        return "–"
    gap = round(ours, digits) - round(paper, digits)
    return f"{gap:+.{digits}f}".replace("-", "−")


def seconds(value: float | None) -> str:
    """Write a time with three figures that matter."""
    if value is not None and value < 5e-5:
        return "0"
    return text.number(value)


def at(record: Record | None, size: int, key: str) -> float | None:
    """Return the entry of a curve at a number of variables, or None."""
    if record is None or not record.results or size not in record.results["sizes"]:
        return None
    value: Any = record.results[key][record.results["sizes"].index(size)]
    return float(value)


def not_run(record: Record | None) -> str:
    """Say why a record has no numbers."""
    if record is None:
        return "not run"
    return f"not run: {record.reason}"


def figure(experiment: str, alt: str) -> str:
    """Show the figure of an experiment."""
    path = f"{RESULTS}/{experiment}/{experiment}"
    return f"![{alt}]({path}.png)\n\n[PDF]({path}.pdf) · [CSV]({path}.csv)"
