"""ProjSe as scikit-learn's users meet it: checks, composition, pickles, progress, refitting."""

from __future__ import annotations

import pickle
from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from agreement import check, quietly
from marks import arbitrary_picks
from planted import PICKS, planted, planted_labels
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from projse import Moments, ProjSe, RankExhaustedWarning

NAMES = [f"column {j}" for j in range(8)]
NAMED_PICKS = [NAMES[j] for j in PICKS]
AT_LEAST_1_9 = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 9)
needs_callbacks = pytest.mark.skipif(not AT_LEAST_1_9, reason="sklearn.callback is new in 1.9")

# scikit-learn's own checks


@arbitrary_picks  # two columns tie as one view
@parametrize_with_checks(
    [
        ProjSe(),
        ProjSe(kernel="rbf"),
        ProjSe(kernel="poly"),
        ProjSe(missing="indicator"),
        ProjSe(basis="spline", missing="mean"),
    ]
)
def test_scikit_learn(estimator, check):
    if sklearn.__version__.startswith("1.7.") and "positive_only" in str(check):
        pytest.skip("it subtracts a mean from the whole numbers that it makes for categories")
    try:
        check(estimator)
    except SkipTest as reason:
        pytest.fail(f"skipped: {reason}")


@pytest.mark.skipif(not AT_LEAST_1_9, reason="earlier versions have fewer checks")
def test_scikit_learn_has_not_lost_its_checks():
    assert len(list(estimator_checks_generator(ProjSe()))) >= 55


# Parameters and fitted attributes


def test_clone_keeps_parameters_and_no_fit(seed):
    X, Y = planted(seed)
    selector = ProjSe(2, kernel="poly", alpha=0.5, include=[1], exclude=["a"], rank=0.9)
    copy = clone(selector)
    assert copy.get_params() == selector.get_params()
    fitted = clone(ProjSe(2).fit(X, Y))
    with pytest.raises(NotFittedError):
        fitted.transform(X)


def test_parameters_are_stored_as_given_and_left_alone(seed):
    X, Y = planted(seed)
    include = np.array([1, 3])
    selector = ProjSe(5, include=include)
    before = dict(selector.get_params())
    quietly(selector.fit, X, Y)
    assert selector.get_params() == before
    assert selector.include is include


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_fitted_attributes_have_the_promised_shapes_and_dtypes(seed, kernel):
    X, Y = planted(seed)
    selector = quietly(ProjSe(6, kernel=kernel, include=[1]).fit, X, Y)
    k = len(selector.selected_)
    for name in ("scores_", "correlations_", "margins_", "pvalues_"):
        values = getattr(selector, name)
        assert values.shape == (k,), name
        assert values.dtype == np.float64, name
    for name in ("selected_", "rounds_", "ranking_"):
        assert getattr(selector, name).dtype == np.intp, name
    assert selector.selected_[0] == 1
    assert selector.rounds_[0] == 0
    assert (np.diff(selector.rounds_) >= 0).all()
    assert ((selector.scores_ >= 0) & (selector.scores_ <= 1)).all()
    np.testing.assert_array_equal(selector.correlations_, np.sqrt(selector.scores_))
    assert np.isnan(selector.pvalues_).tolist() == [kernel != "linear" or j == 0 for j in range(k)]
    assert isinstance(selector.reference_rank_, int)
    assert selector.reference_rank_ == 3
    assert selector.n_features_in_ == 8
    assert not hasattr(selector, "feature_names_in_")


def test_support_and_ranking_tell_the_same_story_as_the_picks(seed):
    selector = ProjSe(3).fit(*planted(seed))
    assert tuple(selector.selected_) == PICKS
    assert selector.support_.dtype == bool
    assert np.flatnonzero(selector.support_).tolist() == sorted(PICKS)
    np.testing.assert_array_equal(selector.get_support(), selector.support_)
    np.testing.assert_array_equal(selector.get_support(indices=True), sorted(PICKS))
    assert selector.ranking_[list(PICKS)].tolist() == [1, 2, 3]
    assert (np.delete(selector.ranking_, PICKS) == 4).all()


