"""Columns of Arrow tables that other libraries take without ado, and those that nobody takes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from projse import (
    Moments,
    ProjSe,
    SourceError,
    TwoViewProjSe,
    moments_from,
    subspace_correlation,
)
from projse.sources.table.encoder import TableEncoder


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64()])
@pytest.mark.parametrize("basis", ["linear", "spline"])
def test_whole_numbers_beyond_2_53_are_rounded_as_by_pandas(seed, tmp_path, kind, basis):
    values = np.random.default_rng(seed).integers(2**60, 2**62, 30)
    table = pa.table({"id": pa.array([None, *values[1:].tolist()], kind), "y": values / 2**60})
    rows = [
        TableEncoder.look(t, missing="indicator", basis=basis).encode(t)[0]
        for t in (table, table.to_pandas(types_mapper=pd.ArrowDtype))
    ]
    np.testing.assert_array_equal(*rows)
    pq.write_table(table, tmp_path / "big.parquet")
    moments = moments_from(tmp_path, targets="y", missing="indicator", basis=basis)
    assert moments.n_samples == 30


@pytest.mark.parametrize("values", [[[1], [2], None], [b"a", b"b", b"c"], [{"k": 1}] * 3])
def test_columns_of_other_types_are_named_with_their_type(values):
    table = pa.table({"a": values, "b": [1.0, 2.0, 4.0]})
    with pytest.raises(ValueError, match=r"Column 'a' of X holds .*no number, category or date"):
        TableEncoder.look(table)


@pytest.mark.parametrize("target_type", ["auto", "class"])
@pytest.mark.parametrize("names", [["number"], ["code"], ["label"], ["flag"], ["code", "label"]])
def test_outputs_in_an_arrow_table_are_as_in_pandas(seed, names, target_type):
    if target_type == "class" and names == ["number"]:
        pytest.skip("continuous numbers are no classes")
    rng = np.random.default_rng(seed)
    X = pa.table({"a": rng.normal(size=60), "b": rng.choice(["u", "v"], 60)})
    y = pa.table(
        {
            "number": rng.normal(size=60),
            "code": rng.integers(0, 4, 60),
            "label": rng.choice(["p", "q"], 60),
            "flag": rng.random(60) < 0.5,
        }
    ).select(names)
    found = ProjSe(2, target_type=target_type).fit(X, y)
    want = ProjSe(2, target_type=target_type).fit(X.to_pandas(), y.to_pandas())
    np.testing.assert_array_equal(found.selected_, want.selected_)
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=1e-12)
    assert found.moments_.target_names == want.moments_.target_names


def dictionary_with_gaps(values, rng, *, numbers=False, n_chunks=2):
    """A dictionary column: gaps lie among the rows and among the values."""
    stored = ["u", None, "v", "w"] if not numbers else [1.0, None, 2.0, float("nan")]
    own = pa.array(stored if rng.random() < 0.5 else stored[::-1])
    place = {None if v != v else v: i for i, v in reversed(list(enumerate(own.to_pylist())))}
    chunks = []
    for part in np.array_split(np.asarray(values, dtype=object), n_chunks):
        rows = [None if v is None and rng.random() < 0.3 else place[v] for v in part]
        chunks.append(pa.DictionaryArray.from_arrays(pa.array(rows, pa.uint8()), own))
    return pa.chunked_array(chunks)


def assert_same_moments(found, want):
    assert found.n_samples == want.n_samples
    assert found.x_variables == want.x_variables
    assert found.target_names == want.target_names
    for name in ("sum_weights", "x_mean", "y_mean", "xx_diag", "yx", "yy"):
        np.testing.assert_allclose(getattr(found, name), getattr(want, name), atol=1e-12)


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("missing", ["refuse", "drop", "indicator"])
def test_gaps_among_the_values_of_a_dictionary_are_gaps_of_rows(seed, tmp_path, missing, numbers):
    rng = np.random.default_rng(seed)
    levels = np.array([1.0, 2.0, None] if numbers else ["u", "v", "w", None], dtype=object)
    values = rng.choice(levels, 80)
    values[:3] = None
    kind = pa.float64() if numbers else pa.string()
    plain = pa.table(
        {"k": pa.array(values, kind), "a": rng.normal(size=80), "y": rng.normal(size=80)}
    )
    coded, whole = (
        plain.set_column(0, "k", dictionary_with_gaps(values, rng, numbers=numbers, n_chunks=n))
        for n in (2, 1)  # Arrow itself joins no such chunks
    )
    with pa.ipc.new_file(tmp_path / "coded.arrow", coded.schema) as file:
        file.write_table(coded)
    options = {"missing": missing, "categorical_features": ["k"]}

    def fit(table):
        X, y = table.select(["k", "a"]), table["y"].to_numpy()
        return ProjSe(1, **options).fit(X, y).moments_

    def fit_pandas(table):
        X, y = table.select(["k", "a"]), table["y"].to_numpy()
        return ProjSe(1, **options).fit(X.to_pandas(types_mapper=pd.ArrowDtype), y).moments_

    def fit_batch(table):
        batch = table.combine_chunks().to_batches()[0]
        return ProjSe(1, **options).fit(batch.select(["k", "a"]), batch["y"].to_numpy()).moments_

    def sums(source):
        return moments_from(source, targets="y", **options)

    ways = [(fit, coded), (fit_pandas, whole), (fit_batch, whole)]
    ways += [(sums, coded), (sums, tmp_path / "coded.arrow"), (sums, coded.to_batches())]
    for way, source in ways:
        if missing == "refuse":
            with pytest.raises(ValueError, match=r"gaps, in column 'k'"):
                way(source)
        else:
            assert_same_moments(
                way(source), (fit if way in (fit_pandas, fit_batch) else way)(plain)
            )


def test_so_are_those_of_labels_covariates_and_weights(seed):
    rng = np.random.default_rng(seed)
    labels = rng.choice(np.array(["u", "v", "w", None], dtype=object), 80)
    weights = rng.choice(np.array([1.0, 2.0, None], dtype=object), 80)
    plain = pa.table(
        {"a": rng.normal(size=80), "y": rng.normal(size=80), "k": labels, "w": weights}
    )
    coded = plain.set_column(2, "k", dictionary_with_gaps(labels, rng))
    coded = coded.set_column(3, "w", dictionary_with_gaps(weights, rng, numbers=True))
    for names, roles in (
        (["a", "k"], {"targets": "k"}),
        (["a", "y", "k"], {"targets": "y", "covariates": ["k"]}),
        (["a", "y", "w"], {"targets": "y", "weight": "w"}),
    ):
        found, want = (
            moments_from(table.select(names), missing="drop", **roles) for table in (coded, plain)
        )
        assert_same_moments(found, want)
        with pytest.raises(SourceError, match=r"null|gaps"):
            moments_from(coded.select(names), **roles)


@pytest.mark.parametrize("library", ["arrow", "polars"])
@pytest.mark.parametrize("bad", ["date", "span", "text", "list"])
def test_columns_that_are_no_numbers_are_named_where_only_numbers_are_taken(seed, bad, library):
    X = np.random.default_rng(seed).normal(size=(40, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    days = pd.date_range("2020-01-01", periods=40)
    odd = {"date": days, "span": days - days[0], "text": ["u", "v"] * 20, "list": [[1, 2]] * 40}
    table = pa.Table.from_pandas(frame.assign(odd=odd[bad]))
    if library == "polars":
        table = pl.from_arrow(table)
    for fit in (Moments.from_arrays, TwoViewProjSe(1).fit, subspace_correlation):
        with pytest.raises(ValueError, match=r"not numbers, in columns of X: 'odd' \("):
            fit(table, X)
    said = {
        "list": r"y holds .*(1, 2|[Ll]ist)",
        "text": "'odd' of y holds values that are not numbers",
    }
    said = said.get(bad, r"y holds values that are not numbers, in columns: 'odd' \(")
    for fit in (Moments.from_arrays, ProjSe(1, target_type="continuous").fit):
        with pytest.raises(ValueError, match=said):
            fit(X, table)
    with pytest.raises(ValueError, match=r"not numbers, in columns of Y: 'odd' \("):
        TwoViewProjSe(1).fit(X, table)
    if bad == "list":
        with pytest.raises(ValueError, match=r"covariates\['odd'\] holds .*1, 2"):
            Moments.from_arrays(X, X, covariates=table)


def test_numbers_of_any_arrow_type_are_taken_where_only_numbers_are(seed):
    x = np.random.default_rng(seed).integers(0, 9, 40)
    flags, codes = pa.array(x > 4), pa.array(x).dictionary_encode()
    table = pa.table({"n": x, "flag": flags, "code": codes, "f": pa.array(x / 2, pa.float32())})
    found = Moments.from_arrays(table, x / 9)
    np.testing.assert_allclose(found.x_mean, [x.mean(), (x > 4).mean(), x.mean(), x.mean() / 2])
