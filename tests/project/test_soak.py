"""Short runs of the soak benchmark: sums do not drift, memory and open files stay."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
CASES = ("partial-fit", "window", "rows")


@pytest.fixture(autouse=True)
def benchmarks_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for name in [n for n in sys.modules if n.split(".")[0] == "soak"]:
        del sys.modules[name]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read as Linux has it")
@pytest.mark.parametrize("case", CASES)
def test_a_short_run_neither_drifts_nor_grows(case, tmp_path):
    from soak.cli import main

    assert main(["run", "--short", "--only", case, "--output", str(tmp_path)]) == 0
    result = json.loads((tmp_path / f"{case}.json").read_text())
    assert result["held"]
    assert len(result["samples"]) == len(result["drift"]) == 10


def test_drift_is_seen():
    import numpy as np
    from soak.cases import distance, rows

    from projse import Moments

    X, Y = rows(100, np.random.default_rng(0))
    want = Moments.from_arrays(X, Y)
    assert distance(want, Moments.from_arrays(X, Y)) == 0.0
    X[3, 2] += 1e-6
    assert 1e-12 < distance(Moments.from_arrays(X, Y), want) < 1e-6
    with pytest.raises(AssertionError, match="99 rows"):
        distance(Moments.from_arrays(X[1:], Y[1:]), want)


@pytest.mark.parametrize(
    "path", sorted((BENCHMARKS / "soak" / "results").glob("*.json")), ids=lambda p: p.stem
)
def test_saved_results_held(path):
    result = json.loads(path.read_text())
    assert path.stem in CASES
    assert result.keys() >= {"what", "count", "seconds", "outcome", "command"}
    assert result["held"]
