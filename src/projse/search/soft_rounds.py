"""Selection one by one: after each pick everything is conditioned on it softly."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from projse.search.by_columns import SoftColumns
from projse.search.significance import unconvinced
from projse.search.soft_variables import SoftVariables

if TYPE_CHECKING:
    from projse.search.rounds import Plan, Selection


def select_softly(
    search: SoftColumns | SoftVariables,
    plan: Plan,
    *,
    has_products: bool,
    wanted: int,
    selection: Selection,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Pick one by one, with soft conditioning on each pick; add to the selection.

    A candidate that one or two rows make up meets an output that the same rows make up, whatever
    the rest of the rows say. It waits until nothing else is left; but for the first pick where that
    is given. So does an exact copy of a pick, where the plan says so.
    """
    n_before = len(selection.indices)
    needs_rows = plan.redundancy != 1 or search.has_pvalues or plan.copies_wait
    only_one = wanted == n_before + 1
    first = plan.first if plan.first is not None and search.eligible[plan.first] else None
    waiting: list[int] = []
    may_wait = True
    while len(selection.indices) < wanted:
        given_first, first = first, None
        pick = search.best(given_first)
        if pick is None:
            if not waiting:
                selection.stopped = "exhausted"
                return
            search.eligible[waiting] = True
            waiting, may_wait = [], False
            continue
        j, row = pick.index, None
        if may_wait and j != given_first and search.is_on_few_rows(j):
            waiting.append(j)
            search.eligible[j] = False
            continue
        is_last = len(selection.indices) + 1 == wanted
        if needs_rows and not only_one:  # nothing is conditioned on a single pick
            if not has_products and len(selection.indices) > n_before:
                selection.stopped = "no products"
                return
            # Nor on the last: only its p-value asks for it, and what is kept for later.
            if has_products and (not is_last or search.has_pvalues or plan.keeps_rows):
                row = search.row(j)
        pvalue = search.pvalue(pick, row, waiting)
        if plan.significance is not None and not pvalue <= plan.significance:
            selection.stopped = unconvinced(pvalue)
            return
        selection.add(pick, pvalue, len(selection.indices) - n_before + 1)
        search.eligible[j] = False
        search.take(j, None if is_last else row)
        if plan.copies_wait and may_wait and row is not None:
            copies = np.flatnonzero(search.copies(row))
            search.eligible[copies] = False
            waiting.extend(copies.tolist())
        selection.redundancy = search.redundancy
        if progress is not None:
            progress(len(selection.indices), wanted)
