"""Selection frequencies as a table, with how far chance may have moved them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted

from projse.estimators.frames import frame_kind, make_frame
from projse.estimators.results import HtmlTableMixin

Array = NDArray[Any]


class FrequenciesMixin(HtmlTableMixin):
    """Adds the table of a stable selection."""

    selected_: Array
    selection_frequencies_: Array
    selections_: Array
    confidence: float
    variable_names_: Any

    @property
    def selected_names_(self) -> Array:
        """Names of the stable set, most frequent first."""
        check_is_fitted(self, "selected_")
        return self._names_of(self.selected_)

    def table(self, output: str | None = None) -> Any:
        """Return all variables that any resample selected as a data frame, most frequent first.

        Parameters
        ----------
        output : {"pandas", "polars"} or None, default=None
            Kind of frame; None: that of ``set_output``, else pandas.

        Returns
        -------
        DataFrame
            Columns ``rank``, ``name``, ``frequency``, ``low``, ``high`` (Wilson's interval at
            ``confidence``, as if resamples were independent) and ``stable``.
        """
        return make_frame(self._columns_of_table(), frame_kind(self, output))

    def _columns_of_table(self) -> dict[str, Array]:
        check_is_fitted(self, "selected_")
        frequencies = self.selection_frequencies_
        n_stable = len(self.selected_)
        rest = np.setdiff1d(np.flatnonzero(frequencies), self.selected_)
        rest = rest[np.argsort(-frequencies[rest], kind="stable")]
        order = np.concatenate([self.selected_, rest])
        low, high = wilson_interval(frequencies[order], len(self.selections_), self.confidence)
        return {
            "rank": np.arange(1, len(order) + 1),
            "name": self._names_of(order),
            "frequency": frequencies[order],
            "low": low,
            "high": high,
            "stable": np.arange(len(order)) < n_stable,
        }

    def _html_columns(self) -> dict[str, Array]:
        return self._columns_of_table()

    def _names_of(self, indices: Array) -> Array:
        names: Array = self.variable_names_[indices]
        return names


def wilson_interval(share: Array, n: int, confidence: float) -> tuple[Array, Array]:
    """Return Wilson's interval of shares of n independent trials: low and high."""
    z = float(norm.ppf(0.5 + confidence / 2))
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
