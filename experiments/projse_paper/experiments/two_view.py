"""Two views: canonical correlation of a few variables a side, beside CCA on all of them."""

from __future__ import annotations

import time
import warnings
from functools import lru_cache, partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from projse import PAPER, Moments, TwoViewProjSe
from projse_paper import correlation, data
from projse_paper.plotting import COLOURS, finish, panels
from projse_paper.published import published_select_from
from projse_paper.store import Record, Results, Unit, all_finished, finished

Array = NDArray[Any]

NAME = "two-view"
KERNELS = ("linear", "rbf")
TABLE = (10, 20, 50, 100)
SIZES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100)
DATA = ("mnist", "mediamill", "mediamill_subset")
TITLES = data.VIEW_TITLES
GRID: tuple[dict[str, Any], ...] = tuple(
    {"kernel": kernel, "alpha": alpha, "rank": rank}
    for kernel in KERNELS
    for alpha in (0.0, 0.01, 0.1, 1.0)
    for rank in (None, 50)
    if alpha == 0 or rank is None
)
"""What rows held out of the training rows choose from, for each number of variables."""

RIDGES = (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Of CCA, as shares of the mean eigenvalue of a view."""

LEAST_ROWS = (0, 10, 100, 1000)
"""Pixels must be on in so many training rows, in the experiment on rare pixels."""

VARIANTS: dict[str, dict[str, Any]] = {
    "samples-centred": {"center": True, "center_kernel": False, "remove_first": True},
    "samples-centred-first-kept": {"center": True, "center_kernel": False, "remove_first": False},
    "not-centred": {"center": False, "center_kernel": False, "remove_first": True},
    "one-side-centred": {"center": "x", "center_kernel": False, "remove_first": True},
    "over-variables": {"center": False, "center_kernel": True, "remove_first": True},
    "over-variables-first-kept": {"center": False, "center_kernel": True, "remove_first": False},
    "both-centred": {"center": True, "center_kernel": True, "remove_first": True},
    "unit-norm-over-variables": {
        "center": False,
        "unit_norm": True,
        "center_kernel": True,
        "remove_first": True,
    },
    "unit-norm-over-live-variables": {
        "center": False,
        "unit_norm": True,
        "drop_constant": True,
        "center_kernel": True,
        "remove_first": True,
    },
}
"""The paper's loop on variables prepared in other ways, linear kernel: what explains 0.847?"""


def units(quick: bool) -> list[Unit]:
    """Return the units: data set × method."""
    made: list[Unit] = []
    every = 20 if quick else 1

    def add(dataset: str, method: str, work: Any, **parameters: Any) -> None:
        everything = {"data": dataset, "method": method, **parameters}
        if quick:
            everything["every_nth_row"] = every
        made.append(Unit(NAME, f"{dataset}-{method}", everything, work))

    for dataset in ("mnist",) if quick else DATA:
        sizes = list(TABLE if quick else SIZES)
        for kernel in KERNELS:
            work = partial(_curve, dataset, kernel, sizes, every)
            add(dataset, f"projse-{kernel}", work, kernel=kernel, sizes=sizes)
        add(dataset, "cca", partial(_cca, dataset, every), ridges=list(RIDGES))
        for seed in range(1 if quick else 3):
            n = 50 if quick else 500
            work = partial(_random_features, dataset, n, seed, every)
            add(dataset, f"rcca-{seed}", work, n=n, ridges=list(RIDGES[1:]))
        if quick:
            continue
        if dataset == "mnist":
            add(dataset, "rare-pixels", partial(_rare, dataset), least_rows=list(LEAST_ROWS))
        add(dataset, "beyond", partial(_beyond, dataset), grid=list(GRID), sizes=list(TABLE))
        for variant, options in VARIANTS.items():
            work = partial(_variant, dataset, options)
            add(dataset, f"variant-{variant}", work, sizes=list(TABLE), **options)
        if dataset != "mediamill_subset":
            add(dataset, "dcca", partial(_dcca, dataset), **correlation.DCCA_SETTINGS)
    return made


def _views(dataset: str, every: int = 1) -> tuple[Array, Array, Array, Array]:
    X, Y, X_test, Y_test = data.views(dataset)
    return X[::every], Y[::every], X_test, Y_test


@lru_cache(maxsize=1)
def _moments(dataset: str, every: int = 1) -> Moments:
    X, Y, _, _ = _views(dataset, every)
    return Moments.from_arrays(X, Y, with_xx=True, target_type="continuous")


def _curve(dataset: str, kernel: str, sizes: list[int], every: int) -> Results:
    X, Y, X_test, Y_test = _views(dataset, every)
    start = time.perf_counter()
    model = TwoViewProjSe(100, **{**PAPER, "kernel": kernel}).fit(X, Y)
    seconds = time.perf_counter() - start
    x_top, y_top = (
        [k for k in TABLE if k <= len(picks)] for picks in (model.x_selected_, model.y_selected_)
    )
    return {
        "fit_seconds": seconds,
        "sizes": sizes,
        "rho_test": model.canonical_correlation_path(X_test, Y_test, sizes=sizes),
        "rho_train": model.canonical_correlation_path(sizes=sizes),
        "grid_x_sizes": x_top,
        "grid_y_sizes": y_top,
        "rho_test_grid": model.canonical_correlation_grid(
            X_test, Y_test, x_sizes=x_top, y_sizes=y_top
        ),
        "x_picks": model.x_selected_[:20],
        "y_picks": model.y_selected_[:20],
    }


def _cca(dataset: str, every: int) -> Results:
    """CCA on all variables: without a ridge, and with one chosen on held-out training rows."""
    X, Y, X_test, Y_test = _views(dataset, every)
    cut = len(X) - len(X) // 6
    start = time.perf_counter()
    held = correlation.first_correlation(X[:cut], Y[:cut], X[cut:], Y[cut:], ridges=RIDGES)[1]
    train, test = correlation.first_correlation(X, Y, X_test, Y_test, ridges=RIDGES)
    best = int(np.argmax(held))
    return {
        "seconds": time.perf_counter() - start,
        "rho_test": test[best],
        "rho_train": train[best],
        "ridge": RIDGES[best],
        "ridges": list(RIDGES),
        "rho_held_out_by_ridge": held,
        "rho_test_by_ridge": test,
        "rho_train_by_ridge": train,
        "n_variables": [X.shape[1], Y.shape[1]],
    }


def _random_features(dataset: str, n: int, seed: int, every: int) -> Results:
    """CCA of random features, with a ridge chosen on held-out training rows."""
    X, Y, X_test, Y_test = _views(dataset, every)
    cut = len(X) - len(X) // 6
    ridges = RIDGES[1:]
    start = time.perf_counter()
    (A, A_test), (B, B_test) = correlation.random_features((X, X_test), (Y, Y_test), n, seed)
    held = correlation.first_correlation(A[:cut], B[:cut], A[cut:], B[cut:], ridges=ridges)[1]
    best = int(np.argmax(held))
    train, test = correlation.first_correlation(A, B, A_test, B_test, ridges=[ridges[best]])
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "rho_test": test[0],
        "rho_train": train[0],
        "ridge": ridges[best],
        "rho_held_out_by_ridge": held,
    }


