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
from projse import KnockoffProjSe
from projse.exceptions import NothingSelectedWarning
from projse.search import entrants as entrants_room
from projse.search.contest import STATISTICS, Rivals
from projse.search.knockoff_filter import threshold
from projse.search.twins import least_reconstructable

Array = NDArray[Any]
LEVELS = (0.05, 0.1, 0.2)
MAIN_LEVEL = 0.1
"""The only one where statistics are compared in settings the default was not chosen on."""

Found = list[tuple[float, float]]
"""For every level, the share of false discoveries, and the share of real variables found."""

_kept: dict[tuple[bytes, int], Array] = {}


def _once_a_design(S: Array, n_twins: int = 1) -> Array:
    """Choose s once for the data sets that share their candidates."""
    key = np.round(S, 9).tobytes(), n_twins
    if key not in _kept:
        if len(_kept) == len(LEVELS):  # each level has its number of twins
            _kept.clear()
        _kept[key] = least_reconstructable(S, n_twins)
    return _kept[key]


entrants_room.DISTANCES["mvr"] = _once_a_design


def judged(found: Array, real: Array) -> tuple[float, float]:
    """Return the share of false ones among those found, and of real ones that are."""
    n_true = int(np.count_nonzero(found & real))
    n_found, n_real = int(np.count_nonzero(found)), int(np.count_nonzero(real))
    return (n_found - n_true) / max(n_found, 1), n_true / max(n_real, 1)


def twins(problem: Problem, setting: Setting, seed: int, **parameters: Any) -> Found:
    """Twins from moments, by the public class; from rows, where some of them screen."""
    out = []
    for level in (MAIN_LEVEL,) if setting.held_out else LEVELS:
        model = KnockoffProjSe(fdr=level, random_state=seed, **parameters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NothingSelectedWarning)
            if setting.p >= setting.m / 2:
                model.fit(problem.X, problem.y)
            else:
                model.fit_moments(problem.moments)
        out.append(judged(*_by_variable(model, problem.real)))
    return out


def _by_variable(model: KnockoffProjSe, real: Array) -> tuple[Array, Array]:
    """Return which variables were found and which are real; one of near-copies makes all real."""
    of_column = model.groups_
    n, judged_columns = model.n_variables_, of_column >= 0
    if model.screened_ is not None:  # what did not pass is a variable that is not found
        return model.support_, real
    found, real = (
        np.bincount(of_column[judged_columns], weights=which[judged_columns], minlength=n) > 0
        for which in (model.support_, real)
    )
    return found, real


def many(problem: Problem, setting: Setting, seed: int, **parameters: Any) -> Found:
    """Several draws, as many as the setting says."""
    return twins(problem, setting, seed, n_draws=setting.draws, **parameters)


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
    C = (both.T @ problem.y).reshape(2, p, -1)
    W = STATISTICS["likelihood"](Rivals(S, s, np.arange(p), m - 1), C, problem.y.T @ problem.y)
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
one = partial(twins, n_draws=1, n_twins=1)
CONTESTANTS: dict[str, Contestant] = {
    "one draw": one,
    "several twins": partial(twins, n_draws=1),
    "many draws": many,
    "from rows": from_rows,
    "BH": benjamini_hochberg,
    "ridge": partial(one, statistic="ridge"),
    "score": partial(one, statistic="score"),
    "order": partial(one, statistic="order"),
    "order, several twins": partial(twins, n_draws=1, statistic="order"),
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
    if setting.held_out or contestant == "order, several twins":
        names = ("several twins", "order, several twins")
        return setting.held_out and contestant in names
    if contestant == "BH":
        return setting.q == 1
    if contestant == "from rows":
        return setting.rows and setting.design != "copies" and setting.p <= 100
    if contestant in ("ridge", "score", "order"):
        return setting.name in STATISTICS_ON
    if contestant == "several twins":  # where the rows have room for them
        return setting.m > 3 * setting.p or setting.m <= 2 * setting.p
    return contestant != "many draws" or setting.draws > 1
