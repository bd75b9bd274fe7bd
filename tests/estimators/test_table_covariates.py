"""Covariates of mixed tables: labels, gaps and dates, from memory, files, streams and Dask."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from honest_groups import Honest, draw, in_rounds
from numpy.testing import assert_allclose, assert_array_equal
from patients import TARGETS, patients
from sklearn.model_selection import KFold
from typer.testing import CliRunner

import projse.sources.encoded_rows
from projse import (
    PAPER,
    Moments,
    MomentsFileError,
    ProjSe,
    ProjSeCV,
    StabilityProjSe,
    TwoViewProjSe,
    moments_from,
    permutation_test,
)
from projse.cli.app import app
from projse.estimators.null_scores import permutations
from projse.estimators.permutation import _seeds

GIVEN = ["site", "height", "visit"]


def cohort(seed, *, gaps=True):
    """Patients whose site (a label that comes in order), height and day of visit matter."""
    frame = patients(seed, gaps=gaps)
    rng = np.random.default_rng([seed, 7])
    n = len(frame)
    frame["site"] = np.where(np.arange(n) < n // 3, "north", rng.choice(["east", "west"], n))
    frame["height"] = rng.normal(170, 9, n)
    days = rng.integers(0, 900, n)
    frame["visit"] = pd.Timestamp("2021-01-01") + pd.to_timedelta(days, unit="D")
    frame["noise"] += 6.0 * (frame.site == "north") + frame.height / 9
    frame["y_dose"] += 6.0 * (frame.site == "north") + frame.height / 9
    if gaps:
        frame.loc[rng.random(n) < 0.07, "height"] = np.nan
        frame.loc[rng.random(n) < 0.05, "site"] = None
    return frame


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(projse.sources.encoded_rows, "CHUNK_ROWS", (50, 50))


def parts(frame):
    return frame.drop(columns=[*TARGETS, *GIVEN]), frame[TARGETS], frame[GIVEN]


def in_memory(frame, **options):
    X, Y, Z = parts(frame)
    return ProjSe(5, **options).fit(X, Y, covariates=Z)


def assert_same_selection(a, b, tolerance=1e-8):
    assert a.selected_.tolist() == b.selected_.tolist()
    assert_allclose(a.scores_, b.scores_, rtol=0, atol=tolerance)
    assert_allclose(a.pvalues_, b.pvalues_, rtol=1e-5, atol=1e-9)


WAYS = [
    ("indicator", "parquet"),
    ("mean", "dask"),
    *(
        pytest.param(missing, kind, marks=pytest.mark.slow)
        for missing, kind in (
            *(("mean", "parquet"), ("drop", "parquet"), ("mean", "csv"), ("drop", "csv")),
            *(("indicator", "dask"), ("drop", "dask")),
        )
    ),
]


@pytest.mark.parametrize(("missing", "kind"), WAYS)
def test_every_way_in_selects_as_memory_does(seed, tmp_path, small_chunks, missing, kind):
    frame = cohort(seed)
    want = in_memory(frame, missing=missing)
    if kind == "dask":
        import dask
        import dask.dataframe as dd

        with dask.config.set(scheduler="threads"):
            found = in_memory(dd.from_pandas(frame, npartitions=4, sort=False), missing=missing)
    else:
        path = tmp_path / f"rows.{kind}"
        if kind == "csv":
            frame.to_csv(path, index=False)
        else:
            frame.to_parquet(path, row_group_size=70)
        options = {"targets": TARGETS, "covariates": GIVEN}
        found = ProjSe(5, missing=missing).fit_source(path, **options)
    assert_same_selection(found, want)
    moments = found.moments_
    assert moments.z_variables.names == tuple(GIVEN)
    assert moments.n_covariates == len(moments.z_variables.columns)
    assert moments.target_names[-moments.n_covariates :] == moments.z_variables.titles


def by_hand(frame, missing):
    """Dense columns of the covariates: a level each, a filled number, a trend and its waves."""
    height = frame.height.fillna(frame.height.mean())
    days = (frame.visit - frame.visit.min()).dt.days
    waves = [2 * np.pi * days / period for period in (365.2425, 7)]
    columns = [pd.get_dummies(frame.site, dummy_na=True), height, days]
    columns += [wave(angle) for angle in waves for wave in (np.sin, np.cos)]
    columns += [frame.height.isna()] if missing == "indicator" else []
    return np.column_stack(columns).astype(float)


@pytest.mark.parametrize("missing", ["indicator", "mean"])
def test_covariates_are_the_columns_that_one_would_make_of_them(seed, missing):
    frame = cohort(seed)
    frame = frame.drop(columns="day").assign(bmi=0.0, city="Oslo", y_load=frame.bmi.fillna(0))
    X, Y, Z = parts(frame)
    X = X[["age", "noise", "smoker"]]
    want = ProjSe(3).fit(
        X.astype(float), Y[["y_dose", "y_load"]], covariates=by_hand(frame, missing)
    )
    found = ProjSe(3, missing=missing).fit(X.astype(float), Y[["y_dose", "y_load"]], covariates=Z)
    assert_same_selection(found, want)
    assert want.selected_[0] == 0  # not what the site and the height stand behind
    assert ProjSe(1).fit(X.astype(float), Y["y_dose"]).selected_[0] == 1


def test_batches_go_on_from_each_other(seed):
    frame = cohort(seed)
    X, Y, Z = parts(frame)
    Y = Y[["y_dose"]]
    want = ProjSe(4, missing="mean").fit(X, Y, covariates=Z)
    first = ProjSe(4, missing="mean").fit(X[:300], Y[:300], covariates=Z[:300])
    first.partial_fit(X[300:], Y[300:], covariates=Z[300:])
    whole = ProjSe(4, missing="mean").partial_fit(X[:300], Y[:300], covariates=Z[:300])
    whole.partial_fit(X[300:], Y[300:], covariates=Z[300:])
    assert_same_selection(first, want)
    assert_same_selection(whole, want)


def test_class_labels_next_to_labelled_covariates(seed, tmp_path, small_chunks):
    frame = cohort(seed, gaps=False)
    X, Y, Z = parts(frame)
    want = ProjSe(3).fit(X, Y["y_team"], covariates=Z)
    frame.drop(columns=["y_dose", "y_load"]).to_parquet(tmp_path / "rows.parquet")
    found = ProjSe(3).fit_source(tmp_path, class_target="y_team", covariates=GIVEN)
    assert_same_selection(found, want)
    one_view = ProjSe(3, **PAPER).fit(X, covariates=Z)
    path = tmp_path / "rows.parquet"
    frame.drop(columns=TARGETS).to_parquet(path)
    assert_same_selection(ProjSe(3, **PAPER).fit_source(path, covariates=GIVEN), one_view)


def test_whole_numbers_that_are_many_are_one_number_beside_covariates(seed, tmp_path):
    frame = cohort(seed, gaps=False)
    X, _, Z = parts(frame)
    count = (frame.age * 10).round().astype(int)
    want = ProjSe(3).fit(X, count, covariates=Z)
    X.join(Z).assign(count=count).to_parquet(tmp_path / "rows.parquet")
    found = ProjSe(3).fit_source(tmp_path, targets="count", covariates=GIVEN)
    assert_same_selection(found, want)
    assert found.moments_.target_names[0] == "count"


def test_a_second_day_brings_new_levels_of_covariates(seed, tmp_path):
    frame = cohort(seed)
    folder, state = tmp_path / "days", tmp_path / "state"
    folder.mkdir()
    options = {"targets": TARGETS, "covariates": GIVEN, "state": state}
    frame[:250].assign(site="north").to_parquet(folder / "1.parquet")
    ProjSe(5, missing="mean").fit_source(folder, **options)
    frame[250:].to_parquet(folder / "2.parquet")
    found = ProjSe(5, missing="mean").fit_source(folder, **options)
    both = pd.concat([frame[:250].assign(site="north"), frame[250:]])
    assert_same_selection(found, in_memory(both, missing="mean"), 1e-6)
    plan = json.loads((state / "state.json").read_text())
    assert plan["encoding"]["z"]["names"] == GIVEN


def test_levels_of_covariates_come_last_in_whatever_order_moments_add_up(seed, tmp_path):
    frame = cohort(seed)
    whole = None
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        pieces = [frame[i * 130 : (i + 1) * 130] for i in range(3)]
        X, Y, Z = zip(*(parts(piece) for piece in pieces), strict=True)
        numbers = [x[["age", "noise"]].to_numpy() for x in X]
        labels = [y["y_team"].to_numpy() for y in Y]
        sites = [z[["site"]].fillna("none") for z in Z]
        sums = [
            Moments.from_arrays(*rows[:2], covariates=rows[2], with_xx=True)
            for rows in zip(numbers, labels, sites, strict=True)
        ]
        total = sums[order[0]] + sums[order[1]] + sums[order[2]]
        names = ("blue", "red", "site=east", "site=none", "site=north", "site=west")
        assert total.target_names == names
        whole = whole or total
        assert_allclose(total.yy, whole.yy, atol=1e-9)
        assert_allclose(total.yx, whole.yx, atol=1e-9)
    total.save(tmp_path / "sums")
    again = Moments.load(tmp_path / "sums")
    assert again.z_variables == total.z_variables
    total.z_variables = total.z_variables.restricted([0, 1])
    total.save(tmp_path / "bad")
    with pytest.raises(MomentsFileError, match="z_variables describe 2 columns, but there are 4"):
        Moments.load(tmp_path / "bad")


def test_rounds_of_groups_are_given_covariates(seed):
    for i in range(4):
        rng = np.random.default_rng([seed, 31, i])
        X, Y, labels, groups = draw(rng)
        # One column of a group follows from the covariates, and leaves it.
        Z = np.column_stack([rng.normal(size=len(X)) + X[:, 0] / 5, X[:, groups[0][0]]])
        picks, scores, pvalues = in_rounds(Honest(X, Y, groups, alpha=0.0, covariates=Z), 3)
        n = len(picks)
        model = ProjSe(n, groups=labels, **PAPER)
        want = model.fit(X, Y, covariates=Z)
        moments = Moments.from_arrays(X, Y, covariates=Z, with_xx=True)
        for found in (want, ProjSe(n, groups=labels, **PAPER).fit_moments(moments)):
            assert_array_equal(found.selected_, picks)
            assert_allclose(found.scores_, scores, rtol=1e-6, atol=1e-9)
            assert_allclose(found.pvalues_, pvalues, rtol=1e-5, atol=1e-9)


def test_permutations_shuffle_what_covariates_leave_of_the_references_of_groups(seed):
    rng = np.random.default_rng([seed, 32])
    X, Y, labels, _ = draw(rng)
    m = len(X)
    Z = rng.normal(size=(m, 2)) + X[:, :2] / 5
    options = {"covariates": Z, "n_permutations": 3, "random_state": 0}
    got = permutation_test(ProjSe(3, groups=labels), X, Y, **options)
    given = np.c_[np.ones(m), Z]
    R = Y - given @ np.linalg.lstsq(given, Y, rcond=None)[0]
    for order, scores in zip(permutations(_seeds(0, 3), m), got.null_scores, strict=True):
        want = ProjSe(3, groups=labels).fit(X, R[order], covariates=Z)
        assert_allclose(scores, want.scores_, rtol=1e-6)


@pytest.mark.slow
def test_folds_resamples_and_permutations_take_tables_with_covariates(seed):
    frame = cohort(seed, gaps=False)
    X, Y, Z = parts(frame)
    y = Y["y_dose"]
    folds = KFold(3, shuffle=True, random_state=0)
    chosen = ProjSeCV(ProjSe(), cv=folds, n_features=3).fit(X, y, covariates=Z)
    assert chosen.get_feature_names_out()[0] == "age"
    stable = StabilityProjSe(ProjSe(2), 6, random_state=0).fit(X, y, covariates=Z)
    assert {"age", "city"} >= {*stable.get_feature_names_out()}
    tested = permutation_test(ProjSe(2), X, y, covariates=Z, n_permutations=19, random_state=0)
    assert tested.pvalues[0] == pytest.approx(1 / 20)


def test_held_out_rows_of_two_views_may_lack_levels_of_covariates(seed):
    rng = np.random.default_rng([seed, 33])
    X, Y = rng.normal(size=(2, 120, 5))
    Y[:, 0] += X[:, 0]
    site = np.repeat(["a", "b", "c"], 40)
    two = TwoViewProjSe(2).fit(X, Y, covariates=site)
    known = pd.Series(pd.Categorical(site, categories=list("abc")))
    want = two.canonical_correlation_path(X[:60], Y[:60], covariates=known[:60])
    found = two.canonical_correlation_path(X[:60], Y[:60], covariates=site[:60])
    assert_allclose(found, want)


def test_the_command_takes_labels_dates_and_gaps_for_covariates(seed, tmp_path):
    frame = cohort(seed)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    want = in_memory(frame, missing="mean")
    command = ["select", str(tmp_path / "rows.csv"), "-t", "y_*", "-k", "5", "--json", "-"]
    command += ["--missing", "mean", "--covariates", ",".join(GIVEN)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert [pick["name"] for pick in answer["picks"]] == want.variable_names_[
        want.selected_
    ].tolist()
    assert "site=north" in answer["covariates"]
    grouped = CliRunner().invoke(app, [*command, "--group", "both=age,bmi", "--basis", "spline"])
    assert grouped.exit_code == 0, grouped.output
    assert "both" in {pick["name"] for pick in json.loads(grouped.stdout)["picks"]}


def test_moments_of_files_carry_what_covariates_are(seed, tmp_path):
    cohort(seed).to_parquet(tmp_path / "rows.parquet")
    options = {"targets": TARGETS, "covariates": "site", "missing": "indicator"}
    moments = moments_from(tmp_path / "rows.parquet", exclude=["height", "visit"], **options)
    assert {c.kind for c in moments.z_variables.columns} == {"level", "gap"}
    assert moments.encoding["z"]["names"] == ["site"]
    assert moments.n_covariates == 4
