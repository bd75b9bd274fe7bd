"""Columns of any type become rows: numbers, labels, holes and weights."""

from __future__ import annotations

import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from agreement import check
from day_files import NAMES, TARGETS, planted_table, small_chunks
from planted import planted_labels
from table_files import (
    write_many,
    write_parquet,
)

from projse import Moments, ProjSe, SourceError, moments_from

# Types


def test_every_type_of_number_is_read(seed):
    rng = np.random.default_rng(seed)
    whole = rng.integers(0, 100, size=(300, 8))
    numbers = rng.normal(size=(300, 3)).astype(np.float16)
    columns = {
        "int8": pa.array(whole[:, 0], pa.int8()),
        "uint16": pa.array(whole[:, 1], pa.uint16()),
        "int64": pa.array(whole[:, 2], pa.int64()),
        "bool": pa.array(whole[:, 4] > 50),
        "decimal": pa.array(
            [decimal.Decimal(int(v)) / 4 for v in whole[:, 5]], pa.decimal128(9, 2)
        ),
        "half": pa.array(numbers[:, 0], pa.float16()),
        "float": pa.array(numbers[:, 1].astype(np.float32)),
        "run": pa.RunEndEncodedArray.from_arrays(
            [100, 300], pa.array([1.5, -2.0]), pa.run_end_encoded(pa.int32(), pa.float64())
        ),
        "y": pa.array(numbers[:, 2].astype(np.float64)),
    }
    X = np.column_stack(
        [
            *whole[:, :3].T,
            whole[:, 4] > 50,
            whole[:, 5] / 4,
            numbers[:, 0],
            numbers[:, 1],
            np.repeat([1.5, -2.0], [100, 200]),
        ]
    ).astype(np.float64)
    moments = moments_from(pa.table(columns), targets="y")
    want = Moments.from_arrays(X, numbers[:, 2].astype(np.float64))
    np.testing.assert_allclose(moments.x_mean, want.x_mean, rtol=1e-12)
    np.testing.assert_allclose(moments.xx, want.xx, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_narrow_floats_are_multiplied_in_float32(seed, dtype):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(100, 3)).astype(dtype), rng.normal(size=100).astype(dtype)
    t = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
    assert moments_from(t, targets="y").eps == np.finfo(np.float32).eps
    wide = t.set_column(0, "a", pa.array(X[:, 0].astype(np.float64)))
    assert moments_from(wide, targets="y").eps == np.finfo(np.float64).eps


def test_strings_and_dates_among_the_features_are_encoded_or_left_out(tmp_path):
    _, _, t = planted_table(0)
    t = t.append_column("city", pa.array(["a", "b"] * 120))
    t = t.append_column("when", pa.array([0] * 240, pa.timestamp("ms")))
    path = write_parquet(t, tmp_path)
    names = moments_from(path, targets="y_*").x_variables.names
    assert names == (*NAMES, "city", "when")
    lists = t.append_column("list", pa.array([[1.0]] * 240))
    with pytest.raises(SourceError) as caught:
        moments_from(lists, targets="y_*")
    for word in ("'list' (list<", "numeric_only=True"):
        assert word in str(caught.value)
    assert moments_from(path, targets="y_*", numeric_only=True).feature_names == tuple(NAMES)
    with pytest.raises(SourceError, match="cannot be class labels"):
        moments_from(path, class_target="when", numeric_only=True)
    with pytest.raises(SourceError, match="weight 'city'"):
        moments_from(path, targets="y_*", weight="city", numeric_only=True)


def test_columns_of_the_same_name_are_refused(tmp_path):
    t = pa.Table.from_arrays([pa.array([1.0, 2.0])] * 3, names=["a", "a", "y"])
    with pytest.raises(SourceError, match="several columns called 'a'"):
        moments_from(t, targets="y")


# Labels


LABELS = {
    "text": lambda codes: pa.array(np.array(["ä", "bb", "c"])[codes]),
    "large text": lambda codes: pa.array(
        np.array(["ä", "bb", "c"])[codes].tolist(), pa.large_string()
    ),
    "dictionary": lambda codes: pa.array(np.array(["ä", "bb", "c"])[codes]).dictionary_encode(),
    "int": lambda codes: pa.array(codes * 10 - 5),
    "bool": lambda codes: pa.array(codes == 1),
    "float": lambda codes: pa.array(codes * 2.0),
}


