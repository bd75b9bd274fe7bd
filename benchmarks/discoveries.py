"""What discoveries cost: draws of twins beside the fit whose moments they come from."""

from __future__ import annotations

from typing import Any

import data
from measure import compare
from rows import Case, Row, time_ratio_row
from text import shape

from projse import KnockoffProjSe, Moments, ProjSe


def draws(quick: bool) -> list[Row]:
    m, n_x, n_y = (20_000, 30, 10) if quick else (1_000_000, 200, 10)
    X, Y = data.regression(m, n_x, n_y)

    def fit() -> Any:
        return ProjSe(n_y).fit_moments(Moments.from_arrays(X, Y, with_xx=True)).selected_

    measured = compare(
        {
            "fit with products": fit,
            "50 draws": lambda: KnockoffProjSe(n_draws=50, random_state=0).fit(X, Y).selected_,
        },
        repeats=3 if quick else 7,
    )
    work = f"{shape(m, n_x, n_y)} float64, 50 draws of twins"
    return [
        time_ratio_row(
            "draws",
            work,
            f"time ÷ the fit of {n_y} picks that has the products of the candidates",
            measured,
            over=("50 draws", "fit with products"),
            at_most=2.0,
        )
    ]


CASES: dict[str, Case] = {"draws": draws}
