"""Rows that come in many ways, and what it means that a selection of them is the same."""

from __future__ import annotations

from itertools import product

import numpy as np
from paper import FORMS

from projse import ProjSe

SCORES = 1e-10
"""How far scores may differ, in float64."""
SINGLE = 1e-5
"""The same in float32, as docs/numbers.md states it."""
M, P, Q, PICKS = 211, 12, 4, 6
NAMES = [*(f"x{j:02}" for j in range(P)), *(f"y{j}" for j in range(Q))]
GROUPS = {"columns": None, "groups": [0, 1, 1, 2, 3, 3, 3, 4, 5, 6, 6, 7]}
CELLS = list(product(FORMS, GROUPS))
"""Both forms, with and without groups."""


def rows(seed, dtype=np.float64):
    """Mostly zeros, so that sparse means something; values that both dtypes hold exactly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(M, P)) * (rng.random((M, P)) < 0.4)
    X[:, 1::2] += 0.7 * X[:, ::2]
    Y = X[:, :5] @ rng.normal(size=(5, Q)) + 2 * rng.normal(size=(M, Q)) + 3
    return (np.round(A * 2**12).astype(dtype) / dtype(2**12) for A in (X, Y))


def selector(form, grouped, **parameters):
    settled = {**FORMS[form], **({"round_size": 2} if form == "paper" else {})}
    return ProjSe(PICKS, groups=GROUPS[grouped], **settled, **parameters)


def same(fitted, reference, scores):
    assert fitted.selected_.tolist() == reference.selected_.tolist()
    np.testing.assert_allclose(fitted.scores_, reference.scores_, rtol=0, atol=scores)
    assert fitted.rounds_.tolist() == reference.rounds_.tolist()
