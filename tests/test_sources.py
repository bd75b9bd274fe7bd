"""Sources: whatever holds the rows, the picks and scores are those of arrays in memory."""

from __future__ import annotations

import decimal
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from agreement import check
from planted import planted, planted_labels

import projse.sources.batches
from projse import Moments, ProjSe, SourceError, moments_from
from projse.sources import open_source
from projse.sources.columns import Columns, Request, check_same
from projse.sources.parts import Reading

duckdb = pytest.importorskip("duckdb")

N_X, N_Y = 8, 3
NAMES = [f"x_{j}" for j in range(N_X)]
TARGETS = [f"y_{j}" for j in range(N_Y)]


def table(seed, n_samples=240):
    X, Y = planted(seed, n_samples)
    columns = dict(zip([*NAMES, *TARGETS], [*X.T, *Y.T], strict=True))
    return X, Y, pa.table(columns)


def small_chunks(monkeypatch, rows):
    monkeypatch.setattr(projse.sources.batches, "CHUNK_ROWS", (rows, rows))


# Every kind of source


def write_parquet(t, folder):
    pq.write_table(t, folder / "a.parquet", row_group_size=50)
    return folder / "a.parquet"


def write_many(t, folder):
    (folder / "deep" / "er").mkdir(parents=True)
    cuts = [0, 1, 100, 170, t.num_rows]
    places = ["b.parquet", "deep/a.parquet", "deep/er/z.pq", "c.parquet"]
    for place, start, stop in zip(places, cuts, cuts[1:], strict=False):
        pq.write_table(t.slice(start, stop - start), folder / place)
    return folder


def write_glob(t, folder):
    return os.path.join(write_many(t, folder), "**", "*")


def write_list(t, folder):
    write_many(t, folder)
    return [folder / "c.parquet", str(folder / "deep"), folder / "b.parquet", folder / "b.parquet"]


def write_feather(t, folder):
    feather.write_feather(t, folder / "a.feather", chunksize=37)
    return folder / "a.feather"


def write_arrow_stream(t, folder):
    with pa.OSFile(str(folder / "a.arrows"), "wb") as sink, pa.ipc.new_stream(sink, t.schema) as w:
        w.write_table(t, max_chunksize=31)
    return folder / "a.arrows"


def write_csv(t, folder):
    pacsv.write_csv(t, folder / "a.csv")
    return folder / "a.csv"


def write_csv_gz(t, folder):
    t.to_pandas().to_csv(folder / "a.csv.gz", index=False)
    return folder / "a.csv.gz"


def write_tsv(t, folder):
    t.to_pandas().to_csv(folder / "a.tsv", index=False, sep="\t")
    return folder / "a.tsv"


def write_mixed(t, folder):
    write_parquet(t.slice(0, 90), folder)
    write_csv(t.slice(90, 80), folder)
    write_feather(t.slice(170), folder)
    return folder


