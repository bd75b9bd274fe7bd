"""Greedy search: pick the best score, take its direction out, pick again.

Scores are downdated, ``s_j −= (q̂ᵀR_j)²``: one product with ``R`` a pick and nothing written
back. Once the best score has fallen far below where it was last computed, subtraction has cost
digits and all scores are made anew from explicitly deflated coordinates.

Scores only fall, so an old score is an upper bound. With many candidates the search keeps exact
scores for an active set of the best, and goes on there until it sinks to the bound of the rest;
then all the directions taken since are applied to everything in one product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from projse._coordinates import Conditioning, Coordinates
from projse._kernel import tiles

Array = NDArray[Any]

TIE = 1e-10
"""Scores within this share of the best are tied; the lowest index among them wins."""

REFRESH = 1e-3
"""Scores are made anew when the best has fallen below this share of its last exact value."""

LAZY_CANDIDATES = 1 << 14
"""From this many candidates on, only an active set is kept exact."""

ACTIVE_SHARE = 16
"""One candidate in this many is active, at first."""

ACTIVE_ELEMENTS = 1 << 23
"""The coordinates of an active set take at most this many values (64 MiB)."""


class Deflation(Protocol):
    """The reference space, shrinking by a direction a pick."""

    n: int

    def scores(self) -> Array:
        """Scores of all candidates in the space as it is now, from scratch."""

    def take(self, j: int) -> None:
        """Take candidate j's direction out of the space."""

    def latest(self, gathered: Array | None = None) -> Array:
        """Return c with ``s −= c²`` for the direction taken last: for all, or for gathered ones."""

    def floor(self, indices: Any, initial: Any) -> Any:
        """Return scores of candidates that rounding alone can explain, given their first ones."""


class ProjectedDeflation:
    """Deflation in coordinates: an orthonormal ``q̂`` a pick, ``R`` itself never written to.

    ``noise`` is the rounding of an entry of R (one value, or one a candidate), and
    ``relative_noise`` that of a column relative to its length.
    """

    def __init__(self, R: Coordinates, noise: Array | float, relative_noise: float) -> None:
        self.R = R
        self.n = R.n
        self.Q = np.empty((0, R.rank))
        self._noise = np.broadcast_to(np.asarray(noise, dtype=np.float64), (R.n,))
        self._relative_floor = relative_noise**2

    def scores(self) -> Array:
        out = np.empty(self.n)
        for columns in tiles(self.n):
            block = self.R.tile(columns)
            if len(self.Q):
                block = block - self.Q.T @ (self.Q @ block)
            out[columns] = np.einsum("ij,ij->j", block, block)
        return out

    def take(self, j: int) -> None:
        q = self.R.column(j)
        for _ in range(2):  # twice is enough (Kahan, Parlett)
            q -= (self.Q @ q) @ self.Q
        self.Q = np.vstack([self.Q, q / np.linalg.norm(q)])

    def latest(self, gathered: Array | None = None) -> Array:
        q = self.Q[-1]
        return self.R.project(q) if gathered is None else q @ gathered

    def floor(self, indices: Any, initial: Any) -> Any:
        return self.R.rank * self._noise[indices] ** 2 + self._relative_floor * initial

    def gather(self, indices: Array) -> Array:
        """Copy some columns of R, shape (rank, k)."""
        return self.R.tile(indices)

    def apply_since(self, scores: Array, first: int) -> None:
        """Downdate all scores by the directions from number ``first`` on, in one read of R."""
        for columns in tiles(self.n):
            c = self.Q[first:] @ self.R.tile(columns)
            scores[columns] -= np.einsum("ij,ij->j", c, c)
        np.maximum(scores, 0.0, out=scores)


class CholeskyDeflation:
    """One view: the search is pivoted Cholesky of ``K_XX``, with its rows made on demand.

    ``n k`` kernel values and ``2 n k²`` flops for k picks; no n × n matrix.
    """

    def __init__(self, conditioning: Conditioning) -> None:
        self.conditioning = conditioning
        self.n = conditioning.gram.n_x
        self.L = np.empty((0, self.n))
        self._used = 0
        self._largest_scale = 1.0

    def scores(self) -> Array:
        initial = (~self.conditioning.vanished).astype(np.float64)
        L = self.L[: self._used]
        return np.maximum(initial - np.einsum("ij,ij->j", L, L), 0.0)

    def take(self, j: int) -> None:
        L = self.L[: self._used]
        row = self.conditioning.x_row(j)
        row -= L[:, j] @ L
        row /= np.sqrt(row[j])
        if self._used == len(self.L):
            self.L = np.concatenate([self.L, np.empty((max(16, self._used), self.n))])
        self.L[self._used] = row
        self._used += 1
        self._largest_scale = max(self._largest_scale, float(self.conditioning.scale[j]))

    def latest(self, gathered: Array | None = None) -> Array:
        return self.L[self._used - 1]

    def floor(self, indices: Any, initial: Any) -> Any:
        # Entries are known to eps of the whole variables, of which conditioning left a part.
        scale = np.maximum(self.conditioning.scale[indices], self._largest_scale)
        return 8 * max(self._used, 16) * self.conditioning.gram.eps * scale**2


