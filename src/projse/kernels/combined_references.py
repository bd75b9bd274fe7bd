"""References of an encoded table: what stands for each, as combinations of its columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.kernels.combination import bases_of
from projse.sources.table.encoder import TableEncoder

if TYPE_CHECKING:
    from projse.moments.sums import Moments

Array = NDArray[Any]


def combined_references(moments: Moments, like: Moments | None = None) -> Moments:
    """Fill the gaps of references, and leave out cycles of dates that the first look did not span.

    As for references in memory: no level is pooled, and each has a column. ``like`` are moments of
    more rows with the same columns, whose means fill the gaps instead.
    """
    variables = moments.y_variables
    plain = None if moments.encoding is None else moments.encoding.get("y")
    if variables is None or plain is None or moments.y_mean is None or moments.yy is None:
        return moments
    encoder = TableEncoder.from_dict(plain)
    whole = moments if like is None else like
    assert whole.y_mean is not None
    n = whole.n_samples
    bases = bases_of(
        variables,
        encoder.plans,
        whole.y_mean,
        sum_weights=float(n),
        n_rows=n,
        missing=encoder.missing,
        max_levels=None,
    )
    if not bases:
        return moments
    own = [variables.columns_of(v) for v in range(variables.n)]
    blocks = [bases.get(v, np.eye(len(columns))) for v, columns in enumerate(own)]
    kept = [
        int(columns[np.flatnonzero(direction)[0]])
        for columns, basis in zip(own, blocks, strict=True)
        for direction in basis.T
    ]
    order = np.concatenate(own)
    B = scipy.linalg.block_diag(*blocks)
    yx = moments.yx
    if sp.issparse(yx):
        yx = sp.csc_array(sp.csr_array(B.T) @ sp.csr_array(yx)[order])
    else:
        yx = B.T @ yx[order]

    def of_kept(values: Array | None) -> Array | None:
        return None if values is None else values[kept]

    return replace(
        moments,
        y_mean=B.T @ moments.y_mean[order],
        yy=B.T @ moments.yy[np.ix_(order, order)] @ B,
        yx=yx,
        y_peak=None if moments.y_peak is None else (B**2).T @ moments.y_peak[order],
        # What fills a gap lies between the values.
        y_min=of_kept(moments.y_min),
        y_max=of_kept(moments.y_max),
        target_names=tuple(variables.titles[j] for j in kept),
        y_variables=None,
    )
