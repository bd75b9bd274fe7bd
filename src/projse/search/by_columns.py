"""The search where every candidate is one column: what rounds and soft conditioning ask of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from projse.kernels.feature_gram import ENTRY_ROUNDING
from projse.kernels.rank import default_tol
from projse.search.deflation import ProjectedDeflation
from projse.search.greedy import Pick, greedy
from projse.search.significance import GivenPicks, PlainScores, selection_pvalue
from projse.search.soft import SoftConditioning

if TYPE_CHECKING:
    from projse.search.rounds import ReferenceSpace

Array = NDArray[Any]


class ColumnSearch:
    """Picks among single columns, round by round.

    Parameters
    ----------
    space : ReferenceSpace
    eligible : ndarray of bool of shape (n_x,)
        Which candidates may be picked; those who pick keep it up to date.
    """

    def __init__(self, space: ReferenceSpace, eligible: NDArray[np.bool_]) -> None:
        self.space = space
        self.eligible = eligible
        self.open()

    def open(self) -> None:
        """Open the space that is left for a search."""
        self.deflation, self.rank = self.space.open()

    def forced(self, include: Array) -> Iterator[Pick]:
        """Yield candidates that come first, in their order, whatever they score."""
        if self.space.by_cholesky:  # together, not one by one
            self.space.shortlist.rows(include, self.deflation.scores)
        return greedy(self.deflation, self.eligible, forced=include)

    def condition_from_the_start(self, include: Array) -> None:
        """Condition on candidates that came first."""
        self.space.condition_from_the_start(include, self.deflation.opening_scores)

    def picks(self) -> Iterator[Pick]:
        """Yield picks of a round, best first."""
        self._plain = PlainScores(self.rank)
        plan, conditioned = self.space.plan, self.space.conditioning.rank
        self._dimensions = plan.degrees - conditioned, plan.room - conditioned
        # What conditioning left nothing of (copies of picks before, say) is not chosen from.
        left = self.eligible & ~self.space.conditioning.vanished
        return greedy(self.deflation, left, tie_order=self.space.plan.tie_order)

    def pvalue(self, pick: Pick, taken: int) -> float:
        """Return the p-value of a pick after others of its round; each is asked for once."""
        score, deflation = pick.score, self.deflation
        if self.space.plan.alpha and isinstance(deflation, ProjectedDeflation):
            score = self._plain.add(deflation.R.column(pick.index) * self.space.unridged)
        return selection_pvalue(score, self.rank, taken, pick.n_candidates, *self._dimensions)

    def condition(self, picks: list[int]) -> None:
        """Condition everything on picks."""
        indices = np.asarray(picks, dtype=np.intp)
        self.space.conditioning.extend(indices, self.deflation.opening_scores)

    def soft(self) -> SoftColumns:
        """Go on with soft conditioning."""
        return SoftColumns(self)


class SoftColumns:
    """Picks among single columns, one by one, with soft conditioning on each."""

    def __init__(self, search: ColumnSearch) -> None:
        space, deflation = search.space, search.deflation
        assert isinstance(deflation, ProjectedDeflation)
        self._space, self._deflation = space, deflation
        gram, plan, conditioning = space.gram, space.plan, space.conditioning
        alive = search.eligible & ~conditioning.vanished
        ridge = plan.ridge(space.values, space.alpha, int(np.count_nonzero(alive)))
        self._vanishing = gram.eps ** (2 / 3)
        # Scores are squares, and so is their rounding: it does not get near this.
        self._clear = gram.eps ** (1 / 3)
        gone = default_tol(gram.n_y, gram.eps)
        self._soft = SoftConditioning(deflation.R, alive, ridge, self._vanishing, gone)
        self._initial = self._soft.scores()
        degrees, room = plan.degrees - conditioning.rank, plan.room - conditioning.rank
        self._given = GivenPicks(search.rank, degrees, self._vanishing, room)
        self.eligible = space.shortlist.eligible = alive.copy()

    @property
    def redundancy(self) -> float:
        """Share of itself that a copy of the last pick keeps."""
        return self._soft.redundancy

    @property
    def has_pvalues(self) -> bool:
        """Whether p-values have a meaning."""
        return self._given.has_meaning

    def best(self, first: int | None) -> Pick | None:
        """Return the best of the eligible, or ``first``; None where rounding explains them all."""
        order = self._space.plan.tie_order
        pick = self._soft.best(self.eligible, order, first)
        if pick is None or pick.score > self._clear:
            return pick
        if pick.score > self._rounding(np.array([pick.index]))[0]:
            return pick
        # What scores less may be known better: more of it is left.
        known = self.eligible & (self._soft.scores() > self._rounding(np.arange(self._soft.n)))
        found = self._soft.best(known, order, first)
        return None if found is None else replace(found, n_candidates=pick.n_candidates)

    def _rounding(self, indices: Array) -> Array:
        """Return scores of candidates that rounding alone can explain.

        Rounding of coordinates grows with the metric, as references are explained: a direction of
        which next to nothing is left is weighed with up to ``1/α``. It grows with the coefficients
        on the picks, of the candidates and of the references, as in
        :class:`~projse.search.conditioning.Conditioning`. And scores divide by what is left of a
        candidate.
        """
        soft, space, gram = self._soft, self._space, self._space.gram
        metric, picks = soft.metric, soft.picks
        squares, of_unit = space.rounding(metric)
        W, V = soft.coefficients(indices)
        own = space.conditioning.x_amplification(indices) ** 2
        of_picks = space.conditioning.x_amplification(picks) ** 2
        through = of_picks @ W**2
        of_references = float(of_picks @ np.square(V @ metric.T).sum(axis=1))
        off = through * of_unit + (own + through) * of_references
        off = squares[indices] + (ENTRY_ROUNDING * gram.eps) ** 2 * off
        # Directions, short ones of which are known less well.
        ridged = space.values + space.alpha
        longer = float(np.square(metric).sum(axis=0) @ (ridged.min(initial=np.inf) / ridged))
        initial = self._initial[indices] + self._initial[picks] @ W**2
        off += self._deflation.relative_floor * initial * longer
        norms = soft.norms[indices]
        return np.divide(off, norms, out=np.full_like(off, np.inf), where=norms > 0)

    def is_on_few_rows(self, j: int) -> bool:
        """Tell whether one or two rows make up a candidate, as far as that can be known."""
        return self._space.shortlist.is_on_few_rows(j, self._soft.scores)

    def row(self, j: int) -> Array:
        """Return the products of a candidate with all."""
        row: Array = self._space.conditioning.x_rows(np.array([j]), scores=self._soft.scores)[0]
        return row

    def copies(self, row: Array) -> NDArray[np.bool_]:
        """Tell which of the eligible are copies of the pick with these products."""
        return self.eligible & (1 - row * row <= self._vanishing)

    def pvalue(self, pick: Pick, row: Array | None, waiting: list[int]) -> float:
        """Return the p-value of a pick given those before it; each is asked for once.

        NaN where nothing hangs on it now: see :meth:`late_pvalues`.
        """
        if not self.has_pvalues:
            return math.nan
        place = self._deflation.R.column(pick.index) * self._space.unridged
        self._given.add(pick.index, row, place, pick.n_candidates + len(waiting))
        return math.nan if self._space.plan.significance is None else self._given.last()

    def late_pvalues(self) -> list[float] | None:
        """Return the p-values of all picks at once; None where they were told one by one."""
        return self._given.all() if self._space.plan.significance is None else None

    def take(self, j: int, row: Array | None) -> None:
        """Condition everything on a pick, softly."""
        self._soft.take(j, row)
