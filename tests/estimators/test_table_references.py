"""References of tables: gaps and mixed kinds, whatever batches and weights rows come in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from projse import ProjSe, SourceError


def rows_of(seed: int, n: int = 120) -> tuple[pd.DataFrame, pd.DataFrame, np.random.Generator]:
    """Candidates, references with gaps that drift from the first rows to the last, and chance."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.normal(size=n), "u": rng.normal(size=n)})
    X["s"] = rng.choice(list("abc"), n)
    Y = pd.DataFrame({"y_1": X.x + rng.normal(size=n) + np.linspace(0, 5, n)})
    Y.loc[rng.random(n) < 0.25, "y_1"] = np.nan
    Y["y_2"] = X.u + rng.normal(size=n)
    return X, Y, rng


def assert_same(found: ProjSe, want: ProjSe) -> None:
    np.testing.assert_array_equal(found.selected_, want.selected_)
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=0, atol=1e-10)
    explained = [dict(zip(f.output_names_, f.explained_.T, strict=True)) for f in (found, want)]
    assert explained[0].keys() == explained[1].keys()
    for name, values in explained[0].items():
        np.testing.assert_allclose(values, explained[1][name], rtol=0, atol=1e-10)


@pytest.mark.parametrize("where", ["y", "covariates"])
def test_weights_pool_no_level_of_references_and_covariates(seed: int, where: str) -> None:
    X, Y, _ = rows_of(seed)
    labels = pd.DataFrame({"c": np.array(list("ab" * 58 + "cdef"))})
    weight = np.where(np.arange(120) < 116, 50, 1)
    again = np.repeat(np.arange(120), weight)
    y = Y[["y_2"]].join(labels) if where == "y" else Y[["y_2"]]
    z = labels if where == "covariates" else None
    found = ProjSe(2).fit(X, y, sample_weight=weight, covariates=z)
    copies = None if z is None else z.iloc[again]
    assert_same(found, ProjSe(2).fit(X.iloc[again], y.iloc[again], covariates=copies))


@pytest.mark.parametrize("missing", ["indicator", "mean"])
def test_gaps_of_references_are_filled_with_the_mean_of_all_weighted_rows(
    seed: int, missing: str
) -> None:
    X, Y, rng = rows_of(seed)
    weight = rng.integers(1, 4, 120)
    again = np.repeat(np.arange(120), weight)
    found = ProjSe(2, missing=missing).fit(X, Y, sample_weight=weight)
    assert_same(found, ProjSe(2, missing=missing).fit(X.iloc[again], Y.iloc[again]))


@pytest.mark.parametrize("missing", ["indicator", "mean"])
def test_gaps_of_references_are_filled_with_the_mean_of_all_days(seed, tmp_path, missing) -> None:
    X, Y, _ = rows_of(seed)
    rows, folder, state = X.join(Y), tmp_path / "days", tmp_path / "state"
    folder.mkdir()
    for day, part in enumerate((rows[:60], rows[60:])):
        part.to_parquet(folder / f"{day}.parquet")
        found = ProjSe(2, missing=missing).fit_source(folder, targets="y_*", state=state)
    assert_same(found, ProjSe(2, missing=missing).fit(X, Y))


def test_rows_without_a_weight_are_dropped_if_asked_to(seed: int) -> None:
    X, Y, rng = rows_of(seed)
    X, y = X[["x", "u"]].to_numpy(), Y.y_2.to_numpy()
    weight = rng.integers(1, 4, 120).astype(float)
    weight[:7] = np.nan
    found = ProjSe(1, missing="drop").fit(X, y, sample_weight=weight)
    want = ProjSe(1).fit(X[7:], y[7:], sample_weight=weight[7:])
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=0, atol=1e-10)
    with pytest.raises(ValueError, match="sample_weight contains NaN"):
        ProjSe(1, missing="mean").fit(X, y, sample_weight=weight)


def in_batches(X, Y, starts=(0, 50, 70), covariates=None, **options) -> ProjSe:
    found = ProjSe(2, **options)
    for start, stop in zip(starts, (*starts[1:], len(X)), strict=True):
        z = None if covariates is None else covariates[start:stop]
        found.partial_fit(X[start:stop], Y[start:stop], covariates=z)
    return found


@pytest.mark.parametrize("missing", ["indicator", "mean", "drop"])
@pytest.mark.parametrize("n_whole", [0, 60])
def test_batches_fill_gaps_of_references_as_one_fit_does(seed, missing, n_whole) -> None:
    X, Y, _ = rows_of(seed)
    Y[:n_whole] = Y[:n_whole].fillna(1.0)
    for x, y in ((X, Y), (X[["x", "u"]], Y[["y_1"]]), (X[["x", "u"]].to_numpy(), Y.to_numpy())):
        found = in_batches(x, y, missing=missing)
        assert_same(found, ProjSe(2, missing=missing).fit(x, y))


