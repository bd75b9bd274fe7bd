"""What the displays share: axes of the right size, names that fit, colours that all can tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

Array = NDArray[Any]

BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
)
"""Of the palette of Okabe and Ito, which the colour-blind can tell apart."""

GREY = "#767676"
COLOUR_MAP = "cividis"
"""Grows evenly in lightness, with and without colour vision, and in print."""

COLUMN = 4.5
"""Figures up to this wide, in inches, stand in a column of a paper: their letters are small."""

LETTER = 0.56
"""Width of a letter, as a share of the font size."""

LINE = 2.15
"""Height of a line, in letters."""

NAMES = 0.35
"""Share of the width that names beside rows may take."""

UPRIGHT = 22
"""Letters of a name below a column."""


class Canvas:
    """Axes, and how large letters are on them.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        None makes a figure.
    n_rows : int or None
        Rows that are each as high as a line of text; None: an ordinary plot.
    width : float or None
        Of a new figure in inches; None: as matplotlib is set.
    extra : float
        Inches that a new figure is higher than its rows.
    """

    def __init__(
        self,
        ax: Any = None,
        *,
        n_rows: int | None = None,
        width: float | None = None,
        extra: float = 0.8,
    ) -> None:
        if ax is None:
            plt = _pyplot()
            default = plt.rcParams["figure.figsize"]
            width = float(default[0]) if width is None else float(width)
            height = 0.7 * width
            if n_rows is not None:
                height = max(n_rows, 3) * 1.5 * _font_size(width) / 72 + extra
            _, ax = plt.subplots(figsize=(width, height), layout="constrained")
        self.ax = ax
        self.figure = ax.get_figure()
        self.width = float(self.figure.get_figwidth()) * float(ax.get_position().width) / 0.775
        self.font_size = _font_size(self.width)
        ax.tick_params(labelsize=self.font_size)

    def name_rows(self, names: Sequence[Any], *, ranked: bool = False) -> None:
        """Write names beside rows 0, 1, …, the first on top; with their ranks."""
        labels = [shortened(str(name), self._letters(NAMES)) for name in names]
        if ranked:
            labels = [f"{label}  {i:>{len(str(len(names)))}}" for i, label in enumerate(labels, 1)]
        self.ax.set_yticks(
            np.arange(len(names)), labels=labels, fontsize=self.font_size, parse_math=False
        )
        self.ax.tick_params(axis="y", length=0)

    def name_columns(self, names: Sequence[Any]) -> None:
        """Write names below columns 0, 1, …: level where they fit, else upright, some left out."""
        labels = [shortened(str(name), UPRIGHT) for name in names]
        letters = self._letters(1 - NAMES - 0.2) / max(len(labels), 1)
        step = max(int(np.ceil(LINE / letters)), 1)
        level = max(map(len, labels), default=0) + 1 <= letters
        self.ax.set_xticks(
            np.arange(len(labels))[::step],
            labels=labels[::step],
            rotation=0 if level else 90,
            fontsize=self.font_size,
            parse_math=False,
        )
        self.ax.tick_params(axis="x", length=0)

    def _letters(self, share: float) -> int:
        """Return how many letters fit into a share of the width, at least a few."""
        return max(int(share * self.width * 72 / (LETTER * self.font_size)), 8)

    def say(self, *, x: str = "", y: str = "") -> None:
        """Label the axes."""
        self.ax.set_xlabel(x, fontsize=self.font_size + 1)
        self.ax.set_ylabel(y, fontsize=self.font_size + 1)

    def legend(self, **options: Any) -> Any:
        """Draw the legend, of what has a label."""
        legend = self.ax.legend(fontsize=self.font_size, frameon=False, **options)
        for text in legend.get_texts():
            text.set_parse_math(False)
        return legend

    def without_frame(self) -> None:
        """Leave out the lines that say nothing."""
        for side in ("top", "right"):
            self.ax.spines[side].set_visible(False)

    def colour_bar(self, image: Any, label: str, ticks: Sequence[float] | None = None) -> Any:
        """Draw the scale of a heat map."""
        shrink = min(0.9, 3.5 / float(self.figure.get_figheight()))
        bar = self.figure.colorbar(
            image, ax=self.ax, ticks=ticks, shrink=shrink, anchor=(0.0, 1.0), pad=0.02, aspect=25
        )
        bar.set_label(label, fontsize=self.font_size)
        bar.ax.tick_params(labelsize=self.font_size)
        bar.outline.set_visible(False)
        return bar


def heat_map(ax: Any, values: Array, norm: Any) -> Any:
    """Draw values as colours, row 0 on top, with thin lines between cells where they are few."""
    image = ax.imshow(values, aspect="auto", cmap=COLOUR_MAP, norm=norm, interpolation="nearest")
    for spine in ax.spines.values():
        spine.set_visible(False)
    return image


def refuse_other(estimator: Any, *kinds: type) -> None:
    """Refuse what is no fitted estimator of the kinds that a display draws."""
    if not isinstance(estimator, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"estimator must be a fitted {wanted}, not {type(estimator).__name__}.")
    check_is_fitted(estimator)


def shortened(name: str, n: int) -> str:
    """Shorten a name to n characters by what is in its middle, on one line."""
    name = " ".join(name.split()) or "␣"
    if len(name) <= n:
        return name
    tail = (n - 1) // 2
    return f"{name[: n - 1 - tail]}…{name[len(name) - tail :]}"


def _font_size(width: float) -> float:
    return 7.0 if width <= COLUMN else 9.0


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"Plots need matplotlib ({error}); pip install 'projse-select[plot]'."
        ) from error
    return plt
