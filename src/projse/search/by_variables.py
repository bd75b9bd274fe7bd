"""The search where a candidate may be several columns: picked or left as a whole.

What is left of the columns of each variable, once everything is conditioned on others, is whitened
again; scores are summed by variable, and measured against chance. All is made anew pick by pick:
``2 r n`` flops for n columns and r directions of the references, and ``O(r³)`` for the spectrum.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from projse.kernels.feature_gram import tiles
from projse.kernels.subspaces import BlockMap, WhitenedGram
from projse.search.adjusted import Chance, best_of
from projse.search.deflation import ProjectedDeflation
from projse.search.greedy import Pick
from projse.search.group_significance import group_pvalue
from projse.search.soft_variables import SoftVariables

if TYPE_CHECKING:
    from projse.search.conditioning import Conditioning
    from projse.search.rounds import ReferenceSpace

Array = NDArray[Any]


class VariableSearch:
    """Picks among variables of several columns, round by round.

    Parameters
    ----------
    space : ReferenceSpace
        Of a :class:`~projse.kernels.subspaces.WhitenedGram`; its plan names variables.
    eligible : ndarray of bool of shape (n_variables,)
        Which variables may be picked; those who pick keep it up to date.

    Attributes
    ----------
    layout : BlockMap
        Columns of each variable in ``R``; the map that whitens what conditioning left of them.
    R : ndarray of shape (r, n_columns)
        Coordinates of the whitened columns.
    floor : ndarray of shape (n_variables,)
        Totals that rounding alone can explain.
    """

    def __init__(self, space: ReferenceSpace, eligible: NDArray[np.bool_]) -> None:
        assert isinstance(space.gram, WhitenedGram)
        self.space = space
        self.gram = space.gram
        self.eligible = eligible
        self.open()

    def open(self) -> None:
        """Open the space that is left for a search."""
        deflation, self.rank = self.space.open()
        assert isinstance(deflation, ProjectedDeflation)
        self.deflation = deflation
        conditioning = self.space.conditioning
        R = np.empty((self.rank, deflation.n))
        for columns in tiles(deflation.n):
            R[:, columns] = deflation.R.tile(columns)
        rounding = self.rank * deflation.noise**2
        self.layout, self.is_whitened = self.gram.map, conditioning.rank > 0
        if self.is_whitened:
            self.layout = whitened_again(conditioning, self.gram.map)
            R, rounding = self.layout.apply(R), self.layout.squares(rounding)
        if self.space.is_full:  # all columns lie in it wholly
            lengths = np.linalg.norm(R * self.space.unridged[:, None], axis=0)
            R = R / np.where(lengths > 0, lengths, 1.0)
        self.R = R
        self.floor = self._by_variable(rounding)
        self.floor += deflation.relative_floor * self._totals(R)

    @property
    def dimension(self) -> float:
        """Dimension of the space of the variables, as far as it is known."""
        return self.space.plan.dimension - self.space.conditioning.rank

    @property
    def chosen_from(self) -> NDArray[np.bool_]:
        """The eligible without those that conditioning left nothing of."""
        return self.eligible & (self.layout.sizes > 0)

    def forced(self, include: Array) -> Iterator[Pick]:
        """Yield variables that come first, in their order, whatever they score."""
        state = _Deflated(self)
        n_candidates = int(np.count_nonzero(self.eligible))
        for k, v in enumerate(include.tolist()):
            totals = self._totals(state.R)
            score = float(self._scores(totals, state)[v])
            yield Pick(v, min(max(score, 0.0), 1.0), float("nan"), n_candidates - k)
            if totals[v] > self.floor[v]:
                state.take(self.layout.columns(v), self.floor[v])

    def condition_from_the_start(self, include: Array) -> None:
        """Condition on variables that came first."""
        columns = self.gram.map.columns_of(include)
        self.space.condition_from_the_start(columns, self.deflation.opening_scores)

    def picks(self) -> Iterator[Pick]:
        """Yield picks of a round, best first, until nothing scores above rounding."""
        state = self._state = _Deflated(self)
        eligible = self.eligible.copy()
        taken = 0.0  # rounding that went with the directions of picks
        while state.n_taken < self.rank:
            totals = self._totals(state.R)
            usable = eligible & (totals > self.floor + taken)
            pick = best_of(self._scores(totals, state), usable, self.space.plan.tie_order)
            if pick is None:
                return
            eligible[pick.index] = False
            yield pick
            taken = max(taken, float(self.floor[pick.index]))
            state.take(self.layout.columns(pick.index), self.floor[pick.index])

    def pvalue(self, pick: Pick, taken: int) -> float:
        """Return the p-value of a pick after others of its round."""
        state, v = self._state, pick.index
        plain = state.plain[:, self.layout.columns(v)]
        sizes = self.layout.sizes[self.chosen_from]
        plan, conditioned = self.space.plan, self.space.conditioning.rank
        return group_pvalue(
            float(np.sum(plain**2)),
            int(self.layout.sizes[v]),
            self.rank - state.n_taken,
            plan.degrees - conditioned,
            sizes,
            plan.room - conditioned,
        )

    def condition(self, picks: list[int]) -> None:
        """Condition everything on picks."""
        columns = self.gram.map.columns_of(np.asarray(picks, dtype=np.intp))
        self.space.conditioning.extend(columns, self.deflation.opening_scores)

    def soft(self) -> SoftVariables:
        """Go on with soft conditioning."""
        return SoftVariables(self)

    def rows(self, v: int) -> Array:
        """Return the products of the whitened columns of a variable with all others'."""
        columns = self.gram.map.columns_of(np.array([v]))
        rows = self.space.conditioning.x_rows(columns, scores=self.deflation.opening_scores)
        if self.is_whitened:
            own = self.layout.matrix[columns][:, self.layout.columns(v)]
            rows = own.T @ self.layout.apply(rows)
        return rows

    def opening_scores(self) -> Array:
        """Scores of all variables in the space as it was opened; 0 where rounding explains them."""
        totals = self._totals(self.R)
        scores: Array = np.where(totals > self.floor, self._scores(totals, _Deflated(self)), 0.0)
        return np.maximum(scores, 0.0)

    def _totals(self, R: Array) -> Array:
        return self._by_variable(np.einsum("ij,ij->j", R, R))

    def _by_variable(self, values: Array) -> Array:
        n = self.layout.n_variables
        sums = np.bincount(self.layout.variable, weights=values, minlength=n)
        return sums.astype(np.float64)  # of no columns at all, numpy counts in whole numbers

    def _scores(self, totals: Array, state: _Deflated) -> Array:
        chance = Chance(state.spectrum(), self.dimension, int(self.chosen_from.sum()))
        return chance.scores(totals, self.layout.sizes)


