"""References from whatever users hold: labels, label sets, one output or many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

Array = NDArray[Any]

TARGET_TYPES = ("auto", "continuous", "class")


@dataclass
class Targets:
    """Reference columns: a dense or CSR matrix, and what its columns are called.

    ``classes`` is set when the columns are the indicators of one set of class labels; the set may
    then grow from batch to batch.
    """

    Y: Any
    names: tuple[str, ...] | None = None
    classes: Array | None = None


def encode_targets(y: Any, target_type: str = "auto") -> Targets:
    """Turn ``y`` into reference columns.

    Strings, booleans, categoricals and integers in one column are class labels, as in
    scikit-learn's ``TargetEncoder``; they become sparse indicators. Floats are continuous, even
    when they hold whole numbers. Two-dimensional numbers (multilabel indicators among them) are
    used as they are.
    """
    if target_type not in TARGET_TYPES:
        raise ValueError(f"target_type={target_type!r} is not one of {', '.join(TARGET_TYPES)}.")
    if sp.issparse(y):
        if target_type == "class":
            raise ValueError(
                "target_type='class' needs labels, but y is sparse; pass one label a row, or use "
                "target_type='continuous' for an indicator matrix."
            )
        return Targets(_sparse_float(y))
    names = _column_names(y)
    values = np.asarray(y)
    if values.ndim == 0 or values.ndim > 2:
        raise ValueError(f"y must be one- or two-dimensional; it has {values.ndim} dimensions.")
    if np.iscomplexobj(values):
        raise ValueError("Complex data not supported: y is complex; pass real and imaginary parts.")
    if values.ndim == 2 and values.shape[1] == 0:
        raise ValueError(f"y has 0 columns (shape={values.shape}); pass at least one reference.")
    column = values.ravel() if values.ndim == 1 or values.shape[1] == 1 else None
    if column is not None:
        if target_type == "class" or (target_type == "auto" and _is_labels(column)):
            classes, indicator = _one_hot(column)
            return Targets(indicator, tuple(str(c) for c in classes), classes)
        return Targets(_numeric(column, names)[:, None], names)
    if target_type == "class":
        encoded = [_one_hot(values[:, j]) for j in range(values.shape[1])]
        prefixes = names or tuple(str(j) for j in range(values.shape[1]))
        labels = [f"{p}={c}" for p, (cs, _) in zip(prefixes, encoded, strict=True) for c in cs]
        return Targets(sp.csr_array(sp.hstack([h for _, h in encoded])), tuple(labels))
    return Targets(_numeric(values, names), names)


def _column_names(y: Any) -> tuple[str, ...] | None:
    """Names of a pandas or polars Series or DataFrame, where they are strings."""
    columns = getattr(y, "columns", None)
    if columns is None:
        name = getattr(y, "name", None)
        return (name,) if isinstance(name, str) and name else None
    columns = list(columns)
    return tuple(columns) if all(isinstance(c, str) for c in columns) else None


def _is_labels(column: Array) -> bool:
    if column.dtype.kind == "f":
        return False
    if column.dtype.kind in "bUS":
        return True
    if column.dtype.kind == "O":
        return all(isinstance(v, str | bool | np.bool_) for v in column)
    return type_of_target(column) in ("binary", "multiclass")


def _one_hot(column: Array) -> tuple[Array, sp.csr_array]:
    """Sorted classes and their CSR indicators, shape (m, n_classes): one entry a row."""
    missing = _count_missing(column)
    if missing:
        raise ValueError(f"Input y contains NaN: {missing} missing labels; drop or fill them.")
    if column.dtype.kind == "O":
        column = column.astype(str) if any(isinstance(v, str) for v in column) else column
    classes, codes = np.unique(column, return_inverse=True)
    if len(classes) and classes.dtype.kind == "O":
        classes = np.asarray(classes.tolist())
    m = len(column)
    indicator = sp.csr_array(
        (np.ones(m), codes.astype(np.int32), np.arange(m + 1, dtype=np.int32)),
        shape=(m, len(classes)),
    )
    return classes, indicator


def _count_missing(column: Array) -> int:
    if column.dtype.kind == "f":
        return int(np.isnan(column).sum())
    if column.dtype.kind == "O":
        return sum(v is None or v != v for v in column)
    return 0


def _numeric(values: Array, names: tuple[str, ...] | None) -> Array:
    """Real numbers in a dtype the products can take."""
    if values.dtype.kind in "biuf":
        return values
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        table = values.reshape(len(values), -1)
        for j in range(table.shape[1]):
            try:
                table[:, j].astype(np.float64)
            except (TypeError, ValueError):
                which = repr(names[j]) if names else str(j)
                raise ValueError(
                    f"Column {which} of y holds values that are not numbers ({error}). Use "
                    "target_type='class' for labels, or encode it first."
                ) from error
        raise


def _sparse_float(A: Any) -> sp.csr_array:
    """CSR with sorted unique entries in float64."""
    if A.dtype.kind == "c":
        raise ValueError("Complex data not supported: y is complex; pass real and imaginary parts.")
    out = sp.csr_array(A, dtype=np.float64)
    out.sum_duplicates()
    return out
