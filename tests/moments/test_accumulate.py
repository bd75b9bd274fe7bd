"""The pass over dense rows against plain sums of products."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import projse.moments.accumulate as accumulate
import projse.moments.folding as folding
import projse.moments.row_sums as row_sums
from projse import Moments


def literal(X, Y, weight):
    """Centred products by their definition, in float64."""
    X, Y = X.astype(float), Y.astype(float)
    w = np.ones(len(X)) if weight is None else weight
    x, y = X - np.average(X, axis=0, weights=w), Y - np.average(Y, axis=0, weights=w)
    means = {"x_mean": (X - x)[0], "y_mean": (Y - y)[0]}
    return {"yy": (y.T * w) @ y, "yx": (y.T * w) @ x, "xx": (x.T * w) @ x, **means}


def compare(moments, want, tol):
    scale = np.sqrt(np.diag(want["xx"]))
    heights = np.sqrt(np.diag(want["yy"]))
    assert_allclose(
        moments.yx / heights[:, None] / scale,
        want["yx"] / heights[:, None] / scale,
        rtol=0,
        atol=tol,
    )
    assert_allclose(moments.x_mean, want["x_mean"], rtol=tol, atol=tol)
    assert_allclose(moments.y_mean, want["y_mean"], rtol=tol, atol=tol)
    assert_allclose(moments.xx_diag, np.diag(want["xx"]), rtol=10 * tol)
    assert_allclose(np.diag(moments.yy), np.diag(want["yy"]), rtol=10 * tol)
    if moments.xx is not None:
        assert_allclose(
            moments.xx / scale[:, None] / scale,
            want["xx"] / scale[:, None] / scale,
            rtol=0,
            atol=tol,
        )


@pytest.fixture(params=["as it is", "tiles", "no thin references", "short rows"])
def shape_of_work(request, monkeypatch):
    if request.param == "tiles":
        monkeypatch.setattr(accumulate, "TILE_COLUMNS", 5)
    if request.param == "no thin references":
        monkeypatch.setattr(row_sums, "THIN_COLUMNS", 0)
    if request.param == "short rows":
        monkeypatch.setattr(folding, "LONG_ROW", 40)


@pytest.mark.parametrize("with_xx", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_dense_products(seed, shape_of_work, dtype, order, offset, weighted, with_xx):
    rng = np.random.default_rng(seed)
    X = np.asarray(rng.normal(size=(700, 17)) + offset, dtype=dtype, order=order)
    Y = np.asarray(rng.normal(size=(700, 3)) - offset, dtype=dtype, order=order)
    weight = rng.integers(0, 3, 700).astype(float) if weighted else None
    moments = Moments.from_arrays(X, Y, weight, with_xx=with_xx, batch_size=130)
    compare(moments, literal(X, Y, weight), 1e-5 if dtype == "f4" else 1e-9 if offset else 1e-12)


@pytest.mark.parametrize("sorted_rows", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", ["u1", "i1", "?", "i4", "f8"])
def test_products_with_classes_are_sums(seed, shape_of_work, dtype, weighted, sorted_rows):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2 if dtype == "?" else 100, (900, 17)).astype(dtype)
    labels = rng.integers(0, 4, 900)
    if sorted_rows:
        labels.sort()
    weight = rng.integers(0, 3, 900).astype(float) if weighted else None
    moments = Moments.from_arrays(X, labels, weight)
    compare(moments, literal(X, np.eye(4)[labels], weight), 1e-12)
    assert moments.eps == np.finfo(float).eps


def test_bytes_are_summed_exactly(seed):
    """Whole numbers: the sums themselves come out without any rounding."""
    rng = np.random.default_rng(seed)
    X = np.full((5000, 3), 255, dtype=np.uint8)
    X[::7, 1] = rng.integers(0, 256, len(X[::7]))
    sums, x_shift, _ = accumulate.accumulate_dense(X, None, None)
    assert_array_equal(x_shift, 0)
    assert_array_equal(sums.xx_diag, (X.astype(int) ** 2).sum(axis=0))
    labels = rng.integers(0, 3, 5000)
    labels[:3] = [0, 1, 2]
    moments = Moments.from_arrays(X, labels)
    assert moments.xx_diag[0] == 0
    assert_array_equal(moments.x_mean, X.astype(int).sum(axis=0) / 5000)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_y", [1, 16, 17, 177])
def test_references_from_thin_to_wide(seed, n_y, order):
    """Thin ones are copied by row, others as they lie; the last batch is a short one."""
    rng = np.random.default_rng(seed)
    X = np.asarray(rng.normal(size=(3001, 40)), order=order)
    Y = np.asarray(rng.normal(size=(3001, n_y)), order=order)
    compare(Moments.from_arrays(X, Y, with_xx=False), literal(X, Y, None), 1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_y", [1, 3, 20])
def test_few_values_in_float32_are_known_to_five_digits(seed, n_y, order):
    """Two values of one size: every addition of a long sum rounds the same way."""
    sign = np.random.default_rng(seed).choice([-1.0, 1.0], size=(16384, 1))
    X = np.asarray(np.linspace(0.1, 1, 40) * sign, dtype=np.float32, order=order)
    Y = np.asarray(np.linspace(0.1, 1, n_y) * sign, dtype=np.float32, order=order)
    got = Moments.from_arrays(X, Y, with_xx=False)
    want = Moments.from_arrays(X.astype(np.float64), Y.astype(np.float64), with_xx=False)
    assert got.eps > want.eps  # made in float32
    for name in ("xx_diag", "yx", "yy"):
        assert_allclose(getattr(got, name), getattr(want, name), rtol=6.5e-5)


def test_rows_that_count_for_nothing_may_lie_anywhere(seed):
    """The first rows decide about a shift: of those, the ones that count."""
    rng = np.random.default_rng(seed)
    m = 1500
    X, Y = rng.normal(size=(m, 3)), rng.normal(size=(m, 2))
    weight = np.exp(-np.arange(m)[::-1] / 20)
    X[:300, 1] += 1e9  # an old regime, with less than e⁻⁶⁰ of the weight
    Y[:300, 0] -= 1e9
    moments = Moments.from_arrays(X, Y, sample_weight=weight)
    want = literal(X[300:], Y[300:], weight[300:])
    assert_allclose(moments.xx_diag, np.diag(want["xx"]), rtol=1e-6)
    assert_allclose(np.diag(moments.yy), np.diag(want["yy"]), rtol=1e-6)


def test_rows_of_no_weight_at_all_leave_no_trace():
    """A file, or a partition, may hold nothing but such rows."""
    X, Y = np.full((300, 3), np.nan), np.full((300, 2), np.inf)
    sums, x_shift, y_shift = accumulate.accumulate_dense(X, Y, np.zeros(300), with_xx=True)
    assert sums.n_samples == sums.weight == 0
    for values in (sums.x, sums.y, sums.yy, sums.yx, sums.xx_diag, sums.xx, x_shift, y_shift):
        assert not values.any()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("dtype", "tol"), [("f8", 1e-13), ("f4", 3e-6)])
@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_full_columns_of_sparse_references_may_lie_far_from_zero(
    seed, offset, dtype, tol, weighted
):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(3000, 7)), rng.normal(size=(3000, 3))
    X[:, 0] += Y[:, 1]
    Y[:, 1] += offset
    Y[:, 2] *= rng.random(3000) < 0.05
    X, Y = X.astype(dtype), Y.astype(dtype)
    weight = rng.integers(0, 3, size=3000).astype(float) if weighted else None
    moments = Moments.from_arrays(X, sp.csr_array(Y), weight)
    compare(moments, literal(X, Y, weight), tol)
