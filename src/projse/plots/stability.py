"""How often resamples select each variable."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from projse.estimators.stability import StabilityProjSe
from projse.plots.canvas import BLUE, GREY, VERMILION, Canvas, refuse_other

Array = NDArray[Any]


class StabilityDisplay:
    """Selection frequencies with their intervals, most frequent on top, and the threshold.

    Parameters
    ----------
    names : sequence of str of length n
    frequencies, low, high : ndarray of shape (n,)
        Shares of the resamples that select the variable, and their intervals.
    threshold : float
        From here on a variable is stable.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    points_ : matplotlib.collections.PathCollection
        Filled where the variable is stable.
    intervals_ : matplotlib.collections.LineCollection
    threshold_ : matplotlib.lines.Line2D

    Examples
    --------
    >>> import numpy as np
    >>> from projse import ProjSe, StabilityProjSe
    >>> from projse.plots import StabilityDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 6))
    >>> Y = X[:, :2] + 0.1 * rng.normal(size=(100, 2))
    >>> stable = StabilityProjSe(ProjSe(2), n_resamples=10, random_state=0).fit(X, Y)
    >>> display = StabilityDisplay.from_estimator(stable)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['x0', 'x1']
    """

    def __init__(
        self, *, names: Any, frequencies: Array, low: Array, high: Array, threshold: float
    ) -> None:
        self.names = names
        self.frequencies = frequencies
        self.low = low
        self.high = high
        self.threshold = threshold

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        max_variables: int | None = 50,
        ax: Any = None,
        width: float | None = None,
    ) -> Self:
        """Draw the frequencies of a fitted ``StabilityProjSe``.

        Parameters
        ----------
        estimator : StabilityProjSe
        max_variables : int or None, default=50
            Show at most this many of the variables that any resample selects; None: all.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes a figure.
        width : float, default=None
            Of a new figure, in inches; None: as matplotlib is set.

        Returns
        -------
        StabilityDisplay
        """
        refuse_other(estimator, StabilityProjSe)
        columns = {
            name: values[:max_variables] for name, values in estimator._columns_of_table().items()
        }
        display = cls(
            names=columns["name"],
            frequencies=columns["frequency"],
            low=columns["low"],
            high=columns["high"],
            threshold=estimator.threshold,
        )
        return display.plot(ax, width=width)

    def plot(self, ax: Any = None, *, width: float | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes a figure whose height grows with the variables.
        width : float, default=None
            Of a new figure, in inches.

        Returns
        -------
        self : object
        """
        n = len(self.names)
        canvas = Canvas(ax, n_rows=n, width=width)
        ax = self.ax_ = canvas.ax
        self.figure_ = canvas.figure
        places = np.arange(n)
        stable = np.asarray(self.frequencies) >= self.threshold - 1e-12
        self.intervals_ = ax.hlines(
            places, self.low, self.high, color=np.where(stable, BLUE, GREY), linewidth=1.2
        )
        self.points_ = ax.scatter(
            self.frequencies,
            places,
            s=(0.6 * canvas.font_size) ** 2,
            facecolor=np.where(stable, BLUE, "white"),
            edgecolor=np.where(stable, BLUE, GREY),
            linewidths=1.0,
            zorder=3,
        )
        self.threshold_ = ax.axvline(
            self.threshold, color=VERMILION, linewidth=1, linestyle="--", zorder=1
        )
        canvas.name_rows(self.names)
        ax.set_ylim(n - 0.4, -0.6)
        ax.set_xlim(-0.02, 1.02)
        canvas.say(x="share of the resamples")
        canvas.without_frame()
        ax.spines["left"].set_visible(False)
        return self
