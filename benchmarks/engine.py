"""What the engine must show: one function a row (or a few rows) of the table of targets.

Every function takes ``quick`` and returns rows. Quick sizes only show that the code runs.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import data
import numpy as np
from measure import GIB, MIB, compare, exponent, peak_extra_memory, run_once, timed
from numpy.typing import NDArray
from rows import Row, not_run, ratio_row
from textbook import textbook_search, textbook_select

from projse import Moments, ProjSe
from projse.exceptions import RankExhaustedWarning
from projse.search.coordinates import DenseCoordinates
from projse.search.deflation import ProjectedDeflation
from projse.search.greedy import greedy

Array = NDArray[Any]


def picks(selector: ProjSe, *arguments: Any, **more: Any) -> Array:
    """Fit, and return the picks; running out of reference space is no news here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankExhaustedWarning)
        return selector.fit(*arguments, **more).selected_


def agreement(ours: Array, theirs: Array) -> str:
    """Say how far two sequences of picks are the same."""
    common = min(len(ours), len(theirs))
    apart = np.flatnonzero(ours[:common] != theirs[:common])
    if not apart.size and len(ours) == len(theirs):
        return f"same {common} picks"
    same = int(apart[0]) if apart.size else common
    return f"picks: {len(ours)} and {len(theirs)}, the first {same} the same"


def shape(*sizes: int) -> str:
    """Write sizes the way people do: 1M × 100 × 100."""
    return " × ".join(_short(n) for n in sizes)


def _short(n: int) -> str:
    for unit, name in ((10**6, "M"), (10**3, "k")):
        if n >= unit and n % unit == 0:
            return f"{n // unit}{name}"
    return str(n)


def tall(quick: bool) -> list[Row]:
    m, n_x, n_y = (20_000, 40, 40) if quick else (1_000_000, 100, 100)
    X, Y = data.regression(m, n_x, n_y)
    measured = compare(
        {
            "numpy": lambda: (Y.T @ X, Y.T @ Y),
            "linear": lambda: picks(ProjSe(10), X, Y),
            "poly": lambda: picks(ProjSe(10, kernel="poly"), X, Y),
            "rbf": lambda: picks(ProjSe(10, kernel="rbf"), X, Y),
        },
        repeats=3 if quick else 9,
    )
    work = f"{shape(m, n_x, n_y)} float64, 10 picks"
    rows = [
        ratio_row(
            "tall",
            f"{work}, linear",
            "time ÷ numpy's Y.T @ X and Y.T @ Y",
            measured.ratio("linear", "numpy"),
            measured.medians("linear", "numpy"),
            measured.memory,
            at_most=0.75,
        )
    ]
    for kernel in ("poly", "rbf"):
        rows.append(
            ratio_row(
                "tall",
                f"{work}, {kernel}",
                "time ÷ linear's",
                measured.ratio(kernel, "linear"),
                measured.medians(kernel, "linear"),
                measured.memory,
                at_most=1.10,
            )
        )
    return rows


def tall_float32(quick: bool) -> list[Row]:
    m, n_x, n_y = (20_000, 40, 40) if quick else (1_000_000, 100, 100)
    X, Y = data.regression(m, n_x, n_y, dtype=np.float32)
    measured = compare(
        {"numpy": lambda: (Y.T @ X, Y.T @ Y), "projse": lambda: picks(ProjSe(10), X, Y)},
        repeats=3 if quick else 11,
    )
    return [
        ratio_row(
            "tall-float32",
            f"{shape(m, n_x, n_y)} float32, 10 picks, linear",
            "time ÷ numpy's two products in float32",
            measured.ratio("projse", "numpy"),
            measured.medians(),
            measured.memory,
            at_most=0.75,
        )
    ]


def few_outputs(quick: bool) -> list[Row]:
    m, n_x, n_y = (20_000, 40, 10) if quick else (1_000_000, 100, 10)
    X, Y = data.regression(m, n_x, n_y)
    measured = compare(
        {
            "numpy": lambda: (Y.T @ X, Y.T @ Y, X.sum(0)),
            "projse": lambda: picks(ProjSe(10), X, Y),
        },
        repeats=3 if quick else 11,
    )
    return [
        ratio_row(
            "few-outputs",
            f"{shape(m, n_x, n_y)} float64, 10 picks, linear",
            "time ÷ the two products and one X.sum(0)",
            measured.ratio("projse", "numpy"),
            measured.medians(),
            measured.memory,
            at_most=1.10,
        )
    ]


