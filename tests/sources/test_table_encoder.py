"""The encoder: honest columns, the same for every kind of frame and every cut into batches."""

from __future__ import annotations

import json
import math
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import SplineTransformer

from projse import ProjSe
from projse.exceptions import IdentifierWarning
from projse.sources import encoded_rows
from projse.sources.table import Frame, TableEncoder
from projse.sources.table.encoding import TableEncoding
from projse.sources.table.splines import Splines


def mixed(seed: int, n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    when = np.datetime64("2021-03-01T00:00") + rng.integers(0, 60 * 24 * 900, n).astype("m8[m]")
    return pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "gappy": np.where(rng.random(n) < 0.1, np.nan, rng.exponential(size=n)),
            "city": rng.choice(["Oslo", "Bergen", "3", "a\x00b\n"], n),
            "sex": pd.Categorical(np.where(rng.random(n) < 0.1, None, rng.choice(["f", "m"], n))),
            "smokes": rng.random(n) < 0.3,
            "when": when,
            "code": rng.integers(0, 4, n),
        }
    )


def as_polars(frame: pd.DataFrame) -> pl.DataFrame:
    return pl.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))


def as_objects(frame: pd.DataFrame) -> np.ndarray:
    columns = [list(frame[name]) for name in frame]
    return np.array(list(zip(*columns, strict=True)), dtype=object)


def dense(rows: np.ndarray | sp.csr_array) -> np.ndarray:
    return rows.toarray() if sp.issparse(rows) else rows


FRAMES = {
    "polars": as_polars,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
    "objects": as_objects,
}


@pytest.mark.parametrize("form", FRAMES)
@pytest.mark.parametrize("basis", ["linear", "spline"])
def test_every_kind_of_frame_gives_the_same_columns(seed: int, form: str, basis: str) -> None:
    frame = mixed(seed)
    other = FRAMES[form](frame)
    options = {"categorical_features": [6], "missing": "indicator", "basis": basis}
    rows, variables = TableEncoder.look(frame, **options).encode(frame)
    encoder = TableEncoder.look(other, **options)
    same_rows, same_variables = encoder.encode(other)
    assert same_variables.columns == variables.columns
    np.testing.assert_allclose(dense(same_rows), dense(rows), rtol=0, atol=1e-12)
    assert np.array_equal(encoder.gaps(other), frame.isna().any(axis=1).to_numpy())


def test_columns_are_those_that_pandas_and_sklearn_make(seed: int) -> None:
    frame = mixed(seed)
    encoder = TableEncoder.look(frame, missing="indicator", basis="spline")
    rows, variables = encoder.encode(frame)

    def columns(name: str) -> np.ndarray:
        return dense(rows)[:, variables.columns_of(list(frame).index(name))]

    knots = np.quantile(frame["number"], np.linspace(0, 1, 5), method="inverted_cdf")[:, None]
    splines = SplineTransformer(knots=knots, extrapolation="constant", include_bias=False)
    honest = splines.fit_transform(frame[["number"]].to_numpy())
    np.testing.assert_allclose(columns("number"), honest, atol=1e-12)
    for name in ("city", "sex"):
        honest = pd.get_dummies(frame[name], dummy_na=name == "sex").to_numpy(dtype=float)
        assert np.array_equal(columns(name), honest)
    gappy = columns("gappy")
    assert np.array_equal(gappy[:, -1], frame["gappy"].isna())
    assert not gappy[frame["gappy"].isna(), :-1].any()
    day = frame["when"].dt.hour / 24 + frame["when"].dt.minute / 1440
    np.testing.assert_allclose(columns("when")[:, -2], np.sin(2 * np.pi * day), atol=1e-9)
    hours = (frame["when"] - frame["when"].min()) / pd.Timedelta(hours=1)
    assert np.corrcoef(columns("when")[:, 0], hours)[0, 1] == pytest.approx(1)


def test_batches_add_up_to_the_whole_whatever_levels_they_hold(seed: int) -> None:
    frame = mixed(seed).sort_values("city", ignore_index=True)
    encoder = TableEncoder.look(frame, missing="indicator")
    encoder = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    rows, variables = encoder.encode(frame)
    for start in range(0, 400, 50):
        part, here = encoder.encode(Frame.of(frame).rows(start, start + 50))
        places = [variables.columns.index(column) for column in here.columns]
        assert places == sorted(places)
        whole = dense(rows)[start : start + 50]
        np.testing.assert_allclose(dense(part), whole[:, places])
        left = np.delete(whole, places, axis=1)
        assert not left.any()


