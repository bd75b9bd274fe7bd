"""How much picks overlap: with each other, and with what could stand in for them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from projse.estimators.cross_validation import ProjSeCV
from projse.estimators.projse import ProjSe
from projse.plots.canvas import Canvas, heat_map, refuse_other

Array = NDArray[Any]


class RedundancyDisplay:
    """Correlations of the picks with each other, and with their stand-ins, as a heat map.

    Rows are the picks. Columns are the picks, by rank, and then variables left out that could stand
    in for them.

    Parameters
    ----------
    correlations : ndarray of shape (n_picks, n_picks + n_stand_ins)
        As the kernel sees them; shown without their signs.
    names : sequence of str
        Of the picks.
    stand_ins : sequence of str
        Names of the columns beyond the picks.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    image_ : matplotlib.image.AxesImage
    colorbar_ : matplotlib.colorbar.Colorbar

    Examples
    --------
    >>> import numpy as np
    >>> from projse import ProjSe
    >>> from projse.plots import RedundancyDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 6))
    >>> selector = ProjSe(3).fit(X, X[:, :2] + rng.normal(size=(100, 2)))
    >>> RedundancyDisplay.from_estimator(selector, stand_ins=0).image_.get_array().shape
    (3, 3)
    """

    def __init__(self, *, correlations: Array, names: Any, stand_ins: Any = ()) -> None:
        self.correlations = correlations
        self.names = names
        self.stand_ins = stand_ins

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, stand_ins: int = 1, ax: Any = None, width: float | None = None
    ) -> Self:
        """Draw how the picks of a fitted ``ProjSe`` or ``ProjSeCV`` overlap.

        Parameters
        ----------
        estimator : ProjSe or ProjSeCV
        stand_ins : int, default=1
            Show this many stand-ins a pick; 0: the picks alone.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes a figure.
        width : float, default=None
            Of a new figure, in inches; None: as matplotlib is set.

        Returns
        -------
        RedundancyDisplay
        """
        refuse_other(estimator, ProjSe, ProjSeCV)
        selector = getattr(estimator, "selector_", estimator)
        correlations, others = selector._correlations_of_picks(stand_ins)
        display = cls(correlations=correlations, names=selector.selected_names_, stand_ins=others)
        return display.plot(ax, width=width)

    def plot(self, ax: Any = None, *, width: float | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes a figure whose height grows with the picks.
        width : float, default=None
            Of a new figure, in inches.

        Returns
        -------
        self : object
        """
        k = len(self.names)
        longest = max((len(str(name)) for name in self.stand_ins), default=2)
        canvas = Canvas(ax, n_rows=k, width=width, extra=0.7 + 0.06 * min(longest, 22))
        from matplotlib.colors import Normalize

        ax = self.ax_ = canvas.ax
        self.figure_ = canvas.figure
        self.image_ = heat_map(ax, np.abs(self.correlations), Normalize(0.0, 1.0))
        canvas.name_rows(self.names, ranked=True)
        canvas.name_columns([*map(str, range(1, k + 1)), *self.stand_ins])
        if len(self.stand_ins):
            ax.axvline(k - 0.5, color="white", linewidth=3)
        canvas.say(x="pick, stand-in" if len(self.stand_ins) else "pick")
        self.colorbar_ = canvas.colour_bar(self.image_, "|correlation|")
        return self
