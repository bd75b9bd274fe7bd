"""Charts of the results, as PNG: targets met, and time against held-out R²."""

from __future__ import annotations

import statistics
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from peers import PeerResults, PeerRow
from rows import Row, target
from suites import ROW_SUITES
from text import with_unit

mpl.use("Agg")
import matplotlib.pyplot as plt

BLUE, ORANGE, GREY, INK = "#2b6cb0", "#c05621", "#a0aec0", "#2d3748"
PACKAGE_COLOURS = {
    "projse": "#c53030",
    "this folder": "#718096",
    "fastcan": "#2b6cb0",
    "scikit-learn": "#b7791f",
    "abess": "#2f855a",
    "skmatter": "#6b46c1",
    "mrmr-selection": "#d53f8c",
    "feature-engine": "#0987a0",
}


def draw(results: dict[str, Any], folder: Path) -> list[str]:
    """Draw what there is; return the names of the files."""
    drawn = []
    for suite, (found, made) in results.items():
        path = folder / f"{suite}.png"
        if suite == "peers" and any(row.seconds is not None for row in found.rows):
            peers_chart(found, made["quick"], path)
        elif suite in ROW_SUITES and any(_margin(row) for row in found):
            engine_chart(found, made["quick"], path)
        else:
            path.unlink(missing_ok=True)  # one of an earlier run would mislead
            continue
        drawn.append(path.name)
    return drawn


def _margin(row: Row) -> tuple[float, float, float] | None:
    """How many times better than its target a figure is, with its worst and its best."""
    if not row.value:
        return None
    low, high = row.low or row.value, row.high or row.value
    if row.at_most is not None:
        # A time below its baseline leaves nothing to divide by: drawn as ten times better.
        value, high, low = (v if v > 0 else row.at_most / 10 for v in (row.value, high, low))
        return row.at_most / value, row.at_most / high, row.at_most / low
    if row.at_least is not None:
        return row.value / row.at_least, low / row.at_least, high / row.at_least
    return None


