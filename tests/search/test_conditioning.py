"""Conditioning on many candidates at once is conditioning on one after the other."""

from __future__ import annotations

import numpy as np
import pytest

from projse import Moments
from projse.kernels.routes import KernelSpec, from_moments
from projse.search.conditioning import Conditioning
from projse.search.shortlist import Shortlist


def conditioning_of(X, Y, kernel="linear"):
    moments = Moments.from_arrays(X, Y, with_xx=True)
    gram = from_moments(moments, KernelSpec(kernel))
    return Conditioning(gram, Shortlist(gram, 10, gram.alive.copy()))


def data(seed, n=40):
    """Columns of which 7 is 3, 8 is a sum of two, 9 is nearly 4, and 11 is constant."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, n))
    X[:, 7], X[:, 8] = X[:, 3], X[:, 1] - 2 * X[:, 2]
    X[:, 9] = X[:, 4] + 1e-4 * rng.normal(size=100)
    X[:, 11] = 1.0
    return X, X[:, :6] @ rng.normal(size=(6, 5)) + rng.normal(size=(100, 5))


INDICES = np.array([3, 1, 7, 2, 8, 4, 9, 20, 11])
FREE = [3, 1, 2, 4, 9, 20]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_what_is_left_is_the_schur_complement(seed, kernel):
    X, Y = data(seed)
    left = conditioning_of(X, Y, kernel)
    free = FREE if kernel == "linear" else [*FREE, 8]
    left.extend(INDICES)
    gram = left.gram
    K, cross = gram.x_rows(np.arange(gram.n_x)), gram.block(np.arange(gram.n_x))
    own = K[np.ix_(free, free)]
    A = np.linalg.solve(own, K[free])
    assert left.rank == len(free)
    np.testing.assert_allclose(left.norms, np.diag(K - K[:, free] @ A), atol=1e-7)
    B = np.linalg.solve(own, cross[:, free].T)
    np.testing.assert_allclose(left.reference(), gram.yy - cross[:, free] @ B, atol=1e-7)
    assert left.vanished[INDICES].all()
    assert not left.scale[INDICES].any()


@pytest.mark.parametrize("cuts", [[1, 2, 3, 4, 5, 6, 7, 8], [3], [4, 5], [8]])
def test_steps_of_any_length_leave_the_same(seed, cuts):
    X, Y = data(seed)
    at_once, in_steps = conditioning_of(X, Y), conditioning_of(X, Y)
    at_once.extend(INDICES)
    for part in np.split(INDICES, cuts):
        in_steps.extend(part)
    assert at_once.rank == in_steps.rank == len(FREE)
    assert at_once.vanished.tolist() == in_steps.vanished.tolist()
    np.testing.assert_allclose(at_once.A, in_steps.A, atol=1e-6)
    np.testing.assert_allclose(at_once.B, in_steps.B, atol=1e-6)
    np.testing.assert_allclose(at_once.norms, in_steps.norms, atol=1e-9)
    every = np.arange(X.shape[1])
    np.testing.assert_allclose(
        at_once.x_amplification(every), in_steps.x_amplification(every), rtol=1e-4
    )
    np.testing.assert_allclose(at_once.y_amplification(), in_steps.y_amplification(), rtol=1e-4)


def test_probes_follow_the_coefficients_on_the_pivots(seed):
    X, Y = data(seed)
    left = conditioning_of(X, Y)
    left.extend(INDICES)
    K = left.gram.x_rows(np.arange(left.gram.n_x))
    W = np.linalg.solve(K[np.ix_(FREE, FREE)], K[FREE])
    squares = left._x_squares
    # Eight random signs a pivot: their mean square is ‖w‖² within a factor of a few.
    others = np.setdiff1d(np.arange(X.shape[1]), [*INDICES.tolist(), 0])
    ratio = squares[others].sum() / (W[:, others] ** 2).sum()
    assert 0.2 < ratio < 5


def test_many_pivots_have_signs_of_their_own():
    from projse.search.conditioning import _signs

    signs = _signs(0, 600)
    assert signs.shape[0] == 600
    assert set(np.unique(signs)) == {-1.0, 1.0}
    np.testing.assert_array_equal(_signs(250, 20), signs[250:270])
    np.testing.assert_array_equal(_signs(256, 256), signs[256:512])
    assert _signs(5, 0).shape == (0, signs.shape[1])
