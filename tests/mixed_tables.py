"""A table with numbers, strings, booleans, a date and gaps, of which six columns matter."""

from __future__ import annotations

import numpy as np
import pandas as pd

LINEAR = ("a", "b", "factor", "flag")
REAL = (*LINEAR, "square", "threshold")
NOISE = tuple(f"noise_{k}" for k in (0, 1, 2, 3, 4, 3.0, 10, 30, "flag", "rare", "code", "date"))


def planted_table(seed: int, n: int = 1200) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return 18 candidates, and three numeric outputs beside a categorical one."""
    rng = np.random.default_rng(seed)
    a, b, square, threshold = rng.normal(size=(4, n))
    factor, flag = rng.choice(list("pqrs"), n), rng.random(n) < 0.4
    shift = np.array([-1.5, 1.2, 0.6, -0.3])[np.searchsorted(list("pqrs"), factor)]
    over = threshold > 0.5
    noise = dict(zip(NOISE[:5], rng.normal(size=(5, n)), strict=True))
    X = pd.DataFrame(
        {
            "a": a,
            "b": np.where(rng.random(n) < 0.05, np.nan, b),
            "factor": factor,
            "flag": flag,
            "square": square,
            "threshold": threshold,
            **noise,
            "noise_3.0": rng.choice(list("xyz"), n),
            "noise_10": pd.Categorical(rng.choice(list("abcdefghij"), n)),
            "noise_30": rng.choice([f"level {k}" for k in range(30)], n),
            "noise_flag": rng.random(n) < 0.5,
            "noise_rare": rng.random(n) < 0.1,
            "noise_code": rng.integers(0, 5, n),
            "noise_date": np.datetime64("2019-01-01") + rng.integers(0, 1500, n).astype("m8[D]"),
        }
    )
    e = rng.normal(size=(4, n))
    curve = square**2 - 1
    Y = pd.DataFrame(
        {
            "y1": a + shift + curve + e[0],
            "y2": b + 1.5 * flag + 1.5 * over + e[1],
            "y3": a - b + shift + over + e[2],
            "y4": np.where(flag + 0.7 * curve + 0.5 * a + e[3] > 0.5, "hi", "lo"),
        }
    )
    return X, Y