@dataclass
class Pick:
    """A picked candidate, its score, and how far the runner-up was behind."""

    index: int
    score: float
    margin: float
    n_candidates: int


class Scoreboard:
    """Scores of the candidates: exact for an active set, upper bounds for all others."""

    def __init__(self, deflation: Deflation, eligible: NDArray[np.bool_]) -> None:
        self.deflation = deflation
        self.eligible = eligible.copy()
        self.scores = deflation.scores()
        self.initial = self.scores.copy()
        self._reference = self._top(self.scores)
        self._taken = 0
        self._applied = 0
        self._share = ACTIVE_SHARE
        self._activate()

    def best(self) -> tuple[int, float, float]:
        """Return the best candidate, its score and the runner-up's score.

        The index is -1 when no candidate is left that scores above rounding.
        """
        while True:
            j, score, runner_up, best = self._leader()
            if self._active is not None and self._bound > min(runner_up, best * (1 - TIE)):
                self._catch_up()
                continue
            if 0.0 <= best < REFRESH * self._reference:
                self.scores = self.deflation.scores()
                self._applied = self._taken
                self._reference = self._top(self.scores)
                self._activate()
                continue
            if score <= 0.0:
                return -1, 0.0, 0.0
            if score > self.deflation.floor(j, self.initial[j]):
                return j, score, max(runner_up, 0.0)
            self._drop_rounding()

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
        self.deflation.take(j)
        self._taken += 1
        scores = self._exact
        c = self.deflation.latest(self._gathered)
        scores -= c * c
        np.maximum(scores, 0.0, out=scores)
        if self._active is None:
            self._applied = self._taken

    def _leader(self) -> tuple[int, float, float, float]:
        """Best eligible candidate by the tie rule, its score, the runner-up and the top score."""
        if self._active is None:
            masked = np.where(self.eligible, self._exact, -1.0)
        else:
            masked = np.where(self.eligible[self._active], self._exact, -1.0)
        if not masked.size:
            return -1, -1.0, -1.0, -1.0
        best = float(masked.max())
        place = int(np.argmax(masked >= best * (1 - TIE)))
        score = float(masked[place])
        masked[place] = -1.0
        j = place if self._active is None else int(self._active[place])
        return j, score, float(masked.max()), best

    def _top(self, scores: Array) -> float:
        return float(scores[self.eligible].max(initial=0.0))

    def _catch_up(self) -> None:
        """Make all scores exact; choose the active set anew, larger if it did not last."""
        assert isinstance(self.deflation, ProjectedDeflation)
        pending = self._taken - self._applied
        if pending:
            self.deflation.apply_since(self.scores, self._applied)
            self._applied = self._taken
            if pending < 4 and self._share > 1:
                self._share //= 2
        else:
            # Exact everywhere, and still tied with the rest: look at all of them.
            self._share = 1
        self._activate()

    def _activate(self) -> None:
        """Choose the active set, given exact scores for all."""
        n = self.deflation.n
        self._active: Array | None = None
        self._gathered: Array | None = None
        self._exact = self.scores
        self._bound = -1.0
        if (
            not isinstance(self.deflation, ProjectedDeflation)
            or n < LAZY_CANDIDATES
            or self._share == 1
        ):
            return
        size = min(n // self._share, ACTIVE_ELEMENTS // max(self.deflation.R.rank, 1))
        if size < 2:
            return
        masked = np.where(self.eligible, self.scores, -1.0)
        order = np.argpartition(masked, n - size)
        self._active = np.sort(order[n - size :])
        self._gathered = self.deflation.gather(self._active)
        self._exact = self.scores[self._active]
        self._bound = float(masked[order[: n - size]].max())


def greedy(
    deflation: Deflation, eligible: NDArray[np.bool_], forced: Array | None = None
) -> Iterator[Pick]:
    """Yield picks, best first, until nothing scores above rounding.

    Parameters
    ----------
    deflation : Deflation
    eligible : ndarray of bool of shape (n,)
        Which candidates may be picked; copied.
    forced : ndarray of int or None
        Pick exactly these, in this order, whatever they score.

    Yields
    ------
    Pick
        The next direction is only taken out when the next pick is asked for.
    """
    if forced is not None:
        yield from _in_order(deflation, forced, int(np.count_nonzero(eligible)))
        return
    board = Scoreboard(deflation, eligible)
    n_candidates = int(np.count_nonzero(eligible))
    previous = 1.0
    while True:
        j, score, runner_up = board.best()
        if j < 0:
            return
        board.drop(j)
        # Rounding must not let a score rise above the one before.
        previous = min(previous, score)
        yield Pick(j, previous, max(score - runner_up, 0.0) / score, n_candidates)
        n_candidates -= 1
        board.take(j)


def _in_order(deflation: Deflation, forced: Array, n_candidates: int) -> Iterator[Pick]:
    """Yield the forced picks; one that has nothing left of it takes no direction out."""
    initial = deflation.scores()
    for j in forced.tolist():
        # From scratch each time: a forced pick may have all but vanished.
        score = float(deflation.scores()[j])
        yield Pick(j, min(score, 1.0), float("nan"), n_candidates)
        n_candidates -= 1
        if score > deflation.floor(j, initial[j]):
            deflation.take(j)
