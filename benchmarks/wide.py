"""The engine on many candidates: genes, sparse words, and the search alone.

Every case takes ``quick`` and returns rows. Quick sizes only show that the code runs.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import data
import numpy as np
from measure import GIB, MIB, compare, peak_extra_memory, run_once
from numpy.typing import NDArray
from picking import agreement, paper_form, picks
from rows import Row, not_run, spread_row, time_ratio_row
from text import shape
from textbook import textbook_search, textbook_select

from projse.search.coordinates import DenseCoordinates
from projse.search.deflation import ProjectedDeflation
from projse.search.greedy import greedy

Array = NDArray[Any]

GLIOMA_TARGETS = {"linear": 2000, "poly": 500, "rbf": 20}


def glioma(quick: bool) -> list[Row]:
    try:
        X = data.glioma()
    except FileNotFoundError as missing:
        return [
            not_run(
                "glioma",
                f"GLIOMA, one view, {kernel}",
                "speed-up",
                str(missing),
                at_least=target,
                unit="×",
            )
            for kernel, target in GLIOMA_TARGETS.items()
        ]
    if quick:
        X = X[:, :300]
    return [
        row
        for kernel in GLIOMA_TARGETS
        for row in _glioma_of_kernel(X, 60 if quick else 300, kernel)
    ]


def _glioma_of_kernel(X: Array, wanted: int, kernel: str) -> list[Row]:
    """Compare with the textbook as printed and, for the linear kernel, with the textbook helped."""
    selector = paper_form(wanted, kernel=kernel)
    measured = compare({"projse": lambda: picks(selector, X)}, repeats=9)
    baselines = {"textbook": True}
    if kernel == "linear":
        baselines["textbook, untrimmed"] = False
    rows = []
    for name, trim in baselines.items():
        call = partial(textbook_select, X, X, wanted, kernel, trim=trim)
        both = measured + run_once(name, call)
        measure = "speed-up over the textbook baseline"
        if kernel == "linear":
            measure += (
                ", helped: null directions dropped, stopped at the rank"
                if trim
                else ", as the figure is printed"
            )
        literal = not trim or kernel != "linear"
        rows.append(
            time_ratio_row(
                "glioma",
                f"GLIOMA {shape(*X.shape)}, one view, {wanted} picks, {kernel}",
                measure,
                both,
                over=(name, "projse"),
                at_least=GLIOMA_TARGETS[kernel] if literal else None,
                unit="×",
                note=f"{agreement(both.results['projse'], both.results[name])}; baseline run once",
            )
        )
    return rows


def eleven_tumors(quick: bool) -> list[Row]:
    wanted = 60 if quick else 300
    work = "11_Tumors, one view, poly"
    try:
        X = data.eleven_tumors()
    except FileNotFoundError as missing:
        return [not_run("eleven-tumors", work, "memory and time", str(missing))]
    if quick:
        X = np.ascontiguousarray(X[:, :1000])
    measured = compare(
        {
            "numpy": lambda: X.T @ X,
            "projse": lambda: picks(paper_form(wanted, kernel="poly"), X),
        },
        repeats=3 if quick else 5,
    )
    found = len(measured.results["projse"])
    work = f"11_Tumors {shape(*X.shape)}, one view, {wanted} picks, poly"
    return [
        Row(
            "eleven-tumors",
            work,
            "peak extra memory",
            measured.memory["projse"] / MIB,
            unit="MiB",
            at_most=200,
            n_runs=1,
            note=f"{found} picks found",
        ),
        time_ratio_row(
            "eleven-tumors",
            work,
            "time ÷ one X.T @ X",
            measured,
            over=("projse", "numpy"),
            at_most=1.0,
        ),
    ]


def search_alone(quick: bool) -> list[Row]:
    n, rank, wanted = (5_000, 30, 30) if quick else (200_000, 100, 100)
    R = data.coordinates(rank, n)

    def ours() -> Array:
        deflation = ProjectedDeflation(DenseCoordinates(R), noise=1e-15, relative_noise=1e-14)
        found = itertools.islice(greedy(deflation, np.ones(n, dtype=bool)), wanted)
        return np.array([pick.index for pick in found])

    measured = compare(
        {"textbook": lambda: textbook_search(R, wanted), "projse": ours},
        repeats=3,
    )
    return [
        time_ratio_row(
            "search",
            f"{shape(n)} candidates, rank {rank}, {wanted} picks, search alone",
            "speed-up over the textbook update",
            measured,
            over=("textbook", "projse"),
            at_least=15,
            unit="×",
            note=agreement(measured.results["projse"], measured.results["textbook"]),
        )
    ]


def include(quick: bool) -> list[Row]:
    """Measure what variables that come first cost beyond a fit without them."""
    m, n_x, n_y, n_first = (200, 2_000, 5, 20) if quick else (5_000, 40_000, 10, 150)
    X, Y = data.regression(m, n_x, n_y)
    first = np.arange(n_x // 2, n_x // 2 + n_first)
    measured = compare(
        {
            "columns": lambda: X[:, first].T @ X,
            "fit": lambda: picks(paper_form(5), X, Y),
            "include": lambda: picks(paper_form(n_first + 5, include=first), X, Y),
        },
        repeats=3 if quick else 7,
    )
    columns, fit, both = (np.array(measured.times[who]) for who in ("columns", "fit", "include"))
    return [
        spread_row(
            "include",
            f"{shape(m, n_x, n_y)} float64, 5 picks after {n_first} in include",
            f"time beyond a fit without include ÷ numpy's product of the {n_first} columns with X",
            ((both - fit) / columns).tolist(),
            at_most=2.0,
            seconds=measured.medians(),
            memory_mib={who: used / MIB for who, used in measured.memory.items()},
        )
    ]


def sparse(quick: bool) -> list[Row]:
    m, n_x, per_row = (2_000, 20_000, 20) if quick else (100_000, 1_000_000, 100)
    rows = []
    for n_labels, extra in ((20, False), (50, True)) if quick else ((200, False), (1000, True)):
        X, labels, sets = data.sparse_documents(m, n_x, per_row, n_labels)
        filled = 100 * X.nnz / (m * n_x)
        for what, y in ((f"{n_labels} classes", labels), (f"{n_labels} labels, sparse sets", sets)):
            usage = peak_extra_memory(partial(picks, paper_form(50), X, y))
            held = usage.extra if usage.total is None else usage.total
            rows.append(
                Row(
                    "sparse",
                    f"sparse {shape(m, n_x)} ({filled:.2g} % filled), {what}, 50 picks",
                    "peak memory of the whole process, data included",
                    held / GIB,
                    unit="GiB",
                    at_most=4,
                    n_runs=1,
                    seconds={"projse": usage.seconds},
                    memory_mib={"projse": usage.extra / MIB},
                    note=f"finished with {len(usage.result)} picks"
                    + ("; more labels than the target names" if extra else ""),
                )
            )
    return rows
