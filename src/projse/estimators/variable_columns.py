"""Which variable, as a selector counts them, each column of its moments belongs to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.moments.sums import Moments

Array = NDArray[Any]


def variable_of_column(selector: Any, moments: Moments) -> Array:
    """Return the variable, as ``selected_`` counts them, of each column of the moments."""
    encoded = moments.x_variables
    of_column = np.arange(moments.n_x) if encoded is None else encoded.of_column
    grouped = getattr(selector, "variables_", None)
    return of_column if grouped is None else grouped.of_column[of_column]


def alone(variable_of: Array) -> NDArray[np.bool_]:
    """Tell which columns are a variable by themselves."""
    single: NDArray[np.bool_] = np.bincount(variable_of)[variable_of] == 1
    return single
