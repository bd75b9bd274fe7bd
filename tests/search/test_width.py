"""Any width: picks and scores are those of all products, whatever source serves the picks."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from agreement import quietly
from numpy.testing import assert_allclose, assert_array_equal
from processes import picks, run
from variants import slow

from projse import PAPER, Moments, ProjSe, moments_from
from projse.exceptions import ProductsMissingError, SourceError
from projse.sources import parquet

FORMS = {
    "auto": {"alpha": "auto", "redundancy": "auto", "round_size": "auto"},
    "paper": PAPER,
    "one by one": {**PAPER, "round_size": 1},
    "five a round": {**PAPER, "round_size": 5},
}
N_PICKS = 14


def problem(seed, m=300, p=650, q=4):
    """More picks than outputs; some candidates are near copies of real ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, p)) + 0.3 * rng.normal(size=(m, 1)) + rng.normal(size=p)
    X[:, 20:30] = X[:, :10] + 0.3 * rng.normal(size=(m, 10))
    Y = X[:, :N_PICKS] @ rng.normal(size=(N_PICKS, q)) + rng.normal(size=(m, q))
    return X, Y


def table(X, Y, **more):
    names = [*(f"x_{j}" for j in range(X.shape[1])), *(f"y_{j}" for j in range(Y.shape[1]))]
    return pa.table(dict(zip(names, [*X.T, *Y.T], strict=True)) | more)


