"""Numbers whose gaps are filled with means: single columns, which any kernel can compare.

Rows are encoded as values and gaps, since the mean is known once all rows were summed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from projse.exceptions import ProductsMissingError
from projse.kernels.combined_candidates import combined_candidate_rows, combined_candidates
from projse.moments.sums import Moments
from projse.sources.rows import Rows
from projse.sources.variables import Variables


def are_filled(encoding: dict[str, Any] | None, variables: Variables) -> bool:
    """Tell whether every variable is a number, with its gaps filled."""
    plan = (encoding or {}).get("x")
    if plan is None or plan["missing"] != "mean":
        return False
    return bool((widths(variables, filled=True) == 1).all())


def widths(variables: Variables, *, filled: bool) -> Any:
    """Count the columns of each variable; ``filled`` numbers leave out their gaps."""
    values = {column.variable for column in variables.columns if column.kind == "value"}
    counted = [
        column.variable
        for column in variables.columns
        if not (filled and column.kind == "gap" and column.variable in values)
    ]
    return np.bincount(counted, minlength=variables.n)


def filled_rows(rows: Rows, min_frequency: int) -> Rows | None:
    """Fill the gaps of encoded rows; None where that leaves variables of several columns."""
    assert rows.x_variables is not None
    if not are_filled(rows.encoding, rows.x_variables):
        return None
    plain, _ = combined_candidate_rows(rows, min_frequency)
    return replace(plain, feature_names=rows.x_variables.names)


def filled_moments(moments: Moments, min_frequency: int) -> Moments | None:
    """Do the same for moments, which have to hold the products of the candidates."""
    assert moments.x_variables is not None
    if not are_filled(moments.encoding, moments.x_variables):
        return None
    if moments.xx is None:
        if moments.x_variables.are_columns:  # without a gap so far
            return None
        raise ProductsMissingError(
            "missing='mean' with this kernel needs the products of the candidates with each "
            "other, to fill their gaps, and these moments do not hold them; sum them with "
            "with_xx=True."
        )
    return combined_candidates(moments, min_frequency)[0]
