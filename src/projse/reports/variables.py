"""Which columns make up each variable that a selector picks from: several, of groups and tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.estimators.variable_columns import variable_of_column
from projse.moments.sums import Moments

Array = NDArray[Any]

SHOWN = 12
"""Names of columns that are shown for a pick."""


def dropped_variables(selector: Any, moments: Moments) -> Array:
    """Return the variables that looked like identifiers and were left out, all columns of them."""
    if moments.x_variables is None:
        return np.empty(0, dtype=np.intp)
    of_column = variable_of_column(selector, moments)
    left_out = np.array([column.kind == "dropped" for column in moments.x_variables.columns])
    return np.setdiff1d(of_column[left_out], of_column[~left_out])


def columns_of_picks(selector: Any, moments: Moments | None) -> list[dict[str, Any]]:
    """Return the columns of each pick, the first few by name; nothing where each is a column."""
    k = len(selector.selected_)
    if moments is not None and moments.x_variables is not None:
        names: Any = moments.x_variables.titles
        of_column = variable_of_column(selector, moments)
    elif hasattr(selector, "variables_"):
        of_column = selector.variables_.of_column
        names = selector._feature_names() or [f"x{j}" for j in range(len(of_column))]
    else:
        return [{}] * k
    found = [np.flatnonzero(of_column == pick) for pick in selector.selected_]
    return [
        {"columns": [str(names[j]) for j in columns[:SHOWN]], "n_columns": len(columns)}
        for columns in found
    ]
