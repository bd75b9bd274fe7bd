"""StabilityProjSe: whether other rows would have given the same variables.

Long because it is one class with all that scikit-learn asks of an estimator, documented.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from projse.estimators.fitted import all_or_nothing, remember_candidates
from projse.estimators.frequencies import FrequenciesMixin
from projse.estimators.given_moments import load_given, refuse_qr
from projse.estimators.parameters import check_parameters
from projse.estimators.projse import ProjSe
from projse.estimators.selector import RowSelector
from projse.estimators.table_rows import kept_rows
from projse.estimators.tags import TagsOfSelectorMixin
from projse.exceptions import (
    NothingSelectedWarning,
    ProductsMissingWarning,
    UnreliableSelectionWarning,
)
from projse.metrics.stability import (
    nogueira_stability,
    relevance_stability,
    stability_interval,
)
from projse.moments.blocks import StackedMoments, moments_of_blocks
from projse.moments.own_products import ONCE
from projse.moments.resample import deal, draw_counts, draw_rows, generator, group_codes, share
from projse.moments.sums import Moments
from projse.parameters import is_number, is_whole
from projse.search.filled import are_filled
from projse.search.outcome import Outcome
from projse.search.products import KEPT_COLUMNS, reference_columns
from projse.search.rounds import Selection
from projse.search.task import Task
from projse.sources.rows import Rows
from projse.warn import warn_caller

Array = NDArray[Any]

ROW_LEVEL_SAMPLES = 2000
"""Up to this many rows, ``blocks="auto"`` draws rows one by one."""

MAX_BLOCKS = 100
STACK_BYTES = 1 << 29
"""Moments of the blocks of ``blocks="auto"`` take at most about this much."""


class StabilityProjSe(
    TagsOfSelectorMixin,
    FrequenciesMixin,
    RowSelector,
    BaseEstimator,  # type: ignore[misc]
):
    """Select on many resamples of the rows, and see which variables come back.

    Moments add up: the rows are summed once, in blocks, a resample is a sum of blocks, and a
    hundred resamples cost little more than one fit.

    Parameters
    ----------
    selector : ProjSe
        What to repeat; it is cloned, never fitted itself.
    n_resamples : int, default=100
    subsample : float, default=0.5
        Share of the rows in a resample, in (0, 1].
    random_state : int, RandomState or None, default=None
    bootstrap : bool, default=False
        Draw with replacement.
    blocks : int, "auto" or None, default="auto"
        Rows are dealt at random to this many blocks, and resamples are drawn from the blocks. None
        draws rows one by one and fits every resample from its rows: exact, for small data. "auto"
        is None up to 2000 rows, for callable kernels and for ``solver="qr"``, else 100 blocks
        (fewer where their moments would be large).
    stratify : bool, default=True
        Give every resample the classes in equal shares, where y are class labels.
    threshold : float, default=0.6
        A variable is stable when at least this share of the resamples selects it.
    confidence : float, default=0.95
        Of ``stability_interval_``.
    n_jobs : int or None, default=None
        Threads of the pass over the rows, and of the fits when ``blocks`` is None.

    Attributes
    ----------
    selection_frequencies_ : ndarray of shape (n_variables,)
        Share of the resamples that select the variable; without groups in the selector, a variable
        is a column.
    selected_ : ndarray of int
        The stable set: variables with at least the frequency ``threshold``, most frequent first.
    selected_names_ : ndarray of str
        Their names; x0, x1, … where X has none.
    support_ : ndarray of bool of shape (n_features_in_,)
    stability_ : float
        Nogueira's index of the selected sets: 1 when all are equal, about 0 when they are random.
    stability_interval_ : tuple of float
        Limits for the index of infinitely many resamples of these rows, by
        :func:`projse.metrics.stability_interval`.
    relevance_stability_ : float
        Mean Pearson correlation of the resamples' relevances (score of a picked variable, else 0).
        A resample that selects nothing has correlation 0 with every other.
    stability_path_, relevance_stability_path_ : ndarray of shape (n_picks,)
        Both of the first k picks, for k = 1, 2, …; NaN where the set is all variables.
    expected_false_ : float
        Bound on the expected number of unrelated variables in the stable set, ``q² / ((2π − 1) p)``
        with q the mean number of picks and π the threshold (Meinshausen and Bühlmann); infinite for
        π ≤ 0.5.
    selections_ : ndarray of int of shape (n_resamples, n_picks)
        Picks of each resample in order; −1 where one ended early.
    relevances_ : ndarray of shape (n_resamples, n_variables)
    variable_names_ : ndarray of str of shape (n_variables,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    The bound holds for subsamples of half the rows without replacement, when unrelated variables
    are exchangeable and the selection is no worse than chance. Blocks are dealt at random, so a
    union of blocks is a random set of rows; two resamples share more rows, or fewer, than two
    drawn row by row, the more so the fewer blocks there are.

    Ties are broken at random, anew in every resample: what only comes first in the table does not
    come back. Of two equal columns each is selected half of the time. A resample in which all of X
    or y is constant selects nothing.

    References
    ----------
    S. Nogueira, K. Sechidis, G. Brown: On the stability of feature selection algorithms. JMLR 18
    (2018). N. Meinshausen, P. Bühlmann: Stability selection. JRSS B 72 (2010).

    Examples
    --------
    >>> import numpy as np
    >>> from projse import ProjSe, StabilityProjSe
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 20))
    >>> Y = X[:, [3, 8]] @ rng.normal(size=(2, 4)) + rng.normal(size=(300, 4))
    >>> stable = StabilityProjSe(ProjSe(2), n_resamples=50, random_state=0).fit(X, Y)
    >>> sorted(stable.selected_.tolist())
    [3, 8]
    """

    def __init__(
        self,
        selector: Any,
        n_resamples: int = 100,
        subsample: float = 0.5,
        random_state: Any = None,
        *,
        bootstrap: bool = False,
        blocks: int | str | None = "auto",
        stratify: bool = True,
        threshold: float = 0.6,
        confidence: float = 0.95,
        n_jobs: int | None = None,
    ) -> None:
        self.selector = selector
        self.n_resamples = n_resamples
        self.subsample = subsample
        self.random_state = random_state
        self.bootstrap = bootstrap
        self.blocks = blocks
        self.stratify = stratify
        self.threshold = threshold
        self.confidence = confidence
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        covariates: Any = None,
    ) -> Self:
        """Select on resamples of the rows.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`ProjSe.fit`.
        groups : array-like of shape (n_samples,), default=None
            Rows of a group stay together: in a resample are all of them or none.
        covariates : array-like of shape (n_samples,) or (n_samples, n_covariates), default=None
            As in :meth:`ProjSe.fit`; each resample takes them out anew.

        Returns
        -------
        self : object
        """
        self._check()
        with all_or_nothing(self):
            target_type = self.selector.target_type
            given = self._check_rows(
                *(X, y, sample_weight, target_type),
                min_features=2,
                tables=self.selector._table_options(),
                covariates=covariates,
            )
            rows = given.counted()
            strata = rows.class_codes() if self.stratify and groups is None else None
            kept = None
            if groups is not None:  # which speak of the rows as they were given
                missing = self.selector.missing
                kept = kept_rows(given, X, y, sample_weight, covariates, missing)
            codes = group_codes(groups, given.n_samples if kept is None else len(kept))
            if codes is not None and kept is not None:
                codes = group_codes(codes[kept], given.n_samples)
            if codes is not None and given.weight is not None:
                codes = group_codes(codes[given.weight > 0], rows.n_samples)
            self._refuse_small(rows, strata, codes)
            rng = generator(self.random_state)
            n_blocks = self._n_blocks(rows, codes)
            if n_blocks is None:
                outcomes = self._fit_rows(rows, rng, strata, codes)
            else:
                blocks = deal(rows.n_samples, n_blocks, rng, strata, codes)
                outcomes = self._fit_blocks(rows, [b for b in blocks if len(b)], rng)
            self._finish(outcomes)
        return self

    def fit_moments(self, blocks: Sequence[Moments | str | PathLike[str]]) -> Self:
        """Select on sums of blocks whose moments are already there: days, files, partitions.

        Parameters
        ----------
        blocks : sequence of Moments or of paths
            Moments of disjoint sets of rows, or files that :meth:`Moments.save` wrote.

        Returns
        -------
        self : object

        Notes
        -----
        Blocks that differ (days, sites) make resamples that differ: the frequencies then speak of
        new days or sites, not of new rows.
        """
        self._check()
        refuse_qr(self.selector)
        parts = load_given(blocks, "blocks")
        parts = [part for part in parts if part.n_samples]
        if len(parts) < 2:
            raise ValueError(
                f"blocks holds {len(parts)} set(s) of moments with rows; resampling needs two or "
                "more."
            )
        with all_or_nothing(self):
            rng = generator(self.random_state)
            stack = StackedMoments(parts)
            remember_candidates(self, stack.total)
            self._finish(self._on_sums(stack, self._counts(len(parts), rng), rng))
        return self

    def _check(self) -> None:
        if not isinstance(self.selector, ProjSe):
            raise TypeError(f"selector must be a ProjSe, not {type(self.selector).__name__}.")
        check_parameters(self.selector)
        if not is_whole(self.n_resamples) or self.n_resamples < 2:
            raise ValueError(f"n_resamples={self.n_resamples!r} must be a number from 2.")
        if not is_number(self.subsample) or not 0 < self.subsample <= 1:
            raise ValueError(
                f"subsample={self.subsample!r} must be a share of the rows, above 0 and at most 1."
            )
        for name in ("threshold", "confidence"):
            value = getattr(self, name)
            if not is_number(value) or not 0 < value <= 1 or (name == "confidence" and value == 1):
                raise ValueError(f"{name}={value!r} must be a share, above 0 and at most 1.")
        if self.blocks is None or self.blocks == "auto":
            return
        if not is_whole(self.blocks) or self.blocks < 2:  # type: ignore[operator]
            raise ValueError(f"blocks={self.blocks!r} must be a number from 2, 'auto' or None.")
        if callable(self.selector.kernel):
            raise ValueError("A callable kernel needs the rows of every resample; use blocks=None.")
        refuse_qr(self.selector, f"with blocks={self.blocks}, use solver='auto'; or blocks=None")

    def _refuse_small(self, rows: Rows, strata: Array | None, groups: Array | None) -> None:
        m = rows.n_samples
        if share(self.subsample, m) < 2:
            raise ValueError(
                f"subsample={self.subsample} of {m} rows is {share(self.subsample, m)} row; a "
                "selection needs at least 2. Use a larger share."
            )
        if groups is not None and int(groups.max()) == 0:
            raise ValueError("groups holds one group; resampling by groups needs two or more.")
        if strata is not None and rows.classes is not None:
            sizes = np.bincount(strata, minlength=len(rows.classes))
            if sizes.min() < 2:
                rare = rows.classes.tolist()[int(sizes.argmin())]
                raise ValueError(
                    f"Class {rare!r} has {int(sizes.min())} row; resampling by class needs at "
                    "least 2 a class. Leave it out, merge it, or use stratify=False."
                )
        if is_whole(self.blocks) and self.blocks > m:  # type: ignore[operator]
            raise ValueError(
                f"blocks={self.blocks} is more than there are rows ({m}); use fewer, or None."
            )

    def _n_blocks(self, rows: Rows, groups: Array | None) -> int | None:
        if self.blocks != "auto":
            return None if self.blocks is None else int(self.blocks)
        needs_rows = callable(self.selector.kernel) or self.selector.solver == "qr"
        # Products of many outputs with each other are out of reach of any block.
        needs_rows = needs_rows or self._task(rows.one_view).n_directions(rows) is not None
        if rows.n_samples <= ROW_LEVEL_SAMPLES or needs_rows:
            return None
        p = rows.X.shape[1]
        q = rows.n_covariates + (p if rows.one_view else rows.n_references)
        size = 8 * (q * q + q * p + (p * p if self._needs_products(rows) else p))
        n_blocks = int(np.clip(STACK_BYTES // size, 10, MAX_BLOCKS))
        return n_blocks if groups is None else min(n_blocks, int(groups.max()) + 1)

    def _task(self, one_view: bool) -> Task:
        return Task.of(self.selector, self.n_features_in_, self._feature_names(), one_view)

    def _needs_products(self, rows: Rows) -> bool:
        n_y = reference_columns(rows, self.selector.center)
        task = self._task(rows.one_view)
        columns = rows.x_variables
        compares = not task.spec.is_linear
        if columns is not None and compares and are_filled(rows.encoding, columns):
            return True  # what fills the gaps is a combination of columns
        return task.of_columns(columns, {}).products.are_summed(n_y, ONCE)

    def _counts(self, n_blocks: int, rng: np.random.Generator) -> Array:
        n_draws = share(self.subsample, n_blocks)
        return draw_counts(n_blocks, n_draws, self.n_resamples, rng, self.bootstrap)

    def _tasks(self, one_view: bool, rng: np.random.Generator) -> Iterator[Task]:
        """Yield a task a resample, each with an order of its own that ties go by.

        By column order, the first of many tied candidates would come back in every resample.
        """
        task = self._task(one_view)
        ties = np.random.default_rng(deepcopy(rng).integers(1 << 62))  # leaves the draws of rows
        for _ in range(self.n_resamples):
            order = ties.permutation(task.n_variables)
            yield replace(task, plan=replace(task.plan, tie_order=order, with_pvalues=False))

    def _fit_blocks(
        self, rows: Rows, blocks: list[Array], rng: np.random.Generator
    ) -> list[Outcome]:
        counts = self._counts(len(blocks), rng)
        with_xx = self._needs_products(rows)
        options: Any = {"n_jobs": self.n_jobs, "batch_size": self.selector.batch_size}
        parts = moments_of_blocks(rows, blocks, with_xx=with_xx, **options)
        outcomes = self._on_sums(StackedMoments(parts), counts, rng)
        few = rows.X.shape[1] <= KEPT_COLUMNS
        if few and any(outcome.lacks_products for outcome in outcomes):
            # The references of a resample were used up before its picks.
            parts = moments_of_blocks(rows, blocks, with_xx=True, **options)
            outcomes = self._on_sums(StackedMoments(parts), counts, rng)
        return outcomes

    def _on_sums(
        self, stack: StackedMoments, counts: Array, rng: np.random.Generator
    ) -> list[Outcome]:
        pairs = zip(self._tasks(stack.total.one_view, rng), stack.sums(counts), strict=True)
        # Only the picks are kept: moments of a hundred resamples may be large.
        return [
            replace(task.on_moments(sums, may_be_constant=True), moments=None)
            for task, sums in pairs
        ]

    def _finish(self, outcomes: list[Outcome]) -> None:
        """Keep what the resamples selected; say what is wrong with many of them."""
        self._remember_variables(outcomes[0].variables)
        self._store([outcome.selection for outcome in outcomes])
        n_short = sum(outcome.lacks_products for outcome in outcomes)
        if n_short:
            warn_caller(
                f"{n_short} of {len(outcomes)} resamples made fewer picks than asked for: to look "
                "for more, the moments would need the products of the candidates (with_xx=True).",
                ProductsMissingWarning,
            )
        doubted = [outcome.doubts[0] for outcome in outcomes if outcome.doubts]
        if 2 * len(doubted) > len(outcomes):
            warn_caller(
                f"In {len(doubted)} of {len(outcomes)} resamples: {doubted[0]}",
                UnreliableSelectionWarning,
            )

    def _fit_rows(
        self, rows: Rows, rng: np.random.Generator, strata: Array | None, groups: Array | None
    ) -> list[Outcome]:
        def one(task: Task, chosen: Array) -> Outcome:
            return replace(task.on_rows(rows.take(chosen), may_be_constant=True), moments=None)

        tasks = self._tasks(rows.one_view, rng)
        draws = draw_rows(
            rows.n_samples,
            self.subsample,
            self.n_resamples,
            rng,
            self.bootstrap,
            strata,
            groups,
        )
        pairs = zip(tasks, draws, strict=True)
        jobs: Iterator[Any] = (delayed(one)(task, chosen) for task, chosen in pairs)
        return list(Parallel(n_jobs=self.n_jobs or 1, prefer="threads")(jobs))

    def _store(self, fits: list[Selection]) -> None:
        n = self.variables_.n if hasattr(self, "variables_") else self.n_features_in_
        longest = max(len(fit.indices) for fit in fits)
        self.selections_ = np.full((len(fits), longest), -1, dtype=np.intp)
        scores = np.zeros((len(fits), longest))
        for i, fit in enumerate(fits):
            self.selections_[i, : len(fit.indices)] = fit.indices
            scores[i, : len(fit.indices)] = fit.scores
        Z, W = np.zeros((len(fits), n), dtype=bool), np.zeros((len(fits), n))
        self.stability_path_ = np.full(longest, np.nan)
        self.relevance_stability_path_ = np.full(longest, np.nan)
        for k in range(longest):
            made = np.flatnonzero(self.selections_[:, k] >= 0)
            Z[made, self.selections_[made, k]] = True
            W[made, self.selections_[made, k]] = scores[made, k]
            if 0 < Z.sum() < Z.size:
                self.stability_path_[k] = nogueira_stability(Z)
            self.relevance_stability_path_[k] = relevance_stability(W)
        if not Z.any():
            raise ValueError(
                "No resample selected anything: X or y is constant in all of them, or nothing "
                "passes significance; raise subsample, or set n_features_to_select of the selector."
            )
        if Z.all():
            raise ValueError(
                "Every resample selected all variables, of which nothing can be more or less "
                "stable; select fewer (n_features_to_select of the selector, -k on the command "
                "line)."
            )
        self.stability_ = nogueira_stability(Z)
        self.stability_interval_ = stability_interval(Z, self.confidence)
        self.relevance_stability_ = float(self.relevance_stability_path_[-1])
        self.relevances_ = W
        self.selection_frequencies_ = Z.mean(axis=0)
        stable = self.selection_frequencies_ >= self.threshold - 1e-12
        mean_place = np.where(stable, _mean_place(self.selections_, n), np.inf)
        order = np.lexsort((mean_place, -self.selection_frequencies_))
        self.selected_ = order[: int(stable.sum())]
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[self._columns_of(self.selected_)] = True
        q = float(Z.sum(axis=1).mean())
        margin = 2 * self.threshold - 1
        self.expected_false_ = q**2 / (margin * n) if margin > 0 else float("inf")
        if not stable.any():
            warn_caller(
                f"No variable is stable: the most frequent one is in "
                f"{self.selection_frequencies_.max():.2g} of the resamples, and "
                f"threshold={self.threshold} is asked for. Lower the threshold, raise "
                "n_features_to_select of the selector, or take it for the answer.",
                NothingSelectedWarning,
            )


def _mean_place(selections: Array, n: int) -> Array:
    """Return the mean place of each variable among the picks; infinite where it is in none."""
    total, count = np.zeros(n), np.zeros(n)
    for place, column in enumerate(selections.T):
        picked = column[column >= 0]
        np.add.at(total, picked, place)
        np.add.at(count, picked, 1)
    return np.divide(total, count, out=np.full(n, np.inf), where=count > 0)
