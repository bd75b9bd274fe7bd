"""Numbers to judge a selection by: stability, kernel alignment, canonical correlations."""

from __future__ import annotations

from projse._alignment import kernel_alignment, linear_kernel_alignment
from projse._canonical import canonical_correlations
from projse._stability_measures import nogueira_stability, pearson_stability

__all__ = [
    "canonical_correlations",
    "kernel_alignment",
    "linear_kernel_alignment",
    "nogueira_stability",
    "pearson_stability",
]
