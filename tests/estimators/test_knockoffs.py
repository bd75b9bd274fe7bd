"""KnockoffProjSe: the same discoveries from wherever rows lie, and a bound on false ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from projse import KnockoffProjSe, Moments, ProjSe, block_moments
from projse.exceptions import NothingSelectedWarning, ProductsMissingError

quiet = pytest.mark.filterwarnings("ignore::projse.exceptions.NothingSelectedWarning")
N_REAL = 12


def no_repetitions(estimator):
    why = "with few rows, a row of weight 2 screens or judges as one; two equal rows go apart"
    kinds = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in kinds}


@quiet
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@parametrize_with_checks(
    [KnockoffProjSe(fdr=0.9, n_draws=2, random_state=0)], expected_failed_checks=no_repetitions
)
def test_scikit_learn_checks(estimator, check):
    if sklearn.__version__.startswith("1.7.") and "positive_only" in str(check):
        pytest.skip("it subtracts a mean from the whole numbers that it makes for categories")
    check(estimator)


def real_and_not(seed, m=400, p=30, q=4, size=1.0):
    """Candidates of which the first twelve matter, and outputs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, p)) + 3.0
    effects = rng.choice([-size, size], size=(N_REAL, q))
    return X, X[:, :N_REAL] @ effects + rng.normal(size=(m, q)) + 1.0


def knockoffs(*arguments, **parameters):
    return KnockoffProjSe(*arguments, **{"n_draws": 5, "random_state": 0, **parameters})


def same(a, b):
    assert_array_equal(a.selected_, b.selected_)
    assert_allclose(a.statistics_, b.statistics_, rtol=1e-5, atol=1e-6)
    assert_allclose(a.evalues_, b.evalues_)
    assert_array_equal(a.groups_, b.groups_)


def test_finds_what_matters_and_says_how_surely(seed):
    X, Y = real_and_not(seed)
    found = knockoffs(fdr=0.2).fit(X, Y)
    assert set(range(N_REAL)) <= set(found.selected_)
    assert len(found.selected_) <= 22
    assert_array_equal(np.flatnonzero(found.support_), np.sort(found.selected_))
    assert_array_equal(found.support_, found.evalues_ >= found.threshold_)
    assert np.all(np.diff(found.evalues_[found.selected_]) <= 0)
    assert found.transform(X).shape == (400, len(found.selected_))
    assert found.n_variables_ == 30
    assert found.selection_frequencies_[:N_REAL].min() > 0.5
    assert 0.3 < found.stability_ <= 1
    assert 0 < found.agreement_ <= 1
    assert found.screened_ is None
    assert len(found.moments_.x_mean) == 30


def test_one_draw_goes_by_its_statistics(seed):
    X, Y = real_and_not(seed)
    found = knockoffs(n_draws=1, fdr=0.2).fit(X, Y)
    assert_array_equal(found.support_, found.statistics_ >= found.threshold_)
    assert np.isnan(found.stability_)
    assert np.isnan(found.agreement_)


@pytest.mark.parametrize(
    "more", [{}, {"twins": "equal"}, *({"statistic": s} for s in ("ridge", "score", "order"))]
)
def test_every_statistic_and_kind_of_twin_finds_what_is_plain(seed, more):
    X, Y = real_and_not(seed, p=24)
    found = knockoffs(fdr=0.2, n_draws=3, **more).fit(X, Y)
    assert set(range(N_REAL)) <= set(found.selected_)


@quiet
@pytest.mark.parametrize("n_twins", [1, 3])
def test_rate_of_false_discoveries_is_kept(seed, n_twins):
    """Also where nothing matters: then every discovery is false."""
    for n_real in (0, 6):
        shares = []
        for k in range(30):
            rng = np.random.default_rng([seed, k])
            X = rng.normal(size=(60, 12))
            Y = 0.6 * X[:, :n_real].sum(axis=1, keepdims=True) + rng.normal(size=(60, 2))
            model = knockoffs(n_draws=1, n_twins=n_twins, fdr=0.3, random_state=k)
            chosen = model.fit(X, Y).selected_
            shares.append(np.mean(chosen >= n_real) if chosen.size else 0.0)
        assert np.mean(shares) < 0.3 + 4 * np.sqrt(0.25 / 30)


