"""Of directions that carry the same, the outputs say which come first, and no rounding."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from projse import Moments, ProjSe
from projse.kernels.tied_directions import by_order, tied_with


def test_directions_depend_on_the_space_alone(seed):
    rng = np.random.default_rng(seed)
    space = np.linalg.qr(rng.normal(size=(7, 4)))[0]
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    for n in (1, 2, 4):
        first = space @ by_order(space, n)
        assert_allclose(first.T @ first, np.eye(n), atol=1e-12)
        assert_allclose(space @ turn @ by_order(space @ turn, n), first, atol=1e-9)


def test_the_lowest_index_wins_among_variables_that_are_as_close(seed):
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(5, 5)))[0]
    assert_allclose(turn @ by_order(turn, 3), np.eye(5)[:, :3], atol=1e-12)


def test_neighbours_within_rounding_are_tied():
    values = np.array([3.0, 2.0, 2.0 - 1e-14, 1.0])
    eps = float(np.finfo(np.float64).eps)
    assert [tied_with(values, k, eps) for k in range(4)] == [
        slice(0, 1),
        slice(1, 3),
        slice(1, 3),
        slice(3, 4),
    ]


@pytest.mark.parametrize("options", [{"rank": 1}, {"rank": 2, "alpha": 0.0}, {"rank": 0.4}])
def test_rows_of_balanced_classes_give_the_same_in_every_way(seed, options):
    """Of balanced classes, all directions carry the same."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(4), 30))
    X = rng.normal(size=(120, 6)) + rng.normal(size=(4, 6))[y]
    want = ProjSe(2, **options).fit(X, y)
    indicators, order = np.eye(4)[y], rng.permutation(120)
    parts = [Moments.from_arrays(X[k], y[k], with_xx=True) for k in np.array_split(order, 5)]
    for found in (
        ProjSe(2, **options).fit(X[order], y[order]),
        ProjSe(2, **options).fit(X, y, sample_weight=np.full(120, 0.3)),
        ProjSe(2, **options).fit(X, indicators + 1 / 3),
        ProjSe(2, solver="qr", **options).fit(X, indicators),
        ProjSe(2, **options).fit_moments(sum(parts[1:], start=parts[0])),
    ):
        assert_array_equal(found.selected_, want.selected_)
        assert_allclose(found.scores_, want.scores_, rtol=0, atol=1e-10)
