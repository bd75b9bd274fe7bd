"""Side-by-side measurement: interleaved times, their ratios, and peak memory.

Absolute times say more about the machine and its mood than about the code. Contestants therefore
run in turns (A B A B …) in one process, and what counts is the ratio within each round.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

Result = TypeVar("Result")

MIB = 2**20
GIB = 2**30


@dataclass(frozen=True)
class Ratio:
    """Median of paired ratios with the smallest and the largest, and the ratio of best times."""

    median: float
    low: float
    high: float
    of_best: float
    n_pairs: int

    @classmethod
    def of(cls, numerator: Sequence[float], denominator: Sequence[float]) -> Ratio:
        """Pair times round by round; a contestant that ran once is paired with every round."""
        if len(numerator) != len(denominator) and 1 not in (len(numerator), len(denominator)):
            raise ValueError(f"{len(numerator)} times do not pair with {len(denominator)}.")
        ratios = np.asarray(numerator, float) / np.asarray(denominator, float)
        return cls(
            median=float(np.median(ratios)),
            low=float(ratios.min()),
            high=float(ratios.max()),
            of_best=min(numerator) / min(denominator),
            n_pairs=len(ratios),
        )


@dataclass
class Comparison:
    """Seconds of every run by contestant, and the extra memory and result of the warm-up."""

    times: dict[str, list[float]] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)

    def ratio(self, numerator: str, denominator: str) -> Ratio:
        """Return the time of one contestant over that of another."""
        return Ratio.of(self.times[numerator], self.times[denominator])

    def medians(self, *names: str) -> dict[str, float]:
        """Return median seconds of the named contestants, or of all."""
        return {name: float(np.median(self.times[name])) for name in names or self.times}

    def __add__(self, other: Comparison) -> Comparison:
        """Join contestants that were measured apart."""
        return Comparison(
            self.times | other.times,
            self.memory | other.memory,
            self.results | other.results,
        )


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds a call takes, and its result."""
    gc.collect()
    rest()
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def rest(longest: float = 1.0) -> None:
    """Wait until no thread of this process runs any more.

    Threads of OpenBLAS spin for some 100 ms after a product before they sleep; whoever is timed
    next would pay for it with a core.
    """
    deadline = time.perf_counter() + longest
    while time.perf_counter() < deadline:
        before = time.process_time()
        time.sleep(0.02)
        if time.process_time() - before < 0.002:
            return


def compare(contestants: Mapping[str, Callable[[], Any]], repeats: int) -> Comparison:
    """Run the contestants in turns, after a warm-up round in which memory is measured.

    Parameters
    ----------
    contestants : mapping of str to callable
    repeats : int
        Timed rounds after the warm-up.
    """
    comparison = Comparison(times={name: [] for name in contestants})
    for name, function in contestants.items():
        usage = peak_extra_memory(function)
        comparison.memory[name] = usage.extra
        comparison.results[name] = _small(usage.result)
        del usage
    for _ in range(repeats):
        for name, function in contestants.items():
            seconds, result = timed(function)
            comparison.times[name].append(seconds)
            del result
    return comparison


def run_once(name: str, function: Callable[[], Any]) -> Comparison:
    """Measure time and memory of what takes too long to be repeated."""
    usage = peak_extra_memory(function)
    return Comparison({name: [usage.seconds]}, {name: usage.extra}, {name: _small(usage.result)})


def isolated(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call in a new process, which sees no memory, threads or caches of another call."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *arguments).result()


def _small(result: Any) -> Any:
    """Keep a result only when keeping it costs no memory."""
    return result if getattr(result, "nbytes", 0) < MIB else None


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Slope of a straight line through log time over log size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def exponents(sizes: Sequence[float], times: Sequence[Sequence[float]]) -> list[float]:
    """Return an exponent a round; ``times`` holds for each size the seconds of its rounds."""
    return [exponent(sizes, one_round) for one_round in zip(*times, strict=True)]


@dataclass
class Usage:
    """Bytes above what was in use before the call, bytes in all, seconds, and the result."""

    extra: int
    total: int | None
    seconds: float
    result: Any


def peak_extra_memory(function: Callable[[], Any]) -> Usage:
    """Run a function; measure its peak memory beyond what the process held before.

    On Linux the kernel keeps the peak of the resident set (VmHWM), and this asks it to start
    anew. Worker processes that are alive at the end count in full. Elsewhere tracemalloc
    measures, which slows the call down and sees Python's and numpy's allocations only.
    """
    gc.collect()
    _return_free_memory()
    try:
        Path("/proc/self/clear_refs").write_text("5")
        before = _status_bytes("self", "VmRSS")
    except OSError:
        return _traced(function)
    seconds, result = timed(function)
    workers = sum(_status_bytes(pid, "VmHWM") for pid in _children())
    peak = _status_bytes("self", "VmHWM") + workers
    return Usage(max(0, peak - before), peak, seconds, result)


def _traced(function: Callable[[], Any]) -> Usage:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        seconds, result = timed(function)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return Usage(peak - before, None, seconds, result)


def _return_free_memory() -> None:
    """Have glibc hand freed memory back, so that reusing it counts as use."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _status_bytes(pid: str, key: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    return 0  # a process that has just ended has no memory


def _children() -> list[str]:
    pids = []
    for task in Path("/proc/self/task").iterdir():
        try:
            pids += (task / "children").read_text().split()
        except OSError:
            continue
    return [pid for pid in pids if Path(f"/proc/{pid}/status").exists()]
