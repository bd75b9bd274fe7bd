"""``fit_source``: a selection straight from files and streams."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from projse.estimators.fit_moments import FitMomentsMixin
from projse.estimators.fitted import all_or_nothing
from projse.estimators.parameters import check_parameters
from projse.estimators.progress import FitProgress, with_callbacks
from projse.kernels.range_finder import Sketch, find_range
from projse.moments.options import SourceOptions
from projse.moments.own_products import ONCE
from projse.moments.stream import OpenSource
from projse.moments.stream_run import Report, SourceProgress
from projse.moments.sums import Moments
from projse.moments.whole_numbers import settle_targets
from projse.search.filled import are_filled
from projse.search.task import Task


class FitSourceMixin(FitMomentsMixin):
    """Adds ``fit_source``."""

    categorical_features: Any
    missing: str
    basis: str

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit_source(
        self,
        source: Any,
        *,
        targets: Any = None,
        features: Any = None,
        exclude: Any = None,
        weight: str | None = None,
        class_target: str | None = None,
        covariates: Any = None,
        missing: str | None = None,
        numeric_only: bool = False,
        with_xx: bool | str = "auto",
        format: str | None = None,
        state: Any = None,
        state_by: str = "time",
        na_values: Any = None,
        progress: Report | None = None,
    ) -> Self:
        """Select from the columns of files, streams or batches, with bounded memory.

        Parameters
        ----------
        source : path, sequence of paths, dataset, data frame, stream, arrays, or iterator
            As in :func:`projse.moments_from`.
        targets, features, exclude : str or sequence of str, default=None
            Columns by name or pattern: references, candidates (None: all but the targets), and
            columns that are not read. Without targets and class_target: one view.
        weight, class_target : str, default=None
            Columns of row weights, and of class labels instead of targets.
        covariates : str or sequence of str, default=None
            Columns, by name or pattern, that are taken out of all others first, as in
            :meth:`ProjSe.fit`.
        missing : {"refuse", "drop", "indicator", "mean"}, default=None
            What to do with gaps; None: as the estimator's ``missing`` says.
        numeric_only : bool, default=False
            Leave out features that are not numbers. Otherwise strings, categories and dates are
            encoded batch by batch, as the parameters ``categorical_features``, ``basis`` and
            ``min_frequency`` say; what must be the same for all rows (knots, fills) comes from the
            first 100 000 rows, and is kept in the state and in the moments.
        with_xx : bool or "auto", default="auto"
            Sum the products of all candidates with each other, for more picks than the references
            have dimensions. "auto" does so where this selection conditions on picks and it is
            cheaper (up to about 600 candidates; with a state, which keeps them for the next day,
            up to about 2000); else the source is read again, once or a few times, for products of
            the picks alone, at any width. With a state also for up to 512 candidates, since the
            next selection may need them. False leaves them out: fewer picks may be made. Streams
            that can be read only once: all products for up to 8192 candidates.
        format : {"parquet", "feather", "arrow", "csv", "npy"}, default=None
            Format of the files; None goes by their names.
        state : path-like, default=None
            Folder that keeps the sums of every file: to go on after a crash, and to add new files
            without reading the old ones (but for products of the picks: see ``with_xx``). It must
            be new, empty, or a state.
        state_by : {"time", "content"}, default="time"
            Whether a file has changed is told by its size and time, or by its content.
        na_values : str or sequence of str, default=None
            What stands for a gap in CSV files ("?", "-", "missing"), beside what does in any case:
            nothing, NA, N/A, NaN, null and their like. A state keeps it.
        progress : callable, default=None
            Called as each pass goes on; see :func:`projse.moments_from`. ``n_passes`` tells them
            apart.

        Returns
        -------
        self : object
        """
        check_parameters(self)
        self._refuse_need_of_rows(once=False)
        missing = self.missing if missing is None else missing
        columns = (targets, features, exclude, weight, class_target, missing, numeric_only)
        encoding = (covariates, self.categorical_features, self.basis, na_values)
        options = SourceOptions(*columns, with_xx, format, state, state_by, *encoding)
        fit_progress = FitProgress(self, max_phases=None)
        report = _both(progress, fit_progress)
        with all_or_nothing(self):
            opened = OpenSource(
                source, options, self.target_type, self.n_jobs, self.batch_size, report
            )

            def needs_products(first: Moments) -> bool:
                return self._sums_products_after(first, opened.price)

            fit_progress.phase("rows")
            sketch = self._sketch_of(opened)
            through = None if sketch is None else sketch.through
            moments = opened.total(needs_products, through)
            if class_target is None and sketch is None:
                moments = settle_targets(moments, self.target_type, **opened.labels)
            fit_progress.phase("picks")
            cross = None
            # Products that were left out by hand are not made by another pass.
            if with_xx == "auto" and opened.price < ONCE and moments.x_variables is None:
                cross = fit_progress.around(opened.cross(moments))
            self._fit_checked(moments, cross, sketch)
        fit_progress.end()
        return self

    def _sketch_of(self, opened: OpenSource) -> Sketch | None:
        """Find the leading directions of many outputs by passes of their own, where they can be."""
        rereadable = opened.options.state is None and opened.price < ONCE
        if self.solver == "sketch" and not rereadable:
            raise ValueError(
                "solver='sketch' reads the rows several times, and keeps no sums of files: it "
                "needs a source that can be read again, and no state. Use solver='auto'."
            )
        size = self._n_directions(opened.n_outputs)
        if size is None or not rereadable:
            return None
        return find_range(opened.over, size, center=self.center, n_iter=self.iterated_power)

    def _sums_products_after(self, first: Moments, price: float) -> bool:
        """Tell whether products are summed, by the moments of the first rows."""
        if first.x_variables is None:
            task = Task.of(self, first.n_x, first.feature_names, first.one_view)
            return task.products.are_summed_after(first, price)
        names = first.x_variables.names
        task = Task.of(self, len(names), names, first.one_view)
        if not task.spec.is_linear and are_filled(first.encoding, first.x_variables):
            return True  # what fills the gaps is a combination of columns
        task = task.of_columns(first.x_variables, {})
        # Levels and gaps to come make variables of several columns of those that are one now.
        return replace(task.products, grouped=True).are_summed_after(first, ONCE)


def _both(progress: Report | None, fit_progress: FitProgress) -> Report | None:
    """Report each pass to the caller and, part by part, to scikit-learn's callbacks."""
    if not fit_progress.is_followed:
        return progress
    at = (1, 0)

    def report(now: SourceProgress) -> None:
        nonlocal at
        n_passes, n_reported = at
        if now.n_passes > n_passes:
            n_reported = 0
        for done in range(n_reported + 1, now.n_parts + 1):
            fit_progress.step(done, now.n_parts_total)
        at = (now.n_passes, now.n_parts)
        if progress is not None:
            progress(now)

    return report