class _Deflated:
    """Coordinates in a reference space that the picks of a round are taken out of.

    ``plain`` are those without a ridge, for the p-values.
    """

    def __init__(self, search: VariableSearch) -> None:
        self._weights = 1 / search.space.unridged  # roots of the eigenvalues of H
        self.R = search.R
        self._ridged = bool(search.space.alpha)
        self.plain = self.R * search.space.unridged[:, None] if self._ridged else self.R
        self._Q = np.empty((search.rank, 0))
        self.n_taken = 0

    def spectrum(self) -> Array:
        """Eigenvalues of H in what is left of the space."""
        if not self._ridged:
            return np.ones(len(self._weights) - self.n_taken)
        left = self._weights[:, None] * self._Q
        H = np.diag(self._weights**2) - left @ left.T
        return np.clip(np.linalg.eigvalsh(H), 0.0, 1.0)

    def take(self, columns: slice, rounding: float) -> None:
        """Take all directions of a variable out."""
        n_left = len(self._weights) - self.n_taken
        Q = _directions(self.R[:, columns], rounding, n_left)
        self._Q = np.hstack([self._Q, Q])
        self.R = self.R - Q @ (Q.T @ self.R)
        if self._ridged:
            Q = _directions(self.plain[:, columns], rounding, n_left)
            self.plain = self.plain - Q @ (Q.T @ self.plain)
        else:
            self.plain = self.R
        self.n_taken += Q.shape[1]


def _directions(R: Array, rounding: float, n_left: int) -> Array:
    """Orthonormal basis of columns, without those that rounding alone can explain.

    There are ``n_left`` directions at most: what picks before have left beside them is rounding.
    """
    U, values, _ = np.linalg.svd(R, full_matrices=False)
    relative = np.finfo(np.float64).eps * max(R.shape) * values.max(initial=0.0)
    basis: Array = U[:, values > max(np.sqrt(rounding), relative)]
    return basis[:, :n_left]


def whitened_again(conditioning: Conditioning, before: BlockMap) -> BlockMap:
    """Whiten what conditioning left of the columns of each variable.

    Returns
    -------
    BlockMap
        From normalised conditioned columns; directions that have vanished leave.
    """
    eps, scale = conditioning.gram.eps, conditioning.scale
    vanished = conditioning.vanished
    everywhere = np.arange(len(scale))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=~vanished)
    off = 64 * eps * (conditioning.x_amplification(everywhere) * inverse) ** 2
    blocks = []
    for v in range(before.n_variables):
        columns = everywhere[before.columns(v)]
        live = columns[~vanished[columns]]
        A = conditioning.A[:, live]
        values, vectors = np.linalg.eigh(np.eye(len(live)) - A.T @ A)
        known = values > np.maximum(eps ** (2 / 3), off[live] @ vectors**2)
        W = inverse[live][:, None] * vectors[:, known] / np.sqrt(values[known])
        blocks.append((live, W))
    return BlockMap.of(blocks, len(scale))
