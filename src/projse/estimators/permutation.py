"""Permutation test: the picks against those that are made once y has lost its relation to X."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_array

from projse.estimators.null_scores import null_scores, prepare
from projse.estimators.progress_bar import Report, reporting
from projse.estimators.projse import ProjSe
from projse.estimators.table_rows import TableRows
from projse.parameters import check_pass_options, is_whole
from projse.search.greedy import TIE
from projse.sources.covariates import append_covariates
from projse.sources.rows import make_rows, refuse_dask, refuse_non_numeric_columns

Array = NDArray[Any]

MIN_SAMPLES = 4
"""Three rows have six orders: no p-value could fall below 1/6."""


@dataclass(frozen=True, eq=False, repr=False)
class PermutationTest:
    """Result of :func:`permutation_test`.

    Attributes
    ----------
    selected : ndarray of int of shape (n_picks,)
        Picks on the data as they are, in order.
    scores : ndarray of shape (n_picks,)
        Their scores.
    null_scores : ndarray of shape (n_permutations, n_picks)
        Scores of the first, second, … pick on permuted data; 0 where a run had fewer picks.
    pvalues : ndarray of shape (n_picks,)
        Share of runs, the observed one among them, whose pick at this place scores as high.
    standard_errors : ndarray of shape (n_picks,)
        Monte-Carlo error of the p-values, ``√(p (1 − p) / (n_permutations + 1))``.
    n_permutations : int
    feature_names : tuple of str or None
        Names of the picks, where X or the groups have names.

    Examples
    --------
    >>> import numpy as np
    >>> from projse import ProjSe, permutation_test
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> Y = X[:, [3]] + rng.normal(size=(60, 2))
    >>> test = permutation_test(ProjSe(1), X, Y, n_permutations=99, random_state=0)
    >>> test.selected.tolist(), test.pvalues.round(2).tolist()
    ([3], [0.01])
    >>> test.null_scores.shape
    (99, 1)
    """

    selected: Array
    scores: Array
    null_scores: Array
    pvalues: Array
    standard_errors: Array
    n_permutations: int
    feature_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        names = self.feature_names or tuple(str(j) for j in self.selected)
        width = max(8, *(len(name) for name in names)) if names else 8
        digits = max(4, len(str(self.n_permutations)))  # enough for the smallest p-value
        lines = [
            f"PermutationTest(n_permutations={self.n_permutations})",
            f"pick  {'variable':<{width}}  {'score':<6}  {'p-value':<{digits + 3}}  ± s.e.",
        ]
        columns = zip(names, self.scores, self.pvalues, self.standard_errors, strict=True)
        for t, (name, score, p, error) in enumerate(columns, start=1):
            lines.append(
                f"{t:>4}  {name:<{width}}  {score:.4f}  {p:.{digits}f}   {error:.{digits}f}"
            )
        if len(names) > 1:
            lines.append(
                "Only the first p-value is exact: later picks are compared with data in which "
                "nothing is related."
            )
        return "\n".join(lines)


def permutation_test(
    selector: ProjSe,
    X: Any,
    y: Any,
    *,
    covariates: Any = None,
    n_permutations: int = 999,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | Report = False,
) -> PermutationTest:
    """Test the picks of a selector against those it makes once y is shuffled.

    The rows of y are put in a random order, all outputs together, so that they keep their relation
    to each other and lose that to X. The selector then makes as many picks as before. The p-value
    of pick t is ``(1 + #{null score at pick t ≥ observed}) / (n_permutations + 1)``, for every
    kernel and without a model of the data.

    Parameters
    ----------
    selector : ProjSe
        Need not be fitted, and is not changed. Any kernel and a fixed number of picks.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Candidates.
    y : array-like or sparse matrix of shape (n_samples,) or (n_samples, n_y)
        References: numbers, class labels or label indicators.
    covariates : array-like of shape (n_samples,) or (n_samples, n_covariates), default=None
        As in :meth:`ProjSe.fit`. What they leave of y is shuffled; see the notes.
    n_permutations : int, default=999
        The smallest p-value there can be is ``1 / (n_permutations + 1)``.
    random_state : int, RandomState, Generator, SeedSequence or None, default=None
        Source of the permutations. The first ones are the same whatever ``n_permutations`` and
        ``n_jobs``.
    n_jobs : int or None, default=None
        Workers of a joblib pool, each with one BLAS thread; None means 1, -1 all cores. They are
        threads, unless ``joblib.parallel_config`` says otherwise.
    progress : bool or callable, default=False
        True shows a bar on standard error (extra: ``cli``); a callable is called with
        ``(done, total)``.

    Returns
    -------
    PermutationTest

    Raises
    ------
    ValueError
        For one view (``y=None``), for ``n_features_to_select="auto"``, which is a test itself, and
        with fewer than 4 rows.

    Notes
    -----
    **The first pick.** If the rows of y are exchangeable given X (above all: independent rows, and
    no relation to X at all), its p-value is exact: at most a share α of such data sets has p ≤ α.
    The best of all candidates is compared with the best of all candidates, so that their number
    is accounted for. Rows that depend on each other (time series, repeated measures) break it.

    **Later picks** are tested against the same null, in which nothing is related to anything. That
    is not the question whether pick t adds to the ones before it. In permuted data, the second
    pick is the best of those that lost to the first; after a pick that is real, a chance pick has
    lost to nothing and scores higher. So later p-values are too small once earlier picks are real:
    in the paper's form, with one real variable among 15, one in five chance picks after it had
    p ≤ 0.05. Ridges work the other way: see below. To ask whether
    a pick adds to others, test again with those as ``include``, and read the p-value of the first
    pick after them: approximate rather than exact, and close to its level in simulation.

    **Ridges** that the selector chooses by itself follow from the data, or the permuted data, in
    the same way: like is compared with like. Later scores are relative to the outputs as they
    were: once the first picks explain most of them, ridges make later scores small, and p-values
    too large. With ``include`` they are in proportion to what is left.

    **Covariates.** To shuffle y itself would also break its relation to the covariates. So the
    residuals of y given the covariates are shuffled, and the covariates are taken out of the
    result again, as out of X (Freedman and Lane). The p-value of the first pick is then
    approximate rather than exact, and close to its level in simulation.

    Scores within 1e-10 of the observed one count as equal to it: ties are real in small or
    discrete data.

    **Cost.** Without weights ``YᵀY`` and ``XᵀX`` do not change, and a permutation costs
    ``2 m n_y n_x`` flops for ``YᵀX``, many at a time in one product, and a selection from the
    small matrices. A callable kernel is evaluated anew for every permutation.

    References
    ----------
    D. Freedman, D. Lane: A nonstochastic interpretation of reported significance levels. Journal of
    Business & Economic Statistics 1, 1983.

    B. Phipson, G. K. Smyth: Permutation P-values should never be zero. Statistical Applications in
    Genetics and Molecular Biology 9, 2010.

    M. J. Anderson, P. Legendre: An empirical comparison of permutation methods for tests of partial
    regression coefficients in a linear model. Journal of Statistical Computation and Simulation 62,
    1999.

    Examples
    --------
    >>> import numpy as np
    >>> from projse import ProjSe, permutation_test
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 8))
    >>> Y = X[:, [3]] + rng.normal(size=(60, 2))
    >>> permutation_test(ProjSe(1), X, Y, n_permutations=199, random_state=0)  # doctest: +ELLIPSIS
    PermutationTest(n_permutations=199)
    pick  variable  score   p-value  ± s.e.
       1  3         0...  0.0050   0.0050
    """
    _check_arguments(selector, y, n_permutations)
    check_pass_options(n_jobs, None)
    refuse_dask(
        "permutation_test cannot shuffle single rows; compute() them first", X, y, covariates
    )
    seeds = _seeds(random_state, int(n_permutations))
    tables = selector._table_options()
    checked = X
    if not tables.concern(X, y, covariates):
        refuse_non_numeric_columns(X)
        options: Any = {"dtype": "numeric", "ensure_all_finite": False}
        checked = check_array(X, accept_sparse=("csr", "csc"), **options)
    if checked.shape[0] < MIN_SAMPLES:
        raise ValueError(
            f"X has {checked.shape[0]} rows; a permutation test needs at least {MIN_SAMPLES}, or "
            "there are too few orders for a small p-value."
        )
    with reporting(progress, "permutations") as report:
        fitted = clone(selector).fit(X, y, covariates=covariates)
        if tables.concern(X, y, covariates):
            rows = TableRows.of(X, y, None, covariates, tables, selector.target_type).final_rows()
        else:
            rows = make_rows(checked, y, target_type=selector.target_type)
            rows = append_covariates(rows, covariates)
        problem = prepare(fitted._task(False), rows, len(fitted.selected_))
        null = null_scores(problem, seeds, n_jobs, report)
    tie = max(TIE, 64 * problem.eps)
    as_high = np.count_nonzero(null >= fitted.scores_ * (1 - tie), axis=0)
    pvalues = (1 + as_high) / (len(seeds) + 1)
    named = hasattr(fitted, "feature_names_in_") or hasattr(fitted, "variables_")
    return PermutationTest(
        selected=fitted.selected_,
        scores=fitted.scores_,
        null_scores=null,
        pvalues=pvalues,
        standard_errors=np.sqrt(pvalues * (1 - pvalues) / (len(seeds) + 1)),
        n_permutations=len(seeds),
        feature_names=tuple(fitted.variable_names_[fitted.selected_]) if named else None,
    )


def _seeds(random_state: Any, n: int) -> list[SeedSequence]:
    """Turn whatever stands for a random state into one seed a permutation."""
    if isinstance(random_state, SeedSequence):
        # Not spawn itself, which would give others the next time.
        source = SeedSequence(random_state.entropy, spawn_key=random_state.spawn_key)
    elif random_state is None or (is_whole(random_state) and random_state >= 0):
        source = SeedSequence(random_state)
    elif isinstance(random_state, np.random.RandomState):
        source = SeedSequence(random_state.randint(2**32, size=4, dtype=np.uint32).tolist())
    elif isinstance(random_state, np.random.Generator):
        source = SeedSequence(random_state.integers(2**32, size=4).tolist())
    else:
        raise ValueError(
            f"random_state={random_state!r} must be None, a whole number of 0 or above, or a "
            "random generator of numpy."
        )
    return source.spawn(n)


def _check_arguments(selector: Any, y: Any, n_permutations: Any) -> None:
    if not isinstance(selector, ProjSe):
        raise TypeError(f"selector must be a ProjSe, not {type(selector).__name__}.")
    if y is None:
        raise ValueError(
            "y is None: with one view there is nothing to permute against X; pass references."
        )
    if selector.n_features_to_select == "auto":
        raise ValueError(
            "n_features_to_select='auto' leaves the number of picks open; set it to a number, "
            "such as that of an earlier fit."
        )
    if not is_whole(n_permutations):
        raise TypeError(
            f"n_permutations={n_permutations!r} must be a whole number, not "
            f"{type(n_permutations).__name__}."
        )
    if n_permutations < 1:
        raise ValueError(f"n_permutations={n_permutations!r} must be at least 1; 999 is usual.")
