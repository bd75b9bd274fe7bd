"""Rows that look ordered are said to; rows in random order are not."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import KFold

from projse import Moments, ProjSe, ProjSeCV
from projse.estimators.ordered_rows import between_folds_pvalue
from projse.estimators.tuning_grid import AUTO
from projse.exceptions import OrderedRowsWarning


def related(seed, m=100, n_x=12):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n_x))
    return X, X[:, :2] @ rng.normal(size=(2, 3)) * 3 + rng.normal(size=(m, 3))


def model(**parameters):
    return ProjSeCV(ProjSe(**AUTO), n_features=2, param_grid=None, **parameters)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("by", ["y", "X", "time"])
def test_ordered_rows_are_said_to_be_ordered(seed, by, wide, monkeypatch):
    if wide:
        monkeypatch.setattr("projse.estimators.cross_validation.FOLD_BYTES", 0)
    X, Y = related(seed)
    if by == "y":
        order = np.argsort(Y[:, 0])
        X, Y = X[order], Y[order]
    elif by == "X":
        X = X + np.repeat([0.0, 2.0], 50)[:, None]  # two sites, whose Y are alike
    else:
        X[:, 2:] += np.cumsum(np.random.default_rng(seed).normal(size=(100, 10)), axis=0)
    said = "means of X" if by != "y" else "means of y"
    with pytest.warns(OrderedRowsWarning, match=rf"{said}.*shuffle=True.*TimeSeriesSplit") as found:
        model().fit(X, Y)
    assert len(found) == 1
    assert found[0].filename == __file__, "the warning points at the user's line"


@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingPredictsWarning")
def test_folds_of_ones_own_are_meant_so(seed):
    X, Y = related(seed)
    order = np.argsort(Y[:, 0])
    X, Y = X[order], Y[order]
    model(cv=KFold(5, shuffle=True, random_state=0)).fit(X, Y)
    model(cv=list(KFold(2).split(X))).fit(X, Y)
    days = [
        Moments.from_arrays(X[i : i + 25], Y[i : i + 25], with_xx=True) for i in (0, 25, 50, 75)
    ]
    model().fit_moments(days)


@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingPredictsWarning")
def test_labels_in_order_are_spread_over_the_folds(seed):
    X, Y = related(seed)
    labels = np.digitize(Y[:, 0], [-1.0, 1.0])
    order = np.argsort(labels, kind="stable")
    model().fit(X[order], labels[order])


def pvalues(draw, n_data=400, folds=5):
    """P-values of data sets in random order, from folds of consecutive rows."""
    out = []
    for i in range(n_data):
        A, w = draw(i)
        total = np.average(A, axis=0, weights=w)
        parts = np.array_split(np.arange(len(A)), folds)
        means = np.stack([np.average(A[p], axis=0, weights=w[p]) for p in parts]) - total
        C = (A - total).T @ ((A - total) * w[:, None])
        n_rows = w.sum() ** 2 / (w**2).sum()
        out.append(between_folds_pvalue(means, np.array([w[p].sum() for p in parts]), C, n_rows))
    return np.array(out)


def normal(rng):
    return rng.normal(size=(50, 1)), np.ones(50)


def correlated(rng):
    return rng.normal(size=(50, 2)) @ rng.normal(size=(2, 30)), np.ones(50)


def heavy(rng):
    return rng.standard_t(2, size=(60, 20)), np.ones(60)


def rare(rng):
    return (rng.random(size=(100, 40)) < 0.03).astype(float), np.ones(100)


def weighted(rng):
    return rng.normal(size=(60, 5)), rng.integers(1, 6, 60).astype(float)


@pytest.mark.parametrize("kind", [normal, correlated, heavy, rare, weighted])
def test_rows_in_random_order_are_called_ordered_as_rarely_as_promised(seed, kind):
    rng = np.random.default_rng(seed)
    found = pvalues(lambda i: kind(rng))
    assert (found < 0.05).mean() < 0.1
    assert (found < 1e-4).sum() <= 1
    if kind is normal:
        assert 0.4 < found.mean() < 0.6, "exact"


def test_constant_columns_and_folds_of_one_row_say_nothing():
    C = np.zeros((2, 2))
    assert between_folds_pvalue(np.zeros((3, 2)), np.ones(3), C, 30) == 1.0
    assert between_folds_pvalue(np.ones((3, 2)), np.ones(3), np.eye(2), 3) == 1.0
    apart = np.array([[-1.0], [1.0]])
    assert between_folds_pvalue(apart, np.full(2, 5.0), np.array([[10.0]]), 10) == 0.0


@pytest.mark.parametrize("weight", [1e-300, 1e-200])
def test_weights_of_any_size_say_as_much_about_the_order(seed, weight):
    X, Y = related(seed)
    model().fit(X, Y, sample_weight=np.full(len(X), weight))
    order = X[:, 0].argsort()
    with pytest.warns(OrderedRowsWarning):
        model().fit(X[order], Y[order], sample_weight=np.full(len(X), weight))
