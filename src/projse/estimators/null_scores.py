"""Null scores: selections from rows whose references were put in another order."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp
from numpy.random import SeedSequence
from numpy.typing import NDArray

from projse.estimators.progress_bar import Report
from projse.kernels.combination import bases_of_rows
from projse.kernels.feature_gram import FeatureGram
from projse.kernels.linear_gram import gram_of
from projse.kernels.range_finder import sketched_rows
from projse.kernels.reference import orthonormal, orthonormal_reference
from projse.kernels.routes import KernelSpec, from_gram, from_rows
from projse.moments.in_memory import moments_of
from projse.moments.leverage import references_on_few_rows
from projse.moments.own_products import IN_MEMORY
from projse.moments.rounding import ROUNDING
from projse.moments.sparse_products import centred_cross, raw_cross
from projse.moments.sums import Moments
from projse.search.rounds import Plan, select
from projse.search.task import Task
from projse.sources.covariates import append_covariates
from projse.sources.rows import Rows
from projse.threads import one_blas_thread

Array = NDArray[Any]

GROUP_COLUMNS = 32
"""Permutations share a product while their references together have about this many columns."""

GROUP_ELEMENTS = 1 << 23
"""Row numbers that a group of permutations may hold (64 MiB)."""

BATCH_ELEMENTS = 1 << 18
"""Values of X and of permuted Y that are multiplied at a time: a core's second-level cache."""


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


def permuted_given(rows: Rows, moments: Moments, orders: Sequence[Array]) -> Iterator[Moments]:
    """Yield moments for each order of the rows of Y, the covariates staying where they are."""
    n = rows.n_references
    assert moments.y_mean is not None and moments.yy is not None
    references = _without_covariates(rows)
    y_mean, z_mean = moments.y_mean[:n], moments.y_mean[n:]
    with_x = permuted_cross(references, replace(moments, y_mean=y_mean), orders)
    covariates = replace(references, X=rows.covariates)
    with_z = permuted_cross(covariates, replace(moments, x_mean=z_mean, y_mean=y_mean), orders)
    for yx, yz in zip(with_x, with_z, strict=True):
        yy = moments.yy.copy()
        yy[:n, n:], yy[n:, :n] = yz, yz.T
        yield replace(moments, yy=yy, yx=np.vstack([yx, moments.yx[n:]]))


def residual_references(rows: Rows, center: bool) -> Rows:
    """Replace the references by what the covariates leave of them, dense.

    An output that they explain wholly becomes exactly 0: of it, rounding would be shuffled.
    """
    Z, Y = rows.covariates, rows.references
    assert Z is not None
    Y = np.array(Y.toarray() if sp.issparse(Y) else Y, dtype=np.float64)
    if center:
        Y, Z = Y - Y.mean(axis=0), Z - Z.mean(axis=0)
    norms = np.linalg.norm(Z, axis=0)
    Q = orthonormal(Z[:, norms > 0] / norms[norms > 0])
    before = np.square(Y).sum(axis=0)
    for _ in range(2):  # twice is enough (Kahan, Parlett)
        Y -= Q @ (Q.T @ Y)
    Y[:, np.square(Y).sum(axis=0) <= ROUNDING * np.finfo(np.float64).eps * before] = 0.0
    plain = replace(_without_covariates(rows), Y=Y, classes=None, target_names=None)
    return append_covariates(plain, rows.covariates)


def _without_covariates(rows: Rows) -> Rows:
    return replace(rows, Y=rows.references, n_covariates=0, z_variables=None)


@dataclass(frozen=True)
class Problem:
    """What all permutations share; ``moments`` are None for a callable kernel."""

    rows: Rows
    moments: Moments | None
    task: Task
    plan: Plan
    rare_references: bool | None = None

    @property
    def spec(self) -> KernelSpec:
        """What the kernel sees."""
        return self.task.spec

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
                permuted = replace(_without_covariates(rows), Y=rows.references[order])
                given = append_covariates(permuted, rows.covariates)
                yield from_rows(given, self.spec).gram
            return
        gram = partial(
            gram_of,
            center=self.spec.center,
            rows=None if moments.xx is not None else rows,
            rare_references=self.rare_references,
        )
        if rows.n_covariates:
            for permuted_moments in permuted_given(rows, moments, orders):
                yield self.task.by_variables(from_gram(gram(permuted_moments), self.spec))
            return
        linear = gram(moments)
        for yx in permuted_cross(rows, moments, orders):
            yield self.task.by_variables(from_gram(replace(linear, yx=yx), self.spec))


def prepare(task: Task, rows: Rows, n_picks: int) -> Problem:
    """Sum over the rows once, by the route that the fit took."""
    given = rows
    if rows.n_covariates:
        rows = residual_references(rows, task.spec.center)
    task = replace(task, plan=replace(task.plan, n_features=n_picks)).settled(rows.n_references)
    task = task.of_columns(rows.x_variables, bases_of_rows(rows, task.min_frequency))
    moments, spectrum, rare, n_conditioned = None, None, None, 0
    if not callable(task.spec.kernel):
        route = task.route(rows)
        moments, spectrum = route.moments, route.spectrum
        rare, n_conditioned = route.gram.rare_references, route.gram.n_conditioned
        if rows.n_covariates:
            rare = references_on_few_rows(given, task.spec.center)
        if spectrum is not None:
            # A basis of permuted references is the permuted basis.
            size, center = task.n_directions(rows), task.spec.center
            if size is None:
                rows, spectrum, _ = orthonormal_reference(rows, center=center)
            else:
                rows, spectrum = sketched_rows(rows, size, center=center, n_iter=task.n_iter)
            n_y, n_samples = rows.n_references, rows.n_samples
            with_xx = task.products.are_summed(n_y, IN_MEMORY, n_samples)
            moments = moments_of(rows, with_xx=with_xx, n_jobs=task.n_jobs)
    n = rows.n_samples
    plan = task.complete(float(n), n, spectrum, n_conditioned)
    # Scores are compared with scores: the p-values of permuted data are of no use.
    return Problem(rows, moments, task, replace(plan, degrees=float("nan")), rare)


def null_scores(
    problem: Problem, seeds: Sequence[SeedSequence], n_jobs: int | None, report: Report
) -> Array:
    """Return null scores of shape (n_seeds, n_picks), made a group of seeds at a time."""
    size = problem.group_size
    groups = [seeds[i : i + size] for i in range(0, len(seeds), size)]
    pool = joblib.Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    parts: list[Array] = []
    done = 0
    # Here for threads, which share one BLAS; again in each task for processes, which do not.
    with one_blas_thread():
        results = pool(joblib.delayed(_group_scores)(problem, group) for group in groups)
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


def _group_scores(problem: Problem, seeds: Sequence[SeedSequence]) -> Array:
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
