"""Dask arrays and data frames: the same picks and scores as in memory, whatever the blocks."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import uuid
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from agreement import check, fit, quietly
from numpy.testing import assert_allclose
from paper import paper_form
from patients import TARGETS as PATIENT_TARGETS
from patients import patients
from planted import PICKS, planted, planted_labels
from sklearn.base import clone
from threadpoolctl import threadpool_info
from variants import slow

from projse import (
    Moments,
    ProjSe,
    ProjSeCV,
    StabilityProjSe,
    TwoViewProjSe,
    block_moments,
    permutation_test,
    subspace_correlation,
)
from projse.engines.reduction import Layout, reduce_partition
from projse.exceptions import (
    ManyClassesWarning,
    PartitionError,
    RankExhaustedWarning,
    RechunkWarning,
)
from projse.metrics import linear_kernel_alignment
from projse.moments.partitions import PartitionPass

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")

# A worker that is stopped closes its connections in its own time.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

NAMES = [f"v{j}" for j in range(8)]
KERNELS = ["linear", "poly", "rbf"]
CUTS = {
    "even": (50, 50, 50, 50),
    "skewed": (3, 180, 17),
    "one-row": (1, 98, 1, 99, 1),
    "single": (200,),
    "many": (5,) * 40,
}


def new_cluster():
    return distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit=None,
    )


@pytest.fixture(scope="module")
def client():
    with new_cluster() as cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(params=["threads", *slow("cluster")])
def scheduler(request):
    """Run on threads of this process, and on a cluster of two worker processes."""
    if request.param == "threads":
        with dask.config.set(scheduler="threads", num_workers=2):
            yield request.param
    else:
        client = request.getfixturevalue("client")
        with client.as_current(), dask.config.set(scheduler=client):
            yield request.param


@pytest.fixture
def threads():
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


def cut(A, rows):
    return da.from_array(A, chunks=(rows, *A.shape[1:]))


def same(selector, want):
    """Assert equal picks, and scores to 1e-10; return the selector."""
    assert selector.selected_.tolist() == want.selected_.tolist()
    check(selector, want, rtol=1e-10, atol=1e-14)
    return selector


def frame(seed):
    X, Y = planted(seed)
    df = pd.DataFrame(X, columns=NAMES)
    for j in range(Y.shape[1]):
        df[f"y{j}"] = Y[:, j]
    df["w"] = np.random.default_rng(seed).integers(0, 4, size=len(df)).astype(float)
    df["label"] = np.array(["one", "two", "three"])[planted_labels(seed)[1]]
    return df


TARGETS = ["y0", "y1", "y2"]


# Arrays


@pytest.mark.determinism
@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("kernel", ["linear", *slow("poly", "rbf")])
def test_arrays_give_the_picks_and_scores_of_memory(seed, scheduler, kernel, cuts):
    X, Y = planted(seed)
    rows = CUTS[cuts]
    for n in (None, 6):  # within the reference space, and beyond it
        want = fit(ProjSe(n, kernel=kernel), X, Y)
        got = same(fit(ProjSe(n, kernel=kernel), cut(X, rows), cut(Y, rows)), want)
    assert got.moments_.n_samples == 200
    assert got.n_features_in_ == 8
    np.testing.assert_allclose(got.pvalues_, want.pvalues_, rtol=1e-7, atol=1e-300)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_features_to_select": 5, "round_size": 2},
        {"n_features_to_select": 5, "include": [7], "exclude": [1]},
        {"n_features_to_select": "auto"},
        {"n_features_to_select": 0.5, "center": False},
        {"n_features_to_select": 3, "scale": False, "alpha": 0.1},
        {"n_features_to_select": 4, "center_kernel": True, "kernel": "rbf"},
        {"n_features_to_select": 6, "exhausted": "restart"},
        {"n_features_to_select": 6, "exhausted": "stop"},
    ],
    ids=str,
)
def test_parameters_mean_what_they_mean_in_memory(seed, threads, parameters):
    X, Y = planted(seed)
    same(
        fit(ProjSe(**parameters), cut(X, (30, 170)), cut(Y, (30, 170))),
        fit(ProjSe(**parameters), X, Y),
    )


def test_one_view(seed, scheduler):
    X, _ = planted(seed)
    X[:, 3] += X[:, 0] - X[:, 6]
    for kernel in KERNELS:
        want = fit(ProjSe(5, kernel=kernel), X)
        same(fit(ProjSe(5, kernel=kernel), cut(X, (1, 100, 99))), want)


def test_one_output_in_one_dimension_or_two(seed, threads):
    X, Y = planted(seed)
    want = ProjSe(4).fit(X, Y[:, 0])
    for y in (Y[:, 0], Y[:, :1]):
        same(ProjSe(4).fit(cut(X, (30, 170)), cut(y, (30, 170))), want)


@pytest.mark.parametrize("kernel", ["linear", *slow("poly", "rbf")])
def test_weights(seed, scheduler, kernel):
    X, Y = planted(seed)
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 4, size=200) * rng.uniform(0.5, 2.0, size=200)
    weight[:40] = 0.0  # a whole block of rows that do not count
    X[0] = np.nan  # and what they hold is not looked at
    want = ProjSe(3, kernel=kernel).fit(X, Y, sample_weight=weight)
    rows = (40, 60, 1, 99)
    dask_rows = cut(X, rows), cut(Y, rows)
    same(ProjSe(3, kernel=kernel).fit(*dask_rows, sample_weight=cut(weight, rows)), want)
    same(ProjSe(3, kernel=kernel).fit(*dask_rows, sample_weight=weight), want)
    same(
        ProjSe(3, kernel=kernel).fit(cut(X[1:], (9, 190)), cut(Y[1:], (9, 190)), sample_weight=2),
        ProjSe(3, kernel=kernel).fit(X[1:], Y[1:], sample_weight=np.full(199, 2.0)),
    )


@pytest.mark.parametrize("kind", ["int", "str", "bool", "float"])
def test_class_labels_need_not_be_in_every_block(seed, scheduler, kind):
    X, codes = planted_labels(seed)
    order = np.argsort(codes, kind="stable")  # most blocks hold one class
    X, codes = X[order], codes[order]
    labels = {
        "int": codes * 7 - 3,
        "str": np.array(["b", "a", "c"])[codes],
        "bool": codes > 0,
        "float": codes * 2.0,
    }[kind]
    selector = ProjSe(4, target_type="class" if kind == "float" else "auto")
    want = fit(ProjSe(**selector.get_params()), X, labels)
    got = same(fit(selector, cut(X, (20,) * 10), cut(labels, (20,) * 10)), want)
    assert got.moments_.classes.tolist() == np.unique(labels).tolist()


def test_several_columns_of_labels(seed, threads):
    X, codes = planted_labels(seed)
    labels = np.column_stack([codes, np.arange(200) // 50])
    selector = ProjSe(4, target_type="class")
    want = ProjSe(**selector.get_params()).fit(X, labels)
    same(selector.fit(cut(X, (50,) * 4), cut(labels, (50,) * 4)), want)
    assert selector.moments_.classes is None
    assert set(selector.moments_.target_names) == set(want.moments_.target_names)


def sparse_planted(seed):
    X, Y = planted(seed)
    X[np.abs(X) < 1.0] = 0.0
    return X, Y


@pytest.mark.determinism
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_sparse_blocks(seed, scheduler, kind):
    X, Y = sparse_planted(seed)
    for kernel in KERNELS:
        want = fit(ProjSe(6, kernel=kernel), sp.csr_array(X), Y)
        blocks = cut(X, (1, 99, 100)).map_blocks(kind)
        same(fit(ProjSe(6, kernel=kernel), blocks, cut(Y, (1, 99, 100))), want)


def test_sparse_blocks_of_labels_weights_and_indicators(seed, threads):
    X, codes = planted_labels(seed)
    X[np.abs(X) < 0.5] = 0.0
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, size=200)
    rows = (20,) * 10
    blocks = cut(X, rows).map_blocks(sp.csr_array)
    same(
        fit(ProjSe(4), blocks, cut(codes, rows), sample_weight=cut(weight, rows)),
        fit(ProjSe(4), sp.csr_array(X), codes, sample_weight=weight),
    )
    Y = np.eye(3)[codes]
    same(
        fit(ProjSe(2), cut(X, rows), cut(Y, rows).map_blocks(sp.csr_matrix)),
        fit(ProjSe(2), X, sp.csr_array(Y)),
    )


def test_sparse_blocks_can_be_cut_anew(seed, threads):
    X, Y = sparse_planted(seed)
    blocks = da.from_array(X, chunks=(50, 3)).map_blocks(sp.csr_array)
    indicators = cut(Y, (200,)).map_blocks(sp.csr_array)
    with pytest.warns(RechunkWarning):
        got = ProjSe(3).fit(blocks, indicators)
    same(got, ProjSe(3).fit(sp.csr_array(X), sp.csr_array(Y)))


def test_blocks_of_unknown_size_some_of_them_empty(seed, scheduler):
    X, Y = planted(seed)
    keep = np.ones(200, dtype=bool)
    keep[50:100] = False  # a block without rows
    keep[101:150] = False  # a block of one row
    dX, dY, mask = cut(X, (50,) * 4), cut(Y, (50,) * 4), cut(keep, (50,) * 4)
    weight = np.arange(1.0, 201.0)
    got = ProjSe(3).fit(dX[mask], dY[mask], sample_weight=cut(weight, (50,) * 4)[mask])
    same(got, ProjSe(3).fit(X[keep], Y[keep], sample_weight=weight[keep]))


def test_rows_of_unknown_and_different_blocks_are_cut_alike(seed, threads):
    X, Y = planted(seed)
    want = ProjSe(3).fit(X, Y)
    everything = np.ones(200, dtype=bool)

    def unknown(A, rows):
        return cut(A, rows)[cut(everything, rows)]

    for y in (cut(Y, (150, 50)), unknown(Y, (150, 50)), unknown(Y, (150, 20, 30))):
        dX = unknown(X, (50, 150))
        with pytest.warns(RechunkWarning, match="different blocks of rows") as caught:
            same(ProjSe(3).fit(dX, y), want)
        assert [warning.filename for warning in caught] == [__file__]
        assert np.isnan(dX.chunks[0]).all(), "the caller's array was changed"


def test_misaligned_blocks_are_cut_alike_with_a_warning(seed, scheduler):
    X, Y = planted(seed)
    with pytest.warns(RechunkWarning, match="y are cut into different blocks of rows"):
        same(ProjSe(3).fit(cut(X, (50, 150)), cut(Y, (150, 50))), ProjSe(3).fit(X, Y))
    with pytest.warns(RechunkWarning, match="4 blocks of columns"):
        got = ProjSe(3).fit(da.from_array(X, chunks=(50, 2)), cut(Y, (50,) * 4))
    same(got, ProjSe(3).fit(X, Y))
    weight = np.arange(1.0, 201.0)
    with pytest.warns(RechunkWarning, match="sample_weight"):
        got = ProjSe(3).fit(cut(X, (200,)), cut(Y, (200,)), sample_weight=cut(weight, (7, 193)))
    same(got, ProjSe(3).fit(X, Y, sample_weight=weight))


def test_references_in_memory_are_cut_like_the_candidates(seed, threads):
    X, Y = planted(seed)
    want = ProjSe(3).fit(X, Y)
    for y in (Y, Y.tolist(), pd.DataFrame(Y), sp.csr_array(Y)):
        same(ProjSe(3).fit(cut(X, (60, 140)), y), want)


@pytest.mark.determinism
def test_float32_is_as_good_as_its_digits(seed, threads):
    X, Y = (A.astype(np.float32) for A in planted(seed))
    got = ProjSe(3).fit(cut(X, (60, 140)), cut(Y, (60, 140)))
    assert tuple(got.selected_) == PICKS
    np.testing.assert_allclose(got.scores_, ProjSe(3).fit(X, Y).scores_, rtol=1e-4)


def test_the_same_blocks_give_the_same_bits(seed, scheduler):
    X, Y = planted(seed)
    rows = CUTS["many"]
    runs = [Moments.from_arrays(cut(X, rows), cut(Y, rows)) for _ in range(3)]
    for other in runs[1:]:
        for name in ("x_mean", "y_mean", "yy", "yx", "xx", "xx_diag"):
            np.testing.assert_array_equal(getattr(other, name), getattr(runs[0], name))


def test_moments_from_dask_are_those_from_memory(seed, threads):
    X, Y = planted(seed)
    got = Moments.from_arrays(cut(X, (60, 140)), cut(Y, (60, 140)), with_xx=True)
    want = Moments.from_arrays(X, Y, with_xx=True)
    assert got.n_samples == want.n_samples
    for name in ("x_mean", "y_mean", "yy", "yx", "xx", "xx_diag"):
        np.testing.assert_allclose(getattr(got, name), getattr(want, name), rtol=1e-10, atol=1e-9)
    same(quietly(ProjSe(6).fit_moments, got), fit(ProjSe(6), X, Y))


# Data frames


def test_frames_keep_their_names(seed, scheduler):
    df = frame(seed)
    ddf = dd.from_pandas(df, npartitions=5)
    want = ProjSe(5, include=["v7"]).fit(df[NAMES], df[TARGETS], sample_weight=df["w"])
    got = ProjSe(5, include=["v7"]).fit(ddf[NAMES], ddf[TARGETS], sample_weight=ddf["w"])
    same(got, want)
    assert got.feature_names_in_.tolist() == NAMES
    assert got.moments_.target_names == tuple(TARGETS)
    assert got.get_feature_names_out().tolist() == want.get_feature_names_out().tolist()


@pytest.mark.parametrize("dtype", ["category", *slow("str", "object", "int")])
def test_labels_of_frames(seed, scheduler, dtype):
    df = frame(seed).sort_values("label", ignore_index=True)
    codes = df["label"].map({"one": 1, "two": 2, "three": 3})
    df["label"] = codes if dtype == "int" else df["label"].astype(dtype)
    ddf = dd.from_pandas(df, npartitions=7)
    want = ProjSe(3).fit(df[NAMES], df["label"])
    same(ProjSe(3).fit(ddf[NAMES], ddf["label"]), want)
    same(ProjSe(3).fit(ddf[NAMES], ddf[["label"]]), want)


def test_frames_with_empty_and_one_row_partitions(seed, scheduler):
    df = frame(seed)
    cuts = [0, 1, 1, 120, 200]
    parts = [df.iloc[a:b] for a, b in pairwise(cuts)]
    ddf = dd.from_map(lambda part: part, parts, meta=df.iloc[:0])
    same(ProjSe(3).fit(ddf[NAMES], ddf[TARGETS]), ProjSe(3).fit(df[NAMES], df[TARGETS]))


def test_frames_are_read_once(seed, tmp_path):
    df = frame(seed)
    reads = []

    def read(i):
        reads.append(i)
        return df.iloc[50 * i : 50 * i + 50]

    ddf = dd.from_map(read, range(4), meta=df.iloc[:0])
    with dask.config.set(scheduler="synchronous"):
        ProjSe(3).fit(ddf[NAMES], ddf[TARGETS], sample_weight=ddf["w"])
    assert sorted(reads) == [0, 1, 2, 3]


def test_frames_from_files(seed, tmp_path, threads):
    df = frame(seed)
    for i in range(4):
        df.iloc[50 * i : 50 * i + 50].to_parquet(tmp_path / f"part{i}.parquet")
    ddf = dd.read_parquet(tmp_path / "*.parquet")
    got = ProjSe(3).fit(ddf[NAMES], ddf[TARGETS], sample_weight=ddf["w"])
    same(got, ProjSe(3).fit(df[NAMES], df[TARGETS], sample_weight=df["w"]))


def test_frames_with_different_partitions(seed, threads):
    df = frame(seed)
    left, right = (dd.from_pandas(df, npartitions=n) for n in (4, 3))
    want = ProjSe(3).fit(df[NAMES], df[TARGETS])
    with pytest.warns(RechunkWarning, match="different blocks"):
        same(ProjSe(3).fit(left[NAMES], right[TARGETS]), want)


def test_frames_whose_partitions_turn_out_to_differ(seed, threads):
    df = frame(seed)

    def parts(columns, cuts):
        rows = [df[columns].iloc[a:b] for a, b in pairwise(cuts)]
        return dd.from_map(lambda part: part, rows, meta=df[columns].iloc[:0])

    with pytest.warns(RechunkWarning, match="different blocks"):
        got = ProjSe(3).fit(parts(NAMES, (0, 50, 200)), parts(TARGETS, (0, 120, 200)))
    same(got, ProjSe(3).fit(df[NAMES], df[TARGETS]))
    assert got.feature_names_in_.tolist() == NAMES
    with pytest.raises(ValueError, match="different numbers of rows: 200 and 180"):
        ProjSe(3).fit(parts(NAMES, (0, 50, 200)), parts(TARGETS, (0, 120, 180)))


def test_frames_beside_arrays(seed, threads):
    df = frame(seed)
    ddf = dd.from_pandas(df, npartitions=4)
    want = ProjSe(3).fit(df[NAMES], df[TARGETS].to_numpy())
    arrays = cut(df[TARGETS].to_numpy(), (50,) * 4)
    got = same(ProjSe(3).fit(ddf[NAMES], arrays), want)
    assert got.feature_names_in_.tolist() == NAMES
    same(ProjSe(3).fit(ddf[NAMES], df[TARGETS]), want)
    array = ddf[NAMES].to_dask_array(lengths=True)
    same(ProjSe(3).fit(array, ddf[TARGETS], sample_weight=1.0), want)


def test_columns_of_a_partition_may_be_in_another_order(seed, threads):
    df = frame(seed)

    def part(i):
        rows = df.iloc[100 * i : 100 * i + 100][NAMES]
        return rows[NAMES[::-1]] if i else rows

    ddf = dd.from_map(part, [0, 1], meta=df[NAMES].iloc[:0])
    got = ProjSe(3).fit(ddf, dd.from_pandas(df[TARGETS], npartitions=2))
    same(got, ProjSe(3).fit(df[NAMES], df[TARGETS]))


# What is computed, and where


def test_nothing_is_computed_by_transform(seed, threads):
    df = frame(seed)
    X, ddf = df[NAMES].to_numpy(), dd.from_pandas(df, npartitions=3)
    selector = ProjSe(3).fit(df[NAMES], df[TARGETS])
    by_position = ProjSe(3).fit(X, df[TARGETS])
    known = cut(X, (50,) * 4)
    unknown = known[known[:, 0] > 0]

    def refuse(*args, **kwargs):
        raise AssertionError("computed")

    with dask.config.set(scheduler=refuse):
        lazy_frame = selector.transform(ddf[NAMES])
        lazy = by_position.transform(da.from_array(X, chunks=(50, 3)))
        lazy_unknown = by_position.transform(unknown)
        lazy_sparse = by_position.transform(known.map_blocks(sp.csr_array))
    kept = [NAMES[j] for j in sorted(selector.selected_)]
    assert list(lazy_frame.columns) == kept
    pd.testing.assert_frame_equal(lazy_frame.compute(), df[kept], check_index_type=False)
    np.testing.assert_array_equal(lazy.compute(), selector.transform(df[NAMES]))
    np.testing.assert_array_equal(lazy_unknown.compute(), by_position.transform(X[X[:, 0] > 0]))
    assert sp.issparse(lazy_sparse.blocks[0].compute())


def test_transform_checks_columns(seed, threads):
    df = frame(seed)
    ddf = dd.from_pandas(df, npartitions=3)
    selector = ProjSe(3).fit(ddf[NAMES], ddf[TARGETS])
    with pytest.raises(ValueError, match="'v0' is now 'v7'"):
        selector.transform(ddf[NAMES[::-1]])
    with pytest.raises(ValueError, match="7 features"):
        selector.transform(ddf[NAMES[:7]])
    selector.set_output(transform="pandas")
    with pytest.raises(ValueError, match="set_output"):
        selector.transform(ddf[NAMES])


def passes(X, fit_it):
    """Count how often the blocks of X are read, divided by their number."""
    reads = []

    def read(block):
        reads.append(len(block))
        return block

    counted = cut(X, (50,) * 4).map_blocks(read, meta=X[:0])
    fit_it(counted)
    return len(reads) / 4


def test_rows_are_read_once_and_twice_only_where_it_is_needed(seed, threads):
    X, Y = planted(seed)
    _, codes = planted_labels(seed)
    dY, labels = cut(Y, (50,) * 4), cut(codes, (50,) * 4)
    assert passes(X, lambda dX: paper_form(3).fit(dX, dY)) == 1
    assert passes(X, lambda dX: paper_form(6).fit(dX, dY)) == 1
    assert passes(X, lambda dX: fit(paper_form(), dX, labels)) == 1
    assert (
        passes(X, lambda dX: fit(paper_form(6), dX, labels)) == 2
    )  # three classes: only rows tell


def test_a_task_hands_on_moments_and_no_rows():
    n_x, n_y = 40, 7
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(5000, n_x)), rng.normal(size=(5000, n_y))
    layout = Layout(n_x=n_x, n_y=n_y)
    part = reduce_partition(0, X, Y, None, None, layout, PartitionPass(layout=layout).reduction)
    promised = 8 * (n_y**2 + n_x * n_y + 2 * n_x + n_y)
    assert promised <= len(pickle.dumps(part)) <= promised + 2000


def test_blas_gets_its_threads_back(seed, threads):
    X, Y = planted(seed)
    before = [pool["num_threads"] for pool in threadpool_info()]
    ProjSe(3).fit(cut(X, (5,) * 40), cut(Y, (5,) * 40))
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_dasks_progress_bar_shows_progress(seed, scheduler):
    from dask.diagnostics import ProgressBar

    X, Y = planted(seed)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), ProgressBar(out=out):
        ProjSe(3).fit(cut(X, (50,) * 4), cut(Y, (50,) * 4))
    assert "100%" in out.getvalue() or "Completed" in out.getvalue()


def test_callbacks_of_scikit_learn_hear_of_the_fit(seed, threads):
    callback = pytest.importorskip("sklearn.callback")
    X, Y = planted(seed)
    selector = ProjSe(3)
    with contextlib.redirect_stdout(io.StringIO()):
        selector.set_callbacks(callback.ProgressBar())
        selector.fit(cut(X, (50,) * 4), cut(Y, (50,) * 4))
    assert tuple(selector.selected_) == PICKS


# Bad input


def test_a_value_that_is_missing_is_named_with_partition_and_column(seed, scheduler):
    X, Y = planted(seed)
    X[120, 3] = np.nan
    with pytest.raises(PartitionError, match=r"^Partition 2: .*X.*column 3 \(1 NaN\)") as caught:
        ProjSe(3).fit(cut(X, (50,) * 4), cut(Y, (50,) * 4))
    assert caught.value.partition == 2
    assert caught.value.__cause__ is None
    df = frame(seed)
    df.loc[70, "y1"] = None
    ddf = dd.from_pandas(df, npartitions=4)
    with pytest.raises(ValueError, match=r"^Partition 1: .*y.*'y1' \(1 NaN\)"):
        ProjSe(3).fit(ddf[NAMES], ddf[TARGETS])
    df.loc[70, "label"] = None
    ddf = dd.from_pandas(df, npartitions=4)
    with pytest.raises(ValueError, match=r"^Partition 1: .*1 missing label\b.*'label'"):
        ProjSe(3).fit(ddf[NAMES], ddf["label"])


def test_a_string_is_named_with_partition_and_column(seed, scheduler):
    df = frame(seed)
    ddf = dd.from_map(
        lambda i: df.iloc[50 * i : 50 * i + 50].astype({"v4": str if i == 3 else float}),
        range(4),
        meta=df.iloc[:0],
    )
    ddf_bad = ddf.map_partitions(
        lambda part: part.assign(v4=["oops"] * 50) if 199 in part.index else part, meta=df.iloc[:0]
    )
    with pytest.raises(PartitionError, match=r"^Partition 3: .*columns of X: 'v4'"):
        ProjSe(3).fit(ddf_bad[NAMES], ddf_bad[TARGETS])
    X, Y = planted(seed)
    objects = X.astype(object)
    objects[60, 5] = "oops"
    with pytest.raises(ValueError, match=r"Column 5 of X mixes types"):
        ProjSe(3).fit(cut(objects, (50,) * 4), cut(Y, (50,) * 4))
    texts = cut(X, (50,) * 4).map_blocks(lambda block: block.astype(str), dtype=float)
    texts = texts.map_blocks(lambda block: np.char.replace(block, "-", "minus"), dtype=float)
    with pytest.raises(PartitionError, match=r"^Partition 0: .*columns of X: 0"):
        ProjSe(3).fit(texts, cut(Y, (50,) * 4))


def test_a_column_that_one_partition_lacks_is_named(seed, scheduler):
    df = frame(seed)
    rows = df[[*NAMES, *TARGETS]]

    def read(i):
        part = rows.iloc[50 * i : 50 * i + 50]
        return part.drop(columns="v6") if i == 2 else part

    ddf = dd.from_map(read, range(4), meta=rows.iloc[:0])
    # Found by a task of Dask's own, before ours.
    with pytest.raises(PartitionError, match=r"^Partition 2 .*v6") as caught:
        ProjSe(3).fit(ddf[NAMES], ddf[TARGETS])
    assert caught.value.partition == 2
    assert caught.value.__suppress_context__
    X = dd.from_map(lambda i: read(i).drop(columns=TARGETS), range(4), meta=rows[NAMES].iloc[:0])
    Y = dd.from_map(
        lambda i: rows[TARGETS].iloc[50 * i : 50 * i + 50], range(4), meta=rows[TARGETS].iloc[:0]
    )
    with pytest.raises(PartitionError, match=r"^Partition 2.*'v6' of X is missing"):
        ProjSe(3).fit(X, Y)
    narrow = cut(df[NAMES].to_numpy(), (50,) * 4).map_blocks(
        lambda block, block_info=None: (
            block[:, :7] if block_info[0]["chunk-location"][0] else block
        ),
        meta=np.empty((0, 8)),
    )
    with pytest.raises(PartitionError, match=r"^Partition 1: X has 7 columns instead of 8"):
        ProjSe(3).fit(narrow, cut(df[TARGETS].to_numpy(), (50,) * 4))


def test_bad_weights_are_named(seed, threads):
    df = frame(seed)
    df.loc[130, "w"] = -1.0
    ddf = dd.from_pandas(df, npartitions=4)
    with pytest.raises(PartitionError, match=r"^Partition 2: Negative .* row 30.*column 'w'"):
        ProjSe(3).fit(ddf[NAMES], ddf[TARGETS], sample_weight=ddf["w"])


def test_labels_in_one_partition_and_numbers_in_another(seed, threads):
    X, _ = planted(seed)
    y = np.array([1] * 100 + [0.5] * 100, dtype=object)
    with pytest.raises(PartitionError, match=r"^Partition 1: .*target_type='class'"):
        ProjSe(3).fit(cut(X, (100, 100)), cut(y, (100, 100)))


# Covariates


def given(seed):
    X, Y = planted(seed)
    rng = np.random.default_rng([seed, 3])
    ages = rng.normal(50, 10, size=(200, 2))
    site = pd.Categorical(np.repeat(["a", "b", "c"], [90, 70, 40]), categories=list("abcd"))
    shift = 0.1 * ages[:, :1] + 2.0 * (np.asarray(site) == "b")[:, None]
    return X + shift * rng.normal(size=8), Y + shift, ages, site


@pytest.mark.parametrize("kernel", ["linear", *slow("rbf")])
def test_covariates_in_arrays(seed, scheduler, kernel):
    X, Y, ages, _ = given(seed)
    want = ProjSe(3, kernel=kernel).fit(X, Y, covariates=ages)
    dX, dY = cut(X, (50,) * 4), cut(Y, (50,) * 4)
    same(ProjSe(3, kernel=kernel).fit(dX, dY, covariates=cut(ages, (50,) * 4)), want)
    same(ProjSe(3, kernel=kernel).fit(dX, dY, covariates=ages), want)
    one = ProjSe(3, kernel=kernel).fit(X, covariates=ages[:, 0])
    same(ProjSe(3, kernel=kernel).fit(dX, covariates=cut(ages[:, 0], (50,) * 4)), one)


def test_covariates_in_frames_with_known_levels(seed, threads):
    X, Y, ages, site = given(seed)
    frame = pd.DataFrame(np.c_[X, Y], columns=[*"abcdefgh", *"uvw"]).assign(
        age=ages[:, 0], site=site
    )
    want = ProjSe(3).fit(X, Y, covariates=frame[["age", "site"]])
    df = dd.from_pandas(frame, npartitions=4, sort=False)
    parts = df[list("abcdefgh")], df[list("uvw")]
    got = ProjSe(3).fit(*parts, covariates=df[["age", "site"]])
    same(got, want)
    np.testing.assert_allclose(got.pvalues_, want.pvalues_, rtol=1e-6, atol=1e-12)
    assert got.moments_.target_names[3:] == ("age", "site=a", "site=b", "site=c", "site=d")
    same(ProjSe(3).fit(*parts, covariates=frame[["age", "site"]]), want)
    labels = np.where(Y[:, 0] > np.median(Y[:, 0]), "high", "low")
    by_class = ProjSe(3).fit(X, labels, covariates=frame[["site"]])
    array = da.from_array(labels, chunks=50)
    same(ProjSe(3).fit(cut(X, (50,) * 4), array, covariates=df["site"]), by_class)
    blocks = block_moments(*parts, None, covariates=df[["age", "site"]], with_xx=True)
    same(ProjSe(3).fit_moments(sum(blocks[1:], start=blocks[0])), want)
    first, rest = df.partitions[:2], df.partitions[2:]
    selector = ProjSe(3)
    for rows in (first, rest):
        columns = rows[list("abcdefgh")], rows[list("uvw")]
        selector.partial_fit(*columns, covariates=rows[["age", "site"]])
    same(selector, want)


def test_levels_of_covariates_need_not_be_known(seed, threads):
    X, Y, _, site = given(seed)
    frame = pd.DataFrame(X, columns=list("abcdefgh")).assign(site=np.asarray(site).astype(object))
    df = dd.from_pandas(frame, npartitions=4, sort=False)
    arguments = (df[list("abcdefgh")], cut(Y, (50,) * 4))
    want = ProjSe(3).fit(X, Y, covariates=frame[["site"]])
    same(ProjSe(3).fit(*arguments, covariates=df[["site"]]), want)
    same(ProjSe(3).fit(*arguments, covariates=df["site"]), want)
    words = cut(np.asarray(site).astype(str), (50,) * 4)
    same(ProjSe(3).fit(*arguments, covariates=words), want)
    known = df.categorize(columns=["site"])
    same(ProjSe(3).fit(known[list("abcdefgh")], arguments[1], covariates=known[["site"]]), want)
    gap = frame.assign(site=pd.Categorical([None, *site[1:]]))
    gaps = dd.from_pandas(gap, npartitions=4, sort=False)
    with pytest.raises(PartitionError, match=r"Partition 0.*covariates\['site'\].*1 missing"):
        ProjSe(3).fit(gaps[list("abcdefgh")], arguments[1], covariates=gaps[["site"]])


def test_two_views_given_covariates(seed, threads):
    X, Y, ages, _ = given(seed)
    want = TwoViewProjSe(2).fit(X, Y, covariates=ages)
    parts = [cut(A, (50,) * 4) for A in (X, Y, ages)]
    got = TwoViewProjSe(2).fit(*parts[:2], covariates=parts[2])
    assert got.x_selected_.tolist() == want.x_selected_.tolist()
    np.testing.assert_allclose(got.y_scores_, want.y_scores_, rtol=1e-8)


def test_what_cannot_be_done_is_said_before_anything_is_computed(seed):
    X, Y = planted(seed)
    dX, dY = cut(X, (50,) * 4), cut(Y, (50,) * 4)

    def refuse(*args, **kwargs):
        raise AssertionError("computed")

    cases = [
        (ProjSe(3, kernel=lambda A, B: A.T @ B), (dX, dY), "callable kernel"),
        (ProjSe(3, solver="qr"), (dX, dY), "solver='qr'"),
        (ProjSe(3), (dX, dY, None, dY[:, :0]), "covariates has 0 columns"),
        (ProjSe(30), (dX, dY), "n_features_to_select=30"),
        (ProjSe(3, include=["a"]), (dX, dY), "include"),
        (ProjSe(3), (dX[:, 0], dY), "two-dimensional"),
        (ProjSe(3), (dX, dY[:, :0]), "0 columns"),
        (ProjSe(3), (dX, dY, dY), "must be 1D"),
        (ProjSe(3), (dX, dY[:150]), "different numbers of rows"),
        (ProjSe(3, kernel="cubic"), (dX, dY), "kernel"),
    ]
    with dask.config.set(scheduler=refuse):
        for selector, arguments, message in cases:
            with pytest.raises(ValueError, match=message):
                selector.fit(*arguments)
            assert not hasattr(selector, "n_features_in_")
        with pytest.raises(TypeError, match="Delayed"):
            ProjSe(3).fit(dask.delayed(X), dY)
        with pytest.raises(TypeError, match="X is not"):
            ProjSe(3).fit(X, dY)


def test_no_rows_at_all(seed, threads):
    X, Y = planted(seed)
    dX, dY, none = cut(X, (50,) * 4), cut(Y, (50,) * 4), cut(np.zeros(200), (50,) * 4)
    with pytest.raises(ValueError, match="0 rows"):
        ProjSe(3).fit(dX, dY, sample_weight=none)
    with pytest.raises(ValueError, match="0 rows"):
        ProjSe(3).fit(dX[none > 0], dY[none > 0])
    with pytest.raises(ValueError, match=r"1 sample\(s\)"):
        ProjSe(3).fit(dX[:1], dY[:1])


def test_running_out_of_reference_space_is_said(seed, threads):
    X, Y = planted(seed)
    with pytest.warns(RankExhaustedWarning):
        ProjSe(5, exhausted="stop").fit(cut(X, (50,) * 4), cut(Y, (50,) * 4))


def test_errors_of_the_cluster_are_left_alone(seed, threads):
    X, Y = planted(seed)

    def lost(block):
        raise OSError("disk is gone")

    with pytest.raises(OSError, match="disk is gone"):
        ProjSe(3).fit(cut(X, (100, 100)).map_blocks(lost, meta=X[:0]), cut(Y, (100, 100)))


# Failures and memory


@pytest.mark.slow
@pytest.mark.fault
def test_a_worker_killed_on_the_way_changes_nothing(seed, tmp_path):
    X, Y = planted(seed)
    folder = str(tmp_path)

    def slowly(block):
        time.sleep(0.2)
        (Path(folder) / str(uuid.uuid4())).write_text(str(os.getpid()))
        return block

    def kill_a_worker_with_work_done():
        deadline = time.monotonic() + 120
        while len(list(tmp_path.iterdir())) < 6 and time.monotonic() < deadline:
            time.sleep(0.01)
        done.extend(path.read_text() for path in tmp_path.iterdir())
        os.kill(int(done[0]), signal.SIGKILL)

    done = []
    with new_cluster() as cluster, distributed.Client(cluster):
        killer = threading.Thread(target=kill_a_worker_with_work_done)
        killer.start()
        dX = cut(X, (10,) * 20).map_blocks(slowly, meta=X[:0])
        got = ProjSe(3).fit(dX, cut(Y, (10,) * 20))
        killer.join()
    assert 0 < len(done) < 20, "it was killed on the way"
    with pytest.raises(ProcessLookupError):
        os.kill(int(done[0]), 0)
    assert got.moments_.n_samples == 200
    same(got, ProjSe(3).fit(X, Y))


@pytest.mark.slow
@pytest.mark.fault
@pytest.mark.parametrize("lost_in", [1, 2])
@pytest.mark.parametrize("block", [0, 3])
def test_a_worker_lost_in_either_pass_counts_no_row_twice(
    seed, tmp_path, monkeypatch, lost_in, block
):
    """A wide selection takes a second pass for the products of its picks; a worker dies in one."""
    monkeypatch.setattr("projse.estimators.fit_elsewhere.ON_CLUSTER", 0.0)  # 650 are wide then
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 650))
    Y = X[:, :6] @ rng.normal(size=(6, 2)) + rng.normal(size=(200, 2))
    folder = str(tmp_path)

    def dies_once(rows, block_info=None):
        number = block_info[0]["chunk-location"][0]
        seen = Path(folder) / f"{number}-{uuid.uuid4()}"
        lost = Path(folder) / "lost"
        passes = 1 + len(list(Path(folder).glob(f"{number}-*")))
        if number == block and passes == lost_in and not lost.exists():
            lost.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        seen.touch()
        return rows

    with new_cluster() as cluster, distributed.Client(cluster):
        dX = cut(X, (40,) * 5).map_blocks(dies_once, meta=X[:0])
        got = ProjSe(8).fit(dX, cut(Y, (40,) * 5))
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "lost").read_text()), 0)
    assert min(len(list(tmp_path.glob(f"{number}-*"))) for number in range(5)) >= 2, "two passes"
    assert got.moments_.n_samples == 200
    same(got, ProjSe(8).fit_moments(Moments.from_arrays(X, Y, with_xx=True)))


DRIVER = """
import gc
from pathlib import Path
import dask.array as da, distributed, numpy as np
from projse import ProjSe