@pytest.mark.parametrize("where", ["fill", "scale", "span", "knots"])
@pytest.mark.parametrize("number", [10**42, 10**400, math.inf, True, "1"], ids=lambda n: str(n)[:5])
def test_plans_with_what_is_no_number_are_refused(where: str, number: object) -> None:
    plain = TableEncoder.look(pd.DataFrame({"x": np.arange(50.0)}), basis="spline").to_dict()
    plan = plain["plans"][0]
    knots = plan["knots"]
    assert len(knots) > 2
    plan[where] = [*knots, number] if where == "knots" else number
    with pytest.raises(ValueError, match=r"no numbers|no such number"):
        TableEncoding.from_dict({"x": plain})
    plan[where] = [*knots, 1000] if where == "knots" else 1
    TableEncoding.from_dict({"x": plain})


def test_many_levels_make_sparse_rows_and_float32_stays(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=999), "k": rng.integers(0, 300, 999).astype(str)})
    rows, variables = TableEncoder.look(frame).encode(frame)
    assert sp.issparse(rows)
    assert rows.has_canonical_format
    assert rows.nnz == 2 * 999
    assert len(variables.columns) == rows.shape[1] == 1 + frame["k"].nunique()
    numbers = frame[["x"]].astype(np.float32)
    assert TableEncoder.look(numbers).encode(numbers)[0].dtype == np.float32
    mixed_size = numbers.assign(y=1.0)
    assert TableEncoder.look(mixed_size).encode(mixed_size)[0].dtype == np.float64


@pytest.mark.parametrize(("distinct", "width"), [(2, 1), (3, 2), (4, 3), (5, 4), (6, 5), (9, 6)])
def test_few_distinct_values_make_few_spline_columns(distinct: int, width: int) -> None:
    values = np.repeat(np.arange(distinct, dtype=float) ** 2, 7)
    rows, _ = TableEncoder.look(values, basis="spline").encode(values)
    assert rows.shape[1] == width
    # As many dimensions beside the constant as there are columns: none is wasted.
    assert np.linalg.matrix_rank(rows - rows.mean(axis=0)) == width


