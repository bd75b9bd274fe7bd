"""The paper's own numbers, from the one file they are typed in."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("paper_numbers.toml")


@cache
def numbers() -> dict[str, Any]:
    """Return all numbers, by experiment."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))
