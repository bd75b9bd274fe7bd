"""Parameters that rows were summed by, and that ``partial_fit`` therefore cannot change."""

from __future__ import annotations

from typing import Any

import numpy as np

SETTLED = ("missing", "basis", "categorical_features", "target_type")
"""What becomes of rows before they are summed; all else concerns the selection from the sums."""


def settled_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters that shape sums, as plain values."""
    return {name: _plain(getattr(estimator, name, None)) for name in SETTLED}


def refuse_changed(estimator: Any) -> None:
    """Refuse parameters that differ from those that the rows so far were summed by."""
    before = getattr(estimator, "_settled", {})
    now = settled_parameters(estimator)
    for name, value in before.items():
        if now[name] != value:
            raise ValueError(
                f"{name}={getattr(estimator, name)!r} was {value!r} when the rows so far were "
                "summed, and no longer counts: partial_fit adds rows that are read alike. Set it "
                "back, or begin anew with a clone."
            )


def _plain(value: Any) -> Any:
    """Return what compares as a whole: lists and arrays of columns as lists."""
    if value is None or isinstance(value, str):
        return value
    return np.asarray(value, dtype=object).ravel().tolist()
