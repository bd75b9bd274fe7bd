"""Covariates: variables that everything is conditioned on, and that are never picked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.sources.encode_targets import array_of, encode_targets, is_categorical, is_missing
from projse.sources.rows import Rows, too_large
from projse.sources.table.frame import refuse_repeated_names
from projse.sources.variables import Column, Variables
from projse.warn import many

Array = NDArray[Any]


def append_covariates(rows: Rows, covariates: Any, names: tuple[str, ...] | None = None) -> Rows:
    """Put covariates behind the references, so that one pass sums their products too.

    Numbers stay as they are; a column that is not one becomes an indicator a level: those of these
    rows, and what else a categorical dtype knows. Moments of batches of rows with different levels
    add up. ``names`` are those of columns of numbers that have none.
    """
    if covariates is None:
        return rows
    counted = None if rows.weight is None else rows.weight > 0
    encoded = encode_covariates(covariates, rows.n_samples, counted, names)
    return with_covariates(rows, encoded.values, encoded.names, encoded.variables)


def with_covariates(
    rows: Rows, Z: Any, names: tuple[str, ...], variables: Variables | None = None
) -> Rows:
    """Put covariates that are numbers by now, dense or sparse, behind the references.

    References without names get some, as the names tell whether covariates of two batches are the
    same. ``variables`` tell what the columns are, if not all are numbers.
    """
    more: Any = {"n_covariates": Z.shape[1], "z_variables": variables}
    Y = rows.Y
    if Y is None:
        return replace(rows, Y=Z, target_names=names, **more)
    if sp.issparse(Y):
        combined: Any = sp.csr_array(sp.hstack([Y, sp.csr_array(Z)]))
    else:
        Z = Z.toarray() if sp.issparse(Z) else Z
        combined = np.concatenate([np.asarray(Y, dtype=np.float64), Z], axis=1)
    before = rows.y_titles or tuple(f"y{j}" for j in range(Y.shape[1]))
    more["y_stored"] = rows.y_roundoff
    return replace(rows, Y=combined, target_names=(*before, *names), **more)


@dataclass(frozen=True)
class Encoded:
    """Columns that covariates became, shape (m, k), their names, and the levels they stand for.

    ``variables`` are None where all are numbers.
    """

    values: Array
    names: tuple[str, ...]
    variables: Variables | None = None


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
    parts = _parts(covariates, names)
    for label, name, part in parts:
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
            column = Encoded(Y, (name,))
            if targets.classes is not None:
                column = _of_levels(Y, name, targets.classes)
        present = column.values if counted is None else column.values[counted]
        n_bad = int((~np.isfinite(present)).any(axis=1).sum())
        if n_bad:
            raise ValueError(
                f"{label} contains NaN or infinity in {many(n_bad, 'row')}; fill them in, or "
                "drop them."
            )
        with np.errstate(over="ignore"):
            squares = np.square(present).sum()
        if not np.isfinite(squares):
            raise too_large(label)
        # A row of weight 0 may hold anything.
        encoded.append(
            replace(column, values=np.where(np.isfinite(column.values), column.values, 0))
        )
    if not encoded:
        raise ValueError("covariates has 0 columns; pass None to condition on nothing.")
    titles = tuple(title for column in encoded for title in column.names)
    values = np.concatenate([column.values for column in encoded], axis=1)
    variables = _together(encoded, [name for _, name, _ in parts])
    return Encoded(values, titles, variables)


def _together(encoded: list[Encoded], names: list[str]) -> Variables | None:
    """Tell what the columns of covariates are; None where all are numbers."""
    if all(column.variables is None for column in encoded):
        return None
    columns: list[Column] = []
    for v, column in enumerate(encoded):
        own = [Column(0)] if column.variables is None else column.variables.columns
        columns += [c._replace(variable=v) for c in own]
    return Variables(tuple(names), tuple(columns))


def _of_levels(values: Array, name: str, levels: Any) -> Encoded:
    """Return indicators, one a level."""
    keys = [str(level) for level in levels]
    variables = Variables((name,), tuple(Column(0, "level", key) for key in keys))
    return Encoded(values, tuple(f"{name}={key}" for key in keys), variables)


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
    return _of_levels(indicators, name, levels)


def _is_labels(part: Any) -> bool:
    values = np.asarray(part)
    if values.dtype.kind == "O":
        present = [v for v in values if not is_missing(v)]
        return not all(isinstance(v, Number) and not isinstance(v, bool) for v in present)
    return values.dtype.kind in "bUST" or is_categorical(part)


def _parts(covariates: Any, names: tuple[str, ...] | None) -> list[tuple[str, str, Any]]:
    """Columns of covariates, each with a label for messages and a name."""
    if hasattr(covariates, "columns"):
        if hasattr(covariates, "items"):
            columns = list(covariates.items())
        elif hasattr(covariates, "column_names"):  # of Arrow
            refuse_repeated_names(covariates, "covariates")
            arrays = [part.to_numpy(zero_copy_only=False) for part in covariates.columns]
            columns = list(zip(covariates.column_names, arrays, strict=True))
        else:
            columns = [(part.name, part) for part in covariates.get_columns()]
        return [(f"covariates[{name!r}]", str(name), part) for name, part in columns]
    name = getattr(covariates, "name", None)
    name = name if isinstance(name, str) and name else "covariate"
    if is_categorical(covariates) or _known_levels(covariates) is not None:
        return [("covariates", name, covariates)]
    values = covariates.toarray() if sp.issparse(covariates) else array_of(covariates, "covariates")
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
