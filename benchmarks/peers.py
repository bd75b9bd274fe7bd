"""Run every contestant on every shape, each in a process of its own, within a time limit."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import shapes
from contestants import CONTESTANTS

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "peers-requirements.txt"
SETUP_SECONDS = 300
"""Beyond the limit of the contestant: to make data, import packages, repeat and judge."""


@dataclass
class PeerRow:
    """One contestant on one shape. Figures are None where ``status`` says why."""

    shape: str
    sizes: str
    contestant: str
    package: str
    settings: str
    wanted: int
    version: str = ""
    seconds: float | None = None
    ratio: dict[str, float] | None = None
    memory_mib: float | None = None
    n_picks: int | None = None
    r2: float | None = None
    status: str = "ok"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


@dataclass
class PeerResults:
    """Rows of all shapes, and per shape the R² of the true candidates, of all and of chance."""

    limit: float
    rows: list[PeerRow] = field(default_factory=list)
    references: dict[str, dict[str, float]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def run(
    python: str,
    quick: bool,
    limit: float,
    only: list[str] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> PeerResults:
    """Run all contestants, or those shapes and contestants that ``only`` names."""
    table = shapes.QUICK_SHAPES if quick else shapes.SHAPES
    chosen_shapes = [s for s in table if not only or s in only] or list(table)
    chosen = [c for c in CONTESTANTS if not only or c in only] or list(CONTESTANTS)
    results = PeerResults(limit)
    for shape_name in chosen_shapes:
        shape = table[shape_name]
        results.references[shape_name] = _worker(python, shape_name, "references", limit, quick)
        for name in chosen:
            progress(f"peers: {shape_name}, {name}")
            contestant = CONTESTANTS[name]
            row = PeerRow(
                shape_name, shape.sizes, name, contestant.package, contestant.settings, shape.n
            )
            for key, value in _worker(python, shape_name, name, limit, quick).items():
                setattr(row, key, value)
            results.rows.append(row)
    return results


def _worker(python: str, shape: str, name: str, limit: float, quick: bool) -> dict[str, Any]:
    command = [python, str(HERE / "peer_worker.py"), shape, name, str(limit), str(int(quick))]
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        # A session of its own, so that workers of the worker end with it. Files instead of
        # pipes, because such workers would hold the pipes open.
        process = subprocess.Popen(command, stdout=output, stderr=errors, start_new_session=True)
        try:
            code = process.wait(timeout=limit + SETUP_SECONDS)
        except subprocess.TimeoutExpired:
            code = -signal.SIGALRM
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        output.seek(0)
        errors.seek(0)
        printed, complaints = output.read().splitlines(), errors.read().splitlines()
    if code == -signal.SIGALRM:
        return {"status": f"> {limit:g} s"}
    if code or not printed:
        return {"status": f"failed: exit code {code}: {' '.join(complaints[-1:])[:120]}"}
    return json.loads(printed[-1])


def make_environment(folder: Path, progress: Callable[[str], None]) -> str:
    """Create a virtual environment with the peers and this repository; return its Python.

    What cannot be installed is left out, and the table says so.
    """
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")

    def install(*what: str) -> bool:
        command = [python, "-m", "pip", "install", "--quiet", *what]
        return subprocess.run(command, stdout=sys.stderr, check=False).returncode == 0

    progress("peers: installing")
    if not install("-r", str(REQUIREMENTS)):
        for line in REQUIREMENTS.read_text().splitlines():
            if line and not line.startswith("#") and not install(line):
                progress(f"peers: could not install {line}")
    if not install("--editable", str(HERE.parent)):
        raise RuntimeError("projse itself could not be installed in the peers' environment.")
    return python
