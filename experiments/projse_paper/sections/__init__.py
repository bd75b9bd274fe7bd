"""One module an experiment: its part of the results page, from saved files only."""

from typing import Protocol

from projse_paper.sections import clustering, scaling, stability, timeseries, timing, two_view
from projse_paper.store import Record

__all__ = ["ALL", "Section"]


class Section(Protocol):
    """What a module of this folder has."""

    TITLE: str

    def section(self, records: dict[str, Record]) -> str:
        """Return the part of the page, in Markdown."""


ALL: dict[str, Section] = {
    "scaling": scaling,
    "clustering": clustering,
    "timeseries": timeseries,
    "two-view": two_view,
    "timing": timing,
    "stability": stability,
}
"""By the name of the experiment, in the order of the page."""
