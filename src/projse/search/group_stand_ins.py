"""Stand-ins for variables of several columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.kernels.subspaces import WhitenedGram
from projse.search.by_variables import VariableSearch
from projse.search.rounds import Plan, ReferenceSpace
from projse.search.stand_ins import all_but_one, nearest

Array = NDArray[Any]


def group_stand_ins(
    gram: WhitenedGram, plan: Plan, picks: Array, n: int
) -> tuple[Array, Array, Array]:
    """Find the variables left out that are closest to each pick, and what they keep of its score.

    Parameters
    ----------
    gram : WhitenedGram
        With all products of the candidates.
    plan : Plan
        Of the selection.
    picks : ndarray of int of shape (k,)
        Variables.
    n : int
        Stand-ins a pick.

    Returns
    -------
    found : ndarray of int of shape (k, n)
        Closest first; −1 for none.
    closeness : ndarray of shape (k, n)
        With orthonormal Q_s and Q_v of what the other picks leave of pick and candidate,
        ``‖Q_sᵀQ_v‖² / d_s``: the share of the pick's d_s directions that the candidate covers. Of
        single columns, their squared partial correlation.
    keeps : ndarray of shape (k, n)
        Score of the candidate over that of the pick, both given the other picks, and among the same
        candidates; NaN where there is none, and where the pick adds nothing to the others.

    Notes
    -----
    A search is opened for each pick: ``2 r n`` flops for n columns and r directions of the
    references, and an eigendecomposition of the block of each variable.
    """
    shape = len(picks), n
    found = np.full(shape, -1, dtype=np.intp)
    closeness, keeps = np.full(shape, np.nan), np.full(shape, np.nan)
    allowed = gram.map.sizes > 0
    allowed[plan.exclude] = False
    # As in a search: in one view the references are the whitened candidates, which are factored.
    plan = replace(plan, one_view=False, n_features=len(picks), keeps_rows=False)
    space = ReferenceSpace(gram, plan, allowed[gram.map.variable])
    columns = [gram.map.columns_of(picks[[s]]) for s in range(len(picks))]
    if len(picks) > 1:
        space.open()
    for s, given_others in all_but_one(space, columns, np.arange(len(picks))):
        eligible = allowed.copy()
        eligible[np.delete(picks, s)] = False
        search = VariableSearch(given_others, eligible)
        close = _closeness(search, int(picks[s]))
        left_out = eligible.copy()
        left_out[picks[s]] = False
        found[s] = nearest(close[None], left_out, n)[0]
        there = found[s] >= 0
        closeness[s, there] = close[found[s, there]]
        scores = search.opening_scores()
        if scores[picks[s]] > 0:
            keeps[s, there] = scores[found[s, there]] / scores[picks[s]]
    return found, closeness, keeps


def correlations_between(gram: WhitenedGram, variables: Array, others: Array) -> Array:
    """First canonical correlations of variables with others; of two single columns with its sign.

    Returns
    -------
    ndarray of shape (n_variables, n_others)
        NaN for a variable that is constant.
    """
    result = np.full((len(variables), len(others)), np.nan)
    places = gram.map.columns_of(others)
    ends = np.cumsum(gram.map.sizes[others])[:-1]
    for i, v in enumerate(variables):
        rows = gram.x_rows(gram.map.columns_of(np.array([v])), places)
        for j, block in enumerate(np.split(rows, ends, axis=1)):
            if block.size:
                result[i, j] = block[0, 0] if block.size == 1 else np.linalg.norm(block, 2)
    return result


def _closeness(search: VariableSearch, pick: int) -> Array:
    """Share of the directions of a pick that each variable covers, in what is left of both."""
    layout = search.layout
    if not layout.sizes[pick]:
        return np.zeros(layout.n_variables)
    squares = (search.rows(pick) ** 2).sum(axis=0)
    covered = np.bincount(layout.variable, weights=squares, minlength=layout.n_variables)
    shares: Array = np.minimum(covered / layout.sizes[pick], 1.0)
    return shares
