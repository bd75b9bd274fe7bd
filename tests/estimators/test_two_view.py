"""TwoViewProjSe: both sides from one set of moments, and their canonical correlations."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from agreement import check
from marks import arbitrary_picks
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.base import clone
from sklearn.cross_decomposition import CCA
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from projse import PAPER, Moments, ProjSe, TwoViewProjSe
from projse.metrics import canonical_correlations

AUTO = {"alpha": "auto", "redundancy": "auto", "round_size": "auto"}


def two_views(seed, m=300, n_x=9, n_y=7):
    """Views that share two directions of different strength."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(m, 2))
    X, Y = rng.normal(size=(m, n_x)), rng.normal(size=(m, n_y))
    X[:, [1, 4]] += shared * [3.0, 1.5]
    Y[:, [0, 3]] += shared * [3.0, 1.5]
    return X + rng.normal(size=n_x), Y * rng.uniform(0.5, 20, n_y) + 5


def literal_canonical(X, Y):
    """Canonical correlations and directions by QR and SVD of centred columns."""
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    qx, rx = np.linalg.qr(X)
    qy, ry = np.linalg.qr(Y)
    U, s, Vt = np.linalg.svd(qx.T @ qy, full_matrices=False)
    return s, np.linalg.solve(rx, U), np.linalg.solve(ry, Vt.T)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("parameters", [{}, {"alpha": 0.1}, {"round_size": 1}, {"center": False}])
def test_each_side_is_a_selection_of_its_own(seed, kernel, parameters):
    X, Y = two_views(seed)
    parameters = {**parameters, "redundancy": 0.5}
    both = TwoViewProjSe((4, 3), kernel=kernel, **parameters).fit(X, Y)
    check(both.x_selector_, ProjSe(4, kernel=kernel, **parameters).fit(X, Y))
    check(both.y_selector_, ProjSe(3, kernel=kernel, **parameters).fit(Y, X))
    assert both.x_selected_.shape == both.x_scores_.shape == (4,)
    assert both.y_selected_.shape == both.y_scores_.shape == (3,)


def test_variables_are_ranked_after_the_best_pair(seed):
    X, Y = two_views(seed, m=5000)
    assert ProjSe(2).fit(X, Y).redundancy_ < 0.1  # nothing but the two views asks for more
    both = TwoViewProjSe(3).fit(X, Y)
    pair = np.abs(np.corrcoef(X.T, Y.T)[: X.shape[1], X.shape[1] :])
    firsts = np.unravel_index(pair.argmax(), pair.shape)
    for side, first, (A, B) in zip(
        (both.x_selector_, both.y_selector_), firsts, ((X, Y), (Y, X)), strict=True
    ):
        assert side.redundancy_ == 1.0
        assert side.selected_[0] == first
        ranked = ProjSe(A.shape[1], redundancy=1).fit(A, B).selected_
        np.testing.assert_array_equal(side.selected_[1:], ranked[ranked != first][:2])


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_exact_copies_of_picks_wait_until_nothing_else_is_left(seed, kernel):
    X, Y = two_views(seed)
    n = X.shape[1]
    plain = TwoViewProjSe((n, 2), kernel=kernel).fit(X, Y).x_selected_
    copied = np.column_stack([X, 3 * X[:, plain[0]] + 1, X[:, plain[1]]])
    both = TwoViewProjSe((n + 2, 2), kernel=kernel).fit(copied, Y)
    originals = {n: plain[0], n + 1: plain[1]}
    order = [originals.get(j, j) for j in both.x_selected_]
    assert order[:n] == plain.tolist()
    assert sorted(order[n:]) == sorted(plain[:2])
    ranked = TwoViewProjSe((n + 2, 2), kernel=kernel, redundancy=1).fit(copied, Y)
    assert originals.get(ranked.x_selected_[2], ranked.x_selected_[2]) in plain[:2]


