"""Sources: whatever holds the rows, the picks and scores are those of arrays in memory."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from agreement import check
from day_files import NAMES, TARGETS, planted_table, small_chunks
from processes import without
from table_files import (
    dataset,
    hive,
    hive_dataset,
    npy,
    write_arrow_stream,
    write_csv,
    write_csv_gz,
    write_feather,
    write_glob,
    write_list,
    write_many,
    write_mixed,
    write_parquet,
    write_tsv,
)
from variants import slow

from projse import ProjSe
from projse.sources.parts import import_arrow

duckdb = pytest.importorskip("duckdb")


# Every kind of source


def duckdb_file(t, folder):
    return duckdb.connect().sql(f"SELECT * FROM '{write_parquet(t, folder)}'")


def duckdb_frame(t, folder):
    frame = t.to_pandas()
    connection = duckdb.connect()
    connection.register("frame", frame)
    return connection.sql("SELECT * FROM frame")


def pandas_with_index(t, folder):
    frame = t.to_pandas()
    return frame.set_index(pd.Index(np.arange(len(frame)) * 2.5, name="when"))


def parquet_with_index(t, folder):
    frame = pandas_with_index(t, folder).rename_axis(None)
    frame.to_parquet(folder / "a.parquet")
    assert "__index_level_0__" in pq.read_schema(folder / "a.parquet").names
    return folder


NAMED = {
    "parquet": write_parquet,
    "folder": write_many,
    "glob": write_glob,
    "list": write_list,
    "feather": write_feather,
    "arrow stream": write_arrow_stream,
    "csv": write_csv,
    "csv.gz": write_csv_gz,
    "tsv": write_tsv,
    "mixed": write_mixed,
    "hive": hive,
    "dataset": dataset,
    "hive dataset": hive_dataset,
    "memory dataset": lambda t, _: ds.dataset(t),
    "pandas": lambda t, _: t.to_pandas(),
    "pandas, index": pandas_with_index,
    "parquet, index": parquet_with_index,
    "polars": lambda t, _: pl.from_arrow(t),
    "polars, lazy": lambda t, _: pl.from_arrow(t).lazy(),
    "polars, scan": lambda t, folder: pl.scan_parquet(write_parquet(t, folder)),
    "duckdb, file": duckdb_file,
    "duckdb, frame": duckdb_frame,
    "table": lambda t, _: t,
    "reader": lambda t, _: t.to_reader(max_chunksize=41),
    "batch": lambda t, _: t.combine_chunks().to_batches()[0],
    "batches": lambda t, _: iter(t.to_batches(max_chunksize=23)),
    "frames": lambda t, _: (pl.from_arrow(t.slice(i, 29)) for i in range(0, t.num_rows, 29)),
}


@pytest.mark.parametrize("kind", NAMED)
@pytest.mark.parametrize("rows", [64, *slow(None)])
def test_picks_and_scores_are_those_of_arrays(seed, tmp_path, monkeypatch, kind, rows):
    if rows is not None:
        small_chunks(monkeypatch, rows)
    X, Y, t = planted_table(seed)
    want = ProjSe(5).fit(X, Y)
    selector = ProjSe(5).fit_source(NAMED[kind](t, tmp_path), targets="y_*")
    check(selector, want, rtol=1e-10, atol=1e-10)
    assert selector.feature_names_in_.tolist() == NAMES
    assert selector.moments_.target_names == tuple(TARGETS)
    assert selector.moments_.n_samples == len(X)
    np.testing.assert_allclose(selector.pvalues_, want.pvalues_, rtol=1e-8)


def npy_fortran(X, Y, folder):
    np.save(folder / "a.npy", np.asfortranarray(np.hstack([X, Y])))
    return {"source": folder, "targets": ["8", "9", "1?"]}


def npy_pair(X, Y, folder):
    np.save(folder / "X.npy", X)
    np.save(folder / "Y.npy", Y)
    return {"source": (folder / "X.npy", folder / "Y.npy")}


def memory_maps(X, Y, folder):
    npy_pair(X, Y, folder)
    return {"source": tuple(np.load(folder / f"{n}.npy", mmap_mode="r") for n in "XY")}


def batches(size):
    def make(X, Y, _):
        cuts = range(0, len(X), size)
        return {"source": ((X[i : i + size], Y[i : i + size]) for i in cuts)}

    return make


def frames(X, Y, _):
    pairs = ((X[i : i + 50], Y[i : i + 50]) for i in range(0, len(X), 50))
    return {"source": [(pd.DataFrame(x).add_prefix("x"), pd.DataFrame(y)) for x, y in pairs]}


PLAIN = {
    "npy": npy,
    "npy, Fortran": npy_fortran,
    "npy pair": npy_pair,
    "memory maps": memory_maps,
    "arrays": lambda X, Y, _: {"source": (X, Y)},
    "batches of 1": batches(1),
    "batches of 7": batches(7),
    "batches of 1000": batches(1000),
    "frames": frames,
    "sparse batches": lambda X, Y, _: {
        "source": [(sp_csr(X[:100]), Y[:100]), (sp_csr(X[100:]), Y[100:])]
    },
}


def sp_csr(A):
    import scipy.sparse as sp

    return sp.csr_array(A)


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize("rows", [None, 64])
def test_arrays_maps_and_batches_give_the_same(seed, tmp_path, monkeypatch, kind, rows):
    if rows is not None:
        small_chunks(monkeypatch, rows)
    X, Y, _ = planted_table(seed)
    selector = ProjSe(5).fit_source(**PLAIN[kind](X, Y, tmp_path))
    check(selector, ProjSe(5).fit(X, Y), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_other_kernels_and_one_view(seed, tmp_path, kernel):
    X, Y, t = planted_table(seed)
    source = write_many(t, tmp_path)
    two = ProjSe(3, kernel=kernel).fit_source(source, targets=TARGETS)
    check(two, ProjSe(3, kernel=kernel).fit(X, Y), rtol=1e-9)
    one = ProjSe(4, kernel=kernel).fit_source(source, features="x_*")
    check(one, ProjSe(4, kernel=kernel).fit(X), rtol=1e-9)


# Without pyarrow


def test_arrays_maps_and_batches_need_no_pyarrow(tmp_path):
    code = (
        without(["pyarrow", "pandas", "polars"]) + "import numpy as np\n"
        "from projse import ProjSe, moments_from\n"
        "X = np.random.default_rng(0).normal(size=(50, 4)); Y = X[:, :2] + 1\n"
        "np.save('a.npy', np.hstack([X, Y]))\n"
        "ProjSe(2).fit_source((X, Y)); ProjSe(2).fit_source([(X, Y), (X, Y)])\n"
        "ProjSe(2).fit_source('a.npy', targets=[4, 5], state='state')\n"
        "try:\n    moments_from('a.parquet')\nexcept ImportError as error: print(error)\n"
    )
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert 'pip install "projse-select[arrow]"' in done.stdout


def test_a_pyarrow_that_cannot_be_loaded_is_not_said_to_be_missing(monkeypatch, tmp_path):
    (tmp_path / "pyarrow.py").write_text("raise ImportError('failed to map segment')")
    monkeypatch.delitem(sys.modules, "pyarrow")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"cannot be loaded \(failed to map segment\).*memory"):
        import_arrow()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="pip install"):
        import_arrow()
