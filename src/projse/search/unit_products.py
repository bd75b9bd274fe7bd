"""Products of candidates and outputs of unit norm, given what is conditioned on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.moments.rounding import squared_norms
from projse.moments.sparse_products import centred_yx
from projse.moments.sums import Moments

Array = NDArray[Any]

MOST_ROWS = 2**53
"""More rows, by weights of such a size, are as many: whole numbers end there for floats."""


@dataclass(frozen=True)
class UnitProducts:
    """What fixed-X knockoffs need of moments.

    Attributes
    ----------
    S, C, K : ndarray of shape (p, p), (p, q), (q, q)
        Products of candidates with each other, with the outputs, and of the outputs, all of unit
        norm.
    columns : ndarray of int of shape (p,)
        The columns of X that are candidates: not constant, nor conditioned on or excluded, nor
        explained wholly by what is conditioned on.
    outputs : ndarray of int of shape (q,)
        The columns of Y that are outputs, likewise.
    norms : ndarray of shape (p + q,)
        Norms, given what is conditioned on, that candidates and outputs had.
    degrees : int
        Dimension of the space of the variables.
    rounding : float
        Squares of up to this share are nothing.
    """

    S: Array
    C: Array
    K: Array
    columns: Array
    outputs: Array
    norms: Array
    degrees: int
    rounding: float


def unit_products(
    moments: Moments,
    candidates: Array,
    include: Array,
    like: UnitProducts | None = None,
) -> UnitProducts:
    """Condition on variables, and give candidates and outputs unit norm.

    Parameters
    ----------
    moments : Moments
        With products of the candidates; centred. Its covariates are conditioned on as well.
    candidates, include : ndarray of int
        Columns of X: to judge, and to condition on.
    like : UnitProducts or None
        Take its candidates, outputs and units instead: those of other rows of the same columns.
    """
    assert moments.xx is not None and moments.yy is not None
    rounding = float(moments.eps ** (2 / 3))
    n_covariates = moments.n_covariates
    n_outputs = len(moments.yy) - n_covariates
    outputs = np.arange(n_outputs) if like is None else like.outputs
    candidates = candidates if like is None else like.columns
    x = np.concatenate([candidates, include]).astype(np.intp)
    y = np.concatenate([outputs, n_outputs + np.arange(n_covariates)]).astype(np.intp)
    yx = centred_yx(moments)[np.ix_(y, x)]
    G = np.block([[moments.xx[np.ix_(x, x)], yx.T], [yx, moments.yy[np.ix_(y, y)]]])
    squares = np.concatenate([squared_norms(moments, "X", True)[x],
                              squared_norms(moments, "y", True)[y]])  # fmt: skip
    known = squares > 0
    units = np.where(known, 1 / np.sqrt(np.where(known, squares, 1.0)), 0.0)
    G = G * np.outer(units, units)
    p, q = len(candidates), len(outputs)
    conditions = [*range(p, len(x)), *range(len(G) - n_covariates, len(G))]
    G, rank = _given(G, conditions, rounding)
    kept = np.concatenate([np.arange(p), len(x) + np.arange(q)])
    left = np.diag(G)[kept]
    if like is None:
        alive = left > rounding
        kept, left = kept[alive], left[alive]
    norms = np.sqrt(squares[kept] * left) if like is None else like.norms
    scale = np.sqrt(squares[kept]) / norms
    G = G[np.ix_(kept, kept)] * np.outer(scale, scale)
    of_x = kept < p
    k = int(np.count_nonzero(of_x))
    return UnitProducts(
        S=G[:k, :k],
        C=G[:k, k:],
        K=G[k:, k:],
        columns=candidates[kept[of_x]],
        outputs=outputs[kept[~of_x] - len(x)],
        norms=norms,
        degrees=round(min(moments.sum_weights, MOST_ROWS)) - 1 - moments.n_partialled - rank,
        rounding=rounding,
    )


def _given(G: Array, conditions: list[int], rounding: float) -> tuple[Array, int]:
    """Condition products on some variables; return what is left, and their rank."""
    rank = 0
    for j in conditions:
        if G[j, j] <= rounding:
            continue
        row = G[j] / np.sqrt(G[j, j])
        G = G - np.outer(row, row)
        rank += 1
    return G, rank
