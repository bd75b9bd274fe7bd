"""Kernels between variables against their definition on rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from agreement import Agreement, fit
from oracle import (
    KERNEL_ROUTES,
    KERNELS,
    VARIANTS,
    by_fit,
    kernel_problem,
    literal,
    name,
)
from paper import paper_form
from variants import slow

from projse import ProjSe
from projse.exceptions import RankExhaustedWarning

CUBIC = {"kernel": "poly", "degree": 3, "coef0": 1.0}
PLAIN_AND_SLOW = [k if k == CUBIC or k["kernel"] != "poly" else slow(k)[0] for k in KERNELS]


@pytest.mark.parametrize("kernel", PLAIN_AND_SLOW, ids=name)
def test_kernels_equal_their_definition(seed, kernel):
    rng = np.random.default_rng([seed, 4])
    agreement = Agreement()
    for variant in VARIANTS:
        for Y_columns in (5, 5, 1):
            if variant.get("center_kernel") and Y_columns == 1:
                continue  # one variable, centred over variables, is nothing
            X, Y = kernel_problem(rng)
            parameters = {**kernel, **variant}
            want = literal(X, Y[:, :Y_columns], **parameters)
            for route in ["auto"] if callable(kernel["kernel"]) else KERNEL_ROUTES:
                got = by_fit(X, Y[:, :Y_columns], route, **parameters)
                agreement.check(got, want, f"{route}, {name(parameters)}")
    agreement.assert_mostly_full(0.95)


@pytest.mark.parametrize("variant", VARIANTS, ids=name)
@pytest.mark.parametrize("kernel", PLAIN_AND_SLOW, ids=name)
def test_one_view_kernels_equal_their_definition(seed, kernel, variant):
    rng = np.random.default_rng([seed, 5])
    agreement = Agreement(noise=1e-9)
    parameters = {**kernel, **variant}
    for m in (40, 9):
        X, _ = kernel_problem(rng, m)
        want = literal(X, X, **parameters)
        for route in ["auto"] if callable(kernel["kernel"]) else KERNEL_ROUTES:
            got = by_fit(X, None, route, **parameters)
            agreement.check(got, want, f"{route}, {name(parameters)}")
    agreement.assert_mostly_full(0.5)


@pytest.mark.parametrize("kernel", PLAIN_AND_SLOW, ids=name)
def test_weights_are_repetitions(seed, kernel):
    rng = np.random.default_rng([seed, 7])
    agreement = Agreement()
    is_linear, is_callable = kernel["kernel"] == "linear", callable(kernel["kernel"])
    for variant in VARIANTS:
        routes = [(np.asarray, "auto")] + [(sp.csr_array, "auto")] * (not is_callable)
        routes += [(np.asarray, "qr")] * (is_linear and "center_kernel" not in variant)
        for make, solver in routes:
            X, Y = kernel_problem(rng)
            weight = rng.integers(0, 4, len(X))
            selector = paper_form(8, exhausted="stop", solver=solver, **kernel, **variant)
            got = fit(selector, make(X), make(Y), sample_weight=weight)
            repeated = np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0)
            want = by_fit(*repeated, **kernel, **variant)
            n = len(got.selected_)
            agreement.check(got, (want.selected_[:n], want.scores_[:n]), name(variant))
            np.testing.assert_allclose(got.pvalues_, want.pvalues_[:n], rtol=1e-6, atol=1e-12)
    agreement.assert_mostly_full(0.95)


def test_a_variable_that_a_callable_does_not_see_is_never_picked(seed):
    rng = np.random.default_rng([seed, 8])
    X, Y = rng.normal(size=(30, 5)), rng.normal(size=(30, 2))
    X[:, 1] = 0.0
    X[0, 1] = 1.0
    selector = ProjSe(5, kernel=lambda A, B: A[1:].T @ B[1:], center=False, exhausted="stop")
    with pytest.warns(RankExhaustedWarning):
        selector.fit(X, Y)
    assert 1 not in selector.selected_
    assert len(selector.selected_) > 0


@pytest.mark.parametrize("distance", [1e-5, 1e-7, 1e-9])
def test_the_mean_distance_of_near_copies_is_known_to_a_bound(seed, distance):
    """By inner products; the rows would tell it to the last digits."""
    rng = np.random.default_rng([seed, 61])
    X, Y = rng.normal(size=(40, 6)), rng.normal(size=(40, 3))
    Y[:, 1] = Y[:, 0] + distance * Y[:, 1]
    U = Y - Y.mean(axis=0)
    U /= np.linalg.norm(U, axis=0)
    pairs = [np.linalg.norm(U[:, i] - U[:, j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    exact = ProjSe(1, kernel="rbf", gamma=1 / (2 * np.mean(pairs) ** 2)).fit(X, Y)
    got = ProjSe(1, kernel="rbf").fit(X, Y)
    assert got.scores_[0] == pytest.approx(exact.scores_[0], abs=1e-7)


@pytest.mark.parametrize("parameters", [{"kernel": "poly"}, {"kernel": "rbf"}, {"scale": False}])
def test_units_so_small_that_squares_vanish_change_nothing_that_does_not_see_units(
    seed, parameters
):
    X, Y = kernel_problem(np.random.default_rng([seed, 9]))
    want = ProjSe(4, **parameters).fit(X, Y)
    got = ProjSe(4, **parameters).fit(X * 2.0**-700, Y)
    assert got.selected_.tolist() == want.selected_.tolist()
    np.testing.assert_allclose(got.scores_, want.scores_, rtol=1e-9)
