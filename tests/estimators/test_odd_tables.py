"""Odd tables: the same in memory and in files, or one clear error."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, PredefinedSplit
from variants import slow

from projse import ProjSe, ProjSeCV, StabilityProjSe, TwoViewProjSe, block_moments
from projse.sources.table.encoder import TableEncoder

N = 200


def table(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(N, 2)), columns=["a", "b"])
    return frame.assign(city=rng.choice(["u", "v", "w"], N), y=frame["a"] + rng.normal(size=N))


def write(frame: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    return path


def assert_same(found: ProjSe, want: ProjSe) -> None:
    np.testing.assert_array_equal(found.selected_, want.selected_)
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=1e-9)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("missing", ["indicator", *slow("mean", "drop")])
@pytest.mark.parametrize("column", ["city", "a", "day"])
def test_a_first_file_of_gaps_tells_nothing(
    seed: int, tmp_path: Path, suffix: str, missing: str, column: str
) -> None:
    frame = table(seed)
    days = pd.to_timedelta(np.random.default_rng(seed).integers(0, 900, N), "D")
    frame["day"] = pd.Timestamp("2021-01-01") + days
    first, second = frame[:100].copy(), frame[100:]
    first[column] = None
    paths = [write(part, tmp_path / f"{i}.{suffix}") for i, part in enumerate((first, second))]
    found = ProjSe(2, missing=missing).fit_source(paths, targets="y", state=tmp_path / "state")
    whole = pd.concat([first.astype({column: frame[column].dtype}), second])
    want = ProjSe(2, missing=missing).fit(whole.drop(columns="y"), whole["y"])
    assert_same(found, want)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("missing", ["indicator", *slow("mean", "drop")])
def test_labels_with_gaps(seed: int, tmp_path: Path, suffix: str, missing: str) -> None:
    frame = table(seed)
    rng = np.random.default_rng(seed)
    frame["y"] = np.where(rng.random(N) < 0.1, None, np.where(frame["y"] > 0, "up", "down"))
    path = write(frame, tmp_path / f"t.{suffix}")
    want = ProjSe(2, missing=missing).fit(frame.drop(columns="y"), frame["y"])
    assert_same(ProjSe(2, missing=missing).fit_source(path, targets="y"), want)


def test_whole_numbers_with_gaps_are_numbers_if_said_so(seed: int, tmp_path: Path) -> None:
    frame = table(seed)
    frame["y"] = pd.array(np.where(frame["y"] > 0, 1, 2), dtype="Int64")
    frame.loc[3, "y"] = pd.NA
    path = write(frame, tmp_path / "t.parquet")
    options = {"missing": "mean", "target_type": "continuous"}
    want = ProjSe(2, **options).fit(frame.drop(columns="y"), frame["y"])
    assert_same(ProjSe(2, **options).fit_source(path, targets="y"), want)
    with pytest.raises(ValueError, match=r"1 missing label\b.*target_type='continuous'"):
        ProjSe(2, missing="mean").fit_source(path, targets="y")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_date_as_the_only_output(seed: int, tmp_path: Path, suffix: str) -> None:
    frame = table(seed)
    days = pd.to_timedelta((30 * frame["y"]).round(), "D")
    frame["y"] = pd.Timestamp("2021-01-01") + days
    found = ProjSe(2).fit_source(write(frame, tmp_path / f"t.{suffix}"), targets="y")
    X = frame.drop(columns="y")
    for y in (frame["y"], frame[["y"]], pl.from_pandas(frame["y"]), frame["y"].to_numpy()):
        assert_same(found, ProjSe(2).fit(X, y))


def odd_columns(seed: int) -> dict[str, tuple[object, np.ndarray]]:
    rng = np.random.default_rng(seed)
    hours = rng.integers(0, 1000, N)
    cents = rng.integers(0, 10_000, N)
    money = pa.array([Decimal(int(c)).scaleb(-2) for c in cents])
    letters = pa.array(rng.choice(["p", "q"], N))
    return {
        "timedelta": (pd.Series(pd.to_timedelta(hours, "h")), 3600.0 * hours),
        "decimal": (pd.Series(pd.array(money, dtype=pd.ArrowDtype(money.type))), cents / 100),
        "dictionary": (
            pd.Series(
                letters.dictionary_encode(),
                dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())),
            ),
            np.asarray(letters.to_pylist()),
        ),
    }


@pytest.mark.parametrize("name", ["timedelta", "decimal", "dictionary"])
@pytest.mark.parametrize("basis", ["linear", "spline"])
def test_odd_types_are_what_they_hold(seed: int, tmp_path: Path, name: str, basis: str) -> None:
    column, plain = odd_columns(seed)[name]
    frame = table(seed)[["a", "b"]].assign(odd=column)
    y = table(seed)["y"]
    want = ProjSe(3, basis=basis).fit(frame.assign(odd=plain), y)
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    for given in (frame, arrow, pl.from_arrow(arrow)):
        found = ProjSe(3, basis=basis).fit(given, y)
        assert_same(found, want)
        out = found.transform(given)
        assert type(out) is type(given)
        assert out.shape == (N, 3)
    pq.write_table(arrow.append_column("y", pa.array(y)), tmp_path / "t.parquet")
    assert_same(ProjSe(3, basis=basis).fit_source(tmp_path / "t.parquet", targets="y"), want)


def test_lists_of_lists_may_hold_strings(seed: int) -> None:
    frame = table(seed)
    X, y = frame[["a", "city"]], frame["y"]
    lists = [[float(a), str(c)] for a, c in zip(X["a"], X["city"], strict=True)]
    assert_same(ProjSe(2).fit(lists, y), ProjSe(2).fit(X, y))
    assert_same(ProjSe(1).fit(frame[["b"]], lists), ProjSe(1).fit(frame[["b"]], X))
    with pytest.raises(ValueError, match=r"inhomogeneous|same length|sequence"):
        ProjSe(1).fit([[1.0, "a"], [2.0]], [1.0, 2.0])


def test_what_cannot_be_read_is_said_in_words(seed: int) -> None:
    frame = table(seed)
    X, y = frame[["a", "city"]], frame["y"]
    with pytest.raises(ValueError, match=r"X is lazy \(LazyFrame\).*X.collect\(\)"):
        ProjSe(1).fit(pl.from_pandas(X).lazy(), y)
    twice = pd.concat([X, X], axis=1)
    fitted = ProjSe(1).fit(X, y)
    for act in (lambda: ProjSe(1).fit(twice, y), lambda: fitted.transform(twice)):
        with pytest.raises(ValueError, match="X has several columns called 'a', 'city'"):
            act()
    with pytest.raises(ValueError, match="several columns called 'a'"):
        ProjSeCV(ProjSe()).fit(twice[["a"]], y)
    endless = X.assign(a=np.where(X["a"] > 1, np.inf, X["a"]))
    n = int(np.isinf(endless["a"]).sum())
    with pytest.raises(
        ValueError, match=f"'a' of X holds infinity in {n} rows; put finite"
    ) as told:
        ProjSe(1).fit(endless, y)
    assert "categorical" not in str(told.value)


@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingPredictsWarning")
def test_rows_that_are_dropped_leave_their_groups_behind(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = table(seed)[["a", "b"]].copy(), table(seed)["y"]
    X.loc[rng.integers(0, N, 9), "a"] = np.nan
    weight = rng.integers(0, 3, N).astype(float)
    groups = rng.integers(0, 12, N)
    keep = (X.notna().all(axis=1) & (weight > 0)).to_numpy()
    found = ProjSeCV(ProjSe(missing="drop"), cv=GroupKFold(3)).fit(X, y, weight, groups)
    given = (X[keep], y[keep], weight[keep], groups[keep])
    want = ProjSeCV(ProjSe(), cv=GroupKFold(3)).fit(*given)
    np.testing.assert_allclose(
        found.cv_results_["mean_test_score"], want.cv_results_["mean_test_score"]
    )


@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingPredictsWarning")
@pytest.mark.parametrize("missing", ["drop", "mean"])
def test_listed_splits_and_groups_speak_of_the_rows_as_given(seed: int, missing: str) -> None:
    rng = np.random.default_rng([seed, 1])
    X, y = table(seed)[["a", "b", "city"]].copy(), table(seed)["y"]
    X.loc[rng.integers(0, N, 9), "a"] = np.nan
    y += np.repeat([0, 3, -2], [60, 60, 80])
    weight = rng.integers(0, 3, N).astype(float)
    keep = weight > 0
    if missing == "drop":
        keep &= X.notna().all(axis=1).to_numpy()
    fold = np.repeat([0, 1, 2], [60, 60, 80])
    selector = ProjSe(1, missing=missing)
    options: Any = {"param_grid": None}
    want = ProjSeCV(selector, cv=PredefinedSplit(fold[keep]), **options)
    want.fit(X[keep], y[keep], weight[keep])
    listed = list(PredefinedSplit(fold).split())
    for cv, groups in ((PredefinedSplit(fold), None), (listed, None), (GroupKFold(3), fold)):
        found = ProjSeCV(selector, cv=cv, **options).fit(X, y, weight, groups=groups)
        np.testing.assert_allclose(
            np.sort([found.cv_results_[f"split{i}_test_score"] for i in range(3)], axis=0),
            np.sort([want.cv_results_[f"split{i}_test_score"] for i in range(3)], axis=0),
        )
    for blocks in (None, 5):
        stable = StabilityProjSe(selector, 10, random_state=seed, blocks=blocks, threshold=0.1)
        found = clone(stable).fit(X, y, weight, groups=fold).selections_
        np.testing.assert_array_equal(
            found, clone(stable).fit(X[keep], y[keep], weight[keep], groups=fold[keep]).selections_
        )


def test_a_weight_for_all_rows_goes_with_rows_that_are_dropped(seed: int) -> None:
    rng = np.random.default_rng([seed, 3])
    X = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
    Y = X.to_numpy()[:, :2] + rng.normal(size=(60, 2))
    X.loc[7, "c"] = np.nan
    two = np.full(60, 2.0)
    for fit in (
        lambda weight: ProjSe(2, missing="drop").fit(X, Y, weight).scores_,
        lambda weight: ProjSe(2, missing="drop").partial_fit(X, Y, weight).scores_,
        lambda weight: TwoViewProjSe(2, missing="drop").fit(X, Y, weight).x_scores_,
    ):
        np.testing.assert_array_equal(fit(2.0), fit(two))


def test_blocks_of_groups_leave_rows_without_weight_out(seed: int) -> None:
    rng = np.random.default_rng([seed, 2])
    X, y = table(seed)[["a", "city"]], table(seed)["y"]
    weight, groups = rng.integers(0, 3, N).astype(float), rng.integers(0, 12, N)
    keep = weight > 0
    blocks = block_moments(X, y, 4, weight, groups=groups, random_state=seed)
    given = (X[keep], y[keep], 4, weight[keep])
    want = block_moments(*given, groups=groups[keep], random_state=seed)
    for one, other in zip(blocks, want, strict=True):
        assert one.n_samples == other.n_samples
        np.testing.assert_allclose(one.yy, other.yy)


def test_durations_as_objects_are_seconds_wherever_the_first_gap_is(seed: int) -> None:
    hours = np.random.default_rng(seed).integers(0, 1000, N)
    frame, y = table(seed)[["a", "b"]], table(seed)["y"]
    want = ProjSe(3).fit(frame.assign(odd=3600.0 * hours), y)
    spans = [timedelta(hours=int(h)) for h in hours]
    for values in (spans, [np.timedelta64(span) for span in spans]):
        given = frame.astype(object).assign(odd=pd.Series(values, dtype=object))
        for X in (given, given.to_numpy()):
            found = ProjSe(3).fit(X, y)
            assert_same(found, want)
            assert found.transform(X).shape == (N, 3)
        given.loc[0, "odd"] = None
        seconds = np.where(np.arange(N) == 0, np.nan, 3600.0 * hours)
        filled = ProjSe(3, missing="mean").fit(frame.assign(odd=seconds), y)
        for X in (given, given.to_numpy()):
            assert_same(ProjSe(3, missing="mean").fit(X, y), filled)


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
def test_booleans_with_gaps_are_refused_and_may_be_dropped(seed: int, make: Any) -> None:
    rng = np.random.default_rng(seed)
    columns = {name: rng.integers(0, 2, N).astype(bool).tolist() for name in "abc"}
    whole = make(columns)
    y = np.array(columns["b"]) + rng.normal(size=N)
    columns["a"][3] = columns["a"][7] = columns["c"][5] = None
    X = make(columns)
    with pytest.raises(ValueError, match=r"contains NaN or other gaps, in columns 'a' \(2\), 'c'"):
        ProjSe(2).fit(X, y)
    weight = np.ones(N)
    weight[[3, 5, 7]] = 0.0
    assert_same(ProjSe(2).fit(X, y, weight), ProjSe(2).fit(whole, y, weight))
    kept = np.flatnonzero(weight)
    assert_same(
        ProjSe(2, missing="drop").fit(X, y),
        ProjSe(2).fit(pd.DataFrame(columns).iloc[kept], y[kept]),
    )


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="this Polars has no such numbers")
def test_whole_numbers_of_128_bits_are_numbers_or_categories(seed: int) -> None:
    code = np.random.default_rng(seed).integers(0, 3, N)
    frame, y = table(seed)[["a", "b"]], table(seed)["y"] + (code == 1)
    big = pl.Series([int(c) - 10**30 for c in code], dtype=pl.Int128)
    given = pl.from_pandas(frame).with_columns(code=big)
    found = ProjSe(3, categorical_features=["code"]).fit(given, y)
    want = ProjSe(3, categorical_features=["code"]).fit(frame.assign(code=code), y)
    assert_same(found, want)
    thirds = pl.Series([int(c) * 10**30 for c in code], dtype=pl.Int128)
    found = ProjSe(3).fit(given.with_columns(code=thirds), y)
    assert_same(found, ProjSe(3).fit(frame.assign(code=1e30 * code), y))


@pytest.mark.parametrize("missing", ["drop", "mean"])
@pytest.mark.parametrize("value", [[], [1.0, 2.0]])
def test_lists_in_a_later_batch_are_refused_in_words(missing: str, value: list[float]) -> None:
    encoder = TableEncoder.look(np.empty((0, 2), dtype=object), missing=missing)
    batch = np.empty((1, 2), dtype=object)
    batch[0, 0], batch[0, 1] = 1.0, value
    for read in (encoder.gaps, encoder.encode):
        with pytest.raises(ValueError, match=r"Column 1 of X.*holds other values \(list\)"):
            read(batch)


def test_objects_of_polars_may_be_categories(seed: int) -> None:
    frame = table(seed)[["a", "b"]]
    code = np.random.default_rng(seed).integers(0, 3, N)
    kinds = pl.Series([complex(0, c) if c else None for c in code], dtype=pl.Object)
    given = pl.from_pandas(frame).with_columns(kind=kinds)
    encoder = TableEncoder.look(given[:0], categorical_features=["kind"], missing="indicator")
    rows, variables = encoder.encode(given)
    assert [c.key for c in variables.columns if c.variable == 2 and c.kind == "level"] == [
        "1j",
        "2j",
    ]
    gap = [j for j, c in enumerate(variables.columns) if c.kind == "gap"]
    np.testing.assert_array_equal(np.asarray(rows[:, gap]).ravel(), code == 0)


@pytest.mark.parametrize("basis", ["linear", "spline"])
def test_gaps_among_values_that_overflow_are_said_to_overflow(basis: str) -> None:
    X = np.array([[1e308, -1e308] * 4 + [-1e308, np.nan], range(10)]).T
    encoder = TableEncoder.look(X, missing="mean")
    assert np.isfinite(encoder.encode(X)[0]).all()
    with pytest.raises(ValueError, match="so large that their squares overflow"):
        ProjSe(1, missing="mean", basis=basis).fit(X, np.arange(10.0))


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["p", "q", "r"])], ids=["cat", "enum"])
def test_categories_of_polars_are_the_strings_they_stand_for(
    seed: int, tmp_path: Path, kind: Any
) -> None:
    rng = np.random.default_rng(seed)
    letters = pl.Series("c", rng.choice(["p", "q", None], N).tolist())
    plain = pl.DataFrame({"c": letters, "x": rng.normal(size=N), "y": rng.normal(size=N)})
    options: dict[str, Any] = {"targets": "y"}
    want = ProjSe(2, missing="indicator").fit_source(plain, **options)
    frame = plain.with_columns(pl.col("c").cast(kind))
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ipc(tmp_path / "t.arrow")
    for given in (frame, frame.to_arrow(), tmp_path / "t.parquet", tmp_path / "t.arrow"):
        assert_same(ProjSe(2, missing="indicator").fit_source(given, **options), want)
    for table in (frame, frame.to_arrow()):
        X = table.drop("y") if isinstance(table, pl.DataFrame) else table.drop_columns("y")
        assert_same(ProjSe(2, missing="indicator").fit(X, plain["y"]), want)
