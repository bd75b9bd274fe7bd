"""The lowest versions that we promise: all that users install, and no more."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_constraints_name_every_dependency_of_users_once():
    command = [sys.executable, "tools/lowest.py"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = dict(line.split("==") for line in printed.splitlines())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert found["numpy"] == project["dependencies"][0].removeprefix("numpy>=")
    assert {"scipy", "pandas", "pyarrow", "dask", "distributed", "pyspark", "typer"} <= set(found)
    assert not {"pytest", "ruff", "sphinx"} & set(found)
    # "dataframes" asks for less than "spark": the higher bound is what both are installed with.
    assert tuple(map(int, found["pandas"].split("."))) >= (2, 2)


def test_every_extra_is_for_users_or_for_developers():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from lowest import USERS
    finally:
        sys.path.remove(str(ROOT / "tools"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert set(extras) - set(USERS) == {"test", "docs", "bench", "dev", "all"}
