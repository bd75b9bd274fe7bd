"""Plots: pictures of a selection, as scikit-learn's displays are.

Comes in: fitted estimators, or the numbers that a picture shows. Goes out: matplotlib axes.
Must not know: how a selection is made; matplotlib before something is drawn.
"""

from projse.plots.canonical import CanonicalCorrelationDisplay
from projse.plots.explained import ExplainedDisplay
from projse.plots.redundancy import RedundancyDisplay
from projse.plots.selection import SelectionDisplay
from projse.plots.stability import StabilityDisplay
from projse.plots.validation import ValidationCurveDisplay

__all__ = [
    "CanonicalCorrelationDisplay",
    "ExplainedDisplay",
    "RedundancyDisplay",
    "SelectionDisplay",
    "StabilityDisplay",
    "ValidationCurveDisplay",
]
