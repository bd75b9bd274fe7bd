"""Targets of text that has another value in every row: names and identifiers, not classes."""

from __future__ import annotations

from collections import defaultdict

from projse.exceptions import UnreliableSelectionWarning
from projse.sources.look_alikes import looks_like
from projse.sources.variables import Variables
from projse.warn import warn_caller

LEAST_ROWS = 20
"""Of fewer rows, each may well have a class of its own."""


def warn_own_labels(n_labels: int, n_rows: int, name: str = "y") -> bool:
    """Say that a target has a label of its own in every row, as an identifier has, if it has."""
    if n_rows < LEAST_ROWS or n_labels < n_rows:
        return False
    warn_caller(
        f"{name} has a label of its own in each of {n_rows} rows, as an identifier or a name has, "
        "and is explained by any variable as well as by any other. Pass what is to be explained, "
        "or make numbers or dates of it.",
        UnreliableSelectionWarning,
    )
    return True


def warn_own_levels(variables: Variables, n_rows: int) -> bool:
    """Say the same of each reference of several; return whether it was said of any.

    Of strings that look like numbers or dates, the first look has said so.
    """
    levels: defaultdict[int, list[str]] = defaultdict(list)
    for column in variables.columns:
        if column.kind == "level":
            levels[column.variable].append(column.key)
    told = False
    for variable, keys in levels.items():
        if looks_like(keys) is None:
            name = f"Column {variables.names[variable]!r} of y"
            told |= warn_own_labels(len(keys), n_rows, name)
    return told
