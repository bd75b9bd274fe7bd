"""From rows or moments to discoveries: what every fit of ``KnockoffProjSe`` comes to."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from projse.estimators.fitted import all_or_nothing, remember_columns
from projse.estimators.projse import ProjSe
from projse.estimators.screening import Screened, screen_blocks, screen_rows
from projse.estimators.selector import RowSelector
from projse.exceptions import NothingSelectedWarning, ProductsMissingError
from projse.metrics.stability import nogueira_stability
from projse.moments.in_memory import moments_of
from projse.moments.resample import generator
from projse.moments.sums import Moments
from projse.moments.whole_numbers import as_number, settle_targets
from projse.search.contest import STATISTICS, Statistic
from projse.search.entrants import Entrants, enough_twins
from projse.search.entry_order import EntryOrder
from projse.search.knockoff_filter import Discoveries, combine
from projse.search.task import Task
from projse.search.unit_products import UnitProducts, unit_products
from projse.sources.groups import resolve_groups
from projse.sources.rows import Rows
from projse.warn import warn_caller

Array = NDArray[Any]

EMPTY = np.empty(0, dtype=np.intp)


class DiscoveryFit(RowSelector):
    """Fits of an estimator that has the parameters of ``KnockoffProjSe``."""

    fdr: float
    n_draws: int
    n_twins: int | str
    statistic: str
    twins: str
    groups: Any
    max_correlation: float
    random_state: Any
    n_jobs: int | None
    batch_size: int | None
    n_features_in_: int
    _grouping: Any

    @property
    def _options(self) -> dict[str, Any]:
        """Options of a pass over the rows."""
        return {"n_jobs": self.n_jobs, "batch_size": self.batch_size}

    def _fit_rows(self, rows: Rows, selector: ProjSe) -> None:
        """Sum rows, if there are enough for all candidates; else let some of them screen."""
        selector = self._of_columns(selector)
        rng = generator(self.random_state)
        candidates, include = self._columns(selector)
        if len(candidates) < rows.n_samples:  # else the products would be for nothing
            moments = moments_of(rows, with_xx=True, **self._options)
            entrants = self._entrants(moments, candidates, include)
            if entrants.fit_in:
                self._keep(moments)
                self._finish(entrants, selector, rng)
                return
        task = Task.of(selector, self.n_features_in_, self._feature_names())
        screened = screen_rows(rows, task, rng, self._options)
        self._keep(None)
        self._fit_screened(screened, include, selector, rng)

    def _fit_sums(self, blocks: list[Moments], selector: ProjSe) -> Self:
        """Find variables from moments of one or several blocks of rows."""
        blocks = [block for block in blocks if block.n_samples]
        if not blocks:
            raise ValueError("moments hold no rows.")
        total = sum(blocks[1:], start=blocks[0])
        _refuse_unfit(total)
        with all_or_nothing(self):
            remember_columns(self, total.n_x, total.feature_names)
            summed, total = total, settle_targets(total, selector.target_type)
            if summed.classes is not None and total.classes is None:
                blocks = [as_number(block, None) for block in blocks]
            selector = self._of_columns(selector)
            rng = generator(self.random_state)
            candidates, include = self._columns(selector)
            entrants = self._entrants(total, candidates, include)
            self._keep(total)
            if entrants.fit_in:
                self._finish(entrants, selector, rng)
                return self
            if len(blocks) < 2:
                n, degrees = len(entrants.groups), entrants.products.degrees
                raise ValueError(
                    f"Twins of {n} candidates need {2 * n - degrees + total.n_samples} rows, and "
                    f"moments hold {total.n_samples}; pass the rows to fit, or moments of blocks "
                    "(block_moments), of which some screen the candidates; or exclude some."
                )
            task = Task.of(selector, self.n_features_in_, self._feature_names())
            self._fit_screened(screen_blocks(blocks, task), include, selector, rng)
        return self

    def _of_columns(self, selector: ProjSe) -> ProjSe:
        """Let a selector of groups screen and compete by columns: variables are ours to judge."""
        self._grouping = self.groups if self.groups is not None else selector.groups
        if selector.groups is None:
            return selector
        task = Task.of(selector, self.n_features_in_, self._feature_names())
        include, _ = task.columns_of(task.plan.include.tolist())
        exclude, _ = task.columns_of(task.plan.exclude.tolist())
        named = {"include": include.tolist() or None, "exclude": exclude.tolist() or None}
        return selector.set_params(groups=None, **named)

    def _columns(self, selector: ProjSe) -> tuple[Array, Array]:
        """Return the candidates, and what is conditioned on."""
        n, names = self.n_features_in_, self._feature_names()
        plan = Task.of(selector, n, names).plan
        return np.setdiff1d(np.arange(n), [*plan.include, *plan.exclude]), plan.include

    def _labels(self, columns: Array) -> Array:
        """Return the variable of each of these columns, as a number."""
        if self._grouping is None:
            return columns
        n, names = self.n_features_in_, self._feature_names()
        return resolve_groups(self._grouping, n, names).of_column[columns]

    def _entrants(
        self,
        moments: Moments,
        candidates: Array,
        include: Array,
        of_all: Array | None = None,
    ) -> Entrants:
        """Make variables of the candidates; ``of_all`` are the columns of X that moments hold."""
        products = unit_products(moments, candidates, include)
        for what, found in (("X", products.columns), ("y", products.outputs)):
            if not found.size:
                raise ValueError(
                    f"All columns of {what} are constant, or explained by what everything is "
                    "conditioned on: there is nothing to find."
                )
        columns = products.columns if of_all is None else of_all[products.columns]
        return Entrants.of(products, self._labels(columns), self.max_correlation)

    def _fit_screened(
        self,
        screened: Screened,
        include: Array,
        selector: ProjSe,
        rng: np.random.Generator,
    ) -> None:
        columns = screened.columns
        is_included = np.isin(columns, include)
        passed, given = np.flatnonzero(~is_included), np.flatnonzero(is_included)
        entrants = self._entrants(screened.judging, passed, given, columns)
        if not entrants.fit_in:
            raise ValueError(
                f"{screened.judging.n_samples} rows are left to judge {len(passed)} candidates, "
                "after what everything is conditioned on; there are too few rows for any answer."
            )
        seen = unit_products(screened.seen, EMPTY, given, like=entrants.products)
        self._finish(entrants, selector, rng, columns, seen)

    def _finish(
        self,
        entrants: Entrants,
        selector: ProjSe,
        rng: np.random.Generator,
        screened: Array | None = None,
        seen: UnitProducts | None = None,
    ) -> None:
        """Draw, judge, and keep what came of it."""
        statistic: Statistic
        if self.statistic == "order":
            statistic = EntryOrder(clone(selector).set_params(include=None, exclude=None), rng)
        else:
            statistic = STATISTICS[self.statistic]
        n_twins = self._n_twins(entrants)
        draws = entrants.contests(
            statistic, n_draws=self.n_draws, n_twins=n_twins, twins=self.twins, rng=rng, seen=seen
        )
        found = combine(draws, self.fdr, n_twins)
        self.n_twins_ = n_twins
        columns = entrants.products.columns
        self.screened_ = None
        if screened is not None:
            columns = screened[columns]
            self.screened_ = np.setdiff1d(screened, self._columns(selector)[1])
        self._store(found, columns, entrants.labels)

    def _n_twins(self, entrants: Entrants) -> int:
        """Return the number of twins of each variable; refuse more than the rows have room for."""
        if isinstance(self.n_twins, str):
            return enough_twins(entrants.room, self.fdr)
        if self.n_twins > entrants.room:
            n, degrees = len(entrants.groups), entrants.products.degrees
            more = (self.n_twins + 1) * n - degrees
            raise ValueError(
                f"n_twins={self.n_twins} of {n} candidates need {more} rows more than there are; "
                f"there is room for {entrants.room} of each. Lower n_twins, or leave it 'auto'."
            )
        return int(self.n_twins)

    def _store(self, found: Discoveries, columns: Array, labels: Array) -> None:
        def of_columns(values: Array, elsewhere: Any, dtype: Any = np.float64) -> Array:
            out = np.full(self.n_features_in_, elsewhere, dtype=dtype)
            out[columns] = values[labels]
            return out

        self.n_variables_ = len(found.statistics)
        self.groups_ = of_columns(np.arange(self.n_variables_), -1, np.intp)
        self.statistics_ = of_columns(found.statistics, np.nan)
        self.evalues_ = of_columns(found.evalues, np.nan)
        self.selection_frequencies_ = of_columns(found.alone.mean(axis=0), np.nan)
        self.threshold_ = found.threshold
        self.agreement_ = found.agreement
        some = 0 < found.alone.sum() < found.alone.size and len(found.alone) > 1
        self.stability_ = nogueira_stability(found.alone) if some else float("nan")
        members = [columns[labels == g] for g in found.order]
        self.selected_ = np.concatenate(members).astype(np.intp) if members else EMPTY
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[self.selected_] = True
        if not self.selected_.size:
            fewest = int(np.ceil(1 / (self.n_twins_ * self.fdr) - 1e-9))
            n_ahead = int(np.sum(found.statistics > 0))
            warn_caller(
                f"Nothing was found at fdr={self.fdr:g}: for any discovery, at least {fewest} "
                f"variables must win against all twins that count. Of {self.n_variables_}, "
                f"{n_ahead} are ahead of theirs at all. Few real variables, or weak ones, need a "
                "larger fdr, or more rows.",
                NothingSelectedWarning,
            )

    def _keep(self, moments: Moments | None) -> None:
        if moments is not None:
            self.moments_ = copy(moments)  # which the caller may go on updating
        elif hasattr(self, "moments_"):
            del self.moments_


def refuse_no_counts(weight: Array | None) -> None:
    """Refuse weights that are not whole numbers."""
    if weight is not None and np.any(weight != np.rint(weight)):
        odd = weight[weight != np.rint(weight)][0]
        raise ValueError(
            f"sample_weight holds {odd:g}; twins take weights as counts of rows, which are whole "
            "numbers. Leave the weights out, or repeat rows by whole numbers."
        )


def _refuse_unfit(moments: Moments) -> None:
    """Refuse moments that twins cannot be made of."""
    if moments.one_view:
        raise ValueError("Twins need outputs to compete for, and these moments hold one view.")
    if moments.x_variables is not None:
        raise ValueError(
            "Twins are made of columns of numbers, and these moments are of an encoded table "
            "(categories, dates, gaps or splines)."
        )
    if moments.xx is None:
        raise ProductsMissingError(
            "Twins need the products of the candidates with each other, which these moments do "
            "not hold; build them with Moments.from_arrays(..., with_xx=True)."
        )
    w, n = moments.sum_weights, moments.n_samples
    if w < n - 0.5 or abs(w - round(w)) > 1e-6 * w:
        raise ValueError(
            f"The weights sum to {w:g} over {n} rows; twins take weights as counts of rows, which "
            "are whole numbers. Sum the rows without weights, or with counts."
        )