def test_finds_what_the_views_share(seed):
    X, Y = two_views(seed)
    model = TwoViewProjSe(2).fit(X, Y)
    assert set(model.x_selected_) == {1, 4}
    assert set(model.y_selected_) == {0, 3}


def test_weights_count_rows(seed):
    X, Y = two_views(seed, m=60)
    weight = np.random.default_rng(seed).integers(0, 4, 60)
    weighted = TwoViewProjSe(3).fit(X, Y, sample_weight=weight)
    repeated = TwoViewProjSe(3).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    check(weighted.x_selector_, repeated.x_selector_)
    check(weighted.y_selector_, repeated.y_selector_)
    assert_allclose(weighted.canonical_correlations_, repeated.canonical_correlations_)


def test_path_and_grid_equal_literal_evaluations(seed):
    X, Y = two_views(seed)
    model = TwoViewProjSe((5, 4)).fit(X, Y)
    x, y = X[:, model.x_selected_], Y[:, model.y_selected_]
    grid = model.canonical_correlation_grid()
    assert grid.shape == (5, 4)
    for i in range(1, 6):
        for j in range(1, 5):
            assert_allclose(grid[i - 1, j - 1], literal_canonical(x[:, :i], y[:, :j])[0][0])
    path = model.canonical_correlation_path()
    assert_allclose(path, [grid[k - 1, min(k, 4) - 1] for k in range(1, 6)])
    assert np.all(np.diff(path) > -1e-12), "more variables correlate no less on the same rows"
    every = model.canonical_correlation_path(n_components=None)
    assert every.shape == (5, 4)
    assert_allclose(every[4], literal_canonical(x, y)[0])
    assert_allclose(model.canonical_correlations_, every[4])
    assert np.isnan(every[1, 2:]).all()
    assert_allclose(every[:, 0], path)
    assert model.canonical_correlation_path(n_components=2).shape == (5, 2)
    assert_allclose(model.canonical_correlation_path(sizes=[2, 5]), path[[1, 4]])
    assert_allclose(
        model.canonical_correlation_grid(x_sizes=[2], y_sizes=[1, 3]), grid[1:2, [0, 2]]
    )


@pytest.mark.parametrize("side", ["more in x", "more in y"])
def test_held_out_correlations_use_the_directions_of_the_fit(seed, side):
    X, Y = two_views(seed, m=500)
    if side == "more in y":
        X, Y = Y, X
    train, test = slice(0, 300), slice(300, 500)
    model = TwoViewProjSe((5, 3)).fit(X[train], Y[train])
    x, y = X[:, model.x_selected_], Y[:, model.y_selected_]
    grid = model.canonical_correlation_grid(X[test], Y[test])
    every = model.canonical_correlation_path(X[test], Y[test], n_components=None)
    for i in range(1, 6):
        for j in range(1, 4):
            _, a, b = literal_canonical(x[train, :i], y[train, :j])
            want = np.corrcoef(x[test, :i] @ a[:, 0], y[test, :j] @ b[:, 0])[0, 1]
            assert_allclose(grid[i - 1, j - 1], want, atol=1e-7)
    _, a, b = literal_canonical(x[train], y[train])
    scores = [np.corrcoef(x[test] @ a[:, c], y[test] @ b[:, c])[0, 1] for c in range(3)]
    assert_allclose(every[4], scores, atol=1e-6)
    on_fit = model.canonical_correlation_path(X[train], Y[train])
    assert_allclose(on_fit, model.canonical_correlation_path(), rtol=1e-8)


def test_first_correlation_is_that_of_scikit_learn(seed):
    X, Y = two_views(seed)
    model = TwoViewProjSe(2).fit(X, Y)
    x, y = X[:, model.x_selected_], Y[:, model.y_selected_]
    a, b = CCA(n_components=1, max_iter=5000, tol=1e-12).fit(x, y).transform(x, y)
    want = abs(np.corrcoef(a[:, 0], b[:, 0])[0, 1])
    assert_allclose(model.canonical_correlations_[0], want, rtol=1e-6)


