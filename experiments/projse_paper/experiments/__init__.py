"""One module an experiment: its units of work, its table of numbers, its figure."""

from typing import Any, Protocol

from matplotlib.figure import Figure

from projse_paper.experiments import (
    clustering,
    scaling,
    stability,
    timeseries,
    timing,
    two_view,
)
from projse_paper.store import Record, Unit

__all__ = ["ALL", "Experiment"]


class Experiment(Protocol):
    """What a module of this folder has."""

    NAME: str

    def units(self, quick: bool) -> list[Unit]:
        """Return the pieces of work."""

    def rows(self, records: dict[str, Record]) -> list[dict[str, Any]]:
        """Return the table of numbers."""

    def draw(self, records: dict[str, Record]) -> Figure | None:
        """Return the figure, or None where there is nothing to draw."""


IN_ORDER: tuple[Experiment, ...] = (scaling, clustering, timeseries, two_view, timing, stability)
"""The order of the paper."""

ALL = {experiment.NAME: experiment for experiment in IN_ORDER}
"""Experiments by the name they have on the command line, in the paper's order."""
