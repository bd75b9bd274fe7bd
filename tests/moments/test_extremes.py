"""Extremes: smallest and largest values beside the products, and the leverage that they tell."""

from __future__ import annotations

import json
import struct
from dataclasses import replace

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from projse import Moments, ProjSe, moments_from
from projse.exceptions import MomentsFileError
from projse.moments import file as moments_file
from projse.moments.blocks import StackedMoments
from projse.moments.extremes import EXTREMES
from projse.moments.in_memory import moments_of
from projse.moments.leverage import largest_leverage, leverage_by_extremes
from projse.moments.views import restricted, swapped
from projse.sources.rows import Rows


def views(seed, m=203, p=13, q=3):
    """Columns of all sorts: far from 0, mostly 0, heavy tails, constant."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(m, p)), rng.normal(size=(m, q)) + 40
    X[:, 1] += 1e4
    X[:, 2] *= rng.random(m) < 0.02
    X[:, 3] = rng.standard_cauchy(m)
    X[:, 4] = 7.0
    X[:, 5] = 0.0
    X[m // 2, 5] = -3.0
    return X, Y


def leverage(moments, center=True):
    extremes = moments.x_min, moments.x_max
    return leverage_by_extremes(moments, slice(None), *extremes, center=center)


def check_extremes(moments, X, Y, rtol=1e-12):
    assert_allclose(moments.x_min, X.min(axis=0), rtol=rtol, atol=rtol)
    assert_allclose(moments.x_max, X.max(axis=0), rtol=rtol, atol=rtol)
    assert_allclose(moments.y_min, Y.min(axis=0), rtol=rtol, atol=rtol)
    assert_allclose(moments.y_max, Y.max(axis=0), rtol=rtol, atol=rtol)


def by_table(X, Y, tmp_path):
    names = [*(f"x_{j}" for j in range(X.shape[1])), *(f"y_{j}" for j in range(Y.shape[1]))]
    pq.write_table(pa.table(dict(zip(names, [*X.T, *Y.T], strict=True))), tmp_path / "t.parquet")
    return moments_from(tmp_path / "t.parquet", targets="y_*")


SUMS = {
    "by row": lambda X, Y, tmp_path: Moments.from_arrays(X, Y),
    "by column": lambda X, Y, tmp_path: Moments.from_arrays(np.asfortranarray(X), Y.copy("F")),
    "thin batches": lambda X, Y, tmp_path: Moments.from_arrays(X, Y, batch_size=10),
    "sparse X": lambda X, Y, tmp_path: Moments.from_arrays(sp.csr_array(X), Y),
    "sparse Y": lambda X, Y, tmp_path: Moments.from_arrays(X, sp.csr_array(Y)),
    "both sparse": lambda X, Y, tmp_path: Moments.from_arrays(sp.csc_array(X), sp.csr_array(Y)),
    "added": lambda X, Y, tmp_path: Moments.from_arrays(X[:9], Y[:9]).update(X[9:], Y[9:]),
    "dask": lambda X, Y, tmp_path: Moments.from_arrays(
        da.from_array(X, chunks=(50, -1)), da.from_array(Y, chunks=(50, -1))
    ),
    "parquet": by_table,
}


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kind", SUMS)
def test_extremes_and_leverage_are_those_of_the_rows(seed, kind, center, tmp_path):
    X, Y = views(seed)
    moments = SUMS[kind](X, Y, tmp_path)
    check_extremes(moments, X, Y)
    by_rows = largest_leverage(Rows(X), np.arange(X.shape[1]), center=center)
    assert_allclose(leverage(moments, center), by_rows, rtol=1e-6, atol=1e-12)
    moments.save(tmp_path / "saved")
    loaded = Moments.load(tmp_path / "saved")
    for name in EXTREMES:
        assert_array_equal(getattr(loaded, name), getattr(moments, name))


def test_tiles_of_wide_rows_have_the_extremes_of_all(seed, monkeypatch):
    monkeypatch.setattr("projse.moments.accumulate.TILE_COLUMNS", 5)
    X, Y = views(seed)
    check_extremes(Moments.from_arrays(X, Y), X, Y)
    labels = np.arange(len(X)) % 3
    by_class = Moments.from_arrays(X, labels, target_type="class")
    assert_allclose(by_class.x_max, X.max(axis=0), rtol=1e-12, atol=1e-12)
    assert by_class.y_min is None
    assert by_class.y_max is None


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int16])
def test_narrow_types(seed, dtype):
    X, Y = views(seed)
    X, Y = np.round(np.clip(np.abs(X), 0, 200)).astype(dtype), np.round(np.abs(Y)).astype(dtype)
    moments = Moments.from_arrays(X, Y)
    check_extremes(moments, X, Y, rtol=1e-5)
    by_rows = largest_leverage(Rows(X), np.arange(X.shape[1]), center=True)
    assert_allclose(leverage(moments), by_rows, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array])
@pytest.mark.parametrize("center", [True, False])
def test_weights_count_as_repetitions(seed, form, center):
    X, Y = views(seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(X))
    repeated = np.repeat(X, weight, axis=0)
    want = largest_leverage(Rows(repeated), np.arange(X.shape[1]), center=center)
    gone = X.copy()
    gone[weight == 0] = 1e6  # whatever they hold
    weighted = Moments.from_arrays(form(gone), Y, weight)
    assert_allclose(leverage(weighted, center), want, rtol=1e-6, atol=1e-12)
    rows = Rows(form(gone), None, weight.astype(float)).counted()
    by_rows = largest_leverage(rows, np.arange(X.shape[1]), center=center)
    assert_allclose(by_rows, want, rtol=1e-6, atol=1e-12)


def test_weights_that_are_shares_tell_the_same_as_none(seed):
    X, Y = views(seed)
    shares = np.full(len(X), 1 / len(X))
    plain = Moments.from_arrays(X, Y)
    assert_allclose(leverage(Moments.from_arrays(X, Y, shares)), leverage(plain), rtol=1e-6)


def test_products_that_are_not_summed_cost_no_extremes_of_candidates(seed):
    X, Y = views(seed)
    moments = Moments.from_arrays(X, Y, with_xx=False)
    assert moments.x_min is None
    assert moments.x_max is None
    assert_allclose(moments.y_min, np.asarray(Y).min(axis=0), rtol=1e-12)
    assert_allclose(moments.y_max, np.asarray(Y).max(axis=0), rtol=1e-12)
    both = moments + Moments.from_arrays(*views(seed + 1))
    assert both.x_min is None


def test_a_difference_keeps_the_bounds(seed):
    X, Y = views(seed)
    X[60, 2] = 1.0  # or what is left of it may be constant
    whole, part = Moments.from_arrays(X, Y), Moments.from_arrays(X[:50], Y[:50])
    rest = whole - part
    even = [0, 1, 4, 5, 6]  # in the others, a row that is gone may have stood out
    assert_array_equal(rest.x_min[even], whole.x_min[even])
    nothing = whole - whole
    again = nothing + part
    assert_array_equal(again.x_max, part.x_max)
    assert_array_equal((part + nothing).y_min, part.y_min)


@pytest.mark.parametrize("glitch", [45.0, 1000.0])
def test_a_row_that_has_left_a_window_is_not_held_against_a_variable(seed, glitch):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(4000, 6)), rng.normal(size=(4000, 2))
    X[:, 4] = 0.0
    X[[3, 1200, 2600], 4] = 1.0  # one of its rows stays
    Y += X[:, :2] @ np.array([[3.0, 0.0], [1.0, 1.0]])
    X[7, 0] -= glitch
    Y[7] -= glitch
    days = [Moments.from_arrays(X[i : i + 500], Y[i : i + 500]) for i in range(0, 4000, 500)]
    window = days[0] + days[1] + days[2]
    for old, new in zip(days, days[3:], strict=False):
        window = window + new - old
    rest = ProjSe(2).fit(X[2500:], Y[2500:])
    assert_array_equal(ProjSe(2).fit_moments(window).selected_, rest.selected_)
    assert_allclose(leverage(window)[4], leverage(rest.moments_)[4], rtol=1e-6)


def test_the_sum_of_a_window_tells_a_row_that_stands_out_less_than_one_that_left(seed):
    """A difference does not, as the guide says: moments know no second largest value."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(2000, 6)), rng.normal(size=(2000, 2))
    Y += 3 * X[:, :2]
    for row, size in ((7, 10_000.0), (1700, 500.0)):
        X[row, 4] += size
        Y[row, 1] += size
    days = [Moments.from_arrays(X[i : i + 500], Y[i : i + 500]) for i in range(0, 2000, 500)]
    summed, running = sum(days[1:]), sum(days) - days[0]
    rest = ProjSe(1).fit(X[500:], Y[500:])
    assert rest.selected_[0] != 4
    assert_array_equal(ProjSe(1).fit_moments(summed).selected_, rest.selected_)
    assert ProjSe(1).fit_moments(running).selected_.tolist() == [4]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weight", [None, 0.01])