def test_there_are_as_many_twins_as_few_discoveries_need_and_rows_have_room_for(seed):
    X, Y = real_and_not(seed)
    for fdr, n_twins in ((0.5, 1), (0.2, 2), (0.1, 4), (0.05, 8), (0.01, 12)):
        assert knockoffs(fdr=fdr, n_draws=1).fit(X, Y).n_twins_ == n_twins
    assert knockoffs(fdr=0.1).fit(X[:100], Y[:100]).n_twins_ == 2
    assert knockoffs(fdr=0.1, n_twins=12).fit(X, Y).n_twins_ == 12


def test_few_variables_are_found_with_several_twins(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 30))
    Y = X[:, :4] @ rng.choice([-1.0, 1.0], size=(4, 3)) + rng.normal(size=(400, 3))
    found = knockoffs(fdr=0.1).fit(X, Y)
    assert set(range(4)) <= set(found.selected_)
    with pytest.warns(NothingSelectedWarning):
        assert knockoffs(fdr=0.1, n_twins=1).fit(X, Y).selected_.size == 0


# From wherever rows lie


def test_arrays_frames_sparse_matrices_and_moments_agree(seed, tmp_path):
    X, Y = real_and_not(seed)
    model = knockoffs(fdr=0.2)
    first = clone(model).fit(X, Y)
    frame = pd.DataFrame(X, columns=[f"v{j}" for j in range(30)])
    from_frame = clone(model).fit(frame, Y)
    same(first, from_frame)
    assert set(from_frame.get_feature_names_out()) == {f"v{j}" for j in first.selected_}
    same(first, clone(model).fit(sp.csr_array(X), Y))
    moments = Moments.from_arrays(X, Y)
    same(first, clone(model).fit_moments(moments))
    moments.save(tmp_path / "all.moments")
    same(first, clone(model).fit_moments(tmp_path / "all.moments"))
    same(first, clone(model).fit_moments(block_moments(X, Y, 7, random_state=seed)))


def test_files_agree(seed, tmp_path):
    X, Y = real_and_not(seed)
    frame = pd.DataFrame(
        np.column_stack([X, Y]),
        columns=[*(f"v{j}" for j in range(30)), *(f"y{k}" for k in range(4))],
    )
    for i in range(3):
        frame[i::3].to_parquet(tmp_path / f"{i}.parquet", index=False)
    model = knockoffs(fdr=0.2)
    same(clone(model).fit(X, Y), clone(model).fit_source(str(tmp_path), targets="y*"))


def test_dask_agrees(seed):
    da = pytest.importorskip("dask.array")
    X, Y = real_and_not(seed)
    model = knockoffs(fdr=0.2)
    there = clone(model).fit(da.from_array(X, (150, -1)), da.from_array(Y, (150, -1)))
    same(clone(model).fit(X, Y), there)


def test_threads_and_batches_do_not_matter(seed):
    X, Y = real_and_not(seed, m=3000)
    same(
        knockoffs(fdr=0.2, n_jobs=1).fit(X, Y),
        knockoffs(fdr=0.2, n_jobs=2, batch_size=100).fit(X, Y),
    )


def test_random_state_decides(seed):
    X, Y = real_and_not(seed)
    one, other = (
        knockoffs(fdr=0.2, random_state=s).fit(X, Y).statistics_ for s in (seed, seed + 1)
    )
    assert np.abs(one - other).max() > 1e-3
    assert_array_equal(one, knockoffs(fdr=0.2, random_state=seed).fit(X, Y).statistics_)


# What is conditioned on, and what counts as one


