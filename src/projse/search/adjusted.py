"""Scores of variables of several columns, adjusted for chance and put on the scale of one column.

With ``s(q) = qᵀHq`` the score of one column, a variable with the orthonormal columns Q has
``T = tr(QᵀHQ)``, which grows with their number d by chance. As in the adjusted R² and the adjusted
Rand index, the mean of chance is taken out, and what is left is divided by what is possible::

    h̄ = tr(H) / m',    c_d = the d largest eigenvalues of H, summed
    a = (T − d h̄) / (c_d − d h̄),    score = h̄ + a (c_1 − h̄)

Unrelated variables of any d have the mean score h̄ of an unrelated column; the best that d columns
can do has the score of the best single column; one column has exactly ``s(q)``. A variable that
fills the space (``d ≥ m'``) says nothing, and has h̄.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.search.greedy import TIE, Pick, first_of

Array = NDArray[Any]

NO_ROOM = 1e-10
"""Where less than this share of what is possible lies above chance, a score is that of chance."""


def adjusted_scores(totals: Array, sizes: Array, spectrum: Array, dimension: float) -> Array:
    """Adjust totals for chance.

    Parameters
    ----------
    totals : ndarray of shape (n,)
        T of each variable.
    sizes : ndarray of int of shape (n,)
        Its number of columns d; a variable of none scores 0.
    spectrum : ndarray of shape (r,)
        Eigenvalues of H, in [0, 1], in any order.
    dimension : float
        m', of the space of the variables.

    Returns
    -------
    ndarray of shape (n,)
        At most 1 up to rounding; below 0 for those that do far worse than chance.
    """
    if not len(spectrum):
        return np.zeros(len(totals))
    best = np.cumsum(np.sort(spectrum)[::-1])
    most = best[np.clip(sizes, 1, len(best)) - 1]
    chance = min(float(best[-1]) / dimension, float(best[0])) if dimension > 0 else float(best[0])
    room = most - sizes * chance
    above = np.divide(
        totals - sizes * chance, room, out=np.zeros(len(totals)), where=room > NO_ROOM * most
    )
    scores = chance + above * (float(best[0]) - chance)
    return np.where(sizes > 1, scores, np.where(sizes == 1, totals, 0.0))


def best_of(
    scores: Array, usable: NDArray[np.bool_], tie_order: Array | None, given: int | None = None
) -> Pick | None:
    """Return the best of the usable variables by the tie rule, or ``given``; None without any."""
    if not usable.any():
        return None
    masked = np.where(usable, scores, -np.inf)
    top = float(masked.max())
    j, n_tied = first_of(masked >= top - TIE * abs(top), tie_order)
    if given is not None and usable[given]:
        j, n_tied = given, 1
    score = float(masked[j])
    masked[j] = -np.inf
    runner_up = max(float(masked.max()), 0.0)
    margin = max(score - runner_up, 0.0) / score if score > 0 else 0.0
    n_candidates = int(np.count_nonzero(usable))
    return Pick(j, min(max(score, 0.0), 1.0), margin, n_candidates, n_tied)
