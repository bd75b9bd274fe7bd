"""Whole numbers that batches took for classes, judged once all rows are summed.

The indicators of classes add up whatever values the batches hold, and the number itself is a
combination of them: so the sum of all rows can say which it is to be, and memory, files and
clusters agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from projse.moments.sparse_products import block_diagonal
from projse.sources.encode_targets import (
    are_classes,
    is_categorical,
    warn_if_close,
    warn_if_disguised,
)

if TYPE_CHECKING:
    from projse.moments.sums import Moments


def settle_targets(
    moments: Moments,
    target_type: str,
    y: Any = None,
    *,
    name: str | None = None,
    marks: bool = False,
) -> Moments:
    """Make one number of classes that are whole numbers with many distinct values.

    Parameters
    ----------
    moments : Moments
    target_type : str
        What the user asked for; only "auto" leaves a doubt.
    y : object
        Where they come from, if it is at hand: categoricals leave no doubt either.
    name : str or None
        Of the column.
    marks : bool
        Whether it was read from text, for which users may name marks of gaps.
    """
    return settle_blocks([moments], target_type, y, name=name, marks=marks)[0]


def settle_blocks(
    blocks: Sequence[Moments],
    target_type: str,
    y: Any = None,
    *,
    name: str | None = None,
    marks: bool = False,
) -> list[Moments]:
    """Do the same for blocks of rows, with the same classes, by what all of them hold."""
    classes, n_rows = blocks[0].classes, sum(block.n_samples for block in blocks)
    if target_type != "auto" or classes is None or (y is not None and is_categorical(y)):
        return list(blocks)
    if classes.dtype.kind not in "iu":
        warn_if_disguised(classes, marks=marks)
        return list(blocks)
    warn_if_close(classes, n_rows)
    if are_classes(len(classes), n_rows):
        return list(blocks)
    return [as_number(block, name) for block in blocks]


def as_number(moments: Moments, name: str | None) -> Moments:
    """Combine the indicators of whole numbers to the numbers themselves: ``y = Σ_c c 1_c``."""
    assert moments.classes is not None and moments.y_mean is not None and moments.yy is not None
    n = moments.n_references
    values = moments.classes.astype(np.float64)
    mean = float(values @ moments.y_mean[:n])
    # Covariates stay as they are.
    beside = np.eye(moments.n_covariates)
    # The indicators add up to 1, so that a shift changes no centred product, and saves digits.
    shifted = scipy.linalg.block_diag((values - mean)[None, :], beside)
    if sp.issparse(moments.yx):  # sums that are not centred
        yx: Any = sp.csc_array(block_diagonal([values[None, :], beside]) @ moments.yx)
    else:
        yx = shifted @ moments.yx
    names = moments.target_names
    if name is None and not moments.n_covariates:
        names = None
    elif names is not None:
        names = (name or "y0", *names[n:])
    extremes: dict[str, Any] = {"y_min": None, "y_max": None}
    if not moments.n_covariates:
        extremes = {"y_min": np.array([values.min()]), "y_max": np.array([values.max()])}
    return replace(
        moments,
        y_mean=np.array([mean, *moments.y_mean[n:]]),
        yy=shifted @ moments.yy @ shifted.T,
        yx=yx,
        classes=None,
        target_names=names,
        y_peak=None if moments.y_peak is None else shifted**2 @ moments.y_peak,
        **extremes,
    )
