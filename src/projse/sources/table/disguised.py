"""Columns of strings that look like numbers or dates."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from projse.sources.look_alikes import looks_like
from projse.sources.table import read
from projse.sources.table.frame import Frame

SAMPLE_ROWS = 500
"""Rows whose values are looked at."""


def disguised(frame: Frame, j: int, *, marks: bool = False) -> str | None:
    """Say what a column of strings looks like, if not like a category; None: it does.

    ``marks``: as in :func:`~projse.sources.look_alikes.looks_like`.
    """
    sample = frame.rows(0, SAMPLE_ROWS).column(j)
    text = sample.dtype.kind in "OUT" if isinstance(sample, np.ndarray) else _is_text(sample)
    return looks_like(read.levels(sample)[1], marks=marks) if text else None


def _is_text(series: Any) -> bool:
    return bool(series.dtype in (nw.String, nw.Object))
