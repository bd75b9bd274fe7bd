"""Factors of the picks behind stand-ins, and what these keep."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from projse import ProjSe
from projse.search.stand_ins import _factor, nearest, partial_correlations


def test_picks_that_depend_on_each_other_have_no_factor():
    own = np.array([[1.0, 0.5], [0.5, 1.0]])
    assert_allclose(_factor(own, 1e-12) @ _factor(own, 1e-12).T, own)
    # One pivot is rounding: positive, and so no error of Cholesky; or not positive.
    assert _factor(np.array([[1.0, 1.0], [1.0, 1.0 + 4e-16]]), 1e-12) is None
    assert _factor(np.ones((2, 2)), 1e-12) is None


@pytest.mark.parametrize("groups", [None, [0, 1, 2, 3, 3]], ids=["columns", "groups"])
def test_directions_are_cut_by_the_size_of_all_references_not_of_what_picks_leave(seed, groups):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(60, 5))
    X, _ = np.linalg.qr(A - A.mean(axis=0))
    # All outputs go by x0, and differ by x1 and, little, by x2: less than 5 % of all there is, but
    # more than 5 % of what x0 leaves.
    Y = X[:, [0]] + 0.5 * X[:, [1]] * [1, -1, 0] + 0.1 * X[:, [2]] * [1, 1, -2]
    form = {"alpha": 0.0, "redundancy": 0.0, "round_size": 1, "groups": groups}
    for tol, share in ((0.05, 0.0), (1e-6, 1.0)):
        selector = ProjSe(2, include=[0, 1], tol=tol, **form).fit(X, Y)
        keeps = {(one.pick, one.name): one.keeps for one in selector.stand_ins(3)}
        pick, other = selector.variable_names_[[1, 2]]
        assert_allclose(keeps[pick, other], share, atol=1e-8)


def test_the_nearest_are_those_of_a_sort_and_none_is_minus_one(seed):
    rng = np.random.default_rng([seed, 4])
    closeness = rng.integers(0, 6, size=(3, 12)) / 6  # with ties, of which the first comes first
    allowed = rng.random(12) < 0.4
    allowed[5] = True
    for n in (1, 3, 12, 15):
        for row, values in zip(nearest(closeness, allowed, n), closeness, strict=True):
            order = sorted(np.flatnonzero(allowed).tolist(), key=lambda j: (-values[j], j))[:n]
            assert row.tolist() == order + [-1] * (n - len(order))
    assert (nearest(closeness, np.zeros(12, dtype=bool), 2) == -1).all()


@pytest.mark.parametrize("dependent", [False, True])
def test_partial_correlations_are_those_of_residuals(seed, dependent):
    rng = np.random.default_rng([seed, 5])
    X = rng.normal(size=(50, 8)) + rng.normal(size=(50, 1))
    if dependent:
        X[:, 3] = X[:, 0] - 2 * X[:, 6]  # so that nothing is left of any of the three
    X[:, 7] = X[:, 2] + X[:, 5]
    X /= np.linalg.norm(X, axis=0)
    picks = np.array([6, 2, 0, 3])
    found = partial_correlations((X.T @ X)[picks], picks, 1e-10)
    assert ((found >= 0) & (found <= 1)).all()
    for s, pick in enumerate(picks):
        others = X[:, np.delete(picks, s)]
        left = X - others @ np.linalg.lstsq(others, X, rcond=1e-9)[0]
        squares = np.einsum("ij,ij->j", left, left)
        known = squares > 1e-10
        cosines = left[:, pick] @ left / np.sqrt(np.where(known, squares, 1.0))
        want = np.where(known, cosines**2 / squares[pick], 0.0) if known[pick] else np.zeros(8)
        assert_allclose(found[s], want, atol=1e-9)
        assert known[pick] == (not dependent or pick == 2)


@pytest.mark.parametrize("solver", ["qr", "sketch"])
def test_without_centring_a_basis_of_the_outputs_keeps_what_the_gram_matrix_keeps(seed, solver):
    rng = np.random.default_rng([seed, 6])
    X = rng.normal(size=(40, 6)) + 1
    Y = X[:, :2] @ rng.normal(size=(2, 30)) + rng.normal(size=(40, 2)) @ rng.normal(size=(2, 30))
    form = {"center": False, "rank": 4}
    found = ProjSe(2, solver=solver, **form).fit(X, Y).stand_ins(2)
    expected = ProjSe(2, solver="gram", **form).fit(X, Y).stand_ins(2)
    for one, other in zip(found, expected, strict=True):
        assert one[:2] == other[:2]
        assert one[2:] == pytest.approx(other[2:], rel=1e-6)
