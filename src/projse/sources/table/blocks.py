"""The raw columns of one column of a batch: numbers side by side, or one level a row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.sources.table import read
from projse.sources.table.plan import PERIODS, ColumnPlan
from projse.warn import many

Array = NDArray[Any]


class InfinityError(ValueError):
    """A number is infinite."""


@dataclass(frozen=True)
class Block:
    """Raw columns of a variable.

    Attributes
    ----------
    what : tuple of (str, str)
        Kind and key of each column.
    values : ndarray of shape (n, k) or None
        The first columns; one more for gaps, where there are any.
    spline : ndarray of shape (n,) or None
        Instead of values: a number whose basis is evaluated where it is needed, since it is
        several times as large.
    plan : ColumnPlan or None
        Of that number.
    gap : ndarray of bool of shape (n,) or None
    codes : ndarray of int of shape (n,) or None
        Of a category, instead of values: the column that holds a 1 in each row.
    """

    what: tuple[tuple[str, str], ...]
    values: Array | None = None
    spline: Array | None = None
    plan: ColumnPlan | None = None
    gap: Array | None = None
    codes: Array | None = None

    @property
    def n_gaps(self) -> int:
        """Number of rows in which the value is missing."""
        return 0 if self.gap is None else int(np.count_nonzero(self.gap))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return np.dtype(np.float64) if self.values is None else self.values.dtype

    @property
    def n_entries(self) -> int:
        """Number of values that a row has."""
        return len(self.what) if self.codes is None else 1

    def write(self, part: slice, out: Array) -> None:
        """Write some rows of all columns, but for splines, which are evaluated by others."""
        if self.codes is not None:
            out[:] = self.codes[part, None] == np.arange(len(self.what))
            return
        if self.values is not None:
            out[:, : self.values.shape[1]] = self.values[part]
        if self.gap is not None:
            out[:, -1] = self.gap[part]

    def take(self, rows: Array) -> Block:
        """Keep some rows."""
        parts = ("values", "spline", "gap", "codes")
        known = {name: getattr(self, name) for name in parts if getattr(self, name) is not None}
        return replace(self, **{name: part[rows] for name, part in known.items()})


def block_of(column: Any, plan: ColumnPlan) -> Block:
    """Encode a column of a batch."""
    return _BLOCKS[plan.kind](column, plan)


def gaps_of(column: Any, plan: ColumnPlan) -> NDArray[np.bool_]:
    """Mark the rows in which a value is missing."""
    if plan.kind == "number":
        return np.isnan(read.numbers(column))
    if plan.kind == "date":
        return read.microseconds(column) == read.NO_TIME
    return read.levels(column)[0] < 0


def _number(column: Any, plan: ColumnPlan) -> Block:
    values = read.numbers(column)
    with np.errstate(over="ignore", invalid="ignore"):
        finite = bool(np.isfinite(values.sum(dtype=np.float64)))
    if not finite and (n_inf := int(np.isinf(values).sum())):
        raise InfinityError(f"infinity in {many(n_inf, 'row')}")
    gap = np.zeros(len(values), dtype=bool) if finite else np.isnan(values)
    if plan.knots:
        n_columns = len(plan.knots) + plan.degree - 2
        what = tuple(("spline", str(k)) for k in range(n_columns))
        return _with_gap(what, gap, spline=values, plan=plan)
    if gap.any():
        values = np.where(gap, values.dtype.type(plan.fill), values)
    return _with_gap((("value", ""),), gap, values=values[:, None])


def _date(column: Any, plan: ColumnPlan) -> Block:
    times = read.microseconds(column)
    gap = times == read.NO_TIME
    times = np.where(gap, plan.origin, times)
    columns = [(times - plan.origin) / (1e6 * plan.scale)]
    what = [("trend", "")]
    for name in plan.cycles:
        period = round(PERIODS[name] * 1e6)
        angle = (2 * np.pi / period) * (times % period)
        columns += [np.sin(angle), np.cos(angle)]
        what += [("cycle", f"{name}:sin"), ("cycle", f"{name}:cos")]
    values = np.stack(columns, axis=1)
    values[gap] = 0.0
    return _with_gap(tuple(what), gap, values=values)


def _category(column: Any, plan: ColumnPlan) -> Block:
    codes, keys = read.levels(column)
    gap = codes < 0
    what = tuple(("level", key) for key in keys)
    if not gap.any():
        return Block(what, codes=codes)
    return Block((*what, ("gap", "")), codes=np.where(gap, len(keys), codes), gap=gap)


def _identifier(column: Any, plan: ColumnPlan) -> Block:
    return Block((("dropped", ""),), np.zeros((len(column), 1)))


_BLOCKS = {"number": _number, "date": _date, "category": _category, "identifier": _identifier}


def _with_gap(what: tuple[tuple[str, str], ...], gap: Array, **columns: Any) -> Block:
    if not gap.any():
        return Block(what, **columns)
    return Block((*what, ("gap", "")), gap=gap, **columns)
