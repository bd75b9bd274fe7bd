"""Tables: cells level with, ahead of or behind the better of two peers, and who beats whom.

A cell is a data set and a number of picks. Its difference is paired, fold by fold; its standard
error is that of the mean over the folds. Level: within half a standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from quality.models import MEASURES
from quality.problem import Array

PEERS = ("fastcan", "correlation ranking")
LEVEL, FAR = 0.5, 3.0
Scores = dict[tuple[str, int], dict[str, Array]]


@dataclass(frozen=True)
class Cell:
    """The subject against a peer on one data set and number: mean difference and its error."""

    dataset: str
    number: int
    peer: str
    subject_mean: float
    peer_mean: float
    difference: float
    error: float

    @property
    def errors(self) -> float:
        """The difference in standard errors."""
        if self.error > 0:
            return self.difference / self.error
        return float(np.sign(self.difference) * (np.inf if self.difference else 0.0))

    @property
    def verdict(self) -> str:
        """Return ahead, level or behind."""
        if abs(self.errors) <= LEVEL:
            return "level"
        return "ahead" if self.difference > 0 else "behind"


def scores_of(results: Iterable[dict[str, Any]]) -> Scores:
    """Return the scores a fold, by cell and contestant."""
    scores: Scores = {}
    for result in results:
        for number, cell in result.get("cells", {}).items():
            key = (result["dataset"], int(number))
            values = np.asarray(cell["scores"]).mean(axis=1)
            scores.setdefault(key, {})[result["contestant"]] = values
    return scores


def compare(key: tuple[str, int], subject: Array, peer: Array, name: str) -> Cell:
    """Pair two contestants fold by fold."""
    d = subject - peer
    error = float(d.std(ddof=1) / np.sqrt(len(d)))
    return Cell(*key, name, float(subject.mean()), float(peer.mean()), float(d.mean()), error)


def cells(scores: Scores, subject: str, peers: tuple[str, ...] = PEERS) -> list[Cell]:
    """Compare the subject with the better of the peers (by its mean) in each cell."""
    found = []
    for key, by_name in scores.items():
        rivals = [name for name in peers if name in by_name]
        if subject in by_name and rivals:
            best = max(rivals, key=lambda name: by_name[name].mean())
            found.append(compare(key, by_name[subject], by_name[best], best))
    return found


def counts(found: list[Cell]) -> dict[str, float]:
    """Count verdicts; ``higher`` is the number of cells with the higher mean."""
    verdicts = [cell.verdict for cell in found]
    return {
        "cells": len(found),
        "ahead": verdicts.count("ahead"),
        "level": verdicts.count("level"),
        "behind": verdicts.count("behind"),
        "higher": sum(cell.difference > 0 for cell in found),
        "far behind": sum(cell.errors < -FAR for cell in found),
        "worst": min((cell.errors for cell in found), default=0.0),
    }


def page(results: list[dict[str, Any]], subject: str, half: str | None) -> str:
    """Return all tables as Markdown."""
    if half is not None:
        results = [result for result in results if result["half"] == half]
    scores = scores_of(results)
    about = {result["dataset"]: result for result in results}
    found = cells(scores, subject)
    parts = [
        f"# {subject} against the better of fastcan and correlation ranking",
        _counts_table(found, about),
        "## Cells behind",
        _behind(found, about),
        "## Against each contestant",
        _duels(scores, subject),
        "## Scores",
        "\n".join(f"- {kind}: {measure}" for kind, measure in MEASURES.items()),
        _all_scores(results, scores),
    ]
    skipped = sorted(
        f"- {r['contestant']} on {r['dataset']}: {r['status']}"
        for r in results
        if r["status"] != "ok"
    )
    if skipped:
        parts += ["## Not run", "\n".join(skipped)]
    return "\n\n".join(parts) + "\n"


def _has(field: str, value: str, record: dict[str, Any]) -> bool:
    return bool(record[field] == value)


def _counts_table(found: list[Cell], about: dict[str, Any]) -> str:
    groups: dict[str, Callable[[Any], bool]] = {"all": lambda r: True}
    groups["real data"] = lambda r: not r["made"]
    groups["made data"] = lambda r: r["made"]
    groups.update({kind: partial(_has, "kind", kind) for kind in MEASURES})
    groups.update({half: partial(_has, "half", half) for half in ("tune", "report")})
    lines = []
    for name, member in groups.items():
        c = counts([cell for cell in found if member(about[cell.dataset])])
        if c["cells"]:
            share = (c["ahead"] + c["level"]) / c["cells"]
            lines.append(
                [name, c["cells"], c["ahead"], c["level"], c["behind"], f"{share:.0%}",
                 f"{c['ahead'] / c['cells']:.0%}", f"{c['higher'] / c['cells']:.0%}",
                 f"{c['worst']:.1f}"]
            )  # fmt: skip
    head = ["cells", "n", "ahead", "level", "behind", "level or ahead", "ahead", "higher mean"]
    return markdown([*head, "worst (SE)"], lines)


def _behind(found: list[Cell], about: dict[str, Any]) -> str:
    lines = [
        [c.dataset, about[c.dataset]["kind"], c.number, c.peer, f"{c.subject_mean:.3f}",
         f"{c.peer_mean:.3f}", f"{c.difference:+.4f}", f"{c.errors:.1f}"]
        for c in sorted(found, key=lambda c: c.errors)
        if c.verdict == "behind"
    ]  # fmt: skip
    head = ["data", "kind", "picks", "better peer", "subject", "peer", "difference", "SE"]
    return markdown(head, lines)


def _duels(scores: Scores, subject: str) -> str:
    names = sorted({name for by_name in scores.values() for name in by_name} - {subject})
    lines = []
    for name in names:
        c = counts(cells(scores, subject, (name,)))
        lines.append([name, c["cells"], c["ahead"], c["level"], c["behind"]])
    return markdown(["contestant", "cells", "ahead", "level", "behind"], lines)


def _all_scores(results: list[dict[str, Any]], scores: Scores) -> str:
    names = list(dict.fromkeys(result["contestant"] for result in results))
    about = {result["dataset"]: result for result in results}
    times = {
        (r["dataset"], r["contestant"]): np.mean(r["seconds"]) for r in results if "seconds" in r
    }
    lines = []
    for (dataset, number), by_name in sorted(scores.items()):
        line = [dataset, about[dataset]["kind"], " × ".join(map(str, about[dataset]["sizes"]))]
        shown = []
        for name in names:
            if name not in by_name:
                shown.append("–")
                continue
            values = by_name[name]
            error = values.std(ddof=1) / np.sqrt(len(values))
            shown.append(f"{values.mean():.3f} ± {error:.3f} ({times[dataset, name]:.2g} s)")
        lines.append([*line, number, *shown])
    return markdown(["data", "kind", "rows × candidates × outputs", "picks", *names], lines)


def markdown(head: list[str], lines: list[list[Any]]) -> str:
    """Return a table."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)
