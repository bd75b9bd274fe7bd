"""Planted cases: how many of the real variables are found, over many draws.

Two cases that a default has to pass: three outputs that follow one latent dimension (8 real
variables), and more outputs than rows (5 real variables of 2000).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from quality.contestants import CONTESTANTS, picks_for
from quality.families import latent, wide_outputs
from quality.problem import Problem
from quality.tables import markdown

CASES: dict[str, Callable[[int], Problem]] = {
    "3 outputs, 1 latent dimension, 8 real of 40, 1000 rows": partial(
        latent, m=1000, n_x=40, n_y=3, n_real=8, dimensions=1
    ),
    "60 rows, 100 outputs, 5 real of 2000": partial(
        wide_outputs, m=60, n_x=2000, n_y=100, n_real=5
    ),
}


def found(contestant: str, make: Callable[[int], Problem], runs: int) -> list[int]:
    """Return how many real variables are among as many picks, a draw."""
    counts = []
    for seed in range(runs):
        problem = make(seed)
        assert problem.truth is not None
        assert problem.Y is not None
        (picks,), _ = picks_for(CONTESTANTS[contestant], problem.X, problem.Y, [len(problem.truth)])
        counts.append(len(np.intersect1d(picks, problem.truth)))
    return counts


def table(contestants: list[str], runs: int) -> str:
    """Return the mean number found, with its standard error."""
    lines = []
    for case, make in CASES.items():
        for name in contestants:
            counts = found(name, make, runs)
            error = np.std(counts) / np.sqrt(len(counts))
            lines.append([case, name, f"{np.mean(counts):.2f} ± {error:.2f}"])
    return markdown(["case", "contestant", f"found, mean of {runs}"], lines)
