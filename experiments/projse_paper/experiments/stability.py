"""Stability: would other rows have given the same variables? Both scores over the paper's grids."""

from __future__ import annotations

import warnings
from functools import lru_cache, partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from projse import StabilityProjSe, block_moments
from projse_paper import data
from projse_paper.benchmarks import picking
from projse_paper.plotting import COLOURS, finish, panels
from projse_paper.store import Record, Results, Unit, finished

NAME = "stability"
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
PICKS = {
    "mnist": (1, 2, 3, 4, 5),
    "mediamill": (10, 20, 30, 40, 50),
    "mediamill_subset": (10, 20, 30, 40, 50),
}
TITLES = data.VIEW_TITLES
SCORES = {"stability": "stability index (Nogueira)", "relevance": "Pearson, relevances"}
N_BLOCKS = 200


def units(quick: bool) -> list[Unit]:
    """Return the units: data set × share × number of resamples."""
    made = []
    for dataset in ("mnist",) if quick else PICKS:
        for share in (0.1, 0.5) if quick else SHARES:
            hundred = not quick and share == SHARES[-1]
            for kind, n in (("paper", 10), ("hundred", 100)) if hundred else (("paper", 10),):
                parameters = {
                    "data": dataset,
                    "share": share,
                    "resamples": n,
                    "picks": list(PICKS[dataset]),
                    "blocks": N_BLOCKS if dataset != "mediamill_subset" else None,
                    "seed": 0,
                }
                if quick:
                    parameters |= {"blocks": 20, "every_nth_row": 10}
                name = f"{dataset}-{kind}-{round(100 * share)}"
                made.append(Unit(NAME, name, parameters, partial(_scores, parameters)))
        if not quick:
            parameters = {"data": dataset, "share": 0.5, "resamples": 100, "seed": 0}
            parameters |= {"picks": list(PICKS[dataset]), "alphas": [0.0, 0.1, 1.0]}
            made.append(Unit(NAME, f"{dataset}-beyond", parameters, partial(_ridge, parameters)))
    return made


@lru_cache(maxsize=1)
def _blocks(dataset: str, n_blocks: int, every: int) -> Any:
    X, Y, _, _ = data.views(dataset)
    return block_moments(
        X[::every],
        Y[::every],
        n_blocks,
        random_state=0,
        with_xx=True,
        target_type="continuous",
    )


def _fit(parameters: dict[str, Any], **options: Any) -> StabilityProjSe:
    selector = picking.paper_form(max(parameters["picks"]), target_type="continuous", **options)
    resampling = {
        "n_resamples": parameters["resamples"],
        "subsample": parameters["share"],
        "random_state": parameters["seed"],
    }
    dataset = parameters["data"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if parameters.get("blocks") or dataset != "mediamill_subset":
            every = parameters.get("every_nth_row", 1)
            blocks = _blocks(dataset, parameters.get("blocks") or N_BLOCKS, every)
            return StabilityProjSe(selector, **resampling).fit_moments(blocks)
        X, Y, _, _ = data.views(dataset)
        return StabilityProjSe(selector, blocks=None, **resampling).fit(X, Y)


def _scores(parameters: dict[str, Any]) -> Results:
    model = _fit(parameters)
    at = np.array(parameters["picks"]) - 1
    return {
        "stability": model.stability_path_[at],
        "relevance": model.relevance_stability_path_[at],
        "interval_at_most_picks": list(model.stability_interval_),
        "most_frequent": [int(j) for j in np.argsort(-model.selection_frequencies_)[:5]],
        "their_frequencies": np.sort(model.selection_frequencies_)[::-1][:5],
    }


def _ridge(parameters: dict[str, Any]) -> Results:
    """Choose a ridge by stability itself, which needs no test rows."""
    found = []
    at = np.array(parameters["picks"]) - 1
    for alpha in parameters["alphas"]:
        found.append(_fit(parameters, alpha=alpha).stability_path_[at])
    best = int(np.argmax(np.mean(found, axis=1)))
    return {
        "stability_by_alpha": found,
        "alpha": parameters["alphas"][best],
        "stability": found[best],
    }


def rows(records: dict[str, Record]) -> list[dict[str, Any]]:
    """Return one row a data set, share, number of resamples and number of picks."""
    return [
        {
            **{key: record.parameters[key] for key in ("data", "share", "resamples")},
            "picks": n,
            "stability": record.results["stability"][i],
            "relevance": record.results["relevance"][i],
        }
        for record in records.values()
        if "relevance" in record.results
        for i, n in enumerate(record.parameters["picks"])
    ]


def draw(records: dict[str, Record]) -> Figure | None:
    """Draw both scores against the share of the rows, a line a number of picks."""
    present = [d for d in PICKS if finished(records, f"{d}-paper-50")]
    if not present:
        return None
    figure, axes = panels(2, len(present), height=2.8)
    for column, dataset in enumerate(present):
        for row, (score, label) in enumerate(SCORES.items()):
            axis = axes[row][column]
            for i, n in enumerate(PICKS[dataset]):
                x, y = [], []
                for share in SHARES:
                    record = finished(records, f"{dataset}-paper-{round(100 * share)}")
                    if record is not None:
                        x.append(100 * share)
                        y.append(record.results[score][i])
                axis.plot(x, y, marker=".", color=COLOURS[i], label=f"{n} pick{'s' * (n > 1)}")
            axis.set(title=TITLES[dataset], xlabel="% of the rows", ylabel=label, ylim=(None, 1.02))
            axis.legend(fontsize=7)
    return finish(figure)
