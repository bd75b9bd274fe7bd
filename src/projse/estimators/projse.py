"""ProjSe: the scikit-learn face of the selection.

Long because it is one class with all that scikit-learn asks of an estimator, documented.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from projse.estimators.fit_elsewhere import FitElsewhereMixin
from projse.estimators.fit_source import FitSourceMixin
from projse.estimators.fit_table import FitTableMixin
from projse.estimators.fitted import all_or_nothing
from projse.estimators.parameters import check_parameters
from projse.estimators.progress import CallbackSupportMixin, FitProgress, with_callbacks
from projse.estimators.settled import refuse_changed
from projse.moments.in_memory import moments_of
from projse.moments.sums import Moments
from projse.search.products import reference_columns
from projse.sources.rows import is_dask

Array = NDArray[Any]


class ProjSe(
    FitTableMixin,
    FitSourceMixin,
    FitElsewhereMixin,
    CallbackSupportMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Select the candidates that best explain a whole set of references, without repetition.

    A candidate's score is the share of it that lies in the space the references span,
    ``‖P_Y x‖² / ‖x‖²``. The best one is picked, everything is conditioned on it, and the next one
    is picked from what is left. With a kernel on variables the same runs in feature space.

    By default two ridges keep chance out: on the references (``alpha``), whose directions count
    less the less of the outputs they carry, and on the conditioning (``redundancy``), so that a
    pick is taken out all but wholly where there are many rows, and less where there are few.
    ``ProjSe(10, **projse.PAPER)`` is the paper's form, without ridges: there only the span of the
    references matters, and mixing the outputs changes nothing.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default=None
        How many to select: a number; a share of the candidates in (0, 1); "auto" stops where the
        p-value of the next pick, given all picks so far, exceeds ``significance`` (linear kernel,
        ``center=True``); None selects as many as the reference space has dimensions, besides those
        in ``include`` and given them.
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
        Centre over the variables, in feature space, where each has norm 1 first, whatever ``scale``
        says: no variable has more of the mean for its units.
    alpha : float or "auto", default="auto"
        Ridge on the normalised ``K_YY``, given the covariates and in proportion to what ``include``
        leaves of it: directions that carry little of the outputs count less. 0: all directions
        count alike.
    redundancy : float or "auto", default="auto"
        With ``round_size=1``, the share of its score that an exact copy of a pick keeps, in
        [0, 1]: 0 takes picks out wholly, 1 ranks variables one by one. In between, everything is
        conditioned on each pick with a ridge, which overfits less where there are few rows; copies
        of picks wait, and may be picked in the end. "auto" gives each pick a share of its own: the
        less it stands above chance, the more. Variables that one or two rows make up wait until
        nothing else is left (but for those in ``include``). With other rounds it would do nothing:
        above 0 it is refused there, and "auto" is 0.
    rank : int, float, "auto" or None, default=None
        Keep at most this many leading directions of ``K_YY``, or this share of its trace. A number
        with more than 2048 outputs (linear kernel; more than four times as many as directions):
        they are found by a randomised range finder, in two more passes over the outputs, and
        ``K_YY`` is never formed. "auto": all directions of up to 2048 outputs, 256 of more. Without
        a sketch there may be 32 768 outputs.
    tol : float or None, default=None
        Relative eigenvalue cut; None is safe for the dtype and the size.
    exhausted : {"residual", "restart", "stop"}, default="residual"
        What happens once the reference space is used up: condition everything on the picks and go
        on with what is left of the references; start again in the same space; or stop.
    round_size : int, "auto" or None, default="auto"
        Condition on the picks after this many of them; None: only once the space is used up. "auto"
        is 1, and None with ``exhausted="restart"``.
    groups : sequence of labels, mapping or None, default=None
        Which columns make up a variable that is picked or left as a whole: a label a column, or a
        mapping from names to columns (indices, names, or patterns such as ``'city_*'``). Columns in
        no group are variables of their own. Variables stand in the order of their first columns.
        Linear kernel. See Notes for the score.
    include : sequence of int or str, default=None
        Come first, in this order, as round 0; everything else is conditioned on them. With groups:
        variables, by name or index.
    exclude : sequence of int or str, default=None
        Never picked.
    target_type : {"auto", "continuous", "class"}, default="auto"
        How to read y. "auto": strings, booleans and categoricals in one column are classes; whole
        numbers in one column are classes if they have up to 20 distinct values, or up to the root
        of the number of rows, and numbers if they have more (a warning tells where it is close);
        all else is continuous. In a data frame of several columns, each that is no number counts
        as the indicators of its levels.
    categorical_features : "from_dtype", None or array-like of str, int or bool
        Columns of X that are categories whatever they hold (codes, say): names, indices, or a mask.
        Strings, booleans, categoricals and enums are categories in any case; "from_dtype" (the
        default) and None name no others.
    min_frequency : int, default=5
        Levels of a category with fewer rows are pooled into one, but not those of a boolean without
        gaps; gaps of a number in fewer rows are filled with its mean. A weight of 2 counts as two
        rows.
    missing : {"refuse", "drop", "indicator", "mean"}, default="refuse"
        Gaps (NaN, None, NaT, null) in X, y and covariates: an error; leave out rows that have any;
        make the gap a part of its variable, next to the value; or fill in the mean. A missing
        category is a level of its own with the last two.
    basis : {"linear", "spline"}, default="linear"
        What a number in X stands for: itself, or a small spline basis (cubic, 5 knots at
        quantiles: up to 6 columns), with which U-shapes, thresholds and saturations are found.
    significance : float, default=0.05
        Used when ``n_features_to_select="auto"``.
    n_jobs : int or None, default=None
        Threads for the pass over the rows; None: as many as BLAS would use.
    batch_size : int or None, default=None
        Rows handled at a time; None fits them to the cache.
    solver : {"auto", "gram", "qr", "sketch"}, default="auto"
        "gram" factors the Gram matrix of the references; "qr" factors the references themselves,
        which keeps directions that a Gram matrix loses and needs their rows in memory; "sketch"
        seeks ``rank`` leading directions by a range finder, at any number of references; "auto"
        chooses.
    iterated_power : int, default=0
        Power iterations of the range finder: a pass each, and worth it where the eigenvalues of
        ``K_YY`` decay slowly.

    Attributes
    ----------
    selected_ : ndarray of int of shape (n_selected,)
        Indices in the order of selection: of variables, which without groups are columns.
    scores_ : ndarray of shape (n_selected,)
        Share of the pick, given the picks before it, that the references explain, in [0, 1]: the
        squared projection norm. Ridges shrink it: with ``alpha`` a candidate that is itself the
        only output scores ``1 / (1 + alpha)``. So scores compare within a selection, and with
        others of the same ``alpha_`` and ``redundancy_``.
    correlations_ : ndarray of shape (n_selected,)
        Square roots of the scores.
    margins_ : ndarray of shape (n_selected,)
        Relative gap of the score to the runner-up's; near 0, the order is not decided by the data.
    pvalues_ : ndarray of shape (n_selected,)
        How often the best of as many unrelated candidates would be explained as well, given all
        picks before it (linear kernel, centred; else NaN). No ridge enters: the picks before are
        taken out wholly, and all directions of the references count. In rounds of several picks:
        given the rounds before. Round 0 has none, nor have weights whose sum is less than half the
        number of rows: they are no counts.
    rounds_ : ndarray of int of shape (n_selected,)
        0 for ``include``, then 1, 2, … each time everything is conditioned on the picks: with
        ``round_size=1``, every pick is a round of its own.
    support_ : ndarray of bool of shape (n_features_in_,)
        The columns of what was selected.
    ranking_ : ndarray of int of shape (n_variables,)
        1 for the first pick, 2 for the second, …; all others share the next number.
    alpha_ : float
        What ``alpha`` came to.
    redundancy_ : float
        What ``redundancy`` came to; with "auto", for the last pick. 0 where picks are not
        conditioned on one by one.
    round_size_ : int or None
        What ``round_size`` came to.
    reference_rank_ : int
        Dimension of the reference space; with one view, an upper bound until it is used up.
    moments_ : Moments
        What the rows came down to. Not there for callable kernels, for references that were
        factored themselves (fewer rows than references, or ``solver="qr"``), and for a sketch.
    variable_names_ : ndarray of str of shape (n_variables,)
        Names of groups and of columns in none; x0, x1, … where columns have no names.
    variables_ : Variables
        Which columns make up each variable. Not there without groups.
    selected_names_ : ndarray of str of shape (n_selected,)
        Names of the picks, in the order of selection; x0, x1, … where X has none.
    explained_ : ndarray of shape (n_selected, n_outputs)
        R² that each pick adds to those before it, by least squares, for each output: a column adds
        up to the R² of all picks. Given the covariates, where there are any. For class labels an
        output is the indicator of a class; in one view the outputs are the candidates. The same
        linear R² with every kernel. NaN for an output that is constant. Where a fit had no need of
        the products of its picks, and they are many or their rows have gone by (files, batches), an
        AttributeError says how to get them; so it does of a sketch, which knows no single output.
    output_names_ : ndarray of str of shape (n_outputs,)
        Columns of ``explained_``: names of columns, class labels, or y0, y1, ….
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X has names.

    Notes
    -----
    Ties are real (with Y = X and no ridge every first score is 1): among scores within 1e-10 of the
    best, the lowest index wins. A weight of 2 counts as the row twice, also in the p-values.

    **Groups.** A group stands for the space that its columns span, so mixing them changes nothing.
    With Q an orthonormal basis of what is left of it, in d dimensions, and ``s(q)`` the score of
    one column, its total ``T = Σ s(q)`` grows with d by chance, and so does ``b_d``, what the best
    of as many unrelated groups has (Laurent and Massart, 2000). So a group is worth the column that
    stands to the mean h̄ of a column, the best of chance and the most it can have, as T stands to
    those of d columns, with straight lines between::

        T       0    d h̄    b_d    c_d
        score   0     h̄     b_1    c_1

    More columns are no advantage by themselves, and a group that fills the space of the rows has h̄,
    since it would explain anything. One column has ``s(q)``, as without groups. A
    group that was picked is conditioned on with one ridge for all of its orthonormal columns.

    One view with a ridge factors the kernel matrix of the candidates, of up to 8192 dimensions
    (columns, or rows where these are fewer and dense and the kernel is linear). The paper's form
    does without, at any width.

    Where the data cannot carry the answer, an
    :class:`~projse.exceptions.UnreliableSelectionWarning` says so: the references fill the space of
    the rows and every score is 1; all first scores are tied; a single row makes up more than
    two fifths of a pick. With soft conditioning such a variable waits until nothing else is left.

    References
    ----------
    S. Szedmak, R. Huusari, T. H. D. Le, J. Rousu: Scalable variable selection for two-view
    learning tasks with projection operators.

    N. Halko, P. G. Martinsson, J. A. Tropp: Finding structure with randomness: probabilistic
    algorithms for constructing approximate matrix decompositions. SIAM Review 53, 2011.

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
        alpha: float | str = "auto",
        redundancy: float | str = "auto",
        rank: int | float | str | None = None,
        tol: float | None = None,
        exhausted: str = "residual",
        round_size: int | str | None = "auto",
        groups: Any = None,
        include: Any = None,
        exclude: Any = None,
        target_type: str = "auto",
        categorical_features: Any = "from_dtype",
        min_frequency: int = 5,
        missing: str = "refuse",
        basis: str = "linear",
        significance: float = 0.05,
        n_jobs: int | None = None,
        batch_size: int | None = None,
        solver: str = "auto",
        iterated_power: int = 0,
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
        self.groups = groups
        self.include = include
        self.exclude = exclude
        self.target_type = target_type
        self.categorical_features = categorical_features
        self.min_frequency = min_frequency
        self.missing = missing
        self.basis = basis
        self.significance = significance
        self.n_jobs = n_jobs
        self.batch_size = batch_size
        self.solver = solver
        self.iterated_power = iterated_power

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, covariates: Any = None) -> Self:
        """Select from the columns of X those that explain the columns of y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Candidates: numbers; in data frames (pandas, polars, Arrow) and arrays of objects also
            categories and dates, each of which is one variable of several columns. A Dask array or
            data frame is summed by its workers.
        y : array-like or sparse matrix of shape (n_samples,) or (n_samples, n_y), default=None
            References: numbers, class labels or label indicators; in a data frame any of them side
            by side. None: one view, Y is X.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 counts as the row twice, weight 0 as the row gone.
        covariates : array-like of shape (n_samples,) or (n_samples, n_covariates), default=None
            Variables that are taken out of all others first, by linear regressions and before any
            kernel, and that are never picked (age, sex, batch). Columns that are not numbers count
            as an indicator a level, and so do whole numbers that have a categorical dtype
            (``frame.astype({"batch": "category"})``); dates as trend and cycles. With one view: the
            references are X, given the covariates.

        Returns
        -------
        self : object
        """
        check_parameters(self)
        if is_dask(X, y, sample_weight, covariates):
            from projse.engines.dask import DaskRows

            return self._fit_elsewhere(DaskRows.of(X, y, sample_weight, covariates))
        with all_or_nothing(self):
            if self._table_options().concern(X, y, covariates, sample_weight):
                return self._fit_table(X, y, sample_weight, covariates)
            rows = self._check_rows(X, y, sample_weight, self.target_type, covariates=covariates)
            if self.center and rows.weight is not None and np.count_nonzero(rows.weight) < 2:
                raise ValueError(
                    "Only one sample has a non-zero weight in sample_weight; centring needs two."
                )
            progress = FitProgress(self, rows.X, y)
            outcome = self._task(rows.one_view).on_rows(rows, keep=True, phase=progress.phase)
            self._keep_moments(outcome.moments)
            self._keep_picked(outcome, rows)
            self._store(outcome)
            progress.end()
        return self

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, covariates: Any = None
    ) -> Self:
        """Add rows to those seen so far, and select anew from all of them.

        Costs a pass over the new rows and a selection from the small matrices. Parameters of the
        selection may change between calls; those that rows are read by may not (``missing``,
        ``basis``, ``categorical_features``, ``target_type``). To add many small
        batches, :meth:`Moments.update` and one :meth:`fit_moments` at the end are cheaper.

        Parameters
        ----------
        X, y, sample_weight, covariates
            As in :meth:`fit`, with the columns of the first call. The sets of class labels and of
            levels may grow. After the first call, rows that all have weight 0 add nothing.

        Returns
        -------
        self : object
        """
        check_parameters(self)
        self._refuse_need_of_rows()
        with all_or_nothing(self):
            first = not hasattr(self, "moments_")
            if first and hasattr(self, "selected_"):
                raise ValueError(
                    "partial_fit cannot go on from a fit that kept no moments (references that "
                    "were factored themselves); start with a clone."
                )
            target_type = self.target_type
            if not first:
                refuse_changed(self)
            if not first and target_type == "auto":
                target_type = "continuous" if self.moments_.classes is None else "class"
            if is_dask(X, y, sample_weight, covariates):
                from projse.engines.dask import DaskRows

                remote = DaskRows.of(X, y, sample_weight, covariates)
                self._partial_fit_elsewhere(remote, target_type)
                return self
            rows = self._batch(X, y, sample_weight, target_type, first, covariates)
            if rows is None:
                self._add_moments(None, y)
                return self

            def sum_rows(with_xx: bool) -> Moments:
                options: Any = {"n_jobs": self.n_jobs, "batch_size": self.batch_size}
                return moments_of(rows, with_xx=with_xx, **options)

            if not first:
                batch = sum_rows(self.moments_.xx is not None)
            elif rows.encoding is not None:  # variables of several columns, now or later
                batch = sum_rows(True)
            else:
                n_y = reference_columns(rows, self.center)
                batch = self._first_batch(self._task(rows.one_view), n_y, sum_rows)
            self._add_moments(batch, y)
        return self
