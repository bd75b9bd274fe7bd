"""The picks in order, with their scores, the runners-up and the rounds."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from projse.estimators.cross_validation import ProjSeCV
from projse.estimators.projse import ProjSe
from projse.plots.canvas import BLUE, GREY, ORANGE, VERMILION, Canvas, refuse_other

Array = NDArray[Any]


class SelectionDisplay:
    """Scores of the picks in the order of selection, with margins and rounds.

    A bar is as long as the score; a tick marks the score that the runner-up had: where both meet,
    the order is not decided by the data. Lines part rounds of several picks.

    Parameters
    ----------
    names : sequence of str of length n
        Of the picks, in the order of selection.
    scores, margins : ndarray of shape (n,)
        As :class:`projse.ProjSe` has them.
    rounds : ndarray of int of shape (n,)
        0 for picks that were included.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    bars_ : matplotlib.container.BarContainer
    runners_up_ : matplotlib.collections.PathCollection
        A tick for each pick that had a competitor.
    lines_ : list of matplotlib.lines.Line2D
        Between rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from projse import ProjSe
    >>> from projse.plots import SelectionDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 6))
    >>> selector = ProjSe(3).fit(X, X[:, :2] + rng.normal(size=(100, 2)))
    >>> display = SelectionDisplay.from_estimator(selector)
    >>> len(display.bars_)
    3
    """

    def __init__(self, *, names: Any, scores: Array, margins: Array, rounds: Array) -> None:
        self.names = names
        self.scores = scores
        self.margins = margins
        self.rounds = rounds

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, width: float | None = None) -> Self:
        """Draw the picks of a fitted ``ProjSe`` or ``ProjSeCV``.

        Parameters
        ----------
        estimator : ProjSe or ProjSeCV
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes a figure.
        width : float, default=None
            Of a new figure, in inches; None: as matplotlib is set.

        Returns
        -------
        SelectionDisplay
        """
        refuse_other(estimator, ProjSe, ProjSeCV)
        selector = getattr(estimator, "selector_", estimator)
        display = cls(
            names=selector.selected_names_,
            scores=selector.scores_,
            margins=selector.margins_,
            rounds=selector.rounds_,
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
        n = len(self.names)
        canvas = Canvas(ax, n_rows=n, width=width)
        ax = self.ax_ = canvas.ax
        self.figure_ = canvas.figure
        places = np.arange(n)
        included = np.asarray(self.rounds) == 0
        colours = np.where(included, ORANGE, BLUE)
        self.bars_ = ax.barh(places, self.scores, height=0.7, color=colours, zorder=2)
        rival = np.flatnonzero(~included & (np.asarray(self.margins) < 1))
        behind = np.asarray(self.scores)[rival] * (1 - np.asarray(self.margins)[rival])
        self.runners_up_ = ax.scatter(
            behind,
            rival,
            marker="|",
            s=(1.15 * canvas.font_size) ** 2,
            linewidths=1.6,
            color=VERMILION,
            zorder=3,
            label="runner-up",
        )
        self.lines_ = [
            ax.axhline(place - 0.5, color=GREY, linewidth=0.6, linestyle=":", zorder=1)
            for place in _ends(np.asarray(self.rounds))
        ]
        canvas.name_rows(self.names, ranked=True)
        ax.set_ylim(n - 0.4, -0.6)
        ax.set_xlim(0, 1.02 * max(float(np.max(self.scores, initial=0.0)), 1e-12))
        canvas.say(x="score")
        canvas.without_frame()
        ax.spines["left"].set_visible(False)
        if included.any():
            self.bars_.patches[int(np.argmax(included))].set_label("included")
        if not included.all() and n:
            self.bars_.patches[int(np.argmax(~included))].set_label("score")
        if n:
            canvas.legend(
                loc="lower right",
                bbox_to_anchor=(1.0, 1.0),
                ncols=3,
                borderaxespad=0.2,
                columnspacing=1.0,
                handlelength=1.2,
            )
        return self


def _ends(rounds: Array) -> list[int]:
    """Return where a round begins, but the first, if any round has several picks."""
    begins = np.flatnonzero(np.diff(rounds)) + 1
    return begins.tolist() if len(begins) + 1 < len(rounds) else []
