"""The picks of two views as one table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from projse.estimators.frames import frame_kind, make_frame
from projse.estimators.results import HtmlTableMixin

Array = NDArray[Any]


class TwoViewTableMixin(HtmlTableMixin):
    """Adds the table of the picks of both views."""

    x_selector_: Any
    y_selector_: Any
    x_selected_names_: Array
    y_selected_names_: Array

    def table(self, output: str | None = None) -> Any:
        """Return the picks of X, and then those of Y, as a data frame in the order of selection.

        Parameters
        ----------
        output : {"pandas", "polars"} or None, default=None
            Kind of frame; None: that of ``set_output``, else pandas.

        Returns
        -------
        DataFrame
            Columns ``view`` ("X" or "Y"), ``rank``, ``name``, ``score``, ``correlation``,
            ``margin``, ``pvalue`` and ``round``. ``x_selector_`` and ``y_selector_`` have a table
            each, with stand-ins.
        """
        return make_frame(self._html_columns(), frame_kind(self, output))

    def _html_columns(self) -> dict[str, Array]:
        check_is_fitted(self, "x_selector_")
        sides = [self.x_selector_._columns_of_table(), self.y_selector_._columns_of_table()]
        sides[0]["name"], sides[1]["name"] = self.x_selected_names_, self.y_selected_names_
        view = np.repeat(np.array(["X", "Y"], dtype=object), [len(side["rank"]) for side in sides])
        columns = {name: np.concatenate([side[name] for side in sides]) for name in sides[0]}
        return {"view": view, **columns}
