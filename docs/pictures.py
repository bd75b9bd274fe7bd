"""Make the pictures of README and guide: ``python docs/pictures.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from projse import PAPER, ProjSe, subspace_correlation
from projse.plots import ExplainedDisplay, SelectionDisplay

STATIC = Path(__file__).resolve().parent / "_static"


def genes_and_traits(seed=3):
    """Make 500 rows: of 40 genes, five stand behind six traits, and one is nearly a copy."""
    rng = np.random.default_rng(seed)
    genes = rng.normal(size=(500, 40))
    genes[:, 5] = genes[:, 0] + 0.3 * rng.normal(size=500)
    effects = rng.normal(size=(5, 6)) * np.array([[1.6], [1.3], [1.0], [0.8], [0.6]])
    traits = genes[:, :5] @ effects + 1.5 * rng.normal(size=(500, 6))
    names = [f"gene {chr(ord('A') + j)}" if j < 6 else f"noise {j}" for j in range(40)]
    return pd.DataFrame(genes, columns=names), pd.DataFrame(
        traits, columns=[f"trait {j + 1}" for j in range(6)]
    )


def front(path):
    """Draw what a selection looks like: scores, and what each pick explains."""
    selector = ProjSe(7).fit(*genes_and_traits())
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.1), layout="constrained")
    SelectionDisplay.from_estimator(selector, ax=left)
    ExplainedDisplay.from_estimator(selector, ax=right)
    left.set_title("7 picks of 40 variables", loc="left", fontsize=10, pad=22)
    right.set_title("what each adds to each output", loc="left", fontsize=10, pad=22)
    figure.savefig(path, dpi=130)


def idea(path):
    """Draw the scores of all candidates before each of the first three picks."""
    X, Y = genes_and_traits()
    X, Y = X.iloc[:, :12], Y.to_numpy()
    picks = ProjSe(3, **{**PAPER, "round_size": 1}).fit(X, Y).selected_
    rows = X.to_numpy() - X.to_numpy().mean(0)
    figure, panels = plt.subplots(
        1, 3, figsize=(9, 3.3), sharex=True, sharey=True, layout="constrained"
    )
    for k, axes in enumerate(panels):
        taken = rows[:, picks[:k]]
        left = rows - taken @ np.linalg.lstsq(taken, rows, rcond=None)[0] if k else rows
        lost = np.linalg.norm(left, axis=0) < 1e-8
        outputs = Y - taken @ np.linalg.lstsq(taken, Y, rcond=None)[0] if k else Y
        scores = np.where(lost, 0, subspace_correlation(np.where(lost, 0, left), outputs) ** 2)
        colours = np.where(np.arange(12) == picks[k], "#D55E00", "#0072B2")
        axes.barh(np.arange(12), scores, color=colours, height=0.7)
        before = " and ".join(X.columns[picks[:k]])
        axes.set_title(f"given {before}" if k else "at first", loc="left", fontsize=10)
        axes.set_xlabel("share explained by the outputs")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks(np.arange(12), X.columns)
    panels[0].invert_yaxis()
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    mpl.use("Agg")
    front(STATIC / "front.png")
    idea(STATIC / "idea.png")
