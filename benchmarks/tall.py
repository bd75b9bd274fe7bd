"""The engine on many rows: cases of time and memory, a row (or a few rows) of the table each.

Every case takes ``quick`` and returns rows. Quick sizes only show that the code runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import data
import numpy as np
from machine import kind
from measure import MIB, compare, exponents, peak_extra_memory, timed
from numpy.typing import NDArray
from picking import agreement, paper_form, picks
from rows import Row, not_run, spread_row, time_ratio_row
from text import shape

from projse import Moments

Array = NDArray[Any]

AVX512 = kind().endswith("avx512")
"""Whether BLAS has its path for small products: there the lead over numpy's is larger."""


def tall(quick: bool) -> list[Row]:
    m, n_x, n_y = (20_000, 40, 40) if quick else (1_000_000, 100, 100)
    X, Y = data.regression(m, n_x, n_y)
    measured = compare(
        {
            "numpy": lambda: (Y.T @ X, Y.T @ Y),
            "linear": lambda: picks(paper_form(10), X, Y),
            "poly": lambda: picks(paper_form(10, kernel="poly"), X, Y),
            "rbf": lambda: picks(paper_form(10, kernel="rbf"), X, Y),
        },
        repeats=3 if quick else 9,
    )
    return [
        time_ratio_row(
            "tall",
            f"{shape(m, n_x, n_y)} float64, 10 picks, {kernel}",
            measure,
            measured,
            over=(kernel, base),
            beside=(kernel, base),
            at_most=at_most,
        )
        for kernel, base, measure, at_most in (
            ("linear", "numpy", "time ÷ numpy's Y.T @ X and Y.T @ Y", 0.75 if AVX512 else 0.88),
            ("poly", "linear", "time ÷ linear's", 1.10),
            ("rbf", "linear", "time ÷ linear's", 1.10),
        )
    ]


def tall_float32(quick: bool) -> list[Row]:
    m, n_x, n_y = (20_000, 40, 40) if quick else (1_000_000, 100, 100)
    X, Y = data.regression(m, n_x, n_y, dtype=np.float32)
    measured = compare(
        {"numpy": lambda: (Y.T @ X, Y.T @ Y), "projse": lambda: picks(paper_form(10), X, Y)},
        repeats=3 if quick else 11,
    )
    work = f"{shape(m, n_x, n_y)} float32, 10 picks, linear"
    measure = "time ÷ numpy's two products in float32"
    over = ("projse", "numpy")
    most = 0.70 if AVX512 else 0.95
    return [time_ratio_row("tall-float32", work, measure, measured, over, at_most=most)]


def few_outputs(quick: bool) -> list[Row]:
    m, n_x, n_y = (20_000, 40, 10) if quick else (1_000_000, 100, 10)
    X, Y = data.regression(m, n_x, n_y)
    measured = compare(
        {
            "numpy": lambda: (Y.T @ X, Y.T @ Y, X.sum(0)),
            "projse": lambda: picks(paper_form(10), X, Y),
        },
        repeats=3 if quick else 11,
    )
    work = f"{shape(m, n_x, n_y)} float64, 10 picks, linear"
    measure = "time ÷ the two products and one X.sum(0)"
    over = ("projse", "numpy")
    most = 0.80 if AVX512 else 0.95
    return [time_ratio_row("few-outputs", work, measure, measured, over, at_most=most)]


def tall_variants(quick: bool) -> list[Row]:
    """Measure tall data that is harder to get right: means far from zero, and weights."""
    m, n_x, n_y = (20_000, 40, 40) if quick else (1_000_000, 100, 100)
    X, Y = data.regression(m, n_x, n_y)
    expected = picks(paper_form(10), X, Y)
    X += 1e4
    Y -= 1e4
    weight = np.random.default_rng(1).integers(1, 4, size=m).astype(np.float64)

    def weighted_products() -> tuple[Array, Array]:
        weighted = Y * weight[:, None]
        return weighted.T @ X, weighted.T @ Y

    measured = compare(
        {
            "numpy": lambda: (Y.T @ X, Y.T @ Y),
            "shifted": lambda: picks(paper_form(10), X, Y),
            "numpy weighted": weighted_products,
            "weighted": lambda: picks(paper_form(10), X, Y, sample_weight=weight),
        },
        repeats=3 if quick else 7,
    )
    work = f"{shape(m, n_x, n_y)} float64, 10 picks"
    return [
        time_ratio_row(
            "tall-variants",
            f"{work}, means 10⁴ away from zero",
            "time ÷ numpy's two products",
            measured,
            over=("shifted", "numpy"),
            beside=("shifted", "numpy"),
            at_most=0.95 if AVX512 else 1.05,
            note=f"{agreement(measured.results['shifted'], expected)} as around zero",
        ),
        time_ratio_row(
            "tall-variants",
            f"{work}, the same with sample weights",
            "time ÷ numpy's two weighted products",
            measured,
            over=("weighted", "numpy weighted"),
            beside=("weighted", "numpy weighted"),
        ),
    ]


