"""Which columns are candidates, references, labels and weights; which files belong to a path."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from agreement import check
from day_files import NAMES, TARGETS, planted_table
from planted import planted_labels
from table_files import (
    npy,
    write_arrow_stream,
    write_csv,
    write_csv_gz,
    write_feather,
    write_parquet,
    write_tsv,
)

from projse import Moments, ProjSe, SourceError, moments_from
from projse.sources import open_source
from projse.sources.columns import Columns, Request, check_same
from projse.sources.parts import Reading

# Columns


def test_columns_by_name_pattern_and_default(seed):
    X, Y, t = planted_table(seed)
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
        ({"targets": "y_*", "exclude": "x_*"}, ["no column left"]),
    ],
)
def test_columns_that_are_not_there_are_named(tmp_path, options, words):
    _, _, t = planted_table(0)
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
        moments_from(planted_table(0)[2], **options)


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
    _, _, t = planted_table(seed)
    pq.write_table(t, tmp_path / "one")
    feather.write_feather(t, tmp_path / "two")
    pacsv.write_csv(t, tmp_path / "three.txt")
    for name, options in {"one": {}, "two": {}, "three.txt": {"format": "csv"}}.items():
        moments = moments_from(tmp_path / name, targets="y_*", **options)
        assert moments.n_samples == t.num_rows
    assert len(open_source(tmp_path, format="parquet")) == 3


def test_hidden_files_and_folders_are_not_data(tmp_path):
    _, _, t = planted_table(0)
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
    X, Y, t = planted_table(seed)
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
    X, Y, t = planted_table(seed)
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
    targets = [len(NAMES) + j for j in range(len(TARGETS))] if kind == "npy" else "y_*"
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
    t = planted_table(seed)[2]
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
    t = planted_table(seed)[2]
    folder = tmp_path / "days"
    (folder / "deep").mkdir(parents=True)
    pq.write_table(t, folder / "d00.parquet")
    for name, target in {"here": ".", "again": ".", "deep/up": "..", "self": "self"}.items():
        (folder / name).symlink_to(target)
    if shape in ("glob", "recursive glob"):
        (folder / "self").unlink()  # these name it, and it is nothing to read
    assert count(shapes_of(folder)[shape]) == t.num_rows


def test_a_link_to_a_partition_counts_once_with_the_values_of_its_own_name(seed, tmp_path):
    t = planted_table(seed)[2]
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
    t = planted_table(seed)[2]
    for name in "ab":
        pq.write_table(t, tmp_path / f"{name}.parquet")
    assert count(tmp_path) == 2 * t.num_rows


def test_only_the_columns_needed_are_read(tmp_path):
    _, _, t = planted_table(0)
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
    assert moments_from(tmp_path, features="*", numeric_only=True).n_x == len(NAMES)
    numbered = tmp_path.parent / f"{tmp_path.name}-numbers"
    pq.write_to_dataset(t.append_column("year", pa.array(codes)), numbered, partition_cols=["year"])
    assert moments_from(numbered, targets="x_0").n_x == len(NAMES) - 1
    moments = moments_from(numbered, targets="x_0", features=["x_1", "year"])
    np.testing.assert_allclose(moments.x_mean[1], codes.mean())


@pytest.mark.parametrize("request_", [{"targets": "y_*"}, {"class_target": "y_1"}])
def test_a_weight_that_is_a_target_is_refused_by_name(tmp_path, request_):
    path = tmp_path / "rows.csv"
    path.write_text("a,y_1,y_2\n1,1,4\n3,2,1\n2,1,2\n")
    with pytest.raises(SourceError, match="'y_1' cannot be the weight and a target at once"):
        moments_from(path, weight="y_1", **request_)