def test_include_is_conditioned_on_and_not_counted(seed):
    X, Y = real_and_not(seed)
    X[:, 20] = X[:, 0] + 0.5 * X[:, 20]  # matters only as long as column 0 is not known
    found = knockoffs(ProjSe(include=[0], exclude=[25]), fdr=0.2).fit(X, Y)
    assert not {0, 25} & set(found.selected_)
    assert found.groups_[0] == found.groups_[25] == -1
    assert np.isnan(found.statistics_[[0, 25]]).all()
    assert found.n_variables_ == 28
    assert set(range(1, N_REAL)) <= set(found.selected_)


@quiet
def test_include_equals_a_fit_of_what_it_leaves(seed):
    """Residuals, whose rows are one dimension fewer."""
    X, Y = real_and_not(seed)
    found = knockoffs(ProjSe(include=[0])).fit(X, Y)
    both = knockoffs().fit(X[:, 1:], Y, covariates=X[:, 0])
    assert_allclose(found.statistics_[1:], both.statistics_, rtol=1e-6, atol=1e-8)
    design = np.column_stack([np.ones(400), X[:, 0]])
    left = np.column_stack([X[:, 1:], Y])
    left = left - design @ np.linalg.lstsq(design, left, rcond=None)[0]
    moments = Moments.from_arrays(left[:, :29], left[:, 29:])
    moments.n_samples, moments.sum_weights = 399, 399.0
    plain = knockoffs().fit_moments(moments)
    assert_allclose(plain.statistics_, both.statistics_, rtol=1e-5, atol=1e-7)


def test_covariates_explain_away_what_they_carry(seed):
    rng = np.random.default_rng(seed)
    X, Y = real_and_not(seed)
    age = rng.normal(size=400)
    X[:, 15:25] += 2 * age[:, None]
    found = knockoffs(fdr=0.2).fit(X, Y + 5 * age[:, None], covariates=age)
    assert set(range(N_REAL)) <= set(found.selected_)
    assert len(found.selected_) <= 22
    assert found.moments_.n_covariates == 1


def test_near_copies_are_found_together(seed):
    rng = np.random.default_rng(seed)
    X, Y = real_and_not(seed)
    X[:, 13] = X[:, 1] + 1e-3 * rng.normal(size=400)  # cannot be told from column 1
    X[:, 14] = X[:, 2]
    X[:, 29] = X[:, 27] - X[:, 28]
    found = knockoffs(fdr=0.2).fit(X, Y)
    assert found.groups_[13] == found.groups_[1]
    assert found.groups_[14] == found.groups_[2]
    assert len(set(found.groups_[[27, 28, 29]])) == 1
    assert found.n_variables_ == 26
    assert {1, 2, 13, 14} <= set(found.selected_)
    places = [found.selected_.tolist().index(j) for j in (1, 13)]
    assert places[1] - places[0] == 1


def test_groups_are_found_whole_and_any_basis_of_theirs_will_do(seed):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(15), 3)
    X = rng.normal(size=(400, 45))
    Y = X[:, :36:3] @ rng.choice([-1.0, 1.0], size=(12, 4)) + rng.normal(size=(400, 4))
    found = knockoffs(groups=labels, fdr=0.2).fit(X, Y)
    assert found.n_variables_ == 15
    assert set(np.bincount(labels[found.selected_], minlength=15)) <= {0, 3}
    assert set(range(36)) <= set(found.selected_)
    # Triangular: the bases, which are made column by column, stay what they are.
    mixed = X.copy()
    mixed[:, 1::3] += 0.7 * X[:, ::3]
    mixed[:, 2::3] -= 0.4 * X[:, ::3]
    again = knockoffs(groups=labels, fdr=0.2).fit(mixed, Y)
    assert_allclose(again.statistics_, found.statistics_, rtol=1e-5, atol=1e-6)


