"""References and covariates of a table as combinations of its columns: their sums and bounds."""

from __future__ import annotations

import numpy as np
import pandas as pd

from projse import moments_from
from projse.kernels.combined_references import combined_references
from projse.moments.in_memory import moments_of_table


def test_filled_references_remember_how_large_they_were_before_rows_were_taken_out(seed):
    """Of their squares then, the rounding of what is left is a share."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.normal(size=200), "u": rng.normal(size=200)})
    Y = pd.DataFrame({"y": np.repeat([0.0, -1e3], 100) + rng.normal(size=200), "v": X.x})
    Y.loc[rng.random(200) < 0.2, "y"] = np.nan
    before = moments_from(X.join(Y)[:100], targets=["y", "v"], missing="mean")
    after = moments_of_table(X[100:], Y[100:], None, before.encoding)
    rest = (before + after) - before
    found = combined_references(rest)
    filled = np.where(Y.y.isna(), Y.y[100:].mean(), Y.y)  # as the rows that are left say
    squares = np.array([filled.var(), Y.v.var(ddof=0)]) * 200
    assert (2 * found.y_peak >= squares).all()
    assert (found.y_peak <= 100 * squares).all()
