"""Displays show what the estimators found: every bar, point, cell and name."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from planted import planted
from sklearn.exceptions import NotFittedError

from projse import PAPER, ProjSe, ProjSeCV, StabilityProjSe, TwoViewProjSe, plots
from projse.plots import (
    CanonicalCorrelationDisplay,
    ExplainedDisplay,
    RedundancyDisplay,
    SelectionDisplay,
    StabilityDisplay,
    ValidationCurveDisplay,
)
from projse.plots.canvas import shortened

mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

LONG = "mitochondrial ribosomal protein subunit with a name that goes on"


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def named(X, Y):
    """Columns with names that begin and end alike, and that mathematics would be read into."""
    names = [f"gene {j} $\\alpha$_{LONG} {j}" for j in range(X.shape[1])]
    return pd.DataFrame(X, columns=names), pd.DataFrame(Y, columns=["a", "b", "c"])


@pytest.fixture(scope="module")
def selector():
    return ProjSe(5, include=[7]).fit(*named(*planted(0)))


@pytest.fixture(scope="module")
def views():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(150, 3))
    X = shared @ rng.normal(size=(3, 8)) + rng.normal(size=(150, 8))
    return X, shared @ rng.normal(size=(3, 6)) + rng.normal(size=(150, 6))


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def drawn(display):
    """Draw, so that what cannot be drawn fails."""
    display.figure_.canvas.draw()
    return display


def inside(display):
    """Whether all names are on the figure."""
    width, height = display.figure_.get_size_inches() * display.figure_.dpi
    low, high = sorted(display.ax_.get_xlim())
    across = [
        label
        for label in display.ax_.get_xticklabels()
        if low <= label.get_position()[0] <= high  # matplotlib makes one more, and hides it
    ]
    boxes = [label.get_window_extent() for label in [*across, *display.ax_.get_yticklabels()]]
    return all(
        box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1
        for box in boxes
    )


def overlaps(ticks):
    """How many neighbouring labels lie on each other."""
    boxes = [label.get_window_extent() for label in ticks if label.get_text()]
    return sum(a.overlaps(b) for a, b in pairwise(boxes))


# Selection


def test_a_bar_a_pick_is_as_long_as_its_score(selector):
    display = drawn(SelectionDisplay.from_estimator(selector))
    assert [bar.get_width() for bar in display.bars_] == selector.scores_.tolist()
    ends = [label[-1] for label in labels(display.ax_.yaxis)]
    assert ends == list("12345")
    for label, j in zip(labels(display.ax_.yaxis), selector.selected_, strict=True):
        assert label.startswith(f"gene {j} ")
        assert label.split("  ")[0].endswith(f" {j}")


def test_runners_up_stand_where_the_margin_says(selector):
    display = SelectionDisplay.from_estimator(selector)
    free = selector.rounds_ > 0
    expected = selector.scores_[free] * (1 - selector.margins_[free])
    places = np.asarray(display.runners_up_.get_offsets())
    np.testing.assert_allclose(places[:, 0], expected)
    np.testing.assert_array_equal(places[:, 1], np.flatnonzero(free))


def test_included_picks_have_a_colour_of_their_own(selector):
    display = SelectionDisplay.from_estimator(selector)
    colours = [bar.get_facecolor() for bar in display.bars_]
    assert colours[0] not in colours[1:]
    assert len(set(colours[1:])) == 1
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert sorted(words) == ["included", "runner-up", "score"]


def test_lines_part_rounds_of_several_picks(selector):
    X, Y = planted(0)
    display = SelectionDisplay.from_estimator(ProjSe(6, round_size=2).fit(X, Y))
    assert [line.get_ydata()[0] for line in display.lines_] == [1.5, 3.5]
    assert not SelectionDisplay.from_estimator(ProjSe(6).fit(X, Y)).lines_


# Heat maps


def test_the_heat_map_has_what_each_pick_adds_and_all_of_them(selector):
    display = drawn(ExplainedDisplay.from_estimator(selector))
    shown = np.asarray(display.image_.get_array())
    np.testing.assert_array_equal(shown[:-1], selector.explained_)
    np.testing.assert_allclose(shown[-1], selector.explained_.sum(axis=0))
    assert labels(display.ax_.xaxis) == ["a", "b", "c"]
    assert len(labels(display.ax_.yaxis)) == 6
    assert labels(display.ax_.yaxis)[-1] == "all picks"
    assert [text.get_text() for text in display.texts_] == [f"{value:.2f}" for value in shown.flat]


def test_constant_outputs_are_left_white():
    X, Y = planted(0)
    Y = np.column_stack([Y, np.ones(len(Y))])
    display = drawn(ExplainedDisplay.from_estimator(ProjSe(2).fit(X, Y)))
    assert np.isnan(np.asarray(display.image_.get_array())[:, 3]).all()
    assert len(display.texts_) == 9


def test_redundancy_shows_the_correlations_of_picks_and_stand_ins():
    X, Y = planted(0, n_features=12)
    selector = ProjSe(4).fit(X, Y)
    display = drawn(RedundancyDisplay.from_estimator(selector, stand_ins=2))
    others = list(dict.fromkeys(int(one.name[1:]) for one in selector.stand_ins(2)))
    columns = [*selector.selected_, *others]
    expected = np.abs(np.corrcoef(X.T))[np.ix_(selector.selected_, columns)]
    np.testing.assert_allclose(display.image_.get_array(), expected, atol=1e-12)
    assert labels(display.ax_.xaxis) == [*"1234", *(f"x{j}" for j in others)]
    assert labels(display.ax_.yaxis) == [f"x{j}  {i}" for i, j in enumerate(selector.selected_, 1)]


def test_redundancy_of_picks_alone_needs_no_products_of_others(monkeypatch):
    monkeypatch.setattr("projse.search.picked.CHEAP", 1 << 14)
    X, Y = planted(0, n_features=100)
    selector = ProjSe(3, **PAPER).fit(X, Y)
    with pytest.raises(ValueError, match="stand_ins needs"):
        RedundancyDisplay.from_estimator(selector)
    display = RedundancyDisplay.from_estimator(selector, stand_ins=0)
    expected = np.abs(np.corrcoef(X[:, selector.selected_].T))
    np.testing.assert_allclose(display.image_.get_array(), expected, atol=1e-12)


# Stability


def test_points_and_intervals_are_the_frequencies():
    X, Y = planted(0, n_features=12)
    model = StabilityProjSe(ProjSe(4), n_resamples=20, random_state=0).fit(X, Y)
    table = model.table()
    display = drawn(StabilityDisplay.from_estimator(model, max_variables=None))
    places = np.asarray(display.points_.get_offsets())
    np.testing.assert_array_equal(places[:, 0], table["frequency"])
    ends = np.array([path.vertices[:, 0] for path in display.intervals_.get_paths()])
    np.testing.assert_array_equal(ends, table[["low", "high"]])
    assert labels(display.ax_.yaxis) == table["name"].tolist()
    filled = (display.points_.get_facecolor()[:, :3] < 1).any(axis=1)
    assert filled.tolist() == table["stable"].tolist()
    assert display.threshold_.get_xdata()[0] == model.threshold
    few = StabilityDisplay.from_estimator(model, max_variables=3)
    assert labels(few.ax_.yaxis) == table["name"][:3].tolist()


# Curves


def test_the_path_has_a_curve_for_the_fit_and_one_for_held_out_rows(views):
    X, Y = views
    model = TwoViewProjSe(4).fit(X[:100], Y[:100])
    display = drawn(CanonicalCorrelationDisplay.from_estimator(model, X[100:], Y[100:]))
    fit, held_out = display.lines_
    np.testing.assert_array_equal(fit.get_ydata(), model.canonical_correlation_path())
    expected = model.canonical_correlation_path(X[100:], Y[100:])
    np.testing.assert_array_equal(held_out.get_ydata(), expected)
    assert fit.get_xdata().tolist() == [1, 2, 3, 4]
    assert len(CanonicalCorrelationDisplay.from_estimator(model).lines_) == 1


def test_the_grid_has_every_pair_of_sizes(views):
    model = TwoViewProjSe((5, 3)).fit(*views)
    display = drawn(CanonicalCorrelationDisplay.from_estimator(model, kind="grid"))
    np.testing.assert_array_equal(
        np.asarray(display.image_.get_array()).T, model.canonical_correlation_grid()
    )
    assert display.image_.get_extent() == [0.5, 5.5, 3.5, 0.5]
    with pytest.raises(ValueError, match="kind='map' is not 'path' or 'grid'"):
        CanonicalCorrelationDisplay.from_estimator(model, kind="map")


def test_validation_curves_have_all_means_their_errors_and_the_choice():
    X, Y = planted(0)
    grid = {"alpha": [0.1, 1.0, 10.0], "round_size": [1]}
    model = ProjSeCV(param_grid=grid, n_features=6).fit(X, Y)
    display = drawn(ValidationCurveDisplay.from_estimator(model))
    means = model.cv_results_["mean_test_score"].reshape(3, 6)
    assert len(display.lines_) == 3
    for line, mean in zip(display.lines_, means, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), mean)
    assert display.choice_.get_xdata().tolist() == [model.n_features_]
    assert display.choice_.get_ydata()[0] == pytest.approx(model.best_score_)
    best = [0.1, 1.0, 10.0].index(model.best_params_["alpha"])
    errors = model.cv_results_["standard_error"].reshape(3, 6)[best]
    edges = display.band_.get_paths()[0].vertices[:, 1]
    assert edges.max() == pytest.approx((means[best] + errors).max())
    assert edges.min() == pytest.approx((means[best] - errors).min())
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert words == ["alpha=0.1", "alpha=1.0", "alpha=10.0", f"chosen: {model.n_features_}"]


# Readable anywhere


@pytest.fixture(scope="module")
def hundred():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 110))
    return ProjSe(100).fit(*named(X, X[:, :3] + rng.normal(size=(150, 3))))


@pytest.mark.parametrize(
    ("cls", "width"),
    [
        (ExplainedDisplay, 3.4),
        *(
            pytest.param(cls, width, marks=pytest.mark.slow)
            for cls in (SelectionDisplay, ExplainedDisplay, RedundancyDisplay)
            for width in (3.4, 6.4)
        ),
    ],
)
def test_a_hundred_long_names_are_all_there_and_do_not_overlap(hundred, cls, width):
    display = drawn(cls.from_estimator(hundred, width=width))
    assert len(labels(display.ax_.yaxis)) >= 100
    assert all("…" in label for label in labels(display.ax_.yaxis)[:100])
    assert display.figure_.get_size_inches()[0] == width
    assert inside(display)
    assert not overlaps(display.ax_.get_yticklabels())
    assert not overlaps(display.ax_.get_xticklabels())
    share = display.ax_.get_position().width
    assert share > 0.3, "the names leave room for what they name"


def test_displays_of_cross_validation_are_those_of_its_choice():
    X, Y = planted(0)
    model = ProjSeCV(param_grid=None).fit(X, Y)
    assert len(SelectionDisplay.from_estimator(model).bars_) == model.n_features_
    assert len(ExplainedDisplay.from_estimator(model).names) == model.n_features_
    shown = RedundancyDisplay.from_estimator(model, stand_ins=0).image_.get_array()
    assert shown.shape == (model.n_features_, model.n_features_)


def test_axes_of_the_user_are_drawn_on(selector):
    figure, axes = plt.subplots(1, 2, figsize=(9, 3))
    for cls, ax in zip((SelectionDisplay, ExplainedDisplay), axes, strict=True):
        display = drawn(cls.from_estimator(selector, ax=ax))
        assert display.ax_ is ax
        assert display.figure_ is figure
        assert display.plot().ax_ is not ax


def test_long_names_keep_both_ends():
    assert shortened("abcdefghij", 10) == "abcdefghij"
    assert shortened("abcdefghij", 7) == "abc…hij"
    assert shortened("abcdefghij", 6) == "abc…ij"
    assert shortened("two\nlines  and\ttabs", 40) == "two lines and tabs"
    assert shortened(" ", 5) == "␣"


def test_matplotlib_is_asked_for_by_its_extra(monkeypatch, selector):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'projse-select\[plot\]'"):
        SelectionDisplay.from_estimator(selector)


@pytest.mark.slow
def test_the_room_is_imported_without_matplotlib(tmp_path):
    code = "import sys, projse.plots; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


@pytest.mark.parametrize("display", [getattr(plots, name) for name in plots.__all__])
def test_what_a_display_does_not_draw_is_refused_with_what_it_draws(display):
    X, Y = planted(0)
    drawn = {StabilityDisplay: StabilityProjSe, CanonicalCorrelationDisplay: TwoViewProjSe}
    # With a threshold that any pick reaches, or a warning may come first.
    other = StabilityProjSe(ProjSe(1), 2, threshold=0.1)
    if display is StabilityDisplay:
        other = TwoViewProjSe(1)
    with pytest.raises(TypeError, match=f"must be a fitted .*ProjSe.*, not {type(other).__name__}"):
        display.from_estimator(other.fit(X, Y))
    own = drawn.get(display, ProjSeCV)
    with pytest.raises(NotFittedError):
        display.from_estimator(own(ProjSe(1)) if own is StabilityProjSe else own())
