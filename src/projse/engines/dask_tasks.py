"""Tasks that Dask runs: one a partition, a tree that adds them, and the search for one that fails.

Dask is imported when a collection comes in, never before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from projse.engines.dask_collections import is_frame, row_chunks
from projse.engines.reduction import FAN_IN, Layout, Part, Reduction, merge, reduce_partition
from projse.exceptions import PartitionError
from projse.sources.rows import is_dask
from projse.threads import one_blas_thread

PROBES = 32
"""How many partitions are tried at a time, when one of them failed and Dask does not say which."""

DATA_ERRORS = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What tasks before ours raise for rows they cannot handle, as opposed to a failing cluster."""


def leaves(given: list[Any], layout: Layout, reduction: Reduction[Any]) -> list[Any]:
    """Return the parts of candidates, references, weights and covariates, lazily: one graph."""
    make = _frame_leaves if is_frame(given[0]) else _array_leaves
    return make(given, layout, reduction)


def tree(leaves: list[Any], add: Callable[[Any, Any], Any]) -> list[Any]:
    """Return the sum of the leaves, lazily.

    Parts are added in the order of the partitions, ``FAN_IN`` at a time, so that the result does
    not depend on which worker is done first, and no worker holds more than that many.
    """
    import dask

    level = leaves
    merged = dask.delayed(merge, pure=False)
    while len(level) > 1:
        level = [merged(level[i : i + FAN_IN], add) for i in range(0, len(level), FAN_IN)]
    return level


def _frame_leaves(given: list[Any], layout: Layout, reduction: Reduction[Any]) -> list[Any]:
    """Reduce each partition of frames, in the task that reads it.

    Frames that come from the same files are read once: to Dask this is one expression.
    """
    import dask
    import dask.dataframe as dd
    import pandas as pd

    number = dask.delayed(_number, pure=False)
    parts = dd.map_partitions(
        _reduce_any_partition,
        *given,
        layout=layout,
        reduction=reduction,
        meta=pd.Series([], dtype=object),
        enforce_metadata=False,
        align_dataframes=False,
    )
    return [number(i, part) for i, part in enumerate(parts.to_delayed())]


def _array_leaves(given: list[Any], layout: Layout, reduction: Reduction[Any]) -> list[Any]:
    import dask

    collections = [value for value in given if is_dask(value)]
    optimised = iter(dask.optimize(*collections))  # together: what they share is made once
    n = len(row_chunks(given[0]))
    blocks = [
        np.ravel(next(optimised).to_delayed(optimize_graph=False)).tolist()
        if is_dask(value)
        else [value] * n
        for value in given
    ]
    shared = [dask.delayed(x, traverse=False, pure=False) for x in (layout, reduction)]
    leaf = dask.delayed(reduce_partition, traverse=False, pure=False)
    return [leaf(i, *block, *shared) for i, block in enumerate(zip(*blocks, strict=True))]


def _reduce_any_partition(
    X: Any, Y: Any, weight: Any, covariates: Any, layout: Layout, reduction: Reduction[Any]
) -> Part[Any]:
    return reduce_partition(0, X, Y, weight, covariates, layout, reduction)


def _number(partition: int, part: Part[Any]) -> Part[Any]:
    return replace(part, partition=partition)


def compute(roots: list[Any], leaves: list[Any]) -> list[Part[Any]]:
    """Compute the roots; where a task before ours fails, find the leaf it belongs to."""
    try:
        # Tasks that run as threads of this process would each set and restore the number of BLAS
        # threads, in any order.
        with one_blas_thread():
            return _run(roots)
    except DATA_ERRORS as error:
        found = _locate(leaves)
        raise (found or error) from None


def _run(roots: list[Any]) -> list[Any]:
    """Compute with the scheduler that the user has set, showing progress where they asked for it.

    ``dask.diagnostics.ProgressBar`` hears local schedulers only; for a cluster its own bar is
    shown in its place.
    """
    import dask
    from dask.base import get_scheduler

    client = getattr(get_scheduler(collections=roots), "__self__", None)
    if client is None or not hasattr(client, "scheduler_info") or not _wants_progress():
        return list(dask.compute(*roots, optimize_graph=False))
    from distributed import progress

    futures = client.compute(roots, optimize_graph=False)
    progress(futures, notebook=False)
    return list(client.gather(futures))


def _wants_progress() -> bool:
    from dask.callbacks import Callback
    from dask.diagnostics import ProgressBar

    return any(
        isinstance(getattr(function, "__self__", None), ProgressBar)
        for callback in Callback.active
        for function in callback
    )


def _locate(leaves: list[Any]) -> PartitionError | None:
    """Find the first partition whose rows a task before ours could not make."""
    import dask

    done = dask.delayed(_nothing, pure=False)
    for start in range(0, len(leaves), PROBES):
        batch = [done(leaf) for leaf in leaves[start : start + PROBES]]
        try:
            dask.compute(*batch, optimize_graph=False)
        except DATA_ERRORS:
            for i, probe in enumerate(batch, start=start):
                try:
                    probe.compute()  # without the tasks of other partitions, also in older Dask
                except DATA_ERRORS as error:
                    text = " ".join(str(error).split())
                    return PartitionError(
                        f"Partition {i} could not be made: {type(error).__name__}: {text}", i
                    )
    return None


def _nothing(_: Any) -> None:
    return None
