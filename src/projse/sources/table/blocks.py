"""The raw columns of one column of a batch: numbers side by side, or one level a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.sources.table import read
from projse.sources.table.plan import PERIODS, ColumnPlan
from projse.sources.table.splines import spline_columns

Array = NDArray[Any]


@dataclass(frozen=True)
class Block:
    """Raw columns of a variable.

    Attributes
    ----------
    what : tuple of (str, str)
        Kind and key of each column.
    values : ndarray of shape (n, len(what)) or None
    codes : ndarray of int of shape (n,) or None
        Of a category, instead of values: the column that holds a 1 in each row.
    n_gaps : int
    """

    what: tuple[tuple[str, str], ...]
    values: Array | None = None
    codes: Array | None = None
    n_gaps: int = 0


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
    n_inf = int(np.isinf(values).sum())
    if n_inf:
        raise ValueError(f"infinity in {n_inf} rows")
    gap = np.isnan(values)
    if plan.knots:
        columns = spline_columns(values, plan.knots, plan.degree)
        what = tuple(("spline", str(k)) for k in range(columns.shape[1]))
        return _with_gap(columns, what, gap)
    if gap.any():
        values = np.where(gap, values.dtype.type(plan.fill), values)
    return _with_gap(values[:, None], (("value", ""),), gap)


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
    return _with_gap(values, tuple(what), gap)


def _category(column: Any, plan: ColumnPlan) -> Block:
    codes, keys = read.levels(column)
    n_gaps = int(np.count_nonzero(codes < 0))
    what = tuple(("level", key) for key in keys)
    if n_gaps:
        codes, what = np.where(codes < 0, len(keys), codes), (*what, ("gap", ""))
    return Block(what, codes=codes, n_gaps=n_gaps)


def _identifier(column: Any, plan: ColumnPlan) -> Block:
    return Block((("dropped", ""),), np.zeros((len(column), 1)))


_BLOCKS = {"number": _number, "date": _date, "category": _category, "identifier": _identifier}


def _with_gap(values: Array, what: tuple[tuple[str, str], ...], gap: NDArray[np.bool_]) -> Block:
    n_gaps = int(np.count_nonzero(gap))
    if n_gaps:
        values = np.concatenate([values, gap[:, None].astype(values.dtype)], axis=1)
        what = (*what, ("gap", ""))
    return Block(what, values, n_gaps=n_gaps)
