"""Files, and a command that fails on them."""

from __future__ import annotations

import pytest
from day_files import days


@pytest.fixture
def folder(seed, tmp_path):
    return days(seed, tmp_path / "days")


@pytest.fixture
def failure(command):
    """Run a command that fails; return its error, which is one line."""

    def error(*arguments):
        done = command(*arguments)
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr.startswith("projse: error: ")
        assert done.stderr.count("\n") == 1
        assert "Traceback" not in done.stderr
        return done.stderr

    return error
