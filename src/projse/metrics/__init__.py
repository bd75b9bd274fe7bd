"""Metrics: numbers to judge a selection by.

Comes in: selected sets, relevances, moments. Goes out: stability, kernel alignment, canonical
correlations, held-out R².
Must not know: how the selection was made.
"""

from __future__ import annotations

from projse.metrics.alignment import kernel_alignment, linear_kernel_alignment
from projse.metrics.canonical import canonical_correlations
from projse.metrics.stability import (
    nogueira_stability,
    pearson_stability,
    stability_interval,
)

__all__ = [
    "canonical_correlations",
    "kernel_alignment",
    "linear_kernel_alignment",
    "nogueira_stability",
    "pearson_stability",
    "stability_interval",
]
