"""Fits to tables: frames with categories, dates and gaps, and numbers as splines."""

from __future__ import annotations

from contextlib import closing
from typing import Any, Self

import scipy.sparse as sp
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from projse.estimators.fit_moments import FitMomentsMixin
from projse.estimators.progress import FitProgress
from projse.estimators.table_options import TableOptions, as_table
from projse.estimators.table_rows import TableRows
from projse.moments.accumulate import Progress
from projse.moments.in_memory import moments_of
from projse.moments.sums import Moments
from projse.search.outcome import Outcome
from projse.sources.no_weight import weighs_nothing
from projse.sources.rows import Rows
from projse.sources.table.frame import refuse_repeated_names
from projse.sources.two_spellings import warn_two_spellings
from projse.threads import effective_n_threads, ordered_map


class FitTableMixin(FitMomentsMixin):
    """Adds the fit to tables to an estimator that has the parameters of ``ProjSe``."""

    categorical_features: Any
    missing: str
    basis: str

    def _table_options(self) -> TableOptions:
        return TableOptions(self.categorical_features, self.missing, self.basis)

    def _table(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        covariates: Any,
        target_type: str,
        *,
        reset: bool = True,
        all_rows: bool = True,
    ) -> TableRows:
        """Check the columns of a table, and look at it: again, if rows were seen before."""
        X = as_table(X)
        refuse_repeated_names(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        encoding = None
        if not reset:
            encoding = self.moments_.encoding
            if encoding is None:
                raise ValueError(
                    "partial_fit cannot go on with categories, dates, gaps or splines from rows "
                    "that were plain numbers; begin with rows that have them, or start with a "
                    "clone."
                )
            if "y" in encoding and self.moments_.y_variables is None:
                raise ValueError(
                    "partial_fit cannot go on from a fit to references of several kinds or with "
                    "gaps, which that fit settled by its own rows; begin with partial_fit instead "
                    "of fit."
                )
        given = (X, y, sample_weight, covariates, self._table_options(), target_type)
        table = TableRows.of(*given, encoding=encoding, all_rows=all_rows)
        if all_rows and table.frame.shape[0] < 2:
            raise ValueError(
                f"Found array with {table.frame.shape[0]} sample(s) that count while a minimum of "
                "2 is required."
            )
        return table

    def _batch(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        target_type: str,
        first: bool,
        covariates: Any = None,
    ) -> Rows | None:
        """Check a batch of rows, and encode it as those before it were; None if it adds nothing."""
        if not first and weighs_nothing(X, sample_weight):
            validate_data(self, X, reset=False, skip_check_array=True)
            return None
        # Rows to come may have gaps where the first have none.
        may_have_gaps = self.missing != "refuse" and not sp.issparse(X)
        encoded = may_have_gaps if first else self.moments_.encoding is not None
        options: Any = {"reset": first}
        if encoded or self._table_options().concern(X, y, covariates, sample_weight):
            given = (X, y, sample_weight, covariates, target_type)
            return self._table(*given, all_rows=False, **options).rows()
        options |= {"min_samples": 1, "covariates": covariates}
        return self._check_rows(X, y, sample_weight, target_type, **options)

    def _fit_table(self, X: Any, y: Any, sample_weight: Any, covariates: Any) -> Self:
        """Select from the columns of a table."""
        table = self._table(X, y, sample_weight, covariates, self.target_type)
        progress = FitProgress(self, X, y)
        # Kernels see gaps filled, but the moments are to hold them, for rows to come.
        fills = self.missing == "mean" and (self.kernel != "linear" or self.center_kernel)
        at_once = table.fits and table.is_final and not fills
        if callable(self.kernel) or self.solver == "qr" or at_once:
            task = self._task(table.targets.one_view)
            outcome = task.on_rows(table.final_rows(), keep=True, phase=progress.phase)
        else:
            outcome = self._on_slices(table, progress)
        self._keep_moments(outcome.moments)
        self._keep_picked(outcome, table.targets)
        self._store(outcome)
        progress.end()
        return self

    def _on_slices(self, table: TableRows, progress: FitProgress) -> Outcome:
        """Select from the moments of slices of rows, which never lie encoded side by side.

        Every slice is encoded and summed by one thread.
        """
        follow = progress.phase("rows")
        total = sum_slices(table, n_jobs=self.n_jobs, batch_size=self.batch_size, follow=follow)
        progress.phase("picks")
        return self._task(total.one_view).on_moments(total, keep=True)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        linear = isinstance(self.kernel, str) and self.kernel == "linear" and not self.center_kernel
        one_column = self.missing in ("drop", "mean")
        tags.input_tags.allow_nan = one_column or (linear and self.missing != "refuse")
        tags.input_tags.categorical = linear
        tags.input_tags.string = linear
        tags.input_tags.sparse = self.basis == "linear"
        return tags


def sum_slices(
    table: TableRows,
    *,
    n_jobs: int | None = None,
    batch_size: int | None = None,
    follow: Progress | None = None,
) -> Moments:
    """Sum slices of rows, each encoded by one thread, with the products of the candidates."""
    later = not sp.issparse(table.targets.Y)

    def summed(limits: tuple[int, int]) -> Moments:
        rows = table.rows(*limits, later=later)
        return moments_of(rows, with_xx=True, n_jobs=1, batch_size=batch_size)

    slices = table.slices(later=later)
    total: Moments | int = 0
    with closing(ordered_map(summed, slices, effective_n_threads(n_jobs))) as parts:
        for done, part in enumerate(parts, start=1):
            total = total + part
            if follow is not None:
                follow(done, len(slices))
    assert isinstance(total, Moments)
    warn_two_spellings(total.x_variables)
    return total
