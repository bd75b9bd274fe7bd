"""Fewer rows than twins need: some rows screen the candidates, the others judge those that pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.moments.in_memory import moments_of
from projse.moments.resample import deal
from projse.moments.sums import Moments
from projse.moments.views import restricted
from projse.search.task import Task
from projse.sources.rows import Rows

Array = NDArray[Any]

SCREENING_SHARE = 1 / 3
"""Share of the rows, or blocks, that screen."""

ROWS_A_CANDIDATE = 4
"""Of the rows that judge, this many are kept for each candidate that passes; twins need two."""


class Screened:
    """Candidates that some rows chose, with the moments of those rows and of the others.

    Attributes
    ----------
    columns : ndarray of int
        Candidates that passed, and what is conditioned on, as columns of X.
    seen, judging : Moments
        Of these columns.
    """

    def __init__(self, columns: Array, seen: Moments, judging: Moments) -> None:
        self.columns, self.seen, self.judging = columns, seen, judging


def screen_rows(
    rows: Rows, task: Task, labels: Array, rng: np.random.Generator, options: dict[str, Any]
) -> Screened:
    """Deal rows at random to those that screen and those that judge.

    Columns with the same label are of one variable, which passes as a whole.
    """
    parts = deal(rows.n_samples, round(1 / SCREENING_SHARE), rng, rows.strata(), None)
    first, rest = rows.take(parts[0]), rows.take(np.sort(np.concatenate(parts[1:])))
    task = _picking(task, _n_rows(rest) - rows.n_covariates)
    outcome = task.on_rows(first, may_be_constant=True)
    columns = _passed(outcome.selection.indices, task, labels)

    def of(part: Rows) -> Moments:
        names = part.feature_names
        narrow = replace(
            part,
            X=part.X[:, columns],
            feature_names=None if names is None else tuple(names[j] for j in columns),
        )
        return moments_of(narrow, with_xx=True, **options)

    return Screened(columns, of(first), of(rest))


def screen_blocks(blocks: Sequence[Moments], task: Task, labels: Array) -> Screened:
    """Let the first blocks screen, and the others judge."""
    n_first = max(1, round(SCREENING_SHARE * len(blocks)))
    first = sum(blocks[1:n_first], start=blocks[0])
    rest = sum(blocks[n_first + 1 :], start=blocks[n_first])
    task = _picking(task, rest.sum_weights)
    picks = task.on_moments(first, may_be_constant=True).selection.indices
    columns = _passed(picks, task, labels)
    return Screened(columns, restricted(first, columns), restricted(rest, columns))


def _picking(task: Task, n_rows: float) -> Task:
    """Return a task that picks as many candidates as the rows that judge can carry."""
    n = max(1, int(n_rows) // ROWS_A_CANDIDATE) + len(task.plan.include)
    n = min(n, task.n_x - len(task.plan.exclude))
    return replace(task, plan=replace(task.plan, n_features=n))


def _passed(picks: list[int], task: Task, labels: Array) -> Array:
    """Return the columns of the variables that were picked first, as many as there is room for."""
    include = task.plan.include
    if not len(picks) and not len(include):
        raise ValueError(
            "There are too few rows for twins of all candidates, and in the rows that were to "
            "screen them all are constant; there are too few rows for any answer."
        )
    may_pass = np.ones(len(labels), dtype=bool)
    may_pass[[*include, *task.plan.exclude]] = False
    passed = np.isin(np.arange(len(labels)), include)
    n_features = task.plan.n_features
    assert n_features is not None
    room = n_features - len(include)
    for j in picks:
        if passed[j]:
            continue
        own = may_pass & (labels == labels[j])
        size = int(np.count_nonzero(own))
        if size > room and (passed & may_pass).any():
            break
        passed |= own
        room -= size
    return np.flatnonzero(passed)


def _n_rows(rows: Rows) -> float:
    return float(rows.n_samples if rows.weight is None else rows.weight.sum())