def hive(t, folder):
    days = pa.array(["2026-11-01", "2026-11-02"] * (t.num_rows // 2))
    pq.write_to_dataset(t.append_column("day", days), folder, partition_cols=["day"])
    return folder


def dataset(t, folder):
    return ds.dataset(write_many(t, folder), format="parquet")


def hive_dataset(t, folder):
    return ds.dataset(hive(t, folder), format="parquet", partitioning="hive")


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
@pytest.mark.parametrize("rows", [None, 64])
def test_picks_and_scores_are_those_of_arrays(seed, tmp_path, monkeypatch, kind, rows):
    if rows is not None:
        small_chunks(monkeypatch, rows)
    X, Y, t = table(seed)
    want = ProjSe(5).fit(X, Y)
    selector = ProjSe(5).fit_source(NAMED[kind](t, tmp_path), targets="y_*")
    check(selector, want, rtol=1e-10, atol=1e-10)
    assert selector.feature_names_in_.tolist() == NAMES
    assert selector.moments_.target_names == tuple(TARGETS)
    assert selector.moments_.n_samples == len(X)
    np.testing.assert_allclose(selector.pvalues_, want.pvalues_, rtol=1e-8)


def npy(X, Y, folder):
    np.save(folder / "a.npy", np.hstack([X, Y]))
    return {"source": folder / "a.npy", "targets": [N_X + j for j in range(N_Y)]}


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
    X, Y, _ = table(seed)
    selector = ProjSe(5).fit_source(**PLAIN[kind](X, Y, tmp_path))
    check(selector, ProjSe(5).fit(X, Y), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_other_kernels_and_one_view(seed, tmp_path, kernel):
    X, Y, t = table(seed)
    source = write_many(t, tmp_path)
    two = ProjSe(3, kernel=kernel).fit_source(source, targets=TARGETS)
    check(two, ProjSe(3, kernel=kernel).fit(X, Y), rtol=1e-9)
    one = ProjSe(4, kernel=kernel).fit_source(source, features="x_*")
    check(one, ProjSe(4, kernel=kernel).fit(X), rtol=1e-9)


# Columns


def test_columns_by_name_pattern_and_default(seed):
    X, Y, t = table(seed)
    moments = moments_from(t, targets=["y_1", "y_0"], features=["x_3", "x_[01]"])
    assert moments.feature_names == ("x_3", "x_0", "x_1")
    assert moments.target_names == ("y_1", "y_0")
    want = Moments.from_arrays(X[:, [3, 0, 1]], Y[:, [1, 0]])
    np.testing.assert_allclose(moments.yx, want.yx, rtol=1e-10, atol=1e-10 * np.abs(want.yx).max())
    rest = moments_from(t, targets="y_*", exclude=["x_2", "x_5"], weight=None)
    assert rest.feature_names == tuple(n for n in NAMES if n not in ("x_2", "x_5"))
    everything = moments_from(t, targets="y_0", features="*")
    assert everything.feature_names == (*NAMES, "y_1", "y_2")


def test_a_name_that_looks_like_a_pattern_is_the_name():
    t = pa.table({"a[0]": [1.0, 2.0, 4.0], "a0": [2.0, 1.0, 5.0], "y": [1.0, 0.5, 0.0]})
    assert moments_from(t, targets="y", features="a[0]").feature_names == ("a[0]",)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"targets": "y_9"}, ["'y_9'", "targets", "Did you mean", "'y_"]),
        ({"targets": "z*"}, ["matches 'z*'", "It has", "'x_0'"]),
        ({"targets": "y_*", "features": "nope"}, ["'nope'", "features"]),
        ({"targets": "y_*", "exclude": "nope"}, ["'nope'", "exclude"]),
        ({"targets": "y_*", "weight": "nope"}, ["'nope'", "weight"]),
        ({"class_target": "x_?"}, ["'x_?'", "class_target"]),
        ({"targets": "y_*", "features": ["x_1", "y_0"]}, ["'y_0'", "at once"]),
        ({"targets": "y_*", "exclude": "x_*"}, ["no numeric column left"]),
    ],
)
def test_columns_that_are_not_there_are_named(tmp_path, options, words):
    _, _, t = table(0)
    path = write_parquet(t, tmp_path)
    with pytest.raises(SourceError) as caught:
        moments_from(path, **options)
    for word in [*words, "a.parquet"]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"targets": "y_*", "class_target": "x_1"}, ValueError),
        ({"targets": "y_*", "missing": "guess"}, ValueError),
        ({"targets": "y_*", "target_type": "guess"}, ValueError),
        ({"targets": "y_*", "features": []}, ValueError),
        ({"targets": 1.5}, TypeError),
        ({"targets": "y_*", "weight": ["x_1", "x_2"]}, ValueError),
        ({"targets": "y_*", "with_xx": "maybe"}, ValueError),
        ({"targets": "y_*", "format": "parquet"}, ValueError),
        ({"targets": "y_*", "state": "folder"}, ValueError),
        ({"targets": "y_*", "state_by": "moon"}, ValueError),
        ({"targets": "y_*", "n_jobs": 0}, ValueError),
    ],
)
def test_options_that_make_no_sense_are_refused(options, error):
    with pytest.raises(error):
        moments_from(table(0)[2], **options)


def test_sources_that_make_no_sense_are_refused(tmp_path):
    for source in (7, {"a": [1]}, np.ones((3, 2)), iter([1, 2])):
        with pytest.raises(TypeError, match=r"pass a path|must yield"):
            moments_from(source, targets="y")
    for source in (tmp_path / "nowhere", tmp_path / "*.parquet", tmp_path, iter([])):
        with pytest.raises(SourceError):
            moments_from(source, targets="y")
    with pytest.raises(SourceError, match="dataset"):
        moments_from("s3://bucket/data", targets="y")
    (tmp_path / "mystery").write_bytes(b"????????")
    with pytest.raises(SourceError, match="format"):
        moments_from(tmp_path / "mystery", targets="y")
    with pytest.raises(ValueError, match="no column names"):
        moments_from((np.ones((3, 2)), np.ones(3)), targets="y")
    with pytest.raises(SourceError, match="different numbers of rows"):
        moments_from((np.ones((3, 2)), np.ones(4)))