def tall_variants(quick: bool) -> list[Row]:
    """Measure tall data that is harder to get right: means far from zero, and weights."""
    m, n_x, n_y = (20_000, 40, 40) if quick else (1_000_000, 100, 100)
    X, Y = data.regression(m, n_x, n_y)
    expected = picks(ProjSe(10), X, Y)
    X += 1e4
    Y -= 1e4
    weight = np.random.default_rng(1).integers(1, 4, size=m).astype(np.float64)

    def weighted_products() -> tuple[Array, Array]:
        weighted = Y * weight[:, None]
        return weighted.T @ X, weighted.T @ Y

    measured = compare(
        {
            "numpy": lambda: (Y.T @ X, Y.T @ Y),
            "shifted": lambda: picks(ProjSe(10), X, Y),
            "numpy weighted": weighted_products,
            "weighted": lambda: picks(ProjSe(10), X, Y, sample_weight=weight),
        },
        repeats=3 if quick else 7,
    )
    work = f"{shape(m, n_x, n_y)} float64, 10 picks"
    return [
        ratio_row(
            "tall-variants",
            f"{work}, means 10⁴ away from zero",
            "time ÷ numpy's two products",
            measured.ratio("shifted", "numpy"),
            measured.medians("shifted", "numpy"),
            measured.memory,
            note=f"{agreement(measured.results['shifted'], expected)} as around zero",
        ),
        ratio_row(
            "tall-variants",
            f"{work}, the same with sample weights",
            "time ÷ numpy's two weighted products",
            measured.ratio("weighted", "numpy weighted"),
            measured.medians("weighted", "numpy weighted"),
            measured.memory,
        ),
    ]


def fastcan(quick: bool) -> list[Row]:
    m, n_x, n_y = (2_000, 40, 40) if quick else (200_000, 100, 100)
    work = f"{shape(m, n_x, n_y)} float64, 10 picks, linear"
    measure = "speed-up over fastcan, the faster of eta=False and eta=True"
    try:
        from fastcan import FastCan
    except ImportError:
        return [
            not_run("fastcan", work, measure, "fastcan is not installed", at_least=40, unit="×")
        ]
    X, Y = data.regression(m, n_x, n_y)
    variants = {f"fastcan eta={eta}": FastCan(10, eta=eta, verbose=0) for eta in (False, True)}
    measured = compare(
        {
            **{name: lambda f=f: f.fit(X, Y).indices_ for name, f in variants.items()},
            "projse": lambda: picks(ProjSe(10), X, Y),
        },
        repeats=3,
    )
    best = min(variants, key=measured.medians().__getitem__)
    return [
        ratio_row(
            "fastcan",
            work,
            measure,
            measured.ratio(best, "projse"),
            measured.medians("projse", *variants),
            measured.memory,
            at_least=40,
            unit="×",
            note="another criterion, so other picks; the table of peers shows their worth",
        )
    ]


