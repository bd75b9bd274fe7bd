"""Candidates that one or two rows make up are picked last, from every source alike."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from rare_rows import RARE, problem

from projse import PAPER, Moments, ProjSe, TwoViewProjSe
from projse.exceptions import UnreliableSelectionWarning

AUTO = {"alpha": "auto", "redundancy": "auto", "round_size": "auto"}


def names(X, Y):
    return [*(f"x_{j:02}" for j in range(X.shape[1])), *(f"y_{j}" for j in range(Y.shape[1]))]


def parquet(s, X, Y, folder, **more):
    table = pa.table(dict(zip(names(X, Y), [*X.T, *Y.T], strict=True)))
    for i in range(4):
        pq.write_table(table.slice(100 * i, 100), folder / f"{i}.parquet")
    return s.fit_source(folder, targets="y_*", **more)


def dask(s, X, Y, folder):
    return s.fit(*(da.from_array(A, chunks=(90, -1)) for A in (X, Y)))


SOURCES = {
    "dense": lambda s, X, Y, folder: s.fit(X, Y),
    "by column": lambda s, X, Y, folder: s.fit(np.asfortranarray(X), Y),
    "sparse": lambda s, X, Y, folder: s.fit(sp.csr_array(X), Y),
    "weighted": lambda s, X, Y, folder: s.fit(X, Y, np.ones(len(X))),
    "moments": lambda s, X, Y, folder: s.fit_moments(Moments.from_arrays(X, Y)),
    "added": lambda s, X, Y, folder: s.partial_fit(X[:50], Y[:50]).partial_fit(X[50:], Y[50:]),
    "parquet": parquet,
    "batches": lambda s, X, Y, folder: s.fit_source((X[i::3], Y[i::3]) for i in range(3)),
    "dask": dask,
}


@pytest.fixture(params=["all products", "products of the picks"])
def products(request, monkeypatch):
    """With and without the products of all candidates in the first pass."""
    if request.param == "products of the picks":
        monkeypatch.setattr("projse.search.products.CHEAP_PRODUCTS", 0)
        monkeypatch.setattr("projse.kernels.linear_gram.COPY_ELEMENTS", 0)
        for price in ("search.task.IN_MEMORY", "moments.stream.OVER_FILES"):
            monkeypatch.setattr(f"projse.{price}", -1e9)
        monkeypatch.setattr("projse.estimators.fit_elsewhere.ON_CLUSTER", -1e9)
        # So short a list is filled again and again, whatever was set aside.
        monkeypatch.setattr("projse.search.shortlist.SPARE", 1)
        monkeypatch.setattr("projse.search.shortlist.SHORTLIST", 3)
    return request.param


@pytest.mark.parametrize("n_picks", [1, 6, 13])
@pytest.mark.parametrize("source", SOURCES)
def test_they_are_not_picked_while_others_are_left(seed, source, n_picks, products, tmp_path):
    X, Y = problem(seed)
    got = SOURCES[source](ProjSe(n_picks, **AUTO), X, Y, tmp_path)
    others = np.delete(X, RARE, axis=1)
    kept = np.delete(np.arange(X.shape[1]), RARE)
    want = ProjSe(n_picks, **AUTO).fit_moments(Moments.from_arrays(X, Y))
    assert_array_equal(got.selected_, want.selected_)
    assert_allclose(got.scores_, want.scores_, rtol=1e-8)
    assert_allclose(got.pvalues_, want.pvalues_, rtol=1e-6, atol=1e-12)
    assert not set(RARE) & set(got.selected_)
    if source not in ("moments", "added", "batches") and products != "all products":
        assert got.moments_.xx is None
    # The others are picked as if these were not there, but for a ridge that knows their number.
    alone = ProjSe(1, **AUTO).fit(others, Y)
    assert got.selected_[0] == kept[alone.selected_[0]]


@pytest.mark.parametrize("source", ["dense", "sparse", "moments", "parquet", "dask"])
def test_they_come_last_where_everything_is_asked_for(seed, source, products, tmp_path):
    X, Y = problem(seed)
    with pytest.warns(UnreliableSelectionWarning, match=r"column\(s\) .* of X, a single row"):
        got = SOURCES[source](ProjSe(16, **AUTO), X, Y, tmp_path)
    assert set(got.selected_[-3:]) == set(RARE)
    last = got.scores_[-3:]
    assert (np.diff(last) <= 1e-9).all(), "among themselves, the best first"
    assert last[0] > got.scores_[-4]


@pytest.mark.parametrize("source", ["dense", "by column", "sparse", "moments", "parquet", "dask"])
def test_the_papers_form_picks_them_and_warns(seed, source, tmp_path):
    X, Y = problem(seed)
    n_picks = 5  # beyond the outputs: products of the candidates are summed
    with pytest.warns(UnreliableSelectionWarning, match="one or two of 400 rows"):
        got = SOURCES[source](ProjSe(n_picks, **PAPER), X, Y, tmp_path)
    assert set(RARE) < set(got.selected_[:4])


def test_a_stream_that_is_read_once_tells_them_for_a_single_pick(seed):
    X, Y = problem(seed, p=700)
    got = ProjSe(1, **AUTO).fit_source((X[i::3], Y[i::3]) for i in range(3))
    assert got.selected_[0] not in RARE


def test_included_ones_are_the_users_own(seed):
    X, Y = problem(seed)
    got = ProjSe(4, **AUTO, include=[7]).fit(X, Y)
    assert got.selected_[0] == 7
    assert not {3, 11} & set(got.selected_)


def test_pvalues_count_those_that_wait(seed):
    """A candidate that was looked at and set aside is one of those that a pick is the best of."""
    X, Y = problem(seed)
    with_them = ProjSe(1, **AUTO).fit(X, Y)
    without = ProjSe(1, **AUTO, exclude=RARE).fit(X, Y)
    assert with_them.selected_[0] == without.selected_[0]
    assert with_them.pvalues_[0] >= without.pvalues_[0]


@pytest.mark.parametrize("m", [6, 12, 19])
def test_among_few_rows_nothing_waits(seed, m):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(m, 5)), rng.normal(size=(m, 2))
    X[:, 2] = Y[:, 0] = 0.0
    X[3, 2] = Y[3, 0] = 1.0
    assert ProjSe(1, **AUTO).fit(X, Y).selected_[0] == 2


@pytest.mark.parametrize("kernel", ["poly", "rbf"])
def test_with_kernels(seed, kernel):
    X, Y = problem(seed)
    got = ProjSe(6, **AUTO, kernel=kernel).fit(X, Y)
    assert not set(RARE) & set(got.selected_)


def test_with_a_kernel_of_the_user(seed):
    X, Y = problem(seed)
    got = ProjSe(6, **AUTO, kernel=lambda A, B: (A.T @ B) ** 3).fit(X, Y)
    assert not set(RARE) & set(got.selected_)


@pytest.mark.parametrize("m", [400, 25])
def test_two_views_do_not_begin_with_them(seed, m):
    """Of more rows than columns, and of fewer."""
    X, Y = problem(seed, m=m, p=60, q=50)
    got = TwoViewProjSe(5, **AUTO).fit(X, Y)
    found = [3, 11] if m == 25 else RARE  # two of 25 rows may be chance
    assert not set(found) & set(got.x_selected_)
    assert not {0, 2} & set(got.y_selected_)
    if m == 400:
        assert_array_equal(
            TwoViewProjSe(5, **AUTO).fit_moments(Moments.from_arrays(X, Y)).x_selected_,
            got.x_selected_,
        )


@pytest.mark.parametrize("solver", ["auto", "qr"])
def test_heavy_tails_do_not_wait_where_no_row_makes_up_an_output(seed, solver):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 30))
    X[3, 7] = 40.0  # one row makes up most of it
    Y = 0.05 * X[:, [7]] + 0.3 * rng.normal(size=(200, 3))
    model = ProjSe(3, solver=solver).fit(X, Y)
    assert model.selected_[0] == 7
    labels = np.where(X[:, 7] > 0.0, "a", "b")
    assert (
        ProjSe(1).fit(np.column_stack([X[:, 7], 0.1 * rng.normal(size=200)]), labels).selected_[0]
        == 0
    )


@pytest.mark.parametrize("n_rare", [1, 2])
def test_a_class_of_one_or_two_rows_makes_them_wait(seed, n_rare):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 10))
    X[:, 4] = 0.0
    X[:n_rare, 4] = 1.0
    labels = np.array(["rare"] * n_rare + ["a", "b"] * 149 + ["a"] * (2 - n_rare))
    X[labels == "a", 2] += 1.0
    assert ProjSe(9).fit(X, labels).selected_[0] == 2
    assert 4 not in ProjSe(9).fit(X, labels).selected_
