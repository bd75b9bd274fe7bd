"""The pair of variables, one of each view, that correlates most."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.kernels.feature_gram import tiles
from projse.kernels.linear_gram import LinearGram, gram_of
from projse.moments.in_memory import moments_of
from projse.moments.leverage import few_rows_by_extremes, on_few_rows
from projse.moments.sums import Moments
from projse.moments.views import swapped
from projse.search.greedy import TIE
from projse.sources.covariates import append_covariates
from projse.sources.rows import Rows

Array = NDArray[Any]


def best_pair(
    of: Rows | Moments, center: bool, x_allowed: NDArray[np.bool_], y_allowed: NDArray[np.bool_]
) -> tuple[int, int] | None:
    """Return the columns of X and of Y whose correlation is largest, of either sign.

    Parameters
    ----------
    of : Rows or Moments
        Rows are multiplied some columns of each view at a time: no matrix of all pairs is made.
    center : bool
    x_allowed, y_allowed : ndarray of bool
        Columns that may be picked. Pairs of columns that one or two rows make up are left out.

    Returns
    -------
    tuple of two ints, or None
        Among pairs within rounding of the best, the first; None where none correlates.
    """
    x_rare, y_rare = _on_few_rows(of, center), _on_few_rows(_other_view(of), center)
    found: list[tuple[float, tuple[int, int]]] = []
    for x_start, y_start, gram in _pieces(of, center):
        rows = slice(y_start, y_start + gram.n_y)
        y_norms = np.diag(gram.yy)
        for tile in tiles(gram.n_x):
            columns = slice(x_start + tile.start, x_start + tile.stop)
            norms = np.multiply.outer(y_norms, gram.xx_diag[tile])
            usable = (norms > 0) & y_allowed[rows, None] & x_allowed[columns]
            usable &= ~(y_rare[rows, None] & x_rare[columns])
            squares = np.where(usable, gram.block(tile) ** 2 / np.where(usable, norms, 1.0), 0.0)
            best = float(squares.max(initial=0.0))
            if best > 0:
                x, y = np.argwhere((squares >= best * (1 - TIE)).T)[0]
                found.append((best, (columns.start + int(x), y_start + int(y))))
    top = max((best for best, _ in found), default=0.0)
    return min((pair for best, pair in found if best >= top * (1 - TIE)), default=None)


def _on_few_rows(of: Rows | Moments, center: bool) -> NDArray[np.bool_]:
    """Tell the columns of X that one or two rows make up, as far as that is known."""
    if isinstance(of, Rows):
        return on_few_rows(of, np.arange(of.X.shape[1]), center=center)
    if of.x_min is None or of.x_max is None:
        return np.zeros(of.n_x, dtype=bool)
    return few_rows_by_extremes(of, slice(None), of.x_min, of.x_max, center=center)


def _other_view(of: Rows | Moments) -> Rows | Moments:
    return Rows(of.references, None, of.weight) if isinstance(of, Rows) else swapped(of)


def _pieces(of: Rows | Moments, center: bool) -> Iterator[tuple[int, int, LinearGram]]:
    """Yield Gram matrices of some columns of each view, with the indices of their first."""
    if isinstance(of, Moments):
        yield 0, 0, gram_of(of, center)
        return
    for x_tile in tiles(of.X.shape[1]):
        # Products of the references with each other come along: few at a time, they cost little.
        for y_tile in tiles(of.n_references, 1024):
            part = Rows(of.X[:, x_tile], of.references[:, y_tile], of.weight)
            part = append_covariates(part, of.covariates)
            yield x_tile.start, y_tile.start, gram_of(moments_of(part, with_xx=False), center)
