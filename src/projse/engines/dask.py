"""Dask arrays and data frames: one task a block, a tree of sums, and nothing but moments travels.

Dask is imported when a collection comes in, never before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from projse.exceptions import PartitionError, RechunkWarning
from projse.moments.partitions import FAN_IN, PartitionPass, PartSum, finish, merge, sum_partition
from projse.moments.sums import Moments, align_classes, keeps_products
from projse.sources.rows import is_dask
from projse.threads import one_blas_thread
from projse.warn import warn_caller

PROBES = 32
"""How many partitions are tried at a time, when one of them failed and Dask does not say which."""

DATA_ERRORS = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What tasks before ours raise for rows they cannot handle, as opposed to a failing cluster."""


def dask_moments(
    X: Any,
    Y: Any = None,
    sample_weight: Any = None,
    *,
    with_xx: bool | str = "auto",
    target_type: str = "auto",
    n_jobs: int | None = None,
    batch_size: int | None = None,
) -> Moments:
    """Sum over the rows of Dask collections; the arguments are those of Moments.from_arrays."""
    rows = DaskRows.of(X, Y, sample_weight)
    return rows.moments(
        with_xx=keeps_products(with_xx, rows.n_x, rows.one_view),
        target_type=target_type,
        n_jobs=n_jobs,
        batch_size=batch_size,
    )


def partition_moments(
    X: Any,
    Y: Any = None,
    sample_weight: Any = None,
    *,
    with_xx: bool | str = "auto",
    target_type: str = "auto",
    n_jobs: int | None = None,
    batch_size: int | None = None,
) -> list[Moments]:
    """Sum each partition of Dask collections by itself; those without rows are left out."""
    rows = DaskRows.of(X, Y, sample_weight)
    return rows.partition_moments(
        with_xx=keeps_products(with_xx, rows.n_x, rows.one_view),
        target_type=target_type,
        n_jobs=n_jobs,
        batch_size=batch_size,
    )


