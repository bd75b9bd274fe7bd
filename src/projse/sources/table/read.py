"""Values of one column: numbers with NaN at gaps, codes of levels, microseconds of dates."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from projse.sources.arrow_columns import plain_gaps
from projse.sources.encode_targets import is_missing

Array = NDArray[Any]

NO_TIME = np.iinfo(np.int64).min
"""Microseconds of a date that is missing, as numpy has it."""


def numbers(column: Any) -> Array:
    """Return real numbers, NaN at gaps; float32 stays, durations are seconds."""
    if isinstance(column, np.ndarray):
        return _numbers_of_array(column)
    if column.dtype == nw.Object:
        return _numbers_of_array(np.asarray(column.to_list(), dtype=object))
    if column.dtype == nw.Duration:
        column = column.dt.total_microseconds().cast(nw.Float64) / 1e6
    elif not column.dtype.is_numeric() and column.dtype != nw.Boolean:
        if column.is_null().all():  # a column of gaps has any type
            return np.full(len(column), np.nan)
        raise TypeError(f"{column.dtype}")
    target = nw.Float32 if column.dtype == nw.Float32 else nw.Float64
    dtype = np.float32 if target is nw.Float32 else np.float64
    native = column.to_native()
    if hasattr(getattr(native, "dtype", None), "pyarrow_dtype"):  # pandas' columns of Arrow's types
        native = native.array.__arrow_array__()
    if hasattr(native, "type"):
        # Whole numbers beyond 2⁵³ are rounded here as by other libraries; Arrow would refuse them.
        return np.asarray(native.cast(str(np.dtype(dtype)), safe=False), dtype=dtype)
    return np.asarray(column.cast(target).to_numpy(), dtype=dtype)


def _numbers_of_array(column: Array) -> Array:
    if column.dtype.kind == "m":
        seconds = column / np.timedelta64(1, "s")
        return np.asarray(seconds, dtype=np.float64)
    if column.dtype.kind in "biuf":
        kept = column.dtype == np.float32
        return column if kept else column.astype(np.float64, copy=False)
    made = np.array([np.nan if is_missing(v) else _seconds(v) for v in column], dtype=np.float64)
    if made.ndim != 1:  # lists, all of one length
        raise TypeError(type(column[0]).__name__)
    return made


def _seconds(value: Any) -> Any:
    """Return the seconds of a duration; anything else as it is."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value / np.timedelta64(1, "s") if isinstance(value, np.timedelta64) else value


def levels(column: Any) -> tuple[Array, list[str]]:
    """Return the level of each row as a number, -1 at gaps, and the keys of the levels, sorted.

    Only levels that are there get a key. Keys are strings: whole numbers look alike whether they
    are stored as integers or, next to gaps, as floats.
    """
    codes, values = factorize(column)
    present = np.bincount(codes[codes >= 0], minlength=len(values)) > 0
    keys = [level_key(value) if here else "" for value, here in zip(values, present, strict=True)]
    ordered = sorted({key for key, here in zip(keys, present, strict=True) if here})
    place = {key: k for k, key in enumerate(ordered)}
    # The last entry is for gaps, whose code -1 it is.
    new = np.array([place.get(key, -1) for key in keys] + [-1], dtype=np.int32)
    return new[codes], ordered


def factorize(column: Any) -> tuple[Array, list[Any]]:
    """Return codes with -1 at gaps, and what they stand for (also values that do not occur)."""
    if isinstance(column, np.ndarray):
        return _factorize_array(column)
    native = column.to_native()
    if column.implementation.is_pyarrow():
        return _factorize_arrow(native)
    if column.implementation.is_pandas_like():
        if hasattr(native, "cat"):  # not so for dictionaries of Arrow
            return native.cat.codes.to_numpy().astype(np.int64), native.cat.categories.tolist()
        if is_arrow_dictionary(column):
            return _factorize_arrow(plain_gaps(native.array.__arrow_array__()))
        codes, values = native.factorize()
        return np.asarray(codes, dtype=np.int64), values.tolist()
    if column.dtype == nw.Object:  # of which Polars knows nothing
        return _factorize_array(np.fromiter(column.to_list(), dtype=object, count=len(column)))
    if column.dtype.is_float():
        column = column.fill_nan(None)
    elif column.dtype in (nw.Int128, nw.UInt128):
        column = column.cast(nw.String)  # Polars maps no whole numbers beyond 64 bits
    values = column.drop_nulls().unique().to_list()
    if not values:
        return np.full(len(column), -1), []
    codes = column.replace_strict(
        values, list(range(len(values))), default=-1, return_dtype=nw.Int64
    )
    return np.asarray(codes.to_numpy(), dtype=np.int64), values


def is_arrow_dictionary(column: Any) -> bool:
    """Tell whether a column of pandas is a dictionary of Arrow."""
    return column.implementation.is_pandas_like() and "dictionary" in str(column.to_native().dtype)


def _factorize_arrow(native: Any) -> tuple[Array, list[Any]]:
    # Chunks of a dictionary column may have dictionaries of their own.
    encoded = native.unify_dictionaries() if hasattr(native, "unify_dictionaries") else native
    try:
        encoded = encoded.dictionary_encode().combine_chunks()
    except NotImplementedError as error:  # lists, structs
        raise TypeError(f"{native.type}") from error
    if hasattr(encoded, "chunks"):  # no rows, or too many for one chunk
        encoded = encoded.chunk(0) if encoded.num_chunks else None
    if encoded is None:
        return np.empty(0, dtype=np.int64), []
    codes = encoded.indices.cast("int64").fill_null(-1)  # Polars has codes without a sign
    return codes.to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist()


def _factorize_array(column: Array) -> tuple[Array, list[Any]]:
    if column.dtype.kind in "biufU":
        gap = column != column
        values, codes = np.unique(column, return_inverse=True)
        return np.where(gap, -1, codes), values.tolist()
    places: dict[Any, int] = {}
    codes = np.array(
        [-1 if is_missing(v) else places.setdefault(v, len(places)) for v in column.tolist()],
        dtype=np.int64,
    )
    return codes, list(places)


def level_key(value: Any) -> str:
    """Return what a level of a category is called."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    return str(value)


def microseconds(column: Any) -> Array:
    """Return int64 microseconds since 1970 by the clock on the wall; ``NO_TIME`` at gaps."""
    if isinstance(column, np.ndarray) or column.dtype == nw.Object:
        values = column if isinstance(column, np.ndarray) else np.array(column.to_list(), object)
        if values.dtype.kind == "O":
            values = np.array([_without_zone(v) for v in values], dtype="datetime64[us]")
        return values.astype("datetime64[us]").astype(np.int64)
    gap = column.is_null().to_numpy()
    if column.dtype == nw.Date:
        column = column.cast(nw.Datetime("us"))
    elif column.dtype == nw.Datetime:
        column = column.dt.replace_time_zone(None)
    elif gap.all():
        return np.full(len(column), NO_TIME)
    else:
        raise TypeError(f"{column.dtype}")
    stamps = column.dt.timestamp("us")
    # Gaps would make floats of them; microseconds since 1970 are exact in float64 until 2255.
    times = stamps.fill_null(0).to_numpy() if gap.any() else stamps.to_numpy()
    return np.where(gap, NO_TIME, times.astype(np.int64))


def _without_zone(value: Any) -> Any:
    if is_missing(value):
        return None
    return value.replace(tzinfo=None) if getattr(value, "tzinfo", None) else value