def test_files_are_known_by_their_first_bytes_or_by_the_format_given(seed, tmp_path):
    _, _, t = table(seed)
    pq.write_table(t, tmp_path / "one")
    feather.write_feather(t, tmp_path / "two")
    pacsv.write_csv(t, tmp_path / "three.txt")
    for name, options in {"one": {}, "two": {}, "three.txt": {"format": "csv"}}.items():
        moments = moments_from(tmp_path / name, targets="y_*", **options)
        assert moments.n_samples == t.num_rows
    assert len(open_source(tmp_path, format="parquet")) == 3


def test_hidden_files_and_folders_are_not_data(tmp_path):
    _, _, t = table(0)
    write_parquet(t, tmp_path)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".hidden.parquet").write_bytes(b"x")
    (tmp_path / "_state").mkdir()
    (tmp_path / "_state" / "x.parquet").write_bytes(b"x")
    (tmp_path / "notes.txt").write_text("x")
    assert [os.path.basename(part.path) for part in open_source(tmp_path)] == ["a.parquet"]


@pytest.mark.parametrize("folder", ["plain", "old.tsv.d", "x.tsv"])
@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "CSV.GZ", "tsv", "tsv.gz", "tsv.csv"])
def test_only_a_files_own_suffix_says_what_separates_its_columns(seed, tmp_path, folder, suffix):
    X, Y, t = table(seed)
    (tmp_path / folder).mkdir()
    path = tmp_path / folder / f"a.{suffix}"
    separator = "\t" if suffix.removesuffix(".gz").endswith("tsv") else ","
    t.to_pandas().to_csv(
        path,
        index=False,
        sep=separator,
        compression="gzip" if suffix.lower().endswith("gz") else None,
    )
    selector = ProjSe(3).fit_source(path, targets="y_*")
    assert selector.selected_.tolist() == ProjSe(3).fit(X, Y).selected_.tolist()


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are Unicode there")
@pytest.mark.parametrize("kind", ["parquet", "feather", "arrows", "csv", "csv.gz", "tsv", "npy"])
def test_a_file_may_have_a_name_that_is_not_utf8(seed, tmp_path, kind):
    X, Y, t = table(seed)
    write = {
        "parquet": write_parquet,
        "feather": write_feather,
        "arrows": write_arrow_stream,
        "csv": write_csv,
        "csv.gz": write_csv_gz,
        "tsv": write_tsv,
        "npy": lambda t, folder: npy(X, Y, folder)["source"],
    }[kind]
    folder = tmp_path / os.fsdecode(b"t\xfcr")
    folder.mkdir()
    write(t, tmp_path).rename(folder / os.fsdecode(b"na\xefve." + kind.encode()))
    targets = [N_X + j for j in range(N_Y)] if kind == "npy" else "y_*"
    for source in (folder, f"{folder}/*", f"{folder}/**"):
        assert moments_from(source, targets=targets).n_samples == len(X)
    state = tmp_path / "state"
    for _ in range(2):
        assert moments_from(source, targets=targets, state=state).n_samples == len(X)


def test_a_header_that_is_not_utf8_is_named_with_its_file(tmp_path):
    path = tmp_path / "old.csv"
    path.write_bytes("größe,y\n1,2\n3,5\n".encode("latin-1"))
    with pytest.raises(SourceError, match=r"old\.csv.*not UTF-8.*gr\\xf6\\xdfe") as caught:
        moments_from(path, targets="y")
    assert "\n" not in str(caught.value)


class CountedName(str):
    """A name that counts how often it was compared."""

    __slots__ = ()
    __hash__ = str.__hash__
    n_compared = 0

    def __eq__(self, other):
        CountedName.n_compared += 1
        return str.__eq__(self, other)


def test_names_of_columns_are_looked_up_and_not_searched_for(tmp_path, monkeypatch):
    n = 300
    names = [f"x_{j}" for j in range(n)]
    path = tmp_path / "a.csv"
    path.write_text(f"{','.join(names)}\n{','.join(['1'] * n)}\n")
    (part,) = open_source(path)
    columns = Columns(tuple(map(CountedName, names)))
    monkeypatch.setattr(CountedName, "n_compared", 0)
    check_same(columns, part.fields(), Request.of(), "a.csv")
    (rows,) = part.rows(Reading(columns))
    assert rows.X.shape == (1, n)
    assert CountedName.n_compared < 20 * n


