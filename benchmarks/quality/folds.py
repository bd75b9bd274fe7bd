"""Folds of a problem, standardised by their training rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

from quality.problem import Array, Kind, Problem

SMALL = 300  # rows up to which the folds are drawn five times


@dataclass(frozen=True)
class Fold:
    """Training and test rows; ``labels`` are the classes of either, where there are classes.

    Columns of X have mean 0 and variance 1 on the training rows. Outputs (indicators, where there
    are classes) have mean 0 there, and variance 1 over all rows, in which units errors are told;
    the second of two views is scaled as the first.
    """

    X: Array
    Y: Array
    X_test: Array
    Y_test: Array
    labels: tuple[Array, Array] | None = None


def folds(problem: Problem, kind: Kind, quick: bool = False) -> Iterator[Fold]:
    """Yield five folds, or five times five for small problems (two if ``quick``)."""
    X, Y = problem.X, problem.X if problem.Y is None else problem.Y
    splits, repeats = (2, 1) if quick else (5, 5 if len(X) <= SMALL else 1)
    stratified = kind == "classes"
    splitter = RepeatedStratifiedKFold if stratified else RepeatedKFold
    labels = Y if stratified else None
    if stratified:
        Y = np.eye(Y.max() + 1)[Y]
    cut = splitter(n_splits=splits, n_repeats=repeats, random_state=0).split(X, labels)
    for train, test in cut:
        mean, scale = X[train].mean(axis=0), _spread(X[train])
        parts = [(X[rows] - mean) / scale for rows in (train, test)]
        centre, scale = Y[train].mean(axis=0), _spread(Y[train] if kind == "two views" else Y)
        outputs = [(Y[rows] - centre) / scale for rows in (train, test)]
        pair = (labels[train], labels[test]) if labels is not None else None
        yield Fold(parts[0], outputs[0], parts[1], outputs[1], pair)


def _spread(A: Array) -> Array:
    deviation = A.std(axis=0)
    return np.where(deviation > 1e-12 * np.abs(A).max(axis=0, initial=1e-300), deviation, 1.0)
