"""Moments: right against numpy, additive, exact in a file, and small in memory."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from agreement import check
from paper import paper_form
from planted import PICKS, planted, planted_labels

import projse.moments.in_memory
from projse import Moments, ProjSe, StabilityProjSe
from projse.exceptions import PrecisionLossWarning

ARRAYS = ("x_mean", "y_mean", "yy", "yx", "xx_diag", "xx")


def textbook(X, Y, weight=None):
    """Moments as their definition has them."""
    weight = np.ones(len(X)) if weight is None else weight
    x_mean, y_mean = (np.average(A, axis=0, weights=weight) for A in (X, Y))
    dx, dy = X - x_mean, Y - y_mean
    xx = (dx.T * weight) @ dx
    products = {"yy": (dy.T * weight) @ dy, "yx": (dy.T * weight) @ dx, "xx": xx}
    return {"x_mean": x_mean, "y_mean": y_mean, "xx_diag": np.diag(xx), **products}


def dense(value):
    return value.toarray() if sp.issparse(value) else value


def assert_close(moments, want, rtol=1e-10):
    """Compare all arrays, relative to the largest entry of each."""
    for name in ARRAYS:
        expected = want[name] if isinstance(want, dict) else getattr(want, name)
        value = getattr(moments, name)
        if value is not None and expected is not None:
            size = np.abs(expected).max()
            np.testing.assert_allclose(
                dense(value), dense(expected), rtol=0, atol=rtol * size, err_msg=name
            )
        else:
            assert value is None, name


def sparse_data(seed):
    X, Y = planted(seed)
    return [np.where(np.abs(A - A.mean(axis=0)) > 0.6, A, 0.0) for A in (X, Y)]


# Against numpy


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("x_form", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("y_form", [np.asarray, sp.csr_array])
def test_moments_are_what_they_say(seed, x_form, y_form, weighted):
    X, Y = sparse_data(seed)
    weight = np.random.default_rng(seed).uniform(0, 3, size=200) * (np.arange(200) % 4 > 0)
    given = weight if weighted else None
    moments = Moments.from_arrays(x_form(X), y_form(Y), given)
    assert_close(moments, textbook(X, Y, given))
    assert moments.n_samples == (150 if weighted else 200)
    assert moments.sum_weights == pytest.approx(weight.sum() if weighted else 200)
    assert (moments.n_x, moments.n_y, moments.one_view) == (8, 3, False)
    for batch_size, n_jobs in ((1, 1), (7, 2), (10_000, 2)):
        again = Moments.from_arrays(
            x_form(X), y_form(Y), given, batch_size=batch_size, n_jobs=n_jobs
        )
        assert_close(again, moments)


def test_labels_one_view_and_float32(seed):
    X, codes = planted_labels(seed)
    assert_close(Moments.from_arrays(X, codes), textbook(X, np.eye(3)[codes]))
    alone = Moments.from_arrays(X)
    assert_close(alone, {**textbook(X, X), "y_mean": None, "yy": None, "yx": None})
    assert (alone.n_y, alone.one_view) == (8, True)
    X, Y = (A.astype("f4") for A in planted(seed))
    single = Moments.from_arrays(X, Y)
    assert_close(single, textbook(X.astype(float), Y.astype(float)), rtol=1e-5)
    assert single.eps == np.finfo("f4").eps
    assert single.yx.dtype == np.float64


def test_a_large_mean_costs_no_digits(seed):
    X, Y = planted(seed)
    X, Y = X + 1e7, Y - 1e7
    for form in (np.asarray, sp.csr_array):
        assert_close(Moments.from_arrays(form(X), Y), textbook(X, Y), rtol=1e-7)


def test_with_xx(seed):
    X, Y = planted(seed)
    assert Moments.from_arrays(X, Y).xx is not None
    assert Moments.from_arrays(X, Y, with_xx=False).xx is None
    assert Moments.from_arrays(np.tile(X, 80), Y).xx is None
    assert Moments.from_arrays(np.tile(X, 80), Y, with_xx=True).xx.shape == (640, 640)
    for options in ({"with_xx": "maybe"}, {"batch_size": 0}, {"n_jobs": "all"}):
        name, value = next(iter(options.items()))
        with pytest.raises((ValueError, TypeError), match=f"{name}={value!r}"):
            Moments.from_arrays(X, Y, **options)


# Sums and differences


@pytest.fixture(params=["dense", "sparse", "sparse yx", "one view", "weights", "labels"])
def parts(request, seed, monkeypatch):
    """Moments of four parts of some rows, and of all of them."""
    X, Y = sparse_data(seed)
    kind, weight = request.param, None
    if kind == "sparse yx":
        monkeypatch.setattr(projse.moments.in_memory, "SPARSE_YX_ELEMENTS", 0)
    if kind.startswith("sparse"):
        X, Y = sp.csr_array(X), sp.csr_array(Y)
    elif kind == "labels":
        Y = np.sort(np.random.default_rng(seed).integers(0, 6, size=200)).astype(str)
    elif kind == "weights":
        weight = np.random.default_rng(seed).uniform(0.1, 3, size=200)

    def of(rows):
        y = None if kind == "one view" else Y[rows]
        return Moments.from_arrays(X[rows], y, None if weight is None else weight[rows])

    cuts = [slice(0, 1), slice(1, 90), slice(90, 120), slice(120, 200)]
    whole = of(slice(0, 200))
    assert sp.issparse(whole.yx) == (kind == "sparse yx")
    return [of(rows) for rows in cuts], whole


def test_moments_add_in_any_order_and_grouping(parts, seed):
    (a, b, c, d), whole = parts
    order = np.random.default_rng(seed).permutation(4)
    for total in (a + b + c + d, (a + b) + (c + d), d + (c + (b + a)), sum([a, b, c, d])):
        assert_close(total, whole)
        assert total.n_samples == 200
        assert total.sum_weights == pytest.approx(whole.sum_weights)
        assert total.target_names == whole.target_names
    assert_close(sum([parts[0][i] for i in order[1:]], parts[0][order[0]]), whole)


def test_what_was_added_can_be_taken_out(parts):
    (a, b, c, d), whole = parts
    if whole.classes is not None:  # classes that are gone stay as empty columns
        rest = whole - (c + d)
        assert rest.n_samples == 90
        np.testing.assert_allclose(rest.xx, (a + b).xx, atol=1e-9 * np.abs(whole.xx).max())
        return
    assert_close(whole - d, a + b + c, rtol=1e-9)
    assert_close(whole - d - b, a + c, rtol=1e-9)
    assert_close((whole - d) + d, whole, rtol=1e-9)
    empty = whole - whole
    assert (empty.n_samples, empty.sum_weights) == (0, 0.0)
    assert_close(empty + d, d, rtol=1e-9)


def test_update_is_in_place_and_sums_leave_their_terms_alone(seed):
    X, Y = planted(seed)
    first, second = Moments.from_arrays(X[:90], Y[:90]), Moments.from_arrays(X[90:], Y[90:])
    before = pickle.dumps((first, second))
    _ = first + second, first - first, sum([first, second])
    assert pickle.dumps((first, second)) == before
    assert first.update(X[90:], Y[90:]) is first
    assert_close(first, textbook(X, Y))
    fitted = ProjSe(3).fit_moments(first)
    first.update(X, Y)
    assert fitted.moments_.n_samples == 200, "an estimator keeps the moments it was fitted on"


def test_class_labels_may_grow(seed):
    X, codes = planted_labels(seed)
    words = np.array(["m", "a", "z"])[codes]
    order = np.argsort(words, kind="stable")
    X, words = X[order], words[order]
    whole = Moments.from_arrays(X, words)
    cut = np.searchsorted(words, "m")
    total = Moments.from_arrays(X[:cut], words[:cut])
    assert total.classes.tolist() == ["a"]
    total.update(X[cut:], words[cut:])
    assert total.classes.tolist() == ["a", "m", "z"]
    assert total.target_names == ("a", "m", "z")
    assert_close(total, whole)


NAMED = list("abcdefgh")


def test_names_travel_and_must_agree(seed, tmp_path):
    X, Y = planted(seed)
    table, outputs = pd.DataFrame(X, columns=NAMED), pd.DataFrame(Y, columns=list("uvw"))
    named, plain = Moments.from_arrays(table, outputs), Moments.from_arrays(X, Y)
    for total in (named + plain, plain + named, named - plain):
        assert total.feature_names == tuple(NAMED)
        assert total.target_names == ("u", "v", "w")
    selector = ProjSe(3).fit_moments(named)
    assert selector.get_feature_names_out().tolist() == [NAMED[j] for j in sorted(PICKS)]
    labels, numbers = Moments.from_arrays(X, ["a", "b"] * 100), Moments.from_arrays(X, [1, 2] * 100)
    for other, message in (
        (Moments.from_arrays(table.rename(columns={"c": "x"}), outputs), "'c' and 'x'"),
        (Moments.from_arrays(table, outputs[["u", "w", "v"]]), "different references"),
        (Moments.from_arrays(X[:, :4], Y), "8 and of 4 candidates"),
        (Moments.from_arrays(X, Y[:, :2]), "3 and of 2 references"),
        (Moments.from_arrays(X), "one view"),
        (labels, "class labels"),
    ):
        with pytest.raises(ValueError, match=message):
            named + other
    with pytest.raises(ValueError, match="different kinds"):
        labels + numbers
    with pytest.raises(TypeError):
        named + 1


def test_what_was_never_added_cannot_be_taken_out(seed):
    X, Y = planted(seed)
    half, words = Moments.from_arrays(X[:100], Y[:100]), np.repeat(["a", "b"], 50)
    for never in (
        Moments.from_arrays(X, Y),
        Moments.from_arrays(X[:50], Y[:50], np.full(50, 9.0)),
        Moments.from_arrays(100 * X[:50], Y[:50]),
        Moments.from_arrays(X[:50], 100 * Y[:50]),
        Moments.from_arrays(0.5 * X[:100], Y[:100]),
    ):
        with pytest.raises(ValueError, match="never added"):
            half - never
    with pytest.raises(ValueError, match="never added"):
        Moments.from_arrays(X[:100], words) - Moments.from_arrays(X[:10], ["z"] * 10)


@pytest.mark.filterwarnings("ignore::projse.exceptions.PrecisionLossWarning")
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda A: A.astype("f4")])
@pytest.mark.parametrize("weighted", [False, True])
def test_rounding_never_stops_a_sliding_window(seed, form, weighted):
    X, Y = planted(seed)
    rng = np.random.default_rng(seed)
    X[:, 0], X[:, 1] = 0.1, 1e8 / 3
    X[:, 3] = 1e5 + 1e-3 * X[:, 3]
    X[60:, 4] = 0.0
    X[:, 6] = 1e7 * (rng.random(200) < 0.03)
    weight = rng.uniform(0.1, 3, size=200) if weighted else np.ones(200)
    parts = [
        Moments.from_arrays(form(X[rows]), Y[rows], weight[rows])
        for rows in np.split(np.arange(200), [30, 60, 90, 150])
    ]
    window = sum(parts)
    for k, part in enumerate(parts, start=1):
        window = window - part
        want = sum(parts[k:]) if k < len(parts) else window
        assert window.n_samples == want.n_samples
        assert (window.xx_diag >= 0).all()
        np.testing.assert_allclose(window.xx_diag[[2, 5]], want.xx_diag[[2, 5]], rtol=1e-3)
        assert ((window + part) - part).n_samples == want.n_samples


def huge(seed, size):
    X, Y = planted(seed)
    X[:, 6] = size * (1 + 1e-12 * X[:, 6])
    Y[:, 1] = size * (1 + 1e-12 * Y[:, 1])
    return pd.DataFrame(X, columns=NAMED), pd.DataFrame(Y, columns=list("uvw"))


@pytest.mark.parametrize("how", ["add", "update", "partial_fit", "blocks", "sum"])
@pytest.mark.parametrize("view", ["x", "y"])
def test_sums_that_overflow_are_refused_by_column(seed, how, view):
    (X, Y), (up, up_y), (down, down_y) = (huge(seed, size) for size in (1.0, 1e160, -1e160))
    pairs = ((up, Y), (down, Y)) if view == "x" else ((X, up_y), (X, down_y))
    name = "Column 'g' of X" if view == "x" else "Column 'v' of y"
    first, second = (Moments.from_arrays(A, B) for A, B in pairs)
    calls = {
        "add": lambda: first + second,
        "sum": lambda: sum([first, second]),
        "update": lambda: first.update(*pairs[1]),
        "partial_fit": lambda: ProjSe(2).partial_fit(*pairs[0]).partial_fit(*pairs[1]),
        "blocks": lambda: StabilityProjSe(ProjSe(2)).fit_moments([first, second]),
    }
    with pytest.raises(ValueError, match=f"{name} .*overflow.*divide"):
        calls[how]()


def test_means_whose_squares_overflow_are_refused_where_they_count(seed):
    X, Y = planted(seed)
    X[:, 6] = 1e200
    assert 6 not in ProjSe(2).fit(X, Y).selected_
    with pytest.raises(ValueError, match=r"Column 6 of X .*overflow"):
        ProjSe(2, center=False).fit(X, Y)


def test_weights_whose_sum_overflows_are_refused(seed):
    X, Y = planted(seed)
    heavy = [Moments.from_arrays(X / 100, Y / 100, np.full(200, 4e305)) for _ in range(3)]
    with pytest.raises(ValueError, match="sample_weight overflows"):
        sum(heavy)


def test_rows_that_no_difference_can_leave_were_never_added(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(230, 150)), rng.normal(size=(230, 2))
    # Every pair of columns could be so, but not all of them together.
    with pytest.raises(ValueError, match=r"semi-definite.*never added"):
        Moments.from_arrays(X[:200], Y[:200]) - Moments.from_arrays(X[200:], Y[200:])
    # Each column alone could be so, but not the two together.
    same, opposite = X[:, [0, 0]], X[:, [0, 0]] * [1, -1]
    whole = Moments.from_arrays(same, Y)
    with pytest.raises(ValueError, match=r"squares allow.*never added"):
        whole - Moments.from_arrays(opposite[:50], Y[:50])
    assert (whole - Moments.from_arrays(same[:50], Y[:50])).n_samples == 180
    with pytest.raises(ValueError, match=r"1 rows would be left.*never added"):
        whole - Moments.from_arrays(same[1:] / 2, Y[1:])
    assert (whole - Moments.from_arrays(same[1:], Y[1:])).n_samples == 1


@pytest.mark.parametrize("with_xx", [True, False])
def test_columns_that_a_difference_leaves_to_rounding_are_named(seed, with_xx):
    X, Y = planted(seed)
    X[:100, 3] *= 1e12
    Y[:100, 1] *= 1e12
    table, outputs = pd.DataFrame(X, columns=NAMED), pd.DataFrame(Y, columns=list("uvw"))
    whole, large, small = (
        Moments.from_arrays(table[rows], outputs[rows], with_xx=with_xx)
        for rows in (slice(None), slice(100), slice(100, None))
    )
    with pytest.warns(PrecisionLossWarning, match="candidate 'd', reference 'v'") as caught:
        rest = whole - large
    assert [warning.filename for warning in caught] == [__file__]
    assert 3 not in paper_form(2).fit_moments(rest).selected_
    assert (whole - small).n_samples == 100
    some = Moments.from_arrays(table[100:110], outputs[100:110], with_xx=with_xx)
    assert (rest - some).n_samples == 90, "no second warning for the same columns"


# Streams


@pytest.mark.parametrize("options", [{}, {"kernel": "rbf"}, {"center": False}, {"include": [1]}])
def test_partial_fit_equals_fit(seed, options):
    X, Y = planted(seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2, size=200)
    stream = ProjSe(5, **options)
    for start in (0, 1, 2, 30, 150):
        rows = slice(start, {0: 1, 1: 2, 2: 30, 30: 150, 150: 200}[start])
        stream.partial_fit(X[rows], Y[rows], weight[rows])
    check(stream, ProjSe(5, **options).fit(X, Y, weight))
    assert stream.moments_.n_samples == 200
    check(stream.fit(X[:80], Y[:80]), ProjSe(5, **options).fit(X[:80], Y[:80]))
    assert stream.moments_.n_samples == 80
    stream.partial_fit(X[80:], Y[80:])
    check(stream, ProjSe(5, **options).fit(X, Y))


def test_partial_fit_with_growing_classes_and_one_view(seed):
    X, codes = planted_labels(seed)
    order = np.argsort(codes, kind="stable")
    X, words = X[order], np.array(["x", "y", "z"])[codes[order]]
    stream, alone = ProjSe(4), ProjSe(4)
    for rows in (slice(0, 40), slice(40, 200)):
        stream.partial_fit(X[rows], words[rows])
        alone.partial_fit(X[rows])
    check(stream, ProjSe(4).fit(X, words))
    check(alone, ProjSe(4).fit(X))


# Memory


@pytest.mark.slow
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("labels", [False, True])
def test_a_pass_over_many_rows_needs_little_memory(order, labels):
    X = np.asarray(np.random.default_rng(0).normal(size=(400_000, 60)), order=order)
    Y = np.repeat([0, 1, 2, 3], 100_000) if labels else X[:, :5]
    tracemalloc.start()
    try:
        Moments.from_arrays(X, Y, n_jobs=2)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_rows_that_all_weigh_nothing_add_nothing(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    before = Moments.from_arrays(X[:20], Y[:20])
    after = Moments.from_arrays(X[:20], Y[:20]).update(X[20:], Y[20:], sample_weight=np.zeros(10))
    assert after.n_samples == 20
    np.testing.assert_array_equal(after.yx, before.yx)
    for options in ({}, {"missing": "indicator"}):
        selector = ProjSe(2, **options).partial_fit(X[:20], Y[:20])
        selector.partial_fit(X[20:], Y[20:], sample_weight=np.zeros(10))
        assert selector.moments_.n_samples == 20
        with pytest.raises(ValueError, match="4 features"):
            selector.partial_fit(X[20:, 1:], Y[20:], sample_weight=np.zeros(10))
        with pytest.raises(ValueError, match="all of sample_weight is 0"):
            ProjSe(2, **options).partial_fit(X, Y, sample_weight=np.zeros(30))