def test_a_value_that_is_nearly_always_the_same_still_has_a_basis(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.where(rng.random(500) < 0.9, 0.0, rng.exponential(size=500))
    rows, _ = TableEncoder.look(values, basis="spline").encode(values)
    assert np.isfinite(rows).all()
    assert np.linalg.matrix_rank(rows - rows.mean(axis=0)) == 6


DRAWS = {
    "normal": lambda rng: rng.normal(size=3000),
    "heavy tails": lambda rng: rng.standard_t(1.5, size=3000),
    "far from zero": lambda rng: 1e9 + rng.normal(size=3000),
    "huge": lambda rng: 1e150 * rng.exponential(size=3000),
    "tiny": lambda rng: 1e-150 * rng.exponential(size=3000),
    "skewed": lambda rng: rng.lognormal(size=3000),
    "skewed to the left": lambda rng: -rng.lognormal(size=3000),
    "few values": lambda rng: rng.integers(0, 6, 3000).astype(float),
}


@pytest.mark.parametrize("name", DRAWS)
def test_splines_are_those_of_sklearn_whatever_their_scale(seed: int, name: str) -> None:
    values = DRAWS[name](np.random.default_rng(seed))
    encoder = TableEncoder.look(values, basis="spline")
    plan = encoder.plans[0]
    knots = np.array(plan.knots)[:, None]
    honest = SplineTransformer(
        knots=knots, degree=plan.degree, extrapolation="constant", include_bias=False
    ).fit(knots)
    beyond = np.concatenate([values, plan.knots, [2 * values.min() - 1, 2 * values.max() + 1]])
    found, _ = encoder.encode(beyond)
    np.testing.assert_allclose(found, honest.transform(beyond[:, None]), rtol=0, atol=1e-12)


def test_splines_of_any_knots_are_those_of_sklearn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    as_few = []
    for spread in [0.0, *np.repeat([0.1, 1.0, 2.0, 5.0], 10), None]:
        if spread is None:
            degree, knots = 3, (-1e5, -1.0, 0.0, 1.0, 1e5)
        else:
            widths = rng.lognormal(sigma=spread, size=int(rng.integers(2, 6)))
            degree, knots = int(rng.integers(1, 4)), tuple(np.cumsum(widths).tolist())
        places = np.array(knots)[:, None]
        honest = SplineTransformer(
            knots=places, degree=degree, extrapolation="constant", include_bias=False
        ).fit(places)
        values = rng.uniform(2 * knots[0] - knots[-1], 2 * knots[-1] - knots[0], 300)
        values = np.concatenate([values, rng.uniform(*knots[:2], 50), knots])
        shift = rng.random(len(knots) + degree - 2)
        spline = Splines([knots], degree, shift[None])
        found = np.empty((1, spline.n_functions, len(values)))
        spline([values], found, np.empty(2 * spline.n_powers * len(values)))
        right = honest.transform(values[:, None]).T - shift[:, None]
        np.testing.assert_allclose(found[0], right, rtol=0, atol=2e-12)
        as_few.append(spline.n_powers == spline.n_functions + 1)
    # Between two long tails powers over all pieces would have no digits left.
    assert as_few[0]
    assert not as_few[-1]


def test_splines_side_by_side_are_those_of_each_number(seed: int) -> None:
    """More numbers than a run takes, of other knots, degrees and forms, some with gaps."""
    rng = np.random.default_rng(seed)
    makers = [
        lambda: rng.normal(size=5000),
        lambda: rng.integers(0, 3, 5000).astype(float),
        lambda: rng.integers(0, 6, 5000).astype(float),
        lambda: rng.normal(size=5000) * 10.0 ** rng.integers(-6, 6, 5000),
        lambda: np.where(rng.random(5000) < 0.1, np.nan, rng.normal(size=5000)),
        lambda: rng.integers(0, 2, 5000).astype(float),
    ]
    order = rng.integers(0, len(makers), 40)
    order[:20] = 0
    table = pd.DataFrame({f"x{j}": makers[k]() for j, k in enumerate(order)})
    rows, _ = TableEncoder.look(table, basis="spline", missing="indicator").encode(table)
    alone = [
        TableEncoder.look(table[[name]], basis="spline", missing="indicator").encode(table[[name]])
        for name in table
    ]
    right = np.hstack([own for own, _ in alone])
    assert right.shape[1] > 6 * 20
    np.testing.assert_allclose(rows, right, rtol=0, atol=1e-14)


def test_beyond_the_first_look_splines_are_constant() -> None:
    look = np.arange(10.0)
    encoder = TableEncoder.look(look, basis="spline")
    rows, _ = encoder.encode(np.array([-5.0, 0.0, 9.0, 1e6]))
    np.testing.assert_allclose(rows[[0, 3]], rows[[1, 2]], atol=1e-12)


def test_integers_next_to_gaps_have_the_keys_of_integers() -> None:
    whole, gappy = pd.DataFrame({"k": [1, 2, 2]}), pd.DataFrame({"k": [1, np.nan, 2]})
    encoder = TableEncoder.look(whole, categorical_features=["k"], missing="indicator")
    assert [c.key for c in encoder.encode(whole)[1].columns] == ["1", "2"]
    assert [tuple(c)[1:] for c in encoder.encode(gappy)[1].columns] == [
        ("level", "1"),
        ("level", "2"),
        ("gap", ""),
    ]


def test_local_time_counts_and_dates_of_whole_days_have_no_day() -> None:
    times = pd.date_range("2024-01-01", periods=50, freq="6h", tz="Europe/Oslo")
    local = pd.DataFrame({"t": times.tz_localize(None)})
    rows, _ = TableEncoder.look(pd.DataFrame({"t": times})).encode(pd.DataFrame({"t": times}))
    np.testing.assert_allclose(rows, TableEncoder.look(local).encode(local)[0])
    days = pd.DataFrame({"t": pd.date_range("2024-01-01", periods=50, freq="D")})
    keys = [column.key for column in TableEncoder.look(days).encode(days)[1].columns]
    assert keys == ["", "year:sin", "year:cos", "week:sin", "week:cos"]


def test_batches_may_have_their_columns_in_another_order(seed: int) -> None:
    frame = mixed(seed)
    encoder = TableEncoder.look(frame, missing="indicator")
    turned = frame[frame.columns[::-1]].assign(more=1)
    np.testing.assert_array_equal(encoder.encode(turned)[0], encoder.encode(frame)[0])
    with pytest.raises(ValueError, match="X lacks 'city'"):
        encoder.encode(frame.drop(columns="city"))


def test_identifiers_are_left_out_with_a_warning(seed: int) -> None:
    n = 2500
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"id": [f"p{i}" for i in range(n)], "many": rng.integers(0, 2000, n).astype(str)}
    )
    with pytest.warns(IdentifierWarning, match="'id', 'many' of X look like identifiers"):
        encoder = TableEncoder.look(frame)
    rows, variables = encoder.encode(frame)
    assert [column.kind for column in variables.columns] == ["dropped", "dropped"]
    assert not rows.any()
    assert TableEncoder.look(frame, max_levels=None).plans[0].kind == "category"


