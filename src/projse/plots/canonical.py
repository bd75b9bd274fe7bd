"""Canonical correlations of growing selections of two views: along a path, or on a grid."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from projse.estimators.two_view import TwoViewProjSe
from projse.plots.canvas import BLUE, VERMILION, Canvas, heat_map, refuse_other

Array = NDArray[Any]


class CanonicalCorrelationDisplay:
    """First canonical correlation of the first variables of both views.

    Parameters
    ----------
    path : ndarray of shape (n,) or None
        Of the first 1, 2, … variables of both sides.
    held_out_path : ndarray of shape (n,) or None
        The same on rows that the fit has not seen.
    grid : ndarray of shape (n_x, n_y) or None
        Of the first i variables of X and j of Y; drawn instead of the path.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    lines_ : list of matplotlib.lines.Line2D
        Of the path: rows of the fit, then held-out rows.
    image_ : matplotlib.image.AxesImage or None
        Of the grid.

    Examples
    --------
    >>> import numpy as np
    >>> from projse import TwoViewProjSe
    >>> from projse.plots import CanonicalCorrelationDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 5))
    >>> model = TwoViewProjSe(3).fit(X, X[:, :4] + rng.normal(size=(100, 4)))
    >>> len(CanonicalCorrelationDisplay.from_estimator(model).lines_)
    1
    >>> grid = CanonicalCorrelationDisplay.from_estimator(model, kind="grid")
    >>> grid.image_.get_array().shape
    (3, 3)
    """

    def __init__(
        self,
        *,
        path: Array | None = None,
        held_out_path: Array | None = None,
        grid: Array | None = None,
    ) -> None:
        self.path = path
        self.held_out_path = held_out_path
        self.grid = grid

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        Y: Any = None,
        *,
        sample_weight: Any = None,
        kind: str = "path",
        ax: Any = None,
        width: float | None = None,
    ) -> Self:
        """Draw the canonical correlations of a fitted ``TwoViewProjSe``.

        Parameters
        ----------
        estimator : TwoViewProjSe
        X, Y : array-like, default=None
            Held-out rows, with all columns. A path shows them beside those of the fit, a grid
            instead.
        sample_weight : array-like of shape (n_samples,), default=None
            Of the held-out rows.
        kind : {"path", "grid"}, default="path"
            One number of variables for both sides, or all pairs of numbers.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes a figure.
        width : float, default=None
            Of a new figure, in inches; None: as matplotlib is set.

        Returns
        -------
        CanonicalCorrelationDisplay
        """
        refuse_other(estimator, TwoViewProjSe)
        if kind not in ("path", "grid"):
            raise ValueError(f"kind={kind!r} is not 'path' or 'grid'.")
        rows = (X, Y, sample_weight)
        if kind == "grid":
            display = cls(grid=estimator.canonical_correlation_grid(*rows))
        else:
            held_out = None if X is None else estimator.canonical_correlation_path(*rows)
            display = cls(path=estimator.canonical_correlation_path(), held_out_path=held_out)
        return display.plot(ax, width=width)

    def plot(self, ax: Any = None, *, width: float | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes a figure.
        width : float, default=None
            Of a new figure, in inches.

        Returns
        -------
        self : object
        """
        canvas = Canvas(ax, width=width)
        self.ax_, self.figure_ = canvas.ax, canvas.figure
        self.lines_: list[Any] = []
        self.image_: Any = None
        if self.grid is None:
            self._draw_path(canvas)
        else:
            self._draw_grid(canvas, np.asarray(self.grid))
        return self

    def _draw_path(self, canvas: Canvas) -> None:
        ax = canvas.ax
        curves = (
            (self.path, "rows of the fit", BLUE, "o", "-"),
            (self.held_out_path, "held-out rows", VERMILION, "s", "--"),
        )
        for values, label, colour, marker, style in curves:
            if values is None:
                continue
            sizes = np.arange(1, len(values) + 1)
            marker = marker if len(values) <= 40 else ""
            self.lines_ += ax.plot(
                sizes, values, style, marker=marker, markersize=3, color=colour, label=label
            )
        _whole_numbers(ax.xaxis)
        canvas.say(x="variables of each view", y="first canonical correlation")
        canvas.without_frame()
        ax.grid(axis="y", color="0.9", linewidth=0.6)
        if len(self.lines_) > 1:
            canvas.legend(loc="best")

    def _draw_grid(self, canvas: Canvas, grid: Array) -> None:
        from matplotlib.colors import Normalize

        ax = canvas.ax
        low, high = float(np.nanmin(grid)), float(np.nanmax(grid))
        self.image_ = heat_map(ax, grid.T, Normalize(low, high))
        n_x, n_y = grid.shape
        self.image_.set_extent((0.5, n_x + 0.5, n_y + 0.5, 0.5))
        ax.invert_yaxis()
        for axis in (ax.xaxis, ax.yaxis):
            _whole_numbers(axis)
        canvas.say(x="variables of X", y="variables of Y")
        self.colorbar_ = canvas.colour_bar(self.image_, "first canonical correlation")


def _whole_numbers(axis: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, nbins=6, min_n_ticks=1))
