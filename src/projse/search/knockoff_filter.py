"""From a contest of variables and their twins to a set of discoveries: the knockoff filter.

A variable that does not matter wins against its k twins once in k + 1 times. So the number of
contests that twins win by some margin, divided by k, tells how many such variables win by it, and
the margin is chosen by that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

LEVEL_OF_DRAWS = 0.3
"""Draws that are combined stop at this share of the level.

Any share keeps the bound. Ren and Barber (2024) take a half; with several twins, 0.3 found up to
0.05 more of the real variables where candidates are correlated, and up to 0.01 less elsewhere, in
five settings of ``benchmarks/knockoffs``.
"""


@dataclass(frozen=True)
class Discoveries:
    """What came of one or several draws of twins.

    Attributes
    ----------
    order : ndarray of int of shape (n_found,)
        Discoveries, the most convincing first.
    statistics : ndarray of shape (n,)
        Margin by which each variable wins, negative where its twin does; mean of the draws.
    evalues : ndarray of shape (n,)
        Mean of the draws.
    threshold : float
        What decides: the statistic of a single draw, the e-value of several, must reach it.
    alone : ndarray of bool of shape (n_draws, n)
        What each draw discovers by itself.
    agreement : float
        Share of the discoveries of either half of the draws that both halves make.
    """

    order: Array
    statistics: Array
    evalues: Array
    threshold: float
    alone: Array
    agreement: float


def combine(draws: Sequence[Array], level: float, n_twins: int = 1) -> Discoveries:
    """Combine the contests of several draws of twins; the false discovery rate is kept.

    Parameters
    ----------
    draws : sequence of ndarray of shape (n,)
        Statistics: how far each variable is ahead of its twins.
    level : float
        Bound on the expected share of false discoveries.
    n_twins : int, default=1
        Twins of each variable.

    Notes
    -----
    A single draw is the filter "knockoff+". Several are combined by the means of their e-values,
    which are e-values whatever the draws have in common, and the e-BH procedure.
    """
    W = np.asarray(draws, dtype=np.float64)
    share = LEVEL_OF_DRAWS if len(W) > 1 else 1.0
    each = np.array([evalues(w, share * level, n_twins) for w in W])
    e, statistics = each.mean(axis=0), W.mean(axis=0)
    bar = e_bh(e, level)
    found = np.flatnonzero(e >= bar)
    order = found[np.lexsort((-statistics[found], -e[found]))]
    limits = np.array([threshold(w, level, n_twins) for w in W])
    return Discoveries(
        order=order,
        statistics=statistics,
        evalues=e,
        threshold=float(limits[0]) if len(W) == 1 else bar,
        alone=limits[:, None] <= W,
        agreement=_agreement(each, level),
    )


def _agreement(each: Array, level: float) -> float:
    """Compare what the even draws discover with what the odd ones do; 1 where neither does any."""
    if len(each) < 2:
        return float("nan")
    halves = [half.mean(axis=0) for half in (each[::2], each[1::2])]
    a, b = (half >= e_bh(half, level) for half in halves)
    either = np.count_nonzero(a | b)
    return np.count_nonzero(a & b) / either if either else 1.0


def threshold(W: Array, level: float, n_twins: int = 1) -> float:
    """Return the smallest margin with ``(1 + twins that win by it) / k ≤ level × variables``.

    Infinite where there is none. The filter "knockoff+" of Barber and Candès (2015); with several
    twins, that of Gimenez and Zou (2019).
    """
    margins, n_wins, n_losses = _counts(W)
    good = np.flatnonzero((1 + n_losses) <= n_twins * level * n_wins)
    return float(margins[good[0]]) if good.size else np.inf


def evalues(W: Array, level: float, n_twins: int = 1) -> Array:
    """Return e-values: their expectation, over all variables that do not matter, sums to at most n.

    Parameters
    ----------
    W : ndarray of shape (n,)
    level : float
        Where to stop: at the threshold of this level, or where no twin wins any more.
    n_twins : int, default=1
        Twins of each variable.

    Notes
    -----
    ``k n 1{W ≥ t} / (1 + #{W ≤ −t})`` (Ren and Barber 2024) for any t that is a stopping time as
    the margin grows: of those that do not matter and are left, k in k + 1 lose. Beyond the margin
    that no twin reaches there is nothing to gain: to stop there keeps few strong variables, for
    which the threshold of a part of the level is infinite.
    """
    margins, n_wins, n_losses = _counts(W)
    stop = np.flatnonzero(((1 + n_losses) <= n_twins * level * n_wins) | (n_losses == 0))
    if not stop.size:
        return np.zeros(len(W))
    first = stop[0]
    return np.where(margins[first] <= W, n_twins * len(W) / (1.0 + n_losses[first]), 0.0)


def e_bh(e: Array, level: float) -> float:
    """Return the e-value that discoveries must reach: e-BH of Wang and Ramdas (2022).

    The k largest are discoveries if all are at least ``n / (k level)``, for the largest such k.
    """
    n = len(e)
    k = np.arange(1, n + 1)
    # Rounding of the mean of equal e-values must not decide.
    enough = np.flatnonzero(np.sort(e)[::-1] * k * level >= n * (1 - 1e-9))
    return n * (1 - 1e-9) / (level * k[enough[-1]]) if enough.size else np.inf


def _counts(W: Array) -> tuple[Array, Array, Array]:
    """Return all margins that occur, ascending, and how many win and lose by at least each."""
    margins = np.unique(np.abs(W[W != 0]))
    n_wins = np.count_nonzero(W > 0) - np.searchsorted(np.sort(W[W > 0]), margins)
    n_losses = np.count_nonzero(W < 0) - np.searchsorted(np.sort(-W[W < 0]), margins)
    return margins, n_wins, n_losses
