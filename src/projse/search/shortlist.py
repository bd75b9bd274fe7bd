"""Rows of ``K_XX`` for the picks, made for many likely picks at a time.

Conditioning needs a row a pick. Where rows cost a pass over the data, they are made together with
those of the candidates that score best: one pass for dozens of picks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.kernels.feature_gram import FeatureGram

Array = NDArray[Any]

SHORTLIST = 96
"""At most this many likely rows of ``K_XX`` are made at a time; twice as many where that costs a
pass over rows that are not in memory."""

SPARE = 16
"""Rows beyond the number of picks: some of the best candidates will not be picked."""


def shortlist_size(n_picks: int, far: bool) -> int:
    """Return how many rows are made at a time for this many picks."""
    return min(2 * n_picks + SPARE, 2 * SHORTLIST) if far else min(n_picks + SPARE, SHORTLIST)


class Shortlist:
    """Rows of ``K_XX``, kept for a shortlist of candidates where they cost a pass.

    Parameters
    ----------
    gram : FeatureGram
    n_picks : int
        How many candidates may be conditioned on.
    eligible : ndarray of bool of shape (n_x,)
        Which candidates may still be picked; the search keeps it up to date.
    keeps : bool
        Whether rows that were asked for can be had again: see :meth:`kept`.
    """

    def __init__(
        self,
        gram: FeatureGram,
        n_picks: int,
        eligible: NDArray[np.bool_],
        *,
        keeps: bool = False,
    ) -> None:
        self.eligible = eligible
        self._asked: dict[int, Array] | None = {} if keeps else None
        self.n_fills = 0
        self._gram = gram
        self._n_picks = n_picks
        self._wanted: set[int] = set()
        self._rows: dict[int, Array] = {}

    def rows(self, wanted: Array, scores: Callable[[], Array] | None = None) -> Array:
        """Return the rows of some candidates as a new array of shape (k, n_x).

        ``scores`` tell which others may be wanted next; they are asked for where a row is missing.
        """
        if self._gram.narrow_x_rows:
            rows = self._gram.x_rows(wanted)
        else:
            self._wanted.update(wanted.tolist())
            if any(j not in self._rows for j in wanted.tolist()):
                self._fill(wanted, None if scores is None else scores())
            rows = np.array([self._rows[j] for j in wanted.tolist()])
        if self._asked is not None:
            self._asked.update(
                (j, row.copy()) for j, row in zip(wanted.tolist(), rows, strict=True)
            )
        return rows

    def kept(self, picks: list[int]) -> dict[int, Array]:
        """Return the rows of those picks that were asked for."""
        asked = self._asked or {}
        return {j: asked[j] for j in picks if j in asked}

    def is_on_few_rows(self, j: int, scores: Callable[[], Array]) -> bool:
        """Tell whether one or two rows make up a candidate, as far as that can be known."""
        if not self._gram.rare_references:
            return False
        wanted = np.array([j])
        if self._gram.far_x_rows:
            self.rows(wanted, scores)  # the pass for its products tells
        few = self._gram.on_few_rows(wanted)
        return few is not None and bool(few[0])

    def _fill(self, wanted: Array, scores: Array | None) -> None:
        """Make the rows that are missing, and drop those that are no longer likely."""
        likely: list[int] = []
        if scores is not None:
            ranks = np.where(self.eligible, scores, -1.0)
            to_come = max(self._n_picks - len(self._wanted), 0)
            size = shortlist_size(to_come, self._gram.far_x_rows)
            best = np.argpartition(-ranks, min(size, len(ranks)) - 1)[:size]
            likely = best[ranks[best] > 0].tolist()
        chosen = dict.fromkeys([*wanted.tolist(), *sorted(likely)])
        kept = {j: self._rows[j].copy() for j in chosen if j in self._rows}
        new = [j for j in chosen if j not in kept]
        made = self._gram.x_rows(np.array(new, dtype=np.intp))
        self._rows = kept | dict(zip(new, made, strict=True))
        self.n_fills += 1