def files(folder, t, n_files=3, write=pq.write_table, suffix="parquet"):
    folder.mkdir(exist_ok=True)
    size = -(-t.num_rows // n_files)
    for i in range(n_files):
        write(t.slice(i * size, size), folder / f"{i}.{suffix}")
    return folder


def csv_files(folder, t):
    return files(folder, t, write=pa.csv.write_csv, suffix="csv")


class Readings:
    """Batches that can be read again; counts how often they were."""

    def __init__(self, X, Y, n_batches=4):
        self.X, self.Y, self.n_batches, self.n = X, Y, n_batches, 0

    def __iter__(self):
        self.n += 1
        for i in range(self.n_batches):
            yield self.X[i :: self.n_batches], self.Y[i :: self.n_batches]


@pytest.fixture(autouse=True)
def on_demand(monkeypatch):
    """Let nothing but the picks be a reason to sum products."""
    monkeypatch.setattr("projse.search.products.CHEAP_PRODUCTS", 0)
    monkeypatch.setattr("projse.kernels.linear_gram.COPY_ELEMENTS", 0)
    monkeypatch.setattr("projse.moments.stream.OVER_STATE", 64.0)
    monkeypatch.setattr("projse.estimators.fit_elsewhere.ON_CLUSTER", 64.0)


def by_all_products(form, X, Y, weight=None, **options):
    moments = Moments.from_arrays(X, Y, weight, with_xx=True)
    return ProjSe(N_PICKS, **form, **options).fit_moments(moments)


def check_same(got, want, rtol=1e-8):
    assert got.moments_.xx is None  # they were not summed
    assert_array_equal(got.selected_, want.selected_)
    assert_allclose(got.scores_, want.scores_, rtol=rtol)
    assert_allclose(got.pvalues_, want.pvalues_, rtol=1e-5, atol=1e-12)
    assert_array_equal(got.rounds_, want.rounds_)


ARRAYS = {
    "dense": lambda s, X, Y, w: s.fit(X, Y),
    "by column": lambda s, X, Y, w: s.fit(np.asfortranarray(X), Y),
    "sparse": lambda s, X, Y, w: s.fit(sp.csr_array(X), Y),
    "weighted": lambda s, X, Y, w: s.fit(X, Y, w),
    "sparse, weighted": lambda s, X, Y, w: s.fit(sp.csc_array(X), Y, w),
    "source of arrays": lambda s, X, Y, w: s.fit_source((X, Y)),
    "source of weighted arrays": lambda s, X, Y, w: s.fit_source((X, Y, w)),
    "source of sparse arrays": lambda s, X, Y, w: s.fit_source((sp.csr_array(X), Y)),
    "batches": lambda s, X, Y, w: s.fit_source(list(Readings(X, Y))),
    "table": lambda s, X, Y, w: s.fit_source(table(X, Y), targets="y_*"),
    "frame": lambda s, X, Y, w: s.fit_source(table(X, Y).to_pandas(), targets="y_*"),
    "record batches": lambda s, X, Y, w: s.fit_source(table(X, Y).to_batches(), targets="y_*"),
}


@pytest.mark.determinism
@pytest.mark.parametrize("form", ["auto", *slow(*(name for name in FORMS if name != "auto"))])
@pytest.mark.parametrize("kind", ARRAYS)
def test_rows_in_memory(seed, kind, form):
    X, Y = problem(seed)
    weight = np.random.default_rng(seed).integers(0, 3, len(X)).astype(float)
    weighted = weight if "weighted" in kind else None
    got = ARRAYS[kind](ProjSe(N_PICKS, **FORMS[form]), X, Y, weight)
    check_same(got, by_all_products(FORMS[form], X, Y, weighted))


FILES = {
    "parquet": lambda s, folder, t: s.fit_source(files(folder, t), targets="y_*"),
    "csv": lambda s, folder, t: s.fit_source(csv_files(folder, t), targets="y_*"),
    "weighted": lambda s, folder, t: s.fit_source(files(folder, t), targets="y_*", weight="w"),
}


@pytest.mark.determinism
@pytest.mark.parametrize("form", ["auto", *slow(*(name for name in FORMS if name != "auto"))])
@pytest.mark.parametrize("kind", FILES)
def test_files(seed, tmp_path, kind, form):
    X, Y = problem(seed)
    weight = np.random.default_rng(seed).integers(0, 3, len(X)).astype(float)
    more = {"w": weight} if kind == "weighted" else {}
    got = FILES[kind](ProjSe(N_PICKS, **FORMS[form]), tmp_path / "rows", table(X, Y, **more))
    check_same(got, by_all_products(FORMS[form], X, Y, more.get("w")))


@pytest.mark.determinism
@pytest.mark.parametrize("form", ["auto", "paper"])
@pytest.mark.parametrize("dtypes", [("f4", "f4"), ("f4", "f8")])
@pytest.mark.slow
def test_single_precision(seed, tmp_path, dtypes, form):
    X, Y = (A.astype(dtype) for A, dtype in zip(problem(seed), dtypes, strict=True))
    want = by_all_products(FORMS[form], X, Y)
    got = ProjSe(N_PICKS, **FORMS[form]).fit_source(
        files(tmp_path / "rows", table(X, Y)), targets="y_*"
    )
    assert got.moments_.eps == want.moments_.eps
    n = N_PICKS if "f8" in dtypes else 6  # what is left after more is near float32's rounding
    assert_array_equal(got.selected_[:n], want.selected_[:n])
    assert_allclose(got.scores_[:n], want.scores_[:n], rtol=1e-8 if "f8" in dtypes else 1e-3)


OPTIONS = {
    "include": {"include": [3, 600]},
    "exclude": {"exclude": list(range(5))},
    "not centred": {"center": False},
    "poly": {"kernel": "poly"},
    "rbf": {"kernel": "rbf"},
    "significant": {"n_features_to_select": "auto"},
}


@pytest.mark.parametrize("form", ["auto", "one by one"])
@pytest.mark.parametrize("name", OPTIONS)
def test_other_ways_to_select(seed, name, form):
    X, Y = problem(seed, p=1000 if name == "significant" else 650)
    options = {"n_features_to_select": N_PICKS, **FORMS[form], **OPTIONS[name]}
    want = quietly(ProjSe(**options).fit_moments, Moments.from_arrays(X, Y, with_xx=True))
    got = quietly(ProjSe(**options).fit_source, Readings(X, Y))
    check_same(got, want)
    assert len(got.selected_) > 4 or name == "significant"


@pytest.mark.slow
def test_labels(seed, tmp_path):
    X, _ = problem(seed)
    labels = np.random.default_rng(seed).integers(4, size=len(X))
    X[:, :4] += 2.0 * (labels[:, None] == np.arange(4))
    t = table(X, X[:, :0]).append_column("label", pa.array(labels.astype(str)))
    for form in (FORMS["auto"], PAPER):
        got = ProjSe(8, **form).fit_source(files(tmp_path / "rows", t), class_target="label")
        want = ProjSe(8, **form).fit_moments(Moments.from_arrays(X, labels, with_xx=True))
        check_same(got, want)


def test_rows_that_are_left_out_are_left_out_of_every_pass(seed, tmp_path):
    X, Y = problem(seed)
    Y[5], X[70, 3] = np.nan, np.nan
    folder = files(tmp_path / "rows", table(X, Y))
    whole = np.setdiff1d(np.arange(len(X)), [5, 70])
    got = ProjSe(N_PICKS, **FORMS["auto"]).fit_source(folder, targets="y_*", missing="drop")
    check_same(got, by_all_products(FORMS["auto"], X[whole], Y[whole]))


@pytest.mark.parametrize("options", [{}, {"round_size": 5}, {"include": [7, 9]}])
def test_one_view(seed, options):
    X, _ = problem(seed, m=100)
    selector = ProjSe(N_PICKS, **{**PAPER, **options})
    want = selector.fit_moments(Moments.from_arrays(X, with_xx=True))
    picks, scores = want.selected_, want.scores_
    got = selector.fit_source((X,))
    assert got.moments_.xx is None
    assert_array_equal(got.selected_, picks)
    assert_allclose(got.scores_, scores, rtol=1e-8)


@pytest.mark.parametrize("form", FORMS)
def test_a_shortlist_that_is_too_short_is_filled_again(seed, form, monkeypatch):
    X, Y = problem(seed)
    once, often = Readings(X, Y), Readings(X, Y)
    want = ProjSe(N_PICKS, **FORMS[form]).fit_source(once)
    monkeypatch.setattr("projse.search.shortlist.SHORTLIST", 1)
    monkeypatch.setattr("projse.moments.stream.OVER_FILES", 0.0)
    got = ProjSe(N_PICKS, **FORMS[form]).fit_source(often)
    check_same(got, want)
    assert often.n > once.n or form in ("paper", "five a round")


@pytest.mark.parametrize("form", ["auto", "one by one"])
@pytest.mark.slow
def test_two_passes_make_fifty_picks_of_two_thousand(seed, form):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(800, 2000))
    rows = Readings(X, X[:, 900:950] @ rng.normal(size=(50, 20)) + rng.normal(size=(800, 20)))
    selector = ProjSe(50, **FORMS[form]).fit_source(rows)
    assert set(selector.selected_) == set(range(900, 950))
    assert rows.n == 2