def count(source, **options):
    return moments_from(source, targets="y_*", **options).n_samples


def shapes_of(folder):
    """Name the files of a folder as a folder, as globs, and as lists of all that."""
    return {
        "folder": folder,
        "glob": f"{folder}/*",
        "recursive glob": f"{folder}/**",
        "recursive glob of files": f"{folder}/**/*.parquet",
        "list": [folder, f"{folder}/**/*.parquet", *sorted(folder.glob("*.parquet"))],
    }


@pytest.mark.parametrize("shape", shapes_of(Path()))
@pytest.mark.parametrize("link", ["file", "folder", "hard", "hidden target"])
def test_a_file_behind_links_counts_once(seed, tmp_path, shape, link):
    t = table(seed)[2]
    folder = tmp_path / "days"
    place = folder / ("_archive" if link == "hidden target" else "d")
    place.mkdir(parents=True)
    pq.write_table(t, place / "d00.parquet")
    if link == "file":
        (folder / "a.parquet").symlink_to(place / "d00.parquet")
        (folder / "latest.parquet").symlink_to("a.parquet")
    elif link == "hard":
        os.link(place / "d00.parquet", folder / "a.parquet")
        os.link(place / "d00.parquet", folder / "z.parquet")
    else:
        (folder / "a").symlink_to(place)
        (folder / "z").symlink_to("a")
    assert count(shapes_of(folder)[shape]) == t.num_rows
    if link in ("file", "folder"):
        (part,) = open_source(shapes_of(folder)["folder"])
        assert part.path == str(place / "d00.parquet")


@pytest.mark.parametrize("shape", shapes_of(Path()))
def test_links_that_go_in_circles_end(seed, tmp_path, shape):
    # With two circles in a folder, following them doubles the paths at each of forty levels.
    t = table(seed)[2]
    folder = tmp_path / "days"
    (folder / "deep").mkdir(parents=True)
    pq.write_table(t, folder / "d00.parquet")
    for name, target in {"here": ".", "again": ".", "deep/up": "..", "self": "self"}.items():
        (folder / name).symlink_to(target)
    if shape in ("glob", "recursive glob"):
        (folder / "self").unlink()  # these name it, and it is nothing to read
    assert count(shapes_of(folder)[shape]) == t.num_rows


def test_a_link_to_a_partition_counts_once_with_the_values_of_its_own_name(seed, tmp_path):
    t = table(seed)[2]
    for day in (1, 2):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(t.slice(120 * (day - 1), 120), tmp_path / f"day={day}" / "a.parquet")
    (tmp_path / "day=0").symlink_to("day=2")
    inside = tmp_path / "day=1" / "a.parquet"
    for source in (tmp_path, [inside, tmp_path], [tmp_path, inside]):
        moments = moments_from(source, features="x_*", class_target="day")
        assert moments.classes.tolist() == [1, 2]
        assert moments.n_samples == t.num_rows


def test_different_files_of_the_same_content_both_count(seed, tmp_path):
    t = table(seed)[2]
    for name in "ab":
        pq.write_table(t, tmp_path / f"{name}.parquet")
    assert count(tmp_path) == 2 * t.num_rows


def test_only_the_columns_needed_are_read(tmp_path):
    _, _, t = table(0)
    path = tmp_path / "a.parquet"
    pq.write_table(t, path, compression="none", use_dictionary=False)
    metadata = pq.read_metadata(path).row_group(0)
    column = next(
        metadata.column(j)
        for j in range(metadata.num_columns)
        if metadata.column(j).path_in_schema == "x_7"
    )
    damaged = bytearray(path.read_bytes())
    start = column.data_page_offset
    damaged[start : start + 20] = b"\xff" * 20
    path.write_bytes(damaged)
    assert moments_from(path, targets="y_*", exclude="x_7").n_samples == t.num_rows
    with pytest.raises(SourceError, match=r"a\.parquet"):
        moments_from(path, targets="y_*")


