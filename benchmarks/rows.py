"""A row of a result table: what was measured, and what it should be."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from measure import MIB, Ratio


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


def ratio_row(
    case: str,
    work: str,
    measure: str,
    ratio: Ratio,
    seconds: dict[str, float],
    memory: dict[str, int],
    **more: Any,
) -> Row:
    """Make a row of a ratio; ``seconds`` names the contestants that belong to it."""
    return Row(
        case=case,
        work=work,
        measure=measure,
        value=ratio.median,
        low=ratio.low,
        high=ratio.high,
        of_best=ratio.of_best,
        n_runs=ratio.n_pairs,
        seconds=seconds,
        memory_mib={name: memory[name] / MIB for name in seconds if name in memory},
        **more,
    )


def not_run(case: str, work: str, measure: str, why: str, **target: Any) -> Row:
    """Make a row that says why there is no figure."""
    return Row(case, work, measure, None, note=f"not run: {why}", **target)
