"""Whitened columns of variables: orthonormal within each, whatever spans it."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from projse import Moments
from projse.kernels.routes import KernelSpec, from_moments
from projse.kernels.subspaces import WhitenedGram
from projse.sources.variables import Column, Variables


def unit(A):
    A = A - A.mean(axis=0)
    return A / np.linalg.norm(A, axis=0)


def gram_of(X, Y, variables, bases=None):
    inner = from_moments(Moments.from_arrays(X, Y, with_xx=True), KernelSpec())
    return WhitenedGram(inner, variables, bases)


def drawn(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 7)) * rng.uniform(0.01, 100, 7) + rng.normal(size=7)
    X[:, 6] = 4.0
    of = (0, 1, 1, 2, 1, 2, 3)
    return X, rng.normal(size=(60, 3)), Variables(tuple("abcd"), tuple(Column(v) for v in of))


def test_all_products_are_those_of_the_whitened_columns(seed):
    X, Y, variables = drawn(seed)
    gram = gram_of(X, Y, variables)
    assert gram.map.sizes.tolist() == [1, 3, 2, 0]  # a constant spans nothing
    white = gram.map.apply(unit(X[:, :6]) @ np.eye(6, 7))
    assert_allclose(white[:, 1:4].T @ white[:, 1:4], np.eye(3), atol=1e-10)
    everything = np.arange(6)
    assert_allclose(gram.x_rows(everything), white.T @ white, atol=1e-10)
    some, others = np.array([5, 1]), np.array([0, 4, 5])
    assert_allclose(gram.x_rows(some, others), white[:, some].T @ white[:, others], atol=1e-10)
    assert_allclose(gram.block(others), unit(Y).T @ white[:, others], atol=1e-10)
    assert_allclose(gram.block(slice(1, 4)), unit(Y).T @ white[:, 1:4], atol=1e-10)
    w = np.array([1.0, -2.0, 0.5])
    assert_allclose(gram.left(w), w @ unit(Y).T @ white, atol=1e-10)


def test_a_basis_is_a_map_of_the_columns_in_their_own_units(seed):
    X, Y, variables = drawn(seed)
    T = np.array([[1.0, 0.0], [0.5, 2.0], [0.0, -3.0]])
    gram = gram_of(X, Y, variables, {1: T, 2: np.empty((2, 0))})
    assert gram.map.sizes.tolist() == [1, 2, 0, 0]
    white = gram.map.apply(unit(X[:, :6]) @ np.eye(6, 7))[:, 1:]
    centred = X[:, [1, 2, 4]] - X[:, [1, 2, 4]].mean(axis=0)
    want = np.linalg.qr(centred @ T)[0]
    assert_allclose(white @ white.T, want @ want.T, atol=1e-9)


def test_a_variable_without_columns_is_there_and_is_empty(seed):
    X, Y, variables = drawn(seed)
    more = Variables((*variables.names, "none"), variables.columns)
    gram = gram_of(X, Y, more)
    assert_array_equal(gram.map.sizes, [1, 3, 2, 0, 0])
    assert len(gram.alive) == 6


def test_a_direction_without_digits_of_its_own_leaves(seed):
    """What is left of a near copy is divided by its length, and so is its rounding."""
    rng = np.random.default_rng([seed, 2])
    x, z, other = rng.normal(size=(3, 60))
    variables = Variables(("pair", "other"), tuple(Column(v) for v in (0, 0, 1)))
    for gap, n_directions in ((1e-4, 2), (1e-6, 1)):
        gram = gram_of(np.c_[x, x + gap * z, other], rng.normal(size=(60, 2)), variables)
        assert gram.map.sizes.tolist() == [n_directions, 1]
