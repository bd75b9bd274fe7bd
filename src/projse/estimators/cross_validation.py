"""ProjSeCV: how many variables, and how they are picked, by cross-validation from one pass."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_regressor

from projse.estimators.fitted import all_or_nothing, remember_candidates
from projse.estimators.folds import MomentFold, Picked, RowFold, judge_by, moment_folds, split_rows
from projse.estimators.given_moments import load_given
from projse.estimators.held_out_choice import choose, predicts, standard_error
from projse.estimators.ordered_rows import some_columns, warn_if_ordered
from projse.estimators.projse import ProjSe
from projse.estimators.results import OfSelectorMixin
from projse.estimators.selector import RowSelector
from projse.estimators.table_rows import kept_rows
from projse.estimators.tags import TagsOfSelectorMixin
from projse.estimators.tuning_grid import tuning_grid
from projse.exceptions import NothingPredictsWarning
from projse.kernels.combined_references import combined_references
from projse.moments.align import aligned
from projse.moments.blocks import all_but_one
from projse.moments.sums import Moments
from projse.parameters import is_whole
from projse.search.task import Task
from projse.sources.rows import Rows
from projse.sources.variables import Variables
from projse.warn import warn_caller

Array = NDArray[Any]


FOLD_BYTES = 1 << 30
"""Beyond this, products of the candidates for all folds are not kept; folds then hold rows."""


class ProjSeCV(
    TagsOfSelectorMixin,
    OfSelectorMixin,
    RowSelector,
    BaseEstimator,  # type: ignore[misc]
):
    """Choose the number of variables, and parameters of the selection, by cross-validation.

    The rows are summed once, fold by fold; what is left when a fold is held out is a sum of the
    others. Selections for all numbers of variables come from one search, and the held-out R² of a
    ridge regression of Y on the selected variables from the moments, so no row is read twice.

    Parameters
    ----------
    selector : ProjSe or None, default=None
        What to tune; None: ``ProjSe()``. Its ``n_features_to_select`` is ignored.
    n_features : int, sequence of int or None, default=None
        Numbers of variables to try: all up to a number, those listed, or all there are up to 100.
    param_grid : "auto", mapping, list of mappings or None, default="auto"
        Other parameters to choose, such as ``{"kernel": ["linear", "poly"], "alpha": [0, 0.1]}``.
        "auto": those of the selector, then ``alpha``, ``redundancy`` and ``round_size`` all "auto",
        and from there a ``redundancy`` of 0, 0.5 or 1, or an ``alpha`` of 0.1 or 10. None: those of
        the selector. Each entry costs a selection a fold, from small matrices.
    cv : int, splitter or iterable, default=5
        As in scikit-learn: a number makes folds of consecutive rows, and class labels are spread
        evenly over them. Rows that look ordered are not shuffled but reported
        (``OrderedRowsWarning``), because the remedy depends on what the order is: shuffled time
        series would be predicted from their own neighbours.
    estimator : estimator or None, default=None
        Judge by this estimator, fitted on the selected columns, instead of ridge regression. The
        rows are then read again for each fit: fold, number of variables and entry of
        ``param_grid``.
    scoring : str, callable or None, default=None
        How to judge ``estimator``; None: its own score.
    rule : {"1se", "best"}, default="1se"
        "best": the best mean score. "1se": of ``param_grid``, the first entry whose best mean score
        is within one standard error (of the difference, fold by fold) of that; and the fewest
        variables within one standard error of its best mean score. So list what you prefer first.
    n_jobs : int or None, default=None
        Threads of the pass over the rows, and jobs for ``estimator``.

    Attributes
    ----------
    n_features_ : int
        The number chosen.
    best_params_ : dict
        The parameters chosen from ``param_grid``.
    best_score_ : float
        Mean held-out score of the choice.
    predicts_ : bool or None
        Whether the best mean held-out R² is above 0 by more than chance, by a t-test at 5 % that
        allows for the rows that folds share. If not, a ``NothingPredictsWarning`` says so; where
        that mean is not above 0 at all, the choice is the fewest variables and the first
        parameters. None where the score is not R². Two folds hardly tell: they must be 10.9
        standard errors above 0, five 3.2.
    cv_results_ : dict
        The curves, one entry a candidate: ``n_features``, ``params``, ``mean_test_score``,
        ``std_test_score``, ``standard_error`` and ``split{i}_test_score``.
    selector_ : ProjSe
        The choice, fitted on all rows.
    selected_, scores_, selected_names_, explained_, output_names_ : ndarray
        Of ``selector_``. With groups in the selector, of variables, as are ``n_features`` and
        ``n_features_``; held-out scores are of all their columns.
    variable_names_ : ndarray of str of shape (n_variables,)
    support_ : ndarray of bool of shape (n_features_in_,)
    n_splits_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    R² is the share of the squared error of the training means that a ridge regression with an
    intercept (none with ``center=False``) on variables of unit variance saves in the held-out rows,
    outputs being in units of their standard deviation. For one output and large folds it is
    ``r2_score``. The penalty is chosen from the training rows, for each output and number of
    variables, by generalised cross-validation that charges 1.5 rows a degree of freedom: long lists
    of few rows are shrunk instead of exploding. ``estimator=LinearRegression()`` judges by least
    squares and ``r2_score``. For class labels the outputs are their indicators. The score of the
    choice is the best of many and therefore flatters: judge the final model on rows that no one has
    seen.

    Folds of more than some thousand candidates are not kept as moments: selections then read the
    rows, each entry of ``param_grid`` anew.

    Examples
    --------
    >>> import numpy as np
    >>> from projse import ProjSeCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 12))
    >>> Y = X[:, [2, 5, 7]] @ rng.normal(size=(3, 4)) + 0.5 * rng.normal(size=(400, 4))
    >>> ProjSeCV().fit(X, Y).n_features_
    3
    """

    def __init__(
        self,
        selector: Any = None,
        *,
        n_features: Any = None,
        param_grid: Any = "auto",
        cv: Any = 5,
        estimator: Any = None,
        scoring: Any = None,
        rule: str = "1se",
        n_jobs: int | None = None,
    ) -> None:
        self.selector = selector
        self.n_features = n_features
        self.param_grid = param_grid
        self.cv = cv
        self.estimator = estimator
        self.scoring = scoring
        self.rule = rule
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        covariates: Any = None,
    ) -> Self:
        """Choose by cross-validation, and select from all rows.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`ProjSe.fit`; y is needed.
        groups : array-like of shape (n_samples,), default=None
            For splitters that keep groups together.
        covariates : array-like of shape (n_samples,) or (n_samples, n_covariates), default=None
            As in :meth:`ProjSe.fit`. They are taken out of each fold by regressions on the
            training rows alone, and R² is the share of what these leave; an ``estimator`` gets
            them as columns before the picks.

        Returns
        -------
        self : object
        """
        selector, grid = self._checked()
        if y is None:
            raise ValueError(
                "ProjSeCV requires y to be passed, but the target y is None; there is nothing to "
                "predict."
            )
        with all_or_nothing(self):
            rows = self._check_rows(
                *(X, y, sample_weight, selector.target_type),
                tables=selector._table_options(),
                covariates=covariates,
            )
            kept = kept_rows(rows, X, y, sample_weight, covariates, selector.missing)
            if rows.classes is not None and rows.weight is not None and not rows.weight.all():
                # Without weight, a row may lack its label, by which rows are spread over folds.
                kept, rows = rows.weight > 0, rows.counted()
            splits = split_rows(rows, self.cv, groups, kept)
            consecutive = self.cv is None or is_whole(self.cv)
            judge = None
            if self.estimator is not None:
                judge = judge_by(self.estimator, self.scoring, rows, splits)
            if 16 * rows.X.shape[1] ** 2 * len(splits) > FOLD_BYTES:
                if consecutive:
                    tests = some_columns(rows, [test for _, test in splits])
                    warn_if_ordered(tests, rows.weight)
                held_out = [RowFold(rows, *split) for split in splits]
                beside = rows.n_covariates > 0
                self._choose(selector, grid, held_out, judge, rows.x_variables, beside=beside)
                self._finish(selector, rows)
            else:
                folds, total = moment_folds(rows, splits, self.n_jobs, selector.batch_size)
                if consecutive:
                    warn_if_ordered([fold.test for fold in folds], rows.weight)
                beside = rows.n_covariates > 0
                self._choose(selector, grid, folds, judge, rows.x_variables, beside=beside)
                self._finish(selector, total)
        return self

    def fit_moments(self, folds: Sequence[Moments | str | PathLike[str]]) -> Self:
        """Choose from the moments of folds: each is held out in turn.

        Parameters
        ----------
        folds : sequence of Moments or of paths
            Of disjoint sets of rows (days, files, sites), with the products of the candidates
            (``with_xx=True``).

        Returns
        -------
        self : object
        """
        selector, grid = self._checked()
        if self.estimator is not None:
            raise ValueError("estimator needs the rows, which moments do not keep; use fit.")
        parts = [part for part in load_given(folds, "folds") if part.n_samples]
        if len(parts) < 2:
            raise ValueError(f"folds holds {len(parts)} set(s) of moments; at least 2 are needed.")
        if any(part.xx is None or part.one_view for part in parts):
            raise ValueError(
                "Held-out scores need two views and the products of the candidates; build the "
                "moments with Moments.from_arrays(X, Y, with_xx=True)."
            )
        with all_or_nothing(self):
            total = sum(parts[1:], start=parts[0])
            remember_candidates(self, total)
            # Of tables and class labels, folds need not have seen the same levels.
            parts = [aligned(part, total)[0] for part in parts]
            parts = [combined_references(part, like=total) for part in parts]
            pairs = zip(all_but_one(parts), parts, strict=True)
            held_out = [MomentFold(train, test) for train, test in pairs]
            self._choose(selector, grid, held_out, None, total.x_variables)
            self._finish(selector, total)
        return self

    def _checked(self) -> tuple[ProjSe, list[dict[str, Any]]]:
        """Return the selector and what to try of its parameters; refuse what makes no sense."""
        selector = ProjSe() if self.selector is None else self.selector
        if not isinstance(selector, ProjSe):
            raise TypeError(f"selector must be a ProjSe, not {type(selector).__name__}.")
        if self.rule not in ("1se", "best"):
            raise ValueError(f"rule={self.rule!r} is not '1se' or 'best'.")
        if self.scoring is not None and self.estimator is None:
            raise ValueError(
                "scoring judges an estimator, and estimator is None; held-out R² needs neither."
            )
        return clone(selector), tuning_grid(self.param_grid, selector)

    def _sizes(self, least: int, most: int) -> list[int]:
        """Return the numbers of variables to try, ascending."""
        given = self.n_features
        if given is None:
            return list(range(least, max(least, min(most, 100)) + 1))
        sizes = list(range(least, int(given) + 1)) if is_whole(given) else list(given)
        for size in sizes:
            if not is_whole(size) or not least <= size <= most:
                raise ValueError(
                    f"n_features holds {size!r}; with these candidates, and what include and "
                    f"exclude leave of them, it goes from {least} to {most}."
                )
        if not sizes:
            raise ValueError(
                f"n_features={given!r} leaves nothing to try: it goes from {least} to {most}."
            )
        return sorted({int(size) for size in sizes})

    def _task(self, candidate: ProjSe) -> Task:
        return Task.of(candidate, self.n_features_in_, self._feature_names())

    def _limits(self, tasks: list[Task]) -> tuple[int, int]:
        """Return the least and the most variables that all tasks can select."""
        include = [task.plan.include.size for task in tasks]
        exclude = [task.plan.exclude.size for task in tasks]
        return max(1, *include), tasks[0].n_variables - max(exclude)

    def _choose(
        self,
        selector: ProjSe,
        grid: list[dict[str, Any]],
        folds: Sequence[MomentFold | RowFold],
        judge: Any,
        encoded: Variables | None,
        *,
        beside: bool = False,
    ) -> None:
        """Score every candidate on every fold, and keep the curves and the choice.

        Where a table was ``encoded``, folds are judged on what selection sees of its columns: the
        training rows fill gaps and tell which levels are rare.
        Where covariates stand ``beside`` the picks, an estimator may owe its score to them.
        """
        candidates = [clone(selector).set_params(**params) for params in grid]
        for candidate in candidates:
            candidate.set_params(n_features_to_select=None)
        sizes = self._sizes(*self._limits([self._task(candidate) for candidate in candidates]))
        scores = np.full((len(grid), len(sizes), len(folds)), np.nan)
        for g, candidate in enumerate(candidates):
            candidate.set_params(n_features_to_select=max(sizes))
            task = self._task(candidate)
            for f, fold in enumerate(folds):
                picks = fold.select(task).indices
                picked = Picked.of(task, encoded, fold.bases(candidate.min_frequency), picks)
                if not len(picked.columns):
                    raise ValueError(f"Nothing could be selected from the rows outside fold {f}.")
                # A selection that ends early is what it is for all larger numbers.
                ends = picked.ends
                lengths = [int(ends[min(size, len(ends)) - 1]) for size in sizes]
                if judge is None:
                    scores[g, :, f] = fold.r2(picked, candidate.center)[np.array(lengths) - 1]
                else:
                    unique = sorted(set(lengths))
                    jobs = (delayed(judge)(f, picked, size) for size in unique)
                    values = Parallel(n_jobs=self.n_jobs or 1, prefer="threads")(jobs)
                    found = dict(zip(unique, values, strict=True))
                    scores[g, :, f] = [found[size] for size in lengths]
        mean = scores.mean(axis=2)
        if not np.isfinite(mean).any():
            raise ValueError("All held-out scores are NaN; look at estimator and scoring.")
        error = standard_error(scores)
        entry, size = choose(scores, self.rule)
        owes_to_others = beside and judge is not None
        by_r2 = self._is_judged_by_r2() and not owes_to_others
        held_out, training = np.sum([fold.sizes for fold in folds], axis=0)
        overlap = float(held_out / training)
        self.predicts_ = predicts(scores, overlap) if by_r2 else None
        if self.predicts_ is False:
            best = int(np.nanargmax(mean))
            told = (
                f"the best mean held-out R² is {mean.flat[best]:.2g}, with a standard error of "
                f"{error.flat[best]:.2g}"
            )
            if mean.flat[best] > 0:
                told = f"Perhaps nothing predicts: {told}, which may be chance."
            else:
                entry, size = 0, 0
                told = (
                    f"Nothing predicts: {told}, no gain over the mean of y. The fewest variables "
                    f"({sizes[0]}) and the first parameters were taken."
                )
            warn_caller(told, NothingPredictsWarning)
        self.n_features_ = sizes[size]
        self.best_params_ = grid[entry]
        self.best_score_ = float(mean[entry, size])
        self.n_splits_ = len(folds)
        n = len(sizes)
        self.cv_results_ = {
            "n_features": np.tile(sizes, len(grid)),
            "params": [params for params in grid for _ in range(n)],
            "mean_test_score": mean.ravel(),
            "std_test_score": scores.std(axis=2).ravel(),
            "standard_error": error.ravel(),
            **{f"split{f}_test_score": scores[:, :, f].ravel() for f in range(len(folds))},
        }

    def _is_judged_by_r2(self) -> bool:
        """Whether a score of 0 is that of the mean."""
        if self.estimator is None:
            return True
        return bool(is_regressor(self.estimator)) and self.scoring in (None, "r2")

    def _finish(self, selector: ProjSe, total: Moments | Rows) -> None:
        final = selector.set_params(n_features_to_select=self.n_features_, **self.best_params_)
        if isinstance(total, Moments):
            remember_candidates(final, total)
            final._fit_moments(total, quiet=True)
        else:
            final._fit_rows(total)
        self.selector_ = final
        self.selected_, self.scores_ = final.selected_, final.scores_
        self.support_ = final.support_
        self._remember_variables(getattr(final, "variables_", None))
