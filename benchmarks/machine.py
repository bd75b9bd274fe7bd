"""What the measurements ran on: processor, memory, BLAS, versions and commit."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np  # noqa: F401  (loads its BLAS, so that threadpoolctl sees it)
import scipy.linalg  # noqa: F401
from threadpoolctl import threadpool_info

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    *("projse", "numpy", "scipy", "scikit-learn", "threadpoolctl", "fastcan"),
    *("dask", "pyarrow", "pyspark"),
)
VECTORS = {"avx512f": "avx512", "avx2": "avx2"}  # by the flags that the kernel shows
OWN_KERNELS = {
    "avx512": ("SkylakeX", "Cooperlake", "SapphireRapids"),
    "avx2": ("Haswell", "Zen"),
}
"""Kernels of OpenBLAS that are made for a machine's vector units; others are asked for."""
DISTRIBUTIONS = {"projse": "projse-select"}  # where pip knows a package by another name


def describe() -> dict[str, Any]:
    """Describe machine and software, without names of hosts, users or folders."""
    return {
        "processor": processor(),
        "cores": cores(),
        "memory_gib": _memory_gib(),
        "load_average": [round(load, 2) for load in os.getloadavg()]
        if hasattr(os, "getloadavg")
        else None,
        "system": system(),
        "python": platform.python_version(),
        "blas": _blas(),
        "packages": versions(PACKAGES),
        "commit": commit("src", "benchmarks/*.py"),
    }


def kind() -> str:
    """Name the kind of machine, by maker and vector units: ``intel-avx512``, ``amd-avx2``.

    With other kernels of BLAS than its own (``OPENBLAS_CORETYPE``) it is another machine:
    ``intel-avx512-haswell-kernels``.
    """
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    maker = next((name for name in ("Intel", "AMD") if name in text), platform.machine())
    flags = set(text.split())
    vectors = next((v for flag, v in VECTORS.items() if flag in flags), "")
    name = f"{maker}-{vectors}".strip("-").lower()
    kernels = blas_kernels()
    forced = "OPENBLAS_CORETYPE" in os.environ and kernels not in OWN_KERNELS.get(vectors, ())
    return f"{name}-{kernels.lower()}-kernels" if forced and kernels else name


def blas_kernels() -> str:
    """Return the kernels that numpy's BLAS uses, as far as it tells."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    pools.sort(key=lambda pool: "numpy" not in pool["filepath"])
    return str(pools[0].get("architecture") or "") if pools else ""


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return versions of those packages that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = version(DISTRIBUTIONS.get(package, package))
        except PackageNotFoundError:
            continue
    return found


def processor() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def cores() -> int | None:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def system() -> str:
    """Return the operating system and the kind of machine."""
    return f"{platform.system()} {platform.machine()}"


def commit(*paths: str, digits: int | None = None) -> str | None:
    """Return the commit of this repository, and say so when ``paths`` differ from it.

    None where there is no commit to tell.
    """

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    short = "--short" if digits is None else f"--short={digits}"
    try:
        changed = git("status", "--porcelain", "--", *paths)
        return git("rev-parse", short, "HEAD") + (" with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


class OtherWork:
    """Share of the processor that other processes use, from here until :meth:`share`.

    With other work running, products that BLAS splits over all cores wait for the slowest part,
    and ratios to them mean nothing.
    """

    def __init__(self) -> None:
        self._busy, self._own, self._start = self._read()

    def share(self) -> float | None:
        """Return the share of all cores, or None where the system does not tell."""
        busy, own, now = self._read()
        if busy is None or self._busy is None or now == self._start:
            return None
        capacity = (now - self._start) * (os.cpu_count() or 1)
        return max(0.0, (busy - self._busy - (own - self._own)) / capacity)

    @staticmethod
    def _read() -> tuple[float | None, float, float]:
        times = os.times()
        own = times.user + times.system + times.children_user + times.children_system
        try:
            fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
        except OSError:
            return None, own, time.monotonic()
        ticks = [int(field) for field in fields]
        busy = (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")  # less idle, iowait
        return busy, own, time.monotonic()


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (ValueError, OSError, AttributeError):
        return None


def _blas() -> list[str]:
    """Name, version, kernels and threads of each BLAS, and of which package it is."""
    found = []
    for pool in threadpool_info():
        if pool["user_api"] != "blas":
            continue
        package = Path(pool["filepath"]).parent.name.removesuffix(".libs")
        owner = package if package in ("numpy", "scipy") else "system"
        kernels = f" {pool['architecture']}" if pool.get("architecture") else ""
        found.append(
            f"{owner}: {pool['internal_api']} {pool['version']}{kernels}, "
            f"{pool['num_threads']} threads"
        )
    return found
