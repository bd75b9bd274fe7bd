"""What is kept of the picks is that of the rows, on whatever route they were found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression

from projse import PAPER, ProjSe
from projse.search.picked import among_picks


def least_squares(spaces, Y, center=True):
    """R² of regressions on the first 1, 2, … spaces, less that of the one before."""
    r2 = [np.zeros(Y.shape[1])]
    total = np.sum((Y - center * Y.mean(axis=0)) ** 2, axis=0)
    for k in range(1, len(spaces) + 1):
        X = np.hstack(spaces[:k])
        left = Y - LinearRegression(fit_intercept=center).fit(X, Y).predict(X)
        r2.append(1 - np.sum(left**2, axis=0) / total)
    return np.diff(r2, axis=0)


@pytest.mark.parametrize("n_picks", [1, 2, 3])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_what_picks_explain_is_linear_whatever_the_kernel(
    seed, kernel, center, n_picks, monkeypatch
):
    # Rows of products are made as they are asked for.
    monkeypatch.setattr("projse.search.products.CHEAP_PRODUCTS", 0)
    monkeypatch.setattr("projse.search.task.IN_MEMORY", 0.0)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 300)) + rng.normal(size=(60, 1))
    Y = X[:, :3] @ rng.normal(size=(3, 2)) + rng.normal(size=(60, 2))
    X, Y = X + rng.normal(size=300), Y + 0.5  # means count where they are not taken out
    selector = ProjSe(n_picks, kernel=kernel, center=center).fit(X, Y)
    assert selector.moments_.xx is None
    expected = least_squares([X[:, [j]] for j in selector.selected_], Y, center)
    assert_allclose(selector.explained_, expected, atol=1e-8)


def test_rare_levels_of_a_pick_explain_as_one(seed):
    rng = np.random.default_rng(seed)
    # 30 rows each of a, b and c, and 2 each of d, e and f, which count as one level.
    label = rng.permutation(np.repeat(list("abcdef"), [30, 30, 30, 2, 2, 2]))
    number = rng.normal(size=len(label))
    pooled = pd.get_dummies(pd.Series(label).replace(list("ef"), "d")).to_numpy(float)
    Y = pooled @ rng.normal(size=(4, 3)) + number[:, None] + rng.normal(size=(len(label), 3))
    frame = pd.DataFrame({"label": label, "number": number})
    selector = ProjSe(2, include=["label"], min_frequency=5).fit(frame, Y)
    spaces = {"label": pooled, "number": number[:, None]}
    expected = least_squares([spaces[name] for name in selector.selected_names_], Y)
    assert_allclose(selector.explained_, expected, atol=1e-8)


@pytest.mark.parametrize("parameters", [{}, PAPER, {"kernel": "poly"}], ids=str)
def test_stand_ins_of_one_view_are_those_in_any_unit(seed, parameters):
    """Squares of tiny values vanish, so that moments of others are made, which are not kept."""
    rng = np.random.default_rng([seed, 11])
    X = rng.normal(size=(60, 30)) + rng.normal(size=(60, 1))
    models = [ProjSe(2, **parameters).fit(X * unit) for unit in (1.0, 2.0**-700)]
    plain, tiny = (model.stand_ins(2) for model in models)
    assert [one[:2] for one in tiny] == [one[:2] for one in plain]
    assert_allclose([one[2:] for one in tiny], [one[2:] for one in plain], rtol=1e-8)


def test_correlations_of_picks_do_not_depend_on_units(seed):
    rng = np.random.default_rng([seed, 9])
    A = rng.normal(size=(50, 5))
    A[:, 3] += A[:, 0]
    units = np.array([1.0, 1e7, 1e-7, 1e5, 1e-3])
    pick_of = np.array([0, 0, 1, 1, 2])
    plain = among_picks(A.T @ A, pick_of)
    assert_allclose(among_picks((A * units).T @ (A * units), pick_of), plain, atol=1e-8)
    assert_allclose(np.diag(plain), 1.0)
    assert plain[0, 1] > 0.3
