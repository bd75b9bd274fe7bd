"""Where the data cannot carry the answer, a fit says so; where they can, it is quiet."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from planted import planted

from projse import PAPER, Moments, ProjSe, ProjSeCV, TwoViewProjSe
from projse.exceptions import UnreliableSelectionWarning

AUTO = {"alpha": "auto", "redundancy": "auto", "round_size": "auto"}


def many_outputs(seed, m=60, n_y=100, n_x=200):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n_x))
    return X, X[:, :5] @ rng.normal(size=(5, n_y)) + rng.normal(size=(m, n_y))


def said(fit):
    """Return the doubts that a fit warns of."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        fit()
    return [str(w.message) for w in seen if issubclass(w.category, UnreliableSelectionWarning)]


def by_rows(selector, X, Y):
    return selector.fit(X, Y)


def by_moments(selector, X, Y):
    return selector.fit_moments(Moments.from_arrays(X, Y))


@pytest.mark.parametrize("fit", [by_rows, by_moments])
@pytest.mark.parametrize("more", [{}, {"round_size": 1}, {"center": False}])
def test_outputs_that_fill_the_rows_are_said(seed, fit, more):
    X, Y = many_outputs(seed)
    (text,) = said(lambda: fit(ProjSe(3, **PAPER | more), X, Y))
    rank = 60 if "center" in more else 59
    assert re.match(rf"y has rank {rank} in 60 rows.*alpha=.*rank=", text)
    assert "\n" not in text


def test_covariates_take_room_that_outputs_then_fill(seed):
    X, Y = many_outputs(seed, m=40, n_y=36)
    fine, ages = ProjSe(3, **PAPER), np.random.default_rng([seed, 1]).normal(size=(40, 3))
    assert not said(lambda: fine.fit(X, Y))
    assert len(said(lambda: fine.fit(X, Y, covariates=ages))) == 1


@pytest.mark.parametrize("options", [AUTO, PAPER | {"alpha": 0.1}, PAPER | {"rank": 5}])
def test_a_ridge_or_a_rank_leaves_nothing_to_doubt(seed, options):
    X, Y = many_outputs(seed)
    assert not said(lambda: ProjSe(3, **options).fit(X, Y))
    assert not said(lambda: ProjSe(3, **options).fit_moments(Moments.from_arrays(X, Y)))


def test_fewer_outputs_than_rows_leave_nothing_to_doubt(seed):
    X, Y = planted(seed)
    for selector in (ProjSe(3, **PAPER), ProjSe(3, **AUTO), ProjSe("auto", **AUTO)):
        assert not said(lambda selector=selector: selector.fit(X, Y))
    assert not said(lambda: TwoViewProjSe(3, **PAPER).fit(X, Y))


def test_one_view_without_a_ridge_says_that_its_first_pick_is_by_column_order(seed):
    X, _ = planted(seed)
    (text,) = said(lambda: ProjSe(3, **PAPER).fit(X))
    assert re.match(r"All first scores are equal: in one view with alpha=0.*include", text)
    assert not said(lambda: ProjSe(3, **PAPER | {"alpha": 0.1}).fit(X))
    assert not said(lambda: ProjSe(3, **AUTO).fit(X))


@pytest.mark.parametrize("options", [PAPER, AUTO])
def test_first_scores_that_are_all_equal_are_said(seed, options):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(80, 1))
    X, Y = x * rng.uniform(1, 2, size=5), x + rng.normal(size=(80, 2))
    (text,) = said(lambda: ProjSe(1, **options).fit(X, Y))
    assert text.startswith("All first scores are equal: the data do not tell")
    X = np.hstack([X, rng.normal(size=(80, 1))])
    assert not said(lambda: ProjSe(1, **options).fit(X, Y)), "one of them differs"
    # What is excluded tells nothing, nor does what is included.
    assert said(lambda: ProjSe(1, **options, exclude=[5]).fit(X, Y))
    assert said(lambda: ProjSe(2, **options, include=[5]).fit(X, Y))


@pytest.mark.parametrize("options", [PAPER, AUTO])
def test_only_the_first_free_pick_can_be_doubted_for_a_tie(seed, options):
    rng = np.random.default_rng([seed, 2])
    first, x = rng.normal(size=(2, 80, 1))
    X = np.hstack([first, x * rng.uniform(1, 2, size=5)])
    Y = np.hstack([first, x + 0.5 * rng.normal(size=(80, 1))])
    fitted = ProjSe(2, **options)
    assert not said(lambda: fitted.fit(X, Y))
    assert fitted.selected_.tolist() == [0, 1]
    assert not said(lambda: ProjSe(1, include=[2], **options).fit(X[:, 1:], Y)), "none is free"


def test_too_few_rows_for_more_pvalues_are_said(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 30))
    Y = X[:, :8] @ rng.normal(size=(8, 10)) + 1e-6 * rng.normal(size=(12, 10))
    any_level = 1 - 1e-9  # of so few rows, the first p-value may be large
    selector = ProjSe("auto", significance=any_level, **PAPER | {"round_size": 1})
    texts = said(lambda: selector.fit(X, Y))
    assert any(re.match(r"n_features_to_select='auto' ended after \d+ picks?\b", t) for t in texts)


def test_pvalues_that_are_not_there_at_all_are_refused(seed):
    X, Y = many_outputs(seed)
    for options in (PAPER, AUTO):
        with pytest.raises(ValueError, match="more rows than the references have dimensions"):
            ProjSe("auto", **options).fit(X, Y)


def test_inner_fits_and_batches_are_quiet(seed):
    X, Y = many_outputs(seed, m=40, n_y=36)
    assert said(lambda: ProjSe(3, **PAPER).fit(X[:30], Y[:30]))
    cross_validated = ProjSeCV(ProjSe(**PAPER), n_features=3, cv=4)
    assert not said(lambda: cross_validated.fit(X, Y)), "a fold holds 30 rows"
    assert not said(lambda: ProjSe(3, **PAPER).partial_fit(X[:30], Y[:30]))


def test_doubts_point_at_the_line_of_the_caller(seed):
    X, Y = many_outputs(seed)
    with pytest.warns(UnreliableSelectionWarning) as seen:
        ProjSe(3, **PAPER).fit(X, Y)
    assert seen[0].filename == __file__