def engine_chart(rows: list[Row], quick: bool, path: Path) -> None:
    """Draw how many times better than its target each figure is, on a log scale around 1."""
    shown = [(row, margin) for row in rows if (margin := _margin(row)) is not None]
    figure, axes = plt.subplots(figsize=(12, 0.5 * len(shown) + 1.4), layout="constrained")
    for place, (row, (middle, worst, best)) in enumerate(shown):
        colour = GREY if quick else BLUE if row.passed else ORANGE
        axes.barh(place, middle - 1, left=1, color=colour, height=0.55, zorder=2)
        if best > worst > 0:
            axes.plot([worst, best], [place, place], color=INK, linewidth=1.2, zorder=3)
        verdict = "" if quick or row.passed else ", missed"
        axes.annotate(
            f"{with_unit(row.value, row.unit)}  (target {target(row)}{verdict})",
            (max(middle, best, 1.0), place),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            color=INK,
        )
    labels = [
        textwrap.fill(row.work, 75) + "\n" + textwrap.fill(row.measure, 75) for row, _ in shown
    ]
    axes.set_yticks(range(len(shown)), labels, fontsize=8)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xscale("log")
    extremes = [value for _, margin in shown for value in margin if value > 0]
    lowest, highest = min(0.5, *extremes) / 1.3, max(2.0, *extremes)
    # Room to the right of the longest bar for its label.
    axes.set_xlim(lowest, highest * (highest / lowest) ** 0.6)
    axes.axvline(1, color=INK, linewidth=1)
    marks = (0.001, 0.01, 0.1, 1, 10, 100, 1000) if highest > 50 * lowest else (0.2, 0.5, 1, 2, 5)
    ticks = [t for t in marks if lowest <= t <= 1.5 * highest]
    axes.set_xticks(ticks, [f"{t:g} ×" for t in ticks])
    axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    axes.set_xlabel("times better than the target (line: lowest to highest of the rounds)")
    title = "projse: measured figures against their targets"
    axes.set_title(title + (" (quick run: not comparable)" if quick else ""), fontsize=12)
    _plain(axes)
    axes.grid(axis="x", color="#e2e8f0", zorder=0)
    axes.grid(axis="y", visible=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def peers_chart(results: PeerResults, quick: bool, path: Path) -> None:
    """Draw one panel a shape: seconds on a log scale against held-out R²."""
    names = [s for s in results.references if any(row.shape == s for row in results.rows)]
    columns = min(2, len(names))
    lines = -(-len(names) // columns)
    figure, grid = plt.subplots(
        lines, columns, figsize=(9 * columns, 6 * lines), squeeze=False, layout="constrained"
    )
    for axes in grid.flat[len(names) :]:
        axes.set_visible(False)
    panels = list(zip(grid.flat, names, strict=False))
    for axes, name in panels:
        _panel(axes, [row for row in results.rows if row.shape == name], results.references[name])
    title = "Time to select, and what the picks are worth on held-out rows"
    title += "\n(quick run: not comparable)" if quick else "\n(upper left is better)"
    figure.suptitle(title, fontsize=13)
    figure.canvas.draw()  # fixes the layout, so that labels can be kept apart
    for axes, name in panels:
        _label(axes, _points([row for row in results.rows if row.shape == name]))
    figure.savefig(path, dpi=120)
    plt.close(figure)


@dataclass(frozen=True)
class _Point:
    """A contestant that has finished, with its place in a panel."""

    contestant: str
    package: str
    seconds: float
    r2: float
    complete: bool

    @property
    def colour(self) -> str:
        return PACKAGE_COLOURS.get(self.package, INK)


def _points(rows: list[PeerRow]) -> list[_Point]:
    return [
        _Point(row.contestant, row.package, row.seconds, row.r2, row.n_picks == row.wanted)
        for row in rows
        if row.r2 is not None and row.seconds
    ]


def _panel(axes: Any, rows: list[PeerRow], references: dict[str, float]) -> None:
    done = _points(rows)
    known = {k: v for k, v in references.items() if k != "status"}
    values = [point.r2 for point in done]
    top = max(values + [v for k, v in known.items() if k == "the true ones"])
    # Far below the others, the exact place says nothing: such points sit on the lower edge.
    bottom = max(min(values), top - max(3 * (top - statistics.median(values)), 0.05))
    height = max(top - bottom, 0.02)
    axes.set_ylim(bottom - 0.15 * height, top + 0.15 * height)
    axes.set_xscale("log")
    for point in done:
        ours = point.package == "projse"
        axes.scatter(
            point.seconds,
            max(point.r2, bottom),
            s=70 if ours else 40,
            marker="v" if point.r2 < bottom else "D" if ours else "o",
            facecolors=point.colour if point.complete else "w",
            edgecolors=point.colour,
            zorder=3,
        )
    times = [point.seconds for point in done]
    axes.set_xlim(min(times) / 2, max(times) * (max(times) / min(times)) ** 0.35 * 3)
    for name, value in known.items():
        low, high = axes.get_ylim()
        if low < value < high:
            axes.axhline(value, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
            axes.annotate(
                name,
                (0.995, value),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="bottom",
                fontsize=7,
                color="#718096",
            )
    axes.set_title(f"{rows[0].shape}: {rows[0].sizes}", fontsize=11)
    axes.set_ylabel("held-out R²")
    below = [f"{point.contestant} ({point.r2:.2f})" for point in done if point.r2 < bottom]
    over = [row.contestant for row in rows if row.status.startswith(">")]
    remarks = []
    if below:
        remarks.append(f"triangles: lower than shown, {', '.join(below)}")
    if over:
        remarks.append(f"stopped at the limit: {', '.join(over)}")
    if not all(point.complete for point in done):
        remarks.append("hollow: fewer picks than asked for")
    axes.set_xlabel("seconds\n" + textwrap.fill("; ".join(remarks), 110), fontsize=9)
    _plain(axes)


def _label(axes: Any, done: list[_Point]) -> None:
    """Write names beside the points, moved up or down until none covers another."""
    lowest = min(y for scatter in axes.collections for _, y in scatter.get_offsets())
    places = {point.contestant: (point.seconds, max(point.r2, lowest)) for point in done}
    pixels = {name: axes.transData.transform(place) for name, place in places.items()}
    unit = axes.figure.dpi / 72
    taken: list[tuple[float, float, float]] = []
    for point in sorted(done, key=lambda point: -point.r2):
        x, y = pixels[point.contestant]
        left, width = x + 7 * unit, 4.4 * unit * len(point.contestant)
        step = 9.5 * unit
        shifts = sorted(range(-40, 41), key=abs)
        for shift in shifts:
            at = y + shift * step / 2
            clear = all(
                abs(at - other) >= step or left > end or left + width < start
                for start, end, other in taken
            )
            dots = all(
                abs(at - py) >= step * 0.7 or not left <= px <= left + width
                for name, (px, py) in pixels.items()
                if name != point.contestant
            )
            if clear and dots:
                break
        taken.append((left, left + width, at))
        axes.annotate(
            point.contestant,
            places[point.contestant],
            xytext=(7, (at - y) / unit),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=point.colour,
            fontweight="bold" if point.package == "projse" else "normal",
            arrowprops={"arrowstyle": "-", "color": point.colour, "linewidth": 0.5, "alpha": 0.6}
            if abs(at - y) > step
            else None,
        )


def _plain(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#edf2f7", zorder=0)
    axes.set_axisbelow(True)
