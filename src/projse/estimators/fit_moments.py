"""``fit_moments``: a selection from moments, and what every fit leaves on the estimator."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from projse.estimators.fitted import all_or_nothing, remember_candidates
from projse.estimators.given_moments import check_given, refuse_qr
from projse.estimators.parameters import check_parameters
from projse.estimators.results import ResultsMixin
from projse.estimators.selector import RowSelector
from projse.estimators.settled import settled_parameters
from projse.exceptions import (
    ProductsMissingError,
    ProductsMissingWarning,
    RankExhaustedWarning,
    UnreliableSelectionWarning,
)
from projse.kernels.combined_references import combined_references
from projse.kernels.many_outputs import sketched_directions
from projse.kernels.range_finder import Sketch
from projse.moments.dropped import warn_own_targets
from projse.moments.own_products import ONCE, Cross
from projse.moments.sums import Moments
from projse.moments.whole_numbers import settle_targets
from projse.parameters import plain_rank
from projse.search.outcome import Outcome
from projse.search.task import Task
from projse.sources.encode_targets import is_categorical
from projse.sources.rows import Rows
from projse.sources.two_spellings import warn_spellings_of
from projse.warn import many, warn_caller

Array = NDArray[Any]


class FitMomentsMixin(ResultsMixin, RowSelector):
    """Adds ``fit_moments`` to an estimator that has the parameters of ``ProjSe``."""

    n_features_to_select: int | float | str | None
    kernel: str | Callable[[Array, Array], Any]
    center: bool
    center_kernel: bool
    round_size: int | str | None
    groups: Any
    include: Any
    target_type: str
    n_jobs: int | None
    batch_size: int | None
    solver: str
    rank: int | float | str | None
    iterated_power: int

    n_features_in_: int
    moments_: Moments
    # What a fit of two views hands to its two sides: where to begin, that there are two, and what
    # messages call each.
    _first: int | None = None
    _two_views: bool = False
    _view: str = "X"
    # Whether partial_fit has said that each row has a label of its own.
    _own_labels_told: bool = False

    def fit_moments(self, moments: Moments) -> Self:
        """Select from moments alone, wherever they were summed.

        Parameters
        ----------
        moments : Moments

        Returns
        -------
        self : object
        """
        check_parameters(self)
        self._fit_checked(moments)
        return self

    def _fit_checked(
        self, moments: Moments, cross: Cross | None = None, sketch: Sketch | None = None
    ) -> None:
        """Check moments and select from them; ``cross`` makes products that they lack."""
        check_given(moments)
        if sketch is None:
            refuse_qr(self)
        if moments.n_samples < 2:
            raise ValueError(
                f"moments hold {moments.n_samples} sample(s); a selection needs at least 2."
            )
        with all_or_nothing(self):
            remember_candidates(self, moments)
            self._fit_moments(moments, cross=cross, sketch=sketch)

    def _fit_moments(
        self,
        moments: Moments,
        *,
        quiet: bool = False,
        cross: Cross | None = None,
        sketch: Sketch | None = None,
    ) -> None:
        """Select from moments of columns that are remembered, which may stand for a sketch."""
        task = self._task(moments.one_view)
        outcome = task.on_moments(moments, cross=cross, keep=True, sketch=sketch)
        self._keep_moments(moments if sketch is None else None)
        self._keep_picked(outcome, combined_references(moments))
        self._store(outcome, quiet=quiet)

    def _first_batch(
        self, task: Task, n_y: int | None, sum_rows: Callable[[bool], Moments]
    ) -> Moments:
        """Sum rows that others will be added to, with the products that this selection needs.

        Only the sums can tell that the references have fewer directions than columns.
        """
        batch = sum_rows(task.products.are_kept(n_y))
        if batch.xx is None and task.products.are_summed_after(batch, ONCE):
            batch = sum_rows(True)
        return batch

    def _add_moments(self, batch: Moments | None, y: Any) -> None:
        """Add moments, of rows that count, to those seen so far, and select anew."""
        before = getattr(self, "moments_", None)
        total = batch if before is None else before if batch is None else before + batch
        assert total is not None
        warn_spellings_of(total, before)
        # All rows so far tell whether whole numbers are classes; those to come may tell otherwise.
        settled = settle_targets(total, self.target_type, y)
        outcome = self._task(total.one_view).on_moments(settled, provisional=True, keep=True)
        # As many directions as the rows can tell apart, and fewer than references: more may come.
        rank_may_grow = total.n_samples - 1 <= outcome.selection.reference_rank < total.n_references
        if outcome.lacks_products and not rank_may_grow:
            raise ProductsMissingError(
                f"partial_fit made {many(len(outcome.selection.indices), 'pick')}; for more, "
                "the products of the candidates with each other are needed, and the rows so far "
                "were summed without them. Begin with partial_fit instead of fit, sum Moments with "
                "with_xx=True for fit_moments, or use exhausted='stop'."
            )
        # A first batch may show each class once, and what was told is not told again.
        auto = self.target_type == "auto" and not is_categorical(y)
        self._own_labels_told = before is not None and (
            self._own_labels_told or warn_own_targets(total, None, auto=auto)
        )
        self._keep_moments(total)
        self._keep_picked(outcome, combined_references(settled))
        self._store(outcome, quiet=True)

    def _fit_rows(self, rows: Rows) -> None:
        """Select from rows that were checked before, quietly."""
        remember_candidates(self, rows)
        outcome = self._task(rows.one_view).on_rows(rows, keep=True)
        self._keep_moments(outcome.moments)
        self._keep_picked(outcome, rows)
        self._store(outcome, quiet=True)

    def _warn_few_rows(self, few: tuple[int, ...], n_rows: int) -> None:
        """Warn of picks that a row or two make up."""
        if not few:
            return
        grouped = hasattr(self, "variables_")
        names = self.variables_.names if grouped else self._feature_names()
        listed = [repr(names[j]) if names else str(j) for j in few[:5]]
        more = f" and {len(few) - 5} more" if len(few) > 5 else ""
        noun = "variable" if grouped else "column"
        warn_caller(
            f"Of {noun}(s) {', '.join(listed)}{more} of {self._view}, a single row makes up more "
            f"than 40 %: these picks rest on one or two of {n_rows} rows, and will hardly hold "
            "for others. Look at those rows, or leave such columns out with exclude.",
            UnreliableSelectionWarning,
        )

    def _task(self, one_view: bool) -> Task:
        """Resolve the parameters against the columns that are remembered."""
        return Task.of(self, self.n_features_in_, self._feature_names(), one_view)

    def _n_directions(self, n_outputs: int) -> int | None:
        """Return how many directions of the outputs are sketched; None: all products are made."""
        linear = self.kernel == "linear" and not self.center_kernel
        rank = plain_rank(self.rank)
        return sketched_directions(rank, n_outputs, linear=linear, solver=self.solver)

    def _refuse_need_of_rows(self, *, once: bool = True) -> None:
        """Refuse what cannot be done from sums, where rows are there but ``once``."""
        if once or self.solver != "sketch":
            refuse_qr(self, "use solver='auto', or fit, which has all rows at once")
        if callable(self.kernel):
            raise ValueError(
                "A callable kernel needs all rows at once: use fit, or a built-in kernel."
            )

    def _keep_moments(self, moments: Moments | None) -> None:
        if moments is not None:
            self.moments_ = copy(moments)  # which the caller may go on updating
            self._settled = settled_parameters(self)
        elif hasattr(self, "moments_"):
            del self.moments_

    def _store(self, outcome: Outcome, *, quiet: bool = False) -> None:
        selection, wanted = outcome.selection, outcome.plan.n_features
        self._remember_variables(outcome.variables)
        selected = np.asarray(selection.indices, dtype=np.intp)
        self.selected_ = selected
        self.scores_ = np.asarray(selection.scores, dtype=np.float64)
        self.correlations_ = np.sqrt(self.scores_)
        self.margins_ = np.asarray(selection.margins, dtype=np.float64)
        self.pvalues_ = np.asarray(selection.pvalues, dtype=np.float64)
        self.rounds_ = np.asarray(selection.rounds, dtype=np.intp)
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[self._columns_of(selected)] = True
        n = self.n_features_in_ if outcome.variables is None else outcome.variables.n
        self.ranking_ = np.full(n, len(selected) + 1, dtype=np.intp)
        self.ranking_[selected] = np.arange(1, len(selected) + 1)
        self.reference_rank_ = selection.reference_rank
        plan = outcome.plan
        self.alpha_ = plan.alpha
        given = plan.redundancy
        self.redundancy_ = float(selection.redundancy if given is None else given)
        self.round_size_ = plan.round_size
        if quiet:
            return
        for doubt in outcome.doubts:
            warn_caller(doubt, UnreliableSelectionWarning)
        self._warn_few_rows(outcome.few_rows, outcome.n_rows)
        asked = outcome.plan.significance is None
        if (asked or outcome.lacks_products) and len(selected) < (wanted or 0):
            why, kind = "nothing that is left adds to them", RankExhaustedWarning
            if outcome.lacks_products:
                kind = ProductsMissingWarning
                why = (
                    "to look for more, given these, the moments would need the products of the "
                    "candidates (with_xx=True)"
                )
            made = many(len(selected), "variable")
            if asked:
                made = f"{len(selected)} of {many(wanted or 0, 'variable')}"
            warn_caller(f"Selected {made}: {why}.", kind)