@pytest.mark.parametrize(
    ("asked", "expected"),
    [(2, 2), (np.int64(2), 2), (0.5, 4), (np.float32(0.25), 2), (0.01, 1), (None, 3), (8, 8)],
)
def test_number_of_picks(seed, asked, expected):
    selector = ProjSe(asked).fit(*planted(seed))
    assert len(selector.selected_) == expected


def test_auto_stops_at_the_first_pick_that_chance_explains(seed):
    X, Y = planted(seed)
    selector = ProjSe("auto", significance=1e-4).fit(X, Y)
    np.testing.assert_array_equal(selector.selected_[:2], PICKS[:2])
    assert (selector.pvalues_ <= 1e-4).all()
    every = ProjSe(8).fit(X, Y)
    k = len(selector.selected_)
    assert k < 8
    np.testing.assert_array_equal(every.selected_[:k], selector.selected_)
    assert every.pvalues_[k] > 1e-4


# Composition


def test_transform_and_inverse_transform(seed):
    X, Y = planted(seed)
    selector = ProjSe(3).fit(X, Y)
    kept = sorted(PICKS)
    np.testing.assert_array_equal(selector.transform(X), X[:, kept])
    np.testing.assert_array_equal(ProjSe(3).fit_transform(X, Y), X[:, kept])
    back = selector.inverse_transform(selector.transform(X))
    np.testing.assert_array_equal(back[:, kept], X[:, kept])
    assert not np.delete(back, kept, axis=1).any()
    assert sp.issparse(selector.transform(sp.csr_array(X)))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_keep_their_names(seed, library):
    X, Y = planted(seed)
    frame = pytest.importorskip(library).DataFrame(dict(zip(NAMES, X.T, strict=True)))
    selector = ProjSe(3).set_output(transform=library).fit(frame, Y)
    kept = [NAMES[j] for j in sorted(PICKS)]
    assert selector.feature_names_in_.tolist() == NAMES
    assert selector.get_feature_names_out().tolist() == kept
    result = selector.transform(frame)
    assert isinstance(result, type(frame))
    assert list(result.columns) == kept
    assert ProjSe(3).fit(X, Y).get_feature_names_out().tolist() == ["x0", "x2", "x5"]


def test_pipeline_and_grid_search(seed):
    X, Y = planted(seed)
    pipeline = make_pipeline(StandardScaler(), ProjSe(3), Ridge())
    assert pipeline.fit(X, Y).score(X, Y) > 0.3
    grid = {
        "projse__kernel": ["linear", "rbf"],
        "projse__alpha": [0.0, 0.1],
        "projse__n_features_to_select": [1, 3],
    }
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_["projse__n_features_to_select"] == 3


def test_column_transformer(seed):
    X, Y = planted(seed)
    frame = pd.DataFrame(X, columns=NAMES)
    parts = ColumnTransformer([("few", ProjSe(1), NAMES[:4]), ("all", "passthrough", NAMES[4:])])
    assert parts.fit_transform(frame, Y).shape == (200, 5)
    assert parts.get_feature_names_out()[0] == "few__column 2"


def test_weights_and_covariates_are_routed_through_a_pipeline(seed):
    X, Y = planted(seed)
    weight, age = np.random.default_rng(seed).uniform(0, 2, size=200), X[:, 5]
    with sklearn.config_context(enable_metadata_routing=True):
        step = ProjSe(1).set_fit_request(sample_weight=True, covariates=True)
        pipeline = make_pipeline(step).fit(X, Y, sample_weight=weight, covariates=age)
    check(pipeline[0], ProjSe(1).fit(X, Y, sample_weight=weight, covariates=age))
    assert pipeline[0].selected_.tolist() == [2]


# Pickles


