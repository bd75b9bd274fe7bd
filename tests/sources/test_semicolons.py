"""CSV files whose columns are separated by semicolons."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from projse import ProjSe


@pytest.mark.parametrize("packed", [False, True])
def test_semicolons_are_seen_in_the_header(seed: int, tmp_path: Path, packed: bool) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(50, 3)), columns=["a", "b", "y"])
    frame["c"] = rng.choice(["u, with a comma", "v"], 50)
    text = frame.to_csv(sep=";", index=False)
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    found = ProjSe(2).fit_source(path, targets="y")
    want = ProjSe(2).fit(frame[["a", "b", "c"]], frame["y"])
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=1e-9)
