"""Covariates: variables that everything is conditioned on, and that are never picked."""

from __future__ import annotations

from dataclasses import replace
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.sources.encode_targets import encode_targets, is_categorical, is_missing
from projse.sources.rows import Rows, refuse_overflow

Array = NDArray[Any]


def append_covariates(rows: Rows, covariates: Any, center: bool) -> tuple[Rows, int]:
    """Put covariates behind the references, so that one pass sums their products too.

    Returns the rows and the number of covariate columns. Covariates are centred here, so that
    they can stand beside sparse references without loss.
    """
    if covariates is None:
        return rows, 0
    if rows.Y is None:
        raise ValueError("covariates need references: pass y, or take their effect out of X first.")
    Z = _as_columns(covariates, rows)
    if center:
        weight = rows.weight
        Z = np.where(np.isfinite(Z), Z, 0.0)
        for _ in range(2):  # a second time for what rounding of a large mean left
            Z = Z - np.average(Z, axis=0, weights=weight)
    Y = rows.Y
    if sp.issparse(Y):
        combined: Any = sp.csr_array(sp.hstack([Y, sp.csr_array(Z)]))
    else:
        combined = np.concatenate([Y.astype(np.float64), Z], axis=1)
    return replace(rows, Y=combined, classes=None, target_names=None), Z.shape[1]


def _as_columns(covariates: Any, rows: Rows) -> Array:
    """Numbers as they are, and one indicator a class for columns that are not numbers."""
    counted = None if rows.weight is None else rows.weight > 0
    encoded = []
    for label, part in _parts(covariates):
        kind = "class" if _is_labels(part) else "continuous"
        Y = encode_targets(part, kind, n_samples=rows.n_samples, counted=counted, label=label).Y
        Y = Y.toarray() if sp.issparse(Y) else Y.astype(np.float64)
        n_bad = np.count_nonzero(~np.isfinite(Y if counted is None else Y[counted]))
        if n_bad:
            raise ValueError(
                f"{label} contains NaN or infinity in {n_bad} rows; fill them in, or drop them."
            )
        with np.errstate(over="ignore"):
            refuse_overflow(
                np.square(Y if counted is None else Y[counted]).sum(axis=0), label, None
            )
        encoded.append(Y)
    if not encoded:
        raise ValueError("covariates has 0 columns; pass None to condition on nothing.")
    return np.concatenate(encoded, axis=1)


def _is_labels(part: Any) -> bool:
    values = np.asarray(part)
    if values.dtype.kind == "O":
        present = [v for v in values if not is_missing(v)]
        return not all(isinstance(v, Number) and not isinstance(v, bool) for v in present)
    return values.dtype.kind in "bUST" or is_categorical(part)


def _parts(covariates: Any) -> list[tuple[str, Any]]:
    """Columns of covariates, each with a label for messages."""
    if hasattr(covariates, "columns"):
        columns = (
            list(covariates.items())
            if hasattr(covariates, "items")
            else [(part.name, part) for part in covariates.get_columns()]
        )
        return [(f"covariates[{name!r}]", part) for name, part in columns]
    if is_categorical(covariates):
        return [("covariates", covariates)]
    values = covariates.toarray() if sp.issparse(covariates) else np.asarray(covariates)
    if values.dtype.kind in "US" and not isinstance(covariates, np.ndarray):
        # A list of rows that mix numbers and strings: numpy makes strings of them all.
        values = np.asarray(covariates, dtype=object)
    if values.ndim not in (1, 2):
        raise ValueError(f"covariates must have one or two dimensions, not {values.ndim}.")
    if values.ndim == 1:
        return [("covariates", values)]
    return [(f"covariates[:, {j}]", column) for j, column in enumerate(values.T)]