def routes(m):
    """Fits that take different ways from the rows to the picks."""
    X, Y = planted(0, m)
    codes = planted_labels(0, m)[1]
    fat = np.random.default_rng(0).normal(size=(30, 50))
    return {
        "gram": ProjSe(5).fit(X, Y),
        "qr": ProjSe(5, solver="qr").fit(X, Y),
        "fewer rows than references": ProjSe(5).fit(X[:30], fat),
        "one view": ProjSe(5).fit(X),
        "classes": ProjSe(5).fit(X, codes),
        "sparse": ProjSe(5).fit(sp.csr_array(X), sp.csr_array(Y)),
        "weights and covariates": ProjSe(5).fit(X, Y, np.arange(m), covariates=codes.astype(str)),
        "callable": ProjSe(5, kernel=linear).fit(X[:500], Y[:500]),
    }


def linear(A, B):
    return A.T @ B


def arrays_in(value):
    """Every array that hangs on an object, at any depth."""
    if isinstance(value, np.ndarray):
        yield value
    elif sp.issparse(value):
        yield from (value.data, value.indices, value.indptr)
    elif hasattr(value, "__dict__"):
        for part in vars(value).values():
            yield from arrays_in(part)


@arbitrary_picks
def test_pickles_round_trip_and_do_not_grow_with_the_rows():
    few, many = routes(500), routes(50_000)
    for name, selector in many.items():
        content = pickle.dumps(selector)
        assert len(content) <= 1.01 * len(pickle.dumps(few[name])) + 64, name
        assert all(array.size < 500 for array in arrays_in(selector)), name
        again = pickle.loads(content)
        np.testing.assert_array_equal(again.selected_, selector.selected_)
        np.testing.assert_array_equal(again.scores_, selector.scores_)


# Progress


class Recorder:
    """Writes down the tasks of a fit."""

    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context):
        self.events.append(f"end {context.task_name}")

    def outline(self):
        return [event for event in self.events if not event.endswith("-step")]


WHOLE_FIT = ["setup", "begin fit", "begin rows", "end rows", "begin picks", "end picks", "end fit"]
FITS = {
    "dense": lambda X, Y: (ProjSe(5, batch_size=200), X, Y),
    "sparse": lambda X, Y: (ProjSe(5), sp.csr_array(X), Y),
    "stopped early": lambda X, Y: (ProjSe(5, exhausted="stop"), X, Y),
    "nothing significant": lambda X, Y: (ProjSe("auto", significance=1e-300), X[:30], Y[:30]),
    "callable": lambda X, Y: (ProjSe(5, kernel=linear), X, Y),
    "one view": lambda X, Y: (ProjSe(5), X, None),
    "summed again in float64": lambda X, Y: (ProjSe(3), (1e25 * X).astype("f4"), Y.astype("f4")),
}


@needs_callbacks
@pytest.mark.parametrize("name", FITS)
def test_callbacks_see_rows_and_picks_begin_and_end(name):
    selector, X, y = FITS[name](*planted(0, 2000))
    recorder = Recorder()
    quietly(selector.set_callbacks(recorder).fit, X, y)
    assert recorder.outline() == [*WHOLE_FIT, "teardown"]
    assert recorder.events.count("begin picks-step") == len(selector.selected_)
    assert recorder.events.count("begin rows-step") == recorder.events.count("end rows-step")
    if name == "dense":
        assert recorder.events.count("begin rows-step") > 1


@needs_callbacks
def test_callbacks_are_torn_down_when_a_fit_fails(seed):
    X, Y = planted(seed)
    X[3, 1] = np.nan
    recorder = Recorder()
    with pytest.raises(ValueError, match="NaN"):
        ProjSe(2).set_callbacks(recorder).fit(X, Y)
    assert recorder.events.count("setup") == recorder.events.count("teardown")


def n_selected(model, X, y):
    return len(model[-1].selected_)


@needs_callbacks
@pytest.mark.parametrize("where", ["alone", "pipeline", "grid search"])
def test_progress_bar(capsys, where):
    from sklearn.callback import ProgressBar

    X, Y = planted(0)
    model = ProjSe(3)
    if where != "alone":
        model = make_pipeline(StandardScaler(), model)
    if where == "grid search":
        grid = {"projse__alpha": [0.0, 1.0]}
        model = GridSearchCV(model, grid, cv=2, scoring=n_selected)
    model.set_callbacks(ProgressBar(max_propagation_depth=None)).fit(X, Y)
    assert "ProjSe" in capsys.readouterr().out
    pickle.dumps(model)


