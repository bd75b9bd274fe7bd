"""One module an experiment: its units of work, its table of numbers, its figure."""

from projse_paper.experiments import (
    clustering,
    scaling,
    stability,
    timeseries,
    timing,
    two_view,
)

ALL = {
    "scaling": scaling,
    "clustering": clustering,
    "timeseries": timeseries,
    "two-view": two_view,
    "timing": timing,
    "stability": stability,
}
"""Experiments by the name they have on the command line, in the paper's order."""