def test_partition_columns_are_labels_or_features_only_when_asked_for(seed, tmp_path):
    X, codes = planted_labels(seed, 240)
    t = pa.table(dict(zip(NAMES, X.T, strict=True)))
    names = np.array(["one", "two", "three"])[codes]
    pq.write_to_dataset(t.append_column("kind", pa.array(names)), tmp_path, partition_cols=["kind"])
    selector = ProjSe(2).fit_source(tmp_path, class_target="kind")
    check(selector, ProjSe(2).fit(X, names), rtol=1e-10)
    assert moments_from(tmp_path, features="*", numeric_only=True).n_x == N_X
    numbered = tmp_path.parent / f"{tmp_path.name}-numbers"
    pq.write_to_dataset(t.append_column("year", pa.array(codes)), numbered, partition_cols=["year"])
    assert moments_from(numbered, targets="x_0").n_x == N_X - 1
    moments = moments_from(numbered, targets="x_0", features=["x_1", "year"])
    np.testing.assert_allclose(moments.x_mean[1], codes.mean())


# Types


def test_every_type_of_number_is_read(seed):
    rng = np.random.default_rng(seed)
    whole = rng.integers(0, 100, size=(300, 8))
    numbers = rng.normal(size=(300, 3)).astype(np.float16)
    dictionary = pa.array(whole[:, 3].astype(np.int32)).dictionary_encode()
    columns = {
        "int8": pa.array(whole[:, 0], pa.int8()),
        "uint16": pa.array(whole[:, 1], pa.uint16()),
        "int64": pa.array(whole[:, 2], pa.int64()),
        "dictionary": dictionary,
        "bool": pa.array(whole[:, 4] > 50),
        "decimal": pa.array(
            [decimal.Decimal(int(v)) / 4 for v in whole[:, 5]], pa.decimal128(9, 2)
        ),
        "half": pa.array(numbers[:, 0], pa.float16()),
        "float": pa.array(numbers[:, 1].astype(np.float32)),
        "run": pa.RunEndEncodedArray.from_arrays(
            pa.array([100, 300], pa.int32()), pa.array([1.5, -2.0])
        ),
        "y": pa.array(numbers[:, 2].astype(np.float64)),
    }
    X = np.column_stack(
        [
            *whole[:, :4].T,
            whole[:, 4] > 50,
            whole[:, 5] / 4,
            numbers[:, 0],
            numbers[:, 1],
            np.repeat([1.5, -2.0], [100, 200]),
        ]
    ).astype(np.float64)
    moments = moments_from(pa.table(columns), targets="y")
    want = Moments.from_arrays(X, numbers[:, 2].astype(np.float64))
    np.testing.assert_allclose(moments.x_mean, want.x_mean, rtol=1e-12)
    np.testing.assert_allclose(moments.xx, want.xx, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_narrow_floats_are_multiplied_in_float32(seed, dtype):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(100, 3)).astype(dtype), rng.normal(size=100).astype(dtype)
    t = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
    assert moments_from(t, targets="y").eps == np.finfo(np.float32).eps
    wide = t.set_column(0, "a", pa.array(X[:, 0].astype(np.float64)))
    assert moments_from(wide, targets="y").eps == np.finfo(np.float64).eps


def test_strings_among_the_features_are_refused_by_name_or_left_out(tmp_path):
    _, _, t = table(0)
    t = t.append_column("city", pa.array(["a", "b"] * 120))
    t = t.append_column("when", pa.array([0] * 240, pa.timestamp("ms")))
    path = write_parquet(t, tmp_path)
    with pytest.raises(SourceError) as caught:
        moments_from(path, targets="y_*")
    for word in ("'city' (string)", "'when' (timestamp[ms])", "numeric_only=True", "a.parquet"):
        assert word in str(caught.value)
    assert moments_from(path, targets="y_*", numeric_only=True).feature_names == tuple(NAMES)
    with pytest.raises(SourceError, match=r"'city'.*class_target"):
        moments_from(path, targets=["city", "y_0"])
    with pytest.raises(SourceError, match="cannot be class labels"):
        moments_from(path, class_target="when", numeric_only=True)
    with pytest.raises(SourceError, match="weight 'city'"):
        moments_from(path, targets="y_*", weight="city", numeric_only=True)


def test_columns_of_the_same_name_are_refused(tmp_path):
    t = pa.Table.from_arrays([pa.array([1.0, 2.0])] * 3, names=["a", "a", "y"])
    with pytest.raises(SourceError, match="several columns called 'a'"):
        moments_from(t, targets="y")


# Labels