@arbitrary_picks
def test_deficient_and_nearly_constant_variables_give_no_nan(seed):
    rng = np.random.default_rng(seed)
    X, Y = two_views(seed)
    on_once = np.zeros(300)
    on_once[7] = 1.0
    X = np.column_stack([X, X[:, :2] @ [1.0, 2.0], X[:, 0], on_once, np.full(300, 3.3)])
    Y = np.column_stack([Y, Y[:, 1], on_once[::-1], np.zeros(300)])
    everything = TwoViewProjSe((12, 9), exhausted="restart").fit(X, Y)
    for held_out in ([], [rng.normal(size=(50, 13)), rng.normal(size=(50, 10))]):
        grid = everything.canonical_correlation_grid(*held_out)
        assert np.isfinite(grid).all()
        assert np.all(np.abs(grid) <= 1)
    # Held-out rows in which a pixel is never on.
    still = everything.canonical_correlation_path(np.ones((5, 13)), np.ones((5, 10)))
    assert np.all(still == 0)
    included = TwoViewProjSe(3, x_include=[12, 11], y_include=[9, 8]).fit(X, Y)
    assert np.isfinite(included.canonical_correlation_grid()).all()
    assert included.canonical_correlation_grid()[0, 0] == 0, (
        "constant variables correlate with none"
    )


@arbitrary_picks
def test_fat_views_go_by_the_rows(seed):
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(40, 2))
    X, Y = rng.normal(size=(40, 120)), rng.normal(size=(40, 60))
    X[:, [5, 50]] += 5 * shared
    Y[:, [7, 30]] += 5 * shared
    model = TwoViewProjSe(4, **PAPER).fit(X, Y)
    assert not hasattr(model, "moments_")
    check(model.x_selector_, ProjSe(4, **PAPER).fit(X, Y))
    check(model.y_selector_, ProjSe(4, **PAPER).fit(Y, X))
    x, y = X[:, model.x_selected_], Y[:, model.y_selected_]
    assert_allclose(model.canonical_correlations_, literal_canonical(x, y)[0])


def test_callable_kernels_and_sparse_views_agree_with_the_built_in_ones(seed):
    X, Y = two_views(seed)
    X, Y = X * (X > 1), Y * (Y > 6)
    linear = TwoViewProjSe(3).fit(X, Y)
    called = TwoViewProjSe(3, kernel=lambda A, B: A.T @ B).fit(X, Y)
    sparse = TwoViewProjSe(3).fit(sp.csr_array(X), sp.csc_matrix(Y))
    for other in (called, sparse):
        check(other.x_selector_, linear.x_selector_)
        check(other.y_selector_, linear.y_selector_)
        assert_allclose(other.canonical_correlation_path(), linear.canonical_correlation_path())
    held_out = sparse.canonical_correlation_path(sp.coo_array(X), sp.csr_array(Y))
    assert_allclose(held_out, linear.canonical_correlation_path(X, Y))
    x, y = sparse.transform(sp.csr_array(X), sp.csr_array(Y))
    assert_allclose(x.toarray(), X[:, np.sort(linear.x_selected_)])
    assert y.shape == (300, 3)


def test_from_moments_of_parts(seed):
    X, Y = two_views(seed)
    whole = TwoViewProjSe(3).fit(X, Y)
    parts = [Moments.from_arrays(X[s], Y[s], with_xx=True) for s in (slice(0, 9), slice(9, 300))]
    summed = TwoViewProjSe(3).fit_moments(sum(parts))
    check(summed.x_selector_, whole.x_selector_)
    check(summed.y_selector_, whole.y_selector_)
    assert_allclose(
        summed.canonical_correlation_grid(), whole.canonical_correlation_grid(), rtol=1e-9
    )


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_go_in_and_out(seed, frame):
    X, Y = two_views(seed)
    X = frame({f"gene{j}": X[:, j] for j in range(9)})
    Y = frame({f"met{j}": Y[:, j] for j in range(7)})
    model = TwoViewProjSe(3, x_include=["gene8"], y_exclude=["met0"]).fit(X, Y)
    assert model.x_selected_names_[0] == "gene8"
    assert "met0" not in model.y_selected_names_
    x, y = model.transform(X, Y)
    assert isinstance(x, frame)
    assert isinstance(y, frame)
    assert list(x.columns) == [f"gene{j}" for j in np.sort(model.x_selected_)]
    assert sorted(y.columns) == sorted(model.y_selected_names_)
    assert isinstance(model.transform(X), frame)
    assert_allclose(model.canonical_correlation_path(X, Y), model.canonical_correlation_path())
    with pytest.raises(ValueError, match=r"'met1'.*'met0'"):
        model.transform(X, Y[[*Y.columns[1:], Y.columns[0]]])


