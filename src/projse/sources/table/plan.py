"""How one column is encoded: what a first look at its values fixes once and for all rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.sources.table import read
from projse.sources.table.splines import knots_of

Array = NDArray[Any]

DAY = 86_400.0

PERIODS = {"year": 365.2425 * DAY, "week": 7 * DAY, "day": DAY}
"""Cycles that a date may have, in seconds."""


@dataclass(frozen=True)
class ColumnPlan:
    """How a column becomes raw columns.

    Attributes
    ----------
    kind : {"number", "category", "date", "identifier"}
    fill : float
        Of a number: what stands at gaps, the mean of the first look.
    knots : tuple of float
        Of a spline basis; empty for the number itself.
    degree : int
        Of the splines.
    origin : int
        Of a date: microseconds since 1970 at which the trend is 0.
    scale : float
        Seconds in which the trend grows by 1.
    span : float
        Seconds from the first to the last date of the first look.
    cycles : tuple of str
        Those that the resolution of the dates supports.
    """

    kind: str
    fill: float = 0.0
    knots: tuple[float, ...] = ()
    degree: int = 3
    origin: int = 0
    scale: float = 1.0
    span: float = 0.0
    cycles: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: those that are not the default."""
        default = ColumnPlan("")
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if value != getattr(default, name)
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> ColumnPlan:
        """Undo :meth:`as_dict`."""
        known = {field.name for field in fields(cls)}
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in plain.items()
            if name in known
        }
        return cls(**values)


def plan_of(
    column: Any, kind: str, basis: str, max_levels: int | None, weight: Array | None = None
) -> ColumnPlan:
    """Look at the first values of a column."""
    if kind == "number":
        return _number(read.numbers(column), basis, weight)
    if kind == "date":
        return _date(read.microseconds(column))
    codes, keys = read.levels(column)
    return ColumnPlan("identifier" if _identifies(codes, keys, max_levels) else "category")


def _number(values: Array, basis: str, weight: Array | None) -> ColumnPlan:
    known = np.isfinite(values)
    values = values[known].astype(np.float64)
    if not values.size:
        return ColumnPlan("number")
    with np.errstate(over="ignore"):
        mean = float(values.mean())
    # A median of two in the middle might overflow as well.
    fill = mean if np.isfinite(mean) else float(np.sort(values)[len(values) // 2])
    knots: tuple[float, ...] = ()
    degree = 3
    if basis == "spline":
        knots, degree = knots_of(values, None if weight is None else weight[known])
    return ColumnPlan("number", fill, knots, degree)


def _date(times: Array) -> ColumnPlan:
    times = times[times != read.NO_TIME]
    if not times.size:
        return ColumnPlan("date", cycles=tuple(PERIODS))
    low, high = int(times.min()), int(times.max())
    origin = low + int((times - low).mean())
    span = (high - low) / 1e6
    by_day = bool((times % int(DAY * 1e6) == 0).all())
    cycles = tuple(name for name in PERIODS if not (by_day and name == "day"))
    return ColumnPlan("date", origin=origin, scale=span or 1.0, span=span, cycles=cycles)


SMALLEST_IDENTIFIER = 100
"""So many rows or more, each with a level of its own, look like an identifier: of fewer, the first
of a stream, a category of up to 1000 levels may well show each only once (for 100, once in 170)."""


def _identifies(codes: Array, keys: list[str], max_levels: int | None) -> bool:
    if max_levels is None:
        return False
    n_rows = int(np.count_nonzero(codes >= 0))
    return len(keys) > max_levels or (len(keys) == n_rows and n_rows >= SMALLEST_IDENTIFIER)
