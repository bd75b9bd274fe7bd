"""References by a Gram matrix and by an orthonormal basis: the same where both can be had."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import Agreement
from oracle import (
    by_fit,
    draw,
    literal,
)

from projse import ProjSe
from projse.kernels.reference import gram_loses_directions, orthonormal
from projse.kernels.routes import KernelSpec, from_moments
from projse.moments.in_memory import moments_of
from projse.projectors import select_by_projectors
from projse.sources.rows import make_rows


@pytest.mark.parametrize("small", [1e-5, 1e-9, 1e-11])
def test_references_that_a_gram_matrix_loses(seed, small):
    """Y holds a direction of relative size `small`; a Gram matrix keeps its square."""
    rng = np.random.default_rng([seed, 3])
    agreement = Agreement(near=1e-3, rtol=1e-3, atol=1e-4)
    for _ in range(10):
        X = rng.normal(size=(60, 10))
        Y = X[:, [2, 5, 7]] * [1, 0.8, 0.6] + rng.normal(size=(60, 3)) * [0.3, 0.5, 0.7]
        Y[:, 2] = Y[:, 0] + Y[:, 1] + small * Y[:, 2]
        want = select_by_projectors(X, Y, 10)
        assert len(want[0]) == 3
        for solver in ("auto", "qr"):
            agreement.check(by_fit(X, Y, solver=solver), want, solver)
    agreement.assert_mostly_full(0.8)


def test_what_many_outputs_share_does_not_hide_in_what_they_differ(seed):
    """A hundred outputs are one variable, but for 3e-12 of another: 1e-23 of the Gram matrix."""
    rng = np.random.default_rng([seed, 12])
    X = rng.normal(size=(150, 10))
    Y = X[:, [4]] + 3e-12 * X[:, [7]] * rng.permutation(np.repeat([-1.0, 1.0], 50))
    got = by_fit(X, Y)
    assert got.reference_rank_ == 2
    assert got.selected_.tolist()[:2] == [4, 7]


@pytest.mark.parametrize("mean", [0.0, 1e3, 1e6])
def test_rounding_of_stored_references_is_nothing_that_a_gram_matrix_loses(seed, mean):
    """Sums and differences, stored to 16 digits of their means; a difference has no large one."""
    rng = np.random.default_rng([seed, 13])
    X, Y = rng.normal(size=(200, 3)), mean + rng.normal(size=(200, 2))
    Y = Y @ np.array([[1.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, -1.0]]) / 3

    def loses(Y):
        rows = make_rows(X, Y, None)
        moments = moments_of(rows, with_xx=True)
        gram = from_moments(moments, KernelSpec())
        return gram_loses_directions(rows, moments, gram, center=True)

    assert not loses(Y)
    Y[:, 2] += 1e-15 * (mean + 3) * 200 * X[:, 0]
    assert loses(Y)


@pytest.mark.parametrize("solver", ["gram", "qr"])
@pytest.mark.parametrize("variant", [{"alpha": 0.3}, {"rank": 3}, {"rank": 0.6}, {"tol": 0.1}])
def test_ridge_and_rank_are_the_same_by_gram_and_by_rows(seed, variant, solver):
    rng = np.random.default_rng([seed, 6])
    agreement = Agreement()
    for family in ("tall", "fat", "deficient", "duplicates"):
        X, Y = draw(rng, family)
        want = literal(X, Y, **variant)
        got = by_fit(X, Y, solver=solver, **variant)
        agreement.check(got, want, family)
    agreement.assert_mostly_full(0.7)


@pytest.mark.parametrize("rank", [2, 3])
def test_tied_directions_are_those_of_the_gram_matrix_wherever_they_come(seed, rank):
    """Two outputs share a part, and two share none: these are tied, in the middle."""
    rng = np.random.default_rng([seed, 15])
    A = rng.normal(size=(60, 4))
    Q, _ = np.linalg.qr(A - A.mean(axis=0))
    Y = np.column_stack([Q[:, 0], 0.8 * Q[:, 0] + 0.6 * Q[:, 1], Q[:, 2:]])
    X = Y @ rng.normal(size=(4, 8)) + rng.normal(size=(60, 8)) / 5
    by_gram, by_rows = (by_fit(X, Y, solver=solver, rank=rank) for solver in ("gram", "qr"))
    assert by_rows.selected_.tolist() == by_gram.selected_.tolist()
    np.testing.assert_allclose(by_rows.scores_, by_gram.scores_, rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("center", [True, False])
def test_whatever_the_unit_of_the_weights_constants_are_none_and_others_are_not(seed, center, unit):
    rng = np.random.default_rng([seed, 10])
    X = rng.normal(size=(60, 10))
    Y = np.tile(rng.uniform(-1e3, 1e3, size=9), (60, 1))
    Y[:, :3] = X[:, :3] + rng.normal(size=(60, 3)) + 50
    weight = unit * rng.uniform(0.5, 1.5, size=60)
    gram, qr = (ProjSe(4, solver=s, center=center).fit(X, Y, weight) for s in ("gram", "qr"))
    assert qr.reference_rank_ == gram.reference_rank_ == (3 if center else 4)
    assert qr.selected_.tolist() == gram.selected_.tolist()
    np.testing.assert_allclose(qr.scores_, gram.scores_, rtol=1e-7)


@pytest.mark.parametrize("change", ["rbf", "center_kernel", "covariates"])
def test_the_qr_route_is_refused_where_there_is_none(change):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 4)), rng.normal(size=(30, 3))
    parameters = {"rbf": {"kernel": "rbf"}, "center_kernel": {"center_kernel": True}}
    Z = X[:, :1] + 1.0 if change == "covariates" else None
    selector = ProjSe(2, solver="qr", **parameters.get(change, {}))
    with pytest.raises(ValueError, match="solver='qr' needs the linear kernel"):
        selector.fit(X, Y, covariates=Z)


@pytest.mark.parametrize("n_columns", [0, 3])
def test_a_basis_has_no_more_columns_than_it_spans(seed, n_columns):
    A = np.random.default_rng(seed).normal(size=(20, n_columns))
    A /= np.linalg.norm(A, axis=0)
    basis = orthonormal(np.hstack([A, A]))
    assert basis.shape == (20, n_columns)
    np.testing.assert_allclose(basis.T @ basis, np.eye(n_columns), atol=1e-12)
    np.testing.assert_allclose(basis @ (basis.T @ A), A, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_directions_that_storing_rounded_into_references_are_none(seed, dtype):
    rng = np.random.default_rng([seed, 9])
    X = rng.normal(size=(80, 6))
    # Five outputs of two directions. In float32, each value is off by a share of up to 6e-8.
    Y = rng.integers(-50, 50, size=(80, 2)) @ np.array([[1, 0, 2, 1, 3], [0, 1, 1, -1, 2]])
    scale = 1 if dtype == np.int16 else 1 / 3
    selector = ProjSe(2, solver="qr").fit(X, (Y * scale).astype(dtype))
    assert selector.reference_rank_ == 2


@pytest.mark.parametrize("sizes", [[1e-200, 1e-200, 1e-200], [1e-200, 1.0, 1e-200]], ids=str)
def test_outputs_whose_squares_vanish_are_factored_as_others(seed, sizes):
    rng = np.random.default_rng([seed, 9])
    X = rng.normal(size=(60, 6))
    Y = X[:, :3] * [1, 2, 3] + rng.normal(size=(60, 3))
    want = by_fit(X, Y, solver="qr")
    got = by_fit(X, Y * sizes, solver="qr")
    assert got.selected_.tolist() == want.selected_.tolist()
    np.testing.assert_allclose(got.scores_, want.scores_, rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_outputs_the_squares_of_whose_means_are_too_large_are_factored_as_others(seed, alpha):
    rng = np.random.default_rng([seed, 14])
    X = rng.normal(size=(60, 6))
    Y = X[:, :3] * [1, 2, 3] + rng.normal(size=(60, 3)) + [0.0, 1e5, 0.0]
    want = by_fit(X, Y, solver="qr", alpha=alpha)
    got = by_fit(X, Y * [1.0, 1e150, 1e150], solver="qr", alpha=alpha)
    assert got.selected_.tolist() == want.selected_.tolist()
    np.testing.assert_allclose(got.scores_, want.scores_, rtol=1e-9)
