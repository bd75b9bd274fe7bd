"""Who needs the products of the candidates with each other, and what happens without them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from paper import paper_form

from projse import PAPER, Moments, ProjSe, StabilityProjSe
from projse.exceptions import ProductsMissingError, RankExhaustedWarning
from projse.kernels.many_outputs import MANY_OUTPUTS
from projse.moments.own_products import IN_MEMORY, ON_CLUSTER, ONCE, OVER_FILES, OVER_STATE
from projse.search.products import KEPT_COLUMNS
from projse.search.task import Task
from projse.sources.rows import make_rows


def rows_with(seed, m, p, q, n_classes=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, p))
    if n_classes is None:
        return X, X[:, :8] @ rng.normal(size=(8, q)) + 0.1 * rng.normal(size=(m, q))
    # Class k has variable k raised: every one of them is needed to tell the classes apart.
    labels = rng.integers(n_classes, size=m)
    X[:, :n_classes] += 2.0 * (labels[:, None] == np.arange(n_classes))
    return X, labels


@pytest.mark.parametrize("p", [40, 600])
def test_fit_then_partial_fit_makes_all_picks(seed, p):
    X, Y = rows_with(seed, 300, p, 2)
    grown = ProjSe(5).fit(X[:200], Y[:200]).partial_fit(X[200:], Y[200:])
    whole = ProjSe(5).fit(X, Y)
    assert_array_equal(grown.selected_, whole.selected_)


@pytest.mark.parametrize("p", [40, 600])
def test_as_many_picks_as_classes_from_partial_fits(seed, p):
    X, labels = rows_with(seed, 400, p, None, n_classes=4)
    grown = ProjSe(4)
    for rows in np.array_split(np.arange(400), 5):
        grown.partial_fit(X[rows], labels[rows])
    assert_array_equal(grown.selected_, ProjSe(4).fit(X, labels).selected_)
    assert len(grown.selected_) == 4


def test_partial_fit_after_a_fit_without_products_says_so(seed):
    X, Y = rows_with(seed, 2000, 1500, 2)
    fitted = paper_form(5).fit(X, Y)
    assert fitted.moments_.xx is None
    before = fitted.selected_
    with pytest.raises(ProductsMissingError, match=r"2 picks.*Begin with partial_fit"):
        fitted.partial_fit(X[:500], Y[:500])
    assert_array_equal(fitted.selected_, before)
    fitted.set_params(exhausted="stop").partial_fit(X[:500], Y[:500])
    assert len(fitted.selected_) == 2


def test_too_many_candidates_are_refused_before_they_are_summed():
    products = Task.of(ProjSe(5, **PAPER), KEPT_COLUMNS + 1, None).products
    assert not products.are_summed(5, ONCE)
    assert not products.are_summed(2, OVER_FILES)
    with pytest.raises(ProductsMissingError, match=f"up to {KEPT_COLUMNS} candidates"):
        products.are_summed(2, ONCE)
    X = np.random.default_rng(0).normal(size=(20, KEPT_COLUMNS + 1)).astype(np.float32)
    with pytest.raises(ProductsMissingError, match="exhausted='stop'"):
        paper_form(5).partial_fit(X, X[:, :2])


AUTO = {"alpha": "auto", "redundancy": "auto", "round_size": "auto"}


@pytest.mark.parametrize("price", [IN_MEMORY, OVER_FILES, OVER_STATE, ON_CLUSTER])
@pytest.mark.parametrize("form", [{**PAPER, "round_size": 1}, AUTO])
def test_all_products_are_summed_up_to_a_width_that_grows_with_the_price_of_a_pass(form, price):
    def summed(n_x, n_picks=50):
        return Task.of(ProjSe(n_picks, **form), n_x, None).products.are_summed(20, price)

    assert summed(int(2 * price))
    assert not summed(int(2 * price) + 300)
    assert not summed(KEPT_COLUMNS)
    assert summed(int(2 * price) + 300, n_picks=500)  # many passes cost more than all products


def test_rows_in_memory_sum_products_of_up_to_268_million_multiplications():
    """So that more rows can be added: of 16 rows and 4096 candidates all, though it costs more."""
    products = Task.of(ProjSe(5), 4096, None).products
    assert products.are_summed(20, IN_MEMORY, 16)
    assert not products.are_summed(20, IN_MEMORY, 17)
    assert Task.of(ProjSe(5), 512, None).products.are_summed(20, IN_MEMORY, 17)


@pytest.mark.parametrize(
    ("parameters", "one_view"),
    [
        ({**PAPER, "center_kernel": True}, False),
        ({**PAPER, "alpha": 0.1}, True),
        ({**PAPER, "kernel": "rbf"}, True),
        (AUTO, True),
    ],
)
def test_what_needs_all_products_says_so_where_there_are_too_many(parameters, one_view):
    def products(n_x):
        return Task.of(ProjSe(5, **parameters), n_x, None, one_view).products

    assert products(KEPT_COLUMNS).are_summed(2, OVER_FILES)
    with pytest.raises(ProductsMissingError, match=f"up to {KEPT_COLUMNS} candidates.*in memory"):
        products(KEPT_COLUMNS + 1).are_summed(2, OVER_FILES)


def test_few_rows_of_many_references_are_no_error_yet(seed):
    X, Y = rows_with(seed, 60, 700, 9)
    model = paper_form(6).partial_fit(X[:3], Y[:3])
    assert len(model.selected_) == 2  # the rank of three centred rows
    model.partial_fit(X[3:], Y[3:])
    assert_array_equal(model.selected_, paper_form(6).fit(X, Y).selected_)


@pytest.mark.parametrize("wanted", [4, 0.4])
def test_resamples_of_class_labels_make_all_picks_whatever_the_number_of_rows(seed, wanted):
    X, labels = rows_with(seed, 2100, 10, None, n_classes=4)
    model = StabilityProjSe(ProjSe(wanted), 20, random_state=0).fit(X, labels)
    assert (model.selections_ >= 0).all()
    assert model.selections_.shape[1] == 4
    assert_array_equal(np.sort(model.selected_), np.arange(4))


def test_resamples_of_moments_without_products_say_what_is_missing(seed):
    X, Y = rows_with(seed, 400, 30, 2)
    days = [Moments.from_arrays(X[i::4], Y[i::4], with_xx=False) for i in range(4)]
    with pytest.warns(RankExhaustedWarning, match=r"10 of 10 resamples.*with_xx=True"):
        StabilityProjSe(paper_form(5), 10, random_state=0).fit_moments(days)


def test_classes_have_one_direction_less_than_their_number(seed):
    X, labels = rows_with(seed, 400, 700, None, n_classes=4)
    first = paper_form(3).partial_fit(X, labels)
    assert first.moments_.xx is None  # three directions for three picks
    assert len(first.selected_) == 3


def test_few_rows_of_many_outputs_are_sketched_where_they_are_not_factored_themselves(seed):
    """Dense ones without covariates are: their own factor is exact, and costs as little."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(30, 5)), rng.normal(size=(30, MANY_OUTPUTS + 1))
    plain, scattered = make_rows(X, Y), make_rows(X, sp.csr_array(Y))
    beside = replace(plain, Y=np.hstack([Y, X[:, :1]]), n_covariates=1)
    task = Task.of(ProjSe(2, rank=5), 5, None)
    assert task.n_directions(plain) is None
    assert task.n_directions(scattered) == task.n_directions(beside) > 0
