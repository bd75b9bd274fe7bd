"""A short run of each fuzz target: no input ends in an error that is not ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FUZZ = ROOT / "tools" / "fuzz"
SECONDS = os.environ.get("PROJSE_FUZZ_SECONDS", "6")
"""Of the processor, for each target."""

TARGETS = sorted(path.stem.removeprefix("target_") for path in FUZZ.glob("target_*.py"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="timers of POSIX end what hangs")
@pytest.mark.parametrize("target", TARGETS)
def test_no_input_ends_in_an_error_that_is_not_ours(target, tmp_path):
    options = ["--only", target, "--seconds", SECONDS, "--output", str(tmp_path / "results")]
    done = subprocess.run(
        [sys.executable, str(FUZZ), "run", *options, "--work", str(tmp_path / "work")],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    log = (tmp_path / "work" / target / "log").read_text(errors="replace")[-2000:]
    result = json.loads((tmp_path / "results" / f"{target}.json").read_text())
    crashes = [path.read_text() for path in (tmp_path / "work").rglob("crashes/*.txt")]
    assert result["defects"] == [], (crashes, log)
    assert done.returncode == 0, done.stderr
    assert result["count"] > 10, log


@pytest.mark.parametrize("path", sorted((FUZZ / "results").glob("*.json")), ids=lambda p: p.stem)
def test_saved_results_are_of_these_targets_and_without_defects(path):
    result = json.loads(path.read_text())
    assert path.stem in TARGETS
    assert result.keys() >= {"what", "count", "seconds", "outcome", "command"}
    assert result["count"] > 0
    assert result["defects"] == []
