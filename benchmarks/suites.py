"""Suites whose results are rows: each module has ``CASES``, functions from ``quick`` to rows."""

from __future__ import annotations

from types import ModuleType

import clusters
import engine
import stream
import trust
from machine import OtherWork
from rows import Row, not_run

ROW_SUITES: dict[str, ModuleType] = {
    "engine": engine,
    "trust": trust,
    "stream": stream,
    "clusters": clusters,
}
TITLES = {
    "engine": "Engine",
    "trust": "Two views, stability, cross-validation",
    "stream": "Streams",
    "clusters": "Clusters",
}


def run_case(suite: str, name: str, quick: bool) -> list[Row]:
    """Run one case by its name, and note how much other work the machine had meanwhile."""
    other = OtherWork()
    try:
        rows: list[Row] = ROW_SUITES[suite].CASES[name](quick)
    except ImportError as error:  # a case that lacks its engine says so
        return [not_run(name, name, "–", str(error))]
    share = other.share()
    for row in rows:
        row.other_work = share
    return rows