@dataclass
class DaskRows:
    """Matching collections of candidates, references (None: one view) and weights.

    All have as many partitions; whether these are of the same length, where Dask does not know
    it, is seen in the pass. Names and widths are kept apart, as cutting frames anew loses them.
    """

    X: Any
    Y: Any
    weight: Any
    settings: PartitionPass

    @classmethod
    def of(cls, X: Any, Y: Any, sample_weight: Any) -> DaskRows:
        """Check collections without computing anything but, where it is needed, their lengths."""
        if not is_dask(X):
            raise TypeError(
                "y or sample_weight is a Dask collection, but X is not; pass a Dask X, or compute "
                "them first."
            )
        Y, sample_weight = _as_array(Y), _as_array(sample_weight)
        n_x, columns, feature_names = _describe(X, "X")
        if X.ndim != 2:
            raise ValueError(
                f"X must be two-dimensional; it has {X.ndim} dimensions. Reshape your data."
            )
        settings = PartitionPass(n_x=n_x, columns=columns, feature_names=feature_names)
        if Y is not None:
            n_y, target_columns, target_names = _describe(Y, "y")
            settings = replace(
                settings, n_y=n_y, target_columns=target_columns, target_names=target_names
            )
        if sample_weight is not None and not np.isscalar(sample_weight):
            width, _, names = _describe(sample_weight, "sample_weight")
            if width != 1 or sample_weight.ndim != 1:
                raise ValueError("Sample weights must be 1D; pass one weight a row.")
            settings = replace(settings, weight_name=names[0] if names else None)
        rows = cls(_one_block_wide(X, "X"), _one_block_wide(Y, "y"), sample_weight, settings)
        return rows._cut_alike()

    @property
    def n_x(self) -> int:
        """Number of candidates."""
        assert self.settings.n_x is not None
        return self.settings.n_x

    @property
    def n_y(self) -> int | None:
        """Number of reference columns; None for what may be class labels."""
        n_y = self.settings.n_y
        return None if n_y is None or (n_y == 1 and not _is_float(self.Y)) else n_y

    @property
    def one_view(self) -> bool:
        """Whether the references are the candidates themselves."""
        return self.Y is None

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the candidates."""
        return self.settings.feature_names

    def moments(
        self, *, with_xx: bool, target_type: str, n_jobs: int | None, batch_size: int | None
    ) -> Moments:
        """Make a pass over the rows."""
        settings = self._settings(with_xx, target_type, n_jobs, batch_size)
        (total,) = self._pass(settings, _tree)
        return finish(total, settings)

    def partition_moments(
        self, *, with_xx: bool, target_type: str, n_jobs: int | None, batch_size: int | None
    ) -> list[Moments]:
        """Make a pass over the rows, and keep the partitions apart."""
        settings = self._settings(with_xx, target_type, n_jobs, batch_size)
        parts = self._pass(settings, list)
        total = merge(parts)
        finish(total, settings)  # what is wrong with any of them is raised here
        out = []
        for part in parts:
            if part.moments is None:
                continue
            if part.moments.classes is not None:
                assert total.moments is not None
                part = replace(part, moments=align_classes(part.moments, total.moments)[0])
            out.append(finish(part, settings))
        return out

    def _settings(
        self, with_xx: bool, target_type: str, n_jobs: int | None, batch_size: int | None
    ) -> PartitionPass:
        return replace(
            self.settings,
            with_xx=with_xx,
            target_type=target_type,
            # Workers run a task a core; threads within a task would fight over the cores.
            n_jobs=1 if n_jobs is None else n_jobs,
            batch_size=batch_size,
        )

    def _pass(
        self, settings: PartitionPass, combine: Callable[[list[Any]], list[Any]]
    ) -> list[PartSum]:
        """Sum the partitions and combine the sums, as ``combine`` does lazily."""
        leaves = _leaves(self, settings)
        parts = _compute(combine(leaves), leaves)
        if any(part.misaligned for part in parts):
            self.X, self.Y, self.weight = _cut(self.X, self.Y, self.weight)
            leaves = _leaves(self, settings)
            parts = _compute(combine(leaves), leaves)
        return parts

    def _cut_alike(self) -> DaskRows:
        others = [c for c in (self.Y, self.weight) if c is not None and not np.isscalar(c)]
        if not all(_is_frame(c) for c in (self.X, *others)):
            # As arrays now: Dask may join the partitions of frames that it reads.
            self.X, self.Y, self.weight = (
                c.to_dask_array() if _is_frame(c) else c for c in (self.X, self.Y, self.weight)
            )
            others = [c for c in (self.Y, self.weight) if c is not None and not np.isscalar(c)]
        if not all(is_dask(c) and _fits(_row_chunks(self.X), _row_chunks(c)) for c in others):
            self.X, self.Y, self.weight = _cut(self.X, self.Y, self.weight)
        return self


def select_columns(X: Any, support: Any, names: tuple[str, ...] | None) -> Any:
    """Take the supported columns of a Dask array or data frame, lazily."""
    n, columns, given = _describe(X, "X")
    if X.ndim != 2 or n != len(support):
        raise ValueError(f"X has {n} features, but the selector was fitted to {len(support)}.")
    if names is not None and given is not None and names != given:
        parted = next(pair for pair in zip(names, given, strict=True) if pair[0] != pair[1])
        raise ValueError(
            f"The feature names should match those that were passed during fit: {parted[0]!r} is "
            f"now {parted[1]!r}."
        )
    kept = np.flatnonzero(support)
    if columns is None:
        return X[:, kept]
    return X[[columns[j] for j in kept]]


# By type: the attributes of a frame may be its columns.


def _is_frame(value: Any) -> bool:
    return hasattr(type(value), "to_dask_array")


def _is_array(value: Any) -> bool:
    return is_dask(value) and hasattr(type(value), "rechunk")


def _has_columns(value: Any) -> bool:
    return hasattr(type(value), "columns") and value.ndim == 2


def _as_array(value: Any) -> Any:
    """Make an array of a list; leave all that has a shape, and numbers, as they are."""
    return (
        value if value is None or np.isscalar(value) or hasattr(value, "ndim") else np.array(value)
    )


def _describe(value: Any, label: str) -> tuple[int, tuple[Any, ...] | None, tuple[str, ...] | None]:
    """Return the number of columns, the columns of a frame, and their names where all are text."""
    if is_dask(value) and not _is_frame(value) and not _is_array(value):
        raise TypeError(
            f"{label} is a Dask {type(value).__name__}; pass a Dask array or data frame."
        )
    if not _has_columns(value):
        # The name of a Dask array is that of its tasks.
        name = None if _is_array(value) else getattr(value, "name", None)
        names = (name,) if isinstance(name, str) else None
        if value.ndim not in (1, 2):
            raise ValueError(
                f"{label} must be one- or two-dimensional; it has {value.ndim} dimensions."
            )
        width = value.shape[1] if value.ndim == 2 else 1
        if width != width:
            raise ValueError(
                f"{label} has an unknown number of columns; call its compute_chunk_sizes() first."
            )
        if width == 0:
            raise ValueError(f"{label} has 0 columns; pass at least one.")
        return int(width), None, names
    columns = tuple(value.columns)
    if not columns:
        raise ValueError(f"{label} has 0 columns; pass at least one.")
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise ValueError(f"{label} has two columns called {twice!r}; rename one of them.")
    names = columns if all(isinstance(name, str) for name in columns) else None
    return len(columns), columns, names


def _is_float(value: Any) -> bool:
    """Whether a collection of one column holds floats, which are never class labels by default."""
    dtype = value.dtypes.iloc[0] if _has_columns(value) else getattr(value, "dtype", None)
    return getattr(dtype, "kind", "") == "f"


def _row_chunks(value: Any) -> tuple[float, ...]:
    """Rows of each partition; NaN where Dask does not know."""
    if _is_frame(value):
        return (np.nan,) * value.npartitions
    return tuple(value.chunks[0])


def _fits(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether nothing that is known says that the partitions differ in length."""
    return len(a) == len(b) and all(
        m == n or np.isnan(m) or np.isnan(n) for m, n in zip(a, b, strict=True)
    )


