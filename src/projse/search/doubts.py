"""Doubts about a selection: where the data could not carry the answer, in plain words."""

from __future__ import annotations

from projse.search.rounds import Plan, Selection
from projse.warn import many


def doubts(
    selection: Selection, plan: Plan, *, n_rows: int, linear: bool, center: bool
) -> tuple[str, ...]:
    """Say what a selection does not rest on the data for, and the remedy.

    Parameters
    ----------
    selection : Selection
    plan : Plan
    n_rows : int
        Rows of non-zero weight.
    linear : bool
        Whether scores are squared correlations with the reference space.
    center : bool
        Whether means were subtracted.

    Returns
    -------
    tuple of str
        A sentence or two a doubt.
    """
    found = []
    whole = not plan.alpha and plan.rank is None and not plan.one_view
    # Directions that the rows have room for, once means and covariates are taken out.
    room = n_rows - int(center) - selection.n_conditioned
    if linear and whole and selection.indices and selection.reference_rank >= room:
        found.append(
            f"y has rank {selection.reference_rank} in {n_rows} rows, and explains any variable "
            "wholly: every score is 1, and the first pick says nothing. Use alpha='auto' (or a "
            "number above 0), rank= to keep fewer directions of y, or more rows."
        )
    elif selection.all_tied:
        why = "the data do not tell the candidates apart, and the first pick is by column order"
        if plan.one_view and not plan.alpha:
            why = (
                "in one view with alpha=0 every variable explains itself wholly, and the first "
                "pick is by column order. Use alpha='auto', or name a first variable with include"
            )
        found.append(f"All first scores are equal: {why}.")
    n_chosen = sum(number > 0 for number in selection.rounds)
    if selection.stopped == "no p-values" and n_chosen:
        found.append(
            f"n_features_to_select='auto' ended after {many(n_chosen, 'pick')} because "
            f"{n_rows} rows are too few for the p-values of more. Use a number, rank= to keep "
            "fewer directions of y, or more rows."
        )
    return tuple(found)
