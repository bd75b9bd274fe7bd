"""Which references need a plan: those that mix kinds, or that have gaps to be filled."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from narwhals import selectors

from projse.sources.encode_targets import (
    NO_LABEL,
    encode_targets,
    holds_labels,
    refuse_continuous,
)
from projse.sources.table import read
from projse.sources.table.encoder import TableEncoder
from projse.sources.table.frame import Frame
from projse.sources.table.gaps import gaps_in
from projse.sources.table.kinds import mixes

TEXTS = (nw.String, nw.Categorical, nw.Enum, nw.Object)


def references_encoder(
    y: Any, missing: str, target_type: str, *, all_rows: bool
) -> TableEncoder | None:
    """Look at references; None where they are plain numbers or class labels.

    Parameters
    ----------
    y : data frame, series or array
        All rows, or the first of them.
    missing : {"refuse", "drop", "indicator", "mean"}
    target_type : {"auto", "continuous", "class"}
    all_rows : bool
        Whether there are no others: rows to come may have gaps where these have none. But labels
        without a gap are classes.
    """
    mixed = target_type == "auto" and mixes(y)
    filled = missing in ("indicator", "mean") and not sp.issparse(y)
    has_gaps = filled and bool(gaps_in(y, "y").any())
    if not (mixed or has_gaps or (filled and not (all_rows or holds_labels(y, target_type)))):
        return None
    declared: Any = "from_dtype"
    if target_type == "continuous":
        encode_targets(y, "continuous")  # refuses what is no number, as it does without gaps
    elif target_type == "class":
        declared = list(range(Frame.of(y, "y").shape[1]))
        _refuse_continuous_labels(Frame.of(y, "y"))
    return TableEncoder.look(
        y if mixed or target_type == "class" else booleans_as_numbers(y),
        missing=missing,
        label="y",
        max_levels=None,
        categorical_features=declared,
    )


def labels_for_gaps(y: Any, missing: str, target_type: str, *, first: bool) -> Any:
    """Let gaps in a single column of text be a class, where gaps are filled; else return y.

    So the classes of batches add up, whichever of them have gaps, as those of files do. Nothing but
    gaps is no text in the ``first`` rows, but may be later, where there is no plan for numbers.
    """
    if missing not in ("indicator", "mean") or target_type == "continuous" or sp.issparse(y):
        return y
    frame = Frame.of(y, "y")
    if frame.shape[1] != 1 or not gaps_in(frame, "y").any():
        return y
    column = frame.column(0)
    kind = column.dtype.kind if isinstance(column, np.ndarray) else None
    if kind not in (None, "O") or (kind is None and column.dtype not in TEXTS):
        return y
    codes, values = read.factorize(column)
    if not all(isinstance(value, str) for value in values) or (first and not values):
        return y
    return np.array([*values, NO_LABEL], dtype=object)[codes]  # the code of gaps is -1


def booleans_as_numbers(Y: Any) -> Any:
    """Let 0 and 1 stand for booleans, as they do among references that are all numbers."""
    frame = Frame.of(Y, "y")
    if isinstance(frame.data, np.ndarray):
        return Y
    return Frame(frame.data.with_columns(selectors.boolean().cast(nw.UInt8)), "y")


def _refuse_continuous_labels(frame: Frame) -> None:
    """Refuse numbers that are not whole as labels, whether or not some are missing."""
    for j in range(frame.shape[1]):
        column = frame.column(j)
        if not isinstance(column, np.ndarray):
            column = column.drop_nulls().to_numpy() if column.dtype.is_float() else np.empty(0)
        if column.dtype.kind == "f":
            refuse_continuous(np.unique(column[~np.isnan(column)]), "y")
