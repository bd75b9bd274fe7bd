"""Print constraints that hold every dependency at the lowest version that we promise.

    python tools/lowest.py > lowest.txt
    pip install -e ".[test]" -c lowest.txt
    pytest

Read from ``pyproject.toml``: dependencies, and the extras that users install. Where two of them
name a package, the higher bound counts, as it does for pip. What only the tests or the docs need
stays at its newest version.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

USERS = ("arrow", "cli", "datasets", "dataframes", "plot", "dask", "spark")
"""Extras of the package; the others are for those who work on it."""


def lowest(project: dict[str, object]) -> dict[str, str]:
    """Return the lowest version of each dependency of a ``[project]`` table."""
    extras = project["optional-dependencies"]
    assert isinstance(extras, dict)
    wanted = [project["dependencies"], *(extras[name] for name in USERS)]
    found: dict[str, str] = {}
    for requirement in (line for lines in wanted for line in lines):
        match = re.fullmatch(r"([\w.-]+)(?:\[[^]]*\])?>=([\d.]+)(?:,.*)?", requirement)
        if match is None:
            assert requirement.startswith("projse-select["), requirement
            continue
        name, version = match.groups()
        found[name] = max(found.get(name, "0"), version, key=_order)
    if "dask" in found:
        found["distributed"] = found["dask"]  # the two are released together
    return found


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


if __name__ == "__main__":
    pyproject = Path(__file__).parents[1] / "pyproject.toml"
    versions = lowest(tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"])
    print("\n".join(f"{name}=={version}" for name, version in sorted(versions.items())))
