"""Clusters: what Dask and Spark add to a fit in memory, with two workers on this machine.

An engine takes time of its own for whatever it does with a partition. A trivial task on the same
partitions measures that, and is taken off: what is left is compared with the fit in memory.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measure import Comparison, Ratio, compare, timed
from numpy.typing import NDArray
from picking import paper_form
from rows import Case, Row, ratio_row, spread_row

from projse import Moments

Array = NDArray[Any]

N_X, N_Y, N_PICKS = 100, 20, 10
WORKERS = 2


def sizes(quick: bool) -> tuple[int, int]:
    """Return the number of partitions, and of rows in each."""
    return (4, 5_000) if quick else (40, 100_000)


def candidates(block: int, rows: int) -> Array:
    return np.random.default_rng(block).standard_normal((rows, N_X))


def references(X: Array, block: int) -> Array:
    mixing = np.random.default_rng(12345).standard_normal((N_X, N_Y))
    return X @ mixing + np.random.default_rng([7, block]).standard_normal((len(X), N_Y))


def in_memory(n_blocks: int, rows: int) -> tuple[Array, Array]:
    X, Y = np.empty((n_blocks * rows, N_X)), np.empty((n_blocks * rows, N_Y))
    for i in range(n_blocks):
        part = slice(i * rows, (i + 1) * rows)
        X[part] = candidates(i, rows)
        Y[part] = references(X[part], i)
    return X, Y


def overhead_row(
    case: str,
    engine: str,
    measured: Comparison,
    n_blocks: int,
    rows: int,
    trivial: str = "trivial",
) -> Row:
    """Compare an engine's fit, less its trivial task, with the fit in memory."""
    less = [
        whole - own
        for whole, own in zip(measured.times[engine], measured.times[trivial], strict=True)
    ]
    ratio = Ratio.of(less, measured.times["memory"])
    same = np.array_equal(measured.results[engine], measured.results["memory"])
    return ratio_row(
        case,
        f"{n_blocks * rows / 1e6:g}M × {N_X} × {N_Y} float64, {N_PICKS} picks, "
        f"{n_blocks} partitions, {WORKERS} workers, {engine}",
        f"(time − a {trivial} task on the same partitions) ÷ fit in memory with 2 threads",
        ratio,
        at_most=1.5,
        seconds=measured.medians(engine, trivial, "memory"),
        note="same picks" if same else "**other picks**",
    )


def dask_case(quick: bool) -> list[Row]:
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    n_blocks, rows = sizes(quick)

    def make_x(block_info: Any = None) -> Array:
        return candidates(block_info[None]["chunk-location"][0], rows)

    def make_y(X: Array, block_info: Any = None) -> Array:
        return references(X, block_info[None]["chunk-location"][0])

    X, Y = in_memory(n_blocks, rows)
    cluster = LocalCluster(
        n_workers=WORKERS,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit=None,
    )
    with cluster, Client(cluster):
        chunks = ((rows,) * n_blocks, (N_X,))
        dX = da.map_blocks(make_x, chunks=chunks, meta=np.empty((0, 0)))
        dY = dX.map_blocks(make_y, chunks=(chunks[0], (N_Y,)), meta=np.empty((0, 0)))
        dX, dY = dask.persist(dX, dY)
        wait([dX, dY])
        measured = compare(
            {
                "memory": lambda: paper_form(N_PICKS, n_jobs=2).fit(X, Y).selected_,
                "trivial": lambda: _count_blocks(dX, dY),
                "dask": lambda: paper_form(N_PICKS).fit(dX, dY).selected_,
            },
            repeats=3 if quick else 7,
        )
    return [overhead_row("dask", "dask", measured, n_blocks, rows)]


def _count_blocks(X: Any, Y: Any) -> int:
    """Have a task look at each pair of blocks, and another add what they say."""
    import dask

    pairs = zip(X.to_delayed().ravel(), Y.to_delayed().ravel(), strict=True)
    lengths = [dask.delayed(_rows)(x, y) for x, y in pairs]
    return int(dask.delayed(sum)(lengths).compute())


def _rows(x: Array, y: Array) -> int:
    return min(len(x), len(y))


@contextmanager
def spark_session(folder: str) -> Iterator[Any]:
    """Start a session with two cores, bound to this machine."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "4g",
        "spark.local.dir": folder,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        # One partition a file.
        "spark.sql.files.maxPartitionBytes": "1g",
        "spark.sql.files.openCostInBytes": "1g",
    }
    builder = SparkSession.builder.master(f"local[{WORKERS}]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def spark_case(quick: bool) -> list[Row]:
    n_blocks, rows = sizes(quick)
    X, Y = in_memory(n_blocks, rows)
    features, targets = [f"x{j}" for j in range(N_X)], [f"y{j}" for j in range(N_Y)]

    # Inside, so that it is sent along: Spark's workers do not know this module.
    def count_rows(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        yield pa.RecordBatch.from_pydict({"n": [sum(batch.num_rows for batch in batches)]})

    with tempfile.TemporaryDirectory() as folder:
        _write_parquet(X, Y, n_blocks, features + targets, Path(folder) / "rows")
        with spark_session(folder) as spark:
            from pyspark.sql import functions as F

            df = spark.read.parquet(str(Path(folder) / "rows"))
            n_partitions = df.rdd.getNumPartitions()
            # As projse asks for them: Arrow carries two arrays more cheaply than 120 columns.
            arrays = df.select(F.array(*features).alias("x"), F.array(*targets).alias("y"))
            measured = compare(
                {
                    "memory": lambda: paper_form(N_PICKS, n_jobs=2).fit(X, Y).selected_,
                    "trivial": lambda: df.mapInArrow(count_rows, "n bigint").collect(),
                    "trivial (arrays)": lambda: arrays.mapInArrow(count_rows, "n bigint").collect(),
                    "spark": lambda: (
                        paper_form(N_PICKS)
                        .fit_spark(df, features=features, targets=targets)
                        .selected_
                    ),
                },
                repeats=1 if quick else 3,
            )
    return [
        overhead_row("spark", "spark", measured, n_partitions, rows, trivial)
        for trivial in ("trivial", "trivial (arrays)")
    ]


def _write_parquet(X: Array, Y: Array, n: int, names: list[str], folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    rows = len(X) // n
    for i in range(n):
        part = slice(i * rows, (i + 1) * rows)
        columns = [*X[part].T, *Y[part].T]
        arrays = [pa.array(np.ascontiguousarray(column)) for column in columns]
        pq.write_table(pa.table(arrays, names=names), folder / f"part-{i:03}.parquet")


def rate_case(quick: bool) -> list[Row]:
    """Measure rows a second on one core: what the cost of a large cluster is calculated from."""
    m, n_x, n_y = (2_000, 100, 20) if quick else (100_000, 1_000, 100)
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((m, n_x)), rng.standard_normal((m, n_y))
    rows = []
    for with_xx in (False, True):
        call = partial(Moments.from_arrays, X, Y, with_xx=with_xx, n_jobs=1)
        times = [timed(call)[0] for _ in range(3 if quick else 7)]
        rows.append(
            spread_row(
                "rate",
                f"{m // 1000}k × {n_x} × {n_y} float64"
                + (", with the products of the candidates" if with_xx else ""),
                "rows a second on one core",
                [m / seconds for seconds in times],
                unit="rows/s",
                seconds={"pass": float(np.median(times))},
            )
        )
    return rows


CASES: dict[str, Case] = {
    "dask": dask_case,
    "spark": spark_case,
    "rate": rate_case,
}
