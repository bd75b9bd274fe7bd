"""Warnings that point at the user's own line, and words for them."""

from __future__ import annotations

import inspect
import warnings


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the first line outside this package and scikit-learn, which may wrap our methods."""
    frame, level = inspect.currentframe(), 0
    while frame and frame.f_globals.get("__name__", "").split(".")[0] in ("projse", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level + 1)


def many(n: int, noun: str) -> str:
    """Return a number of things in words: 1 row, 2 rows, 2 classes."""
    if n == 1:
        return f"1 {noun}"
    return f"{n:,} {noun}{'es' if noun.endswith('s') else 's'}"
