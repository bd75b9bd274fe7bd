"""Clustering of gene expression: how well k-means finds the classes from a few variables."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score, silhouette_score
from threadpoolctl import threadpool_limits

from projse_paper import data, rankers
from projse_paper.benchmarks import picking
from projse_paper.plotting import COLOURS, finish, panels
from projse_paper.published import AS_PUBLISHED, published_select
from projse_paper.store import Record, Results, Unit, all_finished, finished

Array = NDArray[Any]

NAME = "clustering"
KERNELS = ("linear", "poly", "rbf")
SIZES = (1, 5, 10, 20, 50, 100, 200, 300)
FEW_SIZES = (5, 10, 50, 300)  # for settings that only fill a table
RANKS = (1, 2, 3, 5, 10, 20)
ALPHAS = (0.01, 0.1, 1.0)
DATA = ("glioma", "carcinom", "eleven_tumors")
N_INIT = 10  # scikit-learn's default when the paper was written


def units(quick: bool) -> list[Unit]:
    """Return the units of work: data set × way of choosing variables."""
    repeats = 2 if quick else 20
    made: list[Unit] = []

    def add(
        dataset: str, method: str, select: Callable[..., Any], few: bool = False, **more: Any
    ) -> None:
        sizes = [5, 10, 300] if quick else list(FEW_SIZES if few else SIZES)
        parameters = {
            "data": dataset,
            "method": method,
            "sizes": sizes,
            "repeats": repeats,
            "n_init": N_INIT,
            **more,
        }
        work = partial(_curve, dataset, select, sizes, repeats)
        made.append(Unit(NAME, f"{dataset}-{method}", parameters, work))

    for dataset in ("glioma",) if quick else DATA:
        for kernel in KERNELS:
            add(dataset, f"projse-{kernel}", partial(_projse, kernel=kernel, exhausted="stop"))
        add(dataset, "all", rankers.all_columns)
        add(dataset, "first", rankers.first_columns)
        for draw in range(2 if quick else 3):
            add(dataset, f"random-{draw}", partial(rankers.random_columns, seed=draw), seed=draw)
        add(dataset, "variance", rankers.highest_variance)
        add(dataset, "laplacian", rankers.laplacian_score)
        if not quick:
            standardised = rankers.laplacian_score_standardised
            add(dataset, "laplacian-standardised", standardised, True)
        if not quick and dataset != "eleven_tumors":
            add(dataset, "ndfs", rankers.ndfs)
        add(dataset, "beyond-rank", _classes_less_one, rank="clusters - 1")
        again = partial(_classes_less_one, exhausted="restart")
        add(dataset, "beyond-rank-restart", again, rank="clusters - 1", exhausted="restart")
    kernels = ("linear",) if quick else KERNELS
    for kernel in kernels:
        made.append(_permutations("glioma", kernel, draws=3 if quick else 20))
    if not quick:
        for rank in RANKS:
            add("glioma", f"rank-{rank}", partial(_projse, rank=rank), True, rank=rank)
        for alpha in ALPHAS:
            add("glioma", f"alpha-{alpha:g}", partial(_projse, alpha=alpha), True, alpha=alpha)
        add("glioma", "restart-linear", partial(_projse, exhausted="restart"), True)
        for kernel in KERNELS:
            centred = partial(_projse, kernel=kernel, exhausted="stop", **AS_PUBLISHED)
            add("glioma", f"over-variables-{kernel}", centred, True)
            select = partial(_published, kernel=kernel, remove_first=False)
            add("glioma", f"published-{kernel}", select, True)
        select = partial(_published, kernel="linear", remove_first=True)
        add("glioma", "published-first-removed-linear", select, True)
    return made


def _projse(X: Array, n: int, n_classes: int, **options: Any) -> Array:
    return picking.picks(picking.paper_form(min(n, X.shape[1]), **options), X)


def _classes_less_one(X: Array, n: int, n_classes: int, **options: Any) -> Array:
    """Choose by the leading directions that k clusters span: k − 1, known without labels."""
    return _projse(X, n, n_classes, rank=n_classes - 1, **options)


def _published(X: Array, n: int, n_classes: int, *, kernel: str, remove_first: bool) -> Array:
    return published_select(X, X, n, kernel, remove_first=remove_first)[0]


def _curve(dataset: str, select: Callable[..., Any], sizes: list[int], repeats: int) -> Results:
    X, y = data.genes(dataset)
    n_classes = len(np.unique(y))
    start = time.perf_counter()
    picks = select(X, max(sizes), n_classes)
    seconds = time.perf_counter() - start
    whole = len(picks) == X.shape[1]
    reached = [len(picks)] if whole else [k for k in sizes if k <= len(picks)]
    if not whole and len(picks) not in reached and len(picks) < max(sizes):
        reached.append(len(picks))  # where the reference space was used up
    means, deviations, silhouettes = [], [], []
    for size in reached:
        nmi, silhouette = cluster(X, picks[:size], y, n_classes, repeats)
        means.append(float(np.mean(nmi)))
        deviations.append(float(np.std(nmi)))
        silhouettes.append(float(np.mean(silhouette)))
    return {
        "n_picked": len(picks),
        "selection_seconds": seconds,
        "sizes": reached,
        "nmi_mean": means,
        "nmi_std": deviations,
        "silhouette_mean": silhouettes,
        "first_picks": [int(j) for j in picks[:20]],
    }


def cluster(X: Array, picks: Array, y: Array, n_classes: int, repeats: int) -> tuple[Array, Array]:
    """Cluster by some columns; return NMI with the classes, and silhouettes over all columns.

    The silhouette needs no classes. Over all columns it compares partitions from different
    selections in the same space.
    """
    nmi, silhouettes = np.zeros(repeats), np.zeros(repeats)
    with threadpool_limits(1):  # threads only wait for each other on so few rows
        squares = np.einsum("ij,ij->i", X, X)
        distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0))
        np.fill_diagonal(distances, 0)
        for repeat in range(repeats):
            means = KMeans(n_classes, n_init=N_INIT, random_state=repeat)
            found = means.fit_predict(X[:, picks])
            nmi[repeat] = normalized_mutual_info_score(y, found)
            silhouettes[repeat] = silhouette_score(distances, found, metric="precomputed")
    return nmi, silhouettes


def _permutations(dataset: str, kernel: str, draws: int) -> Unit:
    """Permute the columns: every order is the same data, and the tie rule breaks by order."""
    sizes, repeats = [5, 10, 300], 5

    def work() -> Results:
        X, y = data.genes(dataset)
        n_classes = len(np.unique(y))
        found: dict[str, list[float]] = {str(size): [] for size in sizes}
        firsts, lengths = [], []
        for draw in range(draws):
            order = np.random.default_rng(draw).permutation(X.shape[1])
            picks = order[_projse(X[:, order], 300, n_classes, kernel=kernel, exhausted="stop")]
            firsts.append(int(picks[0]))
            lengths.append(len(picks))
            for size in sizes:
                nmi, _ = cluster(X, picks[:size], y, n_classes, repeats)
                found[str(size)].append(float(nmi.mean()))
        scores = picking.paper_form(1, kernel=kernel).fit(X)
        return {
            "sizes": sizes,
            "nmi": found,
            "nmi_min": [min(found[str(size)]) for size in sizes],
            "nmi_mean": [float(np.mean(found[str(size)])) for size in sizes],
            "nmi_max": [max(found[str(size)]) for size in sizes],
            "first_picks": firsts,
            "n_picked": lengths,
            "margin_of_first_pick": float(scores.margins_[0]),
            "n_variables": X.shape[1],
        }

    parameters = {
        "data": dataset,
        "kernel": kernel,
        "draws": draws,
        "sizes": sizes,
        "repeats": repeats,
        "n_init": N_INIT,
    }
    return Unit(NAME, f"{dataset}-permuted-{kernel}", parameters, work)


def rows(records: dict[str, Record]) -> list[dict[str, Any]]:
    """Return one row a data set, method and number of variables."""
    return [
        {
            "data": record.parameters["data"],
            "method": record.parameters["method"],
            "variables": size,
            "nmi_mean": mean,
            "nmi_std": deviation,
            "silhouette_mean": silhouette,
        }
        for record in records.values()
        if "silhouette_mean" in record.results
        for size, mean, deviation, silhouette in zip(
            *(record.results[k] for k in ("sizes", "nmi_mean", "nmi_std", "silhouette_mean")),
            strict=True,
        )
    ]


LINES = {
    "projse-linear": ("ProjSe linear", COLOURS[0], "-"),
    "projse-poly": ("ProjSe poly", COLOURS[1], "-"),
    "projse-rbf": ("ProjSe RBF", COLOURS[2], "-"),
    "beyond-rank": ("ProjSe, rank = clusters − 1", COLOURS[3], "-"),
    "laplacian": ("Laplacian score", COLOURS[4], "--"),
    "variance": ("highest variance", COLOURS[5], "--"),
    "first": ("first columns of the file", COLOURS[6], ":"),
}


def draw(records: dict[str, Record]) -> Figure | None:
    """Draw NMI against the number of variables, a panel a data set."""
    present = [d for d in DATA if finished(records, f"{d}-all")]
    if not present:
        return None
    figure, axes = panels(1, len(present))
    for axis, dataset in zip(axes[0], present, strict=True):
        for method, (label, colour, style) in LINES.items():
            record = finished(records, f"{dataset}-{method}")
            if record is None:
                continue
            found = record.results
            axis.errorbar(
                found["sizes"],
                found["nmi_mean"],
                found["nmi_std"],
                label=label,
                color=colour,
                linestyle=style,
                marker=".",
                capsize=2,
                elinewidth=0.6,
            )
        draws = [r.results for r in all_finished(records, f"{dataset}-random-")]
        if draws:
            mean = np.mean([found["nmi_mean"] for found in draws], axis=0)
            axis.plot(draws[0]["sizes"], mean, color="grey", linestyle="-.", label="random columns")
        whole = records[f"{dataset}-all"].results["nmi_mean"][0]
        axis.axhline(whole, color="black", linewidth=1, label="all variables")
        axis.set(title=TITLES[dataset], xlabel="variables", ylabel="NMI", xscale="log")
        ticks = [size for size in SIZES if size != 200]  # no room for its number
        axis.set(xticks=ticks, xticklabels=[str(size) for size in ticks], ylim=(0, 1))
        axis.minorticks_off()
    axes[0][-1].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return finish(figure)


TITLES = {"glioma": "Glioma", "carcinom": "Carcinoma", "eleven_tumors": "11_Tumors"}
