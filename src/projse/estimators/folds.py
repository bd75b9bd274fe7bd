"""Folds: rows that are held out in turn, by their moments or by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import PredefinedSplit, check_cv

from projse.kernels.combination import bases_of_moments, bases_of_rows
from projse.kernels.combined_candidates import mapped_candidates
from projse.metrics.held_out import held_out_r2
from projse.moments.blocks import all_but_one, moments_of_blocks
from projse.moments.in_memory import moments_of
from projse.moments.sparse_products import block_diagonal
from projse.moments.sums import Moments
from projse.moments.views import restricted
from projse.parameters import is_whole
from projse.search.rounds import Selection
from projse.search.task import Task
from projse.sources.rows import Rows
from projse.sources.variables import Variables

Array = NDArray[Any]


@dataclass(frozen=True)
class Picked:
    """The columns of picks, one pick after the other.

    Attributes
    ----------
    columns : ndarray of int
        Of the rows, as they were encoded.
    ends : ndarray of int of shape (n_picks,)
        How many columns the first picks are, once combined.
    combined : sparse array of shape (len(columns), ends[-1]) or None
        What a table's variables are in these columns: numbers whose gaps are filled, levels of
        which rare ones are pooled. None: the columns themselves.
    """

    columns: Array
    ends: Array
    combined: Any = None

    @classmethod
    def of(cls, task: Task, encoded: Variables | None, bases: Any, picks: Sequence[int]) -> Picked:
        """Find what stands for picks; the training rows tell the ``bases`` of table columns."""
        own = task.of_columns(encoded, bases)
        columns, ends = own.columns_of(picks)
        if own.parts is None or not own.bases:
            return cls(columns, ends)
        sizes = np.diff(ends, prepend=0)
        blocks = [
            own.bases.get(int(pick), np.eye(size)) for pick, size in zip(picks, sizes, strict=True)
        ]
        ends = np.cumsum([block.shape[1] for block in blocks])
        return cls(columns, ends, block_diagonal(blocks))

    def of_moments(self, moments: Moments) -> Moments:
        """Keep what was picked."""
        few = restricted(moments, self.columns)
        return few if self.combined is None else mapped_candidates(few, self.combined)

    def of_rows(self, X: Any, size: int | None = None) -> Any:
        """Keep what was picked, or the first columns of it, of the candidates of rows."""
        if self.combined is None:
            return X[:, self.columns[:size]]
        few = X[:, self.columns] @ self.combined[:, :size]
        return sp.csr_array(few) if sp.issparse(few) else np.asarray(few)


@dataclass
class MomentFold:
    """A fold by its moments: those of the other rows, and those it is judged on."""

    train: Moments
    test: Moments

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of held-out and of training rows."""
        return self.test.n_samples, self.train.n_samples

    def select(self, task: Task) -> Selection:
        """Select from the training rows."""
        return task.on_moments(self.train).selection

    def bases(self, min_frequency: int) -> dict[int, Array]:
        """Return what the training rows make of the columns of a table."""
        return bases_of_moments(self.train, min_frequency, recentre=True)

    def r2(self, picked: Picked, center: bool) -> Array:
        """Return held-out R² for growing sets of columns."""
        train, test = picked.of_moments(self.train), picked.of_moments(self.test)
        return held_out_r2(train, test, np.arange(train.n_x), center)


