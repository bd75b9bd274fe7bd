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


def save(suite: str, found: Any, made: dict[str, Any], folder: Path) -> None:
    """Write what a suite found, and how it was made, as JSON."""
    plain = found.as_dict() if suite == "peers" else [entry.as_dict() for entry in found]
    text = json.dumps({"made": made, "found": plain}, indent=1, ensure_ascii=False) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    replace_text(folder / f"{suite}.json", text)


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
