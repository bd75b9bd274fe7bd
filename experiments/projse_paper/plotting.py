"""Figures that look alike: colours, panels, and files that do not change from run to run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#7F7F7F")
"""Told apart by people with any kind of colour vision (Okabe and Ito)."""


def panels(n_rows: int, n_columns: int, *, height: float = 3.2) -> tuple[Figure, Any]:
    """Return a figure and its axes, always as a two-dimensional array."""
    figure = Figure(figsize=(4.2 * n_columns + 0.6, height * n_rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(n_rows, n_columns, squeeze=False)
    return figure, axes


def finish(figure: Figure) -> Figure:
    """Give all axes of a figure the same grid."""
    for axis in figure.axes:
        axis.grid(alpha=0.3)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    return figure


def save(figure: Figure, stem: Path) -> None:
    """Write PNG and PDF, without dates."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(stem.with_suffix(".png"), dpi=110, metadata={"Software": None})
    figure.savefig(stem.with_suffix(".pdf"), metadata={"CreationDate": None})
