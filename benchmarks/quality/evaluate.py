"""Run one contestant on one data set: picks inside the folds, judged on the held-out rows."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from quality import models
from quality.contestants import Contestant, picks_for, picks_for_both
from quality.folds import Fold, folds
from quality.problem import Array, Dataset, Problem

NUMBERS = (5, 10, 20, 40)


class Bench:
    """One data set with its folds; judgements of the same picks are made once."""

    def __init__(self, dataset: Dataset, quick: bool = False) -> None:
        self.dataset = dataset
        self.problem: Problem = dataset.load()
        self.folds: list[Fold] = list(folds(self.problem, dataset.kind, quick))
        self.judge = lru_cache(maxsize=None)(self._judge)

    @property
    def numbers(self) -> list[int]:
        """Numbers of picks that leave something out on either side."""
        width = self.problem.X.shape[1]
        if self.dataset.kind == "two views":
            assert self.problem.Y is not None
            width = min(width, self.problem.Y.shape[1])
        return [n for n in NUMBERS if n < width]

    def run(self, contestant: Contestant) -> dict[str, Any]:
        """Return scores, numbers of picks and what was recovered a fold, and seconds."""
        truth = self.problem.truth
        cells: dict[int, dict[str, Any]] = {n: {"scores": [], "n_picks": []} for n in self.numbers}
        seconds = []
        for i, fold in enumerate(self.folds):
            scale = fold.Y.std(axis=0)
            Y = fold.Y / np.where(scale > 0, scale, 1.0)
            X = fold.X
            Y = X if self.dataset.kind == "one view" else Y
            if self.dataset.kind == "two views":
                chosen, others, taken = picks_for_both(contestant, X, Y, self.numbers)
            else:
                chosen, taken = picks_for(contestant, X, Y, self.numbers)
                others = [np.array([], int)] * len(chosen)
            seconds.append(round(taken, 4))
            for n, x_picks, y_picks in zip(self.numbers, chosen, others, strict=True):
                score = self.judge(i, _key(x_picks), _key(y_picks))
                cells[n]["scores"].append([round(part, 5) for part in score])
                cells[n]["n_picks"].append(len(x_picks))
                if truth is not None:
                    found = len(np.intersect1d(x_picks, truth)) / min(n, len(truth))
                    cells[n].setdefault("recovered", []).append(round(found, 4))
        return {"seconds": seconds, "cells": {str(n): cell for n, cell in cells.items()}}

    def _judge(self, i: int, x_picks: tuple[int, ...], y_picks: tuple[int, ...]) -> Any:
        fold, kind = self.folds[i], self.dataset.kind
        X, X_test = fold.X[:, x_picks], fold.X_test[:, x_picks]
        if fold.labels is not None:
            return models.svm_accuracy(X, fold.labels[0], X_test, fold.labels[1])
        if kind == "two views":
            Y, Y_test = fold.Y[:, y_picks], fold.Y_test[:, y_picks]
            return (models.held_out_correlation(X, Y, X_test, Y_test),)
        return (models.ridge_r2(X, fold.Y, X_test, fold.Y_test),)


def sizes(problem: Problem) -> list[int]:
    """Rows, candidates and outputs (classes count as outputs)."""
    Y: Array | None = problem.Y
    n_y = problem.X.shape[1] if Y is None else Y.max() + 1 if Y.ndim == 1 else Y.shape[1]
    return [*problem.X.shape, int(n_y)]


def _key(picks: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(int(j) for j in picks))
