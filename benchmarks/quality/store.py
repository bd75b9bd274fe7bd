"""Result files: one small JSON a data set and contestant; what is there is not run again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"


def path_of(folder: Path, dataset: str, contestant: str) -> Path:
    """Return where the figures of one pair are kept."""
    names = (re.sub(r"[^a-zA-Z0-9.=]+", "-", name) for name in (dataset, contestant))
    return folder / f"{'--'.join(names)}.json"


def save(folder: Path, dataset: str, contestant: str, result: dict[str, Any]) -> None:
    """Write a result whole: a run that is stopped leaves no half file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = path_of(folder, dataset, contestant)
    draft = path.with_suffix(".tmp")
    draft.write_text(json.dumps(result, separators=(",", ":")) + "\n")
    draft.replace(path)


def load(folder: Path) -> list[dict[str, Any]]:
    """Read all results of a folder."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
