"""Contestants: each finds variables in a data set, at several levels."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import sqrtm
from scipy.stats import t as student

from knockoffs.settings import Problem, Setting
from projse import KnockoffProjSe, ProjSe
from projse.exceptions import NothingSelectedWarning
from projse.search import entrants as entrants_room
from projse.search.contest import STATISTICS, Pairs, Statistic
from projse.search.entrants import Entrants
from projse.search.entry_order import EntryOrder
from projse.search.knockoff_filter import combine, threshold
from projse.search.twins import least_reconstructable
from projse.search.unit_products import unit_products

Array = NDArray[Any]
LEVELS = (0.05, 0.1, 0.2)
Found = list[tuple[float, float]]
"""For every level, the share of false discoveries, and the share of real variables found."""

_kept: dict[bytes, Array] = {}


def _once_a_design(S: Array) -> Array:
    """Choose s once for the data sets that share their candidates."""
    key = np.round(S, 9).tobytes()
    if key not in _kept:
        _kept.clear()
        _kept[key] = least_reconstructable(S)
    return _kept[key]


entrants_room.DISTANCES["mvr"] = _once_a_design


def judged(found: Array, real: Array) -> tuple[float, float]:
    """Return the share of false ones among those found, and of real ones that are."""
    n_true = int(np.count_nonzero(found & real))
    n_found, n_real = int(np.count_nonzero(found)), int(np.count_nonzero(real))
    return (n_found - n_true) / max(n_found, 1), n_true / max(n_real, 1)


def twins(
    problem: Problem, setting: Setting, seed: int, draws: int | None, statistic: str
) -> Found:
    """Twins from moments."""
    rng = np.random.default_rng(seed)
    n_draws = setting.draws if draws is None else draws
    if setting.p >= setting.m / 2:
        return [_screened(problem, seed, n_draws, level) for level in LEVELS]
    products = unit_products(problem.moments, np.arange(setting.p), np.empty(0, dtype=np.intp))
    entrants = Entrants.of(products, np.arange(setting.p), 0.98)
    function: Statistic
    function = EntryOrder(ProjSe(), rng) if statistic == "order" else STATISTICS[statistic]
    W = entrants.contests(function, n_draws=n_draws, twins="mvr", rng=rng)
    n = len(W[0])
    real = np.bincount(entrants.labels, weights=problem.real, minlength=n) > 0
    found = [np.isin(np.arange(n), combine(W, level).order) for level in LEVELS]
    return [judged(one, real) for one in found]


def _screened(problem: Problem, seed: int, draws: int, level: float) -> tuple[float, float]:
    model = KnockoffProjSe(fdr=level, n_draws=draws, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingSelectedWarning)
        return judged(model.fit(problem.X, problem.y).support_, problem.real)


def from_rows(problem: Problem, setting: Setting, seed: int) -> Found:
    """Twins made from rows, as the textbook has them; the same statistic."""
    rng = np.random.default_rng(seed)
    X, (m, p) = problem.X, problem.X.shape
    S = X.T @ X
    s = _once_a_design(S)
    D = np.diag(s)
    L = np.real(sqrtm(2 * D - D @ np.linalg.inv(S) @ D))
    taken = np.linalg.qr(np.column_stack([np.ones(m), X]))[0]
    noise = rng.normal(size=(m, p))
    U = np.linalg.qr(noise - taken @ (taken.T @ noise))[0] * rng.choice([-1.0, 1.0], size=p)
    both = np.column_stack([X, X - X @ np.linalg.inv(S) @ D + U @ L])
    pairs = Pairs(both.T @ both, np.arange(p), m - 1)
    W = STATISTICS["likelihood"](pairs, both.T @ problem.y, problem.y.T @ problem.y)
    return [judged(threshold(W, level) <= W, problem.real) for level in LEVELS]


def benjamini_hochberg(problem: Problem, setting: Setting, seed: int) -> Found:
    """Least-squares p-values of one output, with the step-up procedure."""
    X, y, (m, p) = problem.X, problem.y[:, 0], problem.X.shape
    inverse = np.linalg.inv(X.T @ X)
    b = inverse @ (X.T @ y)
    left = y - X @ b
    degrees = m - 1 - p
    errors = np.sqrt(np.diag(inverse) * (left @ left) / degrees)
    pvalues = 2 * student.sf(np.abs(b / errors), degrees)
    out = []
    for level in LEVELS:
        order = np.sort(pvalues)
        below = np.flatnonzero(order <= level * np.arange(1, p + 1) / p)
        out.append(judged(pvalues <= (order[below[-1]] if below.size else -1.0), problem.real))
    return out


Contestant = Callable[[Problem, Setting, int], Found]
CONTESTANTS: dict[str, Contestant] = {
    "one draw": partial(twins, draws=1, statistic="likelihood"),
    "many draws": partial(twins, draws=None, statistic="likelihood"),
    "from rows": from_rows,
    "BH": benjamini_hochberg,
    "ridge": partial(twins, draws=1, statistic="ridge"),
    "score": partial(twins, draws=1, statistic="score"),
    "order": partial(twins, draws=1, statistic="order"),
}
STATISTICS_ON = (
    "one output",
    "five outputs",
    "outputs correlated",
    "neighbours 0.5",
    "neighbours 0.9",
    "blocks 0.7",
)
"""Settings on which statistics are compared."""


def suits(contestant: str, setting: Setting) -> bool:
    """Whether a contestant takes part in a setting."""
    if contestant == "BH":
        return setting.q == 1
    if contestant == "from rows":
        return setting.rows and setting.design != "copies" and setting.p <= 100
    if contestant in ("ridge", "score", "order"):
        return setting.name in STATISTICS_ON
    return contestant != "many draws" or setting.draws > 1
