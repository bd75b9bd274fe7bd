"""Greedy search: pick the best score, take its direction out, pick again.

Scores are downdated, ``s_j −= (q̂ᵀR_j)²``: one product with ``R`` a pick and nothing written
back. Once the best score has fallen far below where it was last computed, subtraction has cost
digits and all scores are made anew from explicitly deflated coordinates.

Scores only fall, so an old score is an upper bound. With many candidates the search keeps exact
scores for an active set of the best, and goes on there until it sinks to the bound of the rest;
then all the directions taken since are applied to everything in one product.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.search.deflation import Deflation

Array = NDArray[Any]

TIE = 1e-10
"""Scores within this share of the best are tied; the lowest index among them wins."""

REFRESH = 1e-3
"""Scores are made anew when the best has fallen below this share of its last exact value."""

ACTIVE_SHARE = 16
"""One candidate in this many is active, at first."""


@dataclass
class Pick:
    """A picked candidate, its score, how far the runner-up was behind, and how many are tied.

    ``n_tied`` counts the candidates that the data do not tell apart, the pick among them.
    """

    index: int
    score: float
    margin: float
    n_candidates: int
    n_tied: int = 1


def first_of(tied: NDArray[np.bool_], order: Array | None) -> tuple[int, int]:
    """Return the place of the first tied candidate, by its index or in an order; and their number.

    Parameters
    ----------
    tied : ndarray of bool of shape (n,)
    order : ndarray of int of shape (n,) or None
        What to go by instead of the index: the lowest number wins.
    """
    n_tied = int(np.count_nonzero(tied))
    if order is None or n_tied < 2:
        return int(tied.argmax()), n_tied
    places = np.flatnonzero(tied)
    return int(places[np.argmin(order[places])]), n_tied


def top_of(scores: Array) -> float:
    """Return the largest of some scores, NaN where one is; at once, unlike a reduction."""
    return float(scores[scores.argmax()])


class Scoreboard:
    """Scores of the candidates: exact for an active set, upper bounds for all others."""

    def __init__(
        self, deflation: Deflation, eligible: NDArray[np.bool_], tie_order: Array | None = None
    ) -> None:
        self.deflation = deflation
        self.n_tied = 0
        self._tie_order = tie_order
        self.eligible = eligible.copy()
        self.scores = deflation.scores()
        self.initial = self.scores.copy()
        self._reference = self._top(self.scores)
        self._share = ACTIVE_SHARE
        self._rest = 1
        self._activate()

    def best(self) -> tuple[int, float, float]:
        """Return the best candidate, its score and the runner-up's score.

        The index is -1 when no candidate is left that scores above rounding. ``n_tied`` then tells
        how many were tied with the best.
        """
        # Every turn returns, drops a candidate, or makes scores exact, which two others precede.
        for _ in range(4 * self.deflation.n + 64):
            j, score, runner_up, best = self._leader()
            if not math.isfinite(best) or math.isnan(self._bound):
                break  # no comparison with NaN is ever true
            if self._active is not None and self._bound > min(runner_up, best * (1 - TIE)):
                self._catch_up()
                continue
            if 0.0 <= best < REFRESH * self._reference:
                self.scores = self.deflation.scores()
                self._reference = self._top(self.scores)
                self._activate()
                continue
            if score <= 0.0:
                return -1, 0.0, 0.0
            if score > self.deflation.floor(j, self.initial[j]):
                return j, score, max(runner_up, 0.0)
            self.drop(j)
            self._drop_rounding()
        raise ValueError(
            "The scores are not finite: the moments, or what the kernel returns, hold NaN or "
            "infinity. Look for columns of huge values, or build the moments again."
        )

    def drop(self, j: int) -> None:
        """Leave a candidate out from now on."""
        self.eligible[j] = False

    def _drop_rounding(self) -> None:
        """Leave out all candidates whose exact scores are within rounding: they only fall."""
        indices = np.arange(self.deflation.n) if self._active is None else self._active
        within = self._exact <= self.deflation.floor(indices, self.initial[indices])
        self.eligible[indices[within]] = False

    def take(self, j: int) -> None:
        """Take candidate j's direction out and downdate the scores."""
        c = self.deflation.take(j)
        self._pending += 1
        self._exact -= c * c
        np.maximum(self._exact, 0.0, out=self._exact)
        if self._active is None and self._pending == self._rest and self.deflation.max_active:
            self._activate()

    def _leader(self) -> tuple[int, float, float, float]:
        """Best eligible candidate by the tie rule, its score, the runner-up and the top score."""
        if self._active is None:
            masked = np.where(self.eligible, self._exact, -1.0)
        else:
            masked = np.where(self.eligible[self._active], self._exact, -1.0)
        if not masked.size:
            return -1, -1.0, -1.0, -1.0
        best = top_of(masked)
        order = self._tie_order
        if order is not None and self._active is not None:
            order = order[self._active]
        place, self.n_tied = first_of(masked >= best * (1 - TIE), order)
        score = float(masked[place])
        masked[place] = -1.0
        j = place if self._active is None else int(self._active[place])
        return j, score, top_of(masked), best

    def _top(self, scores: Array) -> float:
        return float(scores[self.eligible].max(initial=0.0))

    def _catch_up(self) -> None:
        """Make all scores exact; choose the active set anew, larger if it did not last."""
        if self._pending:
            self.deflation.catch_up(self.scores)
            np.maximum(self.scores, 0.0, out=self.scores)
            if self._pending < 4:
                self._share //= 2
            self._activate()
        else:
            # Exact everywhere, and still tied with the rest: look at all of them for a while.
            self._rest *= 2
            self._widen()

    def _widen(self) -> None:
        """Keep the scores of all candidates exact."""
        self._active: Array | None = None
        self._exact = self.scores
        self._bound = -1.0
        self._pending = 0
        self.deflation.narrow(None)

    def _activate(self) -> None:
        """Choose the active set, given exact scores for all."""
        n = self.deflation.n
        size = min(n // self._share, self.deflation.max_active) if self._share > 1 else 0
        if size < 2:
            self._widen()
            return
        masked = np.where(self.eligible, self.scores, -1.0)
        order = np.argpartition(masked, n - size)
        self._active = np.sort(order[n - size :])
        self.deflation.narrow(self._active)
        self._exact = self.scores[self._active]
        self._pending = 0
        self._bound = float(masked[order[: n - size]].max())


def greedy(
    deflation: Deflation,
    eligible: NDArray[np.bool_],
    forced: Array | None = None,
    tie_order: Array | None = None,
) -> Iterator[Pick]:
    """Yield picks, best first, until nothing scores above rounding.

    Parameters
    ----------
    deflation : Deflation
    eligible : ndarray of bool of shape (n,)
        Which candidates may be picked; copied.
    forced : ndarray of int or None
        Pick exactly these, in this order, whatever they score.
    tie_order : ndarray of int of shape (n,) or None
        Among tied candidates the one with the lowest number here wins; None: the lowest index.

    Yields
    ------
    Pick
        The next direction is only taken out when the next pick is asked for.
    """
    if forced is not None:
        yield from _in_order(deflation, forced, int(np.count_nonzero(eligible)))
        return
    board = Scoreboard(deflation, eligible, tie_order)
    n_candidates = int(np.count_nonzero(eligible))
    previous = 1.0
    while True:
        j, score, runner_up = board.best()
        if j < 0:
            return
        board.drop(j)
        # Rounding must not let a score rise above the one before.
        previous = min(previous, score)
        margin = max(score - runner_up, 0.0) / score
        yield Pick(j, previous, margin, n_candidates, board.n_tied)
        n_candidates -= 1
        board.take(j)


def _in_order(deflation: Deflation, forced: Array, n_candidates: int) -> Iterator[Pick]:
    """Yield the forced picks; one that has nothing left of it takes no direction out."""
    deflation.narrow(np.unique(forced))
    initial = {j: deflation.score(j) for j in forced.tolist()}
    for j in forced.tolist():
        # From scratch each time: a forced pick may have all but vanished.
        score = deflation.score(j)
        yield Pick(j, min(score, 1.0), float("nan"), n_candidates)
        n_candidates -= 1
        if score > deflation.floor(j, initial[j]):
            deflation.take(j)
