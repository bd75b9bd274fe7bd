"""Folded rows: the same sums, extremes and differences as row by row."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from projse.moments.folding import LONG_ROW, Shift, fold, reduce_rows


@pytest.mark.parametrize(
    "shape", [(1, 3), (LONG_ROW, 1), (300, 4), (2500, 7), (9, LONG_ROW - 1), (5, 4000)]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_folded_rows_hold_every_value_once(seed, shape, order):
    A = np.asarray(np.random.default_rng(seed).normal(size=shape), order=order)
    if order == "C":
        long, rest = fold(A)
        assert_array_equal(np.concatenate([long.ravel(), rest.ravel()]), A.ravel())
    for operation in (np.minimum, np.maximum):
        assert_array_equal(reduce_rows(operation, A), operation.reduce(A, axis=0))
        stack = np.stack([A, -A])
        assert_array_equal(reduce_rows(operation, stack), operation.reduce(stack, axis=(0, 1)))
    shift = A[0].copy()
    for to in ("C", "F"):
        out = np.empty(shape, order=to)
        Shift(shift).subtract(A, out)
        assert_array_equal(out, A - shift)


def test_nan_stays_the_extreme_of_its_column():
    A = np.zeros((5000, 3))
    A[4321, 1] = np.nan
    assert_array_equal(np.isnan(reduce_rows(np.minimum, A)), [False, True, False])