def test_one_pass_where_nothing_is_conditioned_on(seed):
    X, Y = problem(seed)
    rows = Readings(X, Y)
    got = ProjSe(4, **PAPER).fit_source(rows)
    assert rows.n == 1
    assert np.isfinite(got.pvalues_).all()


def test_one_more_pass_tells_whether_a_single_pick_rests_on_few_rows(seed):
    X, Y = problem(seed)
    rows = Readings(X, Y)
    ProjSe(1, **FORMS["auto"]).fit_source(rows)
    assert rows.n == 1  # no row makes up an output, so none can make a candidate seem related
    Y[5, 0] = 1e3
    rows = Readings(X, Y)
    got = ProjSe(1, **FORMS["auto"]).fit_source(rows)
    assert rows.n == 2
    assert np.isfinite(got.pvalues_).all()


def test_one_pass_for_few_candidates(seed):
    X, Y = problem(seed, p=400)
    rows = Readings(X, Y)
    assert ProjSe(N_PICKS, **FORMS["auto"]).fit_source(rows).moments_.xx is not None
    assert rows.n == 1


# A state


@pytest.mark.parametrize("form", ["auto", *slow("paper", "one by one")])
def test_a_state_and_a_new_day(seed, tmp_path, form):
    X, Y = problem(seed)
    t = table(X, Y)
    options = {"targets": "y_*", "state": tmp_path / "state"}
    folder = files(tmp_path / "rows", t.slice(0, 200), n_files=2)
    selector = ProjSe(N_PICKS, **FORMS[form])
    check_same(
        selector.fit_source(folder, **options), by_all_products(FORMS[form], X[:200], Y[:200])
    )
    pq.write_table(t.slice(200), folder / "9.parquet")
    seen = []
    selector.fit_source(folder, progress=seen.append, **options)
    check_same(selector, by_all_products(FORMS[form], X, Y))
    first = [now for now in seen if now.n_passes == 1][-1]
    assert (first.n_kept, first.n_rows) == (2, 100)  # the first pass reads what is new
    assert seen[-1].n_passes > 1
    assert (seen[-1].n_kept, seen[-1].n_rows) == (0, 300)  # the next ones everything


