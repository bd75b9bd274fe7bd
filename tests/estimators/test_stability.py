"""StabilityProjSe: resamples as sums of blocks, or drawn row by row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from marks import arbitrary_picks
from numpy.testing import assert_allclose, assert_array_equal
from planted import PICKS, planted, planted_labels
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from projse import PAPER, Moments, ProjSe, StabilityProjSe
from projse.exceptions import (
    NothingSelectedWarning,
    RankExhaustedWarning,
    UnreliableSelectionWarning,
)
from projse.metrics import nogueira_stability, pearson_stability, stability_interval
from projse.moments.resample import deal, draw_counts
from projse.search.rounds import Selection

AUTO = {"alpha": "auto", "redundancy": "auto", "round_size": "auto"}


def no_repetitions(estimator):
    why = "a row of weight 2 is drawn or left out as one; two equal rows are drawn apart"
    kinds = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in kinds}


@arbitrary_picks  # two columns tie as one view
@parametrize_with_checks(
    [StabilityProjSe(ProjSe(1), n_resamples=3, random_state=0, threshold=0.3)],
    expected_failed_checks=no_repetitions,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def stable(n=3, **parameters):
    parameters = {"n_resamples": 30, "random_state": 0} | parameters
    return StabilityProjSe(ProjSe(n), **parameters)


@pytest.mark.parametrize("blocks", [None, 20])
@pytest.mark.parametrize("bootstrap", [False, True])
def test_finds_planted_variables(seed, blocks, bootstrap):
    X, Y = planted(seed, n_samples=400, n_features=30)
    model = stable(blocks=blocks, bootstrap=bootstrap, threshold=0.8).fit(X, Y)
    assert set(model.selected_) == set(PICKS)
    assert model.support_.sum() == 3
    assert_array_equal(np.flatnonzero(model.get_support()), sorted(PICKS))
    assert model.transform(X).shape == (400, 3)
    assert 0.5 < model.stability_ <= 1
    low, high = model.stability_interval_
    assert low <= model.stability_ <= high
    assert model.selections_.shape == (30, 3)
    assert model.stability_path_.shape == (3,)


def test_numbers_are_those_of_the_selections(seed):
    X, Y = planted(seed, n_samples=150, n_features=12)
    model = stable(4, blocks=15, subsample=0.3).fit(X, Y)
    Z = np.zeros((30, 12), dtype=bool)
    for row, picks in zip(Z, model.selections_, strict=True):
        row[picks] = True
    assert_allclose(model.selection_frequencies_, Z.mean(axis=0))
    assert_allclose(model.stability_, nogueira_stability(Z))
    assert_allclose(model.stability_interval_, stability_interval(Z, 0.95))
    assert_allclose(model.relevance_stability_, pearson_stability(model.relevances_))
    assert_array_equal(model.relevances_ > 0, Z)
    assert_allclose(model.stability_path_[-1], model.stability_)
    Z[:] = False
    Z[np.arange(30), model.selections_[:, 0]] = True
    assert_allclose(model.stability_path_[0], nogueira_stability(Z))
    assert_allclose(model.expected_false_, 4**2 / (0.2 * 12))
    assert stable(blocks=15, threshold=0.5).fit(X, Y).expected_false_ == np.inf
    frequencies = model.selection_frequencies_[model.selected_]
    assert np.all(np.diff(frequencies) <= 0)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("classes", [False, True])
def test_blocks_equal_fits_of_their_rows(seed, kernel, classes):
    X, Y = planted_labels(seed, 120) if classes else planted(seed, 120)
    selector = ProjSe(2, kernel=kernel)
    model = StabilityProjSe(selector, 12, 0.4, random_state=5, blocks=10).fit(X, Y)
    rng = np.random.default_rng(5)
    blocks = deal(120, 10, rng, Y if classes else None, None)
    counts = draw_counts(10, 4, 12, rng, bootstrap=False)
    for row, picks, relevance in zip(counts, model.selections_, model.relevances_, strict=True):
        rows = np.concatenate([b for b, c in zip(blocks, row, strict=True) if c])
        direct = clone(selector).fit(X[rows], Y[rows])
        if (direct.margins_ > 1e-8).all():
            assert_array_equal(picks, direct.selected_)
        assert_allclose(relevance[picks], direct.scores_, rtol=1e-7)


def test_rows_drawn_one_by_one_equal_fits_of_them(seed):
    X, Y = planted(seed, n_samples=80)
    frame = pd.DataFrame(X, columns=[f"v{j}" for j in range(8)])
    selector = ProjSe(3, include=["v1"], exclude=["v5"])
    model = StabilityProjSe(selector, 10, 0.5, random_state=1, blocks=None).fit(frame, Y)
    assert np.all(model.selections_[:, 0] == 1)
    assert model.selection_frequencies_[5] == 0
    assert "v1" in model.get_feature_names_out()
    rng = np.random.default_rng(1)
    first = np.sort(rng.choice(np.arange(80), 40, replace=False))
    direct = ProjSe(3, include=[1], exclude=[5]).fit(X[first], Y[first])
    assert_array_equal(model.selections_[0], direct.selected_)


def test_deterministic_whatever_the_threads(seed):
    X, Y = planted(seed, n_samples=3000, n_features=20)
    for blocks in (None, "auto"):
        one = stable(blocks=blocks, n_jobs=1, n_resamples=8).fit(X, Y)
        two = stable(blocks=blocks, n_jobs=2, n_resamples=8).fit(X, Y)
        assert_array_equal(one.selections_, two.selections_)
        assert_array_equal(one.relevances_, two.relevances_)
    other = stable(random_state=1, n_resamples=8).fit(X, Y)
    assert not np.array_equal(one.relevances_, other.relevances_)


def test_auto_blocks_go_by_the_number_of_rows(seed, monkeypatch):
    X, Y = planted(seed, n_samples=2100, n_features=10)

    def refuse(*args, **kwargs):
        raise AssertionError("fitted from rows")

    stable(n_resamples=3).fit(X[:500], Y[:500])
    monkeypatch.setattr("projse.search.task.Task.on_rows", refuse)
    stable(n_resamples=3).fit(X, Y)
    with pytest.raises(AssertionError, match="fitted from rows"):
        stable(n_resamples=3).fit(X[:500], Y[:500])


def test_from_saved_moments_of_days(seed, tmp_path):
    X, Y = planted(seed, n_samples=300, n_features=15)
    paths = []
    for day in range(10):
        part = slice(30 * day, 30 * day + 30)
        paths.append(tmp_path / f"{day}.moments")
        Moments.from_arrays(X[part], Y[part]).save(paths[-1])
    model = stable().fit_moments(paths)
    loaded = stable().fit_moments([Moments.load(path) for path in paths])
    assert_array_equal(model.selections_, loaded.selections_)
    assert set(model.selected_) == set(PICKS)
    assert model.n_features_in_ == 15
    counts = draw_counts(10, 5, 30, np.random.default_rng(0), bootstrap=False)
    rows = np.flatnonzero(np.repeat(counts[0], 30))
    assert_array_equal(model.selections_[0], ProjSe(3).fit(X[rows], Y[rows]).selected_)


def test_groups_stay_together(seed):
    rng = np.random.default_rng(seed)
    X, Y = planted(seed, n_samples=200)
    groups = rng.integers(0, 12, 200)
    X[:, 0] += groups == 3
    seen = []

    class Watching(ProjSe):
        def fit(self, X, y=None, sample_weight=None, covariates=None):
            seen.append(set(np.flatnonzero(np.isin(Y[:, 0], y[:, 0]))))
            return super().fit(X, y, sample_weight, covariates)

    StabilityProjSe(Watching(2), 5, 0.5, random_state=0, blocks=None).fit(X, Y, groups=groups)
    members = [set(np.flatnonzero(groups == g)) for g in np.unique(groups)]
    for rows in seen:
        assert all(m <= rows or not m & rows for m in members)
    model = stable(blocks=4).fit(X, Y, groups=groups)
    assert model.selection_frequencies_.max() == 1


def test_weights_of_zero_are_rows_gone(seed):
    X, Y = planted(seed, n_samples=100)
    weight = np.ones(100)
    weight[::3] = 0
    keep = weight > 0
    for blocks in (None, 8):
        weighted = stable(blocks=blocks).fit(X, Y, sample_weight=weight)
        fewer = stable(blocks=blocks).fit(X[keep], Y[keep])
        assert_array_equal(weighted.selections_, fewer.selections_)


def test_references_used_up_early_are_gone_on_from(seed):
    rng = np.random.default_rng(seed)
    X, Y = planted(seed, n_samples=200)
    Y = Y[:, :1] @ rng.normal(size=(1, 6))
    model = StabilityProjSe(ProjSe(4), 5, random_state=0, blocks=10).fit(X, Y)
    assert np.all(model.selections_ >= 0), "residual rounds need products of the candidates"
    stopped = StabilityProjSe(ProjSe(4, exhausted="stop"), 5, random_state=0, blocks=10).fit(X, Y)
    assert np.all(stopped.selections_[:, 1:] == -1) or stopped.selections_.shape[1] == 1


def test_resamples_that_select_nothing_agree_with_none(seed):
    X, Y = planted(seed, n_samples=60, n_features=6)
    model = stable(2, blocks=10).fit(X, Y)
    pairs = zip(model.selections_, model.relevances_, strict=True)
    fits = [Selection(picks.tolist(), relevances[picks].tolist()) for picks, relevances in pairs]
    assert_allclose(model.relevance_stability_, pearson_stability(model.relevances_))
    model._store([*fits[:20], *[Selection()] * 10])
    rest = pearson_stability(model.relevances_[:20])
    assert_allclose(model.relevance_stability_, rest * (20 * 19) / (30 * 29))
    assert np.isfinite(model.relevance_stability_path_).all()
    assert not model.relevances_[20:].any()


@pytest.mark.parametrize("blocks", [None, 20])
def test_resamples_of_nothing_leave_a_relevance_stability(seed, blocks):
    rng = np.random.default_rng(seed)
    X, groups = rng.normal(size=(1000, 12)), np.repeat(np.arange(20), 50)
    Y = rng.normal(size=(1000, 2)) + 5 * X[:, :1] * (groups < 10)[:, None]
    model = StabilityProjSe(ProjSe("auto"), 60, 0.05, random_state=0, blocks=blocks, threshold=0.1)
    model.fit(X, Y, groups=groups)  # a resample is one group, and half of them hold nothing
    empty = (model.selections_ < 0).all(axis=1)
    assert empty.any(), "some resamples must select nothing"
    assert not empty.all()
    assert -1 / 59 <= model.relevance_stability_ < 1


def test_an_empty_stable_set_is_said_at_fit(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(100, 40)), rng.normal(size=(100, 2))
    model = stable(1, threshold=1.0)
    with pytest.warns(NothingSelectedWarning, match=r"most frequent .* threshold=1\.0") as found:
        model.fit(X, Y)
    assert len(found) == 1
    assert found[0].filename == __file__
    assert model.selected_.size == 0
    blocks = [Moments.from_arrays(X[i::20], Y[i::20]) for i in range(20)]
    with pytest.warns(NothingSelectedWarning):
        model.fit_moments(blocks)


def test_in_a_pipeline_and_cloned(seed):
    X, Y = planted(seed, n_samples=150)
    pipeline = make_pipeline(StandardScaler(), stable(blocks=10))
    assert pipeline.fit_transform(X, Y).shape[0] == 150
    assert clone(pipeline[-1]).get_params()["selector__n_features_to_select"] == 3
    assert not hasattr(pipeline[-1].selector, "selected_"), "the given selector is never fitted"


@pytest.mark.filterwarnings("error")
def test_silent(seed):
    X, Y = planted(seed, n_samples=60)
    selector = ProjSe(8, exhausted="stop")
    with pytest.warns(RankExhaustedWarning):
        clone(selector).fit(X, Y)
    StabilityProjSe(selector, 4, random_state=0, blocks=5).fit(X, Y)


BAD = {
    "no selector": ({"selector": "ProjSe"}, {}, "selector must be a ProjSe"),
    "one resample": ({"n_resamples": 1}, {}, "n_resamples=1"),
    "subsample 0": ({"subsample": 0.0}, {}, r"subsample=0\.0 must be"),
    "subsample above 1": ({"subsample": 1.5}, {}, r"subsample=1\.5 must be"),
    "subsample of a row": ({"subsample": 0.01}, {}, "is 1 row"),
    "more blocks than rows": ({"blocks": 61}, {}, "more than there are rows"),
    "one block": ({"blocks": 1}, {}, "blocks=1"),
    "threshold": ({"threshold": 1.2}, {}, r"threshold=1\.2"),
    "one group": ({}, {"groups": np.zeros(60)}, "one group"),
    "groups": ({}, {"groups": np.zeros(59)}, r"groups has shape \(59,\)"),
    "a class with one row": ({}, {"y": ["a"] * 59 + ["b"]}, "Class 'b' has 1 row"),
    "callable": (
        {"selector": ProjSe(2, kernel=lambda A, B: A.T @ B), "blocks": 5},
        {},
        "use blocks=None",
    ),
    "everything": ({"selector": ProjSe(8)}, {}, "selected all variables"),
    "NaN": ({}, {"X": np.full((60, 8), np.nan)}, "NaN"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(seed, case):
    parameters, data, message = BAD[case]
    X, Y = planted(seed, n_samples=60)
    given = {"X": X, "y": Y} | data
    model = StabilityProjSe(**({"selector": ProjSe(2), "n_resamples": 4} | parameters))
    with pytest.raises((TypeError, ValueError), match=message):
        model.fit(**given)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_bad_moments(seed):
    X, Y = planted(seed)
    with pytest.raises(ValueError, match="two or more"):
        stable().fit_moments([Moments.from_arrays(X, Y)])


# Ties, and resamples of nothing

WAYS = {"rows": None, "blocks": 20}


@pytest.mark.parametrize("blocks", WAYS.values(), ids=WAYS)
@pytest.mark.slow
def test_picks_by_column_order_are_not_stable(seed, blocks):
    """With more outputs than rows every score is 1: whatever is picked is picked for nothing."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(60, 300)), rng.normal(size=(60, 100))
    model = StabilityProjSe(ProjSe(1, **PAPER), 50, random_state=seed, blocks=blocks)
    with (
        pytest.warns(NothingSelectedWarning),
        pytest.warns(UnreliableSelectionWarning, match=r"In 50 of 50 resamples: y has rank \d+"),
    ):
        model.fit(X, Y)
    assert model.selection_frequencies_.max() < 0.2
    assert model.stability_ < 0.1
    assert not model.selected_.size