@pytest.mark.parametrize("mark", [-999.0, 300.0])
def test_a_value_that_stands_out_again_is_held_against_a_variable(seed, mark, weight, dtype):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(400, 6)), rng.normal(size=(400, 2))
    Y += X[:, :2]
    X[[7, 250], 3] = mark  # a row with it leaves, and one stays
    X = X.astype(dtype)
    weights = None if weight is None else np.full(400, weight)
    first = None if weight is None else weights[:200]
    window = Moments.from_arrays(X, Y, weights) - Moments.from_arrays(X[:200], Y[:200], first)
    rest = Moments.from_arrays(X[200:], Y[200:], first)
    assert_allclose(leverage(window)[3], leverage(rest)[3], rtol=1e-3)
    assert (leverage(window)[[0, 1]] < 0.4).all()


def many_rows(seed):
    """Rows of which squares bound the extremes, but for the last columns: a row stands out."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(40_000, 4)), rng.normal(size=(40_000, 2))
    Y += X[:, :2]
    X[[39_990, 7], [2, 3]] = 1000.0
    return X, Y


def fitted(X, Y):
    return ProjSe(3, batch_size=512).fit(X, Y).moments_


def test_bounds_are_marked_wherever_moments_go(seed, tmp_path):
    X, Y = many_rows(seed)
    moments, values = fitted(X, Y), Moments.from_arrays(X[:900], Y[:900])
    marks = [True, True, False, False]
    moments.save(tmp_path / "m")
    nothing = values - values
    kept = [moments, Moments.load(tmp_path / "m"), moments + values, values + moments]
    for same in (*kept, moments - values, moments + nothing, nothing + moments):
        assert same.x_bounded.tolist() == marks
        assert same.y_bounded.tolist() == [True, True]
    assert values.x_bounded is None
    assert (moments - moments).x_bounded is None
    assert swapped(moments).y_bounded.tolist() == marks
    fewer = restricted(moments, np.array([3, 0]), np.array([1]))
    assert fewer.x_bounded.tolist() == [False, True]
    assert fewer.y_bounded.tolist() == [True]


@pytest.mark.parametrize("n_left", [300, 1200])
def test_a_bound_is_not_held_against_the_rows_that_are_left(seed, n_left):
    X, Y = many_rows(seed)
    gone = slice(len(X) - n_left)
    rest = fitted(X, Y) - Moments.from_arrays(X[gone], Y[gone])
    assert (leverage(rest)[[0, 1, 3]] < 0.4).all()
    y_leverage = leverage(swapped(rest))
    assert (y_leverage < 0.4).all()
    assert leverage(rest)[2] > 0.4  # a row that is still there has this value
    selector = ProjSe(2, exclude=[2]).fit_moments(rest)  # warnings are errors
    assert set(selector.selected_) == {0, 1}


def test_sums_of_blocks(seed):
    X, Y = views(seed)
    cuts = np.array_split(np.arange(len(X)), 5)
    blocks = [moments_of(Rows(X[i], Y[i]), with_xx=True) for i in cuts]
    counts = np.array([[1, 0, 2, 0, 1], [0, 1, 0, 0, 0], [1, 1, 1, 1, 1]])
    for used, moments in zip(counts > 0, StackedMoments(blocks).sums(counts), strict=True):
        rows = np.concatenate([cuts[i] for i in np.flatnonzero(used)])
        check_extremes(moments, X[rows], Y[rows])


def test_views_and_fewer_columns(seed):
    X, Y = views(seed)
    moments = Moments.from_arrays(X, Y)
    check_extremes(swapped(moments), Y, X)
    check_extremes(restricted(moments, np.array([5, 0]), np.array([2])), X[:, [5, 0]], Y[:, [2]])


def test_a_file_without_extremes_is_read(seed, tmp_path, monkeypatch):
    moments = Moments.from_arrays(*views(seed))
    monkeypatch.setattr(moments_file, "ARRAYS", moments_file.ARRAYS[:-6])  # as it was before
    moments.save(tmp_path / "old")
    monkeypatch.undo()
    old = Moments.load(tmp_path / "old")
    assert [getattr(old, name) for name in EXTREMES] == [None] * 4
    assert_array_equal(old.xx, moments.xx)
    assert (old + moments).x_min is None
    content = (tmp_path / "old").read_bytes()
    (length,) = struct.unpack_from("<Q", content, 19)
    assert "x_min" not in json.loads(content[27 : 27 + length])["arrays"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"x_max": None}, "one is there and one is missing"),
        ({"x_min": np.full(13, 1e9)}, "cannot have a mean"),
        ({"y_max": np.full(3, -5.0)}, "column 0 of Y cannot have a mean"),
        ({"x_min": np.full(13, np.nan)}, "NaN or infinity"),
        ({"y_min": np.zeros(2)}, "y_min has shape"),
        ({"x_bounded": np.zeros(13)}, "x_bounded has shape"),
    ],
)
def test_impossible_extremes_are_refused(seed, tmp_path, changes, says):
    moments = Moments.from_arrays(*views(seed))
    replace(moments, **changes).save(tmp_path / "wrong")
    with pytest.raises(MomentsFileError, match=says):
        Moments.load(tmp_path / "wrong")


@pytest.mark.parametrize("thin_bytes", [0, 1 << 30])
@pytest.mark.parametrize("order", ["C", "F"])
def test_thin_references_have_the_extremes_of_all_rows(seed, thin_bytes, order, monkeypatch):
    monkeypatch.setattr("projse.moments.row_sums.THIN_BYTES", thin_bytes)
    X, Y = views(seed, m=1000)
    X, Y = np.asarray(X, order=order), np.asarray(Y, order=order)
    check_extremes(Moments.from_arrays(X, Y, batch_size=16), X, Y)
    weight = np.ones(len(X))
    weight[[Y[:, 0].argmax(), Y[:, 1].argmin()]] = 0.0
    counted = weight > 0
    check_extremes(Moments.from_arrays(X, Y, weight, batch_size=16), X[counted], Y[counted])