@pytest.mark.parametrize("missing", ["indicator", "mean", "drop"])
def test_batches_may_have_gaps_that_the_first_has_not(seed, missing) -> None:
    X, Y, rng = rows_of(seed)
    X, y = X[["x", "u"]], Y[["y_2"]]
    Z = pd.DataFrame({"z": rng.normal(size=120)})
    X.iloc[100::3, 0] = np.nan
    Z.iloc[80::4, 0] = np.nan
    found = in_batches(X, y, missing=missing, covariates=Z)
    assert_same(found, ProjSe(2, missing=missing).fit(X, y, covariates=Z))


@pytest.mark.parametrize("missing", ["refuse", "indicator", "mean"])
def test_batches_of_references_of_several_kinds_add_up(seed, missing) -> None:
    X, Y, rng = rows_of(seed)
    Y["c"] = rng.choice(list("pq"), 120)
    Y.loc[100:, "c"] = rng.choice(list("qr"), 20)  # a level that comes late
    if missing == "refuse":
        Y = Y.fillna(0.0)
    assert_same(in_batches(X, Y, missing=missing), ProjSe(2, missing=missing).fit(X, Y))


def test_batches_do_not_go_on_from_a_fit_that_settled_its_references(seed: int) -> None:
    X, Y, _ = rows_of(seed)
    settled = ProjSe(1, missing="mean").fit(X[:60], Y[:60])
    with pytest.raises(ValueError, match="begin with partial_fit"):
        settled.partial_fit(X[60:], Y[60:])
    plain = ProjSe(1, missing="mean").fit(X[:60], Y[:60].fillna(0.0))
    with pytest.raises(ValueError, match="begin with partial_fit"):
        plain.partial_fit(X[60:], Y[60:])
    plain.partial_fit(X[60:], Y[60:].fillna(0.0))


def test_missing_labels_of_batches_are_a_level_or_refused_in_words(seed: int) -> None:
    X, _, _ = rows_of(seed)
    whole, X = X.s.astype(object), X[["x", "u"]]
    gaps = whole.where(np.arange(120) % 9 > 0, None).rename("label")
    found = in_batches(X, gaps, missing="indicator")
    assert_same(found, ProjSe(2, missing="indicator").fit(X, gaps))
    codes = whole.map({"a": 0, "b": 1, "c": 2}).astype("Int64")
    classes = ProjSe(1, missing="indicator").partial_fit(X, codes.astype(int))
    with pytest.raises(ValueError, match=r"14 missing labels; .* missing='drop'\.$"):
        classes.partial_fit(X, codes.where(gaps.notna(), pd.NA))


@pytest.mark.parametrize("missing", ["indicator", "mean"])
def test_missing_labels_of_files_are_refused_with_one_hint(seed, tmp_path, missing) -> None:
    X, _, _ = rows_of(seed)
    X["label"] = pd.array(np.arange(120) % 3, dtype="Int64")
    X.loc[:2, "label"] = pd.NA
    X.to_parquet(tmp_path / "rows.parquet")
    message = r"3 missing labels; [^(]* missing='drop'\..* \(--missing on the command line\)$"
    with pytest.raises(SourceError, match=message):
        ProjSe(1, missing=missing).fit_source(tmp_path / "rows.parquet", targets="label")


@pytest.mark.parametrize("missing", ["indicator", "mean"])
def test_outputs_stand_in_the_same_order_whatever_batches_have_gaps_and_levels(seed, missing):
    X, _, rng = rows_of(seed)
    days = pd.Timestamp("2021-05-01") + pd.to_timedelta(rng.integers(0, 2000, len(X)), "h")
    Y = pd.DataFrame({"level": rng.choice(list("pqr"), len(X)), "day": days, "number": X.x})
    late = np.arange(len(X)) >= 60
    Y = Y.mask(np.outer(late & (rng.random(len(X)) < 0.3), [True, True, True]))
    Y.loc[late & (Y["level"] == "p"), "level"] = "o"
    whole = ProjSe(2, missing=missing).fit(X, Y)
    parts = ProjSe(2, missing=missing)
    for batch in (slice(0, 60), slice(60, 120)):
        parts.partial_fit(X[batch], Y[batch])
    assert parts.output_names_.tolist() == whole.output_names_.tolist()
    np.testing.assert_allclose(parts.explained_, whole.explained_, rtol=0, atol=1e-10)


