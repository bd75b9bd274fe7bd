"""Rows in blocks: the engine sees the matrix that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from variants import slow

from projse import Moments
from projse.moments.in_memory import moments_of
from projse.sources.batch_size import batch_rows
from projse.sources.blocked_rows import SMALL_PRODUCT, BlockedRows, block_rows, fill
from projse.sources.rows import Rows


def blocked(A, size):
    """The same matrix in blocks, written in pieces of random length."""
    m, n = A.shape
    blocks = np.full((-(-m // size), n, size), 99, dtype=A.dtype)
    rng = np.random.default_rng(m)
    for j in range(n):
        start = 0
        while start < m:
            stop = min(start + int(rng.integers(1, 3 * size)), m)
            fill(blocks, j, start, A[start:stop, j])
            start = stop
    return BlockedRows(blocks, m)


@pytest.mark.parametrize("size", [1, 7, 32, 500])
def test_slices_are_those_of_the_matrix(seed, size):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(100, 5))
    B = blocked(A, size)
    assert B.shape == A.shape
    assert len(B) == 100
    for _ in range(20):
        start, stop = np.sort(rng.integers(0, 101, size=2))
        np.testing.assert_array_equal(B[start:stop], A[start:stop])
        np.testing.assert_array_equal(B[:, 1:4][start:stop], A[start:stop, 1:4])
        rows = rng.integers(0, 100, size=9)
        np.testing.assert_array_equal(B[rows], A[rows])
        np.testing.assert_array_equal(B[start:stop, [0, 3]], A[start:stop, [0, 3]])
    np.testing.assert_array_equal(B[0, [1, 2]], A[0, [1, 2]])
    np.testing.assert_array_equal(np.asarray(B), A)
    assert B[:, 0:5] is B
    some = B[:, np.array([4, 1, 1])]
    np.testing.assert_array_equal(np.asarray(some), A[:, [4, 1, 1]])
    assert some.blocks.flags.c_contiguous
    np.testing.assert_array_equal(np.asarray(some.astype(np.float32)), A[:, [4, 1, 1]].astype("f4"))


def test_whole_blocks_are_views():
    A = np.arange(60.0).reshape(20, 3)
    B = blocked(A, 8)
    assert np.shares_memory(B[8:16], B.blocks)
    assert B[8:16].T.flags.c_contiguous


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
@pytest.mark.parametrize("options", [{}] + [{"batch_size": size} for size in (256, 64, 10)])
@pytest.mark.parametrize("with_xx", [True, *slow(False)])
@pytest.mark.parametrize("n_y", [3, *slow(25)])
def test_moments_are_those_of_the_matrix(seed, dtype, options, with_xx, n_y):
    rng = np.random.default_rng(seed)
    X = (10 * rng.normal(size=(700, 6)) + [0, 0, 0, 500, 0, 0]).astype(dtype)
    Y = (10 * rng.normal(size=(700, n_y)) + 300 * (np.arange(n_y) == 1)).astype(dtype)
    weight = rng.integers(1, 4, size=700).astype(float)
    some = np.where(rng.random(700) < 0.01, 0.0, weight)
    for w in (None, weight, some):
        got = moments_of(Rows(blocked(X, 64), blocked(Y, 64), w), with_xx=with_xx, **options)
        want = Moments.from_arrays(X.astype(np.float64), Y.astype(np.float64), w, with_xx=with_xx)
        rtol = 1e-4 if dtype == np.float32 else 1e-9
        for name in ("yx", "yy", "x_mean", "y_mean", "xx_diag", *(("xx",) if with_xx else ())):
            expected = getattr(want, name)
            np.testing.assert_allclose(
                getattr(got, name), expected, rtol=rtol, atol=rtol * np.abs(expected).max()
            )


def test_many_columns_go_through_tiles(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(90, 2500)), rng.normal(size=(90, 4))
    got = moments_of(Rows(blocked(X, 32), Y), batch_size=32)
    want = Moments.from_arrays(X, Y, with_xx=False)
    np.testing.assert_allclose(got.yx, want.yx, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(got.xx_diag, want.xx_diag, rtol=1e-9)


def test_values_that_are_not_finite_are_named():
    X = np.ones((50, 3))
    X[33, 1] = np.nan
    with pytest.raises(ValueError, match=r"1 \(1 NaN\)"):
        moments_of(Rows(blocked(X, 8), np.ones((50, 1))))


def test_a_block_is_a_small_product_or_has_the_rows_of_a_batch():
    assert block_rows(190, 10, 4) == 464
    assert 11 * 190 * 464 <= SMALL_PRODUCT < 11 * 190 * 480
    assert block_rows(100, 100, 8) == batch_rows(200, 8), "too few rows would be left"
    assert 128 <= block_rows(100_000, 10, 8) <= 8192
    assert 128 <= block_rows(1, 0, 1) <= 8192
