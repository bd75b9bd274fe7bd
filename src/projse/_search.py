"""Greedy search: pick the best score, take its direction out, pick again.

Scores are downdated, ``s_j −= (q̂ᵀR_j)²``: one product with ``R`` a pick and nothing written
back. Once the best score has fallen far below where it was last computed, subtraction has cost
digits and all scores are made anew from explicitly deflated coordinates.
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


class Deflation(Protocol):
    """The reference space, shrinking by a direction a pick."""

    def scores(self) -> Array:
        """Scores of all candidates in the space as it is now, from scratch."""

    def take(self, j: int) -> Array:
        """Take candidate j's direction out; return the c with ``s −= c²``."""

    def floor(self, initial: Array) -> Array:
        """Scores that rounding alone can explain, given the first ones."""


class ProjectedDeflation:
    """Deflation in coordinates: an orthonormal ``q̂`` a pick, ``R`` itself never written to.

    ``noise`` is the rounding of an entry of R (one value, or one a candidate), and
    ``relative_noise`` that of a column relative to its length.
    """

    def __init__(self, R: Coordinates, noise: Array | float, relative_noise: float) -> None:
        self.R = R
        self.Q = np.empty((0, R.rank))
        self._floor = R.rank * np.square(noise)
        self._relative_floor = relative_noise**2

    def scores(self) -> Array:
        out = np.empty(self.R.n)
        for columns in tiles(self.R.n):
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
        return self.R.project(q)

    def floor(self, initial: Array) -> Array:
        floor: Array = self._floor + self._relative_floor * initial
        return floor


class CholeskyDeflation:
    """One view: the search is pivoted Cholesky of ``K_XX``, with its rows made on demand.

    ``n k`` kernel values and ``2 n k²`` flops for k picks; no n × n matrix.
    """

    def __init__(self, conditioning: Conditioning) -> None:
        self.conditioning = conditioning
        self.n = conditioning.gram.n_x
        self.L = np.empty((0, self.n))
        self._used = 0

    def scores(self) -> Array:
        initial = (~self.conditioning.vanished).astype(np.float64)
        L = self.L[: self._used]
        return np.maximum(initial - np.einsum("ij,ij->j", L, L), 0.0)

    def take(self, j: int) -> Array:
        L = self.L[: self._used]
        row = self.conditioning.x_row(j) - L[:, j] @ L
        row /= np.sqrt(row[j])
        if self._used == len(self.L):
            self.L = np.concatenate([self.L, np.empty((max(16, self._used), self.n))])
        self.L[self._used] = row
        self._used += 1
        return row

    def floor(self, initial: Array) -> Array:
        eps = self.conditioning.gram.eps
        return np.full(self.n, 8 * max(self._used, 16) * eps)


@dataclass
class Pick:
    """A picked candidate, its score, and how far the runner-up was behind."""

    index: int
    score: float
    margin: float
    n_candidates: int


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
    scores = deflation.scores()
    initial = scores.copy()
    eligible = eligible.copy()
    reference = float(scores[eligible].max(initial=0.0))
    previous = 1.0
    position = 0
    while True:
        n_candidates = int(np.count_nonzero(eligible))
        masked = np.where(eligible, scores, -1.0)
        if forced is not None:
            if position == len(forced):
                return
            j = int(forced[position])
            position += 1
            best, margin = float(min(max(scores[j], 0.0), 1.0)), float("nan")
            yield Pick(j, best, margin, n_candidates)
            if scores[j] <= deflation.floor(initial)[j]:
                continue
        else:
            best = float(masked.max(initial=-1.0))
            if best < REFRESH * reference:
                scores = deflation.scores()
                masked = np.where(eligible, scores, -1.0)
                best = float(masked.max(initial=-1.0))
                reference = max(best, 0.0)
            masked[masked <= deflation.floor(initial)] = -1.0
            best = float(masked.max(initial=-1.0))
            if best <= 0.0:
                return
            j = int(np.argmax(masked >= best * (1 - TIE)))
            score = float(masked[j])
            masked[j] = -1.0
            runner_up = max(float(masked.max(initial=0.0)), 0.0)
            eligible[j] = False
            previous = min(previous, score)
            yield Pick(j, previous, max(score - runner_up, 0.0) / score, n_candidates)
        c = deflation.take(j)
        scores -= c * c
        np.maximum(scores, 0.0, out=scores)
