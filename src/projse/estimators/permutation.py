"""Permutation test: the picks against those that are made once y has lost its relation to X."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp
from numpy.random import SeedSequence
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_array

from projse.estimators.progress_bar import Report, reporting
from projse.estimators.projse import ProjSe
from projse.kernels.feature_gram import FeatureGram
from projse.kernels.gram import gram_of
from projse.kernels.reference import orthonormal_reference
from projse.kernels.routes import KernelSpec, from_gram, from_rows
from projse.moments.in_memory import moments_of
from projse.moments.sparse_products import centred_cross, raw_cross
from projse.moments.sums import AUTO_XX_COLUMNS, Moments
from projse.parameters import check_pass_options, is_whole
from projse.search.greedy import TIE
from projse.search.rounds import Plan, select
from projse.search.task import Task
from projse.sources.rows import Rows, make_rows, refuse_dask, refuse_non_numeric_columns
from projse.threads import one_blas_thread

Array = NDArray[Any]

MIN_SAMPLES = 4
"""Three rows have six orders: no p-value could fall below 1/6."""

GROUP_COLUMNS = 32
"""Permutations share a product while their references together have about this many columns."""

GROUP_ELEMENTS = 1 << 23
"""Row numbers that a group of permutations may hold (64 MiB)."""

BATCH_ELEMENTS = 1 << 18
"""Values of X and of permuted Y that are multiplied at a time: a core's second-level cache."""


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
        Names of the picks, where X has names.
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
        return "\n".join(lines)


