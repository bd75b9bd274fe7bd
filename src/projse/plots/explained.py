"""How much of each output each pick adds, as a heat map."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from projse.estimators.cross_validation import ProjSeCV
from projse.estimators.projse import ProjSe
from projse.plots.canvas import Canvas, heat_map, refuse_other

Array = NDArray[Any]

WRITTEN = 150
"""Up to this many cells have their numbers written in them."""


class ExplainedDisplay:
    """R² that each pick adds to each output, with that of all picks in the last row.

    Colours go by the root of R², so that what small additions are is seen too.

    Parameters
    ----------
    explained : ndarray of shape (n_picks, n_outputs)
        As ``explained_`` of :class:`projse.ProjSe`.
    names, output_names : sequence of str
        Of the picks and of the outputs.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    image_ : matplotlib.image.AxesImage
        Picks and, last, all of them together, by outputs.
    colorbar_ : matplotlib.colorbar.Colorbar
    texts_ : list of matplotlib.text.Text
        Numbers in the cells, where these are few.

    Examples
    --------
    >>> import numpy as np
    >>> from projse import ProjSe
    >>> from projse.plots import ExplainedDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 6))
    >>> selector = ProjSe(3).fit(X, X[:, :2] + rng.normal(size=(100, 2)))
    >>> ExplainedDisplay.from_estimator(selector).image_.get_array().shape
    (4, 2)
    """

    def __init__(self, *, explained: Array, names: Any, output_names: Any) -> None:
        self.explained = explained
        self.names = names
        self.output_names = output_names

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, width: float | None = None) -> Self:
        """Draw what the picks of a fitted ``ProjSe`` or ``ProjSeCV`` explain.

        Parameters
        ----------
        estimator : ProjSe or ProjSeCV
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes a figure.
        width : float, default=None
            Of a new figure, in inches; None: as matplotlib is set.

        Returns
        -------
        ExplainedDisplay
        """
        refuse_other(estimator, ProjSe, ProjSeCV)
        display = cls(
            explained=estimator.explained_,
            names=estimator.selected_names_,
            output_names=estimator.output_names_,
        )
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
        k, q = np.shape(self.explained)
        longest = max((len(str(name)) for name in self.output_names), default=0)
        canvas = Canvas(ax, n_rows=k + 1, width=width, extra=0.7 + 0.06 * min(longest, 22))
        from matplotlib.colors import PowerNorm

        ax = self.ax_ = canvas.ax
        self.figure_ = canvas.figure
        values = np.vstack([self.explained, np.sum(self.explained, axis=0)])
        self.image_ = heat_map(ax, values, PowerNorm(0.5, 0.0, 1.0))
        ax.axhline(k - 0.5, color="white", linewidth=3)
        canvas.name_rows([*self.names, "all picks"])
        ax.get_yticklabels()[-1].set_fontweight("bold")
        canvas.name_columns(self.output_names)
        canvas.say(x="output")
        ticks = [0.0, 0.01, 0.1, 0.25, 0.5, 1.0]
        self.colorbar_ = canvas.colour_bar(self.image_, "R² that a pick adds", ticks)
        self.colorbar_.ax.set_yticklabels([f"{tick:g}" for tick in ticks])
        room = 0.4 * canvas.width * 72 > 2.6 * canvas.font_size * q
        self.texts_ = self._write(canvas, values) if room and values.size <= WRITTEN else []
        return self

    def _write(self, canvas: Canvas, values: Array) -> list[Any]:
        """Write the numbers into the cells, light on dark and dark on light."""
        return [
            canvas.ax.text(
                j,
                i,
                f"{values[i, j]:.2f}",
                ha="center",
                va="center",
                fontsize=canvas.font_size - 1,
                color="black" if values[i, j] > 0.3 else "white",
            )
            for i in range(len(values))
            for j in range(values.shape[1])
            if np.isfinite(values[i, j])
        ]
