"""Leverage: picks that rest on one or two rows are found, others are not."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from projse import PAPER, ProjSe, TwoViewProjSe
from projse.exceptions import UnreliableSelectionWarning
from projse.moments import leverage
from projse.moments.in_memory import moments_of
from projse.moments.leverage import (
    MANY_ROWS,
    SAMPLE_ROWS,
    few_rows_by_extremes,
    largest_leverage,
    on_few_rows,
    references_on_few_rows,
    squares_bound_extremes,
)
from projse.sources.rows import Rows


def rare(rng, m, counts):
    """Columns that are 1 in so many rows each, and 0 in all others."""
    X = np.zeros((m, len(counts)))
    for j, n in enumerate(counts):
        X[rng.permutation(m)[:n], j] = 1.0
    return X


def few(X, weight=None, *, center=True, with_moments=False):
    rows = Rows(X, None, weight)
    moments = moments_of(rows) if with_moments else None
    return on_few_rows(rows, np.arange(X.shape[1]), center=center, moments=moments)


@pytest.mark.parametrize("m", [60, 500, 50_000])
@pytest.mark.parametrize("center", [True, False])
def test_columns_that_one_or_two_rows_make_up_are_found(seed, m, center):
    X = rare(np.random.default_rng(seed), m, [1, 2, 3, 4, m // 10, m // 2])
    expected = [True, True, False, False, False, False]
    for form in (X, sp.csr_array(X), np.asfortranarray(X), X.astype(np.uint8)):
        for with_moments in (False, True):
            got = few(form, center=center, with_moments=with_moments)
            assert_array_equal(got, expected)


@pytest.mark.parametrize("m", [3, 10, 30, 60, 100, 1000])
def test_normal_columns_are_never_found(seed, m):
    rng = np.random.default_rng(seed)
    assert not few(rng.normal(size=(m, 500)) * 1e3 + 7).any()
    assert not few(rng.normal(size=(m, 500)), center=False).any()


def test_a_sample_of_the_rows_misses_nothing(seed, monkeypatch):
    """With many rows only suspects are read whole: the answer is that for all columns."""
    rng = np.random.default_rng(seed)
    m = 40_000
    X = np.hstack(
        [
            rare(rng, m, [1, 2, 3, 30, 3000]),
            rng.normal(size=(m, 4)),
            rng.standard_cauchy(size=(m, 10)),
            rng.lognormal(sigma=2.0, size=(m, 4)),
        ]
    )
    X[7, 6] = 400.0  # among normal values: more than a third
    read = []
    whole = largest_leverage
    monkeypatch.setattr(
        leverage,
        "largest_leverage",
        lambda rows, columns, **options: read.append(columns) or whole(rows, columns, **options),
    )
    w = rng.integers(1, 3, size=m).astype(float)
    for weight in (None, w):
        for center in (True, False):
            exact = few(X, weight, center=center)
            read.clear()
            assert_array_equal(few(X, weight, center=center, with_moments=True), exact)
            assert exact[6]
            assert not {5, 7, 8} & set(read[0].tolist()), "normal columns need not be read whole"


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_sample_that_holds_most_of_a_few_values_does_not_hide_a_row(seed, form):
    rng = np.random.default_rng(seed)
    m, n = MANY_ROWS + 1000, 400
    X = np.zeros((m, n))
    X[rng.integers(1, m, size=(30, n)), np.arange(n)] = rng.choice([-1.0, 1.0], size=(30, n))
    X[0] = 0.85 * np.sqrt(np.square(X).sum(axis=0))  # 0.42 of it
    X = rng.permuted(X, axis=0)
    assert few(form(X), with_moments=True).all()


@pytest.mark.parametrize("period", [5, 7, 10])
def test_rows_that_follow_a_period_hide_nothing(seed, period):
    rng = np.random.default_rng(seed)
    m = (SAMPLE_ROWS - 1) * period + 1
    X = np.zeros((m, 2))
    X[::period] = rng.normal(size=(SAMPLE_ROWS, 2))
    X[3 * period + 2, 1] = np.linalg.norm(X[:, 1])  # half of it, between the others
    assert_array_equal(few(X, with_moments=True), [False, True])


def test_leverage_is_the_largest_share_whatever_the_scale(seed):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(50, 4)) + 3, rng.uniform(0.5, 2, size=50)
    d = X - w @ X / w.sum()
    shares = (d**2 / (w @ d**2)).max(axis=0)
    columns = np.arange(4)
    for scale in (1.0, 1e-200, 1e200):
        rows = Rows(X * scale, None, w)
        assert_allclose(largest_leverage(rows, columns, center=True), shares, rtol=1e-9)
    assert largest_leverage(Rows(np.zeros((9, 1))), np.array([0]), center=True) == 0


def related(seed, m=300):
    """Candidates and outputs that share a row: column 4 is 0 but there, and so is an output."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(m, 6)), rng.normal(size=(m, 3))
    X[:, 4] = Y[:, 1] = 0.0
    X[17, 4] = Y[17, 1] = 1.0
    return X, Y


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("weight", [None, 2.0])
def test_a_fit_names_picks_on_few_rows(seed, form, weight):
    X, Y = related(seed)
    weights = None if weight is None else np.full(300, weight)
    model = ProjSe(1, **PAPER)
    with pytest.warns(
        UnreliableSelectionWarning, match=r"column\(s\) 4 of X.* of 300 rows"
    ) as seen:
        model.fit(form(X), Y, weights)
    assert model.selected_.tolist() == [4]
    assert model.scores_[0] > 1 - 1e-9, "a perfect score"
    assert seen[0].filename == __file__
    with pytest.warns(UnreliableSelectionWarning, match=r"column\(s\) 'e' of X"):
        model.fit(pd.DataFrame(X, columns=list("abcdef")), Y)


