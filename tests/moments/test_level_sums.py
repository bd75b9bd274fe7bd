"""Levels are counted: the same sums as of dense indicators, in any order of columns."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from projse.moments.in_memory import moments_of
from projse.moments.level_sums import has_levels, split
from projse.sources.rows import Rows
from projse.sources.variables import Column, Variables

ARRAYS = ("x_mean", "xx_diag", "xx", "y_mean", "yy", "yx", "x_min", "x_max", "y_min", "y_max")


def encoded(rng, n, numbers, factors, *, holes=False):
    """Numbers and indicators in any order; with holes, some rows have no level."""
    parts = [rng.normal(size=(n, numbers)) + 5.0]
    columns = [Column(j) for j in range(numbers)]
    for f, k in enumerate(factors):
        codes = rng.integers(0, k, n)
        codes[:k] = np.arange(k)
        indicators = np.eye(k)[codes]
        if holes:
            indicators[rng.random(n) < 0.2] = 0.0
        parts.append(indicators)
        variable = numbers + f
        columns += [Column(variable, "level", str(i)) for i in range(k - 1)]
        columns.append(Column(variable, "gap"))
    order = rng.permutation(len(columns))
    names = tuple(f"v{j}" for j in range(numbers + len(factors)))
    X = np.hstack(parts)[:, order]
    return X, Variables(names, tuple(columns[j] for j in order))


def assert_same(a, b):
    for name in ARRAYS:
        value, want = getattr(a, name), getattr(b, name)
        assert (value is None) == (want is None), name
        if value is not None:
            np.testing.assert_allclose(value, want, rtol=1e-10, atol=1e-10, err_msg=name)
    assert (a.n_samples, a.sum_weights) == (b.n_samples, pytest.approx(b.sum_weights))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("numbers", [0, 3])
@pytest.mark.parametrize("references", ["numbers", "table", "classes", "one view"])
def test_sums_are_those_of_dense_indicators(seed, weighted, holes, numbers, references):
    rng = np.random.default_rng(seed)
    n = 80
    X, x_variables = encoded(rng, n, numbers, (4, 2, 7), holes=holes)
    weight = rng.integers(0, 3, n).astype(float) if weighted else None
    Y, y_variables, classes = None, None, None
    sparse_y = None
    if references == "numbers":
        Y = sparse_y = rng.normal(size=(n, 2)) - 3.0
    elif references == "table":
        Y, y_variables = encoded(rng, n, 1, (3,))
        sparse_y = sp.csr_array(Y)
    elif references == "classes":
        classes = np.array(["a", "b", "c"])
        Y = sparse_y = sp.csr_array(np.eye(3)[rng.integers(0, 3, n)])
    options = {"classes": classes, "x_variables": x_variables, "y_variables": y_variables}
    sparse = Rows(sp.csr_array(X), sparse_y, weight, **options)
    assert has_levels(sparse)
    want = moments_of(Rows(X, Y, weight, **options), with_xx=True)
    assert_same(moments_of(sparse, with_xx=True), want)
    without = moments_of(sparse, with_xx=False)
    assert without.xx is None
    np.testing.assert_allclose(without.xx_diag, want.xx_diag, atol=1e-10)


def test_rows_are_taken_apart_and_none_is_lost(seed):
    rng = np.random.default_rng(seed)
    X, variables = encoded(rng, 50, 2, (3, 5), holes=True)
    parts = split(sp.csr_array(X), variables)
    again = np.zeros_like(X)
    again[:, parts.places] = parts.numbers
    for factor in parts.factors:
        here = factor.codes >= 0
        again[np.flatnonzero(here), factor.columns[factor.codes[here]]] = 1.0
    np.testing.assert_array_equal(again, X)


def test_a_category_of_many_levels_never_lies_dense_in_memory(monkeypatch):
    rng = np.random.default_rng(0)
    n, k = 2000, 900
    columns = tuple(Column(0, "level", str(i)) for i in range(k))
    X = sp.csr_array((np.ones(n), (np.arange(n), rng.integers(0, k, n))), shape=(n, k))
    rows = Rows(X, rng.normal(size=(n, 2)), x_variables=Variables(("f",), columns))

    def dense(self, *args, **kwargs):
        assert self.shape[1] < k, "indicators were made dense"
        return plain(self, *args, **kwargs)

    plain = sp.csr_array.toarray
    monkeypatch.setattr(sp.csr_array, "toarray", dense)
    assert moments_of(rows, with_xx=True).xx.shape == (k, k)
