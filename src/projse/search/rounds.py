"""Selection in rounds: search the reference space, condition on the picks, search what is left.

The one place where all routes meet: any kernel matrices, from whatever rows, go through
:func:`select`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.kernels.feature_gram import ENTRY_ROUNDING, FeatureGram
from projse.kernels.subspaces import WhitenedGram
from projse.search.auto import FixedRidge, OwnRidge, Ridge
from projse.search.by_columns import ColumnSearch
from projse.search.by_variables import VariableSearch
from projse.search.conditioning import Conditioning
from projse.search.coordinates import coordinates, squared_lengths
from projse.search.deflation import CholeskyDeflation, Deflation, ProjectedDeflation
from projse.search.factor import Factor, factor, in_units
from projse.search.greedy import Pick
from projse.search.shortlist import Shortlist
from projse.search.significance import unconvinced
from projse.search.soft_rounds import select_softly
from projse.threads import threads_worth

Array = NDArray[Any]


@dataclass(frozen=True)
class Plan:
    """What to select, and how.

    Attributes
    ----------
    n_features : int or None
        How many; None for the rank of the reference space, given what is included.
    exhausted : {"residual", "restart", "stop"}
    round_size : int or None
    redundancy : float or None
        Share of itself that an exact copy of a pick keeps, where picks are conditioned on one by
        one (``round_size=1``); None where what a pick explains tells its share.
    include, exclude : ndarray of int
        Candidates that come first; candidates that are never picked.
    first : int or None
        The first pick, where it is known, of picks that are conditioned on softly.
    alpha, rank, tol
        Of the factor of ``K_YY``.
    one_view : bool
        The references are the candidates.
    spectrum : ndarray or None
        Singular values of the references, where an orthonormal basis took their place.
    n_rows : float
        Rows behind the kernel matrices; weights count as rows.
    largest_ridge : float
        Bound on the λ of a pick, where each has its own.
    copies_wait : bool
        Whether exact copies of picks wait until nothing else is left, where picks are taken one by
        one among single columns.
    degrees : float
        Dimension of the space of the variables, for the p-values; NaN where they have no meaning.
    dimension : float
        The same for the scores of variables of several columns, as far as it is known.
    room : float
        Dimensions that variables can have with so many rows, at most; infinite where a kernel
        takes them elsewhere.
    significance : float or None
        Stop at the first p-value above this.
    tie_order : ndarray of int of shape (n_x,) or None
        Among tied candidates the one with the lowest number here wins; None: the lowest index.
    keeps_rows : bool
        Whether the selection hands out the rows of ``K_XX`` that it asked for.
    with_pvalues : bool
        Whether p-values are asked for; those that the number of picks goes by are made anyway.
    """

    n_features: int | None
    exhausted: str = "residual"
    round_size: int | None = None
    redundancy: float | None = 0.0
    include: Array = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    exclude: Array = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    first: int | None = None
    alpha: float = 0.0
    rank: int | float | None = None
    tol: float | None = None
    one_view: bool = False
    spectrum: Array | None = None
    n_rows: float = float("nan")
    largest_ridge: float = float("inf")
    copies_wait: bool = False
    degrees: float = float("nan")
    dimension: float = float("inf")
    room: float = float("inf")
    significance: float | None = None
    tie_order: Array | None = None
    keeps_rows: bool = False
    with_pvalues: bool = True

    @property
    def needs_factor(self) -> bool:
        """Whether the directions of the references are weighed or cut."""
        weighed = bool(self.alpha) or self.rank is not None or self.tol is not None
        return weighed or self.is_soft

    @property
    def is_soft(self) -> bool:
        """Whether picks are conditioned on softly, one by one."""
        return self.redundancy != 0 and self.round_size == 1

    def ridge(self, values: Array, alpha: float, n_candidates: int) -> Ridge:
        """Return the λ of picks, ``redundancy = λ / (1 + λ)``; ``values`` are those of ``K_YY``."""
        if self.redundancy is None:
            return OwnRidge(values, alpha, self.n_rows, n_candidates, self.largest_ridge)
        ridge = self.redundancy / (1 - self.redundancy) if self.redundancy < 1 else np.inf
        return FixedRidge(ridge)


@dataclass
class Selection:
    """Picks in order, with what is known about each.

    ``reference_rank`` is that of the references once covariates, of dimension ``n_conditioned``,
    are taken out. ``all_tied``: the first pick that was free scored no more than any other.
    ``x_rows`` are those rows of ``K_XX`` of picks that the search asked for, if they are kept.
    """

    indices: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    margins: list[float] = field(default_factory=list)
    pvalues: list[float] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    redundancy: float = 0.0
    reference_rank: int = 0
    n_conditioned: int = 0
    stopped: str = ""
    all_tied: bool = False
    x_rows: dict[int, Array] = field(default_factory=dict)

    def add(self, pick: Pick, pvalue: float, round_number: int) -> None:
        """Record a pick."""
        if round_number == 1 and 1 not in self.rounds:
            self.all_tied = 1 < pick.n_tied == pick.n_candidates
        self.indices.append(pick.index)
        self.scores.append(pick.score)
        self.margins.append(pick.margin)
        self.pvalues.append(pvalue)
        self.rounds.append(round_number)


class ReferenceSpace:
    """The reference space of a selection: opened for search round by round."""

    # Known once it was opened, but for a search by pivoted Cholesky.
    values: Array
    unridged: Array
    _F: Array
    _y_amplification: Array

    def __init__(self, gram: FeatureGram, plan: Plan, eligible: NDArray[np.bool_]) -> None:
        self.gram = gram
        self.plan = plan
        n_picks = plan.n_features
        if n_picks is None:
            n_picks = (gram.n_x if plan.one_view else gram.n_y) + len(plan.include)
        self.shortlist = Shortlist(gram, n_picks, eligible, keeps=plan.keeps_rows)
        self.conditioning = Conditioning(gram, self.shortlist)
        # One view needs no factor of its own Gram matrix: its search is pivoted Cholesky.
        self.by_cholesky = plan.one_view and not plan.needs_factor
        self.largest: float | None = None
        self.alpha = plan.alpha
        # Ridge and truncation go by the directions of the references, not those of their basis.
        self.units = plan.spectrum if plan.needs_factor else None
        self.is_full = False

    def copy(self) -> ReferenceSpace:
        """Return the space as it is now, to be conditioned by itself."""
        other = copy(self)
        other.conditioning = self.conditioning.copy()
        return other

    def open(self) -> tuple[Deflation, int]:
        """Return the space that is left, for a search, and its dimension."""
        conditioning = self.conditioning
        if self.by_cholesky:
            return CholeskyDeflation(conditioning), int((~conditioning.vanished).sum())
        with threads_worth(self.gram.n_y**2 * (self.gram.n_x + 9 * self.gram.n_y)):
            return self._open()

    def _open(self) -> tuple[Deflation, int]:
        conditioning, gram = self.conditioning, self.gram
        amplification = conditioning.y_amplification()
        kept = self._factor(amplification)
        self._F, self._y_amplification = kept.F, amplification
        if self.largest is None:
            self.largest = kept.largest
        self.values = kept.values
        # Coordinates times this are those in an orthonormal basis.
        self.unridged = np.sqrt((kept.values + self.alpha) / kept.values)
        conditioned = conditioning if conditioning.rank else None
        R = coordinates(gram, kept.F, conditioned)
        self.is_full = self._fills_the_rows(kept.rank)
        if self.is_full:
            plain = coordinates(gram, kept.F * self.unridged[:, None], conditioned)
            conditioning.fit_lengths(squared_lengths(plain))
            R = coordinates(gram, kept.F, conditioned)
        smallest = kept.smallest + self.alpha if kept.rank else 1.0
        deflation = ProjectedDeflation(
            R,
            noise=self._noise(kept.F, amplification),
            relative_noise=64 * gram.eps * np.sqrt(max(kept.largest, smallest) / smallest),
        )
        return deflation, kept.rank

    def _factor(self, amplification: Array) -> Factor:
        """Factor what is left of the references; products with them are multiplied by its F."""
        gram, plan, units = self.gram, self.plan, self.units
        K = self.conditioning.reference()
        parts: dict[str, Any] = {"eps": gram.eps, "amplification": amplification, "off": gram.y_off}
        weights: dict[str, Any] = {"alpha": self.alpha, "rank": plan.rank, "tol": plan.tol}
        if units is None:
            parts["directions"] = gram.directions() if K is gram.yy else None
            return factor(K, largest=self.largest, **parts, **weights)
        if self.conditioning.rank:
            assert self.largest is not None
            return in_units(factor(K, largest=1.0, **parts), units, largest=self.largest, **weights)
        # As they are, singular values were cut, not the squares of them.
        weights["tol"] = plan.tol or 0.0
        for name in ("amplification", "off"):
            parts[name] = None if parts[name] is None else parts[name] * units
        kept = factor(K * np.outer(units, units), **parts, **weights)
        return replace(kept, F=kept.F * units)

    def _fills_the_rows(self, rank: int) -> bool:
        """Whether what is left of the references is all the space that is left, and all are alike.

        Every candidate then lies in it wholly (without a ridge it scores 1), but for rounding,
        which conditioning has made large: that must not decide between them. With a ridge, short
        directions count less than their rounding does here, so they tell candidates apart.
        """
        conditioned = self.conditioning.rank
        alike = not self.alpha or rank == 1
        return alike and conditioned > 0 and self.plan.room - conditioned <= rank

    def condition_from_the_start(
        self, indices: Array, scores: Callable[[], Array] | None = None
    ) -> None:
        """Condition on candidates that come first; ``scores`` tell what may follow them.

        The ridge stays in proportion to what is left of the references: else, where these
        candidates explain most of them, all scores would be small, and could not be compared with
        those of permuted references, of which they explain nothing.
        """
        before = self._size_of_references()
        self.conditioning.extend(indices, scores)
        if self.alpha and before > 0:
            self.alpha *= max(self._size_of_references(), 0.0) / before

    def _size_of_references(self) -> float:
        squares = np.diag(self.conditioning.reference())
        return float(squares.sum() if self.units is None else squares @ self.units**2)

    def rounding(self, directions: Array) -> tuple[Array, float]:
        """Return the squared length of the rounding along directions of the coordinates.

        Parameters
        ----------
        directions : ndarray of shape (k, rank)
            Of any length: as long as what lies along them counts.

        Returns
        -------
        of_candidates : ndarray of shape (n_x,)
        of_unit : float
            The same for a column of products that are off by 1 each.
        """
        F = directions @ self._F
        noise = self._noise(F, self._y_amplification)
        return len(F) * noise**2, float(np.square(F * self._y_amplification).sum())

    def _noise(self, F: Array, amplification: Array) -> Array:
        """Root mean square rounding of the coordinates of each candidate."""
        rank, plan = max(len(F), 1), self.plan
        amplified = F * amplification
        noise = self.conditioning.noise() * math.sqrt(np.vdot(amplified, amplified) / rank)
        if plan.spectrum is not None:
            # The basis itself: of the references, a short direction is known less well.
            off = ENTRY_ROUNDING * self.gram.eps * np.linalg.norm(F / plan.spectrum)
            noise = np.hypot(noise, off / np.sqrt(rank))
        return noise


def select(
    gram: FeatureGram, plan: Plan, progress: Callable[[int, int], None] | None = None
) -> Selection:
    """Select variables as ``plan`` says.

    Parameters
    ----------
    gram : FeatureGram
        Normalised kernel matrices.
    plan : Plan
    progress : callable or None
        Called with the number of picks made and wanted.

    Returns
    -------
    Selection
    """
    search = _search(gram, plan)
    selection = Selection()
    _select(search, selection, progress)
    if isinstance(search, ColumnSearch):
        selection.x_rows = search.space.shortlist.kept(selection.indices)
    return selection


def _select(
    search: ColumnSearch | VariableSearch,
    selection: Selection,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Add picks to the selection until it has as many as are wanted, or nothing is left."""
    space = search.space
    gram, plan = space.gram, space.plan
    selection.reference_rank = search.rank
    selection.n_conditioned = gram.n_conditioned
    wanted = plan.n_features
    if plan.include.size:
        for pick in search.forced(plan.include):
            selection.add(pick, float("nan"), 0)
        search.eligible[plan.include] = False
        search.condition_from_the_start(plan.include)
        search.open()
    if wanted is None:
        # What comes first takes no place of what the references are then searched for.
        wanted = len(selection.indices) + min(search.rank, int(search.eligible.sum()))

    if plan.is_soft:
        if plan.exhausted == "stop":
            wanted = min(wanted, len(selection.indices) + search.rank)
        soft = search.soft()
        select_softly(
            soft,
            plan,
            has_products=gram.has_x_rows,
            wanted=wanted,
            selection=selection,
            progress=progress,
        )
        late = soft.late_pvalues()
        if late:
            selection.pvalues[-len(late) :] = late
        return
    round_number = 0
    pending: list[int] = []
    looked_once = False
    while len(selection.indices) < wanted:
        round_number += 1
        rank = search.rank
        limit = min(rank, wanted - len(selection.indices), plan.round_size or rank)
        taken = 0
        for pick in islice(search.picks(), limit):
            pvalue = search.pvalue(pick, taken)
            if plan.significance is not None:
                # In a space that picks were taken out of, one of several variables behind the same
                # outputs may look like chance; given those picks, it does not. So there it is
                # looked at twice, each time at half the level.
                second_look = taken > 0 and plan.exhausted == "residual"
                halved = second_look or (looked_once and not taken)
                if not pvalue <= plan.significance / (2 if halved else 1):
                    looked_once = second_look
                    if second_look:
                        break
                    selection.stopped = unconvinced(pvalue)
                    return
                looked_once = False
            selection.add(pick, pvalue, round_number)
            pending.append(pick.index)
            search.eligible[pick.index] = False
            taken += 1
            if progress is not None:
                progress(len(selection.indices), wanted)
        if len(selection.indices) == wanted:
            break
        used_up = plan.round_size is None or taken < plan.round_size
        # One view explains itself: what the search leaves is rounding, and no round finds more,
        # unless it begins in the same space again.
        over = space.by_cholesky and not (used_up and plan.exhausted == "restart")
        nothing_left = taken == 0 or (over and taken < limit)
        if nothing_left or not search.eligible.any() or (used_up and plan.exhausted == "stop"):
            selection.stopped = "exhausted"
            break
        if plan.exhausted == "residual" or not used_up:
            if not gram.has_x_rows:
                selection.stopped = "no products"
                break
            search.condition(pending)
            pending = []
        search.open()


def _search(gram: FeatureGram, plan: Plan) -> ColumnSearch | VariableSearch:
    """Open the search: of columns, or of variables of several columns."""
    if not isinstance(gram, WhitenedGram):
        eligible = gram.alive.copy()
        eligible[plan.exclude] = False
        return ColumnSearch(ReferenceSpace(gram, plan, eligible), eligible)
    eligible = gram.map.sizes > 0
    eligible[plan.exclude] = False
    # In one view its references are there: whitened candidates, of which a factor is made.
    space = ReferenceSpace(gram, replace(plan, one_view=False), eligible[gram.map.variable])
    return VariableSearch(space, eligible)
