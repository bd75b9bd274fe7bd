"""From rows or moments to discoveries: what every fit of ``KnockoffProjSe`` comes to."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from projse.estimators.fit_table import sum_slices
from projse.estimators.fitted import all_or_nothing, remember_candidates
from projse.estimators.judged import Judged
from projse.estimators.projse import ProjSe
from projse.estimators.screening import Screened, screen_blocks, screen_rows
from projse.estimators.selector import RowSelector
from projse.estimators.table_rows import TableRows
from projse.exceptions import NothingSelectedWarning, ProductsMissingError
from projse.kernels.combined_candidates import combined_candidate_rows, combined_candidates
from projse.kernels.combined_references import combined_references
from projse.metrics.stability import nogueira_stability
from projse.moments.align import aligned
from projse.moments.counts import are_whole
from projse.moments.in_memory import moments_of
from projse.moments.resample import generator
from projse.moments.sums import Moments
from projse.search.contest import STATISTICS, Statistic
from projse.search.entrants import Entrants, enough_twins
from projse.search.entry_order import EntryOrder
from projse.search.knockoff_filter import Discoveries, combine
from projse.search.unit_products import UnitProducts, unit_products
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

    @property
    def _options(self) -> dict[str, Any]:
        """Options of a pass over the rows."""
        return {"n_jobs": self.n_jobs, "batch_size": self.batch_size}

    def _fit_table(self, table: TableRows, selector: ProjSe) -> None:
        """Sum the rows of a table, which need not lie encoded side by side unless some screen."""
        if not table.fits:
            moments = sum_slices(table, n_jobs=self.n_jobs, batch_size=self.batch_size)
            if self._fit_whole(moments, selector, generator(self.random_state)):
                return
        self._fit_rows(table.final_rows(), selector)

    def _fit_rows(self, rows: Rows, selector: ProjSe) -> None:
        """Sum rows, if there are enough for all candidates; else let some of them screen."""
        rng = generator(self.random_state)
        encoded = rows.x_variables is not None
        # With fewer rows than candidates, the products would be for nothing.
        if encoded or len(self._judged(selector).candidates) < rows.n_samples:
            moments = moments_of(rows, with_xx=True, **self._options)
            if self._fit_whole(moments, selector, rng):
                return
        rows, column = combined_candidate_rows(rows, selector.min_frequency)
        judged = self._judged(selector, column)
        screened = screen_rows(rows, judged.task, judged.labels, rng, self._options)
        self._keep(None)
        self._fit_screened(screened, judged, rng)

    def _fit_whole(self, moments: Moments, selector: ProjSe, rng: np.random.Generator) -> bool:
        """Find variables from moments of all rows, if these are enough; return whether they are."""
        plain, judged = self._plain(moments, selector)
        entrants = self._entrants(plain, judged)
        if entrants.fit_in:
            self._keep(moments)
            self._finish(entrants, judged, rng)
        return entrants.fit_in

    def _fit_sums(self, blocks: list[Moments], selector: ProjSe, *, weighted: bool = False) -> Self:
        """Find variables from moments of one or several blocks of rows.

        ``weighted``: the rows are known to have had weights.
        """
        blocks = [block for block in blocks if block.n_samples]
        if not blocks:
            raise ValueError("moments hold no rows.")
        total = sum(blocks[1:], start=blocks[0])
        _refuse_unfit(total, weighted)
        with all_or_nothing(self):
            remember_candidates(self, total)
            rng = generator(self.random_state)
            plain, judged = self._plain(total, selector)
            entrants = self._entrants(plain, judged)
            self._keep(total)
            if entrants.fit_in:
                self._finish(entrants, judged, rng)
                return self
            if len(blocks) < 2:
                n, degrees = len(entrants.groups), entrants.products.degrees
                raise ValueError(
                    f"Twins of {n} candidates need {2 * n - degrees + total.n_samples} rows, and "
                    f"moments hold {total.n_samples}; pass the rows to fit, or moments of blocks "
                    "(block_moments), of which some screen the candidates; or exclude some."
                )
            alike = [
                self._plain(aligned(block, total)[0], selector, like=total)[0] for block in blocks
            ]
            self._fit_screened(screen_blocks(alike, judged.task, judged.labels), judged, rng)
        return self

    def _plain(
        self, moments: Moments, selector: ProjSe, like: Moments | None = None
    ) -> tuple[Moments, Judged]:
        """Make plain columns of those that a table was encoded to, and tell what they are."""
        moments = combined_references(moments, like)
        plain, column = combined_candidates(moments, selector.min_frequency, like)
        return plain, self._judged(selector, column)

    def _judged(self, selector: ProjSe, column: Array | None = None) -> Judged:
        n = self.n_features_in_
        column = np.arange(n) if column is None else column
        return Judged.of(selector, self.groups, self._feature_names(), n, column)

    def _entrants(self, moments: Moments, judged: Judged, of_all: Array | None = None) -> Entrants:
        """Make variables of the candidates; ``of_all`` are the columns that moments hold."""
        of_all = np.arange(moments.n_x) if of_all is None else of_all
        candidates = np.flatnonzero(np.isin(of_all, judged.candidates))
        given = np.flatnonzero(np.isin(of_all, judged.include))
        products = unit_products(moments, candidates, given)
        for what, found in (("X", products.columns), ("y", products.outputs)):
            if not found.size:
                raise ValueError(
                    f"All columns of {what} are constant, or explained by what everything is "
                    "conditioned on: there is nothing to find."
                )
        labels = judged.labels[of_all[products.columns]]
        return Entrants.of(products, labels, self.max_correlation)

    def _fit_screened(self, screened: Screened, judged: Judged, rng: np.random.Generator) -> None:
        columns = screened.columns
        entrants = self._entrants(screened.judging, judged, columns)
        if not entrants.fit_in:
            n = int(np.count_nonzero(~np.isin(columns, judged.include)))
            raise ValueError(
                f"{screened.judging.n_samples} rows are left to judge {n} candidates, "
                "after what everything is conditioned on; there are too few rows for any answer."
            )
        given = np.flatnonzero(np.isin(columns, judged.include))
        seen = unit_products(screened.seen, EMPTY, given, like=entrants.products)
        self._finish(entrants, judged, rng, columns, seen)

    def _finish(
        self,
        entrants: Entrants,
        judged: Judged,
        rng: np.random.Generator,
        screened: Array | None = None,
        seen: UnitProducts | None = None,
    ) -> None:
        """Draw, judge, and keep what came of it."""
        statistic: Statistic
        if self.statistic == "order":
            picking = clone(judged.selector).set_params(include=None, exclude=None)
            statistic = EntryOrder(picking, rng)
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
            self.screened_ = np.unique(judged.column[np.setdiff1d(screened, judged.include)])
        self._store(found, judged.column[columns], entrants.labels)

    def _n_twins(self, entrants: Entrants) -> int:
        """Return the number of twins of each variable; refuse more than the rows have room for."""
        if isinstance(self.n_twins, str):
            return enough_twins(entrants.room, self.fdr, len(np.unique(entrants.labels)))
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
        members = [np.unique(columns[labels == g]) for g in found.order]
        self.selected_ = np.concatenate(members).astype(np.intp) if members else EMPTY
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[self.selected_] = True
        if not self.selected_.size:
            fewest = int(np.ceil(1 / (self.n_twins_ * self.fdr) - 1e-9))
            n_ahead = int(np.sum(found.statistics > 0))
            remedy = "a larger fdr, or more rows"
            if fewest > self.n_variables_:
                remedy = "a larger fdr, or a larger n_twins: so few can never be enough"
            warn_caller(
                f"Nothing was found at fdr={self.fdr:g}: for any discovery, at least {fewest} "
                f"variables must win against all twins that count. Of {self.n_variables_}, "
                f"{n_ahead} are ahead of theirs at all (columns that cannot be told apart count as "
                f"one). Few real variables, or weak ones, need {remedy}.",
                NothingSelectedWarning,
            )

    def _keep(self, moments: Moments | None) -> None:
        if moments is not None:
            self.moments_ = copy(moments)  # which the caller may go on updating
        elif hasattr(self, "moments_"):
            del self.moments_


def refuse_no_counts(weight: Array | None) -> None:
    """Refuse weights that are not whole numbers."""
    if weight is not None and not are_whole(weight):
        odd = weight[weight != np.rint(weight)][0]
        raise ValueError(
            f"sample_weight holds {odd:g}; twins take weights as counts of rows, which are whole "
            "numbers. Leave the weights out, or repeat rows by whole numbers."
        )


def _refuse_unfit(moments: Moments, weighted: bool) -> None:
    """Refuse moments that twins cannot be made of.

    Where it is not known whether weights were whole numbers: counts add up to one without rounding,
    and to more than the rows unless all are 1. Weights that are known to have been there and add up
    to the number of rows were normalised.
    """
    if moments.one_view:
        raise ValueError("Twins need outputs to compete for, and these moments hold one view.")
    if moments.xx is None:
        raise ProductsMissingError(
            "Twins need the products of the candidates with each other, which these moments do "
            "not hold; build them with Moments.from_arrays(..., with_xx=True)."
        )
    w, n = moments.sum_weights, moments.n_samples
    whole = moments.whole_weights
    if whole is False or w < n or w != round(w) or (whole is None and weighted and w == n):
        raise ValueError(
            f"The weights sum to {w!r} over {n} rows, and are no whole numbers; twins take weights "
            "as counts of rows. Sum the rows without weights, or with counts."
        )
