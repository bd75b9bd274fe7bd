"""The picture of the page: variables against their twins, and rates asked for and measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from knockoffs.contestants import LEVELS
from knockoffs.settings import SETTINGS, problem
from projse import KnockoffProjSe

mpl.use("Agg")
import matplotlib.pyplot as plt

BLUE, ORANGE, GREY = "#2b6cb0", "#c05621", "#a0aec0"


def draw(results: list[dict[str, Any]], path: Path) -> None:
    """Draw one data set on the left, and all settings on the right."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    made = problem(SETTINGS["five outputs"], 0)
    found = KnockoffProjSe(n_draws=1, random_state=0).fit_moments(made.moments)
    order = np.argsort(found.statistics_)
    W, real = found.statistics_[order], made.real[order]
    # A root on both sides of 0, so that small figures are seen beside large ones.
    height = np.sign(W) * np.sqrt(np.abs(W))
    place = np.arange(len(W))
    left.bar(place[real], height[real], color=BLUE, label="real")
    left.bar(place[~real], height[~real], color=GREY, label="not real")
    for side in (1, -1):
        left.axhline(side * np.sqrt(found.threshold_), color=ORANGE, linewidth=1)
    left.set_xlabel("variables, by how far they are ahead of their twins")
    left.set_ylabel("W, as a signed root")
    left.set_title(f"one draw of {found.n_twins_} twins, 100 variables, 5 outputs; for 0.1")
    left.legend(frameon=False)
    colours = {"several twins": BLUE, "many draws": ORANGE}
    for result in results:
        name, contestant = result["setting"], result["contestant"]
        if name not in SETTINGS or contestant not in colours:
            continue
        if not SETTINGS[name].exact or SETTINGS[name].held_out:
            continue
        rates = np.array(result["found"])[:, :, 0].mean(axis=0)
        colour = colours[contestant]
        right.plot(LEVELS, rates, "o-", color=colour, linewidth=0.8, markersize=3)
    right.plot([0, 0.22], [0, 0.22], color=GREY, linestyle="--")
    right.plot([], [], "o-", color=BLUE, label="one draw, several twins")
    right.plot([], [], "o-", color=ORANGE, label="several draws, several twins")
    right.set_xlabel("rate of false discoveries that was asked for")
    right.set_ylabel("measured, a line a setting")
    right.set_title("settings with an exact guarantee")
    right.legend(frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)