@pytest.mark.slow
def test_a_state_keeps_all_products_up_to_about_two_thousand(seed, tmp_path, monkeypatch):
    monkeypatch.undo()
    X, Y = problem(seed)
    folder = files(tmp_path / "rows", table(X, Y))
    seen = []
    for _ in range(2):
        selector = ProjSe(N_PICKS, **FORMS["auto"]).fit_source(
            folder, targets="y_*", state=tmp_path / "state", progress=seen.append
        )
        assert selector.moments_.xx is not None
    assert seen[-1].n_passes == 1
    assert seen[-1].n_kept == 3


# Sources that change, and sources that are good for one reading


def test_a_file_that_changes_between_two_passes_is_refused(seed, tmp_path):
    X, Y = problem(seed)
    t = table(X, Y)
    folder = files(tmp_path / "rows", t)

    def write_when_read(now):
        if now.n_passes == 1 and now.n_parts == now.n_parts_total:
            pq.write_table(t.slice(0, 120), folder / "1.parquet")

    with pytest.raises(SourceError, match=r"1\.parquet changed between two passes"):
        ProjSe(N_PICKS, **FORMS["auto"]).fit_source(folder, targets="y_*", progress=write_when_read)


class Shifting(Readings):
    """As many rows each time, but not the same."""

    def __iter__(self):
        for X, Y in super().__iter__():
            yield X + 1e-6 * (self.n - 1), Y


class Shrinking(Readings):
    """Fewer rows each time."""

    def __iter__(self):
        for X, Y in super().__iter__():
            yield X[self.n :], Y[self.n :]


@pytest.mark.parametrize("kind", [Shifting, Shrinking])
def test_rows_that_are_not_those_of_the_first_pass_are_refused(seed, kind):
    selector = ProjSe(N_PICKS, **FORMS["auto"])
    with pytest.raises(SourceError, match=r"changed between two passes.*rows before"):
        selector.fit_source(kind(*problem(seed)))
    assert not hasattr(selector, "selected_")


def test_what_can_be_read_once_is_summed_with_all_products(seed):
    X, Y = problem(seed)
    got = ProjSe(N_PICKS, **FORMS["auto"]).fit_source(batch for batch in Readings(X, Y))
    assert got.moments_.xx is not None
    assert_array_equal(got.selected_, by_all_products(FORMS["auto"], X, Y).selected_)


def test_what_can_be_read_once_is_refused_where_it_is_too_wide(monkeypatch):
    monkeypatch.setattr("projse.search.products.KEPT_COLUMNS", 600)
    X, Y = problem(0)
    with pytest.raises(ProductsMissingError, match=r"up to 600 candidates.*read again"):
        ProjSe(N_PICKS, **FORMS["auto"]).fit_source(batch for batch in Readings(X, Y))
    with pytest.raises(ProductsMissingError, match="up to 600 candidates"):
        ProjSe(N_PICKS, **FORMS["auto"]).partial_fit(X, Y)
    ProjSe(4, **PAPER).fit_source(batch for batch in Readings(X, Y))


def test_products_that_were_left_out_by_hand_are_not_made(seed):
    X, Y = problem(seed)
    rows = Readings(X, Y)
    got = quietly(ProjSe(N_PICKS, **PAPER).fit_source, rows, with_xx=False)
    assert (rows.n, len(got.selected_)) == (1, 4)


def test_the_command_reads_again_and_says_so(seed, tmp_path, command):
    X, Y = problem(seed)
    folder = files(tmp_path / "rows", table(X, Y))
    done = command("select", folder, "-t", "y_*", "-k", N_PICKS)
    assert picks(done) == [f"x_{j}" for j in by_all_products(FORMS["auto"], X, Y).selected_]
    assert "Read 300 rows from 3 files" in done.stdout
    assert "more for products of the picks" in " ".join(done.stdout.split())


# Clusters


@pytest.mark.determinism
@pytest.mark.parametrize("form", ["auto", *slow("paper", "one by one", "five a round")])
@pytest.mark.parametrize("kind", ["array", "sparse", "frame"])
def test_dask(seed, kind, form):
    da = pytest.importorskip("dask.array")
    dd = pytest.importorskip("dask.dataframe")
    X, Y = problem(seed)
    if kind == "frame":
        frame = dd.from_pandas(table(X, Y).to_pandas(), npartitions=3)
        names = list(frame.columns)
        dX, dY = frame[names[:-4]], frame[names[-4:]]
    else:
        dX, dY = da.from_array(X, chunks=(100, -1)), da.from_array(Y, chunks=(100, -1))
        dX = dX.map_blocks(sp.csr_matrix) if kind == "sparse" else dX
    got = ProjSe(N_PICKS, **FORMS[form]).fit(dX, dY)
    check_same(got, by_all_products(FORMS[form], X, Y))


