"""How many threads a pass over the rows may use, and BLAS kept to one thread meanwhile."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import OpenBLASController, ThreadpoolController

LEAST_FOR_BLAS = 500_000
"""With fewer multiplications BLAS itself starts no threads, and need not be told: OpenBLAS takes a
second one from 2¹⁹ on."""

WORTH_WAKING = 100_000_000
"""From this many on, threads that may have to be woken save more than that takes."""

Task = TypeVar("Task")
Result = TypeVar("Result")

TASKS_AHEAD = 2
"""Tasks a thread that are begun before their results are asked for: results take memory."""


@cache
def _blas() -> ThreadpoolController:
    """Find the BLAS libraries once: the search costs milliseconds."""
    return ThreadpoolController().select(user_api="blas")


def effective_n_threads(n_jobs: int | None) -> int:
    """Resolve ``n_jobs`` to a number of threads.

    ``None`` means as many threads as BLAS itself would use at this moment, so that an outer
    ``threadpool_limits`` or a joblib worker is respected. Negative numbers count back from the
    number of available cores, as in joblib.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cores = cores or 1
    if n_jobs is None:
        pools = [pool["num_threads"] for pool in _blas().info()]
        return max(1, min([cores, *pools]))
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning; use None, a positive number, or -1 for all.")
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


class _SharedLimit:
    """BLAS at one thread while anybody needs it: the number of threads belongs to the process.

    If everybody restored what they found, the first one out would lift the limit of the others,
    and the last one out would restore the limit itself, for good.
    """

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._lock = Lock()
        self._n_holders = 0
        self._found: list[tuple[Any, int]] = []

    def enter(self) -> None:
        """Set the limit, where nobody has yet."""
        with self._lock:
            if not self._n_holders:
                self._found = [(lib, lib.num_threads) for lib in _shared_libraries()]
                _set_num_threads([(lib, 1) for lib, _ in self._found])
            self._n_holders += 1

    def leave(self) -> None:
        """Restore what was found, where nobody is left who needs the limit."""
        with self._lock:
            self._n_holders = max(self._n_holders - 1, 0)
            if not self._n_holders:
                self._restore()

    def forget(self) -> None:
        """Begin anew in a forked process, which has none of the threads that hold the limit."""
        self._restore()
        self._reset()

    def _restore(self) -> None:
        # Another number is somebody else's, set or restored meanwhile, and later than ours.
        _set_num_threads([(lib, found) for lib, found in self._found if lib.num_threads == 1])
        self._found = []


_limit = _SharedLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_limit.forget)


@cache
def _shared_libraries() -> list[Any]:
    """Find the BLAS libraries whose number of threads belongs to the whole process."""
    own = _own_libraries().lib_controllers
    return [lib for lib in _blas().lib_controllers if lib not in own]


@cache
def _own_libraries() -> ThreadpoolController:
    """Find the BLAS libraries on OpenMP, where every thread has a number of its own."""
    return _blas().select(threading_layer="openmp")


def _set_num_threads(numbers: list[tuple[Any, int]]) -> None:
    """Set the number of threads of libraries, whichever thread set it last."""
    # From some version on, threadpoolctl listens to one thread only and ignores all others.
    release = getattr(OpenBLASController, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)
    for lib, n in numbers:
        lib.set_num_threads(n)
    if release is not None:
        release(force=True)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread, in the whole process, until the last such block is left.

    Blocks may nest, and overlap in any order in several threads. A limit that somebody else sets
    in the meantime (``threadpool_limits``) is theirs, and stays.
    """
    _limit.enter()
    try:
        own = _own_libraries()
        with own.limit(limits=1, user_api="blas") if own.lib_controllers else nullcontext():
            yield
    finally:
        _limit.leave()


@contextmanager
def threads_worth(work: int) -> Iterator[None]:
    """Keep BLAS to one thread for so many multiplications, where others take longer to wake."""
    if LEAST_FOR_BLAS < work < WORTH_WAKING:
        with one_blas_thread():
            yield
    else:
        yield


def ordered_map(
    function: Callable[[Task], Result], tasks: Sequence[Task], n_threads: int
) -> Generator[Result, None, None]:
    """Apply ``function`` in a pool, yielding results in the order of the tasks.

    The fixed order is what makes a sum of the results independent of the number of threads.
    Each worker calls BLAS with one thread: many small products in parallel beat one product that
    BLAS itself splits (see ``benchmarks/``). Whoever may stop before the end must close the
    generator (``contextlib.closing``): a traceback would keep it, and the limit, alive.
    """
    with one_blas_thread():
        if n_threads == 1 or len(tasks) == 1:
            yield from map(function, tasks)
            return
        with ThreadPoolExecutor(n_threads) as pool:
            waiting: deque[Future[Result]] = deque()
            try:
                for task in tasks:
                    waiting.append(pool.submit(function, task))
                    if len(waiting) > TASKS_AHEAD * n_threads:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()
