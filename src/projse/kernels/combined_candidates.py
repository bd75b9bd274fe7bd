"""Candidates of a table: plain columns that span what each of its columns stands for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.kernels.combination import MIN_FREQUENCY, bases_of_moments, bases_of_rows
from projse.moments.sparse_products import block_diagonal, centred_yx
from projse.moments.views import restricted
from projse.sources.variables import Variables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from projse.moments.sums import Moments
    from projse.sources.rows import Rows

Array = NDArray[Any]


def combined_candidates(
    moments: Moments, min_frequency: int = MIN_FREQUENCY, like: Moments | None = None
) -> tuple[Moments, Array]:
    """Make plain columns of encoded ones: rare levels pooled, gaps filled if asked to.

    Parameters
    ----------
    moments : Moments
        With the products of the candidates.
    min_frequency : int
        Levels of fewer rows are pooled.
    like : Moments or None
        Of more rows with the same columns, which settle what stands for each.

    Returns
    -------
    moments : Moments
        Without variables: every candidate is a column.
    column : ndarray of int
        The column of the table that each belongs to.

    Notes
    -----
    Columns are put in an order that does not depend on where rows were summed, with gaps first: an
    orthonormal basis that is made column by column is then the same whatever fills the gaps.
    """
    if moments.x_variables is None:
        return moments, np.arange(moments.n_x)
    order = _in_order(moments.x_variables)
    moments = restricted(moments, order)
    settled = moments if like is None else restricted(like, order)
    variables = moments.x_variables
    assert variables is not None
    B, column = _map(variables, bases_of_moments(settled, min_frequency))
    return mapped_candidates(moments, B), column


def mapped_candidates(moments: Moments, B: Any) -> Moments:
    """Replace the candidates by combinations of them, the columns of B.

    Parameters
    ----------
    moments : Moments
        With the products of the candidates.
    B : ndarray or sparse array of shape (n_x, n)

    Returns
    -------
    Moments
        Of plain columns; their extremes are not known.
    """
    assert moments.xx is not None
    xx = B.T @ (B.T @ moments.xx).T
    xx = (xx + xx.T) / 2
    return replace(
        moments,
        x_mean=B.T @ moments.x_mean,
        xx=xx,
        xx_diag=np.diag(xx).copy(),
        yx=None if moments.yx is None else np.ascontiguousarray((B.T @ centred_yx(moments).T).T),
        x_peak=None if moments.x_peak is None else B.power(2).T @ moments.x_peak,
        x_min=None,
        x_max=None,
        feature_names=None,
        x_variables=None,
        encoding=None,
    )


def combined_candidate_rows(rows: Rows, min_frequency: int = MIN_FREQUENCY) -> tuple[Rows, Array]:
    """Make the same of encoded rows."""
    if rows.x_variables is None:
        return rows, np.arange(rows.X.shape[1])
    order = _in_order(rows.x_variables)
    variables = rows.x_variables.restricted(order)
    rows = replace(rows, X=rows.X[:, order], x_variables=variables)
    B, column = _map(variables, bases_of_rows(rows, min_frequency))
    X = rows.X @ B
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    return replace(rows, X=X, feature_names=None, x_variables=None, encoding=None), column


def _in_order(variables: Variables) -> Array:
    """Return the columns by variable, gaps first, and by kind and key."""
    columns = variables.columns

    def place(j: int) -> tuple[int, bool, str, str]:
        column = columns[j]
        return column.variable, column.kind != "gap", column.kind, column.key

    return np.array(sorted(range(len(columns)), key=place), dtype=np.intp)


def _map(variables: Variables, bases: Mapping[int, Array]) -> tuple[Any, Array]:
    """Return the map of columns that lie variable by variable, and what comes out belongs to."""
    sizes = np.bincount(variables.of_column, minlength=variables.n)
    blocks = [bases.get(v, np.eye(size)) for v, size in enumerate(sizes)]
    column = np.repeat(np.arange(variables.n), [block.shape[1] for block in blocks])
    return block_diagonal(blocks), column
