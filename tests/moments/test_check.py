"""Moments that no rows have are refused in words, field by field."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import projse.moments.in_memory
import projse.moments.through
from projse import Moments, block_moments
from projse.moments.check import check_moments
from projse.moments.encoding import MAX_DEPTH, check_encoding, short
from projse.moments.in_memory import moments_of
from projse.moments.resample import generator
from projse.moments.sparse_products import block_diagonal
from projse.moments.through import Through, moments_through
from projse.moments.views import swapped
from projse.moments.whole_numbers import as_number
from projse.sources.rows import Rows, make_rows
from projse.sources.variables import Column, Variables

PLAIN = Variables(tuple("abc"), tuple(map(Column, range(3))))


def drawn(seed=0):
    rng = np.random.default_rng([seed, 41])
    return rng.normal(size=(20, 3)), rng.normal(size=(20, 2))


def two_views(**changed):
    return replace(Moments.from_arrays(*drawn(), with_xx=True), **changed)


def one_view(**changed):
    return replace(Moments.from_arrays(drawn()[0]), **changed)


def infinite(place):
    values = np.zeros((2, 3))
    values[place] = np.inf
    return values


REFUSED = {
    "rows first": (two_views, {"yx": sp.csr_array(np.eye(2, 3))}, "not by columns"),
    "sparse infinity": (
        two_views,
        {"yx": sp.csc_array(infinite((1, 2)))},
        "yx holds NaN or infinity for candidate 2",
    ),
    "named infinity": (
        two_views,
        {"yx": infinite((0, 1)), "feature_names": ("p", "q", "r")},
        "yx holds NaN or infinity for candidate 'q'",
    ),
    "too few classes": (two_views, {"classes": np.array([1])}, r"classes have shape \(1,\)"),
    "classes in a list": (two_views, {"classes": [1, 2]}, "classes have shape"),
    "classes of objects": (two_views, {"classes": np.array([1, 2], object)}, "classes have dtype"),
    "classes without y": (one_view, {"classes": np.arange(3)}, "classes are there, but y_mean"),
    "both": (
        two_views,
        {"classes": np.arange(2), "y_variables": PLAIN.restricted([0, 1])},
        "classes and y_variables are both there",
    ),
    "variables of no y": (one_view, {"y_variables": PLAIN}, "y_variables are there, but y_mean"),
    "variables of no z": (one_view, {"z_variables": PLAIN}, "z_variables are there, but y_mean"),
    "no variables": (two_views, {"x_variables": ("a", "b", "c")}, "x_variables is of type tuple"),
    "fewer variables": (two_views, {"x_variables": PLAIN.restricted([0, 1])}, "describe 2 columns"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_fields_that_cannot_be_are_refused(kind):
    make, changed, message = REFUSED[kind]
    check_moments(make())
    with pytest.raises(ValueError, match=message):
        check_moments(make(**changed))


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        ([], "is of type list"),
        ({"x": {1: 2}}, "keys that are not strings"),
        ({"x": [{1, 2}]}, "a value of type set"),
        ({"x": float("nan")}, "NaN or infinity"),
    ],
)
def test_an_encoding_that_is_no_plain_data_is_refused(encoding, message):
    with pytest.raises(ValueError, match=message):
        check_encoding(encoding)


def test_an_encoding_may_be_nested_so_deep():
    nested = {"x": "bottom"}
    for _ in range(MAX_DEPTH - 1):
        nested = {"x": nested}
    check_encoding(nested)
    with pytest.raises(ValueError, match="nested deeper"):
        check_encoding({"x": nested})


def test_messages_show_values_in_short():
    assert short("a" * 50) == repr("a" * 50)[:37] + "..."
    assert short(7) == "7"
    assert short(10**5000) == "a number of thousands of digits"


def far_away(n_rows=20, **changed):
    """Moments with a constant column so far from 0 that its last digit has no square."""
    X, Y = drawn()
    X[:, 1] = 1e200
    return replace(Moments.from_arrays(X[:n_rows], Y[:n_rows], with_xx=True), **changed)


def test_a_constant_column_may_be_anywhere():
    check_moments(far_away())
    check_moments(far_away(n_rows=1))
    check_moments(far_away() + far_away())


def test_rounding_of_a_mean_near_the_end_of_the_range_excuses_nothing():
    moments = far_away()
    for name, place in (("yx", (0, 1)), ("xx", (0, 1)), ("xx", (1, 1))):
        wrong = getattr(moments, name).copy()
        wrong[place] = 1e5
        if name == "xx":
            wrong[place[::-1]] = 1e5
        with pytest.raises(ValueError, match=r"sums of squares allow|xx_diag is"):
            check_moments(replace(moments, **{name: wrong}))
    with pytest.raises(ValueError, match="cannot have a sum of squares of 5"):
        check_moments(far_away(n_rows=1, xx_diag=np.array([0.0, 5.0, 0.0])))


def test_what_is_no_moments_is_neither_added_nor_subtracted():
    for wrong in (lambda m: m + 1, lambda m: m - 1, lambda m: m - np.ones(3)):
        with pytest.raises(TypeError):
            wrong(two_views())


def test_one_view_has_nothing_to_swap():
    with pytest.raises(ValueError, match="two views are needed"):
        swapped(one_view())


def test_covariates_of_one_side_only_are_told_apart_from_others():
    X, Y = drawn()
    frame = pd.DataFrame({"site": list("abcd" * 5)})
    given = Moments.from_arrays(X, Y, covariates=frame)
    assert given.z_variables is not None
    for pair in ((given, Moments.from_arrays(X, Y)), (Moments.from_arrays(X, Y), given)):
        with pytest.raises(ValueError, match="covariates"):
            pair[0] + pair[1]


def test_rows_that_all_have_gaps_are_refused_in_words():
    X, Y = drawn()
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["d"] = list("uv" * 10)
    gaps = frame.assign(a=np.nan)
    with pytest.raises(ValueError, match="0 rows that count"):
        block_moments(gaps, Y, 4, missing="drop")


def test_more_classes_than_products_can_be_kept_of_are_refused(monkeypatch):
    monkeypatch.setattr(projse.moments.in_memory, "MOST_OUTPUTS", 3)
    X, Y = drawn()
    with pytest.raises(ValueError, match=r"y has 4 classes.*Merge rare classes"):
        Moments.from_arrays(X, np.arange(20) % 4)
    with pytest.raises(ValueError, match="y has 4 columns"):
        Moments.from_arrays(X, np.hstack([Y, Y]))
    assert Moments.from_arrays(X, np.arange(20) % 3).n_y == 3


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_a_gap_beside_sparse_candidates_is_named(make):
    X, Y = drawn()
    Y[4, 1] = np.nan
    with pytest.raises(ValueError, match="y contains NaN"):
        moments_of(Rows(sp.csr_array(X), make(Y), None))


def test_whole_numbers_of_sparse_sums_are_the_numbers(seed, monkeypatch):
    X, _ = drawn(seed)
    y = np.random.default_rng([seed, 42]).integers(0, 4, 20)
    y[:4] = np.arange(4)
    want = Moments.from_arrays(sp.csr_array(X), y.astype(float), target_type="continuous")
    monkeypatch.setattr(projse.moments.in_memory, "SPARSE_YX_ELEMENTS", 0)
    classes = Moments.from_arrays(sp.csr_array(X), y, target_type="class")
    assert sp.issparse(classes.yx)
    got = as_number(classes, None)
    centred = got.yx - got.sum_weights * np.outer(got.y_mean, got.x_mean)
    np.testing.assert_allclose(centred, want.yx, atol=1e-10)
    np.testing.assert_allclose(got.yy, want.yy, rtol=1e-10)
    assert (got.y_min.item(), got.y_max.item()) == (0.0, 3.0)


def test_slices_of_rows_through_combinations_add_up(seed, monkeypatch):
    rng = np.random.default_rng([seed, 43])
    X, Y, T = rng.normal(size=(50, 3)), rng.normal(size=(50, 5)), rng.normal(size=(5, 2))
    weight = rng.uniform(1, 2, 50)
    weight[16:32] = 0.0  # a slice of which no row counts
    monkeypatch.setattr(projse.moments.through, "SLICE_BYTES", 0)
    monkeypatch.setattr(projse.moments.through, "PRODUCT_ROWS", 16)
    told = []
    rows = make_rows(X, Y, weight)
    got = moments_through(rows, Through(T=T), progress=lambda *at: told.append(at))
    want = Moments.from_arrays(X, Y @ T, weight)
    for name in ("x_mean", "y_mean", "yy", "yx", "xx_diag"):
        np.testing.assert_allclose(getattr(got, name), getattr(want, name), rtol=1e-9, atol=1e-11)
    assert got.n_samples == want.n_samples == 34
    assert told == [(16, 50), (48, 50), (50, 50)]


def test_blocks_along_a_diagonal_may_be_empty():
    blocks = [np.ones((2, 1)), np.ones((1, 0)), np.array([[0.0, 3.0]])]
    want = np.zeros((4, 3))
    want[:2, 0], want[3, 2] = 1.0, 3.0
    got = block_diagonal(blocks)
    assert isinstance(got, sp.csc_array)
    np.testing.assert_array_equal(got.toarray(), want)
    assert block_diagonal([]).shape == (0, 0)


def test_random_states_of_every_kind():
    given = np.random.default_rng(3)
    assert generator(given) is given
    same = [generator(np.random.RandomState(5)).integers(1 << 30) for _ in range(2)]
    assert same[0] == same[1]
    assert generator(7).integers(1 << 30) == np.random.default_rng(7).integers(1 << 30)
    with pytest.raises(ValueError, match="cannot be used to seed"):
        generator("seven")
