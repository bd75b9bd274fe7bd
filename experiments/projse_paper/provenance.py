"""How a number was made: command, commit, versions, machine."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
"""Root of the repository."""

PACKAGES = ("projse", "numpy", "scipy", "scikit-learn", "skfeature-chappers", "cca-zoo", "torch")


def describe() -> dict[str, Any]:
    """Describe command, code and machine, without names of hosts, users or folders."""
    return {
        "command": command(),
        "commit": commit(),
        "versions": {"python": platform.python_version(), **_versions()},
        "machine": {
            "processor": _processor(),
            "cores": len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count(),
            "system": f"{platform.system()} {platform.machine()}",
        },
    }


def command() -> str:
    """Return the command line, with names of files and folders but not where they are."""
    words = [Path(word).name if "/" in word or "\\" in word else word for word in sys.argv[1:]]
    return " ".join(["projse-paper", *words])


def commit() -> str | None:
    """Return the commit of the library and the experiments; say so when they differ from it."""

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", "src", "experiments/projse_paper")
        return git("rev-parse", "--short=10", "HEAD") + (" with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
