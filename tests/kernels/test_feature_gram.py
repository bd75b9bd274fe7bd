"""Products that are never formed: the same as those of the whole matrix, for every kernel."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import Agreement
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist

import projse.search.coordinates
from projse import Moments, ProjSe
from projse.kernels import linear_gram
from projse.kernels.elementwise_gram import ElementwiseGram
from projse.kernels.kept_rows import KeptRows
from projse.kernels.routes import KernelSpec, from_moments, from_rows
from projse.kernels.subspaces import WhitenedGram
from projse.sources.rows import make_rows
from projse.sources.variables import Column, Variables

SPECS = {
    "linear": {},
    "unscaled linear": {"scale": False},
    "poly": {"kernel": "poly", "degree": 3, "coef0": 1.0},
    "rbf": {"kernel": "rbf"},
    "centred": {"kernel": "rbf", "center_kernel": True},
    "unscaled": {"kernel": "poly", "degree": 2, "scale": False},
}


def callable_kernel(A, B):
    return (A.T @ B + 1.0) ** 3


def drawn(seed):
    rng = np.random.default_rng([seed, 31])
    X, Y = rng.normal(size=(40, 9)), rng.normal(size=(40, 4))
    X[:, :3] += Y[:, :3]
    X[:, 5], Y[:, 1] = 3.0, 7.0  # constants take no part
    return X, Y


def gram_of(X, Y, **spec):
    return from_moments(Moments.from_arrays(X, Y, with_xx=True), KernelSpec(**spec))


@pytest.mark.parametrize("keep", [0, 1 << 20], ids=["tile by tile", "kept"])
@pytest.mark.parametrize("kind", SPECS)
def test_a_combination_of_rows_is_that_of_the_whole_matrix(seed, kind, keep, monkeypatch):
    monkeypatch.setattr(ElementwiseGram, "KEEP_ELEMENTS", keep)
    gram = gram_of(*drawn(seed), **SPECS[kind])
    whole = gram.block(slice(None))
    assert whole.shape == (3, 9)
    assert not whole[:, 5].any()
    w = np.random.default_rng([seed, 32]).normal(size=3)
    kept = KeptRows(gram, np.array([2, 7]), gram.x_rows(np.array([2, 7])))
    for _ in range(2):  # what was kept at the first is used by the second
        assert_allclose(gram.left(w), w @ whole, atol=1e-12)
        assert_allclose(kept.left(w), w @ whole, atol=1e-12)
    some = np.array([8, 0, 5])
    for again in (gram.block(some), kept.block(some)):
        assert_array_equal(again, whole[:, some])
        again += 1.0  # a new array: the caller may write to it
    assert_array_equal(gram.block(some), whole[:, some])
    assert_allclose(kept.x_rows(np.array([7]), some), gram.x_rows(np.array([7]))[:, some])


@pytest.mark.parametrize("room", [26, 27])
def test_a_matrix_is_kept_for_later_where_it_is_small_enough(monkeypatch, room):
    """Three references that vary and nine candidates: 27 values."""
    monkeypatch.setattr(ElementwiseGram, "KEEP_ELEMENTS", room)
    gram, made = gram_of(*drawn(0), kernel="rbf"), []
    block = gram.block
    monkeypatch.setattr(gram, "block", lambda columns: made.append(columns) or block(columns))
    for _ in range(3):
        gram.left(np.ones(3))
    assert len(made) == (1 if room == 27 else 3)


@pytest.mark.parametrize("kind", ["linear", "poly", "rbf", "unscaled"])
def test_the_norm_of_a_variable_is_1_to_the_last_bit(seed, kind):
    gram = gram_of(*drawn(seed), **SPECS[kind])
    assert_array_equal(np.diag(gram.yy), 1.0)
    live = np.flatnonzero(gram.alive)
    assert_array_equal(np.diag(gram.x_rows(live, live)), 1.0)


def test_variables_have_norm_1_again_once_a_kernel_is_centred(seed):
    gram = gram_of(*drawn(seed), **SPECS["centred"])
    live = np.flatnonzero(gram.alive)
    assert_allclose(np.diag(gram.yy), 1.0)
    assert_allclose(np.diag(gram.x_rows(live, live)), 1.0)


@pytest.mark.parametrize("kind", [*SPECS, "callable"])
def test_a_candidate_that_is_constant_has_no_products(seed, kind):
    X, Y = drawn(seed)
    gram = gram_of(X, Y, **SPECS.get(kind, {}))
    if kind == "callable":
        gram = from_rows(make_rows(X, Y), KernelSpec(kernel=callable_kernel)).gram
    live = np.delete(np.arange(9), 5)
    assert gram.alive.tolist() == [j != 5 for j in range(9)]
    for columns in (None, np.array([3, 5])):
        rows = gram.x_rows(np.array([2, 7]), columns)
        assert not rows[:, 5 if columns is None else 1].any()
        assert rows[:, 3 if columns is None else 0].all()
        # Nor does its own row have any, which is the same products.
        assert not gram.x_rows(np.array([5]), columns).any()
    assert not gram.block(slice(None))[:, 5].any()
    assert gram.block(live).all()
    products = gram.left(np.ones(gram.n_y))
    assert products[5] == 0
    assert products[live].all()


@pytest.mark.parametrize("form", [{}, {"alpha": 0.0, "redundancy": 0.0, "round_size": None}])
@pytest.mark.parametrize("kind", [*SPECS, "callable", "groups"])
def test_picks_of_coordinates_that_are_never_formed(seed, kind, form, monkeypatch):
    X, Y = drawn(seed)
    X[:, 5] = np.random.default_rng([seed, 33]).normal(size=len(X))
    parameters = {
        **form,
        **{
            "callable": {"kernel": callable_kernel},
            "groups": {"groups": [0, 0, 1, 1, 2, 3, 4, 4, 5]},
        }.get(kind, SPECS.get(kind, {})),
    }
    agreement = Agreement()
    for y in (Y, Y[:, :1], None):
        if y is not None and y.shape[1] == 1 and kind == "centred":
            continue  # one variable, centred over variables, is nothing
        with monkeypatch.context() as patched:
            want = ProjSe(4, **parameters).fit(X, y)
            patched.setattr(projse.search.coordinates, "DENSE_ELEMENTS", 0)
            patched.setattr(ElementwiseGram, "KEEP_ELEMENTS", 0)
            agreement.check(ProjSe(4, **parameters).fit(X, y), want, kind)
    assert agreement.total >= 2


def test_products_of_whitened_columns_in_one_view(seed):
    X, _ = drawn(seed)
    of = (0, 1, 1, 2, 3, 4, 2, 5, 0)
    variables = Variables(tuple("abcdef"), tuple(Column(v) for v in of))
    inner = from_moments(Moments.from_arrays(X, with_xx=True), KernelSpec(), whole_reference=True)
    gram = WhitenedGram(inner, variables)
    w = np.random.default_rng([seed, 34]).normal(size=gram.n_y)
    assert_allclose(gram.left(w), w @ gram.block(slice(None)), atol=1e-12)


def test_which_columns_of_a_variable_stand_on_few_rows(seed):
    X, Y = drawn(seed)
    X[:, 0] = 0.0
    X[3, 0] = 1.0
    variables = Variables(tuple("abcdefgh"), tuple(Column(v) for v in (0, 1, 1, 2, 3, 4, 5, 6, 7)))
    moments = Moments.from_arrays(X, Y, with_xx=True)
    inner = from_moments(moments, KernelSpec(), rare_references=True)
    found = WhitenedGram(inner, variables).on_few_rows(np.array([0, 1, 3]))
    assert found.tolist() == [True, False, False]
    moments.x_min = moments.x_max = None
    inner = from_moments(moments, KernelSpec(), rare_references=True)
    assert WhitenedGram(inner, variables).on_few_rows(np.array([0, 1])) is None


def test_rows_of_products_that_moments_lack_are_refused():
    X, Y = drawn(0)
    gram = from_moments(Moments.from_arrays(X, Y, with_xx=False), KernelSpec())
    assert not gram.has_x_rows
    with pytest.raises(ValueError, match="with_xx=True"):
        gram.x_rows(np.array([0]))


@pytest.mark.parametrize("kind", SPECS)
def test_what_covariates_take_away_makes_rounding_larger_for_every_kernel(seed, kind):
    X, Y = drawn(seed)
    Z = X[:, [0]] + 1e-4 * np.random.default_rng([seed, 34]).normal(size=(len(X), 1))
    moments = Moments.from_arrays(X, Y, covariates=Z, with_xx=True)
    spec = KernelSpec(**{**SPECS[kind], "center_kernel": False})
    amplified = from_moments(moments, spec).x_amplification
    assert amplified[0] > 1e3  # next to nothing of the first candidate is left
    assert ((amplified[[1, 2, 3]] >= 1) & (amplified[[1, 2, 3]] < 10)).all()


def test_constant_candidates_have_no_products_given_covariates(seed):
    rng = np.random.default_rng([seed, 35])
    X, Z = rng.normal(size=(30, 4)), rng.normal(size=(30, 1))
    X[:, 2] = 3.0
    gram = linear_gram.gram_of(Moments.from_arrays(X, covariates=Z, with_xx=True), center=True)
    left = X - X.mean(axis=0)
    basis, _ = np.linalg.qr(Z - Z.mean(axis=0))
    left -= basis @ (basis.T @ left)
    left[:, 2] = 0.0
    assert_allclose(gram.yy, left.T @ left, atol=1e-12)
    assert not gram.yy[2].any()


def test_where_no_two_variables_differ_an_rbf_kernel_has_width_1():
    column = np.random.default_rng(0).normal(size=(30, 1))
    copies, constant = column * [1.0, 2.0, 3.0], np.ones((30, 2))
    cases = [(column, None), (copies, None), (copies, column), (copies, copies), (copies, constant)]
    for X, Y in cases:
        moments = Moments.from_arrays(X, Y, with_xx=True)
        for whole in (False, True):
            gram = from_moments(moments, KernelSpec(kernel="rbf"), whole_reference=whole)
            assert gram.mean_distance() == 1.0
            assert gram.kernel.gamma == 0.5


@pytest.mark.parametrize("scale", [False, True])
def test_the_mean_distance_is_that_of_all_pairs(seed, scale):
    """Of references; of candidates, where these are the references; or of one to candidates."""
    X, Y = drawn(seed)
    x, y = (A[:, A.std(axis=0) > 0] for A in (X, Y))
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    if scale:
        x, y = x / np.linalg.norm(x, axis=0), y / np.linalg.norm(y, axis=0)
    spec = KernelSpec(kernel="rbf", scale=scale)
    candidates, of_all = Moments.from_arrays(X, with_xx=True), Moments.from_arrays(X, Y)
    cases = [
        (from_moments(candidates, spec, whole_reference=False), pdist(x.T).mean()),
        (from_moments(candidates, spec), pdist(x.T).mean()),
        (from_moments(of_all, spec), pdist(y.T).mean()),
        (from_moments(Moments.from_arrays(X, Y[:, :3]), spec), pdist(y.T[:2]).mean()),
        (from_moments(Moments.from_arrays(X, Y[:, :2]), spec), cdist(x.T, y.T[:1]).mean()),
    ]
    for gram, want in cases:
        assert_allclose(gram.mean_distance(), want, rtol=1e-9)
        assert_allclose(gram.kernel.gamma, 1 / (2 * want**2), rtol=1e-9)
