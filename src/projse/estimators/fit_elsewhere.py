"""Fits to rows that stay where they are: on the workers of Dask and Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from projse.engines.reduction import RowsElsewhere
from projse.estimators.fit_moments import FitMomentsMixin
from projse.estimators.fitted import all_or_nothing, remember_candidates
from projse.estimators.parameters import check_parameters
from projse.estimators.progress import FitProgress
from projse.kernels.range_finder import Sketch, find_range
from projse.moments.dropped import warn_dropped, warn_own_targets
from projse.moments.own_products import ON_CLUSTER
from projse.moments.partitions import (
    cross_elsewhere,
    encoding_elsewhere,
    moments_elsewhere,
    n_outputs_elsewhere,
    pass_elsewhere,
)
from projse.moments.sums import Moments
from projse.moments.whole_numbers import settle_targets
from projse.search.task import Task
from projse.sources.table.encoding import TableEncoding
from projse.sources.table.partition import LookOptions


class FitElsewhereMixin(FitMomentsMixin):
    """Adds ``fit_spark`` and the fit to Dask collections."""

    categorical_features: Any
    missing: str
    basis: str

    def fit_spark(
        self,
        df: Any,
        *,
        features: str | Sequence[str],
        targets: str | Sequence[str] | None = None,
        weight: str | None = None,
        class_target: str | None = None,
        covariates: str | Sequence[str] | None = None,
    ) -> Self:
        """Select from columns of a Spark DataFrame; its workers sum the rows.

        Parameters
        ----------
        df : pyspark.sql.DataFrame
        features, targets, weight, class_target, covariates
            As in :func:`projse.spark.moments`. Without targets and class_target: one view.

        Returns
        -------
        self : object
        """
        from projse.engines.spark import SparkRows

        check_parameters(self)
        rows = SparkRows.of(df, features, targets, weight, class_target, covariates)
        return self._fit_elsewhere(rows.as_table() if self._look_options().forced else rows)

    def _fit_elsewhere(self, rows: RowsElsewhere) -> Self:
        """Fit to rows that are summed where they lie; further passes make products of the picks."""
        for refused, remedy in (
            (callable(self.kernel), "a callable kernel needs all rows in one place"),
            (self.solver == "qr", "solver='qr' factors rows in one place; use solver='auto'"),
        ):
            if refused:
                raise ValueError(f"With rows on a cluster, {remedy}.")
        options: Any = {"n_jobs": self.n_jobs, "batch_size": self.batch_size}
        with all_or_nothing(self):
            progress = FitProgress(self, max_phases=None)
            progress.phase("rows")
            encoding = encoding_elsewhere(rows, self._look_options(), self.target_type)
            encoded: Any = {"target_type": self.target_type, "encoding": encoding}
            sketch = self._sketch_elsewhere(rows, **encoded, **options)
            through = None if sketch is None else sketch.through
            n_y = self._directions(rows) if through is None else through.n_combinations
            with_xx = True if encoding is not None else self._sums_products(rows, n_y)
            moments = moments_elsewhere(
                rows, with_xx=with_xx, through=through, **encoded, **options
            )
            if moments.n_samples < 2:
                raise ValueError(
                    f"Found only {moments.n_samples} sample(s) of non-zero weight; a selection "
                    "needs at least 2."
                )
            name = getattr(rows, "class_target", None)
            warn_own_targets(moments, name, auto=name is None and self.target_type == "auto")
            if name is None and sketch is None:
                # Else the user has said so.
                moments = settle_targets(moments, self.target_type, getattr(rows, "Y", None))
            progress.phase("picks")
            remember_candidates(self, moments)
            cross = None
            if encoding is None:
                cross = progress.around(cross_elsewhere(rows, moments, **options))
            self._fit_moments(moments, cross=cross, sketch=sketch)
            progress.end()
        return self

    def _partial_fit_elsewhere(self, rows: RowsElsewhere, target_type: str) -> None:
        """Add rows that are summed where they lie to those seen so far, and select anew."""
        if hasattr(self, "moments_"):
            plain = self.moments_.encoding
            encoding = None if plain is None else TableEncoding.from_dict(plain)
        else:
            encoding = encoding_elsewhere(rows, self._look_options(), target_type)

        def sum_rows(with_xx: bool) -> Moments:
            return moments_elsewhere(
                rows,
                with_xx=with_xx,
                encoding=encoding,
                target_type=target_type,
                n_jobs=self.n_jobs,
                batch_size=self.batch_size,
                warns=False,
            )

        if hasattr(self, "moments_"):
            batch = sum_rows(self.moments_.xx is not None)
        else:
            assert rows.n_x is not None
            task = Task.of(self, rows.n_x, rows.feature_names, rows.one_view)
            if encoding is not None:
                batch = sum_rows(True)
            else:
                batch = self._first_batch(task, self._directions(rows), sum_rows)
            remember_candidates(self, batch)
        warn_dropped(batch)
        self._add_moments(batch, getattr(rows, "Y", None))

    def _look_options(self) -> LookOptions:
        return LookOptions(self.categorical_features, self.missing, self.basis)

    def _sketch_elsewhere(
        self, rows: RowsElsewhere, *, encoding: TableEncoding | None, **options: Any
    ) -> Sketch | None:
        """Find the leading directions of many outputs by passes of their own."""
        if self.rank is None and self.solver != "sketch":
            return None  # whatever their number is
        n_outputs = n_outputs_elsewhere(rows, self.target_type)
        if encoding is not None and encoding.y is not None:
            n_outputs = 0
        size = self._n_directions(n_outputs)
        if size is None:
            return None
        over = pass_elsewhere(rows, encoding=encoding, **options)
        return find_range(over, size, center=self.center, n_iter=self.iterated_power)

    def _sums_products(self, rows: RowsElsewhere, n_y: int | None) -> bool | str:
        """Tell whether the first pass sums the products of all candidates.

        What cannot be done is said here, before the pass.
        """
        if rows.n_x is None:  # names in include cannot be resolved, nor widths compared
            whole = rows.one_view or self.center_kernel or self.groups is not None
            return True if whole else "auto"
        task = Task.of(self, rows.n_x, rows.feature_names, rows.one_view)
        return task.products.are_summed(n_y, ON_CLUSTER)

    def _directions(self, rows: RowsElsewhere) -> int | None:
        """Bound the directions of the references; None where the pass must tell."""
        open_ended = self.target_type == "class" or self.n_features_to_select == "auto"
        return None if open_ended else rows.n_y
