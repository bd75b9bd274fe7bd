"""References and covariates of a table: what stands for each, as combinations of its columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.kernels.combination import bases_of, naming
from projse.sources.table.encoder import TableEncoder
from projse.sources.variables import Variables

if TYPE_CHECKING:
    from projse.moments.sums import Moments

Array = NDArray[Any]


def combined_references(moments: Moments, like: Moments | None = None) -> Moments:
    """Fill the gaps of references and covariates, and leave out cycles that dates do not span.

    As in memory: no level is pooled, and each has a column. What dates span is what the first look
    saw of them. ``like`` are moments of more rows with the same columns, whose means fill the gaps
    instead.
    """
    if moments.y_mean is None or moments.yy is None:
        return moments
    n, n_y = moments.n_y - moments.n_covariates, moments.n_y
    references = _Part.of(moments if like is None else like, "y", slice(n))
    covariates = _Part.of(moments if like is None else like, "z", slice(n, n_y))
    if references.is_whole and covariates.is_whole:
        return moments
    B = scipy.linalg.block_diag(references.B, covariates.B)
    kept = np.concatenate([references.kept, n + covariates.kept])
    yx = moments.yx
    yx = sp.csc_array(sp.csr_array(B.T) @ sp.csr_array(yx)) if sp.issparse(yx) else B.T @ yx

    def of_kept(values: Array | None) -> Array | None:
        return None if values is None else values[kept]

    names = moments.target_names
    return replace(
        moments,
        y_mean=B.T @ moments.y_mean,
        yy=B.T @ moments.yy @ B,
        yx=yx,
        y_peak=None if moments.y_peak is None else (B**2).T @ moments.y_peak,
        # What fills a gap lies between the values.
        y_min=of_kept(moments.y_min),
        y_max=of_kept(moments.y_max),
        y_bounded=of_kept(moments.y_bounded),
        target_names=None if names is None else tuple(names[j] for j in kept),
        y_variables=moments.y_variables if references.is_whole else None,
        z_variables=moments.z_variables if covariates.is_whole else None,
        n_covariates=len(covariates.kept),
    )


@dataclass(frozen=True)
class _Part:
    """References or covariates: a map of their columns, and a column that names what comes out."""

    B: Array
    kept: Array
    is_whole: bool

    @classmethod
    def of(cls, moments: Moments, view: str, columns: slice) -> _Part:
        assert moments.y_mean is not None
        mean = moments.y_mean[columns]
        variables: Variables | None = getattr(moments, f"{view}_variables")
        plain = None if moments.encoding is None else moments.encoding.get(view)
        bases: dict[int, Array] = {}
        if variables is not None and plain is not None:
            encoder = TableEncoder.from_dict(plain)
            bases = bases_of(
                variables,
                encoder.plans,
                mean,
                sum_weights=float(moments.n_samples),
                n_rows=moments.n_samples,
                missing=encoder.missing,
                max_levels=None,
                recentre=view == "y",
            )
        if variables is None or not bases:
            return cls(np.eye(len(mean)), np.arange(len(mean)), True)
        own = [variables.columns_of(v) for v in range(variables.n)]
        blocks = [bases.get(v, np.eye(len(places))) for v, places in enumerate(own)]
        kept = [
            j
            for places, basis in zip(own, blocks, strict=True)
            for j in naming(basis, places, variables)
        ]
        B = np.empty((len(mean), len(kept)))
        B[np.concatenate(own)] = scipy.linalg.block_diag(*blocks)
        return cls(B, np.array(kept, dtype=np.intp), False)