def permutation_test(
    selector: ProjSe,
    X: Any,
    y: Any,
    *,
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
    with one real variable among 15, one in five chance picks after it had p ≤ 0.05. To ask whether
    a pick adds to others, test again with those as ``include``, and read the p-value of the first
    pick after them: approximate rather than exact, and close to its level in simulation.

    Scores within 1e-10 of the observed one count as equal to it: ties are real in small or
    discrete data.

    **Cost.** Without weights ``YᵀY`` and ``XᵀX`` do not change, and a permutation costs
    ``2 m n_y n_x`` flops for ``YᵀX``, many at a time in one product, and a selection from the
    small matrices. A callable kernel is evaluated anew for every permutation.

    References
    ----------
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
    >>> permutation_test(ProjSe(2), X, Y, n_permutations=199, random_state=0)
    PermutationTest(n_permutations=199)
    pick  variable  score   p-value  ± s.e.
       1  3         0.7445  0.0050   0.0050
       2  2         0.0806  0.0550   0.0161
    """
    _check_arguments(selector, y, n_permutations)
    check_pass_options(n_jobs, None)
    refuse_dask("permutation_test cannot shuffle single rows; compute() them first", X, y)
    seeds = _seeds(random_state, int(n_permutations))
    refuse_non_numeric_columns(X)
    checked = check_array(X, accept_sparse=("csr", "csc"), dtype="numeric", ensure_all_finite=False)
    if checked.shape[0] < MIN_SAMPLES:
        raise ValueError(
            f"X has {checked.shape[0]} rows; a permutation test needs at least {MIN_SAMPLES}, or "
            "there are too few orders for a small p-value."
        )
    with reporting(progress, "permutations") as report:
        fitted = clone(selector).fit(X, y)
        rows = make_rows(checked, y, target_type=selector.target_type)
        problem = _prepare(fitted._task(False), rows, len(fitted.selected_))
        null = _on_a_pool(problem, seeds, n_jobs, report)
    tie = max(TIE, 64 * problem.eps)
    as_high = np.count_nonzero(null >= fitted.scores_ * (1 - tie), axis=0)
    pvalues = (1 + as_high) / (len(seeds) + 1)
    names = getattr(fitted, "feature_names_in_", None)
    return PermutationTest(
        selected=fitted.selected_,
        scores=fitted.scores_,
        null_scores=null,
        pvalues=pvalues,
        standard_errors=np.sqrt(pvalues * (1 - pvalues) / (len(seeds) + 1)),
        n_permutations=len(seeds),
        feature_names=None if names is None else tuple(names[fitted.selected_]),
    )


def permutations(seeds: Sequence[SeedSequence], n_samples: int) -> list[Array]:
    """Return an order of the rows for each seed."""
    return [np.random.default_rng(seed).permutation(n_samples) for seed in seeds]


def permuted_cross(rows: Rows, moments: Moments, orders: Sequence[Array]) -> Iterator[Any]:
    """Yield ``Y'X`` as the moments keep it, shape (n_y, n_x), for each order of the rows of Y.

    Parameters
    ----------
    rows : Rows
        Without weights.
    moments : Moments
        Of these rows; their means do not depend on the order.
    orders : sequence of ndarray of int of shape (n_samples,)

    Notes
    -----
    Dense data: one pass over X and ``2 m n_y n_x`` flops an order, in batches of rows, and the
    results of all orders in memory. Sparse data: a sparse product an order.
    """
    X, Y = rows.X, rows.Y
    x_mean, y_mean = moments.x_mean, moments.y_mean
    assert y_mean is not None
    if sp.issparse(moments.yx):
        for order in orders:
            yield raw_cross(Y[order], X, None)
        return
    if sp.issparse(X) or sp.issparse(Y):
        for order in orders:
            yield centred_cross(Y[order], X, y_mean, x_mean, None, moments.sum_weights)
        return
    m, n_y = Y.shape
    centred = np.subtract(Y, y_mean, dtype=np.float64)
    places = np.array(orders).T
    total = np.zeros((len(orders) * n_y, X.shape[1]))
    step = max(1, BATCH_ELEMENTS // sum(total.shape))
    for start in range(0, m, step):
        batch = slice(start, start + step)
        x = np.subtract(X[batch], x_mean, dtype=np.float64)
        total += centred[places[batch]].reshape(len(x), -1).T @ x
    yield from total.reshape(len(orders), n_y, -1)


@dataclass(frozen=True)
class _Problem:
    """What all permutations share; ``moments`` are None for a callable kernel."""

    rows: Rows
    moments: Moments | None
    spec: KernelSpec
    plan: Plan

    @property
    def eps(self) -> float:
        """Unit roundoff of the products."""
        return float(np.finfo(np.float64).eps) if self.moments is None else self.moments.eps

    @property
    def group_size(self) -> int:
        """Permutations a task; by the shape alone, so that results are the same on any pool."""
        m, n_y = self.rows.Y.shape
        return max(1, min(GROUP_COLUMNS // n_y, GROUP_ELEMENTS // m))

    def grams(self, orders: Sequence[Array]) -> Iterator[FeatureGram]:
        """Yield the kernel matrices for each order of the rows of Y."""
        rows, moments = self.rows, self.moments
        if moments is None:
            for order in orders:
                yield from_rows(replace(rows, Y=rows.Y[order]), self.spec).gram
            return
        linear = gram_of(moments, self.spec.center, None if moments.xx is not None else rows)
        for yx in permuted_cross(rows, moments, orders):
            yield from_gram(replace(linear, yx=yx), self.spec)


def _prepare(task: Task, rows: Rows, n_picks: int) -> _Problem:
    """Sum over the rows once, by the route that the fit took."""
    task = replace(task, plan=replace(task.plan, n_features=n_picks))
    moments, spectrum = None, None
    if not callable(task.spec.kernel):
        route = task.route(rows)
        moments, spectrum = route.moments, route.spectrum
        if spectrum is not None:
            # A basis of permuted references is the permuted basis.
            rows, spectrum = orthonormal_reference(rows, center=task.spec.center)
            few = rows.X.shape[1] <= AUTO_XX_COLUMNS
            with_xx = few and task.n_conditioned(rows.Y.shape[1]) > 0
            moments = moments_of(rows, with_xx=with_xx, n_jobs=task.n_jobs)
    return _Problem(
        rows, moments, task.spec, task.complete(float(rows.n_samples), rows.n_samples, spectrum)
    )


def _on_a_pool(
    problem: _Problem, seeds: Sequence[SeedSequence], n_jobs: int | None, report: Report
) -> Array:
    """Return null scores of shape (n_seeds, n_picks), made a group of seeds at a time."""
    size = problem.group_size
    groups = [seeds[i : i + size] for i in range(0, len(seeds), size)]
    pool = joblib.Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    parts: list[Array] = []
    done = 0
    # Here for threads, which share one BLAS; again in each task for processes, which do not.
    with one_blas_thread():
        results = pool(joblib.delayed(_null_scores)(problem, group) for group in groups)
        try:
            for part in results:
                parts.append(part)
                done += len(part)
                report(done, len(seeds))
        finally:
            with warnings.catch_warnings():
                # Whoever stops early knows that tasks are cancelled.
                warnings.simplefilter("ignore")
                results.close()
    return np.concatenate(parts)


def _null_scores(problem: _Problem, seeds: Sequence[SeedSequence]) -> Array:
    """Select on permuted data; return scores of shape (n_seeds, n_picks), 0 for picks not made."""
    n_picks = problem.plan.n_features
    assert n_picks is not None
    scores = np.zeros((len(seeds), n_picks))
    orders = permutations(seeds, problem.rows.n_samples)
    with one_blas_thread():
        for row, gram in zip(scores, problem.grams(orders), strict=True):
            found = select(gram, problem.plan).scores
            row[: len(found)] = found
    return scores


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