def _one_block_wide(value: Any, label: str) -> Any:
    """Make each block hold all columns of its rows."""
    if not _is_array(value) or value.ndim == 1 or value.numblocks[1] == 1:
        return value
    warn_caller(
        f"{label} is cut into {value.numblocks[1]} blocks of columns; they are put together, which "
        "moves rows between workers. Rechunk it to one block of columns: "
        f"{label}.rechunk({{1: -1}}).",
        RechunkWarning,
    )
    return value.rechunk({1: -1})


def _cut(X: Any, Y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Cut references and weights into the blocks of rows that the candidates have."""
    X = _with_lengths(X)
    rows = tuple(n for n in X.chunks[0] if n)
    X = X if len(rows) in (0, len(X.chunks[0])) else X.rechunk({0: rows})

    def like_x(value: Any, label: str) -> Any:
        if value is None or np.isscalar(value):
            return value
        distributed = is_dask(value)
        value = _with_lengths(value)
        if value.shape[0] != X.shape[0]:
            raise ValueError(
                f"X and {label} have different numbers of rows: {X.shape[0]} and "
                f"{value.shape[0]} (inconsistent numbers of samples)."
            )
        if tuple(n for n in value.chunks[0] if n) == rows:
            return value.rechunk({0: rows}) if rows else value
        if distributed:
            warn_caller(
                f"X and {label} are cut into different blocks of rows ({_sizes(X.chunks[0])} and "
                f"{_sizes(value.chunks[0])}); {label} is cut anew to match, which moves rows "
                "between workers. Give them the same blocks.",
                RechunkWarning,
            )
        return value.rechunk({0: rows})

    return X, like_x(Y, "y"), like_x(weight, "sample_weight")


def _with_lengths(value: Any) -> Any:
    """Return an array whose blocks are of known length, which may take a pass to find out."""
    import dask.array as da

    if _is_frame(value):
        return value.to_dask_array(lengths=True)
    if not is_dask(value):
        value = value if sp.issparse(value) else np.asarray(value)
        return da.from_array(value, chunks=value.shape, asarray=False)
    if any(np.isnan(n) for n in value.chunks[0]):
        return copy(value).compute_chunk_sizes()
    return value


def _sizes(chunks: Sequence[int]) -> str:
    shown = ", ".join(str(n) for n in chunks[:4])
    return f"{len(chunks)}: {shown}{', …' if len(chunks) > 4 else ''}"


def _leaves(rows: DaskRows, settings: PartitionPass) -> list[Any]:
    """Return the sums of the partitions, lazily: one graph, optimised once."""
    given = [rows.X, rows.Y, rows.weight]
    make = _frame_leaves if _is_frame(rows.X) else _array_leaves
    return make(given, settings)


def _tree(leaves: list[Any]) -> list[Any]:
    """Return the sum of the leaves, lazily.

    Parts are added in the order of the partitions, ``FAN_IN`` at a time, so that the result does
    not depend on which worker is done first, and no worker holds more than that many.
    """
    import dask

    level = leaves
    add = dask.delayed(merge, pure=False)
    while len(level) > 1:
        level = [add(level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
    return level


def _frame_leaves(given: list[Any], settings: PartitionPass) -> list[Any]:
    """Sum each partition of frames, in the task that reads it.

    Frames that come from the same files are read once: to Dask this is one expression.
    """
    import dask
    import dask.dataframe as dd
    import pandas as pd

    number = dask.delayed(_number, pure=False)
    sums = dd.map_partitions(
        _sum_any_partition,
        *given,
        settings=settings,
        meta=pd.Series([], dtype=object),
        enforce_metadata=False,
        align_dataframes=False,
    )
    return [number(i, part) for i, part in enumerate(sums.to_delayed())]


def _array_leaves(given: list[Any], settings: PartitionPass) -> list[Any]:
    import dask

    collections = [value for value in given if is_dask(value)]
    optimised = iter(dask.optimize(*collections))  # together: what they share is made once
    n = len(_row_chunks(given[0]))
    blocks = [
        np.ravel(next(optimised).to_delayed(optimize_graph=False)).tolist()
        if is_dask(value)
        else [value] * n
        for value in given
    ]
    shared = dask.delayed(settings, traverse=False, pure=False)
    leaf = dask.delayed(sum_partition, traverse=False, pure=False)
    return [leaf(i, *block, shared) for i, block in enumerate(zip(*blocks, strict=True))]


def _sum_any_partition(X: Any, Y: Any, weight: Any, settings: PartitionPass) -> PartSum:
    return sum_partition(0, X, Y, weight, settings)


def _number(partition: int, part: PartSum) -> PartSum:
    return replace(part, partition=partition)


def _compute(roots: list[Any], leaves: list[Any]) -> list[PartSum]:
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
                    probe.compute(optimize_graph=False)
                except DATA_ERRORS as error:
                    text = " ".join(str(error).split())
                    return PartitionError(
                        f"Partition {i} could not be made: {type(error).__name__}: {text}", i
                    )
    return None


def _nothing(_: Any) -> None:
    return None
