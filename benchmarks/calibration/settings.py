"""Kinds of data: candidates, outputs, what is real, and how a selector is to see them."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse import PAPER

Array = NDArray[Any]

HARD = {**PAPER, "exhausted": "residual"}

LAWS: dict[str, Callable[..., Array]] = {
    "normal": np.random.Generator.normal,
    "heavy": lambda rng, size: rng.standard_t(3, size=size),
    "exponential": np.random.Generator.exponential,
    "log-normal": np.random.Generator.lognormal,
    "rare": lambda rng, size: (rng.random(size) < 0.1).astype(float),
}
"""What every number of a data set is drawn from, by its tails."""


@dataclass(frozen=True)
class Setting:
    """A kind of data.

    The first ``n_real`` variables are behind all outputs, each with a coefficient of ``size``
    times a standard normal number; noise has variance 1. ``rho`` is the correlation of any two
    candidates. Columns come in groups of ``group``. ``covariates`` are behind candidates and
    outputs alike. ``weights`` counts rows once to three times, and hands each out once.
    """

    name: str
    m: int = 100
    p: int = 30
    q: int = 5
    n_real: int = 0
    size: float = 1.0
    rho: float = 0.0
    group: int = 1
    covariates: int = 0
    weights: bool = False
    tails: str = "normal"
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The sizes, for a table."""
        return f"{self.m} × {self.p} × {self.q}"


@dataclass(frozen=True)
class Problem:
    """One data set, and what ``fit`` takes beside it."""

    X: Array
    Y: Array
    options: dict[str, Any]
    parameters: dict[str, Any]


def problem(setting: Setting, number: int, m: int | None = None) -> Problem:
    """Draw data set ``number``, or with ``m`` further rows of the same kind, as many."""
    s = setting
    seed = [zlib.crc32(s.name.encode()), number]
    fixed = np.random.default_rng(seed)
    effects = s.size * fixed.normal(size=(s.n_real, s.q))
    mixing = fixed.normal(size=(s.covariates, s.p + s.q))
    rng = np.random.default_rng([*seed, 1 if m is None else 2])
    m = m or s.m
    draw = partial(LAWS[s.tails], rng)
    common = np.sqrt(s.rho) * draw(size=(m, 1))
    X = common + np.sqrt(1 - s.rho) * draw(size=(m, s.p))
    Y = X[:, : s.n_real] @ effects + draw(size=(m, s.q))
    options: dict[str, Any] = {}
    parameters = dict(s.parameters)
    if s.covariates:
        Z = draw(size=(m, s.covariates))
        X, Y = X + Z @ mixing[:, : s.p], Y + Z @ mixing[:, s.p :]
        options["covariates"] = Z
    if s.weights:
        counts = rng.integers(1, 4, m)
        # As many independent rows as the weights count: each row stands for that many.
        scale = np.sqrt(1 / counts)[:, None]
        X, Y = X * scale, Y * scale
        options["sample_weight"] = counts.astype(float)
    if s.group > 1:
        parameters["groups"] = (np.arange(s.p) // s.group).tolist()
    return Problem(X, Y, options, parameters)


NULL = [
    Setting("one output", q=1),
    Setting("five outputs"),
    Setting("five outputs, paper's form", parameters=HARD),
    Setting("groups of three columns", p=60, group=3),
    Setting("two covariates", covariates=2),
    Setting("candidates correlated 0.5", rho=0.5),
    Setting("candidates correlated 0.9", rho=0.9),
    Setting("heavy tails (t3)", tails="heavy"),
    Setting("heavy tails (t3), one output", tails="heavy", q=1),
    Setting("skewed (exponential)", tails="exponential"),
    Setting("skewed (log-normal)", tails="log-normal"),
    Setting("events in one row of ten", tails="rare", m=200),
    Setting("events in one row of ten, one output", tails="rare", m=200, q=1),
    Setting("events in one row of ten, many rows", tails="rare", m=1000),
    Setting("few rows", m=15),
    Setting("more candidates than rows", m=40, p=300),
    Setting("unequal precision as weights", weights=True),
]
"""Nothing is real."""

REAL = [
    Setting("one output, 3 real", q=1, n_real=3, size=1.5),
    Setting("five outputs, 3 real", n_real=3, size=0.7),
    Setting("five outputs, 3 real, paper's form", n_real=3, size=0.7, parameters=HARD),
    Setting("groups of three columns, 3 real", p=60, group=3, n_real=9, size=0.7),
    Setting("two covariates, 3 real", covariates=2, n_real=3, size=0.7),
    Setting("correlated 0.5, 3 real", rho=0.5, n_real=3, size=0.7),
    Setting("correlated 0.9, 3 real", rho=0.9, n_real=3, size=2.0),
    Setting("heavy tails (t3), 3 real", tails="heavy", n_real=3, size=0.7),
    Setting("few rows, 3 real", m=20, n_real=3, size=2.0),
    Setting("weak effects, 3 real", n_real=3, size=0.25),
    Setting("weak effects in 200 rows, 3 real", m=200, n_real=3, size=0.2),
]
"""Three variables are real."""

SETTINGS = {s.name: s for s in [*NULL, *REAL]}
N_REAL = 3


@dataclass(frozen=True)
class Runs:
    """A kind of runs: which variables are selected, without data that they come from.

    One of two sets of 5 variables, which have ``shared`` in common, the second in a share of
    ``rare`` of the runs; or, without ``rare``, each variable for itself, with chances that lie
    evenly between 0 and 0.5.
    """

    name: str
    d: int = 50
    shared: int = 0
    rare: float = 0.0

    @property
    def chances(self) -> Array:
        """How often each variable comes."""
        if not self.rare:
            return np.linspace(0, 0.5, self.d)
        return (1 - self.rare) * self._sets[0] + self.rare * self._sets[1]

    @property
    def _sets(self) -> Array:
        first = np.arange(self.d)
        second = first - (5 - self.shared)
        return np.array([(place >= 0) & (place < 5) for place in (first, second)], dtype=float)

    @property
    def index(self) -> float:
        """Nogueira's index of infinitely many runs."""
        p = self.chances
        expected = p.mean() * (1 - p.mean())
        return float(1 - np.mean(p * (1 - p)) / expected)

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Return runs of shape (n, d)."""
        if not self.rare:
            return (rng.random((n, self.d)) < self.chances).astype(float)
        return self._sets[(rng.random(n) < self.rare).astype(int)]


RUNS = {
    runs.name: runs
    for runs in [
        Runs("20 variables, each for itself", d=20),
        Runs("200 variables, each for itself", d=200),
        Runs("2000 variables, each for itself", d=2000),
        Runs("two sets, one in a tenth of the runs", rare=0.1),
        Runs("two sets, one in a quarter of the runs", rare=0.25),
        Runs("two sets that share 3 of 5, one in a tenth", shared=3, rare=0.1),
        Runs("two sets that share 3 of 5, one in a quarter", shared=3, rare=0.25),
    ]
}
"""Kinds of runs."""


def is_real(setting: Setting) -> int:
    """How many variables, the first ones, are real."""
    return setting.n_real // setting.group
