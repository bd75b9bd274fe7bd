"""KnockoffProjSe on tables: categories, dates, gaps, splines, mixed outputs, wherever they lie."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from projse import KnockoffProjSe, ProjSe, moments_from
from projse.estimators import table_rows
from projse.estimators.table_options import TableOptions
from projse.estimators.table_rows import TableRows
from projse.moments.in_memory import moments_of_table

quiet = pytest.mark.filterwarnings("ignore::projse.exceptions.NothingSelectedWarning")
FEATURES = ["city", "age", "day", "noise", "shop", "late", "z0", "z1", "z2", "z3"]
TARGETS = ["price", "grade"]
REAL = {"city", "age", "day"}


def table(seed, m=900):
    """Columns of every kind; the first three matter, for a number and for a category."""
    rng = np.random.default_rng([seed, 16])
    frame = pd.DataFrame(
        {
            "city": rng.choice(["Oslo", "Rome", "Bonn", "Cork", "rare one"], m,
                               p=[0.3, 0.3, 0.2, 0.198, 0.002]),
            "age": rng.normal(50, 10, m),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, m), unit="D"),
            "noise": rng.normal(size=m),
            "shop": rng.choice([f"s{i}" for i in range(8)], m),
            "late": rng.random(m) < 0.3,
        }
    )  # fmt: skip
    for k in range(4):
        frame[f"z{k}"] = rng.normal(size=m) + 0.3 * frame["noise"]
    level = frame["city"].map({"Oslo": 1.0, "Rome": -1.0, "Bonn": 0.0, "Cork": 0.4}).fillna(0.0)
    days = (frame["day"] - frame["day"].min()).dt.days / 700
    signal = 1.5 * level + (frame["age"] - 50) / 10 + 3 * days
    frame["price"] = signal + rng.normal(size=m)
    frame["grade"] = pd.cut(signal + rng.normal(size=m), 3, labels=["a", "b", "c"]).astype(str)
    for name in ("age", "z1"):
        frame.loc[rng.random(m) < 0.15, name] = np.nan
    return frame


def twins(selector=None, **parameters):
    selector = ProjSe(missing="indicator") if selector is None else selector
    return KnockoffProjSe(selector, **{"fdr": 0.4, "n_draws": 4, "random_state": 0, **parameters})


def same(a, b):
    assert_array_equal(a.selected_, b.selected_)
    assert_array_equal(a.groups_, b.groups_)
    assert_allclose(a.statistics_, b.statistics_, rtol=1e-5, atol=1e-6)
    assert_allclose(a.evalues_, b.evalues_)
    assert a.n_twins_ == b.n_twins_


def test_finds_what_matters_in_a_table(seed):
    frame = table(seed)
    found = twins().fit(frame[FEATURES], frame[TARGETS])
    assert set(found.selected_names_) >= REAL
    assert found.n_variables_ == found.n_features_in_ == 10
    assert found.transform(frame[FEATURES]).columns.tolist() == [
        name for name in FEATURES if name in set(found.selected_names_)
    ]
    assert found.table()["group"].nunique() == len(found.selected_)


@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingSelectedWarning")
def test_one_frame_equals_its_columns_as_groups(seed):
    """What a table is encoded to, written out by hand, with the same twins."""
    frame = table(seed)[["city", "age", "z0", "price"]]
    columns = {"rare": 0, **{f"city={c}": 0 for c in ("Bonn", "Cork", "Oslo", "Rome")}}
    made = pd.DataFrame(0.0, index=frame.index, columns=list(columns))
    for city in ("Bonn", "Cork", "Oslo", "Rome"):
        made[f"city={city}"] = (frame["city"] == city) * 1.0
    made["rare"] = (frame["city"] == "rare one") * 1.0
    made = made[[*made.columns[1:], "rare"]]
    if made["rare"].sum() == 0:
        made = made.drop(columns="rare")
    made["gap"] = frame["age"].isna() * 1.0
    made["age"] = frame["age"].fillna(7.0)
    made["z0"] = frame["z0"]
    labels = [*["city"] * (made.shape[1] - 3), "age", "age", "z0"]
    by_hand = twins(ProjSe(), groups=labels).fit(made, frame["price"])
    found = twins().fit(frame[["city", "age", "z0"]], frame["price"])
    assert_allclose(found.statistics_, by_hand.statistics_[[0, -2, -1]], rtol=1e-6, atol=1e-7)


def test_splines_are_groups_of_their_columns(seed):
    rng = np.random.default_rng([seed, 3])
    X = rng.normal(size=(800, 6))
    Y = np.cos(2 * X[:, :3]) @ rng.choice([-2.0, 2.0], size=(3, 3)) + rng.normal(size=(800, 3))
    found = twins(ProjSe(basis="spline")).fit(X, Y)
    assert set(found.selected_) >= {0, 1, 2}
    assert found.n_variables_ == 6
    encoded = TableRows.of(X, Y, None, None, TableOptions(basis="spline"), "auto").rows()
    wide = encoded.X.toarray() if sp.issparse(encoded.X) else encoded.X
    labels = encoded.x_variables.of_column
    by_hand = twins(ProjSe(), groups=labels).fit(wide, Y)
    first = np.searchsorted(labels, np.arange(6))
    assert wide.shape[1] > 20
    assert_allclose(found.statistics_, by_hand.statistics_[first], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("missing", ["indicator", "mean", "drop"])
def test_files_dask_moments_and_memory_agree(seed, missing, tmp_path, monkeypatch):
    dd = pytest.importorskip("dask.dataframe")
    frame = table(seed)
    model = twins(ProjSe(missing=missing))
    first = clone(model).fit(frame[FEATURES], frame[TARGETS])
    for i in range(3):
        frame[300 * i : 300 * i + 300].to_parquet(tmp_path / f"{i}.parquet", index=False)
    files = str(tmp_path / "*.parquet")
    same(first, clone(model).fit_source(files, targets=TARGETS))
    if missing == "indicator":
        parts = dd.from_pandas(frame, npartitions=4)
        same(first, clone(model).fit(parts[FEATURES], parts[TARGETS]))
        moments = moments_from(files, targets=TARGETS, missing=missing, with_xx=True)
        moments.save(tmp_path / "all.moments")
        same(first, clone(model).fit_moments(tmp_path / "all.moments"))
        with monkeypatch.context() as patch:
            patch.setattr(table_rows, "ENCODED_BYTES", 1)
            patch.setattr(table_rows, "SLICE_BYTES", 30_000)
            for n_jobs in (1, 2):
                same(first, clone(model).set_params(n_jobs=n_jobs)
                     .fit(frame[FEATURES], frame[TARGETS]))  # fmt: skip


@quiet
def test_covariates_of_a_table_may_have_gaps_and_levels(seed):
    frame = table(seed)
    covariates = frame[["city", "age"]]
    rest = [name for name in FEATURES if name not in covariates]
    found = twins().fit(frame[rest], frame["price"], covariates=covariates)
    assert found.statistics_[rest.index("day")] > 1
    dummies = pd.get_dummies(covariates["city"]).astype(float)
    dummies["gap"] = covariates["age"].isna() * 1.0
    dummies["age"] = covariates["age"].fillna(0.0)
    again = twins().fit(frame[rest], frame["price"], covariates=dummies)
    assert_allclose(found.statistics_, again.statistics_, rtol=1e-5, atol=1e-6)


@quiet
def test_include_and_groups_speak_of_columns_of_the_table(seed):
    frame = table(seed)
    selector = ProjSe(missing="indicator", include=["city"], exclude=["shop"])
    found = twins(selector, groups={"old": ["age", "z0"]}).fit(frame[FEATURES], frame["price"])
    names = dict(zip(FEATURES, found.groups_, strict=True))
    assert names["city"] == names["shop"] == -1
    assert names["age"] == names["z0"]
    assert found.n_variables_ == 7
    assert found.statistics_[[FEATURES.index(name) for name in ("age", "z0", "day")]].min() > 1
    given = frame[["city"]]
    rest = [name for name in FEATURES if name not in ("city", "shop")]
    other = twins(groups={"old": ["age", "z0"]}).fit(frame[rest], frame["price"], covariates=given)
    mine = [FEATURES.index(name) for name in rest]
    assert_allclose(found.statistics_[mine], other.statistics_, rtol=1e-5, atol=1e-6)


@quiet
def test_few_rows_of_a_table_screen_whole_variables(seed):
    frame = table(seed, m=60)
    more = np.random.default_rng(seed).choice(list("abc"), size=(60, 15))
    for k in range(15):
        frame[f"c{k}"] = more[:, k]
    X = frame.drop(columns=TARGETS)
    found = twins().fit(X, frame["price"])
    assert found.screened_ is not None
    assert set(found.selected_) <= set(found.screened_)
    assert not hasattr(found, "moments_")
    y = frame[["price"]].to_numpy()
    given = frame[:20].drop(columns="grade")
    first = moments_from(given, targets=["price"], with_xx=True, missing="mean")
    more = (
        moments_of_table(X[i : i + 20], y[i : i + 20], None, first.encoding, with_xx=True)
        for i in (20, 40)
    )
    blocks = [first, *more]
    few = twins().fit_moments(blocks)
    assert few.screened_ is not None


@quiet
def test_identifiers_are_no_candidates(seed):
    frame = table(seed, m=1200)
    frame["id"] = [f"row {i}" for i in range(1200)]
    with pytest.warns(UserWarning, match="id"):
        found = twins().fit(frame[["id", "city", "z0"]], frame["price"])
    assert found.groups_[0] == -1
    assert np.isnan(found.statistics_[0])


def test_weights_of_a_table_are_counts(seed):
    frame = table(seed)
    counts = np.random.default_rng(seed).integers(0, 3, size=900)
    there = frame.loc[np.repeat(np.arange(900), counts)]
    same(
        twins().fit(frame[FEATURES], frame["price"], sample_weight=counts),
        twins().fit(there[FEATURES], there["price"]),
    )
    with pytest.raises(ValueError, match="twins take weights as counts"):
        twins().fit(frame[FEATURES], frame["price"], sample_weight=counts + 0.5)


def test_strings_and_gaps_that_are_not_asked_for_name_the_remedy(seed):
    frame = table(seed)
    with pytest.raises(ValueError, match="Say missing='drop'"):
        KnockoffProjSe().fit(frame[FEATURES], frame["price"])


@pytest.mark.slow
@quiet
def test_the_rate_is_kept_on_mixed_tables(seed):
    """Categories, splines and gaps, of which half matter, for two outputs with normal errors."""
    shares, found_real = [], []
    for k in range(150):
        rng = np.random.default_rng([seed, k])
        m, columns, real = 500, {}, []
        signal = np.zeros((m, 2))
        for j in range(12):
            kind = j % 3
            if kind == 0:
                codes = rng.integers(0, 4, m)
                columns[f"c{j}"] = np.array(list("abcd"))[codes]
                effect = rng.normal(size=(4, 2))[codes]
            else:
                x = rng.normal(size=m)
                effect = 0.5 * x[:, None] * rng.choice([-1.0, 1.0], size=2)
                gaps = rng.random(m) < (0.2 if kind == 1 else 0.0)
                effect[gaps] = 0.3  # linear in what stands for the number and its gap
                columns[f"c{j}"] = np.where(gaps, np.nan, x)
            if j < 6:
                real.append(j)
                signal += 0.4 * effect
        frame = pd.DataFrame(columns)
        Y = signal + rng.normal(size=(m, 2))
        model = twins(ProjSe(missing="indicator"), fdr=0.2, n_draws=1, random_state=k)
        chosen = model.fit(frame, Y).selected_
        shares.append(np.mean(chosen >= 6) if chosen.size else 0.0)
        found_real.append(np.sum(chosen < 6) / 6)
    assert np.mean(shares) < 0.2 + 3 * np.std(shares) / np.sqrt(150)
    assert np.mean(found_real) > 0.5
