"""Rows that the pass itself makes: the same sums as of rows that were there before."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from projse.moments.in_memory import moments_of
from projse.sources.rows import Rows
from projse.sources.table import TableEncoder
from projse.sources.table.column_blocks import ColumnBlocks


def table(seed: int, n: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.standard_t(2, size=(n, 30)), columns=[f"x{j}" for j in range(30)])
    frame["few"] = rng.integers(0, 4, n)
    frame["gappy"] = np.where(rng.random(n) < 0.1, np.nan, rng.exponential(size=n) + 50)
    frame.insert(3, "city", rng.choice(["Oslo", "Bergen"], n))
    return frame.assign(last=1e6 + rng.normal(size=n))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("with_xx", [False, True])
@pytest.mark.parametrize("n_y", [0, 1, 3])
def test_sums_are_those_of_dense_rows(seed: int, weighted: bool, with_xx: bool, n_y: int) -> None:
    rng = np.random.default_rng(seed)
    n = 5000
    frame = table(seed, n)
    encoder = TableEncoder.look(frame, missing="indicator", basis="spline")
    made, variables = encoder.encode(frame, later=True)
    dense, same = encoder.encode(frame)
    assert isinstance(made, ColumnBlocks)
    assert variables == same
    weight = rng.integers(0, 3, n).astype(float) if weighted else None
    Y = 100 + rng.normal(size=(n, n_y)) if n_y else None
    sums = [
        moments_of(
            Rows(X, Y, weight), with_xx=with_xx, n_jobs=2, batch_size=n if n_y == 1 else None
        )
        for X in (np.ascontiguousarray(dense), made)
    ]
    for name in ("n_samples", "sum_weights", "x_mean", "y_mean", "y_min", "y_max"):
        want, found = (getattr(moments, name) for moments in sums)
        if want is not None:
            np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-9)
    # The sums of splines know bounds only, 0 and 1; those of all other columns are exact.
    for name, bound, sign in (("x_min", 0.0, -1), ("x_max", 1.0, 1)):
        want, found = (getattr(moments, name) for moments in sums)
        assert (want is None) == (found is None)
        if want is None:
            continue
        exact = np.isclose(found, want, rtol=1e-9, atol=1e-9)
        assert exact[~made.bounded].all()
        assert np.all(exact | (found == bound))
        assert np.all(sign * (found - want) >= -1e-9 * np.maximum(1, np.abs(want)))
    scale = np.sqrt(sums[0].xx_diag)
    np.testing.assert_allclose(sums[1].xx_diag, sums[0].xx_diag, rtol=1e-9, atol=1e-9)
    if with_xx:
        atol = 1e-10 * np.outer(scale, scale).max()
        np.testing.assert_allclose(sums[1].xx, sums[0].xx, rtol=0, atol=atol)
    if Y is not None:
        np.testing.assert_allclose(sums[1].yy, sums[0].yy, rtol=1e-9, atol=1e-7)
        np.testing.assert_allclose(sums[1].yx, sums[0].yx, rtol=1e-9, atol=1e-7)


def test_any_rows_can_be_had(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = table(seed, 3000)
    encoder = TableEncoder.look(frame, missing="indicator", basis="spline")
    made, _ = encoder.encode(frame, later=True)
    dense, _ = encoder.encode(frame)
    chosen = rng.permutation(3000)[:100]
    for rows in (slice(2000, 2100), slice(0, 3000, 7), chosen, rng.random(3000) < 0.1, slice(5, 5)):
        np.testing.assert_allclose(made[rows], dense[rows], atol=1e-14)
