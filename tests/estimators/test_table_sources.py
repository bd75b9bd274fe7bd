"""One table, the same selection: from memory, files and streams."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from patients import TARGETS, patients

import projse.sources.encoded_rows
from projse import Moments, ProjSe, SourceError, StateError, moments_from
from projse.exceptions import IdentifierWarning
from projse.sources.table.encoding import TableEncoding

WAYS = [
    {"missing": "indicator"},
    {"missing": "mean"},
    {"missing": "drop"},
    {"missing": "indicator", "basis": "spline"},
]


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(projse.sources.encoded_rows, "CHUNK_ROWS", (50, 50))


def in_memory(frame, **options):
    return ProjSe(5, **options).fit(frame.drop(columns=TARGETS), frame[TARGETS])


def assert_same_selection(a, b, tolerance=1e-10):
    assert a.selected_.tolist() == b.selected_.tolist()
    np.testing.assert_allclose(a.scores_, b.scores_, rtol=0, atol=tolerance)
    assert a.get_feature_names_out().tolist() == b.get_feature_names_out().tolist()


def in_all_ways(kinds, fast):
    """Pair kinds with ways to encode; all but the fast pairs are slow."""
    return [
        pytest.param(kind, options, marks=() if (k, i) in fast else pytest.mark.slow)
        for k, kind in enumerate(kinds)
        for i, options in enumerate(WAYS)
    ]


@pytest.mark.determinism
@pytest.mark.parametrize(
    ("kind", "options"),
    in_all_ways(["csv", "parquet", "stream", "polars"], {(0, 0), (3, 1), (2, 2), (1, 3)}),
    ids=str,
)
def test_files_and_streams_select_as_memory_does(seed, tmp_path, small_chunks, options, kind):
    frame = patients(seed)
    want = in_memory(frame, **options)
    if kind == "csv":
        source = tmp_path / "rows.csv"
        frame.to_csv(source, index=False)
    elif kind == "parquet":
        source = tmp_path / "rows.parquet"
        frame.to_parquet(source, row_group_size=70)
    elif kind == "polars":
        source = pytest.importorskip("polars").from_pandas(frame)
    else:
        import pyarrow as pa

        whole = pa.Table.from_pandas(frame, preserve_index=False)
        source = iter(whole.to_batches(max_chunksize=90))  # good for one reading
    found = ProjSe(5, **options).fit_source(source, targets=TARGETS)
    assert_same_selection(found, want)
    assert found.moments_.x_variables.names == tuple(frame.columns[:7])


@pytest.mark.determinism
@pytest.mark.parametrize(
    "options", [WAYS[3], pytest.param(WAYS[1], marks=pytest.mark.slow)], ids=str
)
def test_weights_count_as_they_do_in_memory(seed, tmp_path, small_chunks, options):
    frame = patients(seed)
    weight = np.random.default_rng(seed).integers(0, 3, len(frame)).astype(float)
    X, y = frame.drop(columns=TARGETS), frame[TARGETS]
    want = ProjSe(5, **options).fit(X, y, sample_weight=weight)
    frame["w"] = weight
    frame.to_parquet(tmp_path / "rows.parquet")
    options = ProjSe(5, **options)
    assert_same_selection(options.fit_source(tmp_path, targets=TARGETS, weight="w"), want)


@pytest.mark.determinism
def test_class_labels_next_to_a_table(seed, tmp_path, small_chunks):
    frame = patients(seed, gaps=False)
    X = frame.drop(columns=TARGETS)
    want = ProjSe(3).fit(X, frame["y_team"])
    frame.drop(columns=["y_dose", "y_load"]).to_parquet(tmp_path / "rows.parquet")
    assert_same_selection(ProjSe(3).fit_source(tmp_path, class_target="y_team"), want)


@pytest.mark.determinism
def test_one_view_of_a_table(seed, tmp_path, small_chunks):
    frame = patients(seed, gaps=False).drop(columns=TARGETS)
    frame.to_parquet(tmp_path / "rows.parquet")
    want = ProjSe(3).fit(frame)
    assert_same_selection(ProjSe(3).fit_source(tmp_path), want)


def test_codes_can_be_declared_categories(seed, tmp_path, small_chunks):
    rng = np.random.default_rng(seed)
    code, noise = rng.integers(0, 4, 300), rng.normal(size=300)
    y = np.array([0.0, 3.0, 0.0, 3.0])[code] + rng.normal(size=300)
    frame = pd.DataFrame({"code": code, "noise": noise, "y_a": y, "y_b": -y + noise})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    want = ProjSe(2, categorical_features=["code"]).fit(frame[["code", "noise"]], frame.iloc[:, 2:])
    for declared in (["code"], [0], [True, False], ["co*"]):
        selector = ProjSe(2, categorical_features=declared)
        assert_same_selection(selector.fit_source(tmp_path, targets="y_*"), want)
    with pytest.raises(SourceError, match="no column 'nope'"):
        ProjSe(2, categorical_features=["nope"]).fit_source(tmp_path, targets="y_*")


def test_plain_numbers_are_not_encoded(seed, tmp_path):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(50, 4)), columns=["a", "b", "y_a", "y_b"])
    frame["flag"] = rng.random(50) < 0.5
    frame.to_parquet(tmp_path / "rows.parquet")
    moments = moments_from(tmp_path, targets="y_*")
    assert moments.x_variables is None
    assert moments.encoding is None
    X = frame[["a", "b", "flag"]].to_numpy(float)
    np.testing.assert_allclose(moments.xx, Moments.from_arrays(X).xx, rtol=1e-12)


# States


def days(frame, folder, cuts=(150, 300)):
    folder.mkdir(exist_ok=True)
    for i, part in enumerate(np.split(np.arange(len(frame)), cuts)):
        yield folder / f"day-{i}.csv", frame.iloc[part]


def test_a_state_encodes_new_levels_of_tomorrow_by_the_plan_of_today(seed, tmp_path):
    frame = patients(seed)
    options = {"targets": TARGETS, "missing": "indicator", "basis": "spline"}
    state = tmp_path / "state"
    files = dict(days(frame, tmp_path / "days"))
    plans = []
    for path, part in files.items():
        part.to_csv(path, index=False)
        moments = moments_from(tmp_path / "days", state=state, **options)
        plans.append(json.loads((state / "state.json").read_text())["encoding"])
    assert plans[0] == plans[1] == plans[2] == moments.encoding
    assert "city=Ålesund" in moments.feature_names
    # The same plan on all rows at once.
    encoding = TableEncoding.from_dict(plans[0])
    X, variables = encoding.x.encode(frame[list(encoding.x.names)])
    assert moments.x_variables == variables
    np.testing.assert_allclose(moments.x_mean, X.mean(axis=0), atol=1e-11)
    again = moments_from(tmp_path / "days", state=state, **options)
    np.testing.assert_array_equal(again.xx, moments.xx)


def test_another_request_on_a_state_is_refused_in_words(seed, tmp_path):
    frame = patients(seed, gaps=False)
    for path, part in days(frame, tmp_path / "days"):
        part.to_csv(path, index=False)
    options = {"targets": TARGETS, "state": tmp_path / "state"}
    moments_from(tmp_path / "days", **options)
    for changed, word in (
        ({"basis": "spline"}, "basis: 'linear' before, 'spline' now"),
        ({"missing": "mean"}, "missing: 'refuse' before"),
        ({"categorical_features": ["age"]}, "categorical: now also 'age'"),
    ):
        with pytest.raises(StateError, match=word):
            moments_from(tmp_path / "days", **options, **changed)


def test_moments_of_other_plans_do_not_add_up(seed):
    frame = patients(seed, gaps=False)
    first, second = (
        moments_from(part, targets=TARGETS, basis="spline")
        for part in (frame.iloc[:200], frame.iloc[200:])
    )
    with pytest.raises(ValueError, match=r"different ways.*plans"):
        first + second


def test_an_update_encodes_rows_as_those_before(seed):
    frame = patients(seed)
    options = {"targets": TARGETS, "missing": "indicator"}
    first = moments_from(frame.iloc[:150], **options)
    plan = first.encoding
    rest = frame.iloc[150:]
    first.update(rest.drop(columns=TARGETS), rest[TARGETS])
    whole = moments_from(frame, **options)
    assert first.encoding == plan
    assert first.x_variables.columns == whole.x_variables.columns
    level = [c.kind in ("level", "gap") for c in first.x_variables.columns]
    np.testing.assert_allclose(first.x_mean[level], whole.x_mean[level], atol=1e-12)
    assert first.n_samples == len(frame)


PLANS = {
    "another kind": lambda plan: plan["x"]["plans"][0].update(kind="evil"),
    "fill that is no number": lambda plan: plan["x"]["plans"][0].update(fill="x"),
    "knots that fall": lambda plan: plan["x"]["plans"][0].update(knots=[2.0, 1.0]),
    "huge degree": lambda plan: plan["x"]["plans"][0].update(degree=10**9),
    "no scale": lambda plan: plan["x"]["plans"][3].update(scale=0.0),
    "another cycle": lambda plan: plan["x"]["plans"][3].update(cycles=["moon"]),
    "fewer plans": lambda plan: plan["x"]["plans"].pop(),
    "other names": lambda plan: plan["x"]["names"].reverse(),
    "no plan for y": lambda plan: plan.pop("y"),
    "unknown missing": lambda plan: plan["x"].update(missing="guess"),
    "nothing": lambda plan: plan.clear(),
}


@pytest.mark.parametrize("kind", PLANS)
def test_a_state_with_a_plan_that_makes_no_sense_is_refused(tmp_path, kind):
    frame = patients(0, gaps=False)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    options = {"targets": TARGETS, "state": tmp_path / "state"}
    moments_from(tmp_path / "rows.csv", **options)
    path = tmp_path / "state" / "state.json"
    state = json.loads(path.read_text())
    PLANS[kind](state["encoding"])
    path.write_text(json.dumps(state))
    with pytest.raises(StateError, match="damaged or not of projse"):
        moments_from(tmp_path / "rows.csv", **options)


# Bad input


def test_gaps_are_refused_with_the_three_other_words(seed, tmp_path):
    frame = patients(seed)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(SourceError) as caught:
        moments_from(tmp_path / "rows.csv", targets=TARGETS)
    for word in ("rows.csv", "'bmi'", "'drop'", "'indicator'", "'mean'", "--missing"):
        assert word in str(caught.value)


def test_a_later_file_with_other_values_is_named(seed, tmp_path):
    frame = patients(seed, gaps=False)
    for path, part in days(frame, tmp_path / "days"):
        part = part.astype({"age": object})
        if path.name == "day-1.csv":
            part.iloc[3, 0] = "old"
        part.to_csv(path, index=False)
    with pytest.raises(SourceError, match=r"day-1\.csv.*age|day-1\.csv.*old"):
        moments_from(tmp_path / "days", targets=TARGETS)


def test_identifiers_and_nameless_columns_are_left_out_with_a_note(seed, tmp_path):
    frame = patients(seed, gaps=False)
    frame.insert(0, "patient", [f"p{i}" for i in range(len(frame))])
    frame.to_csv(tmp_path / "rows.csv")  # with an index that has no name
    with pytest.warns(IdentifierWarning) as caught:
        moments = moments_from(tmp_path / "rows.csv", targets=TARGETS)
    told = " ".join(str(warning.message) for warning in caught)
    assert "no name" in told
    assert "'patient'" in told
    assert moments.x_variables.names[:2] == ("patient", "age")
    assert moments.x_variables.columns[0].kind == "dropped"


def test_levels_beyond_the_limit_drop_a_variable_in_any_batch(tmp_path, monkeypatch):
    n = 1500
    rng = np.random.default_rng(0)
    keys = np.concatenate([np.zeros(600), np.arange(900)]).astype(int)
    frame = pd.DataFrame({"key": [f"k{k}" for k in keys], "a": rng.normal(size=n)})
    frame["y_a"], frame["y_b"] = frame.a + rng.normal(size=n), rng.normal(size=n)
    frame = pd.concat([frame, frame.assign(key=[f"m{k}" for k in keys])])
    monkeypatch.setattr(projse.sources.encoded_rows, "CHUNK_ROWS", (500, 500))
    monkeypatch.setattr("projse.sources.table.encoder.LOOK_ROWS", 1000)
    frame.to_parquet(tmp_path / "rows.parquet")
    with pytest.warns(IdentifierWarning, match=r"'key'.*more than 1000 levels"):
        selector = ProjSe(1).fit_source(tmp_path, targets="y_*")
    assert [c.kind for c in selector.moments_.x_variables.columns] == ["dropped", "value"]
    assert selector.selected_.tolist() == [1]
