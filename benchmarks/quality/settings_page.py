"""The page "Which settings, when": its tables are made from the result files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from quality.models import MEASURES
from quality.problem import Array
from quality.tables import FAR, Cell, cells, counts, markdown, scores_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"
START, END = "<!-- tables: made by benchmarks/quality page -->", "<!-- end of tables -->"

FORMS = {
    "projse": "default",
    "projse, redundancy=0": "`redundancy=0`",
    "projse, redundancy=0.5": "`redundancy=0.5`",
    "projse, redundancy=1": "`redundancy=1`",
    "projse, paper": "`**PAPER`",
}
OTHERS = (
    "fastcan",
    "fastcan, beam",
    "correlation ranking",
    "SelectKBest",
    "OrthogonalMatchingPursuit",
    "MultiTaskLasso",
    "SequentialFeatureSelector",
    "abess",
    "mRMR",
    "PCovCUR",
    "PMDCCA",
    "best pair",
    "random",
)
Member = Callable[[dict[str, Any]], bool]


def _groups() -> dict[str, Member]:
    def kind(name: str) -> Member:
        return lambda r: bool(r["kind"] == name)

    def rows(least: int, below: float) -> Member:
        return lambda r: bool(least <= r["sizes"][0] < below)

    return {
        "all cells": lambda r: True,
        "real data": lambda r: not r["made"],
        "made data": lambda r: bool(r["made"]),
        **{name: kind(name) for name in MEASURES},
        "fewer than 100 rows": rows(0, 100),
        "100 to 499 rows": rows(100, 500),
        "500 rows and more": rows(500, float("inf")),
        "more candidates than rows": lambda r: bool(r["sizes"][1] > r["sizes"][0]),
    }


def tables(results: list[dict[str, Any]]) -> str:
    """Return the tables of the page, of the reporting half."""
    results = [r for r in results if r["status"] == "ok"]
    everywhere = results
    fresh = [r for r in results if r["half"] == "fresh"]
    results = [r for r in results if r["half"] == "report"]
    scores = scores_of(results)
    about = {r["dataset"]: r for r in results}
    parts = [
        "Share of the cells that are level with the better of fastcan and correlation ranking, or "
        "ahead of it (and ahead alone):",
        _shares(scores, about),
        "The same on fresh data: real sets that Python packages carry, first looked at when these "
        "rules stood. This is what to expect of data of your own:",
        _shares(scores_of(fresh), {r["dataset"]: r for r in fresh}),
        "Of pairs, cells in which the default is ahead, level and behind (slow peers were not "
        "asked where data are wide):",
        _duels(scores),
        "The same on fresh data:",
        _duels(scores_of(fresh)),
        f"Cells in which the default is more than {FAR:g} standard errors behind:",
        _far(cells(scores, "projse"), about),
        "One view, 20 picks, all data: share of the variance of all columns that the "
        "picks explain in held-out rows. The last column is what the best of all contestants, "
        "chosen in hindsight, has beyond random columns:",
        _against(everywhere, "one view", "random", "random columns", (20,)),
        "Two views, all data: canonical correlation of the picks in held-out rows, and "
        "that of the pair of variables that correlates most; last, what the best of all "
        "contestants has beyond that pair:",
        _against(everywhere, "two views", "best pair", "best pair", (5, 10, 20, 40)),
    ]
    return "\n\n".join(parts)


def _shares(scores: dict[tuple[str, int], dict[str, Array]], about: dict[str, Any]) -> str:
    lines = []
    for name, member in _groups().items():
        line: list[Any] = [name]
        for form in FORMS:
            c = counts([x for x in cells(scores, form) if member(about[x.dataset])])
            n = max(c["cells"], 1)
            share = (c["ahead"] + c["level"]) / n
            line.append(f"{share:.0%} ({c['ahead'] / n:.0%})" if c["cells"] else "–")
        n_cells = counts([x for x in cells(scores, "projse") if member(about[x.dataset])])["cells"]
        if n_cells:
            lines.append([line[0], n_cells, *line[1:]])
    return markdown(["cells", "number", *FORMS.values()], lines)


def _duels(scores: dict[tuple[str, int], dict[str, Array]]) -> str:
    lines = []
    for name, label in {**FORMS, **{peer: peer for peer in OTHERS}}.items():
        c = counts(cells(scores, "projse", (name,)))
        if name != "projse" and c["cells"]:
            lines.append([label, c["cells"], c["ahead"], c["level"], c["behind"]])
    return markdown(["the default against", "cells", "ahead", "level", "behind"], lines)


def _far(found: list[Cell], about: dict[str, Any]) -> str:
    lines = [
        [c.dataset, about[c.dataset]["kind"], " × ".join(map(str, about[c.dataset]["sizes"])),
         c.number, f"{c.subject_mean:.3f}", f"{c.peer_mean:.3f} ({c.peer})"]
        for c in sorted(found, key=lambda c: c.errors)
        if c.errors < -FAR
    ]  # fmt: skip
    head = ["data", "kind", "rows × candidates × outputs", "picks", "default", "better peer"]
    return markdown(head, lines)


def _against(
    results: list[dict[str, Any]], kind: str, peer: str, label: str, numbers: tuple[int, ...]
) -> str:
    """Compare the default with one peer on every data set of a kind, and with the best of all."""
    of_kind = [r for r in results if r["kind"] == kind]
    about = {r["dataset"]: r for r in of_kind}
    scores = scores_of(of_kind)
    found = [c for c in cells(scores, "projse", (peer,)) if c.number in numbers]
    lines = [
        [c.dataset, " × ".join(map(str, about[c.dataset]["sizes"])), c.number,
         f"{c.subject_mean:.3f}", f"{c.peer_mean:.3f}", f"{c.difference:+.3f} ± {c.error:.3f}",
         f"{_best(scores[c.dataset, c.number]) - c.peer_mean:+.3f}"]
        for c in sorted(found, key=lambda c: (c.dataset, c.number))
    ]  # fmt: skip
    head = ["data", "rows × columns", "picks", "default", label, "difference", "best of all"]
    return markdown(head, lines)


def _best(scores: dict[str, Array]) -> float:
    """Return the highest mean of all contestants, in hindsight."""
    return max(float(np.mean(own)) for own in scores.values())


def page(text: str, results: list[dict[str, Any]]) -> str:
    """Return the text of the page with its tables made anew."""
    before, rest = text.split(START)
    after = rest.split(END)[1]
    return f"{before}{START}\n\n{tables(results)}\n\n{END}{after}"


def write(results: list[dict[str, Any]]) -> None:
    """Make the tables of the page anew."""
    PAGE.write_text(page(PAGE.read_text(), results))
