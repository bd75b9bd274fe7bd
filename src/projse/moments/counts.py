"""Weights as counts of rows: what they say where they are, and where they are not."""

from __future__ import annotations


def are_no_counts(sum_weights: float, n_rows: int) -> bool:
    """Tell weights on another scale (shares, say) from repetitions of rows, doubtful ones less."""
    return sum_weights < n_rows / 2


def rows_that_count(sum_weights: float, n_rows: int) -> float:
    """Return the number of rows, each as often as its weight says, if that is what weights say."""
    return n_rows if are_no_counts(sum_weights, n_rows) else sum_weights
