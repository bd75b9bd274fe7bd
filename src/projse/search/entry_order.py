"""Who is picked first, a variable or one of its twins: a statistic for the knockoff filter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.moments.sums import Moments
from projse.search.contest import Rivals
from projse.search.task import Task

Array = NDArray[Any]


class EntryOrder:
    """How early a variable or one of its twins is picked, by a selection from all of them.

    Parameters
    ----------
    parameters : object
        With the parameters of a ``ProjSe``.
    rng : Generator
        For the order of ties: that of the columns would prefer variables to their twins.
    """

    def __init__(self, parameters: Any, rng: np.random.Generator) -> None:
        self.parameters = parameters
        self.rng = rng

    def __call__(self, rivals: Rivals, products: Array, K: Array) -> Array:
        n_rivals, p, q = products.shape
        n, gram = n_rivals * p, rivals.gram
        m = rivals.degrees + 1
        moments = Moments(
            n_samples=m,
            sum_weights=float(m),
            x_mean=np.zeros(n),
            y_mean=np.zeros(q),
            yy=K,
            yx=np.ascontiguousarray(products.reshape(n, q).T),
            xx_diag=np.diag(gram).copy(),
            xx=gram,
        )
        task = Task.of(self.parameters, n, None)
        plan = replace(task.plan, n_features=n, tie_order=self.rng.permutation(n))
        picks = replace(task, plan=plan).on_moments(moments, may_be_constant=True).selection.indices
        earliness = np.zeros(n)
        earliness[picks] = n - np.arange(len(picks))
        best = np.zeros((n_rivals, int(rivals.groups.max()) + 1))
        for own, of_set in zip(best, earliness.reshape(n_rivals, p), strict=True):
            np.maximum.at(own, rivals.groups, of_set)
        return best.max(axis=0) * np.sign(best[0] - best[1:].max(axis=0))
