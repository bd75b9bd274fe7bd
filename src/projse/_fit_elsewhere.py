"""Fits to rows that stay where they are: on the workers of Dask and Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from projse._fitted import all_or_nothing, remember_columns
from projse._moments import AUTO_XX_COLUMNS, Moments
from projse._parameters import check_parameters
from projse._partitions import XX_COLUMNS, RowsElsewhere
from projse._progress import FitProgress
from projse._targets import warn_many_classes


class FitElsewhereMixin:
    """Adds ``fit_spark`` and the fit to Dask collections to an estimator that fits moments."""

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
        from projse._spark_rows import SparkRows

        check_parameters(self)
        return self._fit_elsewhere(SparkRows.of(df, features, targets, weight, class_target))

    def _fit_elsewhere(self, rows: RowsElsewhere, covariates: Any = None) -> Self:
        """Fit to rows that are summed where they lie: in one pass, or two where that is needed."""
        estimator: Any = self
        for refused, remedy in (
            (callable(estimator.kernel), "a callable kernel needs all rows in one place"),
            (estimator.solver == "qr", "solver='qr' factors rows in one place; use solver='auto'"),
            (
                covariates is not None,
                "covariates are not taken; append them to X and name them in include",
            ),
        ):
            if refused:
                raise ValueError(f"With rows on a cluster, {remedy}.")
        options: Any = {
            "target_type": estimator.target_type,
            "n_jobs": estimator.n_jobs,
            "batch_size": estimator.batch_size,
        }
        with all_or_nothing(estimator):
            progress = FitProgress(estimator)
            progress.phase("rows")
            if rows.n_x is not None:  # what cannot be done is said before the pass
                remember_columns(estimator, rows.n_x, rows.feature_names)
                estimator._plan(rows.one_view)
            moments = rows.moments(with_xx=_needs_xx(estimator, rows), **options)
            if moments.n_samples < 2:
                raise ValueError(
                    f"Found only {moments.n_samples} sample(s) of non-zero weight; a selection "
                    "needs at least 2."
                )
            if getattr(rows, "class_target", None) is None:  # else the user has said so
                warn_many_classes(
                    moments.classes,
                    moments.n_samples,
                    estimator.target_type,
                    getattr(rows, "Y", None),
                )
            progress.phase("picks")
            remember_columns(estimator, moments.n_x, moments.feature_names)

            def with_xx() -> Moments:
                return rows.moments(with_xx=True, **options)

            again = with_xx if moments.n_x <= XX_COLUMNS else None
            estimator._fit_moments(
                moments, estimator._plan(rows.one_view), strict=True, again=again
            )
            progress.end()
        return self

    def _partial_fit_elsewhere(self, rows: RowsElsewhere, target_type: str) -> None:
        """Add rows that are summed where they lie to those seen so far, and select anew."""
        estimator: Any = self
        before: Moments | None = getattr(estimator, "moments_", None)
        options: Any = {
            "target_type": target_type,
            "n_jobs": estimator.n_jobs,
            "batch_size": estimator.batch_size,
        }
        if before is None:
            assert rows.n_x is not None
            remember_columns(estimator, rows.n_x, rows.feature_names)
            # Dependent references may be used up before there are as many picks.
            few = estimator.exhausted == "residual" and rows.n_x <= AUTO_XX_COLUMNS
            with_xx = few or _needs_xx(estimator, rows)
        else:
            with_xx = before.xx is not None
        plan = estimator._plan(rows.one_view)
        batch = rows.moments(with_xx=with_xx, **options)
        total = batch if before is None else before + batch
        given = getattr(rows, "Y", None)
        warn_many_classes(total.classes, total.n_samples, estimator.target_type, given)

        def again() -> Moments:
            return rows.moments(with_xx=True, **options)

        can_go_on = before is None and batch.n_x <= XX_COLUMNS
        estimator._fit_moments(total, plan, strict=False, again=again if can_go_on else None)


def _needs_xx(estimator: Any, rows: RowsElsewhere) -> bool:
    """Tell whether it is certain, before the pass, that candidates will be conditioned on."""
    # Where the pass must tell, a second one follows if it has to.
    open_ended = estimator.target_type == "class" or estimator.n_features_to_select == "auto"
    n_y = None if open_ended else rows.n_y
    needed: bool = estimator.needs_products(rows.n_x, rows.feature_names, n_y, rows.one_view)
    return needed
