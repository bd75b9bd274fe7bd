"""Shared fixtures. Every test must hold for every seed."""

from __future__ import annotations

import os

# scikit-learn's array API checks are skipped without this, and it must be set before scipy loads.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import sys
from collections.abc import Callable

import pytest

Command = Callable[..., tuple[int, str, str]]


def _seeds() -> list[int]:
    """Return the seeds of this run: one by default, 0 to 99 with ``PROJSE_TEST_SEEDS=all``."""
    asked = os.environ.get("PROJSE_TEST_SEEDS", "42")
    return list(range(100)) if asked == "all" else [int(s) for s in asked.split(",")]


@pytest.fixture(params=_seeds())
def seed(request: pytest.FixtureRequest) -> int:
    """Return a seed for the test's random numbers."""
    return int(request.param)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run the command in this process; return its exit code and what it printed."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["projse", *map(str, arguments)])
        from projse.cli import main

        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return run
