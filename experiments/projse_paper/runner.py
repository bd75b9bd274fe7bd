"""Runs units that are not yet done, one after the other, and saves each."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from projse_paper import provenance
from projse_paper.store import NotRun, Store, Unit


class Progress(Protocol):
    """What the runner tells while it works."""

    def begin(self, unit: Unit) -> None:
        """Start a unit."""

    def end(self, unit: Unit, outcome: str) -> None:
        """Finish a unit: ``"done"``, ``"already there"`` or ``"not run: why"``."""


def run(units: Sequence[Unit], store: Store, progress: Progress) -> dict[str, int]:
    """Run what is missing; return how many units were done, skipped and not run."""
    _refuse_doubles(units)
    counts = {"done": 0, "already there": 0, "not run": 0}
    about = provenance.describe()
    for unit in units:
        progress.begin(unit)
        outcome = "already there" if store.has(unit) else _one(unit, store, about)
        progress.end(unit, outcome)
        counts[outcome.split(":")[0]] += 1
    return counts


def _one(unit: Unit, store: Store, about: dict[str, Any]) -> str:
    started = datetime.now(UTC)
    start = time.perf_counter()
    try:
        outcome: dict[str, Any] | NotRun = unit.work()
    except NotRun as reason:
        outcome = reason
    made = {
        **about,
        "date": started.strftime("%Y-%m-%d"),
        "seconds": round(time.perf_counter() - start, 3),
    }
    store.save(unit, made, outcome)
    return f"not run: {outcome}" if isinstance(outcome, NotRun) else "done"


def _refuse_doubles(units: Iterable[Unit]) -> None:
    seen: set[tuple[str, str]] = set()
    for unit in units:
        key = (unit.experiment, unit.name)
        if key in seen:
            raise ValueError(f"Two units of {unit.experiment} are called {unit.name!r}.")
        seen.add(key)
