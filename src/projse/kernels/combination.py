"""What the subspace of a variable is, as combinations of its raw columns, read off moments.

Rows are encoded without a look ahead: every level, every gap and every cycle has a column. Which
levels are too rare to stand alone, what the mean of a number with gaps is, and which cycles the
dates cover is known once all rows were summed, and is a linear map of the columns. So streams,
clusters and memory come to the same subspaces from one pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.moments.counts import rows_that_count
from projse.moments.sparse_products import block_diagonal
from projse.sources.table.encoder import MAX_LEVELS, TableEncoder
from projse.sources.table.plan import PERIODS, ColumnPlan
from projse.sources.variables import Variables

if TYPE_CHECKING:
    from projse.moments.sums import Moments
    from projse.sources.rows import Rows

Array = NDArray[Any]

MIN_FREQUENCY = 5
"""Levels of fewer rows are pooled, unless the user says otherwise."""

BOOLEANS = {"False", "True"}
"""Keys of the levels of a boolean; a gap has none."""

NO_ROW = 1e-12
"""A share of the rows that is none but for rounding."""


def bases_of_moments(
    moments: Moments, min_frequency: int = MIN_FREQUENCY, *, recentre: bool = False
) -> dict[int, Array]:
    """Return the bases of the candidates of moments, which hold the plan of their encoding."""
    plain = None if moments.encoding is None else moments.encoding.get("x")
    if moments.x_variables is None or plain is None:
        return {}
    encoder = TableEncoder.from_dict(plain)
    return bases_of(
        moments.x_variables,
        encoder.plans,
        moments.x_mean,
        sum_weights=moments.sum_weights,
        n_rows=moments.n_samples,
        x_min=moments.x_min,
        x_max=moments.x_max,
        missing=encoder.missing,
        min_frequency=min_frequency,
        recentre=recentre,
    )


def bases_of_rows(
    rows: Rows, min_frequency: int = MIN_FREQUENCY, *, recentre: bool = False
) -> dict[int, Array]:
    """Return the bases of the candidates of encoded rows."""
    plain = None if rows.encoding is None else rows.encoding.get("x")
    if rows.x_variables is None or plain is None:
        return {}
    encoder = TableEncoder.from_dict(plain)
    counted = rows.counted()
    w = np.ones(counted.n_samples) if counted.weight is None else counted.weight
    trends = [j for j, c in enumerate(rows.x_variables.columns) if c.kind == "trend"]
    low, high = np.zeros(rows.X.shape[1]), np.zeros(rows.X.shape[1])
    for j in trends:
        trend = counted.X[:, [j]]
        trend = trend.toarray() if sp.issparse(trend) else trend
        low[j], high[j] = trend.min(), trend.max()
    with np.errstate(over="ignore", invalid="ignore"):  # the sums of squares will tell
        mean = np.asarray(w @ counted.X).ravel() / w.sum()
    return bases_of(
        rows.x_variables,
        encoder.plans,
        mean,
        sum_weights=float(w.sum()),
        n_rows=counted.n_samples,
        x_min=low,
        x_max=high,
        missing=encoder.missing,
        min_frequency=min_frequency,
        recentre=recentre,
    )


def bases_of(
    variables: Variables,
    plans: Sequence[ColumnPlan],
    mean: Array,
    *,
    sum_weights: float,
    n_rows: int,
    x_min: Array | None = None,
    x_max: Array | None = None,
    missing: str = "indicator",
    min_frequency: int = 0,
    max_levels: int | None = MAX_LEVELS,
    recentre: bool = False,
) -> dict[int, Array]:
    """Return the bases of those variables whose subspace is not all of their columns.

    Parameters
    ----------
    variables : Variables
        Of raw columns, as an encoder makes them.
    plans : sequence of ColumnPlan, one a variable
    mean : ndarray of shape (n_columns,)
        Weighted means of the columns.
    sum_weights : float
    n_rows : int
        Rows of non-zero weight. Weights count as rows, unless their sum is less than half of it.
    x_min, x_max : ndarray of shape (n_columns,) or None
        Extremes, for the span of dates; None: that of the first look.
    missing : str
        "mean" fills gaps of numbers and dates with the mean of what is there; else a gap is a
        dimension of its own.
    min_frequency : int
        Levels of fewer rows (a gap of a category is a level) are pooled, but not those of a boolean
        without gaps; gaps of a number in fewer rows are filled with the mean. 0: only those of no
        row at all, whatever the weights.
    max_levels : int or None
        A category of more levels has no subspace: it is an identifier.
    recentre : bool
        Fill gaps with the mean of all rows beside the column of the gaps, too. The subspace is the
        same, but not its columns, which count where there is a ridge: those of references, and
        of picks that are judged.

    Returns
    -------
    dict of int to ndarray of shape (columns of the variable, dimensions)
        In the order of ``variables.columns_of``. The subspace is spanned by columns @ basis.
    """
    total = float(rows_that_count(sum_weights, n_rows))
    # From means: half a row of slack for rounding, below.
    counts = total * np.asarray(mean, dtype=np.float64)
    none = NO_ROW * total
    fewest = max(min_frequency - 0.5, none)
    order = np.argsort(variables.of_column, kind="stable")
    sizes = np.bincount(variables.of_column, minlength=variables.n)
    bases: dict[int, Array] = {}
    for v, columns in enumerate(np.split(order, np.cumsum(sizes)[:-1])):
        kinds = [variables.columns[j].kind for j in columns]
        if "level" in kinds or kinds == ["gap"]:
            identifies = max_levels is not None and kinds.count("level") > max_levels
            basis = np.zeros((len(columns), 0))
            if not identifies:
                keys = {variables.columns[j].key for j in columns[counts[columns] >= none]}
                # Where no column asks for a plan, a boolean is a number, which is not pooled.
                basis = _levels(counts[columns], none if keys == BOOLEANS else fewest)
        elif "gap" in kinds or "cycle" in kinds:
            few = "gap" in kinds and counts[columns[kinds.index("gap")]] < fewest
            basis = _numbers(
                [variables.columns[j] for j in columns],
                plans[v],
                counts[columns] / total,
                None if x_min is None or x_max is None else (x_max - x_min)[columns],
                fill="gap" in kinds and (few or missing == "mean" or recentre),
                keep_gap=not (few or missing == "mean"),
            )
        else:
            continue
        if basis.shape[0] != basis.shape[1] or not np.array_equal(basis, np.eye(len(columns))):
            bases[v] = basis
    return bases


def _levels(counts: Array, fewest: float) -> Array:
    """Pool the rare levels: one column a frequent level, and one for all others."""
    n = len(counts)
    rare = counts < fewest
    if np.count_nonzero(rare) < 2:
        return np.eye(n)
    return np.concatenate([np.eye(n)[:, ~rare], rare[:, None].astype(np.float64)], axis=1)


def _numbers(
    columns: Sequence[Any],
    plan: ColumnPlan,
    mean: Array,
    span: Array | None,
    *,
    fill: bool,
    keep_gap: bool,
) -> Array:
    """Leave out cycles that the span does not cover twice; fill gaps with the mean if asked to."""
    kinds = [column.kind for column in columns]
    seconds = plan.span
    if span is not None and "trend" in kinds:
        seconds = float(span[kinds.index("trend")]) * plan.scale
    kept = [
        k
        for k, column in enumerate(columns)
        if column.kind != "cycle" or 2 * PERIODS[column.key.split(":")[0]] <= seconds
    ]
    basis = np.eye(len(columns))[:, kept]
    if not fill:
        return basis
    gap = kinds.index("gap")
    observed = 1.0 - mean[gap]
    for place, k in enumerate(kept):
        if k == gap or observed <= 0:
            continue
        # Only the value of a number stands at something else than 0 where there is none.
        at_gaps = plan.fill if kinds[k] == "value" else 0.0
        basis[gap, place] = (mean[k] - at_gaps * mean[gap]) / observed - at_gaps
    return basis if keep_gap else np.delete(basis, kept.index(gap), axis=1)


def merge_bases(
    bases: Mapping[int, Array], variables: Variables, groups: Variables
) -> dict[int, Array]:
    """Return the bases of groups of variables: those of their variables, side by side.

    Parameters
    ----------
    bases : mapping
        Of :func:`bases_of`, for ``variables``.
    variables : Variables
    groups : Variables
        Whose columns are the variables.

    Returns
    -------
    dict, in the order of the columns of ``variables.grouped(groups)``
    """
    merged: dict[int, Array] = {}
    for g in range(groups.n):
        inner = groups.columns_of(g)
        if not any(int(v) in bases for v in inner):
            continue
        columns = np.sort(variables.columns_of(inner))
        parts = []
        for v in inner:
            own = variables.columns_of(v)
            basis = bases.get(int(v), np.eye(len(own)))
            part = np.zeros((len(columns), basis.shape[1]))
            part[np.searchsorted(columns, own)] = basis
            parts.append(part)
        merged[g] = np.concatenate(parts, axis=1)
    return merged


def naming(basis: Array, columns: Array, variables: Variables) -> list[int]:
    """Return, for each direction of a basis, the column that names it: a gap only if alone."""
    named = []
    for direction in basis.T:
        own = columns[np.flatnonzero(direction)]
        named.append(int(min(own, key=lambda j: (variables.columns[j].kind == "gap", j))))
    return named


def combined(
    raw: Any, variables: Variables, bases: Mapping[int, Array]
) -> tuple[Any, tuple[str, ...]]:
    """Apply bases to raw columns; return those that come out, and their names."""
    if not bases:
        return raw, variables.titles
    blocks, places, names = [], [], []
    for v in range(variables.n):
        own = variables.columns_of(v)
        basis = bases.get(v, np.eye(len(own)))
        names += [variables.titles[j] for j in naming(basis, own, variables)]
        blocks.append(basis)
        places.append(own)
    order = np.concatenate(places)
    mapped = raw[:, order] @ block_diagonal(blocks)
    return sp.csr_array(mapped) if sp.issparse(mapped) else np.asarray(mapped), tuple(names)
