"""Units of work and the files they leave: one small JSON a unit, written as soon as it is done."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Results = dict[str, Any]


class NotRun(Exception):
    """A unit cannot run here; the message says why, and is what the results page shows."""


@dataclass(frozen=True)
class Unit:
    """A piece of work that is saved by itself.

    Parameters
    ----------
    experiment : str
    name : str
        Of the file, unique within the experiment.
    parameters : dict
        All that decides the results, as JSON can hold it. A saved unit whose parameters differ
        counts as missing.
    work : callable
        Returns the results, as JSON can hold them, or raises :class:`NotRun`.
    """

    experiment: str
    name: str
    parameters: dict[str, Any]
    work: Callable[[], Results]


@dataclass(frozen=True)
class Record:
    """What a unit left: the content of its file, and where that is."""

    path: Path
    content: dict[str, Any]

    @property
    def name(self) -> str:
        """Name of the unit."""
        return self.path.stem

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the unit."""
        return self.content["parameters"]

    @property
    def results(self) -> Results:
        """Results of the unit; empty when it was not run."""
        return self.content.get("results", {})

    @property
    def reason(self) -> str | None:
        """Why the unit was not run, or None."""
        return self.content.get("not_run")


class Store:
    """A folder of results, one folder an experiment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, unit: Unit) -> Path:
        """Return where the unit is saved."""
        return self.folder / unit.experiment / f"{unit.name}.json"

    def has(self, unit: Unit) -> bool:
        """Whether the unit was done before, with the same parameters."""
        record = self._read(self.path(unit))
        if record is None or record.reason is not None:
            return False
        return record.parameters == _plain(unit.parameters)

    def save(self, unit: Unit, made: dict[str, Any], outcome: Results | NotRun) -> None:
        """Write the unit's file: whole, or not at all."""
        content = {"experiment": unit.experiment, "parameters": _plain(unit.parameters)}
        if isinstance(outcome, NotRun):
            before = self._read(self.path(unit))
            if before is not None and before.reason == str(outcome):
                return  # nothing new; the file keeps the commit it was first written at
            content["not_run"] = str(outcome)
        else:
            content["results"] = _plain(outcome)
        content["made"] = made
        replace_text(self.path(unit), json.dumps(content, indent=1, ensure_ascii=False) + "\n")

    def records(self, experiment: str) -> dict[str, Record]:
        """Return all that is saved of an experiment, by the names of its units."""
        paths = sorted((self.folder / experiment).glob("*.json"))
        found = [self._read(path) for path in paths]
        return {record.name: record for record in found if record is not None}

    def write_csv(self, experiment: str, rows: Iterable[dict[str, Any]]) -> None:
        """Write an experiment's numbers as one long table."""
        rows = list(rows)
        if not rows:
            return
        columns = list(dict.fromkeys(name for row in rows for name in row))
        path = self.folder / experiment / f"{experiment}.csv"
        temporary = path.with_suffix(".tmp")
        with temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        temporary.replace(path)

    @staticmethod
    def _read(path: Path) -> Record | None:
        try:
            return Record(path, json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except json.JSONDecodeError as error:
            raise ValueError(
                f"{path.name} is not JSON ({error}); delete it and run again."
            ) from None


def finished(records: Mapping[str, Record], name: str) -> Record | None:
    """Return the record of that name if it has results, else None."""
    record = records.get(name)
    return record if record is not None and record.results else None


def all_finished(records: Mapping[str, Record], prefix: str) -> list[Record]:
    """Return the records whose names begin with the prefix and that have results."""
    return [r for name, r in records.items() if name.startswith(prefix) and r.results]


def replace_text(path: Path, text: str) -> None:
    """Write a file in one step, so that a kill leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def _plain(value: Any) -> Any:
    """Turn numpy's numbers and arrays into Python's, and round what is noise: 7 digits."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.7g}")
    return value
