"""Held-out scores by the number of variables, and the number that was chosen."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from projse.estimators.cross_validation import ProjSeCV
from projse.plots.canvas import BLUE, GREY, VERMILION, Canvas, refuse_other, shortened

Array = NDArray[Any]

STYLES = ("--", ":", "-.", (0, (1, 3)), (0, (5, 5)), (0, (3, 1, 1, 1, 1, 1)))
"""Of curves beside the chosen one, in turn."""


class ValidationCurveDisplay:
    """Mean held-out scores with standard errors, for growing numbers of variables.

    The curve of the chosen parameters stands out, with a band of one standard error; the choice is
    marked on it.

    Parameters
    ----------
    sizes : ndarray of int of shape (n_sizes,)
        Numbers of variables.
    scores, errors : ndarray of shape (n_entries, n_sizes)
        Means over the folds and their standard errors.
    labels : sequence of str of length n_entries
        What was tried.
    chosen : tuple of int
        The entry and the number of variables that were chosen.
    score_name : str, default="held-out R²"
        What the scores are.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    lines_ : list of matplotlib.lines.Line2D
        One an entry.
    band_ : matplotlib.collections.PolyCollection
    choice_ : matplotlib.lines.Line2D

    Examples
    --------
    >>> import numpy as np
    >>> from projse import ProjSeCV
    >>> from projse.plots import ValidationCurveDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 6))
    >>> model = ProjSeCV(param_grid=None).fit(X, X[:, :2] + rng.normal(size=(200, 2)))
    >>> len(ValidationCurveDisplay.from_estimator(model).lines_)
    1
    """

    def __init__(
        self,
        *,
        sizes: Array,
        scores: Array,
        errors: Array,
        labels: Any,
        chosen: tuple[int, int],
        score_name: str = "held-out R²",
    ) -> None:
        self.sizes = sizes
        self.scores = scores
        self.errors = errors
        self.labels = labels
        self.chosen = chosen
        self.score_name = score_name

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, width: float | None = None) -> Self:
        """Draw the curves of a fitted ``ProjSeCV``.

        Parameters
        ----------
        estimator : ProjSeCV
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes a figure.
        width : float, default=None
            Of a new figure, in inches; None: as matplotlib is set.

        Returns
        -------
        ValidationCurveDisplay
        """
        refuse_other(estimator, ProjSeCV)
        results = estimator.cv_results_
        sizes = np.unique(results["n_features"])
        entries = results["params"][:: len(sizes)]
        shape = (len(entries), len(sizes))
        display = cls(
            sizes=sizes,
            scores=np.reshape(results["mean_test_score"], shape),
            errors=np.reshape(results["standard_error"], shape),
            labels=_labels(entries),
            chosen=(entries.index(estimator.best_params_), estimator.n_features_),
            score_name="held-out R²" if estimator.estimator is None else "held-out score",
        )
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
        ax = self.ax_ = canvas.ax
        self.figure_ = canvas.figure
        best, n_features = self.chosen
        self.lines_ = []
        for entry, scores in enumerate(self.scores):
            is_best = entry == best
            (line,) = ax.plot(
                self.sizes,
                scores,
                linestyle="-" if is_best else STYLES[entry % len(STYLES)],
                linewidth=1.8 if is_best else 0.9,
                color=BLUE if is_best else GREY,
                marker="o" if is_best and len(self.sizes) <= 30 else "",
                markersize=3,
                zorder=3 if is_best else 2,
                label=shortened(self.labels[entry], 34),
            )
            self.lines_.append(line)
        low = self.scores[best] - self.errors[best]
        high = self.scores[best] + self.errors[best]
        self.band_ = ax.fill_between(self.sizes, low, high, color=BLUE, alpha=0.18, linewidth=0)
        place = int(np.searchsorted(self.sizes, n_features))
        (self.choice_,) = ax.plot(
            [n_features],
            [self.scores[best][place]],
            "D",
            color=VERMILION,
            markersize=6,
            zorder=4,
            linestyle="none",
            label=f"chosen: {n_features}",
        )
        ax.axvline(n_features, color=VERMILION, linewidth=0.8, linestyle=":", zorder=1)
        from matplotlib.ticker import MaxNLocator

        ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8, min_n_ticks=1))
        canvas.say(x="number of variables", y=self.score_name)
        canvas.without_frame()
        ax.grid(axis="y", color="0.9", linewidth=0.6)
        canvas.legend(loc="best")
        return self


def _labels(entries: list[dict[str, Any]]) -> list[str]:
    """Tell entries by what differs between them."""
    names = list(dict.fromkeys(name for entry in entries for name in entry))
    told = [name for name in names if len({repr(entry.get(name)) for entry in entries}) > 1]
    labels = []
    for entry in entries:
        differing = [f"{name}={entry[name]}" for name in told if name in entry]
        labels.append(", ".join(differing) or "mean of the folds")
    return labels
