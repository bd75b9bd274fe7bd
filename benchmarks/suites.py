"""Suites whose results are rows: each module has ``CASES``, its cases by name."""

from __future__ import annotations

import clusters
import defaults
import discoveries
import engine
import outputs
import stream
import tables
import trust
from machine import OtherWork
from rows import Case, Row, not_run

ROW_SUITES: dict[str, dict[str, Case]] = {
    "engine": engine.CASES,
    "defaults": defaults.CASES,
    "trust": trust.CASES,
    "discoveries": discoveries.CASES,
    "stream": stream.CASES,
    "tables": tables.CASES,
    "clusters": clusters.CASES,
    "outputs": outputs.CASES,
}
TITLES = {
    "engine": "Engine",
    "defaults": "What the defaults cost",
    "trust": "Two views, stability, cross-validation",
    "discoveries": "Discoveries at a bounded rate of false ones",
    "stream": "Streams",
    "tables": "Tables",
    "clusters": "Clusters",
    "outputs": "Many outputs",
}


def run_case(suite: str, name: str, quick: bool) -> list[Row]:
    """Run one case by its name, and note how much other work the machine had meanwhile."""
    other = OtherWork()
    try:
        rows = ROW_SUITES[suite][name](quick)
    except ImportError as error:  # a case that lacks its engine says so
        return [not_run(name, name, "–", str(error))]
    share = other.share()
    for row in rows:
        row.other_work = share
    return rows
