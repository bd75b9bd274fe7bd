"""The tables of the page on calibration, made from the result files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from knockoffs.page import markdown
from numpy.typing import NDArray

from calibration.measures import FEW_RUNS, MEASURES
from calibration.settings import RUNS, SETTINGS, is_real

Array = NDArray[Any]
Found = dict[str, dict[str, Array]]

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "calibration.md"
PICTURE = DOCS / "_static" / "calibration.png"
START, END = "<!-- tables: made by benchmarks/calibration page -->", "<!-- end of tables -->"
LEVELS = (0.01, 0.05, 0.1)


def found_in(results: list[dict[str, Any]]) -> Found:
    """Sort results by measure, then setting, in the order of the bench."""
    by_name = {(r["contestant"], r["setting"]): np.array(r["found"], dtype=float) for r in results}
    return {
        name: {s: by_name[name, s] for s in measure.settings if len(by_name.get((name, s), ()))}
        for name, measure in MEASURES.items()
    }


def tables(results: list[dict[str, Any]]) -> str:
    """Return the tables of the page."""
    found = found_in(results)
    head = ["setting", "rows × candidates × outputs", "data sets"]
    shares = [f"p ≤ {level:g}" for level in LEVELS]
    parts = [
        "## P-values of the first pick, where nothing is real",
        "Share of data sets with a p-value at or below the level; it should be the level, and is "
        "on the safe side where it is less.",
        markdown(
            [*head, *shares, ""], [_pvalues(*item) for item in found["first p-value"].items()]
        ),
        "## P-values of the first pick after all real ones",
        "Data sets in which the three real variables came first.",
        markdown([*head, *shares, ""], [_pvalues(*item) for item in found["next p-value"].items()]),
        "## Tails that are told of",
        "Where p-values are printed, by the command and in reports, a pick and an output with "
        "tails that make them too small are named. Share of data sets in which they are, where "
        "nothing is real; and the shares of p ≤ 0.05 of the first pick beside that note and "
        "without it.",
        markdown(
            [*head, "told", "p ≤ 0.05, told", "p ≤ 0.05, not told"],
            [_told(*item) for item in found["told"].items()],
        ),
        '## `n_features_to_select="auto"` at 0.05',
        "Share of data sets with any false pick, and share of the three real variables found.",
        markdown([*head, "any false", "found", ""], [_auto(*i) for i in found["auto"].items()]),
        "## Score of `ProjSeCV`",
        "`best_score_`, the R² of the same picks and regression in 4000 further rows, their mean "
        "difference, and the share of data sets in which `predicts_` is true.",
        markdown(
            [*head, "score", "in further rows", "bias", "`predicts_`"],
            [_cross_validation(*item) for item in found["cross-validation"].items()],
        ),
        "## `predicts_` with five folds and with two",
        "Share of data sets in which `predicts_` is true: with `cv=5`, with `cv=2`, and with "
        "`cv=RepeatedKFold(n_splits=2, n_repeats=5)`. R² in further rows is that of the picks by "
        "five folds.",
        markdown(
            [*head, "in further rows", "5 folds", "2 folds", "2 folds, 5 times"],
            [_folds(*item) for item in found["folds"].items()],
        ),
        "## `stability_interval_` at 95 %",
        "Share of intervals that hold the index of 1500 further resamples of the same rows.",
        markdown(
            [*head, "mean index", "10 resamples", "30", "100"],
            [_stability(*item) for item in found["stability"].items()],
        ),
        "## `stability_interval` of runs of a known kind, at 95 %",
        "Share of intervals that hold the index of infinitely many runs. Variables come each for "
        "itself, with chances from 0 to 0.5; or all runs have one of two sets of 5 among 50 "
        "variables, and a few runs may not have seen the rarer one yet.",
        markdown(
            ["runs", "draws", "index", f"{FEW_RUNS[0]} runs", *map(str, FEW_RUNS[1:])],
            [_intervals(*item) for item in found["intervals"].items()],
        ),
        "## `permutation_test`, 39 shuffles",
        "Share of data sets with p ≤ 0.05 at the first pick, and at the first after all real ones.",
        markdown(
            [*head, "first", "after the real ones"],
            [_permutation(*item) for item in found["permutation"].items()],
        ),
        _made_by(results),
    ]
    return "\n\n".join(parts)


def _made_by(results: list[dict[str, Any]]) -> str:
    """Say which code the figures are of."""
    commits = sorted({name for result in results for name in result.get("commits", ["unknown"])})
    return f"Made by `python benchmarks/calibration run` at commit {', '.join(commits)}."


def _start(setting: str, n: int) -> list[Any]:
    return [setting, SETTINGS[setting].text, n]


def share(hits: Array, digits: int = 3) -> str:
    """Write a share with its standard error."""
    n = len(hits)
    p = float(np.mean(hits))
    error = np.sqrt(max(p * (1 - p), 1 / n / 4) / n)
    return f"{p:.{digits}f} ± {error:.{digits}f}"


def verdict(rate: float, level: float, n: int) -> str:
    """Say whether a rate of n data sets is at, below or above its level, by 3 standard errors."""
    error = 3 * np.sqrt(level * (1 - level) / n)
    if rate > level + error:
        return "**too often**"
    return "safe side" if rate < level - error else "holds"


def _pvalues(setting: str, figures: Array) -> list[Any]:
    pvalues = figures[~np.isnan(figures[:, 0]), 0]
    n = len(pvalues)
    if n < 50:
        return [*_start(setting, n), "–", "–", "–", "too few"]
    rates = [share(pvalues <= level) for level in LEVELS]
    return [*_start(setting, n), *rates, verdict(float(np.mean(pvalues <= 0.05)), 0.05, n)]


def _told(setting: str, figures: Array) -> list[Any]:
    below, told = figures[:, 0] <= 0.05, figures[:, 1] > 0
    rates = [share(below[of]) if of.sum() >= 50 else "–" for of in (told, ~told)]
    return [*_start(setting, len(figures)), share(told), *rates]


def _auto(setting: str, figures: Array) -> list[Any]:
    n, real = len(figures), is_real(SETTINGS[setting])
    found = f"{figures[:, 1].mean():.2f}" if real else "–"
    word = verdict(float(figures[:, 0].mean()), 0.05, n)
    return [*_start(setting, n), share(figures[:, 0]), found, word]


def _mean(values: Array) -> str:
    return f"{values.mean():+.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}"


def _cross_validation(setting: str, figures: Array) -> list[Any]:
    score, true = figures[:, 0], figures[:, 1]
    means = [f"{score.mean():.3f}", f"{true.mean():.3f}", _mean(score - true)]
    return [*_start(setting, len(figures)), *means, share(figures[:, 3], 2)]


def _folds(setting: str, figures: Array) -> list[Any]:
    shares = [share(figures[:, k], 2) for k in range(3)]
    return [*_start(setting, len(figures)), f"{figures[:, 3].mean():.3f}", *shares]


def _intervals(runs: str, figures: Array) -> list[Any]:
    covered = [share(held) for held in figures.T]
    return [runs, len(figures), f"{RUNS[runs].index:.2f}", *covered]


def _stability(setting: str, figures: Array) -> list[Any]:
    covered = [share(figures[:, k], 2) for k in range(3)]
    return [*_start(setting, len(figures)), f"{figures[:, 3].mean():.2f}", *covered]


def _permutation(setting: str, figures: Array) -> list[Any]:
    later = figures[~np.isnan(figures[:, 1]), 1]
    after = share(later <= 0.05) if len(later) else "–"
    return [*_start(setting, len(figures)), share(figures[:, 0] <= 0.05), after]


def page(text: str, results: list[dict[str, Any]]) -> str:
    """Return the text of the page with its tables made anew."""
    before, rest = text.split(START)
    after = rest.split(END)[1]
    return f"{before}{START}\n\n{tables(results)}\n\n{END}{after}"


def write(results: list[dict[str, Any]]) -> None:
    """Make the tables of the page anew."""
    PAGE.write_text(page(PAGE.read_text(), results))
