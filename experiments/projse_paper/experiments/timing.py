"""Timing: where the time goes, step by step as in the paper, and what one pass makes of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from projse import Moments
from projse_paper import data
from projse_paper.benchmarks import picking, textbook
from projse_paper.plotting import COLOURS, finish, panels
from projse_paper.published import centred_kernel
from projse_paper.store import Record, Results, Unit, finished

Array = NDArray[Any]

NAME = "timing"
KERNELS = ("linear", "rbf")
PICKS = (10, 20, 50, 100)
STEPS = {
    "k_yx": "K_YX",
    "k_yy": "K_YY",
    "eigen": "eigendecomposition of K_YY",
    "centring": "centring of K_XX (optional)",
}
TITLES = {
    "cifar100": "CIFAR-100",
    "mediamill": "MediaMill",
    "mediamill_shape": "random rows of MediaMill's shape",
}


def units(quick: bool) -> list[Unit]:
    """Return the units: data × kernel × code."""
    made = []
    repeats = 1 if quick else 2
    for dataset in ("mediamill_shape",) if quick else ("cifar100", "mediamill", "mediamill_shape"):
        for kernel in KERNELS:
            for code, measure in (("textbook", _textbook), ("projse", _projse)):
                parameters = {
                    "data": dataset,
                    "kernel": kernel,
                    "code": code,
                    "picks": list(PICKS),
                    "repeats": repeats,
                }
                work = partial(_measure, measure, dataset, kernel, repeats)
                made.append(Unit(NAME, f"{dataset}-{kernel}-{code}", parameters, work))
    return made


def _measure(measure: Callable[..., Results], dataset: str, kernel: str, repeats: int) -> Results:
    """Repeat; keep the fastest time of every step.

    Time is that of the processor, summed over its cores: other work on the machine hardly slows it.
    """
    X, Y = _data(dataset)
    runs = [measure(X, Y, kernel) for _ in range(repeats)]
    return {
        "shape": [X.shape[0], X.shape[1], len(np.unique(Y)) if Y.ndim == 1 else Y.shape[1]],
        **{step: min(run[step] for run in runs) for step in runs[0]},
    }


def _data(dataset: str) -> tuple[Array, Array]:
    if dataset == "cifar100":
        return data.cifar()
    if dataset == "mediamill":
        X, Y, _, _ = data.views("mediamill")
        return X, Y
    rng = np.random.default_rng(0)
    return rng.normal(size=(43907, 120)), (rng.random((43907, 101)) < 0.04).astype(np.float64)


def _textbook(X: Array, Y: Array, kernel: str) -> Results:
    """Time the steps of the paper's algorithm, in plain numpy."""
    if Y.ndim == 1:
        Y = np.eye(int(Y.max()) + 1)[Y]
    X, Y = textbook.unit_variables(X.astype(np.float64)), textbook.unit_variables(Y)
    seconds: Results = {}
    gamma = 0.0

    def kernel_of(A: Array, B: Array) -> Array:
        if kernel == "linear":
            return A.T @ B
        return np.exp(-gamma * textbook.squared_distances(A, B))

    def timed(step: str, call: Callable[[], Any]) -> Any:
        start = time.process_time()
        found = call()
        seconds[step] = time.process_time() - start
        return found

    if kernel == "rbf":
        D = textbook.squared_distances(Y, Y)
        gamma = 1 / (2 * textbook.mean_distance(D, D) ** 2)
    K_yx = timed("k_yx", lambda: kernel_of(Y, X))
    K_yy = timed("k_yy", lambda: kernel_of(Y, Y))
    timed("eigen", lambda: np.linalg.eigh(K_yy))
    timed("centring", lambda: centred_kernel(kernel_of(X, X)))
    for n in PICKS:
        start = time.process_time()
        textbook.textbook_search(textbook.reference_coordinates(K_yy, K_yx), n)
        search = time.process_time() - start
        kernels = seconds["k_yx"] + seconds["k_yy"]
        seconds[f"search_{n}"] = search
        seconds[f"picks_{n}"] = kernels + search  # the centring is optional, and left out
    return seconds


def _projse(X: Array, Y: Array, kernel: str) -> Results:
    """Time the pass over the rows, and selections from its result."""
    target_type = "class" if Y.ndim == 1 else "continuous"
    start = time.process_time()
    moments = Moments.from_arrays(X, Y, target_type=target_type)
    seconds: Results = {"pass": time.process_time() - start}
    for n in PICKS:
        start = time.process_time()
        picking.paper_form(n, kernel=kernel, exhausted="stop").fit_moments(moments)
        seconds[f"search_{n}"] = time.process_time() - start
        seconds[f"picks_{n}"] = seconds["pass"] + seconds[f"search_{n}"]
    return seconds


def rows(records: dict[str, Record]) -> list[dict[str, Any]]:
    """Return one row a data set, kernel, code and step."""
    return [
        {
            **{key: record.parameters[key] for key in ("data", "kernel", "code")},
            "step": step,
            "seconds": seconds,
        }
        for record in records.values()
        for step, seconds in record.results.items()
        if step != "shape"
    ]


def draw(records: dict[str, Record]) -> Figure | None:
    """Draw the total for 100 picks, by data set, kernel and code."""
    present = [d for d in TITLES if finished(records, f"{d}-linear-projse")]
    if not present:
        return None
    figure, axes = panels(1, len(present), height=2.8)
    for axis, dataset in zip(axes[0], present, strict=True):
        for kernel in KERNELS:
            for c, code in enumerate(("textbook", "projse")):
                record = finished(records, f"{dataset}-{kernel}-{code}")
                if record is None:
                    continue
                found = [record.results[f"picks_{n}"] for n in PICKS]
                style = "-" if kernel == "linear" else "--"
                axis.plot(
                    PICKS, found, style, marker=".", color=COLOURS[c], label=f"{code}, {kernel}"
                )
        axis.set(title=TITLES[dataset], xlabel="picks", ylabel="seconds of the processor")
        axis.set_ylim(0, 1.45 * axis.get_ylim()[1])  # room for the legend
        axis.legend(fontsize=7, loc="upper right", ncols=2)
    return finish(figure)
