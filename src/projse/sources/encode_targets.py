"""References from whatever users hold: labels, label sets, one output or many."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.exceptions import ManyClassesWarning, UnreliableSelectionWarning
from projse.sources.look_alikes import looks_like
from projse.sources.own_labels import warn_own_labels
from projse.warn import many, warn_caller

Array = NDArray[Any]

TARGET_TYPES = ("auto", "continuous", "class")

FEW_CLASSES = 20
"""Up to this many distinct whole numbers, "auto" takes them for class labels in any case."""

CLOSE = 1.5
"""Within this factor of the limit, a warning says what whole numbers were taken for."""

NO_LABEL = "(missing)"
"""Class of rows without a label, where labels are text and gaps are filled."""

SAMPLED_CLASSES = 500
"""About so many labels are looked at, whether they are what they seem."""


@dataclass
class Targets:
    """Reference columns: a dense or CSR matrix, and what its columns are called.

    ``classes`` is set when the columns are the indicators of one set of class labels; the set may
    then grow from batch to batch.
    """

    Y: Any
    names: tuple[str, ...] | None = None
    classes: Array | None = None


def encode_targets(
    y: Any,
    target_type: str = "auto",
    *,
    n_samples: int | None = None,
    counted: NDArray[np.bool_] | None = None,
    label: str = "y",
    all_rows: bool = True,
) -> Targets:
    """Turn ``y`` into reference columns.

    Strings, booleans and categoricals in one column are class labels, and become sparse indicators;
    whole numbers in one column are, where they have few distinct values (see :func:`are_classes`).
    Floats are continuous, even when they hold whole numbers. Two-dimensional numbers (multilabel
    indicators among them) are used as they are.

    Parameters
    ----------
    y : array-like or sparse matrix of shape (m,) or (m, n_y)
    target_type : {"auto", "continuous", "class"}
    n_samples : int or None
        Rows that y must have.
    counted : ndarray of bool of shape (m,) or None
        Rows of non-zero weight: labels of the others are not looked at.
    label : str
        What messages call y.
    all_rows : bool
        Whether these are all rows. A batch says little about them: its whole numbers become
        classes, and the sum of all batches tells whether that is what they are.
    """
    if target_type not in TARGET_TYPES:
        raise ValueError(f"target_type={target_type!r} is not one of {', '.join(TARGET_TYPES)}.")
    values = y if sp.issparse(y) else array_of(y, label)
    if values.ndim not in (1, 2):
        raise ValueError(
            f"{label} must be one- or two-dimensional; it has {values.ndim} dimensions."
        )
    if values.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: {label} is complex; pass real and imaginary parts."
        )
    if values.dtype.kind == "O":
        _refuse_nested(values, label)
    if values.ndim == 2 and values.shape[1] == 0:
        raise ValueError(f"{label} has 0 columns (shape={values.shape}); pass at least one.")
    if n_samples is not None and values.shape[0] != n_samples:
        raise ValueError(
            f"X and {label} have different numbers of rows: {n_samples} and {values.shape[0]} "
            "(inconsistent numbers of samples)."
        )
    if sp.issparse(values):
        if target_type == "class":
            raise ValueError(
                f"target_type='class' needs labels, but {label} is sparse; pass one label a row, "
                "or use target_type='continuous' for an indicator matrix."
            )
        return Targets(as_csr(values if values.ndim == 2 else values.reshape(-1, 1)))

    names = column_names(y)
    if values.dtype.kind == "T":
        values = values.astype(object)
    columns = values.reshape(len(values), -1)
    if columns.shape[1] == 1:
        column = columns[:, 0]
        present = column if counted is None else column[counted]
        if _are_labels(y, column, present, target_type, all_rows):
            classes, indicator = _one_hot(column, counted, label)
            told = False
            if not is_categorical(y):
                refuse_continuous(classes, label)
                told = target_type == "auto" and all_rows and warn_if_disguised(classes)
            if all_rows and not told and label == "y" and classes.dtype.kind == "U":
                warn_own_labels(len(classes), len(present))
            return Targets(indicator, tuple(str(c) for c in classes), classes)
    elif target_type == "class":
        encoded = [_one_hot(column, counted, label) for column in columns.T]
        for (found, _), dtype in zip(encoded, _dtypes(y, len(encoded)), strict=True):
            if str(dtype) != "category":
                refuse_continuous(found, label)
        prefixes = names or tuple(str(j) for j in range(len(encoded)))
        titles = [f"{p}={c}" for p, (cs, _) in zip(prefixes, encoded, strict=True) for c in cs]
        return Targets(sp.csr_array(sp.hstack([h for _, h in encoded])), tuple(titles))
    return Targets(_numeric(columns, names, label), names)


def array_of(values: Any, label: str = "X, y or covariates") -> Array:
    """Make an array; refuse lists of different lengths."""
    try:
        made = np.asarray(values)
    except np.exceptions.DTypePromotionError:
        _refuse_times(values, label)
        raise
    except ValueError as error:
        raise ValueError(
            f"{label} holds rows of different lengths, or lists within its values ({error}). Give "
            "every row as many values; sets of labels become columns by "
            "sklearn.preprocessing.MultiLabelBinarizer."
        ) from error
    if made.dtype.kind == "f":
        _refuse_times(values, label)
    return made


def _refuse_times(values: Any, label: str) -> None:
    """Refuse dates beside numbers in a frame of Arrow or Polars.

    Of these NumPy makes no array, or numbers without a word; of those of pandas it makes objects.
    """
    frame = nw.from_native(values, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return
    times = [f"{name!r} ({dtype})" for name, dtype in frame.schema.items() if dtype.is_temporal()]
    if times:
        raise ValueError(
            f"{label} holds values that are not numbers, in columns: {', '.join(times)}. Encode "
            "them as numbers, or leave them out."
        )


def _refuse_nested(values: Array, label: str) -> None:
    """Refuse objects that hold several values each."""
    for value in values.flat:
        if isinstance(value, list | tuple | dict | set | np.ndarray):
            raise ValueError(
                f"{label} holds {value!r:.60} ({type(value).__name__}), and takes a number or a "
                "label a row and column; sets of labels become columns by "
                "sklearn.preprocessing.MultiLabelBinarizer."
            )


def holds_labels(y: Any, target_type: str = "auto") -> bool:
    """Whether :func:`encode_targets` takes a batch of y for one column of class labels."""
    if sp.issparse(y):
        return False
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] != 1:
        return False
    column = values.reshape(-1)
    return _are_labels(y, column, column, target_type, all_rows=False)


def _are_labels(y: Any, column: Array, counted: Array, target_type: str, all_rows: bool) -> bool:
    if target_type != "auto":
        return target_type == "class"
    if is_categorical(y):
        return True
    column = column.astype(object) if column.dtype.kind == "T" else column
    return _is_labels(column) and not (all_rows and _are_numbers(counted))


def missing_labels(n: int, label: str = "y") -> str:
    """Say that class labels are missing."""
    return (
        f"Input {label} contains NaN: {many(n, 'missing label')}; fill them in, or leave those "
        "rows out with missing='drop'."
    )


def are_classes(n_distinct: int, n_rows: float) -> bool:
    """Tell whether whole numbers are class labels, rather than measurements or counts.

    They are with up to 20 distinct values, or up to the root of the number of rows: about as many
    as a histogram of so many measurements would have bins, so that a class has as many rows as
    there are classes. So 100 classes are taken for that from 10 000 rows on.
    """
    return n_distinct <= max(FEW_CLASSES, math.isqrt(int(n_rows)))


def warn_if_close(classes: Array, n_rows: int) -> None:
    """Say what "auto" took whole numbers for, where the rule might as well say otherwise.

    Parameters
    ----------
    classes : ndarray
        Distinct values, sorted.
    n_rows : int
    """
    limit = max(FEW_CLASSES, math.isqrt(n_rows))
    if not limit / CLOSE < len(classes) <= limit * CLOSE:
        return
    labels = are_classes(len(classes), n_rows)
    taken = "each was taken for a class" if labels else "they were taken for numbers"
    warn_caller(
        f"y holds whole numbers with {len(classes)} distinct values ({classes[0]} to "
        f"{classes[-1]}) in {n_rows} rows, and {taken}. Say target_type='continuous' if they are "
        "measurements or counts, target_type='class' if they are labels.",
        ManyClassesWarning,
    )


def disguise_of(classes: Array, *, marks: bool = False) -> str | None:
    """Say what strings look like that are no classes, such as numbers or dates.

    ``marks``: as in :func:`~projse.sources.look_alikes.looks_like`.
    """
    if classes.dtype.kind not in "UO" or not all(isinstance(c, str) for c in classes):
        return None
    # As many as tell.
    some = classes[:: max(len(classes) // SAMPLED_CLASSES, 1)].tolist()
    return looks_like(some, marks=marks)


def warn_if_disguised(classes: Array, *, marks: bool = False) -> bool:
    """Say that "auto" took strings for classes that look like numbers or dates, if it did."""
    what = disguise_of(classes, marks=marks)
    if what is not None:
        warn_caller(
            f"y holds strings, and each was taken for a class ({len(classes)} of them), but they "
            f"look like {what}; or say target_type='class' if they are labels.",
            UnreliableSelectionWarning,
        )
    return what is not None


def as_csr(A: Any) -> sp.csr_array:
    """CSR in float64 with each entry stored once; the given matrix is not touched."""
    out = sp.csr_array(A, dtype=np.float64)
    if not out.has_canonical_format:
        out = out.copy()
        out.sum_duplicates()
    return out


def is_categorical(y: Any) -> bool:
    """Whether y is a pandas categorical, or a data frame of one such column."""
    dtypes = _dtypes(y, 1)
    return len(dtypes) == 1 and str(dtypes[0]) == "category"


def _dtypes(y: Any, n: int) -> list[Any]:
    """Return the dtypes of the n columns of y: of a frame, each its own."""
    # A Series of Dask has columns too, and a table of Arrow no dtypes.
    is_frame = hasattr(y, "dtypes") and getattr(y, "ndim", 2) == 2
    return list(y.dtypes) if is_frame else [getattr(y, "dtype", None)] * n


def column_names(y: Any) -> tuple[str, ...] | None:
    """Return the names of a pandas or polars Series or DataFrame, where they are strings."""
    columns = getattr(y, "column_names", None)  # of Arrow, whose columns are the values
    if not isinstance(columns, list):
        columns = getattr(y, "columns", None)
    if columns is None:
        name = getattr(y, "name", None)
        return (name,) if isinstance(name, str) and name else None
    columns = list(columns)
    return tuple(columns) if all(isinstance(c, str) for c in columns) else None


def _are_numbers(column: Array) -> bool:
    """Whether labels are whole numbers of many distinct values; warn where it is close."""
    if column.dtype.kind == "O":
        if any(isinstance(v, str | bytes | bool | np.bool_) for v in column if not is_missing(v)):
            return False
        column = np.array([int(v) for v in column if not is_missing(v)])
    if column.dtype.kind not in "iu":
        return False
    distinct = np.unique(column)
    warn_if_close(distinct, len(column))
    return not are_classes(len(distinct), len(column))


def _is_labels(column: Array) -> bool:
    if column.dtype.kind != "O":
        return column.dtype.kind in "biuUS"
    present = [v for v in column if not is_missing(v)]
    # bool is an Integral, numpy's is not.
    return bool(present) and all(isinstance(v, str | bytes | Integral | np.bool_) for v in present)


def _one_hot(
    column: Array, counted: NDArray[np.bool_] | None, label: str
) -> tuple[Array, sp.csr_array]:
    """Sorted classes and their CSR indicators, shape (m, n_classes): one entry a counted row."""
    m = len(column)
    present = column if counted is None else column[counted]
    missing = _count_missing(present)
    if missing:
        raise ValueError(missing_labels(missing, label))
    if present.dtype.kind == "O":
        n_texts = sum(isinstance(v, str) for v in present)
        if 0 < n_texts < len(present):
            raise ValueError(
                f"{label} mixes labels that are strings with others that are not; make all of them "
                "strings."
            )
        present = np.array(present.tolist())
    if present.dtype.kind not in "biufUS":
        present = present.astype(str)
    classes, codes = np.unique(present, return_inverse=True)
    entries = np.ones(m, dtype=bool) if counted is None else counted
    indicator = sp.csr_array(
        (
            np.ones(len(present)),
            codes.astype(np.int32),
            np.concatenate([[0], np.cumsum(entries)]).astype(np.int32),
        ),
        shape=(m, len(classes)),
    )
    return classes, indicator


def refuse_continuous(classes: Array, label: str) -> None:
    """Refuse numbers that are not whole as labels, as scikit-learn's classifiers do."""
    if classes.dtype.kind != "f":
        return
    odd = ~np.isfinite(classes) | (classes != np.floor(classes))
    if odd.any():
        raise ValueError(
            f"Unknown label type: {label} holds continuous numbers ({classes[odd.argmax()]:g}), "
            "which are no class labels; use target_type='continuous', or bin them "
            "(sklearn.preprocessing.KBinsDiscretizer)."
        )


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or pandas' NA."""
    if value is None:
        return True
    if isinstance(value, np.ndarray):  # of a list of Arrow or Polars
        return False
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True


def _count_missing(column: Array) -> int:
    if column.dtype.kind in "fmM":
        return int((column != column).sum())
    if column.dtype.kind == "O":
        return sum(map(is_missing, column))
    return 0


def _numeric(columns: Array, names: tuple[str, ...] | None, label: str) -> Array:
    """Real numbers in a dtype the products can take; NaN where a value is missing."""
    if columns.dtype.kind in "biuf":
        return columns
    out = np.empty(columns.shape)
    for j, column in enumerate(columns.T):
        try:
            if column.dtype.kind in "mMV":
                raise TypeError(f"dtype {column.dtype}")
            out[:, j] = [np.nan if is_missing(v) else v for v in column]
        except (TypeError, ValueError) as error:
            which = repr(names[j]) if names else str(j)
            raise ValueError(
                f"Column {which} of {label} holds values that are not numbers ({error}). Encode "
                "it as numbers, or take it as class labels (target_type='class')."
            ) from error
    return out
