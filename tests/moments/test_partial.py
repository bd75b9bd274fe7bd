"""Covariates taken out of moments: what is left are the moments of residuals."""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from agreement import check

from projse import Moments, ProjSe
from projse.exceptions import MomentsFileError
from projse.moments.file import MAGIC, PREFIX, moments_to_bytes
from projse.moments.partial import Whitener, partialled
from projse.moments.views import restricted, swapped

PARTS = ("x_mean", "y_mean", "yy", "yx", "xx_diag", "xx")


def confounded(seed, m=60, n_x=7, n_y=3, n_z=2):
    """Candidates and references that both depend on covariates, none of them about 0."""
    rng = np.random.default_rng([seed, 31])
    Z = rng.normal(size=(m, n_z)) * [3, 0.1][:n_z] + [50, -2][:n_z]
    X = rng.normal(size=(m, n_x)) + Z @ rng.normal(size=(n_z, n_x)) + 5
    Y = rng.normal(size=(m, n_y)) + X[:, :1] + Z @ rng.normal(size=(n_z, n_y))
    return X, Y, Z


def coefficients(A, Z, weight=None, center=True):
    """Least squares on Z, with an intercept where that is asked for."""
    root = np.sqrt(np.ones(len(Z)) if weight is None else weight)[:, None]
    design = np.c_[np.ones(len(Z)), Z] if center else Z
    return np.linalg.lstsq(design * root, A * root, rcond=1e-12)[0]


def residuals(A, Z, beta, center=True):
    return A - (np.c_[np.ones(len(Z)), Z] if center else Z) @ beta


def assert_same(got, want, center=True):
    for name in PARTS:
        a, b = getattr(got, name), getattr(want, name)
        if not center and name.endswith("_mean"):
            continue  # products about zero stand in their place
        if b is None:
            assert a is None, name
            continue
        np.testing.assert_allclose(
            a, b, rtol=1e-8, atol=1e-9 * np.abs(b).max() + 1e-9, err_msg=name
        )


