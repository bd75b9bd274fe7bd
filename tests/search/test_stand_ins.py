"""Factors of the picks behind stand-ins."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from projse.search.stand_ins import _factor


def test_picks_that_depend_on_each_other_have_no_factor():
    own = np.array([[1.0, 0.5], [0.5, 1.0]])
    assert_allclose(_factor(own, 1e-12) @ _factor(own, 1e-12).T, own)
    # One pivot is rounding: positive, and so no error of Cholesky; or not positive.
    assert _factor(np.array([[1.0, 1.0], [1.0, 1.0 + 4e-16]]), 1e-12) is None
    assert _factor(np.ones((2, 2)), 1e-12) is None