def test_fitting_is_silent(capfd, seed):
    X, Y = planted(seed)
    ProjSe(3).fit(X, Y).transform(X)
    ProjSe(3).partial_fit(X, Y)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


# Fitting again


@pytest.mark.parametrize("first", ["frame", "moments", "covariates", "one view", "callable"])
def test_refit_leaves_nothing_of_the_earlier_fit(seed, first):
    X, Y = planted(seed)
    frame = pd.DataFrame(np.c_[X, X[:, :2] ** 2], columns=[*NAMES, "u", "v"])
    selector = ProjSe(3)
    {
        "frame": lambda: selector.fit(frame, Y),
        "moments": lambda: selector.fit_moments(Moments.from_arrays(frame, Y)),
        "covariates": lambda: selector.fit(frame, Y, covariates=X[:, 0]),
        "one view": lambda: selector.fit(frame),
        "callable": lambda: selector.set_params(kernel=linear).fit(frame, Y),
    }[first]()
    selector.set_params(kernel="linear")
    again, fresh = selector.fit(X, Y), ProjSe(3).fit(X, Y)
    assert vars(again).keys() == vars(fresh).keys()
    check(again, fresh)
    assert again.n_features_in_ == 8
    again.fit(X, Y, covariates=X[:, 1])
    assert again.moments_.n_covariates == 1
    assert again.fit(X, Y).moments_.n_covariates == 0


def spoil(X, Y):
    """Ways for a fit to fail, early and late."""
    bad = X[:, :4].copy()
    bad[5, 2] = np.inf
    moments = Moments.from_arrays(pd.DataFrame(X[:, :4], columns=list("abcd")), Y, with_xx=False)
    return {
        "non-finite": lambda s: s.fit(bad, Y),
        "rows": lambda s: s.fit(X[:-1], Y),
        "constant": lambda s: s.fit(np.ones_like(bad), Y),
        "parameter": lambda s: s.set_params(alpha=-1).fit(X[:, :4], Y),
        "include": lambda s: s.set_params(include=["zz"]).fit(X[:, :4], Y),
        "too many": lambda s: s.set_params(n_features_to_select=5).fit(X[:, :4], Y),
        "kernel": lambda s: s.set_params(kernel=lambda A, B: -(A.T @ B)).fit(X[:, :4], Y),
        "partial_fit": lambda s: s.partial_fit(pd.DataFrame(np.c_[bad, bad], columns=NAMES), Y),
        "moments": lambda s: s.set_params(include=["a"]).fit_moments(moments),
    }


@pytest.mark.parametrize("way", spoil(*planted(0)))
def test_a_failed_fit_changes_nothing(seed, way):
    X, Y = planted(seed)
    fresh = ProjSe(3)
    with pytest.raises((ValueError, TypeError)):
        spoil(X, Y)[way](fresh)
    with pytest.raises(NotFittedError):
        check_is_fitted(fresh)

    fitted = ProjSe(3).fit(pd.DataFrame(X, columns=NAMES), Y)
    attributes = {name: value for name, value in vars(fitted).items() if name.endswith("_")}
    with pytest.raises((ValueError, TypeError)):
        spoil(X, Y)[way](fitted)
    for name, value in attributes.items():
        assert getattr(fitted, name) is value, name
    np.testing.assert_array_equal(
        fitted.transform(pd.DataFrame(X, columns=NAMES)), X[:, sorted(PICKS)]
    )


def test_too_few_picks_warn_once_at_the_callers_line(seed):
    X, Y = planted(seed)
    with pytest.warns(RankExhaustedWarning, match="Selected 3 of 5") as caught:
        ProjSe(5, exhausted="stop").fit(X, Y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    moments = Moments.from_arrays(X, Y, with_xx=False)
    with pytest.warns(RankExhaustedWarning, match="with_xx=True") as caught:
        ProjSe(5).fit_moments(moments)
    assert caught[0].filename == __file__