def test_rows_of_weight_zero_are_not_looked_at(seed):
    X, Y = related(seed)
    weight = np.ones(300)
    weight[:17] = 0.0
    X[0] = np.nan
    with pytest.warns(UnreliableSelectionWarning, match="of 283 rows"):
        ProjSe(1, **PAPER).fit(X, Y, weight)


def test_both_views_are_looked_at(seed):
    X, Y = related(seed)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        TwoViewProjSe(1, **PAPER).fit(X, Y)
    texts = [str(warning.message) for warning in seen]
    assert any("column(s) 4 of X" in text for text in texts)
    assert any("column(s) 1 of Y" in text for text in texts)
    assert len(texts) == 2


def test_included_columns_are_the_users_own(seed):
    X, Y = related(seed)
    ProjSe(2, **PAPER, include=[4], exclude=[0]).fit(X, Y)  # and nothing is said


@pytest.mark.parametrize("with_xx", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_rare", [0, 1, 2, 3, 400])
def test_squares_of_batches_tell_columns_on_few_rows_as_values_do(seed, n_rare, dtype, with_xx):
    rng = np.random.default_rng(seed)
    m = MANY_ROWS + 1000
    X, Y = np.array([0, 2, -50, 1e4, 0]) + rng.normal(size=(m, 5)), rng.normal(size=(m, 4)) + 1
    X[:, 4] = rng.standard_t(1, size=m)
    if n_rare:
        Y[:, 2] = rare(rng, m, [n_rare])[:, 0]
        X[:, 1] = 3 + rare(rng, m, [n_rare])[:, 0]
    rows = Rows(X.astype(dtype), Y.astype(dtype))
    assert squares_bound_extremes(rows)
    bounds = moments_of(rows, with_xx=with_xx, by_squares=True, batch_size=512)
    values = moments_of(rows, with_xx=True)
    for view, data in (("x", rows.X), ("y", rows.Y)):
        assert (getattr(bounds, f"{view}_min") <= data.min(axis=0)).all()
        assert (getattr(bounds, f"{view}_max") >= data.max(axis=0)).all()
    for center in (True, False):
        assert references_on_few_rows(bounds, center) == (0 < n_rare <= 2)
        assert references_on_few_rows(values, center) == (0 < n_rare <= 2)
        few = [
            few_rows_by_extremes(m, slice(None), m.x_min, m.x_max, center=center)
            for m in (bounds, values)
        ]
        assert_array_equal(*few)


@pytest.mark.parametrize("form", [{}, PAPER], ids=["default", "paper"])
def test_fits_to_many_rows_have_bounds_and_to_few_have_extremes(seed, form):
    rng = np.random.default_rng(seed)
    m = MANY_ROWS + 1000
    X, Y = rng.normal(size=(m, 3)), rng.normal(size=(m, 2))
    Y[:, 1] = rare(rng, m, [1])[:, 0]
    many = ProjSe(2, **form, batch_size=512).fit(X, Y).moments_
    assert many.y_min[0] < Y[:, 0].min() - 1
    assert many.y_max[0] > Y[:, 0].max() + 1
    assert (many.y_min[1], many.y_max[1]) == (Y[:, 1].min(), Y[:, 1].max())  # a row stands out
    few = ProjSe(2, **form).fit(X[:500], Y[:500]).moments_
    assert_array_equal(few.y_min, Y[:500].min(axis=0))
    # Weights may make a row count for less than one: squares would not show it.
    weighted = ProjSe(2, **form).fit(X, Y, sample_weight=1.0 + np.arange(m) % 2).moments_
    assert_array_equal(weighted.y_min, Y.min(axis=0))
