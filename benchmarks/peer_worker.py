"""Measure one contestant on one shape, beside ProjSe, in a process of its own.

Called by ``peers.py`` with the interpreter of the peers' environment:
``python peer_worker.py SHAPE CONTESTANT LIMIT QUICK``; prints one line of JSON.
"""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import asdict
from typing import Any

import numpy as np
import shapes
from contestants import BASE, CONTESTANTS, select
from machine import versions
from measure import MIB, Ratio, peak_extra_memory, timed
from sklearn.linear_model import LinearRegression, RidgeCV

BUDGET = 15.0
"""Seconds for repetitions of one contestant; what takes longer runs once."""


def held_out_r2(problem: shapes.Problem, picks: Any) -> float:
    """R² of a linear model on the picks, on rows that nobody has seen."""
    picks = np.asarray(picks)
    fat = len(problem.X) < 20 * len(picks)
    model = RidgeCV(np.logspace(-2, 4, 13)) if fat else LinearRegression()
    model.fit(problem.X[:, picks], problem.Y)
    return float(model.score(problem.X_test[:, picks], problem.Y_test))


def measure(shape: shapes.Shape, name: str, limit: float, repeats: int) -> dict[str, Any]:
    """Time, memory, picks and their worth; the process ends by SIGALRM at the limit."""
    problem = shapes.make(shape)
    warm = shapes.make(shapes.QUICK_SHAPES["medium"])
    for contestant in (BASE, name):
        select(contestant, warm.X, warm.Y, 3)
    X, Y, n = problem.X, problem.Y, shape.n
    select(BASE, X, Y, n)

    # The kernel ends the process, so that compiled code is stopped too.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limit)
    usage = peak_extra_memory(lambda: select(name, X, Y, n))
    signal.setitimer(signal.ITIMER_REAL, 0)

    rounds = max(1, min(repeats, int(BUDGET / usage.seconds)))
    theirs, ours = [], []
    if usage.seconds > BUDGET / 2:
        theirs = [usage.seconds]
        ours = [timed(lambda: select(BASE, X, Y, n))[0] for _ in range(repeats)]
    else:
        for _ in range(rounds):
            theirs.append(timed(lambda: select(name, X, Y, n))[0])
            ours.append(timed(lambda: select(BASE, X, Y, n))[0])
    picks = np.unique(usage.result)
    return {
        "seconds": float(np.median(theirs)),
        "ratio": asdict(Ratio.of(theirs, ours)),
        "memory_mib": usage.extra / MIB,
        "n_picks": len(picks),
        "r2": held_out_r2(problem, picks),
        "version": versions((CONTESTANTS[name].package,)).get(CONTESTANTS[name].package, ""),
    }


def references(shape: shapes.Shape) -> dict[str, float]:
    """R² of the true candidates, of all, and of as many at random, to judge the others by."""
    problem = shapes.make(shape)
    rng = np.random.default_rng(1)
    chance = [held_out_r2(problem, rng.choice(shape.n_x, shape.n, replace=False)) for _ in range(5)]
    return {
        "the true ones": held_out_r2(problem, problem.truth),
        "all candidates": held_out_r2(problem, np.arange(shape.n_x)),
        "at random (median of 5)": float(np.median(chance)),
    }


def main() -> None:
    shape_name, name, limit, quick = sys.argv[1:]
    shape = (shapes.QUICK_SHAPES if quick == "1" else shapes.SHAPES)[shape_name]
    if name == "references":
        answer: dict[str, Any] = references(shape)
    else:
        try:
            answer = measure(shape, name, float(limit), repeats=2 if quick == "1" else 5)
        except ImportError as missing:
            answer = {"status": f"skipped: {missing}"}
        except Exception as error:  # a peer's failure is a result too
            answer = {"status": f"failed: {type(error).__name__}: {str(error)[:120]}"}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
