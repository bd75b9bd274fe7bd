"""Small fits: what a fit costs where there is next to nothing to compute.

Every case takes ``quick`` and returns rows. Quick sizes only show that the code runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import data
import numpy as np
from measure import compare
from picking import paper_form
from rows import Row, spread_row
from sklearn.utils.validation import validate_data
from text import shape

from projse import ProjSe


def small_fits(quick: bool) -> list[Row]:
    """Measure fits of a few rows, less what scikit-learn takes to check X and y."""
    m, n_x, n_y, n_picks = 300, 30, 4, 5
    calls = 20 if quick else 300
    X, Y = data.regression(m, n_x, n_y)
    forms = {"default": partial(ProjSe, n_picks), "paper": partial(paper_form, n_picks)}

    def many(call: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(calls):
                call()

        return run

    def fit(make: Callable[[], ProjSe]) -> None:
        make().fit(X, Y)

    measured = compare(
        {
            "validation": many(lambda: validate_data(ProjSe(), X, Y, multi_output=True)),
            **{name: many(partial(fit, make)) for name, make in forms.items()},
        },
        repeats=3 if quick else 15,
    )
    one = {name: np.array(seconds) / calls for name, seconds in measured.times.items()}
    return [
        spread_row(
            "small-fits",
            f"{shape(m, n_x, n_y)} float64, {n_picks} picks, {name}",
            "time of a fit beyond scikit-learn's validation of X and y",
            (1000 * (one[name] - one["validation"])).tolist(),
            unit="ms",
            at_most=1.0,
            seconds={who: float(np.median(one[who])) for who in (name, "validation")},
            memory_mib={name: measured.memory[name] / 2**20},
        )
        for name in forms
    ]
