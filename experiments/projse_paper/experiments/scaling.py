"""Scaling: time of the selection against the number of rows, which never are in memory at once."""

from __future__ import annotations

import resource
import sys
import time
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from projse import Moments
from projse.datasets import iter_two_view
from projse_paper.benchmarks import picking
from projse_paper.plotting import COLOURS, finish, panels
from projse_paper.store import Record, Results, Unit

NAME = "scaling"
KERNELS = ("linear", "rbf")
N_VARIABLES = 100
PICKS = 10
BATCH = 65536


def units(quick: bool) -> list[Unit]:
    """Return one unit a type of number and repeat: a stream that is measured as it grows."""
    step = 20_000 if quick else 1_000_000
    return [
        Unit(
            NAME,
            f"stream-{dtype}-{seed}",
            {
                "n_x": N_VARIABLES,
                "n_y": N_VARIABLES,
                "picks": PICKS,
                "dtype": dtype,
                "seed": seed,
                "step": step,
                "steps": 10,
                "batch": BATCH,
            },
            partial(_stream, step, dtype, seed),
        )
        for dtype in ("float64", "float32")
        for seed in (0,)
    ]


def _stream(step: int, dtype: str, seed: int) -> Results:
    """Sum batches as they are made; at every step, select from what was summed so far.

    Making the rows is not part of the time. Selection for m rows takes the pass over m rows, and
    a selection from the moments. Time of the processor, summed over its cores, is kept beside time
    on the clock, because other work on a machine slows the one and hardly the other.
    """
    stream = iter_two_view(
        10 * step,
        N_VARIABLES,
        N_VARIABLES,
        batch_size=min(BATCH, step),
        dtype=np.dtype(dtype),
        random_state=seed,
    )
    total: Moments | None = None
    pass_seconds, pass_cpu, rows_seen, next_stop = 0.0, 0.0, 0, step
    found: dict[str, list[Any]] = {"m": [], "pass_seconds": [], "pass_cpu_seconds": []}
    for kernel in KERNELS:
        for what in ("select_seconds", "select_cpu_seconds", "total_seconds", "total_cpu_seconds"):
            found[f"{what}_{kernel}"] = []
    for X, Y in stream:
        start, cpu = time.perf_counter(), time.process_time()
        batch = Moments.from_arrays(X, Y)
        total = batch if total is None else total + batch
        pass_seconds += time.perf_counter() - start
        pass_cpu += time.process_time() - cpu
        rows_seen += len(X)
        if rows_seen < next_stop and rows_seen < 10 * step:
            continue
        next_stop += step
        found["m"].append(rows_seen)
        found["pass_seconds"].append(pass_seconds)
        found["pass_cpu_seconds"].append(pass_cpu)
        for kernel in KERNELS:
            start, cpu = time.perf_counter(), time.process_time()
            selector = picking.paper_form(PICKS, kernel=kernel).fit_moments(total)
            seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
            found[f"select_seconds_{kernel}"].append(seconds)
            found[f"select_cpu_seconds_{kernel}"].append(cpu)
            found[f"total_seconds_{kernel}"].append(pass_seconds + seconds)
            found[f"total_cpu_seconds_{kernel}"].append(pass_cpu + cpu)
    assert total is not None
    cpu = time.process_time()
    kernels = ("linear", "poly", "rbf")
    more = {k: picking.paper_form(N_VARIABLES, kernel=k).fit_moments(total) for k in kernels}
    return {
        **found,
        "picks": selector.selected_,
        "three_kernels_100_picks_cpu_seconds": time.process_time() - cpu,
        "picked_in_all": [len(s.selected_) for s in more.values()],
        "peak_memory_mib": peak_mib(),
    }


def peak_mib() -> float:
    """Return the most memory this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform != "darwin" else peak / 2**20


def rows(records: dict[str, Record]) -> list[dict[str, Any]]:
    """Return one row a stream and number of rows."""
    return [
        {
            "dtype": record.parameters["dtype"],
            "seed": record.parameters["seed"],
            "m": m,
            **{
                key: record.results[key][i]
                for key in (
                    *("total_seconds_linear", "total_seconds_rbf"),
                    *("total_cpu_seconds_linear", "total_cpu_seconds_rbf"),
                )
            },
        }
        for record in records.values()
        if record.results
        for i, m in enumerate(record.results["m"])
    ]


def draw(records: dict[str, Record]) -> Figure | None:
    """Draw seconds against millions of rows."""
    present = [r for r in records.values() if r.results]
    if not present:
        return None
    figure, axes = panels(1, 2)
    for axis, clock, title in zip(
        axes[0], ("seconds", "cpu_seconds"), ("on the clock", "of the processor"), strict=True
    ):
        for record in present:
            style = "-" if record.parameters["dtype"] == "float64" else "--"
            for kernel, colour in zip(KERNELS, COLOURS, strict=False):
                m = np.array(record.results["m"]) / 1e6
                label = f"{kernel}, {record.parameters['dtype']}"
                y = record.results[f"total_{clock}_{kernel}"]
                axis.plot(m, y, style, marker=".", color=colour, label=label)
        axis.set(xlabel="million rows", ylabel=f"seconds {title}", ylim=(0, None))
        axis.legend(fontsize=8)
    return finish(figure)
