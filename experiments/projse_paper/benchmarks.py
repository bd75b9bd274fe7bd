"""Modules of the benchmarks of this repository that the experiments share."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
"""Root of the repository."""

__all__ = ["ROOT", "machine", "picking", "text", "textbook"]


def _borrow(name: str) -> ModuleType:
    """Load a module by its file: the folder of the benchmarks is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING:
    import machine
    import picking
    import text
    import textbook
else:
    machine, picking, text, textbook = map(_borrow, ("machine", "picking", "text", "textbook"))