LABELS = {
    "text": lambda codes: pa.array(np.array(["ä", "bb", "c"])[codes]),
    "large text": lambda codes: pa.array(np.array(["ä", "bb", "c"])[codes], pa.large_string()),
    "dictionary": lambda codes: pa.array(np.array(["ä", "bb", "c"])[codes]).dictionary_encode(),
    "int": lambda codes: pa.array(codes * 10 - 5),
    "bool": lambda codes: pa.array(codes == 1),
    "float": lambda codes: pa.array(codes * 2.0),
}


@pytest.mark.parametrize("kind", LABELS)
def test_class_labels_of_every_type(seed, tmp_path, monkeypatch, kind):
    small_chunks(monkeypatch, 50)
    X, codes = planted_labels(seed, 240)
    labels = LABELS[kind](codes)
    t = pa.table(dict(zip(NAMES, X.T, strict=True))).append_column("label", labels)
    source = write_many(t, tmp_path)
    selector = ProjSe(1 if kind == "bool" else 2).fit_source(source, class_target="label")
    plain = np.array(labels.to_pylist())
    want = ProjSe(len(selector.selected_), target_type="class").fit(X, plain)
    check(selector, want, rtol=1e-10)
    assert selector.moments_.classes.tolist() == sorted(set(plain.tolist()))
    if kind != "float":  # what target_type="auto" takes for labels
        auto = moments_from(source, targets="label")
        assert auto.classes.tolist() == selector.moments_.classes.tolist()
    else:
        assert moments_from(source, targets="label").classes is None


def test_the_set_of_classes_grows_from_batch_to_batch(seed, tmp_path, monkeypatch):
    small_chunks(monkeypatch, 16)
    X, codes = planted_labels(seed, 240)
    order = np.argsort(codes, kind="stable")[::-1]  # the last class first
    t = pa.table(dict(zip(NAMES, X[order].T, strict=True)))
    t = t.append_column("label", pa.array([f"class {c}" for c in codes[order]]))
    selector = ProjSe(2).fit_source(write_many(t, tmp_path), class_target="label")
    check(selector, ProjSe(2).fit(X, [f"class {c}" for c in codes]), rtol=1e-10)


def test_one_column_of_labels_at_a_time():
    _, _, t = table(0)
    with pytest.raises(SourceError, match="one column of labels"):
        moments_from(t, targets="y_*", target_type="class")


# Missing values and weights


def with_holes(seed):
    X, Y, _ = table(seed)
    rng = np.random.default_rng(seed)
    X, Y = X.copy(), Y.copy()
    X[rng.choice(240, 9, replace=False), 1] = np.nan
    Y[rng.choice(240, 5, replace=False), 2] = np.nan
    return X, Y, np.isfinite(X).all(axis=1) & np.isfinite(Y).all(axis=1)


@pytest.mark.parametrize("nulls", [True, False])
def test_missing_values_are_refused_with_columns_and_counts(seed, tmp_path, monkeypatch, nulls):
    small_chunks(monkeypatch, 32)
    X, Y, _ = with_holes(seed)
    columns = {
        name: pa.array(values, from_pandas=nulls)
        for name, values in zip([*NAMES, *TARGETS], [*X.T, *Y.T], strict=True)
    }
    path = write_parquet(pa.table(columns), tmp_path)
    with pytest.raises(SourceError) as caught:
        moments_from(path, targets="y_*")
    words = ("'x_1' (9)", "'y_2' (5)") if nulls else ("NaN",)
    for word in (*words, "a.parquet", 'missing="drop"'):
        assert word in str(caught.value)


@pytest.mark.parametrize("kind", ["null", "NaN", "pandas", "csv", "arrays", "npy"])
def test_missing_rows_are_dropped_on_request(seed, tmp_path, monkeypatch, kind):
    small_chunks(monkeypatch, 32)
    X, Y, complete = with_holes(seed)
    columns = dict(zip([*NAMES, *TARGETS], [*X.T, *Y.T], strict=True))
    options = {"targets": "y_*"}
    if kind in ("null", "NaN"):
        arrays = {n: pa.array(v, from_pandas=kind == "null") for n, v in columns.items()}
        source = write_parquet(pa.table(arrays), tmp_path)
    elif kind == "csv":
        pd.DataFrame(columns).to_csv(tmp_path / "a.csv", index=False)
        source = tmp_path
    elif kind == "pandas":
        source = pd.DataFrame(columns)
    elif kind == "npy":
        np.save(tmp_path / "a.npy", np.hstack([X, Y]))
        source, options = tmp_path, {"targets": ["8", "9", "10"]}
    else:
        source, options = (X, Y), {}
    moments = moments_from(source, missing="drop", **options)
    want = Moments.from_arrays(X[complete], Y[complete])
    assert moments.n_samples == complete.sum()
    np.testing.assert_allclose(moments.yx, want.yx, rtol=1e-9, atol=1e-9 * np.abs(want.yx).max())


