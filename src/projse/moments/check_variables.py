"""Whether what moments say of their columns makes sense, and is possible for such columns."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from projse.sources.table.plan import PERIODS
from projse.sources.variables import GROUPED, KINDS, MAX_LEVELS, MAY_BE_ABSENT, Variables

if TYPE_CHECKING:
    from projse.moments.sums import Moments

Array = NDArray[Any]

CYCLES = tuple(f"{period}:{wave}" for period in PERIODS for wave in ("sin", "cos"))
"""Keys of the cycles of a date."""

SLACK = 1e-9
"""What the mean of an indicator may be off by: differences leave rounding."""


def check_variables(moments: Moments) -> None:
    """Raise a ValueError that says what is wrong with the variables of moments."""
    x_squares = moments.xx_diag
    _check_view(moments.x_variables, "x", moments.x_mean, x_squares, MAX_LEVELS)
    if moments.y_variables is not None and moments.one_view:
        raise ValueError("y_variables are there, but y_mean is not")
    if moments.y_variables is not None and moments.classes is not None:
        raise ValueError("classes and y_variables are both there")
    if moments.y_mean is None or moments.yy is None:
        if moments.z_variables is not None:
            raise ValueError("z_variables are there, but y_mean is not")
        return
    n_y, squares = moments.n_y, np.diag(moments.yy)
    n = n_y - moments.n_covariates
    for variables, view, part in (
        (moments.y_variables, "y", slice(n)),
        (moments.z_variables, "z", slice(n, n_y)),
    ):
        _check_view(variables, view, moments.y_mean[part], squares[part], n_y)


def _check_view(
    variables: Variables | None, view: str, mean: Array, squares: Array, max_levels: int
) -> None:
    if variables is None:
        return
    what = f"{view}_variables"
    if not isinstance(variables, Variables):
        raise ValueError(f"{what} is of type {type(variables).__name__}")
    n = len(mean)
    if len(variables.columns) != n:
        raise ValueError(f"{what} describe {len(variables.columns)} columns, but there are {n}")
    _check_names(variables.names, what)
    _check_columns(variables, what, max_levels)
    _check_values(variables, mean, squares, view)


def _check_names(names: Any, what: str) -> None:
    if not all(isinstance(name, str) for name in names):
        raise ValueError(f"{what} hold names that are not strings")
    counts = Counter(names)
    if len(counts) < len(names):
        raise ValueError(f"{what} hold {counts.most_common(1)[0][0]!r} more than once")


def _check_columns(variables: Variables, what: str, max_levels: int) -> None:
    """Refuse columns of no variable, of an unknown kind, or that are there twice."""
    for j, (variable, kind, key) in enumerate(variables.columns):
        if type(variable) is not int or not 0 <= variable < variables.n:
            raise ValueError(f"{what}: column {j} is of variable {variable!r} of {variables.n}")
        if not isinstance(kind, str) or kind not in KINDS:
            raise ValueError(f"{what}: column {j} is of kind {kind!r}, not one of {KINDS}")
        if not isinstance(key, str):
            raise ValueError(f"{what}: column {j} has a key that is no string")
        if kind == "cycle" and key.split(GROUPED)[-1] not in CYCLES:
            raise ValueError(f"{what}: column {j} is a cycle {key!r:.40}, not one of {CYCLES}")
    (column, n), *_ = Counter(variables.columns).most_common(1)
    if n > 1:
        raise ValueError(f"{what}: {tuple(column)} is there {n} times")
    levels = Counter(column.variable for column in variables.columns if column.kind == "level")
    if levels and max(levels.values()) > max_levels:
        raise ValueError(f"{what}: a variable has more than {max_levels} levels")
    sizes = Counter(column.variable for column in variables.columns)
    for column in variables.columns:
        if column.kind == "dropped" and sizes[column.variable] > 1:
            name = variables.names[column.variable]
            raise ValueError(f"{what}: variable {name!r} is dropped, but has other columns")


def _check_values(variables: Variables, mean: Array, squares: Array, view: str) -> None:
    """Refuse indicators whose mean is no share of the rows, and dropped columns that are not 0."""
    kinds = np.array([column.kind for column in variables.columns])
    indicator = np.isin(kinds, MAY_BE_ABSENT)
    bad = indicator & ((mean < -SLACK) | (mean > 1 + SLACK))
    bad |= (kinds == "dropped") & ((mean != 0) | (squares != 0))
    if bad.any():
        j = int(bad.argmax())
        raise ValueError(
            f"column {j} of {view.upper()} is a {kinds[j]} and cannot have a mean of {mean[j]:g} "
            f"and a sum of squares of {squares[j]:g}"
        )
