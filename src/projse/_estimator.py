"""ProjSe: the scikit-learn face of the selection."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from projse._covariates import append_covariates
from projse._fit_elsewhere import FitElsewhereMixin
from projse._fit_source import FitSourceMixin
from projse._fitted import all_or_nothing, remember_columns
from projse._kernel import FeatureGram
from projse._moments import AUTO_XX_COLUMNS, Moments, moments_of
from projse._parameters import check_parameters, column_indices, is_whole, plain_rank
from projse._partitions import XX_COLUMNS
from projse._progress import CallbackSupportMixin, FitProgress, with_callbacks
from projse._routes import KernelSpec, from_moments, from_rows
from projse._selection import Plan, Selection, select
from projse._selector import RowSelector
from projse._source import Rows, is_dask
from projse._targets import warn_many_classes
from projse.exceptions import RankExhaustedWarning

Array = NDArray[Any]


class ProjSe(
    FitSourceMixin,
    FitElsewhereMixin,
    RowSelector,
    CallbackSupportMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Select the candidates that best explain a whole set of references, without repetition.

    A candidate's score is the share of it that lies in the space the references span,
    ``‖P_Y x‖² / ‖x‖²``. The best one is picked, its shadow is taken out of that space, and the
    next one is picked from what is left. With a kernel on variables the same runs in feature
    space. Only the span of the references matters: mixing the outputs changes nothing.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default=None
        How many to select: a number; a share of the candidates in (0, 1); "auto" stops where the
        p-value of the next pick, given all picks so far, exceeds ``significance`` (linear kernel);
        None selects as many as the reference space has dimensions.
    kernel : {"linear", "poly", "rbf"} or callable, default="linear"
        Kernel between variables. A callable gets two matrices and returns the kernel between
        their columns, shape (n_a, n_b). RBF is not sign-blind: a perfect negative predictor is
        the farthest point of all.
    degree : int, default=3
        Of the polynomial kernel ``(⟨x, y⟩ + coef0)^degree``.
    coef0 : float, default=0.0
        Of the polynomial kernel; not negative.
    gamma : float or "mean_distance", default="mean_distance"
        Of the RBF kernel ``exp(−γ ‖x − y‖²)``. "mean_distance" takes ``γ = 1/(2σ²)`` with σ the
        mean distance between the references (with one reference: to the candidates).
    center : bool, default=True
        Subtract each variable's weighted mean over the samples.
    scale : bool, default=True
        Give variables unit norm before the kernel.
    center_kernel : bool, default=False
        Centre over the variables, in feature space.
    alpha : float, default=0.0
        Ridge on the normalised ``K_YY``.
    rank : int, float or None, default=None
        Keep at most this many leading directions of ``K_YY``, or this share of its trace.
    tol : float or None, default=None
        Relative eigenvalue cut; None is safe for the dtype and the size.
    exhausted : {"residual", "restart", "stop"}, default="residual"
        What happens once the reference space is used up: condition everything on the picks and go
        on with what is left of the references; start again in the same space; or stop.
    round_size : int or None, default=None
        Condition on the picks after this many of them; None: only once the space is used up.
    include : sequence of int or str, default=None
        Come first, in this order, as round 0; everything else is conditioned on them.
    exclude : sequence of int or str, default=None
        Never picked.
    target_type : {"auto", "continuous", "class"}, default="auto"
        How to read y. "auto": labels (strings, booleans, categoricals, integers in one column)
        are classes, all else is continuous.
    significance : float, default=0.05
        Used when ``n_features_to_select="auto"``.
    n_jobs : int or None, default=None
        Threads for the pass over the rows; None: as many as BLAS would use.
    batch_size : int or None, default=None
        Rows handled at a time; None fits them to the cache.
    solver : {"auto", "gram", "qr"}, default="auto"
        "gram" factors the Gram matrix of the references; "qr" factors the references themselves,
        which keeps directions that a Gram matrix loses; "auto" chooses.

    Attributes
    ----------
    selected_ : ndarray of int of shape (n_selected,)
        Indices in the order of selection.
    scores_ : ndarray of shape (n_selected,)
        Squared projection norm when picked, in [0, 1].
    correlations_ : ndarray of shape (n_selected,)
        Square roots of the scores.
    margins_ : ndarray of shape (n_selected,)
        Relative gap to the runner-up; near 0, the order is not decided by the data.
    pvalues_ : ndarray of shape (n_selected,)
        Of the pick under independence (linear kernel; else NaN). Round 0 has none.
    rounds_ : ndarray of int of shape (n_selected,)
    support_ : ndarray of bool of shape (n_features_in_,)
    ranking_ : ndarray of int of shape (n_features_in_,)
        1 for the first pick, 2 for the second, …; all others share the next number.
    reference_rank_ : int
        Dimension of the reference space; with one view, an upper bound until it is used up.
    moments_ : Moments
        What the rows came down to. Not there for callable kernels and for references that were
        factored themselves (fewer rows than references, or ``solver="qr"``).
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X has names.

    Notes
    -----
    Ties are real (with Y = X every first score is 1): among scores within 1e-10 of the best, the
    lowest index wins. A weight of 2 counts as the row twice, also in the p-values.

    References
    ----------
    S. Szedmak, R. Huusari, T. H. D. Le, J. Rousu: Scalable variable selection for two-view
    learning tasks with projection operators.

    Examples
    --------
    >>> import numpy as np
    >>> from projse import ProjSe
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 10))
    >>> Y = X[:, [2, 7]] @ rng.normal(size=(2, 3)) + 0.1 * rng.normal(size=(200, 3))
    >>> selector = ProjSe(2).fit(X, Y)
    >>> sorted(selector.selected_.tolist())
    [2, 7]
    >>> selector.transform(X).shape
    (200, 2)
    """

    def __init__(
        self,
        n_features_to_select: int | float | str | None = None,
        *,
        kernel: str | Callable[[Array, Array], Any] = "linear",
        degree: int = 3,
        coef0: float = 0.0,
        gamma: float | str = "mean_distance",
        center: bool = True,
        scale: bool = True,
        center_kernel: bool = False,
        alpha: float = 0.0,
        rank: int | float | None = None,
        tol: float | None = None,
        exhausted: str = "residual",
        round_size: int | None = None,
        include: Any = None,
        exclude: Any = None,
        target_type: str = "auto",
        significance: float = 0.05,
        n_jobs: int | None = None,
        batch_size: int | None = None,
        solver: str = "auto",
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
        self.rank = rank
        self.tol = tol
        self.exhausted = exhausted
        self.round_size = round_size
        self.include = include
        self.exclude = exclude
        self.target_type = target_type
        self.significance = significance
        self.n_jobs = n_jobs
        self.batch_size = batch_size
        self.solver = solver

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, covariates: Any = None) -> Self:
        """Select from the columns of X those that explain the columns of y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Candidates. A Dask array or data frame is summed by its workers.
        y : array-like or sparse matrix of shape (n_samples,) or (n_samples, n_y), default=None
            References: numbers, class labels or label indicators. None: one view, Y is X.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 counts as the row twice, weight 0 as the row gone.
        covariates : array-like of shape (n_samples,) or (n_samples, n_covariates), default=None
            Variables that everything is conditioned on and that are never picked (age, sex,
            batch). Columns that are not numbers count as class labels.

        Returns
        -------
        self : object
        """
        check_parameters(self)
        if is_dask(X, y, sample_weight, covariates):
            from projse._dask import DaskRows

            return self._fit_elsewhere(DaskRows.of(X, y, sample_weight), covariates)
        with all_or_nothing(self):
            rows = self._check_rows(X, y, sample_weight, self.target_type)
            if self.center and rows.weight is not None and np.count_nonzero(rows.weight) < 2:
                raise ValueError(
                    "Only one sample has a non-zero weight in sample_weight; centring needs two."
                )
            rows, n_covariates = append_covariates(rows, covariates, self.center)
            spec, plan = self._kernel_spec(), self._plan(rows.Y is None)
            progress = FitProgress(self, rows.X, y)
            route = from_rows(
                rows,
                spec,
                whole_reference=plan.needs_factor,
                solver=self.solver,
                n_conditioned=self._n_conditioned(plan, _width(rows.Y)),
                n_covariates=n_covariates,
                n_jobs=self.n_jobs,
                batch_size=self.batch_size,
                progress=progress.phase("rows"),
            )
            total = float(rows.n_samples if rows.weight is None else rows.weight.sum())
            plan = self._complete(plan, spec, total, route.spectrum)
            self._refuse_constants(route.gram, plan)
            selection = select(route.gram, plan, progress.phase("picks"))
            self._forget_moments()
            if route.moments is not None and not n_covariates:
                self.moments_ = route.moments
            self._store(selection, plan)
            progress.end()
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those seen so far, and select anew from all of them.

        Costs a pass over the new rows and a selection from the small matrices. To add many small
        batches, :meth:`Moments.update` and one :meth:`fit_moments` at the end are cheaper.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`, with the columns of the first call. The set of class labels may
            grow.

        Returns
        -------
        self : object
        """
        check_parameters(self)
        if callable(self.kernel):
            raise ValueError(
                "A callable kernel needs all rows at once: use fit, or a built-in kernel."
            )
        with all_or_nothing(self):
            first = not hasattr(self, "moments_")
            if first and hasattr(self, "selected_"):
                raise ValueError(
                    "partial_fit cannot go on from a fit that kept no moments (covariates, or "
                    "references that were factored themselves); start with a clone."
                )
            target_type = self.target_type
            if not first and target_type == "auto":
                target_type = "continuous" if self.moments_.classes is None else "class"
            if is_dask(X, y, sample_weight):
                from projse._dask import DaskRows

                self._partial_fit_elsewhere(DaskRows.of(X, y, sample_weight), target_type)
                return self
            rows = self._check_rows(X, y, sample_weight, target_type, reset=first, min_samples=1)
            plan = self._plan(rows.Y is None)
            if first:
                with_xx = rows.Y is None or self._n_conditioned(plan, _width(rows.Y)) > 0
                if self.exhausted == "residual" and self.n_features_in_ <= AUTO_XX_COLUMNS:
                    # Dependent references may be used up before there are as many picks.
                    with_xx = True
            else:
                with_xx = self.moments_.xx is not None
            batch = moments_of(
                rows, with_xx=with_xx, n_jobs=self.n_jobs, batch_size=self.batch_size
            )
            total = batch if first else self.moments_ + batch
            warn_many_classes(total.classes, total.n_samples, self.target_type, y)
            self._fit_moments(total, plan, strict=False)
        return self

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
        if not isinstance(moments, Moments):
            raise TypeError(f"fit_moments needs Moments, not {type(moments).__name__}.")
        if moments.n_samples < 2:
            raise ValueError(
                f"moments hold {moments.n_samples} sample(s); a selection needs at least 2."
            )
        with all_or_nothing(self):
            remember_columns(self, moments.n_x, moments.feature_names)
            self._fit_moments(moments, self._plan(moments.one_view), strict=True)
        return self

    def _fit_moments(
        self,
        moments: Moments,
        plan: Plan,
        *,
        strict: bool,
        again: Callable[[], Moments] | None = None,
    ) -> None:
        """Select from moments; ``again`` sums the rows anew, with all products."""
        spec = self._kernel_spec()
        gram = from_moments(moments, spec, whole_reference=plan.needs_factor)
        needed = plan.include.size > 0 or moments.one_view or self.center_kernel
        if needed and not gram.has_x_rows:
            what = "include" if plan.include.size else "one view or center_kernel"
            raise ValueError(
                f"{what} needs the products of the candidates with each other, which these moments "
                "do not hold; build them with Moments.from_arrays(..., with_xx=True)."
            )
        plan = self._complete(plan, spec, moments.sum_weights, None)
        if strict:
            self._refuse_constants(gram, plan)
        selection = select(gram, plan)
        if selection.stopped == "no products" and again is not None:
            self._fit_moments(again(), plan, strict=strict)
            return
        self.moments_ = copy(moments)  # which the caller may go on updating
        self._store(selection, plan, quiet=not strict)

    def needs_products(
        self,
        n_x: int | None,
        names: tuple[str, ...] | None,
        n_y: int | None,
        one_view: bool = False,
    ) -> bool:
        """Tell whether a selection from moments needs the products of the candidates.

        Parameters
        ----------
        n_x, names
            Number of candidates and their names.
        n_y : int or None
            Number of directions of the references.
        one_view : bool
            The references are the candidates.

        Returns
        -------
        bool
            Where n_x or n_y is None, or there are more than 8192 candidates, True only when the
            parameters alone say so.
        """
        if one_view or self.center_kernel or self.round_size is not None:
            return True
        if self.include is not None and np.size(self.include):
            return True
        if n_x is None or n_y is None or n_x > XX_COLUMNS:
            return False
        selector = clone(self)
        remember_columns(selector, n_x, names)
        return selector._n_conditioned(selector._plan(False), n_y) > 0

    def _forget_moments(self) -> None:
        if hasattr(self, "moments_"):
            del self.moments_

    def _kernel_spec(self) -> KernelSpec:
        return KernelSpec(
            self.kernel,
            self.degree,
            self.coef0,
            self.gamma,
            self.center,
            self.scale,
            self.center_kernel,
        )

    def _plan(self, one_view: bool) -> Plan:
        """Resolve names and numbers against the columns of X."""
        n = self.n_features_in_
        include = column_indices("include", self.include, n, self._feature_names())
        exclude = column_indices("exclude", self.exclude, n, self._feature_names())
        both = np.intersect1d(include, exclude)
        if both.size:
            raise ValueError(
                f"include and exclude overlap: {self._label(both[0])} is in both; take it out of "
                "one of them."
            )
        wanted = self.n_features_to_select
        available = n - exclude.size
        if not available:
            raise ValueError(f"exclude leaves nothing to select from: it holds all {n} columns.")
        if wanted is None or isinstance(wanted, str):
            n_features = None if wanted is None else available
        elif is_whole(wanted):
            n_features = int(wanted)
        else:
            n_features = max(1, int(float(wanted) * n))
        if n_features is not None and n_features > available:
            left = f" of which {exclude.size} are excluded" if exclude.size else ""
            raise ValueError(
                f"n_features_to_select={wanted!r} is more than there are: X has {n} columns{left}."
            )
        if n_features is not None and include.size > n_features:
            raise ValueError(
                f"include names {include.size} variables, more than "
                f"n_features_to_select={wanted!r}; they count towards it."
            )
        return Plan(
            n_features=n_features,
            exhausted=self.exhausted,
            round_size=self.round_size,
            include=include,
            exclude=exclude,
            alpha=self.alpha,
            rank=plain_rank(self.rank),
            tol=self.tol,
            one_view=one_view,
            significance=self.significance if wanted == "auto" else None,
        )

    def _complete(
        self, plan: Plan, spec: KernelSpec, sum_weights: float, spectrum: Array | None
    ) -> Plan:
        """Add what is only known once the rows were seen."""
        if plan.one_view and plan.significance is not None:
            raise ValueError(
                "n_features_to_select='auto' goes by p-values, which one view (y=None) does not "
                "have; use a number."
            )
        degrees = float("nan")
        if spec.is_linear and not plan.one_view:
            degrees = sum_weights - (1 if self.center else 0)
        if spectrum is not None:
            # A basis stands for the references, which are no longer the candidates themselves.
            plan = replace(plan, one_view=False)
        return replace(plan, degrees=degrees, spectrum=spectrum)

    def _n_conditioned(self, plan: Plan, n_y: int) -> int:
        """Bound the number of candidates that may be conditioned on."""
        if self.center_kernel:
            return self.n_features_in_
        if plan.one_view:
            n_y = self.n_features_in_
        wanted = min(n_y, self.n_features_in_) if plan.n_features is None else plan.n_features
        per_round = min(wanted, n_y)
        if self.round_size is not None:
            per_round = min(per_round, self.round_size)
        continues = self.exhausted == "residual" or self.round_size is not None
        return wanted if plan.include.size or (continues and per_round < wanted) else 0

    def _label(self, j: Any) -> str:
        names = self._feature_names()
        return f"column {j}" if names is None else f"column {names[j]!r}"

    def _refuse_constants(self, gram: FeatureGram, plan: Plan) -> None:
        kind = "constant" if self.center else "zero"
        if not gram.alive.any():
            raise ValueError(f"All columns of X are {kind}: there is nothing to select from.")
        if not plan.one_view and gram.n_y - gram.n_covariates == 0:
            raise ValueError(
                f"All columns of y are {kind} (of labels: only one class); there is nothing to "
                "explain."
            )

    def _store(self, selection: Selection, plan: Plan, *, quiet: bool = False) -> None:
        n = self.n_features_in_
        selected = np.asarray(selection.indices, dtype=np.intp)
        self.selected_ = selected
        self.scores_ = np.asarray(selection.scores, dtype=np.float64)
        self.correlations_ = np.sqrt(self.scores_)
        self.margins_ = np.asarray(selection.margins, dtype=np.float64)
        self.pvalues_ = np.asarray(selection.pvalues, dtype=np.float64)
        self.rounds_ = np.asarray(selection.rounds, dtype=np.intp)
        self.support_ = np.zeros(n, dtype=bool)
        self.support_[selected] = True
        self.ranking_ = np.full(n, len(selected) + 1, dtype=np.intp)
        self.ranking_[selected] = np.arange(1, len(selected) + 1)
        self.reference_rank_ = selection.reference_rank
        wanted = plan.n_features
        asked = wanted is not None and plan.significance is None
        unsettled = selection.stopped == "no products"
        if (asked or unsettled) and not quiet and len(selected) < (wanted or 0):
            why = "nothing that is left adds to them"
            if unsettled:
                why = (
                    "to look for more, given these, the moments would need the products of the "
                    "candidates (with_xx=True)"
                )
            of_wanted = f" of {wanted}" if asked else ""
            warnings.warn(
                f"Selected {len(selected)}{of_wanted} variables: {why}.",
                RankExhaustedWarning,
                stacklevel=4,
            )


def fit_rows(selector: ProjSe, rows: Rows) -> ProjSe:
    """Fit a selector on rows that were checked before, by whatever route suits them."""
    if rows.classes is not None:
        selector.set_params(target_type="class")
    n = rows.X.shape[1]
    for parameter in ("include", "exclude"):
        # The columns have lost their names.
        given = column_indices(parameter, getattr(selector, parameter), n, rows.feature_names)
        selector.set_params(**{parameter: given if given.size else None})
    return selector.fit(rows.X, rows.y, rows.weight)


def _width(Y: Any) -> int:
    """Return the number of reference columns; 0 for one view."""
    return 0 if Y is None else int(Y.shape[1])
