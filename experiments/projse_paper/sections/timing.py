"""Timing, on the results page."""

from __future__ import annotations

from typing import Any

from projse_paper.experiments.timing import PICKS, STEPS, TITLES
from projse_paper.markdown import figure, not_run, seconds, source, table
from projse_paper.paper import numbers
from projse_paper.store import Record

TITLE = "Timing: where the time goes"
HEADER = ["step", "paper, s", "textbook here, s", "projse here, s", "files"]


def section(records: dict[str, Record]) -> str:
    """Show the paper's breakdown beside ours."""
    paper = numbers()["timing"]
    parts = [
        f"Paper: {paper['place']}. *Textbook* is the paper's algorithm as printed, in numpy, on "
        "this machine; it forms the kernels one after the other. *projse* reads the rows once for "
        "all of them (bytes and class labels as they are, without a one-hot matrix), so the first "
        "lines have no counterpart of their own. Ours are seconds of the processor, summed over "
        "its cores, the best of two: the machine was shared with other work, which hardly changes "
        "them. The paper's are seconds on the clock of ten cores. Its lines for picks are read as "
        "totals; on CIFAR-100 they seem to include the optional centring, ours do not.",
    ]
    for dataset, title in TITLES.items():
        for kernel in ("linear", "rbf"):
            book = records.get(f"{dataset}-{kernel}-textbook")
            ours = records.get(f"{dataset}-{kernel}-projse")
            if book is None and ours is None:
                continue
            parts.append(f"**{title}, {kernel}**")
            known = paper.get(dataset.removesuffix("_shape"), {}).get(kernel, {})
            if book is None or ours is None or not (book.results and ours.results):
                parts.append(table(HEADER, _missing(known, book)))
                continue
            parts.append(table(HEADER, _lines(known, book, ours)))
    parts.append(
        "**Going beyond.** `ProjSe.fit_moments` on saved moments costs the difference between "
        "the last lines and the pass: other kernels and other numbers of picks are free of rows."
    )
    parts.append(figure("timing", "Seconds against the number of picks"))
    return "\n\n".join(parts)


def _lines(known: dict[str, Any], book: Record, ours: Record) -> list[list[str]]:
    files = source(book, ours)
    lines = [
        [title, seconds(known.get(step)), seconds(book.results[step]), "–", files]
        for step, title in STEPS.items()
    ]
    lines.append(["one pass over the rows", "–", "–", seconds(ours.results["pass"]), files])
    for i, n in enumerate(PICKS):
        lines.append(
            [
                f"{n} variables, all in all",
                seconds(known["picks"][i] if known else None),
                seconds(book.results[f"picks_{n}"]),
                seconds(ours.results[f"picks_{n}"]),
                files,
            ]
        )
    return lines


def _missing(known: dict[str, Any], record: Record | None) -> list[list[str]]:
    lines = [[title, seconds(known.get(step))] for step, title in STEPS.items()]
    lines += [
        [f"{n} variables, all in all", seconds(known["picks"][i])] for i, n in enumerate(PICKS)
    ]
    reason = not_run(record)
    return [[*line, reason, reason, source(record)] for line in lines]