def test_groups_of_the_selector_are_those_of_the_twins(seed):
    rng = np.random.default_rng(seed)
    groups = {f"g{i}": [3 * i, 3 * i + 1, 3 * i + 2] for i in range(15)}
    X = rng.normal(size=(400, 45))
    Y = X[:, :36:3] @ rng.choice([-1.0, 1.0], size=(12, 4)) + rng.normal(size=(400, 4))
    of_selector = knockoffs(ProjSe(groups=groups), fdr=0.2).fit(X, Y)
    assert of_selector.n_variables_ == 15
    same(of_selector, knockoffs(groups=groups, fdr=0.2).fit(X, Y))
    left_out = ProjSe(groups=groups, include=["g0"], exclude=["g14"])
    by_name = knockoffs(left_out, fdr=0.2).fit(X, Y)
    by_column = ProjSe(include=[0, 1, 2], exclude=[42, 43, 44])
    same(by_name, knockoffs(by_column, groups=groups, fdr=0.2).fit(X, Y))
    assert left_out.groups is groups
    assert left_out.include == ["g0"]
    with pytest.raises(ValueError, match="given twice"):
        knockoffs(ProjSe(groups=groups), groups=groups).fit(X, Y)


def test_class_labels_and_label_sets_are_outputs(seed):
    rng = np.random.default_rng(seed)
    X, Y = real_and_not(seed, m=1500, q=2)
    classes = np.array(["a", "b", "c"])[np.digitize(Y[:, 0], np.quantile(Y[:, 0], [0.3, 0.7]))]
    found = knockoffs(fdr=0.2).fit(X, classes)
    assert len(set(range(N_REAL)) & set(found.selected_)) >= 9
    sets = np.column_stack([np.median(Y, axis=0) < Y, rng.random(1500) > 0.5]).astype(float)
    assert len(set(range(N_REAL)) & set(knockoffs(fdr=0.2).fit(X, sets).selected_)) >= 9


def test_weights_are_counts(seed):
    X, Y = real_and_not(seed)
    counts = np.random.default_rng(seed).integers(0, 3, size=400)
    same(
        knockoffs(fdr=0.2).fit(X, Y, sample_weight=counts),
        knockoffs(fdr=0.2).fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0)),
    )
    with pytest.raises(
        ValueError, match=r"sample_weight holds \d\.5; twins take weights as counts"
    ):
        knockoffs().fit(X, Y, sample_weight=counts + 0.5)
    for weight in (counts / 4, counts + np.pi):
        with pytest.raises(ValueError, match="twins take weights as counts"):
            knockoffs().fit_moments(Moments.from_arrays(X, Y, weight))


# Few rows


def test_with_few_rows_some_screen_and_the_others_judge(seed):
    X, Y = real_and_not(seed, m=300, p=400, size=1.5)
    found = knockoffs(fdr=0.2).fit(X, Y)
    assert len(found.screened_) == 50
    assert set(found.selected_) <= set(found.screened_)
    assert len(set(range(N_REAL)) & set(found.selected_)) >= 8
    assert np.isnan(found.statistics_[np.setdiff1d(np.arange(400), found.screened_)]).all()


def test_moments_of_blocks_screen_where_all_together_are_too_few(seed):
    X, Y = real_and_not(seed, m=300, p=200, size=1.5)
    found = knockoffs(fdr=0.2).fit_moments(block_moments(X, Y, 9, random_state=0))
    assert len(found.screened_) == 49  # 198 rows are left to judge
    assert len(set(range(N_REAL)) & set(found.selected_)) >= 8
    with pytest.raises(ValueError, match=r"Twins of 200 candidates need 401 rows.*hold 300; pass"):
        knockoffs().fit_moments(Moments.from_arrays(X, Y))


@pytest.mark.parametrize("m", [2, 3, 4])
def test_a_handful_of_rows_is_refused(seed, m):
    X, Y = real_and_not(seed, m=m)
    with pytest.raises(ValueError, match="too few rows for any answer"):
        knockoffs().fit(X, Y)


