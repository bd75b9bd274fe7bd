"""KnockoffProjSe: which variables are real, with a bound on the share of those that are not.

Long because it is one class with all that scikit-learn asks of an estimator, documented.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, Self

from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import validate_data

from projse.engines.dask import DaskRows
from projse.engines.reduction import RowsElsewhere
from projse.estimators.discovery import DiscoveryFit, refuse_no_counts
from projse.estimators.discovery_table import DiscoveryTableMixin
from projse.estimators.fitted import all_or_nothing
from projse.estimators.given_moments import load_given
from projse.estimators.parameters import check_parameters
from projse.estimators.projse import ProjSe
from projse.estimators.table_rows import TableRows
from projse.estimators.tags import TagsOfSelectorMixin
from projse.moments.partitions import encoding_elsewhere, moments_elsewhere
from projse.moments.stream import moments_from
from projse.moments.sums import Moments
from projse.moments.whole_numbers import settle_targets
from projse.parameters import check_pass_options, is_number, one_of, whole
from projse.search.contest import STATISTICS
from projse.search.entrants import DISTANCES
from projse.sources.rows import is_dask
from projse.sources.table.frame import refuse_repeated_names


class KnockoffProjSe(
    TagsOfSelectorMixin,
    DiscoveryTableMixin,
    DiscoveryFit,
    BaseEstimator,  # type: ignore[misc]
):
    """Find the variables that matter, given all others, at a bounded rate of false discoveries.

    Every candidate gets twins (knockoffs) with the same correlations to all others and no say in
    the outputs. Variables and twins compete; a variable that does not matter is the best of its
    rivals no more often than each of its twins, so the twins that win tell how many of the
    variables that win are false.

    No rows are needed: the twins' products with the outputs are drawn from their known law, given
    the moments. One pass over the rows serves any number of draws and all outputs at once.

    Parameters
    ----------
    selector : ProjSe or None, default=None
        Its ``include`` (conditioned on, and not counted), ``exclude`` and ``target_type`` hold, and
        how it encodes tables (``categorical_features``, ``min_frequency``, ``missing``, ``basis``):
        a column of a table is found or not as a whole. The rest of it picks for
        ``statistic="order"``, and screens where there are few rows. None: ``ProjSe()``. The kernel
        is linear, and variables are centred.
    fdr : float, default=0.1
        Bound on the false discovery rate: the expected share of variables among the selected that
        do not matter. At least ``1 / (n_twins fdr)`` discoveries must be convincing for any to be
        made.
    n_draws : int, default=50
        Draws of twins. One is the filter "knockoff+", whose answer depends on its luck. Several are
        combined by e-values: the answer hardly depends on luck, its rate of false discoveries lies
        well below ``fdr``, and it may hold fewer variables.
    n_twins : int or "auto", default="auto"
        Twins of each variable. "auto": as many as let three discoveries be made, 4 for
        ``fdr=0.1``, or as many as the rows have room for: ``n_twins`` of p candidates need
        ``(n_twins + 1) p`` of them, and one more.
    statistic : {"likelihood", "ridge", "score", "order"}, default="likelihood"
        How far a variable is ahead of its twins: log-likelihood ratio, with effects whose sizes are
        estimated with them; lengths of ridge coefficients; score of each by itself; how early it
        is picked by ``selector`` from variables and twins.
    twins : {"mvr", "equal"}, default="mvr"
        How far twins are from their variables: by minimum reconstructability, or all equally.
    groups : sequence or mapping, default=None
        As in :class:`ProjSe`, whose groups do as well: a group is found or not as a whole.
    max_correlation : float, default=0.98
        Clusters of candidates that correlate more than this, in size, become one variable, as do
        candidates that depend on each other: no data can tell them apart.
    random_state : int, RandomState, Generator or None, default=None
    n_jobs, batch_size : int or None, default=None
        Of the pass over the rows, as in :class:`ProjSe`.

    Attributes
    ----------
    selected_ : ndarray of int
        Columns that are discoveries, the most convincing first; all columns of a group.
    support_ : ndarray of bool of shape (n_features_in_,)
    statistics_ : ndarray of shape (n_features_in_,)
        How far each variable is ahead of its twins, negative where one of them wins; mean of the
        draws. NaN for columns that are no candidates: constant, excluded, conditioned on, or not
        screened.
    evalues_ : ndarray of shape (n_features_in_,)
        Evidence: mean of the draws' e-values; NaN as above.
    threshold_ : float
        What discoveries must reach: with one draw in ``statistics_``, with several in ``evalues_``.
        Infinite where there are none.
    groups_ : ndarray of int of shape (n_features_in_,)
        The variable that each column belongs to, −1 where it is no candidate.
    n_variables_ : int
        Number of variables that were judged.
    n_twins_ : int
        Twins of each.
    selection_frequencies_ : ndarray of shape (n_features_in_,)
        Share of the draws that would discover the variable by themselves.
    stability_ : float
        Nogueira's index of the sets that single draws discover: how much one draw depends on luck.
        NaN with one draw, or where none discovers any.
    agreement_ : float
        Share of the discoveries of either half of the draws that both halves make: near 1, more
        draws would change nothing. NaN with one draw.
    screened_ : ndarray of int or None
        Columns that some of the rows chose, where there were too few rows for twins of all.
    moments_ : Moments
        Of all rows, where they were summed.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    The bound is exact for outputs that are linear in the candidates with normal errors of any
    covariance between outputs, independent between rows; nothing is asked of the candidates. With
    other errors, and class labels, it holds about, the better the more rows there are. Rows that
    repeat others (measurements of one person) make every bound wrong: take one row each, or means.
    Weights must be counts of rows.

    Twins need two rows a candidate, or a dimension of it: a category of 20 levels has 19. With
    fewer, :meth:`fit` deals the rows at random: a third of them screens the candidates, and the
    others judge those that pass. The bound then holds for the effects in what passed: if a variable
    that matters was lost, another may stand in for it.

    References
    ----------
    R. F. Barber, E. J. Candès: Controlling the false discovery rate via knockoffs. Annals of
    Statistics 43 (2015); A knockoff filter for high-dimensional selective inference. 47 (2019).
    A. Spector, L. Janson: Powerful knockoffs via minimizing reconstructability. 50 (2022).
    J. R. Gimenez, J. Zou: Improving the stability of the knockoff procedure: multiple simultaneous
    knockoffs and entropy maximization. AISTATS (2019).
    Z. Ren, R. F. Barber: Derandomised knockoffs: leveraging e-values for false discovery rate
    control. JRSS B 86 (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from projse import KnockoffProjSe
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 40))
    >>> Y = X[:, :12] @ rng.normal(size=(12, 5)) + rng.normal(size=(500, 5))
    >>> found = KnockoffProjSe(random_state=0).fit(X, Y)
    >>> sorted(found.selected_.tolist())
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 17]

    The first twelve matter; one false discovery among them is what ``fdr=0.1`` allows.
    """

    _tells_categories = True

    def __init__(
        self,
        selector: Any = None,
        *,
        fdr: float = 0.1,
        n_draws: int = 50,
        n_twins: int | str = "auto",
        statistic: str = "likelihood",
        twins: str = "mvr",
        groups: Any = None,
        max_correlation: float = 0.98,
        random_state: Any = None,
        n_jobs: int | None = None,
        batch_size: int | None = None,
    ) -> None:
        self.selector = selector
        self.fdr = fdr
        self.n_draws = n_draws
        self.n_twins = n_twins
        self.statistic = statistic
        self.twins = twins
        self.groups = groups
        self.max_correlation = max_correlation
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.batch_size = batch_size

    def fit(self, X: Any, y: Any, sample_weight: Any = None, covariates: Any = None) -> Self:
        """Find the columns of X that matter for the columns of y.

        Parameters
        ----------
        X, y, covariates
            As in :meth:`ProjSe.fit`; y is needed.
        sample_weight : array-like of shape (n_samples,), default=None
            Counts of rows: whole numbers.

        Returns
        -------
        self : object
        """
        selector = self._checked()
        if y is None:
            raise ValueError(
                "KnockoffProjSe requires y to be passed, but the target y is None; there is "
                "nothing to explain."
            )
        if is_dask(X, y, sample_weight, covariates):
            return self._fit_elsewhere(DaskRows.of(X, y, sample_weight, covariates), selector)
        with all_or_nothing(self):
            tables = selector._table_options()
            if tables.concern(X, y, covariates, sample_weight):
                refuse_repeated_names(X)
                validate_data(self, X, reset=True, skip_check_array=True)
                given = (X, y, sample_weight, covariates, tables, selector.target_type)
                table = TableRows.of(*given)
                refuse_no_counts(table.targets.weight)
                self._fit_table(table, selector)
                return self
            options: Any = {"covariates": covariates}
            rows = self._check_rows(X, y, sample_weight, selector.target_type, **options).counted()
            refuse_no_counts(rows.weight)
            self._fit_rows(rows, selector)
        return self

    def fit_moments(
        self, moments: Moments | str | PathLike[str] | Sequence[Moments | str | PathLike[str]]
    ) -> Self:
        """Find variables from moments alone, wherever they were summed.

        Parameters
        ----------
        moments : Moments or path, or a sequence of them
            With the products of the candidates (``with_xx=True``). Several are of disjoint blocks
            of rows, as :func:`block_moments` makes them, and are added up; where there are too few
            rows for twins, the first third of the blocks screens the candidates.

        Returns
        -------
        self : object
        """
        selector = self._checked()
        blocks = [moments] if isinstance(moments, Moments | str | PathLike) else moments
        return self._fit_sums(load_given(blocks, "moments"), selector)

    def fit_source(self, source: Any, **options: Any) -> Self:
        """Find variables among the columns of files, streams or batches, with bounded memory.

        Parameters
        ----------
        source, **options
            As in :func:`projse.moments_from`; the products of the candidates are summed. How
            tables are encoded goes by ``selector``, unless an option says otherwise.

        Returns
        -------
        self : object
        """
        selector = self._checked()
        plain: Any = {"target_type": selector.target_type, **self._options}
        options = {**plain, **vars(selector._table_options()), **options}
        if not options.pop("with_xx", True):
            raise ValueError("with_xx=False leaves out the products that twins are made of.")
        weighted = options.get("weight") is not None
        moments = moments_from(source, with_xx=True, **options)
        return self._fit_sums([moments], selector, weighted=weighted)

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
        """Find variables among the columns of a Spark DataFrame; its workers sum the rows.

        Parameters
        ----------
        df : pyspark.sql.DataFrame
        features, targets, weight, class_target, covariates
            As in :func:`projse.spark.moments`.

        Returns
        -------
        self : object
        """
        from projse.engines.spark import SparkRows

        selector = self._checked()
        rows = SparkRows.of(df, features, targets, weight, class_target, covariates)
        forced = selector._look_options().forced
        return self._fit_elsewhere(rows.as_table() if forced else rows, selector)

    def _fit_elsewhere(self, rows: RowsElsewhere, selector: ProjSe) -> Self:
        """Let the workers of a cluster sum the rows."""
        encoding = encoding_elsewhere(rows, selector._look_options(), selector.target_type)
        moments = moments_elsewhere(
            rows,
            with_xx=True,
            target_type=selector.target_type,
            encoding=encoding,
            **self._options,
        )
        if getattr(rows, "class_target", None) is None:  # else the user has said so
            moments = settle_targets(moments, selector.target_type, getattr(rows, "Y", None))
        weighted = getattr(rows, "weight", None) is not None
        return self._fit_sums([moments], selector, weighted=weighted)

    def _checked(self) -> ProjSe:
        """Return the selector; refuse parameters that make no sense."""
        selector = ProjSe() if self.selector is None else self.selector
        if not isinstance(selector, ProjSe):
            raise TypeError(f"selector must be a ProjSe, not {type(selector).__name__}.")
        check_parameters(selector)
        if selector.kernel != "linear" or selector.center_kernel or not selector.center:
            raise ValueError(
                "Twins have the correlations of their variables, and stand for no others: the "
                "selector must have kernel='linear', center=True and center_kernel=False."
            )
        for name in ("fdr", "max_correlation"):
            value = getattr(self, name)
            if not is_number(value) or not 0 < value <= 1 or (name == "fdr" and value == 1):
                raise ValueError(f"{name}={value!r} must be a number above 0 and below 1.")
        whole("n_draws", self.n_draws, 1)
        if self.n_twins != "auto":
            whole("n_twins", self.n_twins, 1)
        one_of("statistic", self.statistic, (*STATISTICS, "order"))
        one_of("twins", self.twins, tuple(DISTANCES))
        check_pass_options(self.n_jobs, self.batch_size)
        if self.groups is not None and selector.groups is not None:
            raise ValueError("groups is given twice, here and in the selector; give it once.")
        plain: Any = {"n_features_to_select": None, "solver": "auto", "rank": None}
        return clone(selector).set_params(**plain)
