"""Discoveries as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from projse.estimators.frames import frame_kind, make_frame
from projse.estimators.results import HtmlTableMixin

Array = NDArray[Any]


class DiscoveryTableMixin(HtmlTableMixin):
    """Adds the table of the variables that were found to matter."""

    selected_: Array
    evalues_: Array
    statistics_: Array
    selection_frequencies_: Array
    groups_: Array
    n_features_in_: int
    _feature_names: Any

    @property
    def selected_names_(self) -> Array:
        """Names of the columns that are discoveries, the most convincing first."""
        check_is_fitted(self, "selected_")
        names = self._feature_names() or [f"x{j}" for j in range(self.n_features_in_)]
        return np.asarray(names, dtype=object)[self.selected_]

    def table(self, output: str | None = None) -> Any:
        """Return the discoveries as a data frame, the most convincing first.

        Parameters
        ----------
        output : {"pandas", "polars"} or None, default=None
            Kind of frame; None: that of ``set_output``, else pandas.

        Returns
        -------
        DataFrame
            Columns ``rank``, ``name``, ``evalue``, ``statistic``, ``frequency`` (the share of the
            draws that would find it by themselves) and ``group`` (columns of one variable have the
            same number).
        """
        return make_frame(self._html_columns(), frame_kind(self, output))

    def _html_columns(self) -> dict[str, Array]:
        names = self.selected_names_
        of = self.selected_
        return {
            "rank": np.arange(1, len(names) + 1),
            "name": names,
            "evalue": self.evalues_[of],
            "statistic": self.statistics_[of],
            "frequency": self.selection_frequencies_[of],
            "group": self.groups_[of],
        }