@pytest.mark.parametrize("kind", LABELS)
def test_class_labels_of_every_type(seed, tmp_path, monkeypatch, kind):
    small_chunks(monkeypatch, 50)
    X, codes = planted_labels(seed, 240)
    labels = LABELS[kind](codes)
    t = pa.table(dict(zip(NAMES, X.T, strict=True))).append_column("label", labels)
    source = write_many(t, tmp_path)
    selector = ProjSe(1 if kind == "bool" else 2).fit_source(source, class_target="label")
    plain = np.array(labels.to_pylist())
    want = ProjSe(len(selector.selected_), target_type="class").fit(X, plain)
    check(selector, want, rtol=1e-10)
    assert selector.moments_.classes.tolist() == sorted(set(plain.tolist()))
    if kind != "float":  # what target_type="auto" takes for labels
        auto = moments_from(source, targets="label")
        assert auto.classes.tolist() == selector.moments_.classes.tolist()
    else:
        assert moments_from(source, targets="label").classes is None


def test_the_set_of_classes_grows_from_batch_to_batch(seed, tmp_path, monkeypatch):
    small_chunks(monkeypatch, 16)
    X, codes = planted_labels(seed, 240)
    order = np.argsort(codes, kind="stable")[::-1]  # the last class first
    t = pa.table(dict(zip(NAMES, X[order].T, strict=True)))
    t = t.append_column("label", pa.array([f"class {c}" for c in codes[order]]))
    selector = ProjSe(2).fit_source(write_many(t, tmp_path), class_target="label")
    check(selector, ProjSe(2).fit(X, [f"class {c}" for c in codes]), rtol=1e-10)


def test_one_column_of_labels_at_a_time():
    _, _, t = planted_table(0)
    with pytest.raises(SourceError, match="one column of labels"):
        moments_from(t, targets="y_*", target_type="class")


# Missing values and weights


def with_holes(seed):
    X, Y, _ = planted_table(seed)
    rng = np.random.default_rng(seed)
    X, Y = X.copy(), Y.copy()
    X[rng.choice(240, 9, replace=False), 1] = np.nan
    Y[rng.choice(240, 5, replace=False), 2] = np.nan
    return X, Y, np.isfinite(X).all(axis=1) & np.isfinite(Y).all(axis=1)


@pytest.mark.parametrize("nulls", [True, False])
def test_missing_values_are_refused_with_columns_and_counts(seed, tmp_path, monkeypatch, nulls):
    small_chunks(monkeypatch, 32)
    X, Y, _ = with_holes(seed)
    columns = {
        name: pa.array(values, from_pandas=nulls)
        for name, values in zip([*NAMES, *TARGETS], [*X.T, *Y.T], strict=True)
    }
    path = write_parquet(pa.table(columns), tmp_path)
    with pytest.raises(SourceError) as caught:
        moments_from(path, targets="y_*")
    words = ("'x_1' (9)", "'y_2' (5)") if nulls else ("NaN",)
    for word in (*words, "a.parquet", "missing='drop'"):
        assert word in str(caught.value)


@pytest.mark.parametrize("kind", ["null", "NaN", "pandas", "csv", "arrays", "npy"])
def test_missing_rows_are_dropped_on_request(seed, tmp_path, monkeypatch, kind):
    small_chunks(monkeypatch, 32)
    X, Y, complete = with_holes(seed)
    columns = dict(zip([*NAMES, *TARGETS], [*X.T, *Y.T], strict=True))
    options = {"targets": "y_*"}
    if kind in ("null", "NaN"):
        arrays = {n: pa.array(v, from_pandas=kind == "null") for n, v in columns.items()}
        source = write_parquet(pa.table(arrays), tmp_path)
    elif kind == "csv":
        pd.DataFrame(columns).to_csv(tmp_path / "a.csv", index=False)
        source = tmp_path
    elif kind == "pandas":
        source = pd.DataFrame(columns)
    elif kind == "npy":
        np.save(tmp_path / "a.npy", np.hstack([X, Y]))
        source, options = tmp_path, {"targets": ["8", "9", "10"]}
    else:
        source, options = (X, Y), {}
    moments = moments_from(source, missing="drop", **options)
    want = Moments.from_arrays(X[complete], Y[complete])
    assert moments.n_samples == complete.sum()
    np.testing.assert_allclose(moments.yx, want.yx, rtol=1e-9, atol=1e-9 * np.abs(want.yx).max())


