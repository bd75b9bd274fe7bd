"""What tables must show: categories cost no dense indicators, and splines a few linear fits.

The files are made in a temporary folder and deleted afterwards: 10 million rows of 50 numbers and
20 categories of 100 levels each, about 5 GB. Every measurement has a process of its own.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import data
import numpy as np
from measure import GIB, MIB, compare, isolated, peak_extra_memory
from rows import Case, Row, not_run, time_ratio_row
from sklearn.preprocessing import SplineTransformer
from text import shape

from projse import ProjSe

N_TARGETS = 10
PICKS = 10
N_NUMBERS, N_FACTORS, N_LEVELS = 50, 20, 100


def make_file(path: str, n_rows: int, seed: int) -> None:
    """Write rows whose references hang on two numbers and two categories."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    effects = np.random.default_rng(0).standard_normal((2, N_LEVELS, N_TARGETS))
    X = rng.standard_normal((n_rows, N_NUMBERS))
    codes = rng.integers(0, N_LEVELS, (n_rows, N_FACTORS), dtype=np.int32)
    Y = rng.standard_normal((n_rows, N_TARGETS)) + X[:, :2] @ effects[0, :2]
    for factor in range(2):
        Y += effects[factor, codes[:, factor]]
    levels = pa.array([f"level {k:03}" for k in range(N_LEVELS)])
    columns = {f"x_{j:02}": X[:, j] for j in range(N_NUMBERS)}
    columns |= {
        f"f_{j:02}": pa.DictionaryArray.from_arrays(pa.array(codes[:, j]), levels).cast(pa.string())
        for j in range(N_FACTORS)
    }
    columns |= {f"y_{j}": Y[:, j] for j in range(N_TARGETS)}
    pq.write_table(pa.table(columns), path)


def select(paths: list[str]) -> tuple[float, int, list[int]]:
    """Seconds, peak resident bytes of the whole process, and the picks."""
    usage = peak_extra_memory(lambda: ProjSe(PICKS).fit_source(paths, targets="y_*").selected_)
    return usage.seconds, usage.total or 0, usage.result.tolist()


def factors(quick: bool) -> list[Row]:
    n_files, n_each = (2, 5_000) if quick else (20, 500_000)
    return of_size(n_files, n_each)


def of_size(n_files: int, n_each: int) -> list[Row]:
    """Measure so many files of so many rows."""
    n_rows = n_files * n_each
    work = (
        f"{n_files} Parquet files, {n_rows // 1000}k × {N_NUMBERS} numbers and {N_FACTORS} "
        f"categories of {N_LEVELS} levels, {PICKS} picks"
    )
    need = 1.3 * n_rows * 8 * (N_NUMBERS + N_TARGETS)
    folder = Path(tempfile.mkdtemp(prefix="projse-tables-"))
    try:
        if shutil.disk_usage(folder).free < need + 2 * GIB:
            why = f"{need / GIB:.0f} GiB of disk are not free"
            return [not_run("factors", work, "time and memory", why)]
        paths = [str(folder / f"part-{i:03}.parquet") for i in range(n_files)]
        for i, path in enumerate(paths):
            make_file(path, n_each, i)
        seconds, peak, picks = isolated(select, paths)
    finally:
        shutil.rmtree(folder)
    behind = {0, 1, N_NUMBERS, N_NUMBERS + 1}
    found = len(behind.intersection(picks[:4]))
    return [
        Row(
            "factors",
            work,
            "peak memory of the whole process",
            peak / MIB,
            unit="MiB",
            at_most=1024,
            n_runs=1,
            note=f"{found} of the 4 variables behind the references are the first 4 picks",
        ),
        Row(
            "factors",
            work,
            "time",
            seconds,
            unit="s",
            n_runs=1,
            note=f"{n_rows / seconds / 1e3:,.0f}k rows a second",
        ),
    ]


def splines(quick: bool) -> list[Row]:
    """Splines against a linear fit, which grows faster by itself, and against the parts by hand."""
    m, n_x, n_y = (20_000, 10, 5) if quick else (1_000_000, 50, 10)
    X, Y = data.regression(m, n_x, n_y)

    def fit(basis: str) -> Any:
        return ProjSe(PICKS, basis=basis).fit(X, Y).selected_

    def by_hand() -> Any:
        """Make the products that a selection needs, with scikit-learn and numpy."""
        encoder = SplineTransformer(n_knots=5, knots="quantile", include_bias=False)
        columns = encoder.fit_transform(X)
        columns -= columns.mean(axis=0)
        return columns.T @ columns, (Y - Y.mean(axis=0)).T @ columns

    measured = compare(
        {"linear": lambda: fit("linear"), "spline": lambda: fit("spline"), "by hand": by_hand},
        repeats=3 if quick else 5,
    )
    work = f"{shape(m, n_x, n_y)} float64, {PICKS} picks, six columns a number"
    linear: Any = {"over": ("spline", "linear"), "beside": ("spline", "linear")}
    hand: Any = {"over": ("spline", "by hand"), "beside": ("spline", "by hand")}
    measure = "time of basis='spline' ÷ "
    return [
        time_ratio_row("splines", work, measure + "'linear'", measured, **linear, at_most=8.0),
        time_ratio_row(
            "splines", work, measure + "SplineTransformer and numpy's products", measured, **hand
        ),
    ]


CASES: dict[str, Case] = {"factors": factors, "splines": splines}
