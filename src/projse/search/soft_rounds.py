"""Selection one by one: after each pick everything is conditioned on it softly."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from projse.search.deflation import Deflation, ProjectedDeflation
from projse.search.significance import GivenPicks, unconvinced
from projse.search.soft import SoftConditioning

if TYPE_CHECKING:
    from projse.search.rounds import ReferenceSpace, Selection


def select_softly(
    space: ReferenceSpace,
    deflation: Deflation,
    rank: int,
    eligible: NDArray[np.bool_],
    wanted: int,
    selection: Selection,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Pick one by one, with soft conditioning on each pick; add to the selection.

    A candidate that one or two rows make up meets an output that the same rows make up, whatever
    the rest of the rows say. It waits until nothing else is left; but for the first pick where that
    is given.
    """
    plan, gram, conditioning = space.plan, space.gram, space.conditioning
    assert isinstance(deflation, ProjectedDeflation)
    n_before = len(selection.indices)
    if plan.exhausted == "stop":
        wanted = min(wanted, n_before + rank)
    alive = eligible & ~conditioning.vanished
    ridge = plan.ridge(space.values, space.alpha, int(alive.sum()))
    soft = SoftConditioning(deflation.R, alive, ridge, gram.eps ** (2 / 3))
    initial = soft.scores()
    given = GivenPicks(rank, plan.degrees - conditioning.rank, gram.eps ** (2 / 3))
    needs_rows = plan.redundancy != 1 or not np.isnan(given.degrees)
    only_one = wanted == n_before + 1
    eligible = space.shortlist.eligible = alive.copy()
    first = plan.first if plan.first is not None and eligible[plan.first] else None
    waiting: list[int] = []
    may_wait = True
    while len(selection.indices) < wanted:
        given_first, first = first, None
        pick = soft.best(eligible, plan.tie_order, given_first)
        if pick is None or pick.score <= deflation.floor(pick.index, initial[pick.index]):
            if not waiting:
                selection.stopped = "exhausted"
                return
            eligible[waiting] = True
            waiting, may_wait = [], False
            continue
        j, row = pick.index, None
        doubtful = may_wait and j != given_first
        if doubtful and space.shortlist.is_on_few_rows(j, soft.scores):
            waiting.append(j)
            eligible[j] = False
            continue
        if needs_rows and not only_one:  # nothing is conditioned on a single pick
            if not gram.has_x_rows and len(selection.indices) > n_before:
                selection.stopped = "no products"
                return
            if gram.has_x_rows:
                row = conditioning.x_rows(np.array([j]), scores=soft.scores)[0]
        place = deflation.R.column(j) * space.unridged
        pvalue = given.add(j, row, place, pick.n_candidates + len(waiting))
        if plan.significance is not None and not pvalue <= plan.significance:
            selection.stopped = unconvinced(pvalue)
            return
        selection.add(pick, pvalue, len(selection.indices) - n_before + 1)
        eligible[j] = False
        soft.take(j, row)
        selection.redundancy = soft.redundancy
        if progress is not None:
            progress(len(selection.indices), wanted)
