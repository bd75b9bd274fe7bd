"""Columns at the ends of what floating point holds: far from zero, tiny, or constant."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from paper import paper_form
from planted import PICKS, planted, planted_labels

from projse import Moments, ProjSe, StabilityProjSe, block_moments, subspace_correlation

FORMS = {
    "dense": np.asarray,
    "F order": np.asfortranarray,
    "sparse": sp.csr_array,
    "CSC": sp.csc_array,
}


def far(seed, mean, dtype):
    """Candidates with a mean far beyond their spread, as they are stored, and the same about 0."""
    X, Y = planted(seed)
    X = (X + mean).astype(dtype)
    return X, X.astype("f8") - mean, Y.astype(dtype)


# Stored values are exact


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("options", [{}, {"solver": "qr"}, {"kernel": "poly"}, {"kernel": "fun"}])
@pytest.mark.parametrize(("mean", "dtype"), [(4e6, "f4"), (1e15, "f8")])
def test_a_column_whose_values_differ_is_not_constant(seed, form, options, mean, dtype):
    X, near, Y = far(seed, mean, dtype)
    if options.get("kernel") == "fun":
        if form in ("sparse", "CSC"):
            return
        options = {"kernel": lambda A, B: A.T @ B}
    found = ProjSe(3, **options).fit(FORMS[form](X), Y)
    want = ProjSe(3, **options).fit(near, Y.astype("f8"))
    assert found.selected_.tolist() == want.selected_.tolist()
    np.testing.assert_allclose(found.scores_, want.scores_, atol=5e-3)


@pytest.mark.parametrize(("mean", "dtype"), [(4e6, "f4"), (1e13, "f8")])
def test_so_do_references_labels_batches_and_differences(seed, mean, dtype):
    X, near, Y = far(seed, mean, dtype)
    want = ProjSe(3).fit(near, Y.astype("f8"))
    parts = [
        Moments.from_arrays(X[rows], Y[rows]) for rows in np.split(np.arange(200), [30, 31, 120])
    ]
    extra = Moments.from_arrays(X[50:90] + X.dtype.type(3), Y[50:90])
    for total in (sum(parts), sum(parts) + extra - extra):
        found = ProjSe(3).fit_moments(total)
        assert found.selected_.tolist() == want.selected_.tolist()
        np.testing.assert_allclose(found.scores_, want.scores_, atol=2e-3)
    blocks = block_moments(X, Y, 10, random_state=seed)
    stable = StabilityProjSe(paper_form(1), n_resamples=10, random_state=seed).fit_moments(blocks)
    assert stable.selection_frequencies_[PICKS[0]] == 1.0
    np.testing.assert_allclose(
        subspace_correlation(Y, X), subspace_correlation(Y.astype("f8"), near), atol=1e-3
    )
    X, codes = planted_labels(seed)
    X = (X + mean).astype(dtype)
    found, want = ProjSe(2).fit(X, codes), ProjSe(2).fit(X.astype("f8") - mean, codes)
    assert found.selected_.tolist() == want.selected_.tolist()
    np.testing.assert_allclose(found.scores_, want.scores_, atol=1e-4)


CONSTANTS = [0.1, -1e7 / 3, 1e15 + 1 / 3, 1e140, -1e-300, 5e-324]


@pytest.mark.parametrize("form", [*FORMS, "float32", "bytes", "labels"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_constant_is_exactly_constant_however_it_is_summed(seed, form, weighted):
    X, Y = planted(seed)
    rng = np.random.default_rng(seed)
    X[:, : len(CONSTANTS)] = CONSTANTS
    weight = rng.uniform(0, 3, 200) * (np.arange(200) % 7 > 0) if weighted else None
    if form == "labels":
        Y = rng.integers(0, 3, 200)
    elif form == "float32":
        X = np.clip(X, -1e30, 1e30).astype("f4")
        Y = Y.astype("f4")
    elif form == "bytes":
        X = rng.integers(0, 256, X.shape).astype(np.uint8)
        X[:, : len(CONSTANTS)] = [0, 1, 7, 100, 254, 255]

    def of(rows):
        A = FORMS.get(form, np.asarray)(X[rows])
        return Moments.from_arrays(A, Y[rows], None if weight is None else weight[rows])

    whole = of(np.arange(200))
    first, second, third = (of(rows) for rows in np.split(np.arange(200), [30, 110]))
    for moments in (whole, first + second, first + second + third - second, third + first):
        assert (moments.xx_diag[: len(CONSTANTS)] == 0).all()
        assert (moments.xx_diag[len(CONSTANTS) :] > 0).all()
        assert set(ProjSe(2).fit_moments(moments).selected_.tolist()) == {6, 7}


# Values whose squares vanish


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [1e-160, 1e-200, 1e-305])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"solver": "qr"},
        {"kernel": "rbf"},
        {"center": False},
        {"scale": False},
        {"kernel": "fun"},
    ],
    ids=str,
)
def test_fit_sees_values_whose_squares_vanish(seed, form, size, options):
    if options.get("kernel") == "fun":
        if form in ("sparse", "CSC"):
            return
        options = {"kernel": lambda A, B: A.T @ B}
    X, Y = planted(seed)
    weight = np.random.default_rng(seed).uniform(0, 3, 200)
    want = ProjSe(3, **options).fit(FORMS[form](X), Y, weight)
    some = np.where(np.arange(8) % 2, size, 1.0)
    for x_size, y_size in ((size, 1.0), (1.0, size), (some, size)):
        found = ProjSe(3, **options).fit(FORMS[form](X * x_size), FORMS[form](Y * y_size), weight)
        assert found.selected_.tolist() == want.selected_.tolist()
        np.testing.assert_allclose(found.scores_, want.scores_, atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [1e-160, 1e-200, 1e-305])
def test_moments_do_not_take_vanishing_squares_for_constants(seed, form, size):
    X, Y = planted(seed)
    tiny = pd.DataFrame(X * np.where(np.arange(8) == 2, size, 1.0), columns=list("abcdefgh"))

    def of(rows):
        moments = Moments.from_arrays(FORMS[form](tiny.to_numpy()[rows]), Y[rows])
        moments.feature_names = tuple(tiny.columns)
        return moments

    rows = np.arange(200)
    single = sum(of(rows[i : i + 1]) for i in range(5))
    for moments in (of(rows), of(rows[:50]) + of(rows[50:]), single):
        with pytest.raises(ValueError, match=r"Column 'c' of X is not constant.*multiply"):
            ProjSe(2).fit_moments(moments)
    with pytest.raises(ValueError, match=r"Column 'c' of X is not constant"):
        ProjSe(2, center=False).fit_moments(of(rows))
    with pytest.raises(ValueError, match=r"Column 'c' of X is not constant"):
        StabilityProjSe(ProjSe(2)).fit_moments([of(rows[:50]), of(rows[50:])])
    with pytest.raises(ValueError, match=r"Column 2 of y is not constant"):
        ProjSe(2).fit_moments(Moments.from_arrays(X, Y * [1, 1, size]))
    # Further rows may bring a spread that counts.
    larger = Moments.from_arrays(FORMS[form](X), Y)
    assert len(ProjSe(2).fit_moments(of(rows) + larger).selected_) == 2


def test_kernels_that_see_sizes_refuse_vanishing_squares(seed):
    X, Y = planted(seed)
    with pytest.raises(ValueError, match=r"Column 0 of X is not constant.*multiply"):
        ProjSe(2, kernel="rbf", scale=False).fit(X * 1e-200, Y)