def test_rows_without_a_label_are_dropped_on_request(seed):
    X, codes = planted_labels(seed, 240)
    labels = [None if i % 7 == 0 else f"c{c}" for i, c in enumerate(codes)]
    keep = np.array([label is not None for label in labels])
    t = pa.table(dict(zip(NAMES, X.T, strict=True))).append_column("label", pa.array(labels))
    with pytest.raises(SourceError, match=r"'label' \(35\)"):
        moments_from(t, class_target="label")
    moments = moments_from(t, class_target="label", missing="drop")
    assert moments.n_samples == keep.sum()
    pair = moments_from((X, np.array(labels, dtype=object)), missing="drop")
    np.testing.assert_allclose(pair.yx, moments.yx, rtol=1e-8, atol=1e-8)


def test_infinity_is_refused_even_when_rows_are_dropped(tmp_path):
    t = pa.table({"a": [1.0, np.inf, 2.0], "b": [1.0, 3.0, 2.0], "y": [0.5, 1.0, 2.0]})
    with pytest.raises(SourceError, match=r"'a' \(1 inf\)"):
        moments_from(t, targets="y", missing="drop")


@pytest.mark.parametrize("kind", ["parquet", "arrays", "iterator", "npy"])
def test_weights_count_and_weight_0_is_gone(seed, tmp_path, monkeypatch, kind):
    small_chunks(monkeypatch, 32)
    X, Y, t = table(seed)
    weight = np.random.default_rng(seed).integers(0, 4, size=240).astype(float)
    weight[:64] = 0  # whole chunks without a row that counts
    options = {}
    if kind == "parquet":
        source = write_parquet(t.append_column("w", pa.array(weight)), tmp_path)
        options = {"targets": "y_*", "weight": "w"}
    elif kind == "arrays":
        source = (X, Y, weight)
    elif kind == "iterator":
        source = ((X[i : i + 20], Y[i : i + 20], weight[i : i + 20]) for i in range(0, 240, 20))
    else:
        np.save(tmp_path / "a.npy", np.column_stack([X, Y, weight]))
        source, options = tmp_path, {"targets": ["8", "9", "10"], "weight": "11"}
    moments = moments_from(source, **options)
    want = Moments.from_arrays(X, Y, weight)
    assert moments.n_samples == want.n_samples
    assert moments.sum_weights == want.sum_weights
    scale = np.abs(want.yx).max()
    np.testing.assert_allclose(moments.yx, want.yx, rtol=1e-10, atol=1e-10 * scale)


def test_holes_in_rows_of_weight_0_do_no_harm(seed):
    X, Y, complete = with_holes(seed)
    t = pa.table(
        {
            n: pa.array(v, from_pandas=True)
            for n, v in zip([*NAMES, *TARGETS, "w"], [*X.T, *Y.T, complete * 1.0], strict=True)
        }
    )
    assert moments_from(t, targets="y_*", weight="w").n_samples == complete.sum()


@pytest.mark.parametrize(
    ("bad", "word"),
    [(-1.0, "not negative"), (np.inf, "finite"), (None, "1 nulls"), (np.nan, "NaN")],
)
def test_weights_that_make_no_sense_are_refused(bad, word):
    _, _, t = table(0)
    weight = pa.array([1.0] * 239 + [bad])
    t = t.append_column("w", weight)
    with pytest.raises(SourceError, match=word) as caught:
        moments_from(t, targets="y_*", weight="w")
    assert "'w'" in str(caught.value)
    if bad is None or np.isnan(bad):
        assert moments_from(t, targets="y_*", weight="w", missing="drop").n_samples == 239


# Without pyarrow


def test_arrays_maps_and_batches_need_no_pyarrow(tmp_path):
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['pyarrow', 'pandas', 'polars']))\n"
        "import numpy as np\n"
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
    assert 'pip install "projse[arrow]"' in done.stdout
