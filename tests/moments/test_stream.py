"""One pass over a source: what it sums, in which order, and how it fails."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from agreement import check, quietly
from day_files import DAMAGE, NAMES, TARGETS, days, same_bits, small_chunks, table
from paper import paper_form
from planted import planted, planted_labels

import projse.moments.stream_run
import projse.sources.batches
import projse.sources.csv
from projse import Moments, ProjSe, SourceError, moments_from
from projse.exceptions import RankExhaustedWarning

# Sums


def test_the_cut_of_the_batches_leaves_no_trace(seed, tmp_path, monkeypatch):
    small_chunks(monkeypatch)
    t = table(seed)
    found = []
    for size in (7, 33, 500):
        path = tmp_path / f"{size}.parquet"
        pq.write_table(t, path, row_group_size=size)
        found.append(moments_from(path, targets="y_*"))
        found.append(moments_from(iter(t.to_batches(max_chunksize=size)), targets="y_*"))
    for other in found[1:]:
        same_bits(found[0], other)


def test_the_order_of_files_and_the_number_of_threads_leave_no_trace(seed, tmp_path, monkeypatch):
    small_chunks(monkeypatch)
    folder = days(seed, tmp_path / "days")
    first = moments_from(folder, targets="y_*", n_jobs=2)
    paths = sorted(folder.iterdir(), reverse=True)
    same_bits(first, moments_from(paths, targets="y_*", n_jobs=2))
    same_bits(first, moments_from(paths, targets="y_*", n_jobs=1))
    same_bits(first, moments_from(str(folder / "*"), targets="y_*"))


def test_means_far_from_zero_lose_no_digits(seed, tmp_path, monkeypatch):
    small_chunks(monkeypatch, 40)
    X, Y = planted(seed)
    offset = 1e6
    want = ProjSe(3).fit(X, Y)
    pairs = ((X[i : i + 13] + offset, Y[i : i + 13] - offset) for i in range(0, len(X), 13))
    check(ProjSe(3).fit_source(pairs), want, rtol=1e-7, atol=1e-7)


def test_batch_size_changes_nothing_but_rounding(seed, tmp_path):
    folder = days(seed, tmp_path / "days")
    want = moments_from(folder, targets="y_*")
    for batch_size in (1, 17, 1000):
        got = moments_from(folder, targets="y_*", batch_size=batch_size)
        scale = np.abs(want.yx).max()
        np.testing.assert_allclose(got.yx, want.yx, rtol=1e-10, atol=1e-12 * scale)


def test_files_without_rows_add_nothing(seed, tmp_path):
    folder = days(seed, tmp_path / "days")
    want = moments_from(folder, targets="y_*")
    pq.write_table(table(seed).slice(0, 0), folder / "day-00a.parquet")
    same_bits(want, moments_from(folder, targets="y_*"))
    with pytest.raises(SourceError, match="no rows"):
        moments_from(folder / "day-00a.parquet", targets="y_*")


def test_files_may_differ_in_the_order_and_width_of_their_numbers(seed, tmp_path):
    t = table(seed)
    want = moments_from(t, targets="y_*")
    pq.write_table(t.slice(0, 100), tmp_path / "a.parquet")
    other = t.slice(100).select([*reversed(TARGETS), *reversed(NAMES)])
    other = other.set_column(0, "y_2", other["y_2"].cast(pa.float32()))
    pq.write_table(other, tmp_path / "b.parquet")
    got = moments_from(tmp_path, targets=TARGETS)
    assert got.feature_names == want.feature_names
    np.testing.assert_allclose(got.x_mean, want.x_mean, rtol=1e-10)
    np.testing.assert_allclose(got.y_mean, want.y_mean, rtol=1e-6)


# Reading and multiplying


def test_the_next_rows_are_read_while_the_last_are_multiplied(seed, monkeypatch):
    small_chunks(monkeypatch, 10)
    X, Y = planted(seed, 60)
    n_read = threading.Semaphore(0)
    real = projse.moments.stream_run.moments_of

    def moments_of(*args, **kwargs):
        # Two more chunks are read before this one is done: else this waits in vain.
        assert n_read.acquire(timeout=60)
        assert threading.current_thread() is not threading.main_thread()
        return real(*args, **kwargs)

    def batches():
        for i in range(0, 60, 10):
            assert threading.current_thread() is threading.main_thread()
            if i >= 20:
                n_read.release()
            yield X[i : i + 10], Y[i : i + 10]
        for _ in range(2):
            n_read.release()

    monkeypatch.setattr(projse.moments.stream_run, "moments_of", moments_of)
    moments = moments_from(batches(), n_jobs=2)
    assert moments.n_samples == 60


def test_memory_stays_bounded(monkeypatch):
    import tracemalloc

    rows, columns = 2000, 50
    monkeypatch.setattr(projse.sources.batches, "CHUNK_ROWS", (rows, rows))

    def batches():
        rng = np.random.default_rng(0)
        for _ in range(60):
            X = rng.normal(size=(rows, columns))
            yield X, X[:, :2]

    tracemalloc.start()
    try:
        moments_from(batches())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * rows * columns * 8


WRITERS = {
    "parquet": lambda t, path: pq.write_table(t, path, row_group_size=len(t), use_dictionary=False),
    "feather": lambda t, path: pyarrow.feather.write_feather(t, path, chunksize=4096),
    "csv": pacsv.write_csv,
}


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_file_is_never_held_whole(seed, tmp_path, monkeypatch, suffix, n_jobs):
    """One row group of 32 MB, and text that takes 64 MB as numbers."""
    small_chunks(monkeypatch, 4096)
    monkeypatch.setattr(projse.sources.csv, "BLOCK_BYTES", (1 << 18, 1 << 18))
    monkeypatch.setattr(projse.sources.csv, "TYPE_BYTES", 1 << 18)
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 100, size=(20, 400_000)).astype("f4")
    path = tmp_path / f"rows.{suffix}"
    WRITERS[suffix](pa.table({f"x_{j}": column for j, column in enumerate(values)}), path)
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    pa.set_memory_pool(pool)
    try:
        moments = moments_from(path, targets="x_0", target_type="continuous", n_jobs=n_jobs)
    finally:
        pa.set_memory_pool(before)
    assert moments.n_samples == values.shape[1]
    assert 0 < pool.max_memory() < 24 << 20


def test_an_error_in_the_iterator_comes_through_and_leaves_no_thread(seed):
    X, Y = planted(seed)
    before = threading.active_count()

    def batches():
        yield X, Y
        raise RuntimeError("the database has gone")

    with pytest.raises(RuntimeError, match="the database has gone"):
        moments_from(batches(), n_jobs=2)
    assert threading.active_count() <= before


def test_batches_that_do_not_fit_together_are_refused(seed):
    X, Y = planted(seed)
    for other in ((X[:, :4], Y), (X, Y[:, :2]), (X[:-1], Y), (X,), X, (X, Y, None, None)):
        with pytest.raises((SourceError, ValueError)):
            moments_from(iter([(X, Y), other]))


# Progress


def test_progress_counts_rows_and_files_up_to_the_end(seed, tmp_path, monkeypatch):
    small_chunks(monkeypatch)
    folder = days(seed, tmp_path / "days")
    seen = []
    thread = []

    def progress(now):
        seen.append(now)
        thread.append(threading.current_thread())

    moments_from(folder, targets="y_*", progress=progress)
    assert set(thread) == {threading.main_thread()}
    rows = [now.n_rows for now in seen]
    fractions = [now.fraction for now in seen]
    assert rows == sorted(rows)
    assert rows[-1] == 240
    assert fractions == sorted(fractions)
    assert 0 < fractions[0] < 1
    assert fractions[-1] == 1.0
    assert [now.n_parts for now in seen if now.n_parts][-1] == 4
    assert {now.n_parts_total for now in seen} == {4}
    assert seen[0].label.endswith("day-00.parquet")
    seen.clear()
    moments_from(table(seed), targets="y_*", progress=progress)
    assert seen[-1].fraction is None
    assert seen[-1].n_rows == 240


def test_scikit_learn_callbacks_hear_of_the_files(seed, tmp_path):
    pytest.importorskip("sklearn.callback")
    events = []

    class Recorder:
        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            events.append(context.task_name)

        def on_fit_task_end(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            events.append("teardown")

    selector = ProjSe(2)
    selector.set_callbacks(Recorder())
    selector.fit_source(days(seed, tmp_path / "days"), targets="y_*")
    assert events.count("rows-step") == 4
    assert "picks" in events
    assert events[-1] == "teardown"


# fit_source


def test_products_of_the_candidates_are_summed_only_where_picks_need_them(seed, tmp_path):
    folder = days(seed, tmp_path / "days")
    X, Y = planted(seed, 240)
    for n, needed in ((2, False), (3, False), (None, False), (5, True)):
        selector = paper_form(n).fit_source(folder, targets="y_*")
        assert (selector.moments_.xx is not None) == needed, n
        check(selector, paper_form(n).fit(X, Y), rtol=1e-9)
    for parameters in ({"include": ["x_1"]}, {"round_size": 1}, {"center_kernel": True}):
        selector = paper_form(3, **parameters).fit_source(folder, targets="y_*")
        assert selector.moments_.xx is not None
    assert paper_form(3, exhausted="stop").fit_source(folder, targets="y_*").moments_.xx is None


def test_dependent_references_are_seen_in_time(seed, tmp_path):
    t = table(seed)
    for j, name in enumerate(("y_3", "y_4")):
        t = t.append_column(name, pa.array(np.array(t[f"y_{j}"]) * (2.0 + j)))
    X, Y = planted(seed, 240)
    selector = ProjSe(5).fit_source(t, targets="y_*")  # five references of rank three
    check(selector, ProjSe(5).fit(X, np.hstack([Y, Y[:, :2]])), rtol=1e-8)


def test_labels_that_come_sorted_are_no_trap(seed):
    X, codes = planted_labels(seed, 240)
    order = np.argsort(codes, kind="stable")
    pairs = [(X[order][i : i + 40], codes[order][i : i + 40]) for i in range(0, 240, 40)]
    selector = quietly(ProjSe(4).fit_source, iter(pairs))
    check(selector, quietly(ProjSe(4).fit, X, codes), rtol=1e-9)


def test_fit_source_is_a_fit(seed, tmp_path):
    folder = days(seed, tmp_path / "days")
    _, Y = planted(seed, 240)
    selector = ProjSe(3).fit_source(folder, targets="y_*")
    frame = table(seed).to_pandas()[NAMES]
    assert selector.transform(frame).shape == (240, 3)
    assert selector.get_feature_names_out().tolist() == [f"x_{j}" for j in (0, 2, 5)]
    more = selector.moments_ + Moments.from_arrays(frame, Y, with_xx=False)
    assert more.n_samples == 480
    with pytest.raises(ValueError, match="callable kernel"):
        ProjSe(2, kernel=lambda a, b: a.T @ b).fit_source(folder, targets="y_*")
    with pytest.raises(ValueError, match="n_features_to_select"):
        ProjSe(20).fit_source(folder, targets="y_*")


def test_a_failed_fit_source_leaves_the_fit_before_it(seed, tmp_path):
    folder = days(seed, tmp_path / "days")
    selector = ProjSe(2).fit_source(folder, targets="y_*")
    before = selector.selected_.tolist(), selector.feature_names_in_.tolist()
    with pytest.raises(SourceError):
        selector.fit_source(folder, targets="nope")
    with pytest.raises(SourceError):
        selector.fit_source(folder, targets="x_*", features="nope")
    (folder / "day-03.parquet").write_bytes(b"")
    with pytest.raises(SourceError):
        selector.fit_source(folder, targets="x_*", features="y_*")
    assert (selector.selected_.tolist(), selector.feature_names_in_.tolist()) == before
    new = ProjSe(2)
    with pytest.raises(SourceError):
        new.fit_source(folder, targets="y_*")
    assert not [name for name in vars(new) if name.endswith("_")]


def test_running_out_of_references_warns_as_in_fit(seed):
    X, Y = planted(seed)
    with pytest.warns(RankExhaustedWarning):
        ProjSe(5, exhausted="stop").fit_source((X, Y))


# Damaged files


ABOUT = {
    "missing column": ["lacks column 'x_3'"],
    "missing target": ["'y_1'"],
    "renamed columns": ["lacks columns 'x_0'", "and 3 more"],
    "another column": ["'x_99'", "Name the features"],
    "text for numbers": ["'x_3' (string)", "held numbers"],
    "text for a target": ["'y_1'"],
    "nulls": ["'x_3' (60)", "missing"],
    "NaN": ["'x_3'", "missing"],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_named_with_the_remedy(seed, tmp_path, damage):
    folder = days(seed, tmp_path / "days")
    DAMAGE[damage](folder / "day-02.parquet", table(seed).slice(120, 60))
    with pytest.raises(SourceError) as caught:
        moments_from(folder, targets=TARGETS)
    for word in ["day-02.parquet", *ABOUT.get(damage, ["restore it or remove it"])]:
        assert word in str(caught.value)


def test_a_damaged_page_inside_a_file_is_named(seed, tmp_path):
    folder = days(seed, tmp_path / "days")
    path = folder / "day-01.parquet"
    content = bytearray(path.read_bytes())
    content[200:1200] = b"\xff" * 1000
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"day-01\.parquet"):
        moments_from(folder, targets="y_*")


def test_a_csv_column_that_turns_from_int_to_text_half_way_is_named(tmp_path):
    path = tmp_path / "a.csv"
    lines = "".join(f"{10**9 + i},{i % 7},{i % 5}\n" for i in range(1000))

    def write(odd):  # far behind the rows that the types are read off
        path.write_text("a,b,y\n" + lines * 1200 + odd + "\n" + lines * 100)

    write("many,1,2")
    with pytest.raises(SourceError) as caught:
        moments_from(path, targets="y", target_type="continuous")
    for word in ("a.csv", "'a'", "many", "row 1200002", "repair the line"):
        assert word in str(caught.value)
    write("0.5,1,2")  # and a whole number may turn into a fraction
    moments = moments_from(path, targets="y", target_type="continuous")
    assert moments.n_samples == 1_300_001


def test_damaged_csv_feather_and_npy_files_are_named(seed, tmp_path):
    t = table(seed)
    pacsv.write_csv(t, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open("a") as file:
        file.write("1,2,3\n")
    pa.feather.write_feather(t, tmp_path / "a.feather")
    content = (tmp_path / "a.feather").read_bytes()
    (tmp_path / "a.feather").write_bytes(content[: len(content) // 2])
    np.save(tmp_path / "a.npy", np.ones((50, 4)))
    content = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(content[: len(content) // 2])
    (tmp_path / "empty.csv").touch()
    np.save(tmp_path / "cube.npy", np.ones((2, 2, 2)))
    np.save(tmp_path / "text.npy", np.array([["a"]]))
    for name in ("a.csv", "a.feather", "a.npy", "empty.csv", "cube.npy", "text.npy"):
        with pytest.raises(SourceError, match=name):
            moments_from(tmp_path / name)


def test_labels_of_another_kind_are_named_with_their_file(seed, tmp_path):
    X, codes = planted_labels(seed, 100)
    t = pa.table(dict(zip(NAMES, X.T, strict=True)))
    pq.write_table(t.append_column("label", pa.array(codes)), tmp_path / "a.parquet")
    text = pa.array([f"c{c}" for c in codes])
    pq.write_table(t.append_column("label", text), tmp_path / "b.parquet")
    with pytest.raises(SourceError, match=r"b\.parquet: the class labels 'label' are string"):
        moments_from(tmp_path, class_target="label")
