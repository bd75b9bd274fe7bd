"""A row of a result table: what was measured, and what it should be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from measure import MIB, Comparison, Ratio
from text import number, with_unit_exact


@dataclass
class Row:
    """One measured figure of the engine, with its spread and its target.

    ``value`` is None where nothing was measured; ``note`` then says why. ``at_most`` and
    ``at_least`` are None where there is no target. ``other_work`` is the share of the processor
    that other processes used meanwhile.
    """

    case: str
    work: str
    measure: str
    value: float | None
    unit: str = "ratio"
    low: float | None = None
    high: float | None = None
    of_best: float | None = None
    n_runs: int = 0
    at_most: float | None = None
    at_least: float | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    memory_mib: dict[str, float] = field(default_factory=dict)
    note: str = ""
    other_work: float | None = None

    @property
    def passed(self) -> bool | None:
        """Whether the target is met; None without a figure or without a target."""
        if self.value is None:
            return None
        if self.at_most is not None:
            return self.value <= self.at_most
        if self.at_least is not None:
            return self.value >= self.at_least
        return None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**asdict(self), "passed": self.passed}


Case = Callable[[bool], list[Row]]
"""Measures something and returns its rows; True asks for sizes that only show that it runs."""


def ratio_row(case: str, work: str, measure: str, ratio: Ratio, **more: Any) -> Row:
    """Make a row of a ratio, with its spread."""
    return Row(
        case=case,
        work=work,
        measure=measure,
        value=ratio.median,
        low=ratio.low,
        high=ratio.high,
        of_best=ratio.of_best,
        n_runs=ratio.n_pairs,
        **more,
    )


def time_ratio_row(
    case: str,
    work: str,
    measure: str,
    measured: Comparison,
    over: tuple[str, str],
    *,
    beside: Sequence[str] = (),
    **more: Any,
) -> Row:
    """Make a row of the time of one contestant over that of another.

    Parameters
    ----------
    case, work, measure : str
    measured : Comparison
    over : tuple of two str
        The contestant whose time is divided, and the one it is divided by.
    beside : sequence of str, default=()
        Contestants whose seconds and memory stand beside the ratio; all if none is named.
    **more
        Target and other fields of the row.
    """
    seconds = measured.medians(*beside)
    memory = {name: measured.memory[name] / MIB for name in seconds}
    ratio = measured.ratio(*over)
    return ratio_row(case, work, measure, ratio, seconds=seconds, memory_mib=memory, **more)


def spread_row(case: str, work: str, measure: str, values: Sequence[float], **more: Any) -> Row:
    """Make a row of the median of values, one a round, with the lowest and the highest."""
    return Row(
        case=case,
        work=work,
        measure=measure,
        value=float(np.median(values)),
        low=min(values),
        high=max(values),
        n_runs=len(values),
        **more,
    )


def not_run(case: str, work: str, measure: str, why: str, **target: Any) -> Row:
    """Make a row that says why there is no figure."""
    return Row(case, work, measure, None, note=f"not run: {why}", **target)


def target(row: Row) -> str:
    """Write the target of a row, or a dash."""
    if row.at_most is not None:
        return f"≤ {with_unit_exact(row.at_most, row.unit)}"
    if row.at_least is not None:
        return f"≥ {with_unit_exact(row.at_least, row.unit)}"
    return "–"


def spread(row: Row) -> str:
    """Write the smallest and the largest of the paired ratios."""
    if row.low is None or row.high is None:
        return "one run" if row.value is not None else "–"
    return f"{number(row.low)} – {number(row.high)} ({row.n_runs})"
