"""A table of numbers, strings, booleans, dates and gaps, and references of several kinds."""

from __future__ import annotations

import numpy as np
import pandas as pd

TARGETS = ["y_dose", "y_team", "y_load"]


def patients(seed, n_samples=400, *, gaps=True):
    """Two numbers, a category, a boolean and a date behind three references; noise of all kinds.

    Levels come one after the other: no batch has all of them.
    """
    rng = np.random.default_rng(seed)
    n = n_samples
    late = np.arange(n) > n // 2
    city = np.where(late & (rng.random(n) < 0.4), "Ålesund", rng.choice(["Oslo", "Bergen"], n))
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 12, n),
            "city": city,
            "smoker": rng.random(n) < 0.3,
            "day": day,
            "bmi": rng.normal(25, 3, n),
            "code": rng.choice(["007", "12", "3.0", "x\ny"], n),
            "noise": rng.normal(size=n),
        }
    )
    season = np.sin(2 * np.pi * (day - pd.Timestamp("2020-01-01")).days / 365.25)
    frame["y_dose"] = 0.1 * frame.age + 2.0 * (frame.city == "Ålesund") + rng.normal(size=n)
    frame["y_team"] = np.where(frame.smoker ^ (rng.random(n) < 0.2), "red", "blue")
    frame["y_load"] = season + 0.2 * frame.bmi + rng.normal(size=n)
    if gaps:
        frame.loc[rng.random(n) < 0.08, "bmi"] = np.nan
        frame.loc[rng.random(n) < 0.05, "city"] = None
        frame.loc[rng.random(n) < 0.05, "y_load"] = np.nan
    return frame
