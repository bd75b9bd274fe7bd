"""Where tables have gaps: of candidates, references, covariates and weights together."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.sources.encode_targets import is_missing
from projse.sources.table.frame import Frame
from projse.sources.table.read import factorize, is_arrow_dictionary

Array = NDArray[Any]


def gaps_in(table: Any, label: str = "X") -> NDArray[np.bool_]:
    """Mark the rows of a table, of whatever kind, in which a value is missing."""
    if sp.issparse(table):
        rows = sp.csr_array(table if table.ndim == 2 else table.reshape(-1, 1))
        marked = np.zeros(rows.shape[0], dtype=bool)
        marked[np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))[np.isnan(rows.data)]] = (
            True
        )
        return marked
    frame = Frame.of(table, label)
    marked = np.zeros(frame.shape[0], dtype=bool)
    for j in range(frame.shape[1]):
        marked |= _gaps(frame.column(j))
    return marked


def _gaps(column: Any) -> Array:
    if isinstance(column, np.ndarray):
        if column.dtype.kind in "fmM":
            return column != column
        if column.dtype.kind == "O":
            return np.array([is_missing(v) for v in column], dtype=bool)
        return np.zeros(len(column), dtype=bool)
    if is_arrow_dictionary(column):
        return factorize(column)[0] < 0
    gaps = np.asarray(column.is_null().to_numpy(), dtype=bool)
    if column.dtype in (nw.Float32, nw.Float64):
        gaps = gaps | np.asarray(column.is_nan().fill_null(True).to_numpy(), dtype=bool)
    return gaps