def glioma(quick: bool) -> list[Row]:
    targets = {"linear": 2000, "poly": 500, "rbf": 20}
    wanted = 60 if quick else 300
    try:
        X = data.glioma()
    except FileNotFoundError as missing:
        return [
            not_run(
                "glioma",
                f"GLIOMA, one view, {kernel}",
                "speed-up",
                str(missing),
                at_least=t,
                unit="×",
            )
            for kernel, t in targets.items()
        ]
    if quick:
        X = X[:, :300]
    rows = []
    for kernel, target in targets.items():
        selector = ProjSe(wanted, kernel=kernel)
        measured = compare({"projse": lambda s=selector: picks(s, X)}, repeats=9)
        baselines = {"textbook": True}
        if kernel == "linear":
            baselines["textbook, untrimmed"] = False
        for name, trim in baselines.items():
            once = run_once(name, lambda k=kernel, t=trim: textbook_select(X, X, wanted, k, trim=t))
            both = measured + once
            ours, theirs = both.results["projse"], both.results[name]
            measure = "speed-up over the textbook baseline"
            if kernel == "linear":
                measure += (
                    ", helped: null directions dropped, stopped at the rank"
                    if trim
                    else ", as the figure is printed"
                )
            literal = not trim or kernel != "linear"
            rows.append(
                ratio_row(
                    "glioma",
                    f"GLIOMA {shape(*X.shape)}, one view, {wanted} picks, {kernel}",
                    measure,
                    both.ratio(name, "projse"),
                    both.medians(),
                    both.memory,
                    at_least=target if literal else None,
                    unit="×",
                    note=f"{agreement(ours, theirs)}; baseline run once",
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
            "projse": lambda: picks(ProjSe(wanted, kernel="poly"), X),
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
        ratio_row(
            "eleven-tumors",
            work,
            "time ÷ one X.T @ X",
            measured.ratio("projse", "numpy"),
            measured.medians(),
            measured.memory,
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
        ratio_row(
            "search",
            f"{shape(n)} candidates, rank {rank}, {wanted} picks, search alone",
            "speed-up over the textbook update",
            measured.ratio("textbook", "projse"),
            measured.medians(),
            measured.memory,
            at_least=15,
            unit="×",
            note=agreement(measured.results["projse"], measured.results["textbook"]),
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
            "projse": lambda: picks(ProjSe(99), X, labels),
        },
        repeats=3 if quick else 7,
    )
    return [
        ratio_row(
            "cifar",
            f"CIFAR-100 {shape(*X.shape)} uint8, {n_classes} classes, 99 picks",
            measure,
            measured.ratio("projse", "numpy"),
            measured.medians(),
            measured.memory,
            at_most=0.35,
            note=f"{len(measured.results['projse'])} picks found",
        )
    ]


def sparse(quick: bool) -> list[Row]:
    m, n_x, per_row = (2_000, 20_000, 20) if quick else (100_000, 1_000_000, 100)
    rows = []
    for n_labels, extra in ((20, False), (50, True)) if quick else ((200, False), (1000, True)):
        X, labels, sets = data.sparse_documents(m, n_x, per_row, n_labels)
        filled = 100 * X.nnz / (m * n_x)
        for what, y in ((f"{n_labels} classes", labels), (f"{n_labels} labels, sparse sets", sets)):
            usage = peak_extra_memory(lambda X=X, y=y: picks(ProjSe(50), X, y))
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


def growth_in_rows(quick: bool) -> list[Row]:
    n_x, n_y = (20, 10) if quick else (100, 20)
    sizes = (2_000, 6_000, 20_000) if quick else (10**5, 3 * 10**5, 10**6, 3 * 10**6, 10**7)
    X, Y = data.regression(sizes[-1], n_x, n_y, dtype=np.float32)
    measured = compare(
        {str(m): lambda m=m: picks(ProjSe(10), X[:m], Y[:m]) for m in sizes},
        repeats=3 if quick else 5,
    )
    rounds = zip(*measured.times.values(), strict=True)
    slopes = [exponent(sizes, seconds) for seconds in rounds]
    medians = measured.medians()
    return [
        Row(
            "growth-in-rows",
            f"m from {shape(sizes[0])} to {shape(sizes[-1])}, {n_x} × {n_y} float32, 10 picks",
            "exponent of time in m",
            float(np.median(slopes)),
            unit="exponent",
            low=min(slopes),
            high=max(slopes),
            n_runs=len(slopes),
            at_most=1.05,
            seconds={f"m = {shape(m)}": medians[str(m)] for m in sizes},
            memory_mib={f"m = {shape(m)}": measured.memory[str(m)] / MIB for m in sizes},
        )
    ]


def memory(quick: bool) -> list[Row]:
    """Measure what a pass over rows in memory costs beyond the rows themselves."""
    m, n_x, n_y = (50_000, 40, 10) if quick else (2_000_000, 100, 10)
    rows = []
    for order in ("C", "F"):
        X, Y = data.regression(m, n_x, n_y)
        X = np.asarray(X, order=order)
        contestants: dict[str, Callable[[], Any]] = {
            "Moments.from_arrays": lambda X=X, Y=Y: Moments.from_arrays(X, Y),
            "ProjSe(10).fit": lambda X=X, Y=Y: picks(ProjSe(10), X, Y),
        }
        for name, call in contestants.items():
            call()  # threads and buffers of BLAS exist once a process has used them
            usage = peak_extra_memory(call)
            seconds, _ = timed(call)
            rows.append(
                Row(
                    "memory",
                    f"{name}, {shape(m, n_x, n_y)} float64, {order}-ordered "
                    f"({X.nbytes / MIB:.0f} MiB)",
                    "peak extra memory",
                    usage.extra / MIB,
                    unit="MiB",
                    at_most=64,
                    n_runs=1,
                    seconds={"projse": seconds},
                )
            )
        del X, Y, contestants, call, usage
    return rows


CASES: dict[str, Callable[[bool], list[Row]]] = {
    "tall": tall,
    "tall-float32": tall_float32,
    "few-outputs": few_outputs,
    "fastcan": fastcan,
    "glioma": glioma,
    "eleven-tumors": eleven_tumors,
    "search": search_alone,
    "cifar": cifar,
    "sparse": sparse,
    "growth-in-rows": growth_in_rows,
    "tall-variants": tall_variants,
    "memory": memory,
}
