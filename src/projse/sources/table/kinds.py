"""What each column of a table is: a number, a category or a date."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from projse.parameters import column_indices
from projse.sources.encode_targets import is_missing
from projse.sources.table.frame import Frame, is_table

Array = NDArray[Any]

MISSING = ("refuse", "drop", "indicator", "mean")
"""What to do with gaps: see :class:`~projse.sources.table.encoder.TableEncoder`."""

CATEGORY_TYPES = (nw.String, nw.Categorical, nw.Enum, nw.Boolean)


def kinds_of(frame: Frame, categorical_features: Any = "from_dtype") -> tuple[str, ...]:
    """Tell which columns are a "number", a "category" or a "date".

    Parameters
    ----------
    frame : Frame
    categorical_features : "from_dtype", None, or array-like of str, int or bool
        Columns that are categories whatever they hold: names, indices, or a mask. Strings,
        booleans, categoricals and enums cannot be anything else, and are categories in any case.

    Returns
    -------
    tuple of str, one a column
    """
    declared = set(categorical_columns(categorical_features, frame).tolist())
    return tuple(_kind(frame, j, j in declared) for j in range(frame.shape[1]))


def categorical_columns(given: Any, frame: Frame) -> Array:
    """Return the indices of the columns that the user declared to be categories."""
    n = frame.shape[1]
    if given is None or (isinstance(given, str) and given == "from_dtype"):
        return np.empty(0, dtype=np.intp)
    if not isinstance(given, str) and hasattr(given, "__len__"):
        mask = np.asarray(given)
        if mask.dtype == bool:
            if mask.shape != (n,):
                raise ValueError(
                    f"categorical_features is a mask of {mask.size} columns, but {frame.label} has "
                    f"{n}; pass one a column, or names."
                )
            return np.flatnonzero(mask)
    return column_indices("categorical_features", given, n, frame.names)


def needs_encoding(frame: Frame, categorical_features: Any = "from_dtype") -> bool:
    """Whether a column is declared to be a category, or is no number (or boolean)."""
    if categorical_columns(categorical_features, frame).size:
        return True
    if isinstance(frame.data, np.ndarray):
        kind = frame.data.dtype.kind
        if kind == "m" or kind not in "OUSTM":
            return kind == "m"
        others = any(k != "number" for k in kinds_of(frame, None))
        return others or (kind == "O" and _holds_durations(frame.data.ravel()))
    plain = (nw.Boolean,)
    types = list(frame.data.schema.values())
    # Numbers, but not to those who make an array of a whole frame.
    if any(isinstance(t, nw.Duration | nw.Decimal | nw.Int128 | nw.UInt128) for t in types):
        return True
    objects = (frame.column(j) for j, t in enumerate(types) if isinstance(t, nw.Object))
    if any(_holds_durations(np.asarray(column, dtype=object)) for column in objects):
        return True
    if not frame.data.implementation.is_pandas_like():
        # Arrow's and Polars' columns of nothing but gaps, and booleans with gaps, become objects.
        booleans = (frame.column(j) for j, t in enumerate(types) if isinstance(t, nw.Boolean))
        if nw.Unknown() in types or any(column.null_count() for column in booleans):
            return True
    return any(not (t.is_numeric() or isinstance(t, plain)) for t in types) and any(
        kind != "number" and not isinstance(t, plain)
        for kind, t in zip(kinds_of(frame, None), types, strict=True)
    )


def holds_more_than_numbers(X: Any) -> bool:
    """Whether something is a table with columns that are no numbers."""
    return is_table(X) and needs_encoding(Frame.of(X), None)


def mixes(y: Any) -> bool:
    """Whether references are several columns, not all of them numbers, or a column of dates."""
    one = len(getattr(y, "shape", ())) == 1 and hasattr(y, "dtype")
    if y is None or not (is_table(y) or (one and "date" in str(y.dtype).lower())):
        return False
    frame = Frame.of(y, "y")
    if frame.shape[1] > 1:
        return needs_encoding(frame)
    return frame.shape[1] == 1 and _is_date(frame.column(0))


def _is_date(column: Any) -> bool:
    if isinstance(column, np.ndarray):
        return column.dtype.kind == "M"
    return column.dtype in (nw.Date, nw.Datetime)


def _kind(frame: Frame, j: int, declared: bool) -> str:
    column = frame.column(j)
    kind = _kind_of_array(column) if isinstance(column, np.ndarray) else _kind_of_series(column)
    if kind == "object":
        kind = _kind_of_objects(np.asarray(column, dtype=object), frame, j)
    if kind == "other":
        native: Any = column if isinstance(column, np.ndarray) else column.to_native()
        dtype = native.dtype if hasattr(native, "dtype") else native.type  # as Arrow calls it
        if str(dtype).startswith("complex"):
            raise ValueError(
                f"Complex data not supported: column {frame.title(j)} of {frame.label} holds "
                f"{dtype}; pass real and imaginary parts."
            )
        raise ValueError(
            f"Column {frame.title(j)} of {frame.label} holds {dtype}, which is no number, category "
            "or date; make numbers or strings of it, or leave it out."
        )
    return "category" if declared else kind


def _kind_of_array(column: Array) -> str:
    if column.dtype.kind == "M":
        return "date"
    if column.dtype.kind in "iufm":
        return "number"
    if column.dtype.kind in "bUT":
        return "category"
    return "object" if column.dtype.kind == "O" else "other"


def _kind_of_series(series: Any) -> str:
    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Duration:
        return "number"
    if dtype in CATEGORY_TYPES:
        return "category"
    if dtype in (nw.Date, nw.Datetime):
        return "date"
    if dtype == nw.Object:
        return "object"
    native = series.to_native()
    subtype = getattr(getattr(native, "dtype", None), "subtype", None)  # of pandas' sparse columns
    if isinstance(subtype, np.dtype) and subtype.kind in "biuf":
        return "number"
    # Arrow and Polars have a type of columns that hold nothing but gaps.
    own = getattr(native, "type", getattr(native, "dtype", None))
    return "number" if str(own).lower() == "null" else "other"


def _kind_of_objects(values: Array, frame: Frame, j: int) -> str:
    """Tell what Python objects are; refuse a column of several kinds of them."""
    examples: dict[str, Any] = {}
    seen: set[type] = set()
    for value in values:
        if type(value) not in seen and not is_missing(value):
            seen.add(type(value))
            examples.setdefault(_kind_of_object(value), value)
    if "other" in examples:
        example = examples["other"]
        raise TypeError(
            f"Column {frame.title(j)} of {frame.label} holds {example!r:.60} "
            f"({type(example).__name__}): argument must be a string, a date or a number; make such "
            "values of it, or leave it out."
        )
    if len(examples) > 1:
        (_, first), (_, second) = list(examples.items())[:2]
        raise ValueError(
            f"Column {frame.title(j)} of {frame.label} mixes types: {first!r} "
            f"({type(first).__name__}) and {second!r} ({type(second).__name__}); make all of its "
            "values strings, or all of them numbers."
        )
    # Nothing but gaps: a number that is never there.
    kind = next(iter(examples), "number")
    return "category" if kind == "boolean" else kind


def _holds_durations(values: Array) -> bool:
    return any(isinstance(value, timedelta | np.timedelta64) for value in values)


def _kind_of_object(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, str):
        return "category"
    if isinstance(value, date | np.datetime64):
        return "date"
    if isinstance(value, Real | Decimal | timedelta | np.timedelta64):
        return "number"
    return "other"


def listed(names: Sequence[str], most: int = 8) -> str:
    """Join names for a message."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
