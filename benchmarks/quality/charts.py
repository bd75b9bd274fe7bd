"""Charts: the subject against the better peer, cell by cell, and against each contestant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from quality import tables

mpl.use("Agg")
import matplotlib.pyplot as plt

COLOURS = {"ahead": "#2b6cb0", "level": "#a0aec0", "behind": "#c05621"}
EDGE = 6.0  # standard errors beyond which the exact place says nothing


def draw(results: list[dict[str, Any]], subject: str, folder: Path) -> list[Path]:
    """Draw one chart a half that has results; return the files."""
    drawn = []
    for half in ("tune", "report"):
        of_half = [result for result in results if result["half"] == half]
        found = tables.cells(tables.scores_of(of_half), subject)
        if found:
            drawn.append(_cells_chart(found, subject, half, folder / f"cells-{half}.png"))
    return drawn


def _cells_chart(found: list[tables.Cell], subject: str, half: str, path: Path) -> Path:
    """Draw one line a data set, one point a number of picks, in standard errors."""
    names = list(dict.fromkeys(cell.dataset for cell in found))
    figure, axes = plt.subplots(figsize=(9, 0.26 * len(names) + 1.6), layout="constrained")
    for cell in found:
        axes.scatter(
            np.clip(cell.errors, -EDGE, EDGE),
            names.index(cell.dataset),
            s=12 + 1.5 * cell.number,
            color=COLOURS[cell.verdict],
            alpha=0.8,
            linewidths=0,
        )
    axes.axvline(0, color="#2d3748", linewidth=1)
    axes.axvline(-tables.FAR, color="#c05621", linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel("standard errors ahead of the better of fastcan and correlation ranking")
    axes.set_title(f"{subject}, {half} half (larger points: more picks)", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#edf2f7")
    axes.set_axisbelow(True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path