def test_dask_rows_that_are_made_anew_are_refused(seed):
    da = pytest.importorskip("dask.array")
    X, Y = problem(seed)
    n_calls = []

    def noisy(block):
        n_calls.append(1)
        return block + len(n_calls)

    dX = da.from_array(X, chunks=(100, -1)).map_blocks(noisy, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(SourceError, match="changed between two passes"):
        ProjSe(N_PICKS, **FORMS["auto"]).fit(dX, da.from_array(Y, chunks=(100, -1)))


@pytest.mark.determinism
@pytest.mark.slow
def test_five_thousand_candidates_from_everywhere(seed, tmp_path, monkeypatch):
    monkeypatch.undo()
    da = pytest.importorskip("dask.array")
    X, Y = problem(seed, m=400, p=5000, q=3)
    for form in FORMS.values():
        want = ProjSe(20, **form).fit(X, Y)
        dask_rows = [da.from_array(A, chunks=(150, -1)) for A in (X, Y)]
        for got in (
            ProjSe(20, **form).fit_source(files(tmp_path / "rows", table(X, Y)), targets="y_*"),
            ProjSe(20, **form).fit(*dask_rows),
            ProjSe(20, **form).fit(sp.csr_array(X), Y),
        ):
            check_same(got, want)


WIDE = """
import sys
from pathlib import Path
from projse import ProjSe
auto = {name: "auto" for name in ("alpha", "redundancy", "round_size")}
selector = ProjSe(100, **auto).fit_source(sys.argv[1], targets="y_*")
assert sorted(selector.selected_) == list(range(100)), selector.selected_
# Of this program alone: getrusage counts what the process held before it became this program.
status = Path("/proc/self/status").read_text().split()
print(int(status[status.index("VmHWM:") + 1]) // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read from /proc")
def test_memory_of_a_wide_fit_from_files_stays_below_a_gigabyte(tmp_path):
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(100, 20))
    for i in range(3):
        X = rng.normal(size=(500, 20_000))
        Y = X[:, :100] @ mixing + rng.normal(size=(500, 20))
        pq.write_table(table(X, Y), tmp_path / f"{i}.parquet", row_group_size=250)
    done = run(sys.executable, "-c", WIDE, str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 1024


def test_moments_alone_end_where_their_products_do(seed, tmp_path):
    X, Y = problem(seed)
    moments = moments_from(files(tmp_path / "rows", table(X, Y)), targets="y_*")
    assert moments.xx is None
    assert len(quietly(ProjSe(N_PICKS, **PAPER).fit_moments, moments).selected_) == 4


@pytest.mark.parametrize("group", [7, 1000])
@pytest.mark.slow
def test_wide_parquet_files_are_read_some_columns_at_a_time(seed, tmp_path, monkeypatch, group):
    X, Y = problem(seed)
    path = tmp_path / "wide.parquet"
    pq.write_table(table(X, Y), path, row_group_size=group)
    want = ProjSe(N_PICKS, **FORMS["auto"]).fit_source(path, targets="y_*", features="x_*")
    read = []
    monkeypatch.setattr("projse.sources.parquet.WIDE", 11)
    by_row_groups = parquet._by_row_groups

    def counted(*arguments):
        for batch in by_row_groups(*arguments):
            read.append(batch.num_rows)
            yield batch

    monkeypatch.setattr("projse.sources.parquet._by_row_groups", counted)
    got = ProjSe(N_PICKS, **FORMS["auto"]).fit_source(path, targets="y_*", features="x_*")
    assert_array_equal(got.selected_, want.selected_)
    assert_array_equal(got.scores_, want.scores_)
    assert sum(read) >= len(X)
    n_whole = len(read)
    monkeypatch.setattr("projse.sources.parquet.WHOLE_BYTES", 1)
    ProjSe(N_PICKS, **FORMS["auto"]).fit_source(path, targets="y_*", features="x_*")
    assert len(read) == n_whole  # row groups too large are read a few rows at a time
