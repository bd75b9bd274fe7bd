"""The picture of the page: how p-values are spread, beside how they should be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from calibration.page import found_in


def draw(results: list[dict[str, Any]], path: Path) -> None:
    """Draw the distribution of p-values, first picks and later ones; write a PNG."""
    from matplotlib import pyplot as plt

    plt.switch_backend("Agg")

    found = found_in(results)
    panels = {
        "first p-value": "the first pick, nothing is real",
        "next p-value": "the pick after all real ones",
    }
    figure, axes = plt.subplots(1, 2, figsize=(11, 5), sharey=True, layout="constrained")
    for axis, (name, title) in zip(axes, panels.items(), strict=True):
        colours = plt.get_cmap("tab20")
        for k, (setting, figures) in enumerate(found[name].items()):
            p = np.sort(figures[~np.isnan(figures[:, 0]), 0])
            if len(p) >= 50:
                share = np.arange(1, len(p) + 1) / len(p)
                axis.plot(p, share, lw=1.2, color=colours(k), label=setting)
        axis.plot([1e-3, 1], [1e-3, 1], color="black", lw=1, ls="--", label="exact")
        axis.set(xscale="log", yscale="log", xlim=(1e-3, 1), ylim=(1e-3, 1), xlabel="p-value")
        axis.set_title(f"p-values of {title}", fontsize=11)
        axis.legend(fontsize=7, loc="lower right")
    axes[0].set_ylabel("share of data sets at or below it")
    figure.savefig(path, dpi=110)
    plt.close(figure)
