"""Columns of Arrow tables that other libraries take without ado, and those that nobody takes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from projse import ProjSe, moments_from
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
