"""How many threads a pass over the rows may use, and BLAS kept to one thread meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Task = TypeVar("Task")
Result = TypeVar("Result")


@cache
def _controller() -> ThreadpoolController:
    """Find the BLAS libraries once: the search costs milliseconds."""
    return ThreadpoolController()


def effective_n_threads(n_jobs: int | None) -> int:
    """Resolve ``n_jobs`` to a number of threads.

    ``None`` means as many threads as BLAS itself would use at this moment, so that an outer
    ``threadpool_limits`` or a joblib worker is respected. Negative numbers count back from the
    number of available cores, as in joblib.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cores = cores or 1
    if n_jobs is None:
        pools = [pool["num_threads"] for pool in _controller().select(user_api="blas").info()]
        return max(1, min([cores, *pools]))
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning; use None, a positive number, or -1 for all.")
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def one_blas_thread() -> AbstractContextManager[None]:
    """Keep BLAS to one thread, in the whole process, until the block is left."""
    limit: AbstractContextManager[None] = _controller().limit(limits=1, user_api="blas")
    return limit


def ordered_map(
    function: Callable[[Task], Result], tasks: Sequence[Task], n_threads: int
) -> Iterator[Result]:
    """Apply ``function`` in a pool, yielding results in the order of the tasks.

    The fixed order is what makes a sum of the results independent of the number of threads.
    Each worker calls BLAS with one thread: many small products in parallel beat one product that
    BLAS itself splits (see ``benchmarks/``).
    """
    with one_blas_thread():
        if n_threads == 1 or len(tasks) == 1:
            yield from map(function, tasks)
            return
        with ThreadPoolExecutor(n_threads) as pool:
            yield from pool.map(function, tasks)
