"""The command when memory runs out, or when several of it use one state at once."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from day_files import OPTIONS, days, same_bits
from processes import COMMAND, run

from projse import Moments, moments_from

pytestmark = pytest.mark.fault


def test_too_little_memory_is_one_line_with_the_remedy(folder, failure, monkeypatch):
    def too_much(*_, **__):
        raise MemoryError("Unable to allocate 6.71 GiB for an array with shape (30000, 30000)")

    monkeypatch.setattr("projse.moments.stream.OpenSource.total", too_much, raising=True)
    error = failure("select", folder, "--targets", "y_*", "-k", "2")
    assert "There is not enough memory (Unable to allocate 6.71 GiB" in error
    assert "--features" in error


LIMITED = """
import resource, sys
import numpy, pyarrow.parquet, pyarrow.dataset, scipy.linalg
import projse.cli.app, projse.cli.select, projse.cli.moments, projse.moments.stream
from pathlib import Path
from projse.cli import main
size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + {more},) * 2)
sys.argv = ["projse", *{arguments!r}]
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
@pytest.mark.parametrize("megabytes", [150, 200, 300])
def test_a_limit_of_memory_ends_a_run_and_keeps_its_state(seed, tmp_path, megabytes):
    """Products of 6000 candidates are 288 MB, which the limit leaves no room for."""
    rng = np.random.default_rng(seed)
    columns = {f"x_{j}": rng.normal(size=20) for j in range(6000)}
    (tmp_path / "wide").mkdir()
    for number in range(2):
        columns["y_0"] = rng.normal(size=20)
        pq.write_table(pa.table(columns), tmp_path / "wide" / f"{number}.parquet")
    state, out = tmp_path / "state", tmp_path / "out.moments"
    arguments = ["moments", "build", str(tmp_path / "wide"), "--targets", "y_0"]
    arguments += ["--state", str(state), "--output", str(out)]
    assert run(COMMAND, *arguments).returncode == 0
    kept = sorted(path.name for path in state.rglob("*.moments"))
    code = LIMITED.format(more=megabytes << 20, arguments=[*arguments, "--with-xx"])
    done = run(sys.executable, "-c", code, OPENBLAS_NUM_THREADS="1", ARROW_NUM_THREADS="1")
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("projse: error: There is not enough memory")
    assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in state.rglob("*.moments")) == kept
    assert run(COMMAND, *arguments).returncode == 0
    assert Moments.load(out).n_samples == 40


@pytest.mark.slow
@pytest.mark.parametrize("n_runs", [2, 4])
def test_runs_at_once_on_one_state_end_well_or_say_who_has_it(seed, tmp_path, n_runs):
    folder = days(seed, tmp_path / "days", n_files=40, n_samples=40 * 50)
    state = tmp_path / "state"
    build = [COMMAND, "moments", "build", folder, "--targets", "y_*", "--state", state]
    commands = [[*build, "--output", tmp_path / f"{number}.moments"] for number in range(n_runs)]
    running = [
        subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for command in commands
    ]
    ended = [(process.communicate()[1], process.returncode) for process in running]
    want = moments_from(folder, **OPTIONS)
    assert any(code == 0 for _, code in ended), ended
    for number, (told, code) in enumerate(ended):
        if code == 0:
            same_bits(Moments.load(tmp_path / f"{number}.moments"), want)
        else:
            assert "Another run" in told
            assert "Wait until it ends, or use another folder" in told
    same_bits(moments_from(folder, state=state, **OPTIONS), want)
