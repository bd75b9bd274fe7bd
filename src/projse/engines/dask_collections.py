"""Dask arrays and data frames as they come: what they hold, and how they are cut.

Dask is imported when a collection comes in, never before.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp

from projse.exceptions import RechunkWarning
from projse.sources.covariates import encode_covariates
from projse.sources.rows import is_dask
from projse.sources.table.read import level_key
from projse.warn import warn_caller

# By type: the attributes of a frame may be its columns.


def is_frame(value: Any) -> bool:
    """Whether this is a Dask data frame, or a series."""
    return hasattr(type(value), "to_dask_array")


def _is_array(value: Any) -> bool:
    return is_dask(value) and hasattr(type(value), "rechunk")


def _has_columns(value: Any) -> bool:
    return hasattr(type(value), "columns") and value.ndim == 2


def as_array(value: Any) -> Any:
    """Make an array of a list; leave all that has a shape, and numbers, as they are."""
    return (
        value if value is None or np.isscalar(value) or hasattr(value, "ndim") else np.array(value)
    )


def describe(value: Any, label: str) -> tuple[int, tuple[Any, ...] | None, tuple[str, ...] | None]:
    """Return the number of columns, the columns of a frame, and their names where all are text."""
    if is_dask(value) and not is_frame(value) and not _is_array(value):
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


def is_float(value: Any) -> bool:
    """Whether a collection of one column holds floats, which are never class labels by default."""
    dtype = value.dtypes.iloc[0] if _has_columns(value) else getattr(value, "dtype", None)
    return getattr(dtype, "kind", "") == "f"


def to_array(value: Any, *, lengths: bool | None = None) -> Any:
    """Make an array of a data frame or series, in which categories still are categories."""
    meta = categories_as_text(value._meta)
    if meta is not value._meta:
        value = value.map_partitions(categories_as_text, meta=meta)
    return value.to_dask_array(lengths=lengths)


def categories_as_text(part: Any) -> Any:
    """Name the levels of categories in a frame or series of pandas: an array has no such dtype.

    Codes that are categories would be numbers there.
    """
    if not hasattr(part, "iloc"):
        return part
    if part.ndim == 1:
        return _named_levels(part) if hasattr(part, "cat") else part
    coded = [j for j in range(part.shape[1]) if hasattr(part.iloc[:, j], "cat")]
    if not coded:
        return part
    part = part.copy()
    for j in coded:
        part.isetitem(j, _named_levels(part.iloc[:, j]))
    return part


def _named_levels(column: Any) -> Any:
    return column.astype(object).map(level_key, na_action="ignore").astype(object)


def row_chunks(value: Any) -> tuple[float, ...]:
    """Rows of each partition; NaN where Dask does not know."""
    if is_frame(value):
        return (np.nan,) * value.npartitions
    return tuple(value.chunks[0])


def fits(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether nothing that is known says that the partitions differ in length."""
    return len(a) == len(b) and all(
        m == n or np.isnan(m) or np.isnan(n) for m, n in zip(a, b, strict=True)
    )


def one_block_wide(value: Any, label: str) -> Any:
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


def named_covariates(covariates: Any) -> tuple[Any, tuple[str, ...]]:
    """Return covariates, and the names of their columns.

    Labels are encoded where they lie: moments of partitions with different levels add up.
    """
    if not is_dask(covariates):
        encoded = encode_covariates(covariates, len(covariates))
        return encoded.values, encoded.names
    n, columns, _ = describe(covariates, "covariates")
    if not is_frame(covariates):
        names = tuple(f"covariate{j}" for j in range(n)) if covariates.ndim == 2 else ("covariate",)
        return covariates, names
    frame = covariates if columns is not None else covariates.to_frame(name=covariates.name)
    names = tuple(str(name) for name in frame.columns)
    return frame if names == tuple(frame.columns) else frame.rename(columns=str), names


def cut_like_x(X: Any, Y: Any, weight: Any, covariates: Any = None) -> list[Any]:
    """Cut what goes with the candidates into the blocks of rows that these have."""
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

    others = ((Y, "y"), (weight, "sample_weight"), (covariates, "covariates"))
    return [X, *(like_x(value, label) for value, label in others)]


def _with_lengths(value: Any) -> Any:
    """Return an array whose blocks are of known length, which may take a pass to find out."""
    import dask.array as da

    if is_frame(value):
        return to_array(value, lengths=True)
    if not is_dask(value):
        value = categories_as_text(value)
        value = value if sp.issparse(value) else np.asarray(value)
        return da.from_array(value, chunks=value.shape, asarray=False)
    if any(np.isnan(n) for n in value.chunks[0]):
        return copy(value).compute_chunk_sizes()
    return value


def _sizes(chunks: Sequence[int]) -> str:
    shown = ", ".join(str(n) for n in chunks[:4])
    return f"{len(chunks)}: {shown}{', …' if len(chunks) > 4 else ''}"


def select_columns(X: Any, support: Any, names: tuple[str, ...] | None) -> Any:
    """Take the supported columns of a Dask array or data frame, lazily."""
    n, columns, given = describe(X, "X")
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


def holds_more_than_numbers(value: Any) -> bool:
    """Whether a collection has columns of another type than numbers, booleans and class labels."""
    if _has_columns(value):
        return any(getattr(dtype, "kind", "O") not in "biuf" for dtype in value.dtypes)
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return kind == "M" or (kind in tuple("OUS") and value.ndim == 2)


def holds_dates(value: Any) -> bool:
    """Whether a data frame has columns of dates."""
    return _has_columns(value) and any(getattr(d, "kind", "") == "M" for d in value.dtypes)


def first_rows(collections: Sequence[Any], n: int) -> tuple[Any, ...]:
    """Compute the first n rows of matching collections, a partition after the other."""
    import dask

    pieces: list[tuple[Any, ...]] = []
    left = n
    for i in range(len(row_chunks(collections[0]))):
        lazy = [_partition(value, i, left) for value in collections]
        pieces.append(dask.compute(*lazy))
        left -= pieces[-1][0].shape[0]
        if left <= 0:
            break
    return tuple(_joined(parts) for parts in zip(*pieces, strict=True))


def _partition(value: Any, i: int, n: int) -> Any:
    """Return the first rows of a partition, lazily."""
    if is_frame(value):
        return value.partitions[i].map_partitions(_first, n, meta=value._meta)
    if _is_array(value):
        # Dask slices no blocks whose lengths it does not know.
        block = value.blocks[i]
        return block.map_blocks(_first, n, dtype=value.dtype, meta=value._meta)
    return value


def _first(part: Any, n: int) -> Any:
    return part.iloc[:n] if hasattr(part, "iloc") else part[:n]


def _joined(parts: Sequence[Any]) -> Any:
    if parts[0] is None or np.isscalar(parts[0]) or len(parts) == 1:
        return parts[0]
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts)
    return sp.vstack(parts) if sp.issparse(parts[0]) else np.concatenate(parts)
