"""Candidates that no data can tell apart become one variable: near-copies, and loss of rank.

A twin must differ from its variable, and of two near-copies each gives the other's twin away: there
is no room for it. As one variable, of one or several dimensions, they have twins again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.linalg import block_diag, eigh, solve_triangular
from scipy.linalg.lapack import dpotrf
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform

from projse.search.twins import echelon_root

Array = NDArray[Any]

SUPPORT = 1e-6
"""A candidate takes part in a dependence where its share of it is larger than this."""


def group_copies(S: Array, labels: Array, max_correlation: float) -> Array:
    """Join variables that hold near-copies of each other.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Correlations of the candidates.
    labels : ndarray of int of shape (p,)
        The variable that each belongs to.
    max_correlation : float
        Clusters by average linkage whose correlations are above this, in size, become one.

    Returns
    -------
    ndarray of int of shape (p,)
        Variables 0, 1, …, by their first candidates.
    """
    size = np.abs(S)
    np.fill_diagonal(size, 0.0)
    if len(S) < 2 or size.max() <= max_correlation:
        return _in_order(labels)
    distance = np.maximum(1.0 - (size + size.T) / 2, 0.0)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average")
    # Clusters at the very distance would be joined too.
    below = np.nextafter(1.0 - max_correlation, -np.inf)
    return _joined(labels, fcluster(tree, below, "distance"))


def whitened(S: Array, labels: Array, rounding: float) -> tuple[Array, Array, Array]:
    """Give every variable an orthonormal basis; join those that depend on each other.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Correlations of the candidates.
    labels : ndarray of int of shape (p,)
        The variable that each belongs to.
    rounding : float
        Eigenvalues at or below this are nothing.

    Returns
    -------
    B : ndarray of shape (p, r)
        ``X B`` has orthonormal columns within each variable, and is of full rank.
    of_column : ndarray of int of shape (r,)
        The variable that each column of it belongs to.
    labels : ndarray of int of shape (p,)
        Variables 0, 1, …, of the candidates.

    Notes
    -----
    A combination of candidates that vanishes has no twin, nor have the candidates that take part
    in it, unless they are one variable. A Cholesky factorisation tells whether there is any, and an
    eigendecomposition which.
    """
    labels = _in_order(labels)
    while True:
        B, of_column = _bases(S, labels, rounding)
        products = B.T @ S @ B
        _, fails = dpotrf(products - rounding * np.eye(len(products)), lower=1)
        if not fails:  # no eigenvalue is at or below rounding
            return B, of_column, labels
        values, vectors = eigh(products)
        null = vectors[:, values <= max(rounding, values[0])]
        shares = np.abs(null @ null.T)
        between = shares * np.not_equal.outer(of_column, of_column)
        limit = min(SUPPORT, between.max() / 2)  # some are joined in any case
        _, parts = connected_components(coo_array(shares > limit), directed=False)
        first = np.full(labels.max() + 1, -1)
        first[of_column[::-1]] = np.arange(len(of_column))[::-1]
        # Columns of a variable stay together, whatever part the others are in.
        merged = _joined(of_column, parts)[first]
        labels = _in_order(merged[labels])


def _bases(S: Array, labels: Array, rounding: float) -> tuple[Array, Array]:
    """Return an orthonormal basis of every variable, as combinations of its candidates."""
    p = len(S)
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    if len(sizes) == p:  # every candidate is a variable
        return np.diag(1 / np.sqrt(np.diag(S))), labels
    blocks, of_column = [], []
    for g, members in enumerate(np.split(order, np.cumsum(sizes)[:-1])):
        A = S[np.ix_(members, members)]
        root = echelon_root(A, np.full(len(A), rounding))
        kept = [int(np.flatnonzero(row)[0]) for row in root]
        block = np.zeros((len(A), len(kept)))
        block[kept] = solve_triangular(root[:, kept], np.eye(len(kept)))
        blocks.append(block)
        of_column += [g] * len(kept)
    B = np.empty((p, len(of_column)))
    B[order] = block_diag(*blocks)
    return B, np.array(of_column, dtype=np.intp)


def _joined(a: Array, b: Array) -> Array:
    """Return the finest labels by which all that share a label in a or in b are together."""
    a, b = _in_order(a), _in_order(b)
    n_a, n = int(a.max()) + 1, int(a.max()) + int(b.max()) + 2
    # Of 32 bits: SciPy before 1.12 reads no others, and says nothing of it.
    ends = a.astype(np.int32), (n_a + b).astype(np.int32)
    links = coo_array((np.ones(len(a)), ends), shape=(n, n))
    _, parts = connected_components(links, directed=False)
    return _in_order(parts[a])


def _in_order(labels: Array) -> Array:
    """Return labels 0, 1, … by where each occurs first."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
