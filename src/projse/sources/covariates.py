"""Covariates: variables that everything is conditioned on, and that are never picked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.exceptions import SourceError
from projse.sources.encode_targets import encode_targets, is_categorical, is_missing
from projse.sources.rows import Rows, refuse_overflow

Array = NDArray[Any]


def append_covariates(rows: Rows, covariates: Any, names: tuple[str, ...] | None = None) -> Rows:
    """Put covariates behind the references, so that one pass sums their products too.

    Numbers stay as they are; a column that is not one becomes an indicator a level. A categorical
    dtype tells its levels, so that batches of rows have the same columns; else they are those of
    these rows. ``names`` are those of columns of numbers that have none. References without names
    get some, as the names tell whether covariates of two batches are the same.
    """
    if covariates is None:
        return rows
    counted = None if rows.weight is None else rows.weight > 0
    encoded = encode_covariates(covariates, rows.n_samples, counted, names)
    Z, names = encoded.values, encoded.names
    if rows.Y is None:
        return replace(rows, Y=Z, target_names=names, n_covariates=Z.shape[1])
    Y = rows.Y
    if sp.issparse(Y):
        combined: Any = sp.csr_array(sp.hstack([Y, sp.csr_array(Z)]))
    else:
        combined = np.concatenate([np.asarray(Y, dtype=np.float64), Z], axis=1)
    before = rows.target_names or tuple(f"y{j}" for j in range(Y.shape[1]))
    return replace(rows, Y=combined, target_names=(*before, *names), n_covariates=Z.shape[1])


@dataclass(frozen=True)
class Encoded:
    """Columns that a covariate became, shape (m, k), and their names."""

    values: Array
    names: tuple[str, ...]


def encode_covariates(
    covariates: Any,
    n_samples: int,
    counted: NDArray[np.bool_] | None = None,
    names: tuple[str, ...] | None = None,
) -> Encoded:
    """Return numbers as they are, and one indicator a level for columns that are not numbers.

    Rows that are not ``counted`` may hold anything. ``names`` are those of an array's columns.
    """
    encoded = []
    for label, name, part in _parts(covariates, names):
        levels = _known_levels(part)
        if levels is not None and len(part) != n_samples:
            raise ValueError(
                f"X and {label} have different numbers of rows: {n_samples} and {len(part)} "
                "(inconsistent numbers of samples)."
            )
        if levels is not None:
            column = _indicators(part, levels, name)
        else:
            kind = "class" if _is_labels(part) else "continuous"
            targets = encode_targets(part, kind, n_samples=n_samples, counted=counted, label=label)
            Y = targets.Y.toarray() if sp.issparse(targets.Y) else targets.Y.astype(np.float64)
            own = (name,) if targets.classes is None else _titles(name, targets.classes)
            column = Encoded(Y, own)
        present = column.values if counted is None else column.values[counted]
        n_bad = int((~np.isfinite(present)).any(axis=1).sum())
        if n_bad:
            raise ValueError(
                f"{label} contains NaN or infinity in {n_bad} rows; fill them in, or drop them."
            )
        with np.errstate(over="ignore"):
            refuse_overflow(np.square(present).sum(axis=0), label, None)
        # A row of weight 0 may hold anything.
        encoded.append(
            replace(column, values=np.where(np.isfinite(column.values), column.values, 0))
        )
    if not encoded:
        raise ValueError("covariates has 0 columns; pass None to condition on nothing.")
    titles = tuple(title for column in encoded for title in column.names)
    return Encoded(np.concatenate([column.values for column in encoded], axis=1), titles)


def numeric_frame(frame: Any) -> Any:
    """Return a pandas frame of numbers: an indicator a level for categories, NaN where missing."""
    import pandas as pd

    columns = {}
    for name, part in frame.items():
        levels = _known_levels(part)
        if levels is None:
            columns[str(name)] = part.astype(np.float64)
            continue
        column = _indicators(part, levels, str(name))
        columns |= dict(zip(column.names, column.values.T, strict=True))
    return pd.DataFrame(columns, index=frame.index, dtype=np.float64)


def _titles(name: str, levels: Any) -> tuple[str, ...]:
    return tuple(f"{name}={level}" for level in levels)


def _known_levels(part: Any) -> list[Any] | None:
    """Return the levels that a categorical dtype knows; None for other columns."""
    levels = getattr(getattr(part, "dtype", None), "categories", None)
    return None if levels is None else list(levels)


def _indicators(part: Any, levels: list[Any], name: str) -> Encoded:
    """Return an indicator for each level that the dtype knows; NaN where a value is missing."""
    place = {level: j for j, level in enumerate(levels)}
    values = part.to_list() if hasattr(part, "to_list") else list(part)
    codes = np.array([-1 if is_missing(v) else place[v] for v in values], dtype=np.intp)
    indicators = (codes[:, None] == np.arange(len(levels))).astype(np.float64)
    indicators[codes < 0] = np.nan
    return Encoded(indicators, _titles(name, levels))


def refuse_levels(typed: str, where: str) -> None:
    """Refuse covariates whose columns depend on the rows: batches would have different ones.

    A category becomes an indicator a level, and a stream shows its levels one by one. Once the
    columns of Y can be aligned as classes are, this can go. ``typed`` lists the columns with their
    types.
    """
    raise SourceError(
        f"{where}: covariates that are not numbers: {typed}. Their levels are not known before all "
        "rows were read; store an indicator column a level, or fit the rows in memory."
    )


def _is_labels(part: Any) -> bool:
    values = np.asarray(part)
    if values.dtype.kind == "O":
        present = [v for v in values if not is_missing(v)]
        return not all(isinstance(v, Number) and not isinstance(v, bool) for v in present)
    return values.dtype.kind in "bUST" or is_categorical(part)


def _parts(covariates: Any, names: tuple[str, ...] | None) -> list[tuple[str, str, Any]]:
    """Columns of covariates, each with a label for messages and a name."""
    if hasattr(covariates, "columns"):
        columns = (
            list(covariates.items())
            if hasattr(covariates, "items")
            else [(part.name, part) for part in covariates.get_columns()]
        )
        return [(f"covariates[{name!r}]", str(name), part) for name, part in columns]
    name = getattr(covariates, "name", None)
    name = name if isinstance(name, str) and name else "covariate"
    if is_categorical(covariates) or _known_levels(covariates) is not None:
        return [("covariates", name, covariates)]
    values = covariates.toarray() if sp.issparse(covariates) else np.asarray(covariates)
    if values.dtype.kind in "US" and not isinstance(covariates, np.ndarray):
        # A list of rows that mix numbers and strings: numpy makes strings of them all.
        values = np.asarray(covariates, dtype=object)
    if values.ndim not in (1, 2):
        raise ValueError(f"covariates must have one or two dimensions, not {values.ndim}.")
    if names:
        named = zip(names, values.reshape(len(values), -1).T, strict=True)
        return [(f"covariates[{name!r}]", name, column) for name, column in named]
    if values.ndim == 1:
        return [("covariates", name, values)]
    return [(f"covariates[:, {j}]", f"{name}{j}", column) for j, column in enumerate(values.T)]