ONE_OUTPUT = ("numbers", "nullable", "whole", "text", "categories", "booleans")


def one_output(kind: str, X: pd.DataFrame, rng: np.random.Generator) -> pd.Series:
    """One output with gaps, of some kind."""
    third = pd.Series(np.digitize(X.x + 0.1 * rng.normal(size=len(X)), [-0.4, 0.4]), name="y")
    made = {
        "numbers": (X.x + rng.normal(size=len(X))).rename("y"),
        "nullable": (X.x + rng.normal(size=len(X))).rename("y").astype("Float64"),
        "whole": third.astype("Int64"),
        "text": third.map({0: "low", 1: "mid", 2: "high"}).astype(object),
        "categories": third.map({0: "low", 1: "mid", 2: "high"}).astype("category"),
        "booleans": (third > 0).astype("boolean"),
    }[kind]
    return made.mask(rng.random(len(X)) < 0.2)


def fit_dask(selector: ProjSe, X: pd.DataFrame, y: pd.Series | pd.DataFrame) -> ProjSe:
    dask = pytest.importorskip("dask")
    frames = pytest.importorskip("dask.dataframe")
    with dask.config.set(scheduler="synchronous"):
        return selector.fit(*(frames.from_pandas(part, npartitions=3) for part in (X, y)))


@pytest.mark.parametrize("missing", ["indicator", "mean"])
@pytest.mark.parametrize("kind", ONE_OUTPUT)
def test_dask_fills_the_gaps_of_one_output_as_memory_does(seed: int, kind: str, missing) -> None:
    X, _, rng = rows_of(seed)
    y = one_output(kind, X, rng)
    want = ProjSe(2, missing=missing).fit(X, y)
    assert_same(fit_dask(ProjSe(2, missing=missing), X, y), want)
    assert_same(fit_dask(ProjSe(2, missing=missing), X, y.to_frame()), want)


@pytest.mark.parametrize("gap", [False, True])
def test_dask_takes_several_columns_of_codes_for_classes_if_told_so(seed: int, gap: bool) -> None:
    X, _, rng = rows_of(seed)
    codes = one_output("whole", X, rng) if gap else one_output("whole", X, rng).fillna(1)
    Y = pd.DataFrame({"y_1": codes, "y_2": rng.integers(0, 4, len(X))})
    options = {"missing": "mean", "target_type": "class"}
    found = fit_dask(ProjSe(2, **options), X, Y)
    want = ProjSe(2, **options).fit(X, Y)
    np.testing.assert_array_equal(found.selected_, want.selected_)
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=0, atol=1e-10)


def test_dask_takes_a_series_of_dates_for_an_output(seed: int) -> None:
    X, _, rng = rows_of(seed)
    days = pd.to_timedelta(np.round(100 * X.x + rng.normal(size=len(X))), "D")
    y = (pd.Timestamp("2021-05-01") + days).rename("y")
    numbers = X[["x", "u"]]
    assert_same(fit_dask(ProjSe(2), numbers, y), ProjSe(2).fit(numbers, y))


@pytest.mark.parametrize("missing", ["indicator", "mean"])
def test_gaps_do_not_make_classes_of_measurements_nor_numbers_of_text(seed, missing) -> None:
    X, _, rng = rows_of(seed)
    with pytest.raises(ValueError, match="y holds continuous numbers"):
        ProjSe(2, missing=missing, target_type="class").fit(X, one_output("numbers", X, rng))
    with pytest.raises(ValueError, match="'y' of y holds values that are not numbers"):
        ProjSe(2, missing=missing, target_type="continuous").fit(X, one_output("text", X, rng))


@pytest.mark.parametrize("missing", ["indicator", "mean"])
def test_gaps_of_one_output_of_text_are_one_class_on_every_route(seed, missing, tmp_path) -> None:
    X, _, rng = rows_of(seed)
    y = pd.Series(rng.choice(list("uvw"), 120), name="y", dtype=object)
    y[50:70] = None  # a batch of nothing else, and none in the first
    want = ProjSe(2, missing=missing).fit(X, y)
    X.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    found = [
        in_batches(X, y, missing=missing),
        fit_dask(ProjSe(2, missing=missing), X, y),
        ProjSe(2, missing=missing).fit_source(tmp_path / "rows.csv", targets="y"),
        ProjSe(2, missing=missing).fit(X, y.astype("category").to_frame()),
    ]
    for one in (want, *found):
        assert one.output_names_.tolist() == ["(missing)", "u", "v", "w"]
        assert_same(one, want)
