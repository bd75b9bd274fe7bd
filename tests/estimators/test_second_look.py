"""What a second look found: rows that are gone, rows that do not count, and answers of nothing."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from planted import planted
from sklearn.linear_model import Ridge

from projse import (
    Moments,
    ProjSe,
    ProjSeCV,
    TwoViewProjSe,
    block_moments,
    moments_from,
    subspace_correlation,
)
from projse.exceptions import ManyClassesWarning, PrecisionLossWarning


def test_moments_of_no_rows_remember_nothing(seed):
    def day(k, scale):
        rng = np.random.default_rng([seed, k])
        X = rng.normal(size=(200, 3)).astype("f4")
        y = (X[:, 0] + 0.1 * rng.normal(size=200)).astype("f4")
        X[:, 0] *= scale
        return Moments.from_arrays(X, y)

    old = day(1, 1e3)
    empty = old - old
    assert empty.x_peak is None
    assert not empty.xx_diag.any()
    assert ProjSe(1).fit_moments(empty + day(2, 1.0)).selected_.tolist() == [0]


def test_dependent_outputs_of_few_rows_lose_no_picks_in_partial_fit(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(15, 600)), rng.normal(size=(15, 2)) @ rng.normal(size=(2, 20))
    want = ProjSe(10).fit(X, Y)
    assert_array_equal(ProjSe(10).partial_fit(X, Y).selected_, want.selected_)


@pytest.mark.parametrize("options", [{}, {"alpha": 1.0, "redundancy": 0.2, "round_size": 1}])
def test_auto_is_refused_where_there_are_no_pvalues(seed, options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 10))
    Y = X[:, :3] @ rng.normal(size=(3, 40)) + 0.01 * rng.normal(size=(30, 40))
    with pytest.raises(ValueError, match="need more rows"):
        ProjSe("auto", **options).fit(X, Y)


@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingPredictsWarning")
def test_rows_of_weight_zero_neither_count_nor_are_seen(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 4)), np.array(["b", "c"] * 30)
    y[:2] = "a"
    w = np.ones(60)
    w[2:22] = 0
    with pytest.raises(ValueError, match="Class 'a' has 2 row"):
        ProjSeCV(cv=5, n_features=2).fit(X, y, w)
    X[5] = np.nan
    target = X[:, 0] + rng.normal(size=60)
    target[5] = 0.0
    chosen = ProjSeCV(cv=3, n_features=2, estimator=Ridge()).fit(X, target, w)
    assert np.isfinite(chosen.cv_results_["mean_test_score"]).all()


def test_two_views_without_a_relation_are_no_error(seed):
    rng = np.random.default_rng(seed)
    views = TwoViewProjSe("auto").fit(rng.normal(size=(60, 6)), rng.normal(size=(60, 3)))
    if not len(views.x_selected_) or not len(views.y_selected_):
        assert views.canonical_correlations_.shape == (0,)


@pytest.mark.parametrize("burst", [1e8, 1e9, 1e10, 1e11])
def test_what_was_added_can_be_taken_out_though_a_column_is_lost(seed, burst):
    rng = np.random.default_rng(seed)
    a, b = (
        Moments.from_arrays(rng.normal(size=(100, 4)) * [k, 1, 1, 1], rng.normal(size=(100, 1)))
        for k in (1, burst)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionLossWarning)  # which names the lost column
        left = (a + b) - b
    assert left.n_samples == 100


def test_batches_of_one_class_can_be_saved(seed, tmp_path):
    for n in range(2, 8):
        rng = np.random.default_rng([seed, n])
        X = (rng.normal(size=(n, 5)) + 1).astype("f4")
        Moments.from_arrays(X, np.zeros(n, int)).save(tmp_path / "one")
        assert Moments.load(tmp_path / "one").n_samples == n


@pytest.mark.parametrize("solver", ["auto", "qr"])
def test_constant_references_of_sparse_rows_are_named(solver):
    with pytest.raises(ValueError, match="All columns of y are constant"):
        ProjSe(1, solver=solver).fit(sp.csr_array(np.eye(4)), np.ones((4, 5)))


def test_whole_numbers_are_numbers_wherever_there_are_many(seed):
    X = np.random.default_rng(seed).integers(0, 1000, size=(60, 3))
    assert subspace_correlation(X, X[:, 0])[0] == pytest.approx(1)
    assert block_moments(X.astype(float), X[:, 0], 4)[0].classes is None


def test_whole_numbers_of_a_source_are_judged_at_its_end(seed, tmp_path):
    X = np.random.default_rng(seed).integers(0, 1000, size=(60, 3))
    path = tmp_path / "rows.csv"
    pd.DataFrame(X, columns=["a", "b", "y"]).to_csv(path, index=False)
    moments = moments_from(path, targets="y")
    assert moments.classes is None
    assert moments.target_names == ("y",)
    assert moments_from(path, class_target="y").classes is not None
    assert ProjSe(1).fit_source(path, targets="y").moments_.classes is None
    few = pd.DataFrame(X % 25, columns=["a", "b", "y"])
    few.to_csv(path, index=False)
    with pytest.warns(ManyClassesWarning, match="target_type='continuous'") as seen:
        moments_from(path, targets="y")
    assert len(seen) == 1
    assert seen[0].filename == __file__


@pytest.mark.parametrize(
    "pair", [np.array([2, 3]), np.array([0.3, 0.5]), np.array([2, None]), [2, 3], (2, 3)]
)
def test_a_pair_of_numbers_may_be_an_array(seed, pair):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(60, 8)), rng.normal(size=(60, 6))
    want = TwoViewProjSe(tuple(np.asarray(pair).tolist())).fit(X, Y)
    model = TwoViewProjSe(pair).fit(X, Y)
    assert model.x_selected_.tolist() == want.x_selected_.tolist()
    assert model.y_selected_.tolist() == want.y_selected_.tolist()
    for bad in (np.array([2, 3, 4]), np.array([[2, 3]]), np.array([2])):
        with pytest.raises(ValueError, match=r"must be one number or a pair"):
            TwoViewProjSe(bad).fit(X, Y)


@pytest.mark.parametrize(
    ("rounds", "named"),
    [
        ({"round_size": None}, "round_size=None"),
        ({"round_size": 3}, "round_size=3"),
        ({"round_size": "auto", "exhausted": "restart"}, "exhausted='restart'"),
    ],
)
def test_a_redundancy_that_does_nothing_is_refused_or_none(seed, rounds, named):
    X, Y = planted(seed)
    for redundancy in (0.2, 1.0, 1):
        with pytest.raises(ValueError, match=rf"redundancy={redundancy} .*{named}.*round_size=1"):
            ProjSe(2, redundancy=redundancy, **rounds).fit(X, Y)
    for redundancy in ("auto", 0.0, 0):
        assert ProjSe(2, redundancy=redundancy, **rounds).fit(X, Y).redundancy_ == 0.0
    assert ProjSe(2, redundancy=0.2, round_size=1).fit(X, Y).redundancy_ == 0.2
    assert ProjSe(2, redundancy=0.2, round_size="auto").fit(X, Y).redundancy_ == 0.2