def test_rows_without_a_label_are_dropped_on_request(seed):
    X, codes = planted_labels(seed, 240)
    labels = [None if i % 7 == 0 else f"c{c}" for i, c in enumerate(codes)]
    keep = np.array([label is not None for label in labels])
    t = pa.table(dict(zip(NAMES, X.T, strict=True))).append_column("label", pa.array(labels))
    with pytest.raises(SourceError, match=r"'label' \(35\)"):
        moments_from(t, class_target="label")
    moments = moments_from(t, class_target="label", missing="drop")
    assert moments.n_samples == keep.sum()
    pair = moments_from((X, np.array(labels, dtype=object)), missing="drop")
    np.testing.assert_allclose(pair.yx, moments.yx, rtol=1e-8, atol=1e-8)


def test_infinity_is_refused_even_when_rows_are_dropped(tmp_path):
    t = pa.table({"a": [1.0, np.inf, 2.0], "b": [1.0, 3.0, 2.0], "y": [0.5, 1.0, 2.0]})
    with pytest.raises(SourceError, match=r"'a' \(1 inf\)"):
        moments_from(t, targets="y", missing="drop")


@pytest.mark.parametrize("kind", ["parquet", "arrays", "iterator", "npy"])
def test_weights_count_and_weight_0_is_gone(seed, tmp_path, monkeypatch, kind):
    small_chunks(monkeypatch, 32)
    X, Y, t = planted_table(seed)
    weight = np.random.default_rng(seed).integers(0, 4, size=240).astype(float)
    weight[:64] = 0  # whole chunks without a row that counts
    options = {}
    if kind == "parquet":
        source = write_parquet(t.append_column("w", pa.array(weight)), tmp_path)
        options = {"targets": "y_*", "weight": "w"}
    elif kind == "arrays":
        source = (X, Y, weight)
    elif kind == "iterator":
        source = ((X[i : i + 20], Y[i : i + 20], weight[i : i + 20]) for i in range(0, 240, 20))
    else:
        np.save(tmp_path / "a.npy", np.column_stack([X, Y, weight]))
        source, options = tmp_path, {"targets": ["8", "9", "10"], "weight": "11"}
    moments = moments_from(source, **options)
    want = Moments.from_arrays(X, Y, weight)
    assert moments.n_samples == want.n_samples
    assert moments.sum_weights == want.sum_weights
    scale = np.abs(want.yx).max()
    np.testing.assert_allclose(moments.yx, want.yx, rtol=1e-10, atol=1e-10 * scale)


def test_holes_in_rows_of_weight_0_do_no_harm(seed):
    X, Y, complete = with_holes(seed)
    t = pa.table(
        {
            n: pa.array(v, from_pandas=True)
            for n, v in zip([*NAMES, *TARGETS, "w"], [*X.T, *Y.T, complete * 1.0], strict=True)
        }
    )
    assert moments_from(t, targets="y_*", weight="w").n_samples == complete.sum()


@pytest.mark.parametrize(
    ("bad", "word"),
    [(-1.0, "not negative"), (np.inf, "finite"), (None, "1 nulls"), (np.nan, "NaN")],
)
def test_weights_that_make_no_sense_are_refused(bad, word):
    _, _, t = planted_table(0)
    weight = pa.array([1.0] * 239 + [bad])
    t = t.append_column("w", weight)
    with pytest.raises(SourceError, match=word) as caught:
        moments_from(t, targets="y_*", weight="w")
    assert "'w'" in str(caught.value)
    if bad is None or np.isnan(bad):
        assert moments_from(t, targets="y_*", weight="w", missing="drop").n_samples == 239
