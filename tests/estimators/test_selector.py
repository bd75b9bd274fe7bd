"""What all selectors of columns share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from projse import KnockoffProjSe


@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingSelectedWarning")
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_no_columns_of_a_table_are_a_table_without_columns(seed: int, kind: Any) -> None:
    rng = np.random.default_rng(seed)
    columns = {f"x{j}": rng.normal(size=90) for j in range(5)}
    X = kind({**columns, "clinic": rng.choice(["Oslo", "Rome"], 90)})
    # With one twin, fdr=0.01 needs a hundred discoveries.
    none = KnockoffProjSe(fdr=0.01, n_draws=1, n_twins=1, random_state=0)
    none.fit(X, rng.normal(size=(90, 2)))
    assert not none.support_.any()
    with pytest.warns(UserWarning, match="No features were selected"):
        small = none.transform(X)
    assert type(small) is type(X)
    assert small.shape[1] == 0
