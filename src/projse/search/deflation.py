"""Deflation: the reference space, less the directions of the variables that were picked."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from projse.kernels.feature_gram import tiles
from projse.search.conditioning import Conditioning
from projse.search.coordinates import Coordinates, squared_lengths

Array = NDArray[Any]

LAZY_CANDIDATES = 1 << 14
"""From this many candidates on, only an active set is kept exact."""

LAZY_CHOLESKY = 1 << 10
"""The same in one view, where a pick costs a product with all picks before it."""

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

    def score(self, j: int) -> float:
        """Score of one of the candidates that are followed, from scratch."""

    def opening_scores(self) -> Array:
        """Scores that tell which candidates may be picked in the rounds to come."""

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
        self._Q = GrowingRows(R.rank)
        lazy = self.n >= LAZY_CANDIDATES
        self.max_active = ACTIVE_ELEMENTS // max(R.rank, 1) if lazy else 0
        self._gathered: Array | None = None
        self._applied = 0
        self.noise = noise if isinstance(noise, np.ndarray) else np.full(R.n, noise)
        self.relative_floor = relative_noise**2
        # Of the picks whose directions were taken out: of an entry, and as a share of what was.
        self._largest = self._largest_share = 0.0

    def scores(self) -> Array:
        Q = self._Q.rows
        if not len(Q):
            return squared_lengths(self.R)
        out = np.empty(self.n)
        for columns in tiles(self.n):
            block = self.R.tile(columns)
            block = block - Q.T @ (Q @ block)
            out[columns] = np.einsum("ij,ij->j", block, block)
        return out

    def score(self, j: int) -> float:
        left, Q = self.R.column(j), self._Q.rows
        left -= (Q @ left) @ Q
        return float(left @ left)

    def opening_scores(self) -> Array:
        """Scores of all candidates before any direction was taken out."""
        return squared_lengths(self.R)

    def take(self, j: int) -> Array:
        q, Q = self.R.column(j), self._Q.rows
        for _ in range(2 if len(Q) else 0):  # twice is enough (Kahan, Parlett)
            q -= (Q @ q) @ Q
        squared = float(q @ q)
        q /= math.sqrt(squared)
        self._Q.append(q)
        noise = float(self.noise[j]) ** 2
        self._largest = max(self._largest, noise)
        self._largest_share = max(self._largest_share, noise / squared)
        c: Array = self.R.project(q) if self._gathered is None else q @ self._gathered
        return c

    def narrow(self, active: Array | None) -> None:
        self._gathered = None if active is None else self.R.tile(active)
        self._applied = len(self._Q.rows)

    def catch_up(self, scores: Array) -> None:
        since = self._Q.rows[self._applied :]
        for columns in tiles(self.n):
            c = since @ self.R.tile(columns)
            scores[columns] -= np.einsum("ij,ij->j", c, c)

    def floor(self, indices: Any, initial: Any) -> Any:
        # With the direction of a pick goes its rounding: as much as candidates have of it, which is
        # neither more than they had at first nor, as it was the best, more than the pick had.
        taken = np.minimum(self._largest, self._largest_share * initial)
        return self.R.rank * (self.noise[indices] ** 2 + taken) + self.relative_floor * initial


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

    def score(self, j: int) -> float:
        if self.conditioning.vanished[j]:
            return 0.0
        place = j if self._active is None else int(np.searchsorted(self._active, j))
        along = self._active_L.rows[:, place]
        return max(1.0 - float(along @ along), 0.0)

    def opening_scores(self) -> Array:
        """Scores as they are now: they all began as 1."""
        return self.scores()

    def take(self, j: int) -> Array:
        place = j if self._active is None else int(np.searchsorted(self._active, j))
        L = self._active_L.rows
        row = self.conditioning.x_rows(np.array([j]), self._active, self.scores)[0]
        row -= L[:, place] @ L
        row /= np.sqrt(row[place])
        self._active_L.append(row)
        if self._active is not None:
            self._pending.append(j)
        self._largest = max(self._largest, float(self.conditioning.x_amplification(j)))
        return row

    def narrow(self, active: Array | None) -> None:
        self._complete()
        if not self.conditioning.gram.narrow_x_rows:
            active = None  # some columns cost as much as all
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
        self._storage = np.empty((16, n))
        self._used = 0

    @property
    def rows(self) -> Array:
        """What was appended so far, shape (k, n)."""
        return self._storage[: self._used]

    def append(self, rows: Array) -> None:
        """Append rows of shape (k, n), or one row of shape (n,)."""
        used = self._used + (1 if rows.ndim == 1 else len(rows))
        if used > len(self._storage):
            larger = np.empty((max(2 * self._used, used), self._storage.shape[1]))
            larger[: self._used] = self.rows
            self._storage = larger
        self._storage[self._used : used] = rows
        self._used = used