def test_gaps_are_refused_with_the_words_that_help(seed: int) -> None:
    frame = mixed(seed)
    for missing in ("refuse", "drop"):
        encoder = TableEncoder.look(frame, missing=missing)
        n = frame["gappy"].isna().sum()
        with pytest.raises(ValueError, match=rf"'gappy' \({n}\).*'drop'.*'indicator'.*'mean'"):
            encoder.encode(frame)
    kept = Frame.of(frame).take(~encoder.gaps(frame))
    assert encoder.encode(kept)[0].shape[0] == len(frame.dropna())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pd.Series([1, "a", 2.5], dtype=object), r"'c' of X mixes types: 1 \(int\) and 'a' \(str"),
        (pd.Series([[1], [2, 3]], dtype=object), r"'c' of X holds \[1\] \(list\)"),
        (pd.Series([b"a", b"b"], dtype=object), r"'c' of X holds b'a' \(bytes\)"),
        (pd.Series([1j, 2j]), "Complex data not supported: column 'c' of X holds complex128"),
        (pd.Series([1.0, np.inf]), r"'c' of X.*infinity in 1 row"),
        (pl.Series([[1], [2]]), "'c' of X holds List"),
    ],
)
def test_columns_that_are_nothing_known_are_refused(values: object, message: str) -> None:
    make = pl.DataFrame if isinstance(values, pl.Series) else pd.DataFrame
    frame = make({"c": values})
    with pytest.raises((TypeError, ValueError), match=message):
        TableEncoder.look(frame).encode(frame)


def test_a_later_batch_of_another_kind_is_refused() -> None:
    encoder = TableEncoder.look(pd.DataFrame({"c": [1.0, 2.0]}), missing="indicator")
    with pytest.raises(ValueError, match="'c' of X, a number in the first rows"):
        encoder.encode(pd.DataFrame({"c": ["a", "b"]}))
    rows, _ = encoder.encode(pd.DataFrame({"c": [None, None]}))
    assert np.array_equal(rows, [[1.5, 1], [1.5, 1]])


def test_lists_of_arrow_after_gaps_are_refused() -> None:
    gaps = pa.table({"c": pa.array([None, None])})
    encoder = TableEncoder.look(gaps, categorical_features=["c"], missing="indicator")
    with pytest.raises(ValueError, match=r"'c' of X, a category.*\(list<item: int64>\)"):
        encoder.encode(pa.table({"c": [[1], [2]]}))


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table, pl.DataFrame])
def test_columns_of_nothing_but_gaps_are_gaps_in_every_library(make: Any) -> None:
    X = make({"gone": [None] * 12, "x": np.arange(12.0)})
    y = np.arange(24.0).reshape(12, 2) ** 2
    with pytest.raises(ValueError, match=r"NaN or other gaps, in column 'gone' \(12\)"):
        ProjSe(1).fit(X, y)
    for missing in ("indicator", "mean"):
        assert ProjSe(1, missing=missing).fit(X, y).selected_.tolist() == [1]


def test_a_mask_or_names_or_places_declare_categories() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    for given in (["b"], [1], [False, True], np.array([False, True])):
        encoder = TableEncoder.look(frame, categorical_features=given)
        assert [plan.kind for plan in encoder.plans] == ["number", "category"]
    with pytest.raises(ValueError, match="mask of 3 columns"):
        TableEncoder.look(frame, categorical_features=[True, False, True])
    with pytest.raises(ValueError, match="categorical_features names 'c'"):
        TableEncoder.look(frame, categorical_features=["c"])


def test_columns_of_one_name_go_by_place() -> None:
    frame = pd.DataFrame([[1.0, "a"], [2.0, "b"]], columns=["k", "k"])
    encoder = TableEncoder.look(frame)
    assert encoder.names is None
    assert np.array_equal(encoder.encode(frame)[0], [[1, 1, 0], [2, 0, 1]])


def test_names_of_an_arrow_table_are_not_asked_for_once_a_column(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    table = pa.table({f"x{j}": rng.normal(size=20) for j in range(50)} | {"sex": ["f", "m"] * 10})
    asked = []
    names = nw.DataFrame.columns.fget
    monkeypatch.setattr(nw.DataFrame, "columns", property(lambda f: asked.append(1) or names(f)))
    TableEncoder.look(table).encode(table)
    assert len(asked) < 10


def test_a_wide_file_of_few_rows_is_looked_at_twice(seed, monkeypatch, tmp_path):
    rng = np.random.default_rng(seed)
    columns = {f"x{j}": rng.normal(size=20) for j in range(1500)} | {"sex": ["f", "m"] * 10}
    pq.write_table(pa.table(columns | {"y": columns["x700"]}), tmp_path / "wide.parquet")
    looks = []
    look = encoded_rows._first_rows
    monkeypatch.setattr(encoded_rows, "_first_rows", lambda *a: looks.append(1) or look(*a))
    found = ProjSe(1).fit_source(tmp_path / "wide.parquet", targets="y")
    assert found.selected_.tolist() == [700]
    assert len(looks) == 2
