"""How a number was made: command, commit, versions, machine."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Any

from projse_paper.benchmarks import machine

PACKAGES = ("projse", "numpy", "scipy", "scikit-learn", "skfeature-chappers", "cca-zoo", "torch")


def describe() -> dict[str, Any]:
    """Describe command, code and machine, without names of hosts, users or folders."""
    return {
        "command": command(),
        "commit": machine.commit("src", "experiments/projse_paper", digits=10),
        "versions": {"python": platform.python_version(), **machine.versions(PACKAGES)},
        "machine": {
            "processor": machine.processor(),
            "cores": machine.cores(),
            "system": machine.system(),
        },
    }


def command() -> str:
    """Return the command line, with names of files and folders but not where they are."""
    words = [Path(word).name if "/" in word or "\\" in word else word for word in sys.argv[1:]]
    return " ".join(["projse-paper", *words])
