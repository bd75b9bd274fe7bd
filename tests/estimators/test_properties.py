"""What must not matter does not: mixing, order, batches, signs, sizes, means, storage, threads."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from agreement import ONE_VIEW, ROUTES, Agreement, as_is, check, fit
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from marks import arbitrary_picks
from paper import FORMS, paper_form
from variants import slow

import projse.kernels.linear_gram
from projse import Moments, ProjSe

pytestmark = arbitrary_picks  # degenerate data are what these tests are about

some = settings(deadline=None, max_examples=60)
seeds = st.integers(0, 2**32 - 1)
modes = st.sampled_from(["residual", "restart", "stop"])
round_sizes = st.sampled_from([None, 1, 2])
forms = st.sampled_from(list(FORMS.values()))
KERNELS = [{"kernel": "linear"}, {"kernel": "poly"}, {"kernel": "poly", "coef0": 1.0, "degree": 2}]
KERNELS += [{"kernel": "rbf"}]
kernels = st.sampled_from(KERNELS)


def problem(rng, m=60, n_x=10, n_y=4):
    X = rng.normal(size=(m, n_x)) + 0.5 * rng.normal(size=(m, 1)) + rng.normal(size=n_x)
    mix = rng.normal(size=(n_x, n_y)) * (rng.random((n_x, n_y)) < 0.5)
    return X, X @ mix + rng.normal(size=(m, n_y)) + rng.normal(size=n_y)


@st.composite
def problems(draw):
    """A generator, and a problem whose picks are rarely tied."""
    rng = np.random.default_rng(draw(seeds))
    m, n_x, n_y = draw(st.integers(20, 80)), draw(st.integers(2, 12)), draw(st.integers(1, 5))
    return rng, *problem(rng, m, n_x, n_y)


@st.composite
def grids(draw):
    """Small whole numbers: full of ties, copies, constants and lost rank."""
    m, n_x, n_y = draw(st.integers(3, 9)), draw(st.integers(1, 7)), draw(st.integers(1, 4))
    X, Y = (draw(hnp.arrays(np.int64, (m, n), elements=st.integers(-2, 2))) for n in (n_x, n_y))
    assume((X[0] != X).any() and (Y[0] != Y).any())
    return X.astype(float), Y.astype(float)


def decided(selector, near=1e-6):
    """Let only problems pass whose picks do not hang on rounding."""
    assume(selector.margins_.min(initial=1.0) > near)
    return selector


def same(a, b, rtol=1e-9):
    """Moments with the same content, to rounding of their sums."""
    assert (a.n_samples, a.n_x, a.n_y) == (b.n_samples, b.n_x, b.n_y)
    for field in ("sum_weights", "x_mean", "y_mean", "yy", "yx", "xx_diag", "xx"):
        u, v = getattr(a, field), getattr(b, field)
        assert (u is None) == (v is None), field
        if u is not None:
            np.testing.assert_allclose(u, v, rtol=rtol, atol=rtol * np.abs(v).max(initial=1.0))


# Invariance


@some
@given(problems(), modes, round_sizes, st.booleans())
def test_mixing_the_references_changes_nothing(drawn, exhausted, round_size, center):
    rng, X, Y = drawn
    selector = paper_form(X.shape[1], exhausted=exhausted, round_size=round_size, center=center)
    want = decided(fit(selector, X, Y))
    rotation = np.linalg.qr(rng.normal(size=(Y.shape[1],) * 2))[0]
    mixed = Y @ rotation * rng.uniform(0.3, 3, Y.shape[1])
    again = fit(ProjSe(**selector.get_params()), X, mixed)
    check(again, want, near=1e-6)


@some
@given(problems(), st.integers(1, 100), modes, kernels, forms)
def test_order_and_batches_of_rows_change_nothing(drawn, batch_size, exhausted, kernel, form):
    rng, X, Y = drawn
    parameters = {**form, "exhausted": exhausted, **kernel}
    want = decided(fit(ProjSe(X.shape[1], **parameters), X, Y))
    order = rng.permutation(len(X))
    got = fit(ProjSe(X.shape[1], batch_size=batch_size, **parameters), X[order], Y[order])
    check(got, want, near=1e-6, rtol=1e-7)


@some
@given(problems(), st.integers(1, 8))
def test_moments_merge_in_any_tree(drawn, n_parts):
    rng, X, Y = drawn
    weight = rng.uniform(0.1, 3, len(X))
    cuts = np.sort(rng.integers(1, len(X), n_parts - 1))
    parts = [part for part in np.split(np.arange(len(X)), cuts) if part.size]
    pool = [Moments.from_arrays(X[part], Y[part], weight[part]) for part in parts]
    while len(pool) > 1:
        a, b = (pool.pop(int(rng.integers(len(pool)))) for _ in range(2))
        pool.append(a + b)
    same(pool[0], Moments.from_arrays(X, Y, weight))


@some
@given(problems(), kernels, modes, forms)
def test_sign_and_scale_of_columns_change_nothing(drawn, kernel, exhausted, form):
    rng, X, Y = drawn
    signed = kernel["kernel"] == "linear" or "coef0" not in kernel
    factors = [10.0 ** rng.integers(-6, 7, A.shape[1]) for A in (X, Y)]
    if signed and kernel["kernel"] != "rbf":
        factors = [f * rng.choice([-1, 1], len(f)) for f in factors]
    parameters = {**form, "exhausted": exhausted, **kernel}
    want = decided(fit(ProjSe(X.shape[1], **parameters), X, Y))
    check(fit(ProjSe(X.shape[1], **parameters), X * factors[0], Y * factors[1]), want, near=1e-6)


@some
@given(problems(), kernels, modes, forms)
def test_selection_follows_a_permutation_of_the_columns(drawn, kernel, exhausted, form):
    rng, X, Y = drawn
    n = X.shape[1]
    parameters = {**form, "exhausted": exhausted, **kernel}
    want = decided(fit(ProjSe(n, **parameters), X, Y))
    order = rng.permutation(n)
    got = fit(ProjSe(n, **parameters), X[:, order], Y)
    assert order[got.selected_].tolist() == want.selected_.tolist()
    np.testing.assert_allclose(got.scores_, want.scores_, rtol=1e-7, atol=1e-12)


@some
@given(problems(), kernels, modes)
def test_the_first_of_tied_copies_is_picked(drawn, kernel, exhausted):
    """So that the picks follow a permutation of the columns, up to copies."""
    rng, X, Y = drawn
    n = X.shape[1]
    names = np.concatenate([np.arange(n), rng.integers(0, n, 3)])
    parameters = {"exhausted": exhausted, **kernel}
    decided(fit(paper_form(n, **parameters), X, Y))
    n_picks = min(n, Y.shape[1])  # one round: afterwards, "restart" may pick copies
    want = fit(paper_form(n_picks, **parameters), X[:, names], Y)
    order = rng.permutation(len(names))
    got = fit(paper_form(n_picks, **parameters), X[:, names[order]], Y)
    assert names[order][got.selected_].tolist() == names[want.selected_].tolist()
    np.testing.assert_allclose(got.scores_, want.scores_, rtol=1e-7, atol=1e-12)
    for selector, labels in ((got, names[order]), (want, names)):
        for j in selector.selected_:
            assert j == np.flatnonzero(labels == labels[j])[0]


def test_mean_distance_knows_what_is_rounding(seed):
    rng = np.random.default_rng([seed, 7])
    X, Y = problem(rng)
    one = paper_form(1, kernel="rbf").fit(X, Y[:, :1])
    copies = paper_form(1, kernel="rbf").fit(X, Y[:, :1] * rng.uniform(0.1, 9, 3))
    check(copies, one)
    # One candidate, one reference, both the same: no distance at all.
    check(fit(paper_form(1, kernel="rbf"), sp.csr_array(X[:, :1]), 3 * X[:, :1]), ([0], [1.0]))
    want = paper_form(4, kernel="rbf", scale=False).fit(X, Y)
    for factor in (1e-10, 1e10):
        check(paper_form(4, kernel="rbf", scale=False).fit(X * factor, Y * factor), want, near=1e-6)


# Structure of a selection


@some
@given(grids(), modes, round_sizes, kernels, st.booleans(), st.booleans())
def test_scores_are_shares_and_fall_within_a_round(
    drawn, exhausted, round_size, kernel, center, one_view
):
    X, Y = drawn
    assume(center or (X.any() and Y.any()))
    selector = paper_form(
        X.shape[1], exhausted=exhausted, round_size=round_size, center=center, **kernel
    )
    got = fit(selector, X, None if one_view else Y)
    assert len(set(got.selected_)) == len(got.selected_)
    assert np.all((got.scores_ >= 0) & (got.scores_ <= 1))
    assert np.all((got.margins_ >= 0) & (got.margins_ <= 1))
    within = np.diff(got.rounds_) == 0
    assert np.all(np.diff(got.scores_)[within] <= 0)
    assert np.all(np.isin(np.diff(got.rounds_), [0, 1]))
    # No pick is rounding: what it explains is more than nothing, and its column is a new one.
    assert kernel["kernel"] == "rbf" or got.scores_.min(initial=1.0) > 1e-24
    picked = (X - X.mean(axis=0) * center)[:, got.selected_]
    assert (np.abs(picked).max(axis=0) > 1e-9).all()
    if kernel["kernel"] == "linear" and exhausted != "restart":
        assert picked.shape[1] == 0 or np.linalg.matrix_rank(picked) == picked.shape[1]


@some
@given(grids(), modes, kernels, st.booleans(), st.booleans())
def test_soft_scores_are_shares_of_new_columns(drawn, exhausted, kernel, center, one_view):
    X, Y = drawn
    assume(center or (X.any() and Y.any()))
    got = fit(
        ProjSe(X.shape[1], exhausted=exhausted, center=center, **kernel), X, None if one_view else Y
    )
    assert len(set(got.selected_)) == len(got.selected_)
    assert np.all((got.scores_ >= 0) & (got.scores_ <= 1))
    assert np.all((got.margins_ >= 0) & (got.margins_ <= 1))
    picked = (X - X.mean(axis=0) * center)[:, got.selected_]
    assert (np.abs(picked).max(axis=0) > 1e-9).all()


@some
@given(grids(), modes, round_sizes, kernels, st.booleans(), forms)
def test_a_longer_run_begins_with_the_shorter(drawn, exhausted, round_size, kernel, one_view, form):
    X, Y = drawn
    parameters = {**form, "exhausted": exhausted, "round_size": round_size, **kernel}
    longest = fit(ProjSe(X.shape[1], **parameters), X, None if one_view else Y)
    for k in range(1, len(longest.selected_) + 1):
        shorter = fit(ProjSe(k, **parameters), X, None if one_view else Y)
        assert shorter.selected_.tolist() == longest.selected_[:k].tolist()
        assert shorter.rounds_.tolist() == longest.rounds_[:k].tolist()
        np.testing.assert_allclose(shorter.scores_, longest.scores_[:k], rtol=1e-9)


@some
@given(problems(), modes, round_sizes, st.booleans())
def test_copies_wait_until_nothing_better_is_left(drawn, exhausted, round_size, one_view):
    rng, X, Y = drawn
    n = X.shape[1]
    names = np.concatenate([np.arange(n), rng.integers(0, n, 4)])
    copies = X[:, names] * rng.choice([-3.0, 0.1, 1.0], len(names))
    selector = paper_form(len(names), exhausted=exhausted, round_size=round_size)
    got = fit(selector, copies, None if one_view else Y)
    picked = names[got.selected_]
    for r in np.unique(got.rounds_):
        in_round = picked[got.rounds_ == r]
        assert len(set(in_round)) == len(in_round)
    if exhausted != "restart":
        assert len(set(picked)) == len(picked)


# Weights


@some
@given(grids(), st.data(), modes, kernels, st.sampled_from([as_is, sp.csr_array]), forms)
def test_weights_are_repetitions_and_zero_is_removal(drawn, data, exhausted, kernel, make, form):
    X, Y = drawn
    parameters = {**form, "exhausted": exhausted, **kernel}
    weight = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(X), max_size=len(X))))
    repeated = np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0)
    assume(all(len(A) > 1 and (A[0] != A).any() for A in repeated))
    want = fit(ProjSe(X.shape[1], **parameters), *repeated)
    gone = weight == 0
    X[gone], Y[gone] = np.nan, np.inf
    got = fit(ProjSe(X.shape[1], **parameters), make(X), make(Y), sample_weight=weight)
    check(got, want, rtol=1e-7)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("exhausted", ["residual", "stop"])  # with and without sums for K_XX
@pytest.mark.parametrize("batch_size", [None, 100])
def test_any_rows_may_weigh_nothing(seed, batch_size, exhausted, form):
    rng = np.random.default_rng(seed)
    X, Y = problem(rng, m=900)
    gone = rng.random(900) < 0.3
    gone[:450] = True
    parameters = {**FORMS[form], "exhausted": exhausted}
    want = fit(ProjSe(8, **parameters), X[~gone], Y[~gone])
    X[gone], Y[gone] = np.nan, np.inf
    selector = ProjSe(8, batch_size=batch_size, **parameters)
    got = fit(selector, X, Y, sample_weight=1.0 - gone)
    check(got, want, near=1e-6)
    same(got.moments_, want.moments_)


# Storage, threads, arithmetic of moments


@some
@given(grids(), modes, round_sizes, kernels, st.booleans(), st.booleans(), forms)
def test_sparse_equals_dense(drawn, exhausted, round_size, kernel, center, one_view, form):
    X, Y = drawn
    assume(center or (X.any() and Y.any()))
    n = X.shape[1]
    parameters = {**form, "exhausted": exhausted, "round_size": round_size, "center": center}
    parameters |= kernel
    want = fit(ProjSe(n, **parameters), X, None if one_view else Y)
    for route in ("csc",) if one_view else ("csc", "csr X", "csr Y"):
        got = ROUTES[route](ProjSe(n, **parameters), X, None if one_view else Y)
        check(got, want, route, rtol=1e-7)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["dense", "weighted", "labels", "one view", "wide", "wide xx"])
def test_threads_do_not_change_a_bit(seed, kind, dtype):
    rng = np.random.default_rng([seed, 1])
    shape = (300, 1500) if kind.startswith("wide") else (4000, 20)
    X, Y = (A.astype(dtype) for A in problem(rng, *shape))
    y = {"labels": np.digitize(Y[:, 0], [-1, 0, 1]), "one view": None}.get(kind, Y)
    weight = rng.uniform(0, 2, len(X)) if kind == "weighted" else None
    moments, picks = [], []
    for n_jobs in (1, 2):
        options = {"n_jobs": n_jobs, "batch_size": 50}
        with_xx = True if kind == "wide xx" else "auto"
        moments.append(Moments.from_arrays(X, y, weight, with_xx=with_xx, **options))
        picks.append(ProjSe(10, **options).fit(X, y, sample_weight=weight))
    for field in ("x_mean", "y_mean", "yy", "yx", "xx_diag", "xx"):
        a, b = (getattr(m, field) for m in moments)
        assert np.array_equal(a, b) if a is not None else b is None, field
    assert np.array_equal(picks[0].selected_, picks[1].selected_)
    assert np.array_equal(picks[0].scores_, picks[1].scores_)


@some
@given(problems(), st.booleans())
def test_taking_rows_out_and_putting_them_back(drawn, labels):
    rng, X, Y = drawn
    y = np.digitize(Y[:, 0], np.quantile(Y[:, 0], [0.3, 0.6])) if labels else Y
    cut = int(rng.integers(2, len(X) - 2))
    whole = Moments.from_arrays(X, y)
    b = Moments.from_arrays(X[cut:], y[cut:])
    same(whole - b + b, whole, rtol=1e-8)
    if not labels or len(np.unique(y[:cut])) == len(np.unique(y)):
        same(whole - b, Moments.from_arrays(X[:cut], y[:cut]), rtol=1e-8)
    want = decided(fit(ProjSe(X.shape[1]), X, y))
    check(ROUTES["moments"](ProjSe(X.shape[1]), X, y), want, near=1e-6)


@some
@given(problems(), modes, kernels, st.sampled_from([as_is, sp.csr_array]), forms)
def test_float32_is_near_float64(drawn, exhausted, kernel, make, form):
    _, X, Y = drawn
    parameters = {**form, "exhausted": exhausted, **kernel}
    n = min(3, X.shape[1])
    want = decided(fit(ProjSe(n, **parameters), X, Y), near=0.01)
    single = make(X.astype(np.float32)), make(Y.astype(np.float32))
    got = fit(ProjSe(n, **parameters), *single)
    check(got, want, near=0.01, rtol=1e-3, atol=1e-4, noise=1e-4)


# Numerics: the picks are those of well-scaled data


def picks_of(X, Y, route="auto", **parameters):
    return ROUTES[route](ProjSe(min(12, X.shape[1]), **parameters), X, Y)


def views(rng):
    """Two views and one, of five references, each mostly one candidate, at different strengths."""
    for _ in range(4):
        X = rng.normal(size=(60, 12)) + 0.5 * rng.normal(size=(60, 1))
        Y = X[:, rng.permutation(12)[:5]] + rng.normal(size=(60, 5)) * [0.2, 0.5, 0.8, 1.2, 1.6]
        yield from [(X, Y), (X, None)]


def transformed(views, change):
    """Pairs of a problem and the same after a change of its columns."""
    for X, Y in views:
        yield (X, Y), (change(X), None if Y is None else change(Y))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.slow
def test_columns_of_any_size(seed, route, center, form):
    rng = np.random.default_rng([seed, 2])
    agreement = Agreement()
    for plain, sized in transformed(
        views(rng), lambda A: A * 10.0 ** rng.choice([-150, 0, 150], A.shape[1])
    ):
        if plain[1] is not None or route in ONE_VIEW:
            parameters = {**FORMS[form], "center": center}
            want = picks_of(*plain, **parameters)
            agreement.check(picks_of(*sized, route, **parameters), want, route)
    agreement.assert_mostly_full(0.75)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.slow
def test_means_far_from_zero(seed, route, form):
    rng = np.random.default_rng([seed, 3])
    agreement = Agreement(near=1e-3, rtol=1e-4, atol=1e-6)
    for far in [(X + 1e9, None if Y is None else Y - 1e9) for X, Y in views(rng)]:
        if far[1] is not None or route in ONE_VIEW:
            near = far[0] - 1e9, None if far[1] is None else far[1] + 1e9  # exact
            want = picks_of(*near, **FORMS[form])
            agreement.check(picks_of(*far, route, **FORMS[form]), want, route)
    agreement.assert_mostly_full(0.5)


@pytest.mark.parametrize("size", [*slow(1.0), 1e25, 1e-25])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.slow
def test_float32_columns_whose_squares_leave_its_range(seed, route, size, form):
    rng = np.random.default_rng([seed, 4])
    agreement = Agreement(near=1e-2, rtol=1e-3, atol=1e-4)
    for mixed in (False, True):
        for plain, sized in transformed(
            views(rng),
            lambda A, m=mixed: np.float32(A * (rng.choice([1, size], A.shape[1]) if m else size)),
        ):
            if plain[1] is not None or route in ONE_VIEW:
                want = picks_of(*plain, **FORMS[form])
                got = picks_of(*sized, route, **FORMS[form])
                agreement.check(got, want, f"{route}, {mixed}")
    agreement.assert_mostly_full(0.3)


@pytest.mark.parametrize("form", [{**FORMS["paper"], "round_size": 1}, {}])
@pytest.mark.parametrize("make", [as_is, sp.csr_array])
@pytest.mark.parametrize("size", [1.0, 1e25, 1e-25])
def test_float32_products_made_on_demand(seed, size, make, form, monkeypatch):
    """Too many candidates to sum all their products: those of the picks are made from the rows."""
    rng = np.random.default_rng([seed, 5])
    X, Y = problem(rng, m=40, n_x=300)
    want = ProjSe(2, **form).fit(X, Y)
    single = make(np.float32(X * size)), np.float32(Y)
    for elements in (1 << 23, 0):
        monkeypatch.setattr(projse.kernels.linear_gram, "COPY_ELEMENTS", elements)
        got = ProjSe(2, **form).fit(*single)
        agreement = Agreement(near=1e-3, rtol=1e-4)
        agreement.check(got, want)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("value", [0.1, 1.0, 1e6 / 3])
def test_sparse_constants_are_constants(seed, value, weighted):
    """A full column of one value, whose mean is rounded, explains nothing and is never picked."""
    rng = np.random.default_rng([seed, 6])
    X, Y = problem(rng, m=2400)
    weight = rng.uniform(0.5, 2, len(X)) if weighted else None
    want = fit(paper_form(10, exhausted="stop"), X, Y, sample_weight=weight)
    X, Y = (np.column_stack([A, np.full(len(A), value)]) for A in (X, Y))
    for make_x in (as_is, sp.csr_array):
        for make_y in (as_is, sp.csr_array):
            selector = paper_form(11, exhausted="stop")
            got = fit(selector, make_x(X), make_y(Y), sample_weight=weight)
            assert got.reference_rank_ == 4
            check(got, want, near=1e-6)
