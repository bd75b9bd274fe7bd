"""Shared fixtures. Every test must hold for every seed."""

from __future__ import annotations

import os

# scikit-learn's array API checks are skipped without this, and it must be set before scipy loads.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# Workers share the cores: one BLAS thread each, set before numpy loads. Where a test is about
# threads, it asks for them itself.
if "PYTEST_XDIST_WORKER" in os.environ:
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
import sys
from collections.abc import Iterator

import pytest
from processes import Command, Done

STYLING = ("FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE")


def _seeds() -> list[int]:
    """Return the seeds of ``PROJSE_TEST_SEEDS``: ``7``, ``1,2``, ``10-19``, or ``all`` hundred."""
    asked = os.environ.get("PROJSE_TEST_SEEDS", "42").replace("all", "0-99")
    ends = [part.split("-") for part in asked.split(",")]
    return [seed for end in ends for seed in range(int(end[0]), int(end[-1]) + 1)]


@pytest.fixture(params=_seeds())
def seed(request: pytest.FixtureRequest) -> int:
    """Return a seed for the test's random numbers."""
    return int(request.param)


@pytest.fixture(scope="session", autouse=True)
def plain_style() -> Iterator[None]:
    """Keep the style of whoever runs the tests out of what the command prints."""
    with pytest.MonkeyPatch.context() as patch:
        for name in STYLING:
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run the command in this process, with these settings in its environment."""

    def run(*arguments: object, **environment: str) -> Done:
        from projse.cli import main

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["projse", *map(str, arguments)])
            for name, value in {"COLUMNS": "80", **environment}.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                main()
        return Done(int(ended.value.code or 0), *capsys.readouterr())

    return run
