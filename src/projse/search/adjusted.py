"""Scores of variables of several columns, measured against chance, on the scale of one column.

With ``s(q) = qᵀHq`` the score of one column, a variable with the orthonormal columns Q has
``T = tr(QᵀHQ)``, which grows with their number d by chance, and so does what the best of n
unrelated variables has. By Laurent and Massart (2000, lemma 1), that is about::

    b_d = (d Σh + 2 √(d Σh² log n) + 2 h_1 log n) / m'

for the eigenvalues h of H, in m' dimensions, and d times the mean ``h̄ = Σh / m'`` of a column is
what any of them has. At most, d columns have the sum ``c_d`` of the d largest h. A variable is
worth the column that stands to its own mean, best of chance and most as T stands to those of d
columns: straight lines between::

    T       0    d h̄    b_d    c_d
    score   0     h̄     b_1    c_1

One column has exactly ``s(q)``. A real factor behind one output has about the share of the output
that it explains; a category of many levels that means nothing has no advantage over a number that
means nothing; and a variable that fills the space of the rows has h̄, since it would explain
anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.search.greedy import TIE, Pick, first_of

Array = NDArray[Any]

NO_ROOM = 1e-8
"""Room above chance, as a share of the most there is, that is rounding: the root of its size."""


class Chance:
    """What variables of d columns have by chance, and at most.

    Parameters
    ----------
    spectrum : ndarray of shape (r,)
        Eigenvalues of H, in [0, 1], in any order.
    dimension : float
        m', of the space of the variables.
    n_variables : int
        Variables that the best is chosen from.
    """

    def __init__(self, spectrum: Array, dimension: float, n_variables: int) -> None:
        self._most = np.cumsum(np.sort(spectrum)[::-1])
        self._dimension = max(dimension, 1.0)
        self._log = np.log(max(n_variables, 1))
        self._squares = float(spectrum @ spectrum)
        self._mean = float(np.sum(spectrum)) / self._dimension
        self._most_of_one = float(self._most[0]) if len(spectrum) else 0.0
        self._mean_of_one = min(self._mean, self._most_of_one)
        self._bound_of_one = min(float(self._bounds(np.ones(1))[0]), self._most_of_one)

    def scores(self, totals: Array, sizes: Array) -> Array:
        """Return the scores of variables with these T and d; those of no column score 0."""
        scores = np.zeros(len(totals))
        for low, high, start, end in self._pieces(sizes):
            width = high - low
            within = np.clip(totals - low, 0.0, np.maximum(width, 0.0))
            share = np.divide(within, width, out=np.zeros(len(totals)), where=width > 0)
            scores += (end - start) * share
        return np.where(sizes > 1, scores, np.where(sizes == 1, totals, 0.0))

    def totals(self, score: float, sizes: Array) -> Array:
        """Return the T that has this score, by d; infinite where none has."""
        totals = np.full(len(sizes), np.inf)
        for low, high, start, end in self._pieces(sizes)[::-1]:
            if end > start:
                reached = (high > low) & (score <= end)
                at = low + (score - start) / (end - start) * (high - low)
                totals = np.where(reached, at, totals)
        return np.where(sizes > 1, totals, score)

    def _pieces(self, sizes: Array) -> list[tuple[Array, Array, float, float]]:
        """Return where each straight line begins and ends, in T and in the score."""
        means, bounds = sizes * self._mean, self._bounds(sizes)
        one, best = self._mean_of_one, self._bound_of_one
        return [
            (np.zeros(len(sizes)), means, 0.0, one),
            (means, bounds, one, best),
            (bounds, bounds + self._room(sizes), best, self._most_of_one),
        ]

    def _bounds(self, sizes: Array) -> Array:
        if not len(self._most):
            return np.zeros(len(sizes))
        d = sizes.astype(np.float64)
        spread = 2 * np.sqrt(d * self._squares * self._log)
        tail = 2 * self._most_of_one * self._log
        bounds: Array = (d * self._most[-1] + spread + tail) / self._dimension
        return bounds

    def _room(self, sizes: Array) -> Array:
        """Room above chance."""
        if not len(self._most):
            return np.zeros(len(sizes))
        most = self._most[np.clip(sizes.astype(np.intp), 1, len(self._most)) - 1]
        room: Array = most - self._bounds(sizes)
        # A variable that fills the space of the rows has c_d = d h̄: what rounding makes of the
        # difference is no room, or it would lift the only one left from h̄ to anything up to c_1.
        return np.where(room > NO_ROOM * most, room, np.minimum(room, 0.0))


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
