"""What p-values take for granted, and the rows of a selection do not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from projse.estimators.results import output_names
from projse.estimators.variable_columns import alone, variable_of_column
from projse.moments.counts import counts_caveat
from projse.moments.sums import Moments
from projse.moments.tails import long_tails


def pvalue_caveats(selector: Any, moments: Moments, names: Sequence[str]) -> list[str]:
    """Return a sentence or two for each thing that makes the p-values of a selection wrong.

    Parameters
    ----------
    selector : ProjSe
        Fitted.
    moments : Moments
        Of its rows.
    names : sequence of str
        Of all candidates.

    Returns
    -------
    list of str
        Empty where nothing is known to be wrong, or there are no p-values.
    """
    if np.isnan(selector.pvalues_).all():
        return []
    found = [
        counts_caveat(moments.sum_weights, moments.n_samples),
        _tails(selector, moments, names),
    ]
    return [caveat for caveat in found if caveat]


def _tails(selector: Any, moments: Moments, names: Sequence[str]) -> str:
    """Name a pick and an output whose tails are long; of picks of several columns nothing is known.

    A level or a gap that is rare is left out of its variable, though its column has a long tail.
    """
    variable_of = variable_of_column(selector, moments)
    tested = selector.selected_[~np.isnan(selector.pvalues_)]
    columns = np.flatnonzero(alone(variable_of) & np.isin(variable_of, tested))
    tails = long_tails(moments, columns, center=selector.center)
    if tails is None:
        return ""
    outputs = output_names(moments)
    output = f"y{tails.reference}" if outputs is None else outputs[tails.reference]
    return (
        f"P-values take tails as normal, but {names[variable_of[tails.column]]!r} has a value "
        f"{tails.x_distance:.2g} standard deviations from its mean, and output {output!r} one "
        f"{tails.y_distance:.2g}: they may be too small. Take logarithms or ranks, or shuffle the "
        "outputs (--permutations, permutation_test)."
    )
