"""One module an experiment: its part of the results page, from saved files only."""

from projse_paper.sections import clustering, scaling, stability, timeseries, timing, two_view

ALL = {
    "scaling": scaling,
    "clustering": clustering,
    "timeseries": timeseries,
    "two-view": two_view,
    "timing": timing,
    "stability": stability,
}
