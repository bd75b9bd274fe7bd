"""Shapes of data on which the peers meet: rows to select on, and rows to judge on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Shape:
    """Sizes of a problem with a few candidates that matter.

    Attributes
    ----------
    m, n_x, n_y : int
        Rows to select on, candidates, outputs.
    n_true : int
        Candidates that the outputs depend on.
    n : int
        Picks asked for.
    correlation : float
        Share of variance that neighbouring candidates have in common.
    noise : float
        Standard deviation of the noise, relative to the signal.
    """

    name: str
    m: int
    n_x: int
    n_y: int
    n_true: int
    n: int
    correlation: float = 0.0
    noise: float = 1.0

    @property
    def sizes(self) -> str:
        """What to call it in a table."""
        return f"{self.m} × {self.n_x} × {self.n_y}, {self.n} picks"


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("tall", 200_000, 100, 20, n_true=15, n=10),
        Shape("medium", 5_000, 300, 10, n_true=30, n=20),
        Shape("genes", 200, 5_000, 50, n_true=20, n=20, noise=0.5),
        Shape("correlated", 20_000, 200, 10, n_true=20, n=15, correlation=0.9),
    )
}

QUICK_SHAPES = {"medium": Shape("medium", 300, 30, 4, n_true=8, n=6)}


@dataclass
class Problem:
    """Standardised rows to select on, held-out rows in the same units, and the truth."""

    X: Array
    Y: Array
    X_test: Array
    Y_test: Array
    truth: Array


def make(shape: Shape, seed: int = 0) -> Problem:
    """Make the data of a shape: sparse linear dependence plus noise."""
    rng = np.random.default_rng(seed)
    m_test = int(np.clip(shape.m // 4, 1_000, 20_000))
    m = shape.m + m_test
    X = rng.standard_normal((m, shape.n_x))
    if shape.correlation:
        for j in range(1, shape.n_x):
            X[:, j] *= np.sqrt(1 - shape.correlation)
            X[:, j] += np.sqrt(shape.correlation) * X[:, j - 1]
    truth = np.sort(rng.choice(shape.n_x, shape.n_true, replace=False))
    # Sizes of effects differ, as they do in life; else the order would not matter.
    W = rng.standard_normal((shape.n_true, shape.n_y)) * rng.exponential(size=(shape.n_true, 1))
    signal = X[:, truth] @ W
    Y = signal + shape.noise * signal.std(axis=0) * rng.standard_normal((m, shape.n_y))
    train, test = slice(0, shape.m), slice(shape.m, m)
    for A in (X, Y):
        A -= A[train].mean(axis=0)
        A /= A[train].std(axis=0)
    # Own arrays, so that no contestant pays for a view of a larger one.
    return Problem(X[train].copy(), Y[train].copy(), X[test].copy(), Y[test].copy(), truth)