def test_names_without_names(seed):
    X, Y = two_views(seed)
    model = TwoViewProjSe(1).fit(X.tolist(), Y.tolist())
    assert model.x_selected_names_[0] == f"x{model.x_selected_[0]}"
    assert model.y_selected_names_[0] == f"y{model.y_selected_[0]}"


def test_is_a_scikit_learn_estimator(seed):
    X, Y = two_views(seed)
    model = TwoViewProjSe((3, "auto"), alpha=0.1)
    assert clone(model).get_params() == model.get_params()
    x, y = model.fit_transform(X, Y)
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.transform(X, Y)[1], y)
    assert x.shape[1] == 3
    with pytest.raises(ValueError, match="Y is None"):
        model.canonical_correlation_path(X)


class WithASecondView(TwoViewProjSe):
    """Give Y a second column: scikit-learn's checks pass one output, which is no view."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, self.view(y), sample_weight)

    def fit_transform(self, X, y, sample_weight=None):
        return self.fit(X, y, sample_weight).transform(X, self.view(y))

    @staticmethod
    def view(y):
        if y is None:
            return None
        y = check_array(y, ensure_2d=False, dtype=float, ensure_all_finite=False, input_name="y")
        y = y.reshape(len(y), -1)
        return np.hstack([y, np.cos(3 * y)])


def pairs_come_out(estimator):
    why = "fit_transform returns both views, which the checks know of sklearn.cross_decomposition"
    general = "check_transformer_general"
    names = (general, f"{general}(readonly_memmap=True)", "check_transformer_data_not_an_array")
    return dict.fromkeys(names, why)


@arbitrary_picks
@parametrize_with_checks([WithASecondView(1)], expected_failed_checks=pairs_come_out)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("named", [True, False])
def test_set_output_makes_frames_of_both_views(seed, library, named):
    X, Y = two_views(seed)
    kind = {"pandas": pd, "polars": pl}[library].DataFrame
    x_names, y_names = [f"x{j}" for j in range(9)], [f"y{j}" for j in range(7)]
    if named:
        x_names, y_names = [f"gene{j}" for j in range(9)], [f"met{j}" for j in range(7)]
        X, Y = pd.DataFrame(X, columns=x_names), pd.DataFrame(Y, columns=y_names)
    model = TwoViewProjSe((3, 2)).set_output(transform=library)
    x, y = model.fit_transform(X, Y)
    assert isinstance(x, kind)
    assert isinstance(y, kind)
    assert list(x.columns) == [x_names[j] for j in np.sort(model.x_selected_)]
    assert list(y.columns) == [y_names[j] for j in np.sort(model.y_selected_)]
    assert model.get_feature_names_out().tolist() == list(x.columns)
    assert isinstance(model.transform(X), kind)
    assert_allclose(y.to_numpy(), np.asarray(Y)[:, np.sort(model.y_selected_)])
    with config_context(transform_output=library):
        assert isinstance(TwoViewProjSe(2).fit_transform(X, Y)[1], kind)
        as_given = clone(model).set_output(transform="default").fit_transform(X, Y)
        assert [type(view) for view in as_given] == [type(X), type(Y)]


def test_names_out_follow_the_names_in(seed):
    X, Y = two_views(seed)
    model = TwoViewProjSe(2).fit(X, Y)
    names = np.array([f"v{j}" for j in range(9)], dtype=object)
    want = names[np.sort(model.x_selected_)]
    assert model.get_feature_names_out(names).tolist() == want.tolist()
    with pytest.raises(ValueError, match="input_features"):
        model.get_feature_names_out(names[1:])
    with pytest.raises(NotFittedError):
        TwoViewProjSe(2).get_feature_names_out()


def test_tags_say_what_it_takes():
    tags = get_tags(TwoViewProjSe())
    assert tags.transformer_tags is not None
    assert tags.input_tags.sparse
    assert tags.target_tags.required
    assert tags.target_tags.multi_output
    assert not tags.target_tags.single_output


def test_transform_refuses_what_a_selector_refuses(seed):
    X, Y = two_views(seed)
    model = TwoViewProjSe(2).fit(X, Y)
    bad = X.copy()
    bad[3, 4] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        model.transform(bad)
    with pytest.raises(ValueError, match="Y has 6 features, but TwoViewProjSe is expecting 7"):
        model.transform(X, Y[:, 1:])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.transform(X, Y[1:])
    with pytest.raises(ValueError, match="requires y to be passed"):
        TwoViewProjSe(2).fit(X, None)


BAD = {
    "one column in Y": (lambda X, Y: (X, Y[:, :1]), "Y has one column.*use ProjSe"),
    "one column in X": (lambda X, Y: (X[:, :1], Y), "X has one column"),
    "other length": (lambda X, Y: (X, Y[1:]), "inconsistent numbers of samples"),
    "NaN": (lambda X, Y: (X, np.where(Y[0, 1] == Y, np.nan, Y)), "y contains NaN.*column 1"),
    "text": (lambda X, Y: (X, pd.DataFrame(Y).assign(name="a").rename(columns=str)), "Y.*'name'"),
    "all constant": (lambda X, Y: (X, np.ones_like(Y)), "constant"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_and_leaves_no_trace(seed, case):
    change, message = BAD[case]
    X, Y = two_views(seed)
    model = TwoViewProjSe(2)
    with pytest.raises(ValueError, match=message):
        model.fit(*change(X, Y))
    assert not [name for name in vars(model) if name.endswith("_")]
    model.fit(X, Y)
    before = model.x_selected_
    with pytest.raises(ValueError, match=message):
        model.fit(*change(X, Y))
    assert model.x_selected_ is before


def test_bad_parameters_are_named(seed):
    X, Y = two_views(seed)
    with pytest.raises(ValueError, match=r"pair \(n_x, n_y\)"):
        TwoViewProjSe((1, 2, 3)).fit(X, Y)
    with pytest.raises(ValueError, match="n_features_to_select=99"):
        TwoViewProjSe((3, 99)).fit(X, Y)
    model = TwoViewProjSe(2).fit(X, Y)
    with pytest.raises(ValueError, match="x_sizes holds 3"):
        model.canonical_correlation_grid(x_sizes=[3])
    with pytest.raises(ValueError, match="n_components=0"):
        model.canonical_correlation_path(n_components=0)
    with pytest.raises(ValueError, match="X has 8 features, but TwoViewProjSe is expecting 9"):
        model.transform(X[:, 1:])
    with pytest.raises(ValueError, match="with_xx=True"):
        TwoViewProjSe(2, **PAPER).fit_moments(Moments.from_arrays(X, Y, with_xx=False))
    with pytest.raises(ValueError, match="class labels"):
        TwoViewProjSe(2).fit_moments(Moments.from_arrays(X, X[:, 0] > 0, with_xx=True))
    with pytest.raises(TypeError, match="needs Moments"):
        TwoViewProjSe(2).fit_moments(X)


def test_a_nearly_dependent_pick_counts_as_in_the_metric(seed):
    rng = np.random.default_rng([seed, 31])
    a, b, c = rng.normal(size=(3, 400))
    X, Y = np.column_stack([a, a + 3e-6 * b]), np.column_stack([b, c])
    model = TwoViewProjSe(2).fit(X, Y)
    want = literal_canonical(X, Y)[0]
    assert want[0] > 0.99, "what is left of the second column is in Y"
    assert_allclose(model.canonical_correlations_, want, atol=1e-2)
    assert_allclose(canonical_correlations(X, Y), want, atol=1e-2)


def pair_by_hand(X, Y):
    """Squared correlations of all pairs."""
    return np.corrcoef(X.T, Y.T)[: X.shape[1], X.shape[1] :] ** 2


@pytest.mark.parametrize("m", [200, 25])
def test_both_sides_begin_with_the_pair_that_correlates_most(seed, m):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(m, 30)), rng.normal(size=(m, 40))
    X[:, 7] += 2 * Y[:, 9]
    # Many outputs follow x3 a little, which alone would make it the first pick.
    Y[:, 10:] += 0.8 * X[:, [3]]
    squares = pair_by_hand(X, Y)
    x, y = np.unravel_index(squares.argmax(), squares.shape)
    for views in (
        TwoViewProjSe(3, **AUTO).fit(X, Y),
        TwoViewProjSe(3, **AUTO).fit_moments(Moments.from_arrays(X, Y, with_xx=True)),
        TwoViewProjSe(3, **AUTO).fit(sp.csr_array(X), sp.csr_array(Y)),
    ):
        assert (views.x_selected_[0], views.y_selected_[0]) == (x, y)
        assert views.canonical_correlations_[0] ** 2 >= squares.max() - 1e-9
    excluded = x
    squares[excluded] = 0
    x, y = np.unravel_index(squares.argmax(), squares.shape)
    views = TwoViewProjSe(3, x_exclude=[excluded], **AUTO).fit(X, Y)
    assert (views.x_selected_[0], views.y_selected_[0]) == (x, y)


def test_the_user_says_what_comes_first(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(60, 8)), rng.normal(size=(60, 9))
    Y[:, 2] += X[:, 5]
    views = TwoViewProjSe(3, x_include=[1], **AUTO).fit(X, Y)
    assert views.x_selected_[0] == 1


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"n_features_to_select": 4}, "Y has 3 columns"),
        ({"y_exclude": [7]}, "Y has columns 0 to 2"),
        ({"y_include": ["a"]}, "Y has no column names"),
        ({"x_exclude": [7]}, "X has columns 0 to 4"),
    ],
)
def test_errors_name_the_view(seed, parameters, said):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(40, 5)), rng.normal(size=(40, 3))
    with pytest.raises(ValueError, match=said):
        TwoViewProjSe(**parameters).fit(X, Y)


def test_a_fit_that_fails_leaves_the_covariates_of_the_one_before(seed):
    X, Y = two_views(seed)
    rng = np.random.default_rng(seed)
    days = pd.to_timedelta(rng.integers(0, 900, len(X)), "D")
    Z = pd.DataFrame({"day": pd.Timestamp("2021-01-01") + days})
    views = TwoViewProjSe(3).fit(X, Y, covariates=Z)
    before = views.canonical_correlation_path(X, Y, covariates=Z)
    for covariates in (None, Z[::-1].assign(site="Oslo")):
        with pytest.raises(ValueError, match="holds text"):
            views.fit(X, np.full(len(X), "a"), covariates=covariates)
    assert_allclose(views.canonical_correlation_path(X, Y, covariates=Z), before, rtol=0, atol=0)


def test_moments_may_be_updated_after_the_fit(seed):
    X, Y = two_views(seed)
    moments = Moments.from_arrays(X[:200], Y[:200], with_xx=True)
    views = TwoViewProjSe(3).fit_moments(moments)
    moments.update(X[200:], Y[200:])
    assert moments.n_samples == len(X)
    assert views.moments_.n_samples == 200
    assert TwoViewProjSe(3).fit_moments(views.moments_).x_scores_.tolist() == (
        views.x_scores_.tolist()
    )
