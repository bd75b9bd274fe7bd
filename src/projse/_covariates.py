"""Covariates: variables that everything is conditioned on, and that are never picked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse._source import Rows
from projse._targets import encode_targets

Array = NDArray[Any]


def append_covariates(rows: Rows, covariates: Any, center: bool) -> tuple[Rows, int]:
    """Put covariates behind the references, so that one pass sums their products too.

    Returns the rows and the number of covariate columns. Covariates are centred here, so that
    they can stand beside sparse references without loss.
    """
    if covariates is None:
        return rows, 0
    Z = _as_columns(covariates)
    if Z.shape[0] != rows.n_samples:
        raise ValueError(
            f"covariates has {Z.shape[0]} rows, but X has {rows.n_samples}; pass one a row."
        )
    if rows.Y is None:
        raise ValueError("covariates need references: pass y, or take their effect out of X first.")
    counted = slice(None) if rows.weight is None else rows.weight > 0
    bad = np.flatnonzero(~np.isfinite(Z[counted]).all(axis=0))
    if bad.size:
        raise ValueError(f"covariates contains NaN or infinity in column {bad[0]}; fill it first.")
    if center:
        weight = rows.weight
        Z = np.where(np.isfinite(Z), Z, 0.0)
        Z = Z - np.average(Z, axis=0, weights=weight)
        size = np.abs(Z).max(axis=0)
        Z /= np.where(size > 0, size, 1.0)
    Y = rows.Y
    if sp.issparse(Y):
        combined: Any = sp.csr_array(sp.hstack([Y, sp.csr_array(Z)]))
    else:
        combined = np.concatenate([Y.astype(np.float64), Z], axis=1)
    return replace(rows, Y=combined, classes=None, target_names=None), Z.shape[1]


def _as_columns(covariates: Any) -> Array:
    """Numbers as they are, and one indicator a class for columns that are not numbers."""
    columns = getattr(covariates, "columns", None)
    if columns is not None:
        parts = [covariates[name] for name in columns]
    else:
        values = np.asarray(covariates)
        if values.ndim == 1:
            values = values[:, None]
        if values.ndim != 2:
            raise ValueError(f"covariates must have one or two dimensions, not {values.ndim}.")
        parts = [values[:, j] for j in range(values.shape[1])]
    encoded = []
    for part in parts:
        values = np.asarray(part)
        kind = "continuous" if values.dtype.kind in "iuf" else "auto"
        Y = encode_targets(values, kind).Y
        encoded.append(Y.toarray() if sp.issparse(Y) else Y.astype(np.float64))
    return np.concatenate(encoded, axis=1)
