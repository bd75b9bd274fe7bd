"""Result files: one small JSON a setting and contestant, which a run goes on from."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"


def path_of(folder: Path, setting: str, contestant: str) -> Path:
    """Return where the figures of one pair are kept."""
    names = (re.sub(r"[^a-zA-Z0-9.=]+", "-", name) for name in (setting, contestant))
    return folder / f"{'--'.join(names)}.json"


def read(folder: Path, setting: str, contestant: str) -> dict[str, Any]:
    """Return what is there of a pair; ``found`` has an entry a data set."""
    path = path_of(folder, setting, contestant)
    if path.exists():
        return dict(json.loads(path.read_text()))
    return {"setting": setting, "contestant": contestant, "found": []}


def save(folder: Path, result: dict[str, Any]) -> None:
    """Write a result whole: a run that is stopped leaves no half file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = path_of(folder, result["setting"], result["contestant"])
    draft = path.with_suffix(".tmp")
    draft.write_text(json.dumps(result, separators=(",", ":")) + "\n")
    draft.replace(path)


def load(folder: Path) -> list[dict[str, Any]]:
    """Read all results of a folder."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