def block(n, block_info=None):
    seed = block_info[None]["chunk-location"][0]
    return np.random.default_rng(seed).normal(size=(64, n))

def rows(n_blocks, n):
    return da.map_blocks(block, n, chunks=((64,) * n_blocks, (n,)), meta=np.empty((0, 0)))

def status(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024

def peak(n_blocks):
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    ProjSe(3).fit(rows(n_blocks, 1500), rows(n_blocks, 100))
    return status("VmHWM") - before

if __name__ == "__main__":
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    )
    with cluster, distributed.Client(cluster):
        peak(4)
        print(*(peak(n_blocks) for n_blocks in (8, 128)))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peak memory needs Linux")
def test_memory_of_the_driver_does_not_grow_with_partitions(tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    few, many = (int(line) for line in done.stdout.split())
    moments = 8 * (100**2 + 100 * 1500)
    # 120 more partitions, whose moments are 154 MB: the driver sees those of the root alone.
    assert many - few < 16 * moments, (few, many)


def test_auto_looks_again_given_its_picks(seed):
    """Variables behind the same outputs: the second is found given the first, in a second pass."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 14))
    Y = X[:, :2] @ [[2.0, 1.0, -1.0], [1.5, 0.75, -0.75]] + rng.normal(size=(400, 3))
    want = ProjSe("auto").fit(X, Y)
    got = ProjSe("auto").fit(da.from_array(X, chunks=(90, 14)), da.from_array(Y, chunks=(90, 3)))
    assert {0, 1} <= set(want.selected_)
    check(got, want)


def test_two_views(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(400, 6)), rng.normal(size=(400, 5))
    Y[:, :2] += X[:, :2]
    weight = rng.uniform(0.5, 2, 400)
    want = TwoViewProjSe(3).fit(X, Y, weight)
    chunked = [da.from_array(A, chunks=(130, A.shape[1])) for A in (X, Y)]
    got = TwoViewProjSe(3).fit(*chunked, da.from_array(weight, chunks=130))
    assert got.x_selected_.tolist() == want.x_selected_.tolist()
    assert got.y_selected_.tolist() == want.y_selected_.tolist()
    assert_allclose(got.canonical_correlations_, want.canonical_correlations_, rtol=1e-10)
    assert_allclose(
        got.canonical_correlation_grid(*chunked),
        want.canonical_correlation_grid(X, Y),
        rtol=1e-9,
    )
    x, y = got.transform(*chunked)
    assert dask.is_dask_collection(x)
    assert_allclose(y.compute(), want.transform(X, Y)[1])
    frames = [
        dd.from_pandas(pd.DataFrame(A).rename(columns=lambda j, p=p: f"{p}{j}"), npartitions=3)
        for p, A in (("a", X), ("b", Y))
    ]
    named = TwoViewProjSe(3, x_include=["a5"]).fit(*frames)
    assert named.x_selected_names_[0] == "a5"
    assert sorted(named.transform(*frames)[0].columns) == sorted(named.x_selected_names_)


# Rows stay where they are, in every face


def never_all(monkeypatch):
    """Fail where a collection is turned into an array here, with all of its rows."""

    def refuse(self, *args, **kwargs):
        raise AssertionError("rows were pulled into memory")

    monkeypatch.setattr(da.Array, "__array__", refuse)
    for name in ("DataFrame", "Series"):
        monkeypatch.setattr(getattr(dd, name), "__array__", refuse)


def collections(seed, kind):
    """Return X, Y and labels in memory, and the same in Dask."""
    df = frame(seed)
    if kind == "frame":
        ddf = dd.from_pandas(df, npartitions=5, sort=False)
        return (df[NAMES], df[TARGETS], df["label"]), (ddf[NAMES], ddf[TARGETS], ddf["label"])
    X, Y, labels = df[NAMES].to_numpy(), df[TARGETS].to_numpy(), df["label"].to_numpy(str)
    return (X, Y, labels), tuple(cut(A, (60, 1, 99, 40)) for A in (X, Y, labels))


KINDS = pytest.mark.parametrize("kind", ["array", "frame"])


@KINDS
def test_subspace_correlation_sums_where_the_rows_are(seed, threads, kind, monkeypatch):
    (X, Y, labels), (dX, dY, dlabels) = collections(seed, kind)
    want = [subspace_correlation(X, Y), subspace_correlation(X, labels)]
    uncentred = subspace_correlation(X, Y, center=False)
    never_all(monkeypatch)
    assert_allclose(subspace_correlation(dX, dY), want[0], rtol=1e-10)
    assert_allclose(subspace_correlation(dX, dlabels), want[1], rtol=1e-10)
    assert_allclose(subspace_correlation(dX, dY, center=False), uncentred, rtol=1e-10)
    with pytest.raises(ValueError, match="Y is None"):
        subspace_correlation(dX, None)


@KINDS
def test_partial_fit_sums_where_the_rows_are(seed, scheduler, kind, monkeypatch):
    (X, Y, labels), (dX, dY, dlabels) = collections(seed, kind)
    want = fit(ProjSe(6), X, Y)
    by_class = fit(ProjSe(2), X, labels)
    more = ProjSe(6).partial_fit(X, Y)
    never_all(monkeypatch)
    twice = ProjSe(6).partial_fit(dX, dY)
    same(twice, want)
    assert twice.moments_.n_samples == 200
    doubled = fit(ProjSe(6), X, Y, np.full(200, 2))
    same(twice.partial_fit(dX, dY), doubled)
    assert twice.moments_.n_samples == 400
    assert twice.n_features_in_ == 8
    assert hasattr(twice, "feature_names_in_") == (kind == "frame")
    same(more.partial_fit(dX, dY), doubled)  # rows here first, then rows there
    same(ProjSe(2).partial_fit(dX, dlabels), by_class)


def test_partial_fit_goes_on_past_the_classes_of_wide_rows(seed, threads):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(300, 600)), rng.integers(0, 4, size=300)
    got = ProjSe(4).partial_fit(cut(X, (100,) * 3), cut(labels, (100,) * 3))
    same(got, ProjSe(4).fit(X, labels))


# Some partitions hold a few rows only.
@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingPredictsWarning")
@KINDS
def test_partitions_are_blocks_and_folds(seed, scheduler, kind, monkeypatch):
    (X, Y, _), (dX, dY, dlabels) = collections(seed, kind)
    sizes = [40] * 5 if kind == "frame" else [60, 1, 99, 40]
    edges = np.cumsum([0, *sizes])
    part = (lambda A, a, b: A.iloc[a:b]) if kind == "frame" else (lambda A, a, b: A[a:b])
    here = [
        Moments.from_arrays(part(X, a, b), part(Y, a, b), with_xx=True) for a, b in pairwise(edges)
    ]
    want = StabilityProjSe(ProjSe(2), 10, random_state=0, threshold=0.1).fit_moments(here)
    never_all(monkeypatch)
    blocks = block_moments(dX, dY, None, with_xx=True)
    assert [block.n_samples for block in blocks] == sizes
    got = StabilityProjSe(ProjSe(2), 10, random_state=0, threshold=0.1).fit_moments(blocks)
    assert_allclose(got.selection_frequencies_, want.selection_frequencies_)
    scores = [ProjSeCV().fit_moments(b).cv_results_["mean_test_score"] for b in (blocks, here)]
    assert_allclose(*scores, rtol=1e-9)
    classes = [block.classes.tolist() for block in block_moments(dX, dlabels, None)]
    assert classes == [["one", "three", "two"]] * len(sizes), "of all partitions"


def test_empty_partitions_are_no_blocks_and_bad_ones_are_named(seed, threads):
    X, Y = planted(seed)
    dX, dY = cut(X, (100, 100)), cut(Y, (100, 100))
    weight = cut(np.repeat([1.0, 0.0], 100), (100, 100))
    assert [b.n_samples for b in block_moments(dX, dY, None, weight)] == [100]
    X[150, 3] = np.nan
    with pytest.raises(PartitionError, match=r"Partition 1: .*column 3"):
        block_moments(cut(X, (100, 100)), dY, None)
    with pytest.raises(ValueError, match="groups and partitions"):
        block_moments(dX, dY, None, groups=np.zeros(200))
    with pytest.raises(ValueError, match="n_blocks=None must be a number"):
        block_moments(np.ones((9, 2)), np.ones((9, 2)), None)


FACES = {
    "StabilityProjSe": (StabilityProjSe(ProjSe(2)).fit, r"fit_moments\(block_moments\(X, y, None"),
    "ProjSeCV": (ProjSeCV().fit, r"fit_moments\(block_moments\(X, y, None, with_xx=True"),
    "permutation_test": (lambda X, y: permutation_test(ProjSe(2), X, y), r"compute\(\) them first"),
    "alignment": (linear_kernel_alignment, r"compute\(\) them first"),
    "block_moments": (block_moments, "n_blocks=None"),
}


@pytest.mark.parametrize("face", FACES)
@KINDS
def test_what_needs_single_rows_is_refused_with_the_remedy(seed, kind, face, monkeypatch):
    (X, Y, _), (dX, dY, _) = collections(seed, kind)
    call, remedy = FACES[face]
    never_all(monkeypatch)
    for given in ((dX, dY), (X, dY), (dX, Y)):
        with pytest.raises(ValueError, match=f"^With rows in Dask, .*{remedy}"):
            call(*given)


def test_two_views_in_dask_keep_their_type_whatever_set_output_says(seed, threads):
    X, Y = planted(seed)
    dX, dY = cut(X, (100, 100)), cut(Y, (100, 100))
    model = TwoViewProjSe(2).fit(dX, dY)
    assert all(isinstance(view, da.Array) for view in model.transform(dX, dY))
    model.set_output(transform="pandas")
    for given in ((dX,), (dX, dY), (X, dY)):
        with pytest.raises(ValueError, match="set_output does not apply to Dask"):
            model.transform(*given)


def test_a_close_call_about_whole_numbers_is_told_once(seed, threads):
    X, _ = planted(seed)
    y = np.arange(200) // 8
    table = dd.from_pandas(pd.DataFrame(X, columns=NAMES).assign(y=y), npartitions=4, sort=False)
    for call in ("fit", "partial_fit", "from_arrays"):
        for given in (table["y"], table[["y"]], cut(y, (50,) * 4)):
            face = Moments if call == "from_arrays" else ProjSe(1)
            with pytest.warns(ManyClassesWarning, match=r"25 distinct values .* 200 rows") as found:
                getattr(face, call)(table[NAMES], given)
            assert len(found) == 1
        face = Moments if call == "from_arrays" else ProjSe(1)
        getattr(face, call)(table[NAMES], table["y"].astype("category"))


# Tables


WAYS = [
    ("indicator", "linear"),
    pytest.param("mean", "linear", marks=pytest.mark.slow),
    pytest.param("drop", "linear", marks=pytest.mark.slow),
    pytest.param("indicator", "spline", marks=pytest.mark.slow),
]


@pytest.mark.determinism
@pytest.mark.parametrize(("missing", "basis"), WAYS)
def test_tables_are_encoded_by_the_workers_as_in_memory(seed, missing, basis):
    table = patients(seed, 200)
    X, y = table.drop(columns=PATIENT_TARGETS), table[PATIENT_TARGETS]
    selector = ProjSe(5, missing=missing, basis=basis)
    want = clone(selector).fit(X, y)
    lazy = dd.from_pandas(table, npartitions=4)
    found = selector.fit(lazy[list(X.columns)], lazy[PATIENT_TARGETS])
    assert found.selected_.tolist() == want.selected_.tolist()
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=0, atol=1e-10)
    assert found.get_feature_names_out().tolist() == want.get_feature_names_out().tolist()


@pytest.mark.slow
def test_a_table_goes_on_by_the_plan_of_its_first_rows(seed):
    table = patients(seed, 300, gaps=False)
    features = list(table.columns[:7])
    lazy = dd.from_pandas(table, npartitions=3)
    X, y = lazy[features], lazy[PATIENT_TARGETS]
    selector = ProjSe(4).partial_fit(X.partitions[:2], y.partitions[:2])
    plan = selector.moments_.encoding
    selector.partial_fit(X.partitions[2], y.partitions[2])
    assert selector.moments_.encoding == plan
    want = ProjSe(4).fit(table[features], table[PATIENT_TARGETS])
    assert selector.selected_.tolist() == want.selected_.tolist()
    np.testing.assert_allclose(selector.scores_, want.scores_, rtol=0, atol=1e-10)


def coded(seed):
    """Codes as categories next to dates and numbers with gaps, and an output that hangs on them."""
    rng = np.random.default_rng(seed)
    ward = np.append(np.arange(30), rng.integers(0, 30, 210))
    days = pd.to_timedelta(rng.integers(0, 900, 240), "D")
    X = pd.DataFrame({"x": rng.normal(size=240), "day": pd.Timestamp("2021-01-01") + days})
    X["ward"] = pd.Categorical(ward)
    X["doses"] = pd.array(rng.choice([1, 2, 3, None], 240), dtype="Int64")
    effects = 3 * rng.normal(size=30)
    return X, pd.DataFrame({"y": effects[ward] + X["x"] + rng.normal(size=240)})


BESIDE = {
    "in memory": lambda y: y,
    "array in memory": lambda y: y.to_numpy(),
    "array": lambda y: da.from_array(y.to_numpy(), chunks=(80, 1)),
    "array, cut otherwise": lambda y: da.from_array(y.to_numpy(), chunks=(100, 1)),
    "frame, cut otherwise": lambda y: dd.from_pandas(y, npartitions=2),
}


@pytest.mark.filterwarnings("ignore::projse.exceptions.RechunkWarning")
@pytest.mark.parametrize("beside", BESIDE.values(), ids=BESIDE)
def test_a_table_is_what_its_types_say_beside_references_of_any_kind(seed, threads, beside):
    X, y = coded(seed)
    lazy = dd.from_pandas(X, npartitions=3)
    selector = ProjSe(4, missing="indicator")
    want = clone(selector).fit(X, y)
    assert want.selected_[0] == 2
    same(clone(selector).fit(lazy, beside(y)), want)
    same(clone(selector).fit(lazy, dd.from_pandas(y, npartitions=3), covariates=None), want)


@pytest.mark.parametrize("kind", ["array", "array, cut otherwise", "in memory"])
@pytest.mark.filterwarnings("ignore::projse.exceptions.RechunkWarning")
def test_weights_of_a_table_may_be_an_array(seed, threads, kind):
    X, y = coded(seed)
    weight = np.random.default_rng(seed).integers(0, 3, len(X)).astype(float)
    want = ProjSe(4, missing="indicator").fit(X, y, sample_weight=weight)
    chunks = {"array": 80, "array, cut otherwise": 100}
    given = da.from_array(weight, chunks=chunks[kind]) if kind in chunks else weight
    lazy = dd.from_pandas(X, npartitions=3), dd.from_pandas(y, npartitions=3)
    same(ProjSe(4, missing="indicator").fit(*lazy, sample_weight=given), want)


@pytest.mark.filterwarnings("ignore::projse.exceptions.RechunkWarning")
@pytest.mark.parametrize("parts", [None, 2, 3])
def test_codes_that_are_categories_are_classes_and_covariates(seed, threads, parts):
    X, _ = coded(seed)
    ward, numbers = X["ward"], X[["x"]].assign(z=np.random.default_rng(seed).normal(size=len(X)))
    lazy = dd.from_pandas(numbers, npartitions=3)
    beside = ward if parts is None else dd.from_pandas(ward, npartitions=parts)
    found = ProjSe(2).fit(lazy, beside)
    same(found, ProjSe(2).fit(numbers, ward))
    assert len(found.moments_.classes) == 30
    y = X["day"].dt.day.to_numpy() + 1.0 * ward.cat.codes.to_numpy()
    Z = ward.to_frame() if parts is None else beside.to_frame()
    same(
        ProjSe(2).fit(lazy, y, covariates=Z), ProjSe(2).fit(numbers, y, covariates=ward.to_frame())
    )
