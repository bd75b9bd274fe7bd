"""Rows that come in many ways, and what it means that a selection of them is the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from paper import FORMS
from patients import TARGETS, patients
from spectra import draw_outputs

from projse import ProjSe

SCORES = 1e-10
"""How far scores may differ, in float64."""
SINGLE = 1e-5
"""The same in float32, as docs/numbers.md states it."""
M, P, Q, PICKS = 211, 12, 4, 6
WIDE = 1300
"""So many candidates that a fit makes products of its picks only."""
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


class Subject(NamedTuple):
    """What is selected from: ``rows(seed)`` are X and Y, ``selector(**parameters)`` is new."""

    rows: Callable
    selector: Callable


def _wide(seed):
    rng = np.random.default_rng([seed, 1])
    X = rng.normal(size=(M, WIDE)) + 0.3 * rng.normal(size=(M, 1))
    X[:, 10:20] = X[:, :10] + 0.3 * rng.normal(size=(M, 10))
    return X, 2 * X[:, :8] @ rng.normal(size=(8, Q)) + rng.normal(size=(M, Q))


def _many_outputs(seed):
    return draw_outputs(np.random.default_rng([seed, 2]), "scales", m=M, q=60)


def _table(seed):
    frame = patients(seed, M)
    return frame.drop(columns=TARGETS), frame[TARGETS]


PLAIN = {
    f"{form}, {grouped}": Subject(rows, partial(selector, form, grouped)) for form, grouped in CELLS
}
TABLES = {
    "a table, indicators": {"missing": "indicator"},
    "a table, rows dropped, paper": {"missing": "drop", **FORMS["paper"]},
    "a table, splines": {"missing": "mean", "basis": "spline"},
    "a table, groups": {"missing": "indicator", "groups": {"where and when": ["city", "day"]}},
}
BEYOND = {
    "many candidates": Subject(_wide, partial(ProjSe, PICKS)),
    "many candidates, rounds": Subject(
        _wide, partial(ProjSe, PICKS, **{**FORMS["paper"], "round_size": 2})
    ),
    "many outputs": Subject(
        _many_outputs, partial(ProjSe, PICKS, rank=10, solver="sketch", iterated_power=1)
    ),
    **{name: Subject(_table, partial(ProjSe, 4, **options)) for name, options in TABLES.items()},
}
"""Products of the picks alone, a sketch of the outputs, and variables of several columns."""
SUBJECTS = PLAIN | BEYOND
