"""What p-values take for granted, and the rows of a selection do not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from projse.estimators.results import output_names
from projse.estimators.variable_columns import alone, variable_of_column
from projse.kernels.combined_references import combined_references
from projse.moments.counts import counts_caveat, rows_that_count
from projse.moments.sums import Moments
from projse.moments.tails import Tail, long_tails


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
    moments = combined_references(moments)  # columns of gaps that are filled are no outputs
    found = [
        counts_caveat(moments.sum_weights, moments.n_samples),
        _tails(selector, moments, names),
    ]
    return [caveat for caveat in found if caveat]


def _tails(selector: Any, moments: Moments, names: Sequence[str]) -> str:
    """Name an output with long tails, and the pick that has them too, or what was not looked at.

    Of picks of several columns that is not known: a level or a gap that is rare is left out of its
    variable, though its column has a long tail, and a basis stretches tails or cuts them.
    """
    variable_of = variable_of_column(selector, moments)
    tested = selector.selected_[~np.isnan(selector.pvalues_)]
    columns = np.flatnonzero(alone(variable_of) & np.isin(variable_of, tested))
    several = len(columns) < len(tested)
    tails = long_tails(moments, columns, center=selector.center, unseen=several)
    if tails is None:
        return ""
    x, y = tails
    outputs = output_names(moments)
    output = f"y{y.column}" if outputs is None else outputs[y.column]
    n = rows_that_count(moments.sum_weights, moments.n_samples)
    far = f"P-values take tails as normal, but {_far(y, f'output {output!r}', n)}"
    if x is not None:
        pick = repr(names[variable_of[x.column]])
        return f"{far}, and {_far(x, pick, n)}: they may be too small. {_remedy(x, y)}"
    unseen = "since the fit kept no extremes of candidates"
    if moments.x_min is not None:
        unseen = "in picks of several columns"
    return (
        f"{far}: they may be too small where a pick has far rows or rare values too, which was not "
        f"looked at {unseen}. {_remedy(y, y)}"
    )


def _far(tail: Tail, name: str, n: float) -> str:
    if tail.rare_rows is None:
        return f"{name} has a value {tail.distance:.2g} standard deviations from its mean"
    return f"{name} has the rarer of its two values in {tail.rare_rows:.3g} of {n:.6g} rows"


def _remedy(x: Tail, y: Tail) -> str:
    shuffle = "huffle the outputs (--permutations, permutation_test)."
    if x.rare_rows is not None and y.rare_rows is not None:
        return f"S{shuffle}"  # ranks of two values are two values
    return f"Take logarithms or ranks, or s{shuffle}"
