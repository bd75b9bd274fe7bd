"""Fits to rows that stay where they are: on the workers of Dask and Spark."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

from projse.engines.reduction import RowsElsewhere
from projse.estimators.fit_moments import FitMomentsMixin
from projse.estimators.fitted import all_or_nothing, remember_columns
from projse.estimators.parameters import check_parameters
from projse.estimators.progress import FitProgress
from projse.moments.partitions import moments_elsewhere
from projse.search.task import Task
from projse.sources.encode_targets import warn_many_classes


class FitElsewhereMixin(FitMomentsMixin):
    """Adds ``fit_spark`` and the fit to Dask collections."""

    def fit_spark(
        self,
        df: Any,
        *,
        features: str | Sequence[str],
        targets: str | Sequence[str] | None = None,
        weight: str | None = None,
        class_target: str | None = None,
    ) -> Self:
        """Select from columns of a Spark DataFrame; its workers sum the rows.

        Parameters
        ----------
        df : pyspark.sql.DataFrame
        features, targets, weight, class_target
            As in :func:`projse.spark.moments`. Without targets and class_target: one view.

        Returns
        -------
        self : object
        """
        from projse.engines.spark import SparkRows

        check_parameters(self)
        return self._fit_elsewhere(SparkRows.of(df, features, targets, weight, class_target))

    def _fit_elsewhere(self, rows: RowsElsewhere, covariates: Any = None) -> Self:
        """Fit to rows that are summed where they lie: in one pass, or two where that is needed."""
        for refused, remedy in (
            (callable(self.kernel), "a callable kernel needs all rows in one place"),
            (self.solver == "qr", "solver='qr' factors rows in one place; use solver='auto'"),
            (
                covariates is not None,
                "covariates are not taken; append them to X and name them in include",
            ),
        ):
            if refused:
                raise ValueError(f"With rows on a cluster, {remedy}.")
        options = self._pass_options(self.target_type)
        with all_or_nothing(self):
            progress = FitProgress(self)
            progress.phase("rows")
            moments = moments_elsewhere(rows, with_xx=_needs_products(self, rows), **options)
            if moments.n_samples < 2:
                raise ValueError(
                    f"Found only {moments.n_samples} sample(s) of non-zero weight; a selection "
                    "needs at least 2."
                )
            if getattr(rows, "class_target", None) is None:  # else the user has said so
                warn_many_classes(
                    moments.classes,
                    moments.n_samples,
                    self.target_type,
                    getattr(rows, "Y", None),
                )
            progress.phase("picks")
            remember_columns(self, moments.n_x, moments.feature_names)
            # Only the pass can tell that the references are used up before the picks.
            again = partial(moments_elsewhere, rows, with_xx=True, **options)
            self._fit_moments(moments, again=again)
            progress.end()
        return self

    def _partial_fit_elsewhere(self, rows: RowsElsewhere, target_type: str) -> None:
        """Add rows that are summed where they lie to those seen so far, and select anew."""
        first = not hasattr(self, "moments_")
        options = self._pass_options(target_type)
        if first:
            with_xx = _needs_products(self, rows, keep_few=True)
        else:
            with_xx = self.moments_.xx is not None
        batch = moments_elsewhere(rows, with_xx=with_xx, **options)
        if first:
            remember_columns(self, batch.n_x, batch.feature_names)
        again = partial(moments_elsewhere, rows, with_xx=True, **options) if first else None
        self._add_moments(batch, getattr(rows, "Y", None), again)

    def _pass_options(self, target_type: str) -> Any:
        """Return the keywords of a pass, but for ``with_xx``."""
        return {"target_type": target_type, "n_jobs": self.n_jobs, "batch_size": self.batch_size}


def _needs_products(
    selector: FitMomentsMixin, rows: RowsElsewhere, *, keep_few: bool = False
) -> bool:
    """Tell whether it is certain, before the pass, that candidates will be conditioned on.

    With ``keep_few``, a few products are kept in any case: the pass will not be made again.
    """
    if rows.n_x is None:  # names in include cannot be resolved yet
        always = selector.include is not None or selector.round_size is not None
        return rows.one_view or selector.center_kernel or always
    # What cannot be done is said here, before the pass.
    task = Task.of(selector, rows.n_x, rows.feature_names, rows.one_view)
    # Where the pass must tell, a second one follows if it has to.
    open_ended = selector.target_type == "class" or selector.n_features_to_select == "auto"
    n_y = None if open_ended else rows.n_y
    return task.keeps_products(n_y) if keep_few else task.needs_products(n_y)
