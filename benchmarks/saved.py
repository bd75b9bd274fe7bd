"""What the suites found, in JSON files: written, and read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from growth import Growth
from peers import PeerResults, PeerRow
from rows import Row
from suites import ROW_SUITES

Results = dict[str, tuple[Any, dict[str, Any]]]
"""What each suite found, and how it was made."""


def save(
    suite: str, found: Any, made: dict[str, Any], folder: Path, *, cases: bool = False
) -> None:
    """Write what a suite found, and how it was made, as JSON.

    Where only some ``cases`` of rows were run, those of others stay if the same code made them.
    """
    if cases and suite in ROW_SUITES:
        found, made = _beside_others(suite, found, made, folder)
    plain = found.as_dict() if suite == "peers" else [entry.as_dict() for entry in found]
    text = json.dumps({"made": made, "found": plain}, indent=1, ensure_ascii=False) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    replace_text(folder / f"{suite}.json", text)


def _beside_others(
    suite: str, found: list[Row], made: dict[str, Any], folder: Path
) -> tuple[list[Row], dict[str, Any]]:
    """Put rows among those of other cases that the same commit gave on the same machine."""
    rows, before = load(folder).get(suite, ([], {}))
    if not before or before["machine"]["commit"] != made["machine"]["commit"]:
        return found, made
    new = {row.case for row in found}
    rows = [row for row in rows if row.case not in new] + found
    order = list(ROW_SUITES[suite])
    rows.sort(key=lambda row: order.index(row.case))
    made = {**made, "minutes": round(before["minutes"] + made["minutes"], 1)}
    made["command"] = f"python benchmarks/run.py --only {suite}, some cases at a time"
    return rows, made


def load_machines(root: Path) -> dict[str, Results]:
    """Read what was saved on each kind of machine: a folder each, or one that has no name."""
    folders = sorted({path.parent for path in root.glob("*/*.json")})
    # A machine's own kernels come before others on it.
    folders.sort(key=lambda path: path.name.split("-")[:2], reverse=True)
    found = {path.name: load(path) for path in folders if path.name != "quick"}
    return found or {"": load(root)}


def load(folder: Path) -> Results:
    """Read what was saved of all suites."""
    results: Results = {}
    for suite in [*ROW_SUITES, "peers", "growth"]:
        path = folder / f"{suite}.json"
        if path.exists():
            saved = json.loads(path.read_text(encoding="utf-8"))
            results[suite] = (_entries(suite, saved["found"]), saved["made"])
    return results


def _entries(suite: str, found: Any) -> Any:
    if suite == "peers":
        rows = [_made(PeerRow, row) for row in found["rows"]]
        return PeerResults(found["limit"], rows, found["references"])
    return [_made(Growth if suite == "growth" else Row, entry) for entry in found]


def _made(kind: Any, entry: dict[str, Any]) -> Any:
    return kind(**{k: v for k, v in entry.items() if k in kind.__dataclass_fields__})


def replace_text(path: Path, text: str) -> None:
    """Write a file in one step, so that a kill leaves the old one or the new one."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
