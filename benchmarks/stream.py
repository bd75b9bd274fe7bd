"""What streams must show: bounded memory, and no time beyond reading and multiplying.

The files are made in a temporary folder and deleted afterwards: 10 million rows of 200 float32
columns, about 8 GB. Every measurement has a process of its own.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from measure import GIB, MIB, Ratio, exponent, isolated, peak_extra_memory, timed
from numpy.typing import NDArray
from picking import paper_form
from rows import Case, Row, not_run, ratio_row, spread_row

Array = NDArray[Any]

N_TARGETS = 10
PICKS = 10


def names(n_columns: int) -> list[str]:
    features = [f"x_{j:03}" for j in range(n_columns - N_TARGETS)]
    return features + [f"y_{j}" for j in range(N_TARGETS)]


def make_file(path: str, n_rows: int, n_columns: int, seed: int, dictionary: bool = False) -> None:
    """Write one file; dictionaries, pyarrow's default, make files of random floats larger."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    n_x = n_columns - N_TARGETS
    mixing = np.random.default_rng(0).standard_normal((20, N_TARGETS), dtype=np.float32)
    X = rng.standard_normal((n_rows, n_x), dtype=np.float32)
    Y = X[:, :20] @ mixing + rng.standard_normal((n_rows, N_TARGETS), dtype=np.float32)
    columns = [*np.ascontiguousarray(X.T), *np.ascontiguousarray(Y.T)]
    table = pa.table(dict(zip(names(n_columns), columns, strict=True)))
    pq.write_table(table, path, use_dictionary=dictionary)


def select(paths: list[str]) -> tuple[float, int, list[int]]:
    """Seconds, peak resident bytes of the whole process, and the picks."""
    usage = peak_extra_memory(lambda: paper_form(PICKS).fit_source(paths, targets="y_*").selected_)
    return usage.seconds, usage.total or 0, usage.result.tolist()


def read_dataset(paths: list[str]) -> float:
    """Read all columns with pyarrow's dataset scanner, and throw them away."""
    import pyarrow.dataset as ds

    def read() -> int:
        return sum(batch.num_rows for batch in ds.dataset(paths).to_batches())

    return timed(read)[0]


def read_files(paths: list[str], **options: Any) -> float:
    """Read all columns file by file, in batches, and throw them away."""
    import pyarrow.parquet as pq

    def read() -> int:
        return sum(
            batch.num_rows
            for path in paths
            for batch in pq.ParquetFile(path, **options).iter_batches(40_000)
        )

    return timed(read)[0]


def read_buffered(paths: list[str]) -> float:
    """Read the way projse does: not pyarrow's default, but faster where files are in cache."""
    return read_files(paths, buffer_size=1 << 18, pre_buffer=False)


def fit_in_memory(paths: list[str], n_rows: int, n_columns: int, repeats: int) -> Any:
    """Load everything, then time whole fits."""
    import pyarrow.parquet as pq

    n_x = n_columns - N_TARGETS
    X = np.empty((n_rows, n_x), dtype=np.float32)
    Y = np.empty((n_rows, N_TARGETS), dtype=np.float32)
    start = 0
    for path in paths:
        for batch in pq.ParquetFile(path).iter_batches(20_000):
            stop = start + batch.num_rows
            block = np.column_stack([column.to_numpy() for column in batch.columns])
            X[start:stop], Y[start:stop] = block[:, :n_x], block[:, n_x:]
            start = stop
    results = [
        timed(lambda: paper_form(PICKS).fit(X, Y).selected_.tolist()) for _ in range(repeats)
    ]
    return [seconds for seconds, _ in results], results[0][1]


def parquet(quick: bool) -> list[Row]:
    n_files, n_each, n_columns, repeats = (4, 5_000, 40, 2) if quick else (20, 500_000, 200, 3)
    n_rows = n_files * n_each
    work = f"{n_files} Parquet files, {n_rows // 1000}k × {n_columns} float32, {PICKS} picks"
    need = 1.3 * n_rows * n_columns * 4
    folder = Path(tempfile.mkdtemp(prefix="projse-stream-"))
    try:
        if shutil.disk_usage(folder).free < need + 2 * GIB:
            why = f"{need / GIB:.0f} GiB of disk are not free"
            return [not_run("parquet", work, "time and memory", why)]
        paths = [str(folder / f"part-{i:03}.parquet") for i in range(n_files)]
        for i, path in enumerate(paths):
            make_file(path, n_each, n_columns, i)
        fits, in_memory = isolated(fit_in_memory, paths, n_rows, n_columns, repeats)
        fit = float(np.median(fits))
        readings: dict[str, list[float]] = {"dataset": [], "files": []}
        buffered = []
        streams, peaks = [], []
        picks: list[int] = []
        for _ in range(repeats):
            readings["dataset"].append(isolated(read_dataset, paths))
            readings["files"].append(isolated(read_files, paths))
            buffered.append(isolated(read_buffered, paths))
            seconds, peak, picks = isolated(select, paths)
            streams.append(seconds)
            peaks.append(peak)
        best = min(readings, key=lambda how: float(np.median(readings[how])))
        sizes = [n_files // 4, n_files // 2, n_files]
        slopes = []
        for _ in range(max(repeats - 2, 1)):
            times = [isolated(select, paths[:n])[0] for n in sizes]
            slopes.append(exponent(sizes, times))
        coded = [str(folder / f"coded-{i}.parquet") for i in range(2)]
        for i, path in enumerate(coded):
            make_file(path, n_each, n_columns, i, dictionary=True)
        _, coded_peak, _ = isolated(select, coded)
    finally:
        shutil.rmtree(folder)
    ratio = Ratio.of(streams, [reading + fit for reading in readings[best]])
    strict = Ratio.of(streams, [reading + fit for reading in buffered])
    same = "the same picks" if picks == in_memory else "OTHER PICKS"
    return [
        ratio_row(
            "parquet",
            work,
            "time ÷ (pyarrow reading and discarding + fit in memory)",
            ratio,
            at_most=1.15,
            seconds={
                "projse": float(np.median(streams)),
                "reading, dataset": float(np.median(readings["dataset"])),
                "reading, file by file": float(np.median(readings["files"])),
                "fit in memory": fit,
            },
            note=f"{same} as in memory; the faster of pyarrow's two ways of reading counts",
        ),
        ratio_row(
            "parquet",
            work,
            "time ÷ (pyarrow reading as projse does + fit in memory)",
            strict,
            seconds={"reading, buffered": float(np.median(buffered))},
            note="with buffered reading, which is not pyarrow's default",
        ),
        Row(
            "parquet",
            work,
            "peak memory of the whole process",
            max(peaks) / MIB,
            unit="MiB",
            at_most=667,  # 700 MB
            n_runs=len(peaks),
            low=min(peaks) / MIB,
            high=max(peaks) / MIB,
            note="the highest of all runs",
        ),
        Row(
            "parquet",
            f"2 such files with dictionaries, row groups of {n_each // 1000}k rows",
            "peak memory of the whole process",
            coded_peak / MIB,
            unit="MiB",
            n_runs=1,
            note="pyarrow holds a dictionary and two pages of 1 MB for every column at once",
        ),
        spread_row(
            "parquet",
            f"{sizes[0]} to {sizes[-1]} such files",
            "exponent of time in the number of files",
            slopes,
            unit="exponent",
            at_most=1.05,
        ),
    ]


CASES: dict[str, Case] = {"parquet": parquet}
