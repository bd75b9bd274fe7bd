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
    norms: Array
    degrees: int
    rounding: float


def unit_products(
    moments: Moments,
    candidates: Array,
    include: Array,
    n_covariates: int = 0,
    norms: Array | None = None,
) -> UnitProducts:
    """Condition on variables, and give candidates and outputs unit norm.

    Parameters
    ----------
    moments : Moments
        With products of the candidates; centred.
    candidates, include : ndarray of int
        Columns of X: to judge, and to condition on.
    n_covariates : int
        Columns at the end of Y that are conditioned on as well.
    norms : ndarray or None
        Units from elsewhere, of all these candidates and all outputs, instead of unit norm.
    """
    assert moments.xx is not None and moments.yy is not None
    rounding = float(moments.eps ** (2 / 3))
    x = np.concatenate([candidates, include]).astype(np.intp)
    yx = centred_yx(moments)[:, x]
    G = np.block([[moments.xx[np.ix_(x, x)], yx.T], [yx, moments.yy]])
    before = np.concatenate([squared_norms(moments, "X", True)[x], squared_norms(moments, "y", True)])
    units = np.where(before > 0, 1 / np.sqrt(np.where(before > 0, before, 1.0)), 0.0)
    G = G * np.outer(units, units)
    p, n = len(candidates), len(G)
    conditions = [*range(p, len(x)), *range(n - n_covariates, n)]
    G, rank = _given(G, conditions, rounding)
    kept = np.setdiff1d(np.arange(n), conditions)
    squares = np.diag(G)[kept]
    if norms is None:
        alive = squares > rounding
        kept, squares = kept[alive], squares[alive]
        norms = np.sqrt(squares * before[kept])
    scale = np.sqrt(before[kept]) / norms
    G = G[np.ix_(kept, kept)] * np.outer(scale, scale)
    k = int(np.count_nonzero(kept < p))
    degrees = round(moments.sum_weights) - 1 - rank
    return UnitProducts(
        G[:k, :k], G[:k, k:], G[k:, k:], candidates[kept[:k]], norms, degrees, rounding
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
