"""How time grows with rows, candidates, references and picks: exponents, fitted.

Whole fits are timed, so an exponent below 1 means that something else still dominates at these
sizes. ProjSe and the textbook baseline run in turns on the same data.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import data
import numpy as np
from machine import OtherWork
from measure import compare, exponents
from picking import paper_form, picks
from textbook import textbook_select


@dataclass(frozen=True)
class Axis:
    """One size that grows while the others stay."""

    name: str
    symbol: str
    sizes: tuple[int, ...]
    fixed: dict[str, int]
    quick_sizes: tuple[int, ...]
    quick_fixed: dict[str, int]


AXES = {
    axis.name: axis
    for axis in (
        Axis(
            "rows",
            "m",
            (20_000, 40_000, 80_000, 160_000, 320_000),
            {"n_x": 100, "n_y": 50, "n": 10},
            (500, 1_000, 2_000),
            {"n_x": 20, "n_y": 10, "n": 5},
        ),
        Axis(
            "candidates",
            "n_x",
            (1_000, 2_000, 4_000, 8_000, 16_000),
            {"m": 5_000, "n_y": 20, "n": 20},
            (50, 100, 200),
            {"m": 200, "n_y": 10, "n": 5},
        ),
        Axis(
            "references",
            "n_y",
            (100, 200, 400, 800, 1_600),
            {"m": 5_000, "n_x": 500, "n": 50},
            (10, 20, 40),
            {"m": 200, "n_x": 50, "n": 5},
        ),
        Axis(
            "picks",
            "n",
            (10, 20, 40, 80, 160),
            {"m": 1_000, "n_x": 20_000, "n_y": 200},
            (5, 10, 20),
            {"m": 100, "n_x": 500, "n_y": 20},
        ),
    )
}


@dataclass
class Growth:
    """Exponents of one axis: for each contestant the median over rounds, and the extremes."""

    axis: str
    symbol: str
    sizes: list[int]
    fixed: dict[str, int]
    exponents: dict[str, tuple[float, float, float]]
    seconds: dict[str, list[float]]
    n_runs: int
    other_work: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def run_axis(name: str, quick: bool) -> Growth:
    """Measure one axis."""
    axis = AXES[name]
    sizes = axis.quick_sizes if quick else axis.sizes
    fixed = axis.quick_fixed if quick else axis.fixed
    seconds: dict[str, list[list[float]]] = {"projse": [], "textbook": []}
    repeats, other = 3, OtherWork()
    for size in sizes:
        at = {**fixed, axis.symbol: size}
        X, Y = data.regression(at["m"], at["n_x"], at["n_y"])
        measured = compare(
            {
                "projse": partial(picks, paper_form(at["n"]), X, Y),
                "textbook": partial(textbook_select, X, Y, at["n"]),
            },
            repeats,
        )
        for contestant, times in measured.times.items():
            seconds[contestant].append(times)
    return Growth(
        axis=name,
        symbol="D" if axis.symbol == "n" else axis.symbol,
        sizes=list(sizes),
        fixed={"D" if key == "n" else key: value for key, value in fixed.items()},
        exponents={who: _slopes(sizes, times) for who, times in seconds.items()},
        seconds={who: [float(np.median(t)) for t in times] for who, times in seconds.items()},
        n_runs=repeats,
        other_work=other.share(),
    )


def _slopes(sizes: tuple[int, ...], times: list[list[float]]) -> tuple[float, float, float]:
    slopes = exponents(sizes, times)
    return float(np.median(slopes)), min(slopes), max(slopes)
