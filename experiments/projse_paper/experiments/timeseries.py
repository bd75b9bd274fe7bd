"""Time series: alignment with the classes, and SVM accuracy, from a few points in time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

from projse import ProjSeCV
from projse.metrics import linear_kernel_alignment
from projse_paper import data
from projse_paper.benchmarks import picking
from projse_paper.plotting import COLOURS, finish, panels
from projse_paper.published import AS_PUBLISHED
from projse_paper.store import Record, Results, Unit, all_finished, finished
from projse_paper.svm import linear_accuracy, rbf_accuracy, rbf_alignment

Array = NDArray[Any]

NAME = "timeseries"
KERNELS = ("linear", "poly", "rbf")
SIZES = {
    "shapesall": (2, 5, 10, 20, 30, 40, 50, 59),
    "crop": (5, 10, 20, 30),
    "thorax": (2, 5, 10, 20, 30, 41),
}
RANDOM_SIZES = {"shapesall": (5, 10, 20, 40, 59), "crop": (10, 20), "thorax": (5, 10, 20, 41)}
MEASURES = ("linear_alignment", "rbf_alignment", "linear_accuracy", "rbf_accuracy")
TITLES = {"crop": "Crop", "thorax": "Thorax", "shapesall": "ShapesAll"}


def units(quick: bool) -> list[Unit]:
    """Return the units: data set × way of choosing × draw."""
    made: list[Unit] = []

    def add(dataset: str, method: str, select: Callable[..., Any], sizes: Any, **more: Any) -> None:
        parameters = {"data": dataset, "method": method, "sizes": list(sizes), **more}
        measures = MEASURES
        if quick and dataset == "crop":
            parameters["rows"] = 2000
        work = partial(_curve, dataset, select, list(sizes), measures, parameters.get("rows"))
        made.append(Unit(NAME, f"{dataset}-{method}", parameters, work))

    for dataset in ("crop", "shapesall") if quick else SIZES:
        sizes: Any = {"crop": (20,), "shapesall": (59,)}[dataset] if quick else SIZES[dataset]
        for kernel in KERNELS:
            add(dataset, f"projse-{kernel}", partial(_projse, kernel=kernel), sizes)
        add(dataset, "all", _all, ["all"])
        for draw in range(2 if quick else 10):
            chosen = sizes if quick else RANDOM_SIZES[dataset]
            add(dataset, f"random-{draw}", partial(_random, seed=draw), chosen, seed=draw)
        if not quick:
            published = partial(_projse, kernel="linear", **AS_PUBLISHED)
            add(dataset, "over-variables-linear", published, sizes)
            for method, rule in (("beyond-cv", "1se"), ("beyond-cv-best", "best")):
                select = partial(_chosen, rule=rule)
                more = {} if rule == "1se" else {"rule": rule}
                add(dataset, method, select, ["chosen"], grid=GRID, cv=3, **more)
    return made


GRID = {"round_size": [None, 1, 5], "alpha": [0.0, 0.1]}
"""What cross-validation on the training series chooses from, with the number of variables."""


def _projse(X: Array, y: Array, n: int, **options: Any) -> Array:
    return picking.picks(picking.paper_form(n, target_type="class", **options), X, y)


def _all(X: Array, y: Array, n: int) -> Array:
    return np.arange(X.shape[1])


def _random(X: Array, y: Array, n: int, *, seed: int) -> Array:
    return np.random.default_rng(seed).permutation(X.shape[1])[:n]


def _chosen(X: Array, y: Array, n: int, *, rule: str) -> tuple[Array, dict[str, Any]]:
    """Choose rounds, ridge and the number of variables by the accuracy of held-out folds.

    Judged by a linear SVM on the training series only. ``rule``: the fewest variables within one
    standard error of the best, or the best.
    """
    numbers = [20, 40, 80] if X.shape[1] > 100 else [20, 30, X.shape[1]]
    search = ProjSeCV(
        picking.paper_form(target_type="class"),
        n_features=numbers,
        param_grid=GRID,
        cv=3,
        estimator=LinearSVC(random_state=0),
        rule=rule,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y)
    choice = {**search.best_params_, "n_features": search.n_features_}
    return search.selected_, {"choice": choice, "cv_accuracy": search.best_score_}


def _curve(
    dataset: str, select: Callable[..., Any], sizes: list[Any], measures: Any, n_rows: int | None
) -> Results:
    X, y, X_test, y_test = data.series(dataset)
    if n_rows is not None:
        step = len(X) // n_rows
        X, y, X_test, y_test = X[::step], y[::step], X_test[::step], y_test[::step]
    numbers = [size for size in sizes if isinstance(size, int)]
    start = time.perf_counter()
    found = select(X, y, max(numbers, default=0))
    seconds = time.perf_counter() - start
    picks, more = found if isinstance(found, tuple) else (found, {})
    reached = sorted({min(k, len(picks)) for k in numbers}) or [len(picks)]
    curves: dict[str, list[float]] = {measure: [] for measure in measures}
    for size in reached:
        columns = picks[:size]
        A, B = X[:, columns], X_test[:, columns]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the linear SVM may stop before it has converged
            values = {
                "linear_alignment": linear_kernel_alignment(A, y.astype(str)),
                "rbf_alignment": rbf_alignment(A, y),
                "linear_accuracy": linear_accuracy(A, y, B, y_test),
                "rbf_accuracy": rbf_accuracy(A, y, B, y_test),
            }
        for measure in measures:
            curves[measure].append(values[measure])
    return {
        "n_picked": len(picks),
        "selection_seconds": seconds,
        "sizes": reached,
        **curves,
        "picks": [int(j) for j in picks[:60]],
        **more,
    }


def rows(records: dict[str, Record]) -> list[dict[str, Any]]:
    """Return one row a data set, method and number of variables."""
    return [
        {
            "data": record.parameters["data"],
            "method": record.parameters["method"],
            "variables": size,
            **{measure: record.results[measure][i] for measure in MEASURES},
        }
        for record in records.values()
        if record.results
        for i, size in enumerate(record.results["sizes"])
    ]


def random_mean(records: dict[str, Record], dataset: str) -> dict[str, Any]:
    """Return mean and standard deviation over the random draws, by measure."""
    draws = [record.results for record in all_finished(records, f"{dataset}-random-")]
    if not draws:
        return {}
    stacked = {m: np.array([found[m] for found in draws]) for m in MEASURES}
    return {
        "sizes": draws[0]["sizes"],
        **{m: (table.mean(axis=0), table.std(axis=0)) for m, table in stacked.items()},
    }


def draw(records: dict[str, Record]) -> Figure | None:
    """Draw alignment (top) and accuracy (bottom) against the number of variables."""
    present = [d for d in SIZES if finished(records, f"{d}-all")]
    if not present:
        return None
    figure, axes = panels(2, len(present))
    for column, dataset in enumerate(present):
        whole = records[f"{dataset}-all"].results
        chance = random_mean(records, dataset)
        for row, what in enumerate(("alignment", "accuracy")):
            axis = axes[row][column]
            for kind, style in (("rbf", "-"), ("linear", "--")):
                measure = f"{kind}_{what}"
                for kernel, colour in zip(KERNELS, COLOURS, strict=False):
                    record = finished(records, f"{dataset}-projse-{kernel}")
                    if record is None:
                        continue
                    label = f"ProjSe {kernel}, {kind} on samples"
                    x, y = record.results["sizes"], record.results[measure]
                    axis.plot(x, y, style, color=colour, marker=".", label=label)
                if chance:
                    mean, deviation = chance[measure]
                    axis.errorbar(
                        chance["sizes"],
                        mean,
                        deviation,
                        color="rosybrown",
                        linestyle=style,
                        capsize=2,
                        label=f"random, {kind} on samples",
                    )
                axis.axhline(
                    whole[measure][0],
                    color="black",
                    linestyle=style,
                    linewidth=1,
                    label=f"all variables, {kind} on samples",
                )
            axis.set(title=TITLES[dataset], xlabel="variables", ylabel=what)
    axes[0][-1].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return finish(figure)
