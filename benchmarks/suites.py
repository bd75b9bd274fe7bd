"""Suites whose results are rows: each module has ``CASES``, functions from ``quick`` to rows."""

from __future__ import annotations

from types import ModuleType

import engine
import stream
import trust
from machine import OtherWork
from rows import Row

ROW_SUITES: dict[str, ModuleType] = {"engine": engine, "trust": trust, "stream": stream}
TITLES = {
    "engine": "Engine",
    "trust": "Two views, stability, cross-validation",
    "stream": "Streams",
}


def run_case(suite: str, name: str, quick: bool) -> list[Row]:
    """Run one case by its name, and note how much other work the machine had meanwhile."""
    other = OtherWork()
    rows: list[Row] = ROW_SUITES[suite].CASES[name](quick)
    share = other.share()
    for row in rows:
        row.other_work = share
    return rows