@pytest.mark.parametrize("n_twins", [1, 4])
@pytest.mark.parametrize("statistic", ["likelihood", "ridge", "score"])
def test_rounding_is_no_discovery(seed, statistic, n_twins):
    """Outputs without noise: what does not matter differs from its twins by rounding alone.

    By "order" it is picked before or after them by lot, which the filter allows for.
    """
    X, Y = real_and_not(seed, m=200, p=15)
    effects = np.random.default_rng(seed).normal(size=(4, 3))
    model = knockoffs(fdr=0.5, n_draws=1, statistic=statistic, n_twins=n_twins)
    for noise in (0.0, 1e-13, 1e-8):
        found = clone(model).fit(X, X[:, :4] @ effects + noise * Y[:, :3])
        assert set(found.selected_) <= set(range(4))


@quiet
def test_screening_keeps_what_is_conditioned_on(seed):
    X, Y = real_and_not(seed, m=120, p=90)
    z = np.random.default_rng(seed).normal(size=(120, 2))
    found = knockoffs(ProjSe(include=[3]), fdr=0.4).fit(X, Y, covariates=z)
    assert 3 not in found.screened_
    assert 3 not in found.selected_


# What is refused


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"fdr": 0}, "fdr=0 must be"),
        ({"fdr": 1}, "fdr=1 must be"),
        ({"fdr": "a"}, "fdr='a' must be"),
        ({"n_draws": 0}, "n_draws=0 must be at least 1"),
        ({"n_twins": 0}, "n_twins=0 must be at least 1"),
        ({"n_twins": 13}, "n_twins=13 of 30 candidates need 21 rows more .* room for 12 of each"),
        ({"statistic": "lasso"}, "statistic='lasso' is not one of 'likelihood'"),
        ({"twins": "sdp"}, "twins='sdp' is not one of 'mvr', 'equal'"),
        ({"max_correlation": 2}, "max_correlation=2 must be"),
        ({"groups": [1, 2]}, r"groups has 2 labels, but X has 30 columns"),
        ({"selector": ProjSe(kernel="rbf")}, "kernel='linear'"),
        ({"selector": ProjSe(center=False)}, "center=True"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        KnockoffProjSe(**parameters).fit(*real_and_not(0))


def test_what_has_no_twins_is_refused(seed):
    X, Y = real_and_not(seed)
    with pytest.raises(TypeError, match="selector must be a ProjSe, not StandardScaler"):
        KnockoffProjSe(StandardScaler()).fit(X, Y)
    with pytest.raises(ValueError, match="hold one view"):
        KnockoffProjSe().fit_moments(Moments.from_arrays(X))
    with pytest.raises(ProductsMissingError, match="with_xx=True"):
        KnockoffProjSe().fit_moments(Moments.from_arrays(X, Y, with_xx=False))
    with pytest.raises(ValueError, match="with_xx=False leaves out"):
        KnockoffProjSe().fit_source((X, Y), with_xx=False)
    with pytest.raises(ValueError, match="All columns of y are constant"):
        KnockoffProjSe().fit(X, np.ones((400, 2)))
    with pytest.raises(ValueError, match="All columns of X are constant"):
        KnockoffProjSe().fit(np.ones((400, 3)), Y)


def test_nothing_found_is_said_with_the_reason(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(100, 8)), rng.normal(size=(100, 2))
    with pytest.warns(NothingSelectedWarning, match=r"fdr=0\.1: .* at least 10 variables"):
        found = knockoffs(n_twins=1).fit(X, Y)
    assert found.selected_.size == 0
    assert found.threshold_ == np.inf


def test_a_failed_fit_leaves_the_last_one(seed):
    X, Y = real_and_not(seed)
    found = knockoffs(fdr=0.2).fit(X, Y)
    before = found.selected_
    with pytest.raises(ValueError, match="constant"):
        found.fit(X, np.ones(400))
    assert found.selected_ is before


def test_works_in_a_pipeline(seed):
    X, Y = real_and_not(seed)
    pipeline = make_pipeline(StandardScaler(), knockoffs(fdr=0.2))
    assert pipeline.fit_transform(X, Y).shape[1] >= N_REAL
