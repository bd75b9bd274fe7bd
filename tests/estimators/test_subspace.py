"""Correlation with a subspace against the explicit projector."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from oracle import (
    FAMILIES,
    columns,
    draw,
)

from projse import subspace_correlation
from projse.projectors import Projector


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_subspace_correlation_equals_the_explicit_projector(seed, family, center):
    rng = np.random.default_rng([seed, 8])
    for _ in range(5):
        X, Y = draw(rng, family)
        (A, live), (B, _) = columns(X, center, True), columns(Y, center, True)
        want = np.zeros(X.shape[1])
        want[live] = np.sqrt(Projector.onto(B, tol=1e-10).squared_norm(A))
        for make in (np.asarray, sp.csr_array):
            got = subspace_correlation(make(X), make(Y), center=center)
            np.testing.assert_allclose(got, want, atol=1e-7)
        if family == "one output" and center:
            np.testing.assert_allclose(got, np.abs(np.corrcoef(X.T, Y.T)[-1, :-1]), atol=1e-9)
