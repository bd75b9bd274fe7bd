"""What the defaults cost over the paper's form: conditioning pick by pick, and its products.

Every case takes ``quick`` and returns rows. Quick sizes only show that the code runs.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import data
import numpy as np
from measure import MIB, Ratio, compare, isolated, peak_extra_memory, timed
from numpy.typing import NDArray
from picking import paper_form, picks
from rows import Case, Row, ratio_row, time_ratio_row
from stream import make_file
from text import shape

from projse import ProjSe

Array = NDArray[Any]
MEASURE = "time of the default ÷ the paper's form"


def tall(quick: bool) -> list[Row]:
    m, n_x, n_y = (20_000, 40, 40) if quick else (1_000_000, 100, 100)
    return [_in_memory("default-tall", m, n_x, n_y, 10, at_most=1.35, quick=quick)]


def shortlist(quick: bool) -> list[Row]:
    m, n_x, n_y = (2_000, 700, 5) if quick else (200_000, 2000, 20)
    return [_in_memory("default-shortlist", m, n_x, n_y, 50, at_most=2.0, quick=quick)]


def _in_memory(
    case: str, m: int, n_x: int, n_y: int, n_picks: int, *, at_most: float, quick: bool
) -> Row:
    X, Y = data.regression(m, n_x, n_y)
    measured = compare(
        {
            "paper": lambda: picks(paper_form(n_picks), X, Y),
            "default": lambda: picks(ProjSe(n_picks), X, Y),
        },
        repeats=3 if quick else 7,
    )
    work = f"{shape(m, n_x, n_y)} float64, {n_picks} picks"
    return time_ratio_row(case, work, MEASURE, measured, over=("default", "paper"), at_most=at_most)


def _fit_files(make: Callable[[], ProjSe], paths: list[str]) -> float:
    return timed(lambda: make().fit_source(paths, targets="y_*"))[0]


def files(quick: bool) -> list[Row]:
    """Price from files; more picks than outputs, so that both forms need products."""
    n_files, n_each, n_columns, repeats = (4, 5_000, 40, 2) if quick else (20, 50_000, 200, 5)
    folder = Path(tempfile.mkdtemp(prefix="projse-defaults-"))
    times: dict[str, list[float]] = {"paper": [], "default": []}
    forms = {"paper": partial(paper_form, 10), "default": partial(ProjSe, 10)}
    try:
        paths = [str(folder / f"part-{i:03}.parquet") for i in range(n_files)]
        for i, path in enumerate(paths):
            make_file(path, n_each, n_columns, i)
        for _ in range(repeats):
            for name, make in forms.items():
                times[name].append(isolated(_fit_files, make, paths))
    finally:
        shutil.rmtree(folder)
    work = f"{n_files} Parquet files, {n_files * n_each // 1000}k × {n_columns} float32, 10 picks"
    seconds = {name: float(np.median(values)) for name, values in times.items()}
    ratio = Ratio.of(times["default"], times["paper"])
    return [ratio_row("default-files", work, MEASURE, ratio, at_most=2.2, seconds=seconds)]


def _wide_peak(paths: list[str], n_picks: int) -> tuple[int, int, float]:
    """Peak resident bytes of the whole process, picks and seconds."""
    usage = peak_extra_memory(lambda: ProjSe(n_picks).fit_source(paths, targets="y_*").selected_)
    return usage.total or usage.extra, len(usage.result), usage.seconds


def _write_wide(folder: Path, n_files: int, n_each: int, n_x: int, n_y: int) -> list[str]:
    """Write dense rows of doubles, in row groups as data frames of this width have them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x_{j}" for j in range(n_x)] + [f"y_{j}" for j in range(n_y)]
    mixing = np.random.default_rng(0).standard_normal((n_x // 10, n_y))
    paths = []
    for i in range(n_files):
        rng = np.random.default_rng(i + 1)
        X = rng.standard_normal((n_each, n_x))
        Y = X[:, : len(mixing)] @ mixing + rng.standard_normal((n_each, n_y))
        columns = [*X.T.copy(), *Y.T.copy()]
        paths.append(str(folder / f"wide-{i}.parquet"))
        table = pa.table(columns, names=names)
        pq.write_table(table, paths[-1], row_group_size=250, use_dictionary=False)
    return paths


def wide(quick: bool) -> list[Row]:
    n_files, n_each, n_x, n_picks = (2, 200, 800, 20) if quick else (4, 500, 20_000, 100)
    folder = Path(tempfile.mkdtemp(prefix="projse-defaults-"))
    try:
        paths = isolated(_write_wide, folder, n_files, n_each, n_x, 20)
        peak, n_found, seconds = isolated(_wide_peak, paths, n_picks)
    finally:
        shutil.rmtree(folder)
    return [
        Row(
            "default-wide",
            f"{n_files} Parquet files, {shape(n_files * n_each, n_x, 20)} float64, {n_picks} picks",
            "peak memory of the whole process",
            peak / MIB,
            unit="MiB",
            at_most=1024,
            n_runs=1,
            seconds={"projse": seconds},
            note=f"{n_found} picks found; all products would take {8e-9 * n_x**2:.1f} GB",
        )
    ]


CASES: dict[str, Case] = {
    "default-tall": tall,
    "default-shortlist": shortlist,
    "default-files": files,
    "default-wide": wide,
}
