"""What is judged by twins, what it is given, and which columns are found together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from projse.estimators.projse import ProjSe
from projse.search.task import Task
from projse.sources.groups import resolve_groups

Array = NDArray[Any]


@dataclass(frozen=True)
class Judged:
    """Columns of moments, of which several may stand for one column that the user gave.

    Attributes
    ----------
    column : ndarray of int of shape (p,)
        The column of the user's that each belongs to.
    labels : ndarray of int of shape (p,)
        The variable that each belongs to: a group of the user's, or one of those columns.
    candidates, include : ndarray of int
        Columns to judge, and to condition on.
    selector : ProjSe
        Of columns, without groups: variables are the contest's to judge.
    """

    column: Array
    labels: Array
    candidates: Array
    include: Array
    selector: ProjSe

    @classmethod
    def of(
        cls, selector: ProjSe, groups: Any, names: tuple[str, ...] | None, n: int, column: Array
    ) -> Judged:
        """Resolve a selector and groups against n columns of the user's, with these names."""
        groups = selector.groups if groups is None else groups
        task = Task.of(selector, n, names)
        given, left_out = (
            task.columns_of(some.tolist())[0] for some in (task.plan.include, task.plan.exclude)
        )
        include = np.concatenate([[], *(np.flatnonzero(column == j) for j in given)])
        include = include.astype(np.intp)
        exclude = np.flatnonzero(np.isin(column, left_out))
        labels = column
        if groups is not None:
            labels = resolve_groups(groups, n, names).of_column[column]
        return cls(
            column,
            labels,
            np.setdiff1d(np.arange(len(column)), [*include, *exclude]),
            include,
            clone(selector).set_params(
                groups=None, include=include.tolist() or None, exclude=exclude.tolist() or None
            ),
        )

    @property
    def task(self) -> Task:
        """Picks from all columns, to screen them."""
        return Task.of(self.selector, len(self.column), None)
