"""Stability, on the results page."""

from __future__ import annotations

from projse_paper.experiments.stability import PICKS, SHARES, TITLES
from projse_paper.markdown import figure, not_run, number, source, table
from projse_paper.paper import numbers
from projse_paper.store import Record, finished

TITLE = "Stability: would other rows give the same variables?"


def section(records: dict[str, Record]) -> str:
    """Show both scores over the paper's grids."""
    paper = numbers()["stability"]
    parts = [
        f"Paper: {paper['place']}: curves, no printed numbers, so there is nothing to subtract. "
        "Its grids, with ten random subsets each, linear kernel, variables of the first view "
        "chosen for the second. In a cell: Nogueira's index, then the mean Pearson correlation of "
        "the relevances. Resamples of MNIST are sums of random blocks of rows."
    ]
    for dataset, picks in PICKS.items():
        parts.append(f"**{TITLES[dataset]}**")
        first = records.get(f"{dataset}-paper-10")
        if first is None or not first.results:
            parts.append(f"{not_run(first)} ({source(first)}).")
            continue
        for kind, title in (("paper", "ten subsets"), ("hundred", "a hundred subsets")):
            lines = []
            for share in SHARES:
                record = finished(records, f"{dataset}-{kind}-{round(100 * share)}")
                if record is None:
                    continue
                found = record.results
                cells = [
                    f"{number(a)} / {number(b)}"
                    for a, b in zip(found["stability"], found["relevance"], strict=True)
                ]
                lines.append([f"{100 * share:g} %", *cells, source(record)])
            header = [title, *(f"{n} picks" for n in picks), "file"]
            parts.append(table(header, lines))
        beyond = finished(records, f"{dataset}-beyond")
        if beyond is not None:
            found = beyond.results
            plain, chosen = found["stability_by_alpha"][0], found["stability"]
            lines = [
                ["no ridge", *(number(v) for v in plain), source(beyond)],
                [
                    f"ridge {found['alpha']:g}, chosen by stability",
                    *(number(v) for v in chosen),
                    source(beyond),
                ],
            ]
            parts.append("Going beyond: half of the rows, a hundred subsets, Nogueira's index.")
            parts.append(table(["", *(f"{n} picks" for n in picks), "file"], lines))
    parts.append(figure("stability", "Two stability scores against the share of the rows"))
    return "\n\n".join(parts)
