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

from projse.kernels.kernel import tiles
from projse.search.coordinates import Conditioning, Coordinates

Array = NDArray[Any]

TIE = 1e-10
"""Scores within this share of the best are tied; the lowest index among them wins."""

REFRESH = 1e-3
"""Scores are made anew when the best has fallen below this share of its last exact value."""

LAZY_CANDIDATES = 1 << 14
"""From this many candidates on, only an active set is kept exact."""

LAZY_CHOLESKY = 1 << 10
"""The same in one view, where a pick costs a product with all picks before it."""

ACTIVE_SHARE = 16
"""One candidate in this many is active, at first."""

ACTIVE_ELEMENTS = 1 << 23
"""The coordinates of an active set take at most this many values (64 MiB)."""


class Deflation(Protocol):
    """The reference space, shrinking by a direction a pick.

    Attributes
    ----------
    n : int
        Number of candidates.
    max_active : int
        How many candidates an active set may hold; 0 where one would not pay.
    """

    n: int
    max_active: int

    def scores(self) -> Array:
        """Scores of all candidates in the space as it is now, from scratch."""

    def take(self, j: int) -> Array:
        """Take candidate j's direction out; return c with ``s −= c²`` for the active candidates."""

    def narrow(self, active: Array | None) -> None:
        """Follow only these candidates from now on, in ascending order; None for all."""

    def catch_up(self, scores: Array) -> None:
        """Downdate scores of all candidates by the directions taken since the narrowing."""

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
        lazy = self.n >= LAZY_CANDIDATES
        self.max_active = ACTIVE_ELEMENTS // max(R.rank, 1) if lazy else 0
        self._gathered: Array | None = None
        self._applied = 0
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

    def take(self, j: int) -> Array:
        q = self.R.column(j)
        for _ in range(2):  # twice is enough (Kahan, Parlett)
            q -= (self.Q @ q) @ self.Q
        q /= np.linalg.norm(q)
        self.Q = np.vstack([self.Q, q])
        c: Array = self.R.project(q) if self._gathered is None else q @ self._gathered
        return c

    def narrow(self, active: Array | None) -> None:
        self._gathered = None if active is None else self.R.tile(active)
        self._applied = len(self.Q)

    def catch_up(self, scores: Array) -> None:
        since = self.Q[self._applied :]
        for columns in tiles(self.n):
            c = since @ self.R.tile(columns)
            scores[columns] -= np.einsum("ij,ij->j", c, c)

    def floor(self, indices: Any, initial: Any) -> Any:
        return self.R.rank * self._noise[indices] ** 2 + self._relative_floor * initial


class CholeskyDeflation:
    """One view: the search is pivoted Cholesky of ``K_XX``, with its rows made on demand.

    ``n k`` kernel values and ``2 n k²`` flops for k picks; no n × n matrix. With an active set
    only its columns are made pick by pick, and the others for many picks in one product.
    """

    def __init__(self, conditioning: Conditioning) -> None:
        self.conditioning = conditioning
        self.n = conditioning.gram.n_x
        lazy = self.n >= LAZY_CHOLESKY and conditioning.gram.narrow_x_rows
        self.max_active = self.n if lazy else 0
        self._L = GrowingRows(self.n)
        self._active: Array | None = None
        self._active_L = self._L
        self._pending: list[int] = []
        self._largest = 1.0

    def scores(self) -> Array:
        self._complete()
        L = self._L.rows
        initial = (~self.conditioning.vanished).astype(np.float64)
        return np.maximum(initial - np.einsum("ij,ij->j", L, L), 0.0)

    def take(self, j: int) -> Array:
        place = j if self._active is None else int(np.searchsorted(self._active, j))
        L = self._active_L.rows
        row = self.conditioning.x_rows(np.array([j]), self._active)[0]
        row -= L[:, place] @ L
        row /= np.sqrt(row[place])
        self._active_L.append(row[None])
        if self._active is not None:
            self._pending.append(j)
        self._largest = max(self._largest, float(self.conditioning.x_amplification(j)))
        return row

    def narrow(self, active: Array | None) -> None:
        self._complete()
        self._active = active
        self._active_L = self._L
        if active is not None:
            self._active_L = GrowingRows(len(active))
            self._active_L.append(self._L.rows[:, active])

    def catch_up(self, scores: Array) -> None:
        L = self._complete()
        scores -= np.einsum("ij,ij->j", L, L)

    def _complete(self) -> Array:
        """Make whole rows of what was taken in the active set; return those rows."""
        known = self._L.rows
        if not self._pending:
            return known[:0]
        assert self._active is not None
        pivots = np.array(self._pending)
        rows = self.conditioning.x_rows(pivots)
        rows -= known[:, pivots].T @ known
        active_rows = self._active_L.rows[len(known) :]
        U = active_rows[:, np.searchsorted(self._active, pivots)]
        # Small and, by the choice of pivots, well conditioned; and a product is what is fast.
        rows = np.linalg.inv(U).T @ rows
        rows[:, self._active] = active_rows
        self._L.append(rows)
        self._pending = []
        return rows

    def floor(self, indices: Any, initial: Any) -> Any:
        # Entries are known to eps of the whole variables, of which conditioning left a part.
        amplification = np.maximum(self.conditioning.x_amplification(indices), self._largest)
        taken = len(self._active_L.rows)
        return 8 * max(taken, 16) * self.conditioning.gram.eps * amplification**2


class GrowingRows:
    """Rows that are appended to, in storage that doubles when it is full."""

    def __init__(self, n: int) -> None:
        self._storage = np.empty((0, n))
        self._used = 0

    @property
    def rows(self) -> Array:
        """What was appended so far, shape (k, n)."""
        return self._storage[: self._used]

    def append(self, rows: Array) -> None:
        """Append rows of shape (k, n)."""
        used = self._used + len(rows)
        if used > len(self._storage):
            larger = np.empty((max(16, 2 * self._used, used), self._storage.shape[1]))
            larger[: self._used] = self.rows
            self._storage = larger
        self._storage[self._used : used] = rows
        self._used = used


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
        self._share = ACTIVE_SHARE
        self._rest = 1
        self._activate()

    def best(self) -> tuple[int, float, float]:
        """Return the best candidate, its score and the runner-up's score.

        The index is -1 when no candidate is left that scores above rounding.
        """
        # Every turn returns, drops a candidate, or makes scores exact, which two others precede.
        for _ in range(4 * self.deflation.n + 64):
            j, score, runner_up, best = self._leader()
            if not np.isfinite(best) or np.isnan(self._bound):
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
        if self._active is None and self._pending == self._rest:
            self._activate()

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