@pytest.mark.parametrize("blocks", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("options", [PAPER, AUTO], ids=["paper", "auto"])
@pytest.mark.slow
def test_equal_columns_take_turns(seed, blocks, options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 6))
    X, Y = np.hstack([X, X[:, :1]]), X[:, :1] + 0.5 * rng.normal(size=(200, 2))
    given = {"random_state": seed, "blocks": blocks, "threshold": 0.75}
    model = StabilityProjSe(ProjSe(1, **options), 200, **given)
    with pytest.warns(NothingSelectedWarning):
        model.fit(X, Y)
    both = model.selection_frequencies_[[0, -1]]
    assert both.sum() == 1
    assert both.min() > 0.25
    again = StabilityProjSe(ProjSe(1, **options), 200, **given)
    with pytest.warns(NothingSelectedWarning):
        assert_array_equal(again.fit(X, Y).selections_, model.selections_)


@pytest.mark.parametrize("blocks", [None, 10])
@pytest.mark.parametrize("side", ["X", "y"])
@pytest.mark.parametrize("n", [1, "auto"])
@pytest.mark.slow
def test_a_resample_without_spread_selects_nothing(seed, blocks, side, n):
    rng = np.random.default_rng(seed)
    X, groups = rng.normal(size=(200, 4)), np.repeat(np.arange(10), 20)
    Y = X[:, [0]] + 0.1 * rng.normal(size=(200, 2))
    changed = X if side == "X" else Y
    changed[groups < 5] = 1.0
    options = {"blocks": blocks, "threshold": 0.1, "random_state": seed}
    model = StabilityProjSe(ProjSe(n), 60, 0.1, **options)  # a resample is a group
    model.fit(X, Y, groups=groups)
    empty = (model.selections_ < 0).all(axis=1)
    assert empty.any()
    assert not empty.all()
    assert model.selected_[0] == 0
    changed[:] = 1.0
    with pytest.raises(ValueError, match="X or y is constant in all of them"):
        model.fit(X, Y, groups=groups)


@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingSelectedWarning")
@pytest.mark.parametrize("far", [1e12, 1e16])
def test_how_far_away_one_value_is_matters_to_no_resample(seed, far):
    X, Y = planted(seed, n_samples=400, n_features=12)
    frequencies = []
    for value in (1e6, far):
        X[17, PICKS[0]] = value
        frequencies.append(stable(blocks=20).fit(X, Y).selection_frequencies_)
    assert_array_equal(*frequencies)
    assert frequencies[0][PICKS[0]] > 0