@dataclass
class RowFold:
    """A fold by its rows, for so many candidates that their products are too large to keep."""

    rows: Rows
    train: Array
    test: Array

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of held-out and of training rows that count."""
        w = self.rows.weight
        if w is None:
            return len(self.test), len(self.train)
        return int(np.count_nonzero(w[self.test])), int(np.count_nonzero(w[self.train]))

    def select(self, task: Task) -> Selection:
        """Select from the training rows."""
        return task.on_rows(self.rows.take(self.train)).selection

    def bases(self, min_frequency: int) -> dict[int, Array]:
        """Return what the training rows make of the columns of a table."""
        if self.rows.x_variables is None:
            return {}
        return bases_of_rows(self.rows.take(self.train), min_frequency, recentre=True)

    def r2(self, picked: Picked, center: bool) -> Array:
        """Return held-out R² for growing sets of columns."""
        X = picked.of_rows(self.rows.X)
        few = replace(self.rows, X=X, feature_names=None, x_variables=None)
        train, test = (moments_of(few.take(part), with_xx=True) for part in (self.train, self.test))
        return held_out_r2(train, test, np.arange(X.shape[1]), center)


def split_rows(
    rows: Rows, cv: Any, groups: Any, kept: Array | None = None
) -> list[tuple[Array, Array]]:
    """Split the rows; refuse folds that cannot be judged or that lose a class.

    ``kept`` marks the rows among those that were given, which groups and listed splits speak of.
    """
    m, codes = rows.n_samples, rows.class_codes()
    splitter = check_cv(cv, y=codes, classifier=codes is not None)
    if is_whole(cv) and cv > m:
        raise ValueError(f"cv={cv} folds need as many rows; there are {m}.")
    counts = np.ones(m, dtype=bool) if rows.weight is None else rows.weight > 0
    if codes is not None and rows.classes is not None and is_whole(cv):
        sizes = np.bincount(codes[counts], minlength=len(rows.classes))
        if sizes.min() < cv:
            rare = rows.classes.tolist()[int(sizes.argmin())]
            raise ValueError(
                f"Class {rare!r} has {int(sizes.min())} row(s), fewer than cv={cv} folds, "
                "so some folds would lose it; use fewer folds, or leave the class out."
            )
    if groups is not None and kept is not None and len(groups) == len(kept):
        groups = np.asarray(groups)[kept]
    splits = [
        (np.sort(train), np.sort(test))
        for train, test in splitter.split(np.empty((m, 1)), codes, groups)
    ]
    if kept is not None and _lists_rows(cv):
        place = np.cumsum(kept) - 1
        splits = [(place[a[kept[a]]], place[b[kept[b]]]) for a, b in splits]
    if len(splits) < 2:
        raise ValueError(f"cv={cv!r} gives {len(splits)} split; at least 2 are needed.")
    for i, (train, test) in enumerate(splits):
        counted = np.count_nonzero(counts[test])
        if counted < 2:
            raise ValueError(
                f"Fold {i} holds {counted} row(s) of non-zero weight, and R² needs 2; use "
                "fewer folds."
            )
        if not counts[train].any():
            raise ValueError(f"Fold {i} leaves no training row of non-zero weight.")
        if codes is not None and rows.classes is not None:
            lost = np.setdiff1d(codes[counts], codes[train[counts[train]]])
            if lost.size:
                name = rows.classes.tolist()[lost[0]]
                raise ValueError(
                    f"The training rows of fold {i} hold no row of class {name!r}; shuffle, "
                    "stratify, or use fewer folds."
                )
    return splits


def _lists_rows(cv: Any) -> bool:
    """Tell whether the rows of each fold are listed by number, whatever the rows."""
    made = cv is None or is_whole(cv) or hasattr(cv, "split")
    return not made or isinstance(cv, PredefinedSplit)


def moment_folds(
    rows: Rows, splits: list[tuple[Array, Array]], n_jobs: int | None, batch_size: int | None
) -> tuple[list[MomentFold], Moments]:
    """Sum the folds; where they part the rows, what is left is a sum of the others."""

    def sums(parts: list[Array]) -> list[Moments]:
        return moments_of_blocks(rows, parts, with_xx=True, n_jobs=n_jobs, batch_size=batch_size)

    m = rows.n_samples
    tests = sums([test for _, test in splits])
    covered = np.bincount(np.concatenate([test for _, test in splits]), minlength=m)
    if (covered == 1).all() and all(len(a) + len(b) == m for a, b in splits):
        trains, total = all_but_one(tests), sum(tests[1:], start=tests[0])
    else:
        *trains, total = sums([*(train for train, _ in splits), np.arange(m)])
    return [MomentFold(a, b) for a, b in zip(trains, tests, strict=True)], total


def judge_by(estimator: Any, scoring: Any, rows: Rows, splits: list[tuple[Array, Array]]) -> Any:
    """Return a function ``(fold, picked, size) -> score`` that fits and scores ``estimator``.

    Covariates stand before the picks: a regression takes them out by itself, a classifier of
    labels, which have no residuals, weighs them.
    """
    scorer = check_scoring(estimator, scoring=scoring)
    Y, Z = rows.y, rows.covariates
    if rows.classes is None and Y.shape[1] == 1:
        Y = Y[:, 0]

    def judge(fold: int, picked: Picked, size: int) -> float:
        (train, test), columns = splits[fold], picked.of_rows(rows.X, size)
        if Z is not None:
            both = [Z, columns]
            columns = sp.csr_array(sp.hstack(both)) if rows.is_sparse else np.hstack(both)
        weights: list[dict[str, Any]] = [{}, {}]
        if rows.weight is not None:
            # A row of weight 0 may hold anything.
            train, test = (part[rows.weight[part] > 0] for part in (train, test))
            weights = [{"sample_weight": rows.weight[part]} for part in (train, test)]
        model = clone(estimator).fit(columns[train], Y[train], **weights[0])
        return float(scorer(model, columns[test], Y[test], **weights[1]))

    return judge
