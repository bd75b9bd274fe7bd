"""Time series, on the results page."""

from __future__ import annotations

from typing import Any

from projse_paper.experiments.timeseries import KERNELS, MEASURES, SIZES, TITLES, random_mean
from projse_paper.markdown import at, figure, not_run, number, source, table, with_spread
from projse_paper.paper import numbers
from projse_paper.store import Record, all_finished, finished

TITLE = "Time series: points in time that tell the classes apart"
HEADER = ["selection", "variables", "KA linear", "KA RBF", "linear SVM", "RBF SVM", "file"]


def section(records: dict[str, Record]) -> str:
    """Show alignment and accuracy, and hold them against the paper's claims."""
    paper = numbers()["timeseries"]
    parts = [
        f"Paper: {paper['place']}: curves, no printed numbers, so there is nothing to subtract; "
        "its claims in words are tested below. Series are standardised by the training rows; "
        "the classes are the references; KA is the centred alignment with the classes on the "
        "training rows; SVM accuracy is on the test rows, σ of the RBF the mean distance, all else "
        "at its default. Sizes past the number of classes less one, which is the rank of the "
        "references, are residual rounds.",
    ]
    for dataset, title in TITLES.items():
        parts += [f"**{title}**", _numbers(records, dataset)]
    parts += ["**The paper's claims**", _claims(records)]
    parts.append(figure("timeseries", "Alignment and accuracy against the number of variables"))
    return "\n\n".join(parts)


def _numbers(records: dict[str, Record], dataset: str) -> str:
    lines: list[list[str]] = []

    def add(label: str, record: Record | None, sizes: Any) -> None:
        if record is None or not record.results:
            lines.append([label, "–", *[not_run(record)] * 4, source(record)])
            return
        for size in sizes:
            if size in record.results["sizes"]:
                values = [number(at(record, size, m), 3) for m in MEASURES]
                lines.append([label, str(size), *values, source(record)])

    for kernel in KERNELS:
        record = records.get(f"{dataset}-projse-{kernel}")
        add(f"ProjSe {kernel}", record, SIZES[dataset])
    record = records.get(f"{dataset}-over-variables-linear")
    add("ProjSe linear, centred over the variables (as published)", record, SIZES[dataset])
    for method, rule in (("beyond-cv", "1se"), ("beyond-cv-best", "best")):
        beyond = finished(records, f"{dataset}-{method}")
        if beyond is not None:
            choice = beyond.results["choice"]
            setting = ", ".join(f"{k} {v}" for k, v in choice.items() if k != "n_features")
            label = f"**beyond**: chosen by ProjSeCV, rule {rule} ({setting})"
            add(label, beyond, beyond.results["sizes"])
    chance = random_mean(records, dataset)
    draws = all_finished(records, f"{dataset}-random-")
    for i, size in enumerate(chance.get("sizes", [])):
        cells = [with_spread(chance[m][0][i], chance[m][1][i], 3) for m in MEASURES]
        label = f"random, {len(draws)} draws: mean (standard deviation)"
        lines.append([label, str(size), *cells, source(*draws)])
    whole = finished(records, f"{dataset}-all")
    if whole is not None:
        add("all variables", whole, whole.results["sizes"])
    return table(HEADER, lines)


def _claims(records: dict[str, Record]) -> str:
    lines = []
    for dataset in ("shapesall", "thorax"):
        whole = records.get(f"{dataset}-all")
        for kernel in KERNELS:
            record = records.get(f"{dataset}-projse-{kernel}")
            claim = f"{TITLES[dataset]}, linear SVM: {kernel} selection above all variables"
            if record is None or whole is None or not (record.results and whole.results):
                lines.append([claim, not_run(record), "–", "–", source(record, whole)])
                continue
            ours = record.results["linear_accuracy"]
            best = max(range(len(ours)), key=lambda i: ours[i])
            base = whole.results["linear_accuracy"][0]
            above = [s for s, v in zip(record.results["sizes"], ours, strict=True) if v > base]
            held = f"yes, at {', '.join(map(str, above))}" if above else "**no**"
            shown = f"{number(ours[best], 3)} at {record.results['sizes'][best]}"
            lines.append([claim, held, shown, number(base, 3), source(record, whole)])
    whole = finished(records, "crop-all")
    for kernel in KERNELS:
        record = records.get(f"crop-projse-{kernel}")
        value = at(record, 20, "rbf_accuracy")
        if value is None or whole is None:
            continue
        base = whole.results["rbf_accuracy"][0]
        held = "yes" if value >= base - 0.03 else "**no**"
        claim = f"Crop, RBF SVM: 20 variables, {kernel} selection, within 0.03 of all 46"
        lines.append([claim, held, number(value, 3), number(base, 3), source(record, whole)])
    return table(["claim", "holds", "selected", "all variables", "files"], lines)