def _rare(dataset: str) -> Results:
    """Leave out pixels that are on in few training rows; CCA of the others without a ridge."""
    X, Y, X_test, Y_test = _views(dataset)
    x_on, y_on = np.count_nonzero(X, axis=0), np.count_nonzero(Y, axis=0)
    found: dict[str, list[Any]] = {"n_variables": [], "rho_train": [], "rho_test": []}
    for least in LEAST_ROWS:
        x, y = np.flatnonzero(x_on >= least), np.flatnonzero(y_on >= least)
        train, test = correlation.first_correlation(X[:, x], Y[:, y], X_test[:, x], Y_test[:, y])
        found["n_variables"].append([len(x), len(y)])
        found["rho_train"].append(train[0])
        found["rho_test"].append(test[0])
    return {"least_rows": list(LEAST_ROWS), "sizes": list(LEAST_ROWS), **found}


def _dcca(dataset: str) -> Results:
    views = _views(dataset)
    start = time.perf_counter()
    train, test = correlation.deep_correlation(*views)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "rho_test": test, "rho_train": train}


def _variant(dataset: str, options: dict[str, Any]) -> Results:
    """Select with variables prepared in another way; measure correlation as everywhere else."""
    views = _views(dataset)
    moments = _moments(dataset)
    m, mx, my = moments.n_samples, moments.x_mean, moments.y_mean
    xx, yy, yx = moments.xx, moments.yy, moments.yx
    assert my is not None
    assert xx is not None
    assert yy is not None
    grams: dict[str, Array] = {}
    for side, centred in (("x", options["center"]), ("y", options["center"] is True)):
        raw, mean = (xx, mx) if side == "x" else (yy, my)
        grams[side] = raw if centred else raw + m * np.outer(mean, mean)
    if options["center"] is False:
        yx = yx + m * np.outer(my, mx)  # else one centred side is enough to centre the products
    if options.get("unit_norm"):
        norms = {side: _positive(np.sqrt(np.diag(gram))) for side, gram in grams.items()}
        grams = {side: gram / np.outer(norms[side], norms[side]) for side, gram in grams.items()}
        yx = yx / np.outer(norms["y"], norms["x"])
    live = {"x": np.arange(len(mx)), "y": np.arange(len(my))}
    if options.get("drop_constant"):
        live = {"x": np.flatnonzero(np.diag(xx)), "y": np.flatnonzero(np.diag(yy))}
        grams = {side: gram[np.ix_(live[side], live[side])] for side, gram in grams.items()}
        yx = yx[np.ix_(live["y"], live["x"])]
    loop = {name: options[name] for name in ("center_kernel", "remove_first")}
    n_x, n_y = (min(100, len(live[side])) for side in ("x", "y"))
    x_picks = live["x"][published_select_from(grams["y"], yx, grams["x"], n_x, **loop)[0]]
    y_picks = live["y"][published_select_from(grams["x"], yx.T, grams["y"], n_y, **loop)[0]]
    found = [
        correlation.first_correlation_of(views, x_picks[:k], y_picks[:k], moments) for k in TABLE
    ]
    return {
        "sizes": list(TABLE),
        "rho_train": [train for train, _ in found],
        "rho_test": [test for _, test in found],
        "x_picks": x_picks[:20],
        "y_picks": y_picks[:20],
    }