def fastcan(quick: bool) -> list[Row]:
    m, n_x, n_y = (2_000, 40, 40) if quick else (200_000, 100, 100)
    work = f"{shape(m, n_x, n_y)} float64, 10 picks, linear"
    measure = "speed-up over fastcan, the faster of eta=False and eta=True"
    target: dict[str, Any] = {"at_least": 40, "unit": "×"}
    try:
        from fastcan import FastCan
    except ImportError:
        return [not_run("fastcan", work, measure, "fastcan is not installed", **target)]
    X, Y = data.regression(m, n_x, n_y)

    def indices(selector: Any) -> Array:
        return selector.fit(X, Y).indices_

    variants = {
        f"fastcan eta={eta}": partial(indices, FastCan(10, eta=eta, verbose=0))
        for eta in (False, True)
    }
    measured = compare({**variants, "projse": lambda: picks(paper_form(10), X, Y)}, repeats=5)
    best = min(variants, key=measured.medians().__getitem__)
    return [
        time_ratio_row(
            "fastcan",
            work,
            measure,
            measured,
            over=(best, "projse"),
            beside=("projse", *variants),
            note="another criterion, so other picks; the table of peers shows their worth",
            **target,
        )
    ]


def cifar(quick: bool) -> list[Row]:
    measure = "time ÷ (dense one-hot, X to float64, Y.T @ X)"
    try:
        X, labels = data.cifar100()
    except FileNotFoundError as missing:
        return [not_run("cifar", "CIFAR-100, 99 picks", measure, str(missing), at_most=0.35)]
    if quick:
        X, labels = np.ascontiguousarray(X[::50, ::8]), labels[::50]
    n_classes = int(labels.max()) + 1
    measured = compare(
        {
            "numpy": lambda: np.eye(n_classes)[labels].T @ X.astype(np.float64),
            "projse": lambda: picks(paper_form(99), X, labels),
        },
        repeats=3 if quick else 7,
    )
    return [
        time_ratio_row(
            "cifar",
            f"CIFAR-100 {shape(*X.shape)} uint8, {n_classes} classes, 99 picks",
            measure,
            measured,
            over=("projse", "numpy"),
            at_most=0.35,
            note=f"{len(measured.results['projse'])} picks found",
        )
    ]


def growth_in_rows(quick: bool) -> list[Row]:
    n_x, n_y = (20, 10) if quick else (100, 20)
    sizes = (2_000, 6_000, 20_000) if quick else (10**5, 3 * 10**5, 10**6, 3 * 10**6, 10**7)
    X, Y = data.regression(sizes[-1], n_x, n_y, dtype=np.float32)

    def fit(m: int) -> Array:
        return picks(paper_form(10), X[:m], Y[:m])

    contestants = {str(m): partial(fit, m) for m in sizes}
    measured = compare(contestants, repeats=3 if quick else 5)
    medians = measured.medians()
    return [
        spread_row(
            "growth-in-rows",
            f"m from {shape(sizes[0])} to {shape(sizes[-1])}, {n_x} × {n_y} float32, 10 picks",
            "exponent of time in m",
            exponents(sizes, list(measured.times.values())),
            unit="exponent",
            at_most=1.05,
            seconds={f"m = {shape(m)}": medians[str(m)] for m in sizes},
            memory_mib={f"m = {shape(m)}": measured.memory[str(m)] / MIB for m in sizes},
        )
    ]


def memory(quick: bool) -> list[Row]:
    """Measure what a pass over rows in memory costs beyond the rows themselves."""
    m, n_x, n_y = (50_000, 40, 10) if quick else (2_000_000, 100, 10)
    return [*_memory_of_order(m, n_x, n_y, "C"), *_memory_of_order(m, n_x, n_y, "F")]


def _memory_of_order(m: int, n_x: int, n_y: int, order: Literal["C", "F"]) -> list[Row]:
    X, Y = data.regression(m, n_x, n_y)
    X = np.asarray(X, order=order)
    contestants: dict[str, Callable[[], Any]] = {
        "Moments.from_arrays": lambda: Moments.from_arrays(X, Y),
        "ProjSe(10).fit": lambda: picks(paper_form(10), X, Y),
    }
    rows = []
    for name, call in contestants.items():
        call()  # threads and buffers of BLAS exist once a process has used them
        usage = peak_extra_memory(call)
        seconds, _ = timed(call)
        rows.append(
            Row(
                "memory",
                f"{name}, {shape(m, n_x, n_y)} float64, {order}-ordered ({X.nbytes / MIB:.0f} MiB)",
                "peak extra memory",
                usage.extra / MIB,
                unit="MiB",
                at_most=64,
                n_runs=1,
                seconds={"projse": seconds},
            )
        )
    return rows