def about_zero(moments):
    """The same moments with products about zero in the place of those about the means."""
    w, x, y = moments.sum_weights, moments.x_mean, moments.y_mean
    return replace(
        moments,
        xx=moments.xx + w * np.outer(x, x),
        xx_diag=moments.xx_diag + w * x**2,
        yy=moments.yy + w * np.outer(y, y),
        yx=moments.yx + w * np.outer(y, x),
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("center", [True, False])
def test_what_is_left_are_the_moments_of_residuals(seed, center, weighted):
    X, Y, Z = confounded(seed)
    weight = np.random.default_rng(seed).integers(1, 4, 60).astype(float) if weighted else None
    got = partialled(Moments.from_arrays(X, Y, weight, covariates=Z), center)
    left = [residuals(A, Z, coefficients(A, Z, weight, center), center) for A in (X, Y)]
    want = Moments.from_arrays(*left, weight)
    assert_same(got, want if center else about_zero(want), center)
    assert (got.n_covariates, got.n_partialled) == (0, 2)


def test_held_out_rows_are_judged_by_the_regressions_of_others(seed):
    X, Y, Z = confounded(seed)
    train, test = slice(0, 40), slice(40, 60)
    a, b = (Moments.from_arrays(X[i], Y[i], covariates=Z[i]) for i in (train, test))
    left = [residuals(A, Z, coefficients(A[train], Z[train])) for A in (X, Y)]
    assert_same(partialled(b, by=a), Moments.from_arrays(*(A[test] for A in left)))


def test_one_view_is_what_is_left_of_the_candidates(seed):
    X, _, Z = confounded(seed)
    moments = Moments.from_arrays(X, covariates=Z)
    assert moments.one_view
    got = partialled(moments)
    assert got.y_mean is None
    assert_same(got, Moments.from_arrays(residuals(X, Z, coefficients(X, Z))))


def test_covariates_that_add_nothing_cost_no_degree_of_freedom(seed):
    X, Y, Z = confounded(seed)
    more = np.c_[Z, Z @ [1.0, 2.0], np.full(60, 0.1), 1e6 * Z[:, 0], Z[:, 1] < -2, Z[:, 1] >= -2]
    got = partialled(Moments.from_arrays(X, Y, covariates=more))
    assert got.n_partialled == 3
    want = partialled(Moments.from_arrays(X, Y, covariates=np.c_[Z, Z[:, 1] < -2]))
    assert_same(got, want)


def test_what_covariates_explain_wholly_is_exactly_nothing(seed):
    X, Y, Z = confounded(seed)
    X[:, 3], Y[:, 1] = Z @ [2.0, 7.0] + 3, -Z[:, 0]
    got = partialled(Moments.from_arrays(X, Y, covariates=Z))
    assert got.xx_diag[3] == 0
    assert got.yy[1, 1] == 0
    assert not got.yx[1].any()
    assert not got.yx[:, 3].any()


def test_rounding_of_what_is_left_is_known(seed):
    """Where next to nothing is left, its entries are off by about as much as is said."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(200, 3))
    X = Z @ rng.normal(size=(3, 50)) + 1e-4 * rng.normal(size=(200, 50))
    zz, zx, squares = Z.T @ Z, Z.T @ X, (X * X).sum(axis=0)
    whitener = Whitener.of(zz, np.diag(zz), np.finfo(float).eps)
    left, amplification = whitener.left(squares, whitener.W @ zx)
    R = X - Z @ np.linalg.lstsq(Z, X, rcond=None)[0]
    want = (R * R).sum(axis=0)
    off = np.abs(left - want) / want
    assert np.all(off <= 64 * np.finfo(float).eps * amplification**2)
    assert np.median(amplification) > 1e3


# Adding up


def test_batches_of_the_same_covariates_add_up(seed):
    X, Y, Z = confounded(seed)
    whole = Moments.from_arrays(X, Y, covariates=Z)
    grown = Moments.from_arrays(X[:20], Y[:20], covariates=Z[:20])
    grown.update(X[20:], Y[20:], covariates=Z[20:])
    assert_same(grown, whole)
    assert grown.n_covariates == 2
    rest = whole - Moments.from_arrays(X[:20], Y[:20], covariates=Z[:20])
    others = Moments.from_arrays(X[20:], Y[20:], covariates=Z[20:])
    assert_same(partialled(rest), partialled(others))


def test_other_covariates_are_refused_in_words(seed):
    X, Y, Z = confounded(seed)
    some, none = Moments.from_arrays(X, Y, covariates=Z), Moments.from_arrays(X, np.c_[Y, Z])
    with pytest.raises(ValueError, match="2 and of 0 columns of covariates"):
        some + none
    words = [np.array(list("ab" * 30)), np.array(list("ac" * 30))]
    a, c = (Moments.from_arrays(X, Y, covariates=w) for w in words)
    assert (a + c).target_names[-3:] == ("covariate=a", "covariate=b", "covariate=c")
    with pytest.raises(ValueError, match="whose covariates are columns of an encoded table"):
        a + some
    with pytest.raises(ValueError, match="were taken out"):
        partialled(some) + Moments.from_arrays(X, Y)


def test_classes_may_grow_beside_covariates(seed):
    X, Y, Z = confounded(seed)
    labels = np.array(["b", "c", "a"])[np.argsort(np.argsort(Y[:, 0])) // 20]
    order = np.argsort(labels, kind="stable")
    X, Z, labels = X[order], Z[order], labels[order]
    whole = Moments.from_arrays(X, labels, covariates=Z)
    parts = [slice(0, 15), slice(15, 37), slice(37, 60)]
    pieces = [Moments.from_arrays(X[i], labels[i], covariates=Z[i]) for i in parts]
    total = pieces[2] + pieces[0] + pieces[1]
    assert total.classes.tolist() == ["a", "b", "c"]
    assert total.target_names == ("a", "b", "c", "covariate0", "covariate1")
    assert_same(total, whole)


@pytest.mark.parametrize("sparse_x", [False, True])
def test_covariates_far_from_zero_lose_nothing_beside_sparse_references(seed, sparse_x):
    X, Y, Z = confounded(seed)
    Z = Z + 1e7
    Y = np.where(Y > 0, Y, 0.0)
    given = sp.csr_array(X) if sparse_x else X
    got = Moments.from_arrays(given, sp.csr_array(Y), covariates=Z)
    want = Moments.from_arrays(X, Y, covariates=Z)
    assert_same(got, want)
    for name in ("y_min", "y_max"):
        np.testing.assert_allclose(getattr(got, name), getattr(want, name))


# Other views


def test_views_keep_the_covariates(seed):
    X, Y, Z = confounded(seed)
    moments = Moments.from_arrays(X, Y, covariates=Z)
    assert_same(partialled(swapped(moments)), swapped(partialled(moments)))
    assert_same(swapped(swapped(moments)), moments)
    some = restricted(moments, np.array([4, 1]), np.array([2]))
    assert some.n_covariates == 2
    assert_same(partialled(some), restricted(partialled(moments), np.array([4, 1]), np.array([2])))


# Files


def test_a_file_keeps_the_covariates(seed, tmp_path):
    X, Y, Z = confounded(seed)
    for moments in (
        Moments.from_arrays(X, Y, covariates=Z),
        Moments.from_arrays(X, covariates=Z),
        partialled(Moments.from_arrays(X, Y, covariates=Z)),
    ):
        moments.save(tmp_path / "m")
        again = Moments.load(tmp_path / "m")
        assert_same(again, moments)
        for name in ("n_covariates", "n_partialled", "one_view", "target_names"):
            assert getattr(again, name) == getattr(moments, name)
    check(ProjSe(3).fit_moments(again), ProjSe(3).fit(X, Y, covariates=Z))


def test_only_moments_with_covariates_need_a_new_reader(seed):
    X, Y, Z = confounded(seed)
    versions = [
        struct.unpack_from("<I", moments_to_bytes(m), len(MAGIC))[0]
        for m in (Moments.from_arrays(X, Y), Moments.from_arrays(X, Y, covariates=Z))
    ]
    assert versions == [1, 2]


@pytest.mark.parametrize("name", ["n_covariates", "n_partialled"])
@pytest.mark.parametrize("value", [-1, 6e9, 1.5, "2", None, True, [1], 10**400])
def test_hostile_counts_are_refused(seed, tmp_path, name, value):
    X, Y, Z = confounded(seed)
    content = moments_to_bytes(Moments.from_arrays(X, Y, covariates=Z))
    start = len(MAGIC) + PREFIX.size
    version, length = PREFIX.unpack(content[len(MAGIC) : start])
    header = json.loads(content[start : start + length]) | {name: value}
    text = json.dumps(header).encode()
    body = MAGIC + PREFIX.pack(version, len(text)) + text + content[start + length : -32]
    (tmp_path / "m").write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(MomentsFileError, match=r"n_covariates|n_partialled|integer string"):
        Moments.load(tmp_path / "m")


def test_more_covariates_than_columns_are_refused(seed):
    X, Y, Z = confounded(seed)
    for moments in (Moments.from_arrays(X, Y, covariates=Z), Moments.from_arrays(X)):
        with pytest.raises(ValueError, match=r"n_covariates=6 is more than the [05] columns of Y"):
            ProjSe(2).fit_moments(replace(moments, n_covariates=6))


def test_very_wide_sparse_products_stay_sparse(seed, monkeypatch):
    """There products are about zero, and the covariates are far from it."""
    X, Y, Z = confounded(seed)
    X, Y = (np.where(np.median(A, axis=0) < A, A, 0.0) for A in (X, Y))
    want = ProjSe(4).fit(X, Y, covariates=Z)
    dense = Moments.from_arrays(X, Y, covariates=Z)
    monkeypatch.setattr("projse.moments.in_memory.SPARSE_YX_ELEMENTS", 0)
    parts = [
        Moments.from_arrays(sp.csr_array(X[i]), sp.csr_array(Y[i]), covariates=Z[i])
        for i in (slice(0, 25), slice(25, 60))
    ]
    total = parts[0] + parts[1]
    assert sp.issparse(total.yx)
    assert_same(partialled(total), partialled(dense))
    check(ProjSe(4).fit_moments(total), want)
    check(ProjSe(4).fit(sp.csr_array(X), sp.csr_array(Y), covariates=Z), want)
