"""Two views, stability and cross-validation: what the answers cost beside one pass or one fit."""

from __future__ import annotations

from typing import Any

import data
import numpy as np
from measure import compare
from picking import paper_form, picks
from rows import Case, Row, not_run, time_ratio_row
from text import shape

from projse import PAPER, ProjSe, ProjSeCV, StabilityProjSe, TwoViewProjSe, block_moments

PUBLISHED = {10: 0.847, 20: 0.890, 50: 0.918, 100: 0.935}
TARGETS = {10: 0.847, 20: 0.885, 50: 0.918, 100: 0.935}


def two_views(quick: bool) -> list[Row]:
    try:
        X, Y, X_test, Y_test = data.mnist_halves()
    except FileNotFoundError as missing:
        return [not_run("two-views", "MNIST halves", "canonical correlation", str(missing))]
    wanted = 10 if quick else 100
    if quick:
        X, Y = X[:3000], Y[:3000]
    model = TwoViewProjSe(wanted, **PAPER)
    measured = compare(
        {
            "numpy": lambda: (X.T @ X, X.T @ Y, Y.T @ Y),
            "projse": lambda: model.fit(X, Y).x_selected_,
        },
        repeats=3 if quick else 7,
    )
    work = f"MNIST halves {shape(*X.shape)} + {Y.shape[1]}, {wanted} variables a side, linear"
    rows = [
        time_ratio_row(
            "two-views",
            work,
            "time ÷ the three products X.T @ X, X.T @ Y, Y.T @ Y",
            measured,
            over=("projse", "numpy"),
            at_most=3.0,
        )
    ]
    path = model.canonical_correlation_path(X_test, Y_test)
    for k in (k for k in TARGETS if k <= wanted):
        rows.append(
            Row(
                "two-views",
                f"MNIST halves, {k} variables a side, linear",
                "first canonical correlation on the test set",
                float(path[k - 1]),
                unit="correlation",
                at_least=TARGETS[k],
                n_runs=1,
                note=f"the paper has {PUBLISHED[k]}",
            )
        )
    return rows


def resamples(quick: bool) -> list[Row]:
    sizes = [(20_000, 30, 10)] if quick else [(1_000_000, 100, 20), (600_000, 60, 10)]
    forms = {"paper": paper_form(10), "default": ProjSe(10)}
    return [
        _resamples(*size, name, selector, quick)
        for size in sizes
        for name, selector in forms.items()
    ]


def _resamples(m: int, n_x: int, n_y: int, form: str, selector: ProjSe, quick: bool) -> Row:
    X, Y = data.regression(m, n_x, n_y)
    stable = StabilityProjSe(selector, n_resamples=100, random_state=0)
    measured = compare(
        {
            "one fit": lambda: picks(selector, X, Y),
            "100 resamples": lambda: stable.fit(X, Y).selection_frequencies_,
        },
        repeats=3 if quick else 9,
    )
    work = f"{shape(m, n_x, n_y)} float64, 10 picks, {form}, 100 resamples of half the rows"
    over = ("100 resamples", "one fit")
    return time_ratio_row("resamples", work, "time ÷ one fit", measured, over, at_most=3.0)


def paper_grid(quick: bool) -> list[Row]:
    """Make the paper's stability grid: 1 to 5 variables, 10 to 50 % subsamples, 10 repeats."""
    try:
        X, Y, *_ = data.mnist_halves()
    except FileNotFoundError as missing:
        return [not_run("stability-grid", "MNIST halves", "stability grid", str(missing))]
    if quick:
        X, Y = X[:3000], Y[:3000]

    def grid() -> Any:
        blocks = block_moments(X, Y, 100, random_state=0, with_xx=False)
        return np.array(
            [
                StabilityProjSe(paper_form(5), 10, share, random_state=0)
                .fit_moments(blocks)
                .stability_path_
                for share in (0.1, 0.2, 0.3, 0.4, 0.5)
            ]
        )

    measured = compare(
        {"one fit": lambda: picks(paper_form(5), X, Y), "grid": grid}, repeats=3 if quick else 5
    )
    work = f"MNIST halves {shape(*X.shape)} + {Y.shape[1]}, 1 to 5 picks, 10 to 50 %, 10 repeats"
    over = ("grid", "one fit")
    return [time_ratio_row("stability-grid", work, "time ÷ one fit", measured, over)]


def folds(quick: bool) -> list[Row]:
    m, n_x, n_y = (20_000, 30, 10) if quick else (1_000_000, 100, 20)
    X, Y = data.regression(m, n_x, n_y)
    grid = {"round_size": [None, 1], "alpha": [0.0, 0.1]}
    search = ProjSeCV(paper_form(), n_features=20, param_grid=grid, cv=10)
    measured = compare(
        {
            "products": lambda: (X.T @ X, Y.T @ X, Y.T @ Y),
            "projse": lambda: search.fit(X, Y).selected_,
        },
        repeats=3 if quick else 5,
    )
    work = f"{shape(m, n_x, n_y)} float64, 10 folds × 20 numbers of variables × 4 settings"
    measure = "time ÷ the three products X.T @ X, Y.T @ X, Y.T @ Y"
    return [time_ratio_row("folds", work, measure, measured, over=("projse", "products"))]


CASES: dict[str, Case] = {
    "two-views": two_views,
    "resamples": resamples,
    "stability-grid": paper_grid,
    "folds": folds,
}
