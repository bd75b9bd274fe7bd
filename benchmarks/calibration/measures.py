"""What is simulated: each measure turns a data set into a few numbers."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import RepeatedKFold

from calibration.settings import NULL, REAL, RUNS, SETTINGS, Runs, Setting, is_real, problem
from projse import Moments, ProjSe, ProjSeCV, StabilityProjSe, permutation_test
from projse.estimators.caveats import pvalue_caveats
from projse.metrics import stability_interval
from projse.metrics.held_out import held_out_r2

Figures = list[float]

FEW_RUNS = (4, 10, 20, 30, 100)
"""Numbers of runs from which intervals are made."""


@dataclass(frozen=True)
class Measure:
    """A measure, the settings it is made for, and how many data sets a setting."""

    of: Callable[[Any, int], Figures]
    settings: list[str]
    sets: int


def first_pvalue(setting: Setting, number: int) -> Figures:
    """P-value of the first pick; nothing is real."""
    made = problem(setting, number)
    selector = ProjSe(1, **made.parameters).fit(made.X, made.Y, **made.options)
    return [float(selector.pvalues_[0])]


def told(setting: Setting, number: int) -> Figures:
    """P-value of the first pick, and whether the command and reports tell of tails beside it."""
    made = problem(setting, number)
    # Two, since a fit for one pick keeps no extremes.
    selector = ProjSe(2, **made.parameters).fit(made.X, made.Y, **made.options)
    caveats = pvalue_caveats(selector, selector.moments_, selector.variable_names_)
    return [float(selector.pvalues_[0]), float(bool(caveats))]


def next_pvalue(setting: Setting, number: int) -> Figures:
    """P-value of the first pick after all that is real; NaN where a false one came before."""
    made, real = problem(setting, number), is_real(setting)
    selector = ProjSe(real + 1, **made.parameters).fit(made.X, made.Y, **made.options)
    if len(selector.selected_) <= real or set(selector.selected_[:real]) != set(range(real)):
        return [float("nan")]
    return [float(selector.pvalues_[real])]


def auto(setting: Setting, number: int) -> Figures:
    """Whether "auto" takes anything that is not real, and the share of the real that it finds."""
    made, real = problem(setting, number), is_real(setting)
    selector = ProjSe("auto", **made.parameters).fit(made.X, made.Y, **made.options)
    picks = set(selector.selected_.tolist())
    found = len(picks & set(range(real))) / real if real else 0.0
    return [float(bool(picks - set(range(real)))), found]


def cross_validation(setting: Setting, number: int) -> Figures:
    """Score of the choice, R² of its picks in 4000 further rows, and the best gain over its error.

    The last two: standard error of the score, and whether ``predicts_``.
    """
    made, further = problem(setting, number), problem(setting, number, m=4000)
    model = ProjSeCV(ProjSe(**made.parameters)).fit(made.X, made.Y)
    train = Moments.from_arrays(made.X, made.Y, with_xx=True)
    test = Moments.from_arrays(further.X, further.Y, with_xx=True)
    true = held_out_r2(train, test, model.selected_)[-1]
    results = model.cv_results_
    best = int(np.nanargmax(results["mean_test_score"]))
    ratio = results["mean_test_score"][best] / max(results["standard_error"][best], 1e-12)
    return [float(model.best_score_), float(true), float(ratio), float(bool(model.predicts_))]


def folds(setting: Setting, number: int) -> Figures:
    """Whether ``predicts_`` with five folds, with two, and with two drawn five times.

    The last: R² in 4000 further rows of the picks by five folds.
    """
    made, further = problem(setting, number), problem(setting, number, m=4000)
    selector = ProjSe(**made.parameters)
    repeated = RepeatedKFold(n_splits=2, n_repeats=5, random_state=number)
    models = [ProjSeCV(selector, cv=cv).fit(made.X, made.Y) for cv in (5, 2, repeated)]
    train = Moments.from_arrays(made.X, made.Y, with_xx=True)
    test = Moments.from_arrays(further.X, further.Y, with_xx=True)
    true = held_out_r2(train, test, models[0].selected_)[-1]
    return [*(float(bool(model.predicts_)) for model in models), float(true)]


def intervals(runs: Runs, number: int) -> Figures:
    """Whether intervals of a few runs hold the index of infinitely many."""
    rng = np.random.default_rng([zlib.crc32(runs.name.encode()), number])
    out = []
    for n in FEW_RUNS:
        low, high = stability_interval(runs.draw(n, rng))
        out.append(float(low <= runs.index <= high))
    return out


def stability(setting: Setting, number: int) -> Figures:
    """Whether intervals of 10, 30 and 100 resamples cover the index of 1500 further ones.

    400 would be off by half of what a hundred are, and blame the intervals for it.
    """
    made = problem(setting, number)
    selector = ProjSe(3, **made.parameters)

    def run(n: int, seed: int) -> Any:
        model = StabilityProjSe(selector, n_resamples=n, random_state=seed)
        return model.fit(made.X, made.Y)

    true = run(1500, 10 * number).stability_
    out = []
    for k, n in enumerate((10, 30, 100)):
        low, high = run(n, 10 * number + k + 1).stability_interval_
        out.append(float(low <= true <= high))
    return [*out, float(true)]


def permutation(setting: Setting, number: int) -> Figures:
    """P-values of the first pick and of the one after all that is real, from 39 shuffles."""
    made, real = problem(setting, number), is_real(setting)
    selector = ProjSe(real + 1, **made.parameters)
    test = permutation_test(selector, made.X, made.Y, n_permutations=39, random_state=number)
    pvalues = test.pvalues
    return [float(pvalues[0]), float(pvalues[-1]) if real else float("nan")]


PLAIN = [s.name for s in [*NULL, *REAL] if not (s.covariates or s.weights)]
IN_200 = "weak effects in 200 rows, 3 real"
EVERY = [s.name for s in NULL], [s.name for s in REAL if s.name != IN_200]
TAILS = ["one output", "five outputs", "few rows", "more candidates than rows"]
TAILS += [s.name for s in NULL if s.tails != "normal"]
CV = ["one output", "five outputs", "few rows", "more candidates than rows"]
CV += ["one output, 3 real", "five outputs, 3 real", "weak effects, 3 real"]
MEASURES = {
    "first p-value": Measure(first_pvalue, EVERY[0], 4000),
    "next p-value": Measure(next_pvalue, EVERY[1], 2000),
    "told": Measure(told, TAILS, 1000),
    "auto": Measure(auto, [*EVERY[0], *EVERY[1]], 2000),
    "cross-validation": Measure(cross_validation, CV, 300),
    "stability": Measure(
        stability, ["five outputs", "five outputs, 3 real", "weak effects, 3 real"], 100
    ),
    "folds": Measure(folds, ["five outputs", IN_200], 300),
    "intervals": Measure(intervals, list(RUNS), 2000),
    "permutation": Measure(
        permutation, ["five outputs", "heavy tails (t3)", "few rows", "five outputs, 3 real"], 400
    ),
}


def figures(measure: str, setting: str, number: int) -> Figures:
    """Make the figures of one data set; what the selector warns of is part of the setting."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MEASURES[measure].of((SETTINGS | RUNS)[setting], number)