def _positive(norms: Array) -> Array:
    return np.where(norms > 0, norms, 1.0)


def _beyond(dataset: str) -> Results:
    """Choose kernel, ridge and rank by correlation on the last sixth of the training rows."""
    X, Y, X_test, Y_test = _views(dataset)
    cut = len(X) - len(X) // 6
    total = _moments(dataset)
    fitting = Moments.from_arrays(X[:cut], Y[:cut], with_xx=True, target_type="continuous")
    held, test = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for options in GRID:
            model = TwoViewProjSe(100, **{**PAPER, **options}).fit_moments(fitting)
            held.append(model.canonical_correlation_path(X[cut:], Y[cut:], sizes=list(TABLE)))
        best = np.argmax(held, axis=0)
        for column, g in enumerate(best):
            model = TwoViewProjSe(100, **{**PAPER, **GRID[g]}).fit_moments(total)
            size = [TABLE[column]]
            test.append(float(model.canonical_correlation_path(X_test, Y_test, sizes=size)[0]))
    return {
        "sizes": list(TABLE),
        "chosen": [GRID[g] for g in best],
        "rho_held_out": [held[g][i] for i, g in enumerate(best)],
        "rho_test": test,
        "rho_held_out_grid": held,
    }


def rows(records: dict[str, Record]) -> list[dict[str, Any]]:
    """Return one row a data set, method and number of variables."""
    made = []
    for record in records.values():
        found = record.results
        if not found or "least_rows" in found:
            continue
        about = {k: record.parameters[k] for k in ("data", "method")}
        many = isinstance(found["rho_test"], list)
        sizes = found["sizes"] if many else ["all"]
        values = found["rho_test"] if many else [found["rho_test"]]
        for size, value in zip(sizes, values, strict=True):
            made.append({**about, "variables": size, "rho_test": value})
    return made


def draw(records: dict[str, Record]) -> Figure | None:
    """Draw the first canonical correlation against the number of variables of each side."""
    present = [d for d in DATA if finished(records, f"{d}-cca")]
    if not present:
        return None
    figure, axes = panels(1, len(present))
    for axis, dataset in zip(axes[0], present, strict=True):
        for kernel, colour in zip(KERNELS, COLOURS, strict=False):
            record = finished(records, f"{dataset}-projse-{kernel}")
            if record is None:
                continue
            for rows_of, style in (("test", "-"), ("train", ":")):
                axis.plot(
                    record.results["sizes"],
                    record.results[f"rho_{rows_of}"],
                    style,
                    color=colour,
                    marker="." if rows_of == "test" else None,
                    label=f"ProjSe {kernel}, {rows_of} rows",
                )
        beyond = finished(records, f"{dataset}-beyond")
        if beyond is not None:
            found = beyond.results
            label = "ProjSe, chosen on held-out rows"
            axis.plot(found["sizes"], found["rho_test"], "*", color=COLOURS[3], label=label)
        whole = records[f"{dataset}-cca"].results["rho_test"]
        axis.axhline(whole, color="black", linewidth=1, label="CCA on all variables, test rows")
        shown = [
            v
            for r in all_finished(records, f"{dataset}-projse-")
            for v in r.results["rho_test"][1:]  # one pixel a side need not share anything
        ]
        axis.set(
            ylim=(min(shown) - 0.03, None) if shown else None,
            title=TITLES[dataset],
            xlabel="variables of each view",
            ylabel="first canonical correlation",
        )
        axis.legend(fontsize=7, loc="lower right")
    return finish(figure)
