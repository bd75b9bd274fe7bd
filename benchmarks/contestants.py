"""Every contestant as a function: candidates, outputs and a number in, indices out.

Each peer is called from its own package, the way its documentation says, with the settings that
are fastest or best for the job; where two settings compete, both are in the table. Methods for
one output run once an output, and their answers are merged here, as a user would have to.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Select = Callable[[Array, Array, int], Array]


BASE = "projse, paper"
"""The contestant whose time all others are compared with."""


@dataclass(frozen=True)
class Contestant:
    """A selector: its package, what to call it, its settings in words, and the function."""

    name: str
    package: str
    settings: str
    select: Select


def _projse(**parameters: Any) -> Select:
    def select(X: Array, Y: Array, n: int) -> Array:
        from projse import ProjSe

        return ProjSe(n, **parameters).fit(X, Y).selected_

    return select


def _paper(**parameters: Any) -> Select:
    def select(X: Array, Y: Array, n: int) -> Array:
        from picking import paper_form

        return paper_form(n, **parameters).fit(X, Y).selected_

    return select


def _textbook(X: Array, Y: Array, n: int) -> Array:
    from textbook import textbook_select

    return textbook_select(X, Y, n)


def _fastcan(**parameters: Any) -> Select:
    def select(X: Array, Y: Array, n: int) -> Array:
        from fastcan import FastCan

        return FastCan(n, verbose=0, **parameters).fit(X, Y).indices_

    return select


def _k_best(X: Array, Y: Array, n: int) -> Array:
    from sklearn.feature_selection import SelectKBest, f_regression

    scores = [SelectKBest(f_regression, k=n).fit(X, y).scores_ for y in Y.T]
    return _best_ranked(np.array(scores), n)


def _sequential(n_jobs: int | None) -> Select:
    def select(X: Array, Y: Array, n: int) -> Array:
        from sklearn.feature_selection import SequentialFeatureSelector
        from sklearn.linear_model import LinearRegression

        model = LinearRegression(fit_intercept=False)  # the data is centred
        selector = SequentialFeatureSelector(model, n_features_to_select=n, cv=2, n_jobs=n_jobs)
        return np.flatnonzero(selector.fit(X, Y).get_support())

    return select


def _matching_pursuit(X: Array, Y: Array, n: int) -> Array:
    from sklearn.linear_model import OrthogonalMatchingPursuit

    model = OrthogonalMatchingPursuit(n_nonzero_coefs=n, fit_intercept=False).fit(X, Y)
    return _largest(np.linalg.norm(np.atleast_2d(model.coef_), axis=0), n)


def _multi_task_lasso(X: Array, Y: Array, n: int) -> Array:
    """Search for the penalty that keeps n candidates, warm starts all the way."""
    from sklearn.linear_model import MultiTaskLasso

    largest = np.linalg.norm(X.T @ Y, axis=1).max() / len(X)
    low, high = np.log(largest * 1e-3), np.log(largest)
    X = np.asfortranarray(X)  # the order its solver works in: one copy instead of one a fit
    model = MultiTaskLasso(
        fit_intercept=False, copy_X=False, warm_start=True, tol=1e-3, max_iter=2_000
    )
    best = np.zeros(X.shape[1])
    for _ in range(25):
        middle = (low + high) / 2
        sizes = np.linalg.norm(model.set_params(alpha=np.exp(middle)).fit(X, Y).coef_, axis=0)
        count = np.count_nonzero(sizes)
        if count >= n:
            best, low = sizes.copy(), middle
        else:
            high = middle
        if count == n:
            break
    return _largest(best, n)


def _abess(**parameters: Any) -> Select:
    def select(X: Array, Y: Array, n: int) -> Array:
        from abess.linear import MultiTaskRegression

        model = MultiTaskRegression(support_size=n, thread=0, **parameters).fit(X, Y)
        return np.flatnonzero(np.abs(model.coef_).sum(axis=1))

    return select


def _skmatter(kind: str, **parameters: Any) -> Select:
    def select(X: Array, Y: Array, n: int) -> Array:
        from skmatter import feature_selection

        selector = getattr(feature_selection, kind)(n_to_select=n, **parameters)
        return selector.fit(X, Y).selected_idx_

    return select


def _mrmr_selection(X: Array, Y: Array, n: int) -> Array:
    import pandas as pd
    from mrmr import mrmr_regression

    frame = pd.DataFrame(X)
    scores = np.zeros((Y.shape[1], X.shape[1]))
    for i, y in enumerate(Y.T):
        chosen = mrmr_regression(frame, pd.Series(y), K=n, n_jobs=1, show_progress=False)
        scores[i, [int(j) for j in chosen]] = np.arange(len(chosen), 0, -1)
    return _largest(scores.sum(axis=0), n)


def _feature_engine(X: Array, Y: Array, n: int) -> Array:
    import pandas as pd
    from feature_engine.selection import MRMR

    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    votes = np.zeros(X.shape[1])
    for y in Y.T:
        selector = MRMR(method="FCQ", max_features=n, regression=True).fit(frame, pd.Series(y))
        relevance = np.asarray(selector.relevance_)
        # A vote for each output that keeps it; relevance only decides between equal votes.
        votes += np.asarray(selector.get_support()) * (1 + 1e-3 * relevance / relevance.max())
    return _largest(votes, n)


def _largest(values: Array, n: int) -> Array:
    """Return the indices of the n largest values that are not zero."""
    order = np.argsort(-values, kind="stable")[:n]
    return order[values[order] > 0]


def _best_ranked(scores: Array, n: int) -> Array:
    """Merge rankings, one a row: the n columns with the smallest sum of ranks."""
    ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
    return np.argsort(ranks.sum(axis=0), kind="stable")[:n]


CONTESTANTS = {
    contestant.name: contestant
    for contestant in (
        Contestant("projse", "projse", "defaults", _projse()),
        Contestant(BASE, "projse", "**PAPER", _paper()),
        *(
            Contestant(
                f"{BASE}, round_size={size}",
                "projse",
                f"**PAPER, round_size={size}",
                _paper(round_size=size),
            )
            for size in (1, 5)
        ),
        Contestant("textbook", "this folder", "the paper's figure in numpy", _textbook),
        Contestant("FastCan", "fastcan", "verbose=0", _fastcan()),
        Contestant("FastCan, eta", "fastcan", "verbose=0, eta=True", _fastcan(eta=True)),
        Contestant("SelectKBest", "scikit-learn", "f_regression an output, ranks summed", _k_best),
        Contestant(
            "SequentialFeatureSelector",
            "scikit-learn",
            "LinearRegression, cv=2",
            _sequential(None),
        ),
        Contestant(
            "SequentialFeatureSelector, n_jobs",
            "scikit-learn",
            "LinearRegression, cv=2, n_jobs=-1",
            _sequential(-1),
        ),
        Contestant(
            "OrthogonalMatchingPursuit",
            "scikit-learn",
            "all outputs, largest rows of coefficients",
            _matching_pursuit,
        ),
        Contestant(
            "MultiTaskLasso",
            "scikit-learn",
            "alpha bisected to the number, warm starts",
            _multi_task_lasso,
        ),
        Contestant("abess", "abess", "MultiTaskRegression(support_size=n, thread=0)", _abess()),
        Contestant(
            "abess, covariance",
            "abess",
            "the same, covariance_update=True",
            _abess(covariance_update=True),
        ),
        Contestant("PCovCUR", "skmatter", "mixing=0.5", _skmatter("PCovCUR")),
        Contestant(
            "PCovCUR, mixing=0.1", "skmatter", "mixing=0.1", _skmatter("PCovCUR", mixing=0.1)
        ),
        Contestant("PCovFPS", "skmatter", "mixing=0.5", _skmatter("PCovFPS")),
        Contestant("CUR", "skmatter", "blind to the outputs", _skmatter("CUR")),
        Contestant(
            "mrmr_regression",
            "mrmr-selection",
            "an output at a time, ranks merged",
            _mrmr_selection,
        ),
        Contestant(
            "MRMR", "feature-engine", "FCQ an output at a time, votes summed", _feature_engine
        ),
    )
}


def select(name: str, X: Array, Y: Array, n: int) -> Array:
    """Run a contestant by name; its warnings are its own affair."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(CONTESTANTS[name].select(X, Y, n))
