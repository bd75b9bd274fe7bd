"""TwoViewProjSe: selection on both sides of two views at once.

Long because it is one class with all that scikit-learn asks of an estimator, documented.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_array, check_consistent_length
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from projse.estimators.best_pair import best_pair
from projse.estimators.checked_views import (
    CHECKS,
    CheckedViewsMixin,
    SecondView,
    names_of,
    refuse_no_views,
    refuse_one_column,
)
from projse.estimators.correlation_curves import CorrelationCurvesMixin
from projse.estimators.covariate_plan import CovariatePlan
from projse.estimators.fitted import all_or_nothing, remember_columns
from projse.estimators.projse import ProjSe
from projse.estimators.selector import NO_OUTPUT_OF_DASK, as_asked, output_config
from projse.estimators.two_view_table import TwoViewTableMixin
from projse.metrics.canonical_blocks import CanonicalBlocks
from projse.moments.align import with_same_levels
from projse.moments.combine import check_covariates
from projse.moments.sums import Moments
from projse.moments.views import restricted, swapped
from projse.parameters import column_indices, one_of
from projse.sources.covariates import append_covariates
from projse.sources.encode_targets import column_names
from projse.sources.rows import (
    Rows,
    check_weight,
    is_dask,
    make_rows,
    refuse_non_numeric_columns,
)
from projse.sources.table.frame import refuse_repeated_names
from projse.sources.table.kinds import MISSING
from projse.sources.table.partition import has_dates

Array = NDArray[Any]

_SHARED = (
    *("kernel", "degree", "coef0", "gamma", "center", "scale", "center_kernel"),
    *(
        "alpha",
        "redundancy",
        "rank",
        "tol",
        "exhausted",
        "round_size",
        "significance",
        "n_jobs",
        "batch_size",
    ),
)


class TwoViewProjSe(
    TwoViewTableMixin,
    CorrelationCurvesMixin,
    CheckedViewsMixin,
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Select variables of X that explain Y, and variables of Y that explain X.

    Both selections come from one set of moments, so the rows are read once. By default they begin
    with the pair of variables that correlates most, which no later pick can undo. How much the
    selected variables share is measured by their canonical correlations, for growing sets, on the
    rows of the fit or on others.

    Parameters
    ----------
    n_features_to_select : int, float, "auto", None or a pair of these, default=None
        How many to select, on both sides or as ``(n_x, n_y)``. See :class:`ProjSe`.
    kernel, degree, coef0, gamma, center, scale, center_kernel
        Kernel between variables; see :class:`ProjSe`.
    alpha, redundancy, rank, tol, exhausted, round_size, significance
        Of both selections; see :class:`ProjSe`. ``**projse.PAPER`` is the paper's form. With
        ``redundancy="auto"`` variables are ranked after the best pair, since the first canonical
        correlation gains by near-copies; 0.5 or 0 leaves them out.
    x_include, y_include, x_exclude, y_exclude : sequence of int or str, default=None
        Variables that come first, and variables that are never picked.
    groups, y_groups : sequence of labels, mapping or None, default=None
        Columns of X, and of Y, that are picked or left as a whole; see :class:`ProjSe`. Where they
        are given, the selections do not begin with the pair that correlates most.
    missing : {"refuse", "drop", "indicator", "mean"}, default="refuse"
        What becomes of gaps. "drop" leaves out rows that have one anywhere; "indicator" and "mean"
        are for gaps of covariates, as in :class:`ProjSe`: views must have none.
    n_jobs, batch_size
        Of the pass over the rows; see :class:`ProjSe`.

    Attributes
    ----------
    x_selected_, y_selected_ : ndarray of int
        Indices in the order of selection.
    x_scores_, y_scores_ : ndarray
        Of the picks, in [0, 1]; see :class:`ProjSe`.
    x_selected_names_, y_selected_names_ : ndarray of str
        Names in the order of selection; x0, x1, … and y0, y1, … where the columns have none.
    x_selector_, y_selector_ : ProjSe
        The two selections, with all that is known of them (margins, p-values, rounds, …).
    canonical_correlations_ : ndarray
        All canonical correlations of the selected variables, on the rows of the fit.
    moments_ : Moments
        Of all variables, where one set of moments served both sides.
    selected_moments_ : Moments
        Of the selected variables, in the order of selection.
    n_features_in_, n_y_features_in_ : int
    feature_names_in_, y_feature_names_in_ : ndarray of str
        Where the views have names.

    Notes
    -----
    With fewer rows than variables and the linear kernel the two sides are fitted one after the
    other from the rows, and no n × n matrix is made.

    Examples
    --------
    >>> import numpy as np
    >>> from projse import TwoViewProjSe
    >>> rng = np.random.default_rng(0)
    >>> shared = rng.normal(size=(300, 2))
    >>> X, Y = rng.normal(size=(300, 6)), rng.normal(size=(300, 5))
    >>> X[:, [1, 4]] += 3 * shared
    >>> Y[:, [0, 3]] += 3 * shared
    >>> model = TwoViewProjSe(2).fit(X, Y)
    >>> sorted(model.x_selected_.tolist()), sorted(model.y_selected_.tolist())
    ([1, 4], [0, 3])
    >>> model.canonical_correlation_path().shape
    (2,)
    """

    def __init__(
        self,
        n_features_to_select: Any = None,
        *,
        kernel: str | Callable[[Array, Array], Any] = "linear",
        degree: int = 3,
        coef0: float = 0.0,
        gamma: float | str = "mean_distance",
        center: bool = True,
        scale: bool = True,
        center_kernel: bool = False,
        alpha: float | str = "auto",
        redundancy: float | str = "auto",
        rank: int | float | None = None,
        tol: float | None = None,
        exhausted: str = "residual",
        round_size: int | str | None = "auto",
        x_include: Any = None,
        y_include: Any = None,
        x_exclude: Any = None,
        y_exclude: Any = None,
        groups: Any = None,
        y_groups: Any = None,
        missing: str = "refuse",
        significance: float = 0.05,
        n_jobs: int | None = None,
        batch_size: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.gamma = gamma
        self.center = center
        self.scale = scale
        self.center_kernel = center_kernel
        self.alpha = alpha
        self.redundancy = redundancy
        self.rank = rank
        self.tol = tol
        self.exhausted = exhausted
        self.round_size = round_size
        self.x_include = x_include
        self.y_include = y_include
        self.x_exclude = x_exclude
        self.y_exclude = y_exclude
        self.groups = groups
        self.y_groups = y_groups
        self.missing = missing
        self.significance = significance
        self.n_jobs = n_jobs
        self.batch_size = batch_size

    def fit(self, X: Any, Y: Any, sample_weight: Any = None, covariates: Any = None) -> Self:
        """Select on both sides.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_x)
            Dask arrays and data frames are summed by their workers.
        Y : array-like or sparse matrix of shape (n_samples, n_y)
            Numbers, at least two columns a view.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 counts as the row twice, weight 0 as the row gone.
        covariates : array-like of shape (n_samples,) or (n_samples, n_covariates), default=None
            As in :meth:`ProjSe.fit`: taken out of both views. Categories, dates, and gaps where
            ``missing`` says what becomes of them.

        Returns
        -------
        self : object
        """
        one_of("missing", self.missing, MISSING)
        if Y is None:
            raise ValueError(
                "TwoViewProjSe requires y to be passed, but the target y is None: it is the second "
                "view. With one view, use ProjSe."
            )
        if is_dask(X, Y, sample_weight, covariates):
            return self.fit_moments(self._distributed_moments(X, Y, sample_weight, covariates))
        x_selector, y_selector = self._selectors()
        X, Y, sample_weight, covariates = self._counted(X, Y, sample_weight, covariates)
        with all_or_nothing(self):
            self._covariate_plan = None
            if covariates is not None and (self.missing != "refuse" or has_dates(covariates)):
                weight = check_weight(sample_weight, _num_samples(covariates))
                self._covariate_plan = CovariatePlan.of(covariates, self.missing, weight)
            covariates, z_names = self._numbers(covariates)
            x_names, y_names = column_names(X), column_names(Y)
            refuse_non_numeric_columns(X, "X")
            refuse_non_numeric_columns(Y, "Y")
            x_frame, y_frame = X, Y
            refuse_repeated_names(X)
            refuse_repeated_names(Y, "Y")
            X = validate_data(self, X, **CHECKS)
            Y = check_array(Y, input_name="Y", **CHECKS)
            check_consistent_length(X, Y)
            self._remember(X.shape[1], Y.shape[1], y_names)
            fat = X.shape[0] < max(X.shape[1], Y.shape[1]) and self.kernel == "linear"
            if fat or callable(self.kernel):
                self._forget("moments_")
                views = make_rows(X, Y, sample_weight, target_type="continuous")
                views = append_covariates(views, covariates, z_names)
                self._begin_with_best_pair(views, x_selector, y_selector)
                x_selector.fit(x_frame, Y, sample_weight, covariates)
                y_selector.fit(y_frame, X, sample_weight, covariates)
                x, y = (s._columns_of(s.selected_) for s in (x_selector, y_selector))
                moments = self._moments(X[:, x], Y[:, y], sample_weight, covariates, z_names)
            else:
                names = (x_names, y_names)
                self.moments_ = self._moments(X, Y, sample_weight, covariates, z_names, *names)
                moments = self._select(self.moments_, x_selector, y_selector)
            self._store(x_selector, y_selector, moments)
        return self

    def fit_moments(self, moments: Moments) -> Self:
        """Select on both sides from moments alone, wherever they were summed.

        Parameters
        ----------
        moments : Moments
            With the products of the candidates (``with_xx=True``).

        Returns
        -------
        self : object
        """
        x_selector, y_selector = self._selectors()
        refuse_no_views(moments)
        with all_or_nothing(self):
            remember_columns(self, moments.n_x, moments.feature_names)
            n_y, names = moments.n_references, moments.target_names
            self._remember(moments.n_x, n_y, None if names is None else names[:n_y])
            selected = self._select(moments, x_selector, y_selector)
            self.moments_ = copy(moments)  # which the caller may go on updating
            self._covariate_plan = None
            self._store(x_selector, y_selector, selected)
        return self

    def transform(self, X: Any, Y: Any = None) -> Any:
        """Keep the selected columns, in the order they have in the views.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_x)
        Y : the same of shape (n_samples, n_y), default=None

        Returns
        -------
        X_selected, or (X_selected, Y_selected) where Y is given
            Of the kind that was passed: data frames stay data frames. ``set_output`` makes data
            frames of both.
        """
        check_is_fitted(self, "x_selected_")
        asked = output_config(self)
        if asked != "default" and is_dask(X, Y):
            raise ValueError(NO_OUTPUT_OF_DASK)
        x = as_asked(self._columns(X, "X"), asked)
        if Y is None:
            return x
        check_consistent_length(*(view for view in (X, Y) if not is_dask(view)))
        # scikit-learn wraps the first of a pair; the second is wrapped by a transformer of its own.
        return x, SecondView(self).set_output(transform=asked).transform(Y)

    def fit_transform(
        self, X: Any, Y: Any, sample_weight: Any = None, covariates: Any = None
    ) -> Any:
        """Fit, and return the selected columns of both views, as a pair.

        So do the two-view estimators of scikit-learn (:mod:`sklearn.cross_decomposition`). In the
        middle of a pipeline, where one view must come out, use :class:`ProjSe`.
        """
        return self.fit(X, Y, sample_weight, covariates).transform(X, Y)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns of X that ``transform`` keeps, in its order.

        Those of Y are ``y_selected_names_``, in the order of selection.

        Parameters
        ----------
        input_features : sequence of str, default=None
            Names of all columns of X, where the fit had none; else x0, x1, ….

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self, "x_selected_")
        names: Array = self.x_selector_.get_feature_names_out(input_features)
        return names

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "drop"
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _selectors(self) -> tuple[ProjSe, ProjSe]:
        wanted = self.n_features_to_select
        if isinstance(wanted, list | tuple | np.ndarray):
            if np.shape(wanted) != (2,):
                raise ValueError(
                    f"n_features_to_select={wanted!r} must be one number or a pair (n_x, n_y)."
                )
            n_x, n_y = wanted
        else:
            n_x = n_y = wanted
        shared = {name: getattr(self, name) for name in _SHARED}
        shared["target_type"] = "continuous"
        x_side = {"groups": self.groups, "include": self.x_include, "exclude": self.x_exclude}
        y_side = {"groups": self.y_groups, "include": self.y_include, "exclude": self.y_exclude}
        x_selector, y_selector = ProjSe(n_x, **x_side, **shared), ProjSe(n_y, **y_side, **shared)
        y_selector._view = "Y"
        x_selector._two_views = y_selector._two_views = True
        return x_selector, y_selector

    def _remember(self, n_x: int, n_y: int, y_names: Sequence[str] | None) -> None:
        refuse_one_column(n_x, n_y)
        self.n_y_features_in_ = n_y
        self._forget("y_feature_names_in_")
        if y_names is not None:
            self.y_feature_names_in_ = np.array(y_names, dtype=object)

    def _select(self, moments: Moments, x_selector: ProjSe, y_selector: ProjSe) -> Moments:
        """Select on both sides; return the moments of what was selected."""
        self._begin_with_best_pair(moments, x_selector, y_selector)
        x_selector.fit_moments(moments)
        y_selector.fit_moments(swapped(moments))
        x, y = (s._columns_of(s.selected_) for s in (x_selector, y_selector))
        return restricted(moments, x, y)

    def _begin_with_best_pair(
        self, views: Rows | Moments, x_selector: ProjSe, y_selector: ProjSe
    ) -> None:
        """Let both selections begin with the pair that correlates most.

        The canonical correlation of all picks is then at least that pair's. Not where "auto" is
        left for another form, where p-values decide, or where the user says what comes first.
        """
        sides = (x_selector, y_selector)
        if self.redundancy != "auto" or self.round_size not in ("auto", 1):
            return
        if any(s.n_features_to_select == "auto" or s.include is not None for s in sides):
            return
        if self.exhausted == "restart" or callable(self.kernel):
            return
        if any(s.groups is not None for s in sides):  # the best of many columns is no fair pair
            return
        allowed = []
        for selector, n, known in (
            (x_selector, self.n_features_in_, "feature_names_in_"),
            (y_selector, self.n_y_features_in_, "y_feature_names_in_"),
        ):
            names = tuple(getattr(self, known)) if hasattr(self, known) else None
            free = np.ones(n, dtype=bool)
            never = column_indices("exclude", selector.exclude, n, names, view=selector._view)
            free[never] = False
            allowed.append(free)
        pair = best_pair(views, self.center, *allowed)
        if pair is not None:
            x_selector._first, y_selector._first = pair

    def _store(self, x_selector: ProjSe, y_selector: ProjSe, moments: Moments) -> None:
        self.x_selector_, self.y_selector_ = x_selector, y_selector
        self.x_selected_, self.y_selected_ = x_selector.selected_, y_selector.selected_
        self.x_scores_, self.y_scores_ = x_selector.scores_, y_selector.scores_
        x_names = getattr(self, "feature_names_in_", None)
        y_names = getattr(self, "y_feature_names_in_", None)
        self.x_selected_names_ = _variable_names(x_selector, x_names, "x")
        self.y_selected_names_ = _variable_names(y_selector, y_names, "y")
        self.selected_moments_ = moments
        n_x, n_y = moments.n_x, moments.n_y
        self.canonical_correlations_ = np.empty(0)
        if n_x and n_y:
            self.canonical_correlations_ = CanonicalBlocks(moments, self.center).all(n_x, n_y)

    def _blocks(self, X: Any, Y: Any, sample_weight: Any, covariates: Any) -> CanonicalBlocks:
        check_is_fitted(self, "x_selected_")
        if (X is None) != (Y is None):
            missing = "X" if X is None else "Y"
            raise ValueError(f"{missing} is None: held-out rows need both views.")
        n_x, n_y = len(self.x_selected_), len(self.y_selected_)
        if not n_x or not n_y:
            side = "X" if not n_x else "Y"
            raise ValueError(f"No variable of {side} was selected, so nothing can correlate.")
        fitted, held_out = self.selected_moments_, None
        if X is not None:
            moments = self._held_out_moments(X, Y, sample_weight, covariates)
            fitted, moments = with_same_levels(fitted, moments)
            check_covariates(fitted, moments)
            sides = (self.x_selector_, self.y_selector_)
            held_out = restricted(moments, *(_places(s._columns_of(s.selected_)) for s in sides))
        return CanonicalBlocks(fitted, self.center, held_out)

    def _forget(self, attribute: str) -> None:
        if hasattr(self, attribute):
            delattr(self, attribute)


def _variable_names(selector: ProjSe, names: Array | None, prefix: str) -> Array:
    """Return the names of the picks: of groups, or of columns."""
    if hasattr(selector, "variables_"):
        return selector.variable_names_[selector.selected_]
    return names_of(names, prefix, selector.selected_)


def _places(selected: Array) -> Array:
    """Return where each selected column is among the selected ones in the order of the view."""
    return np.argsort(np.argsort(selected))
