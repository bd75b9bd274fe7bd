"""Batches that add nothing: all of their rows have weight 0."""

from __future__ import annotations

from typing import Any

import numpy as np


def weighs_nothing(X: Any, sample_weight: Any) -> bool:
    """Whether weights are all 0, one a row; of what is no such thing, others say what is wrong."""
    if sample_weight is None or hasattr(sample_weight, "dask"):
        return False
    try:
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (IndexError, TypeError, ValueError):
        return False
    return n_rows > 0 and weight.shape in ((), (n_rows,)) and not weight.any()
