"""Variables of several columns: each stands for the subspace that its columns span.

The columns of a variable are whitened, ``WᵀG_vvW = I`` with ``G_vv`` their products with each
other. What follows sees orthonormal columns of every variable, and aggregates by variable: any
invertible mixing of the columns within a variable changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.kernels.feature_gram import FeatureGram
from projse.kernels.rank import default_tol
from projse.sources.variables import Variables

Array = NDArray[Any]


@dataclass(frozen=True)
class BlockMap:
    """A linear map of columns, variable by variable: ``x W`` with a block-diagonal W.

    Attributes
    ----------
    matrix : csc_array of shape (n_in, n_out)
        The columns of a variable go to those of the same variable.
    variable : ndarray of int of shape (n_out,)
        The variable of each column that comes out, ascending.
    n_variables : int
    """

    matrix: Any
    variable: Array
    n_variables: int

    @classmethod
    def of(cls, blocks: list[tuple[Array, Array]], n_in: int) -> BlockMap:
        """Put blocks together: for each variable its columns, and their map of shape (d, d')."""
        sizes = [W.shape[1] for _, W in blocks]
        rows = [np.repeat(columns, W.shape[1]) for columns, W in blocks]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        places = [
            np.tile(np.arange(start, start + W.shape[1]), len(columns))
            for start, (columns, W) in zip(starts[:-1], blocks, strict=True)
        ]
        values = np.concatenate([W.ravel() for _, W in blocks])
        where = np.concatenate(rows), np.concatenate(places)
        matrix = sp.csc_array((values, where), shape=(n_in, int(starts[-1])))
        return cls(matrix, np.repeat(np.arange(len(blocks)), sizes), len(blocks))

    @cached_property
    def sizes(self) -> Array:
        """Number of columns of each variable that come out."""
        return np.bincount(self.variable, minlength=self.n_variables)

    @cached_property
    def starts(self) -> Array:
        """First column of each variable, and the number of all columns."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    def columns(self, variable: int) -> slice:
        """Columns of a variable."""
        return slice(int(self.starts[variable]), int(self.starts[variable + 1]))

    def columns_of(self, variables: Array) -> Array:
        """Columns of some variables, one variable after the other."""
        parts = [np.arange(self.starts[v], self.starts[v + 1]) for v in variables]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.intp)

    def inputs(self, columns: Any) -> Array:
        """Columns that go into some of those that come out, ascending."""
        return np.flatnonzero(np.diff(self.matrix[:, columns].tocsr().indptr))

    def apply(self, matrix: Array) -> Array:
        """``M W`` of a dense matrix of shape (k, n_in)."""
        product: Array = (self.matrix.T @ matrix.T).T
        return product

    def squares(self, values: Array) -> Array:
        """``Σ_i W_ij² v_i``: what independent errors of squares v come to."""
        squares: Array = self.matrix.power(2).T @ values
        return squares


class WhitenedGram(FeatureGram):
    """Kernel matrices between references and the whitened columns of variables.

    Parameters
    ----------
    inner : FeatureGram
        Linear, with the raw columns for candidates.
    variables : Variables
        Of those columns.
    bases : mapping from int to ndarray of shape (d, d'), default=None
        For some variables, a map of their columns (in their own units) to those that count.
    one_view : bool
        The references are the whitened candidates.

    Attributes
    ----------
    map : BlockMap
        From normalised raw columns to whitened ones; a constant variable has none.

    Notes
    -----
    An eigendecomposition of the products within each variable, ``O(d³)``. Directions below rounding
    leave: of 500 columns over 60 rows, 59 stay. Nothing else of ``K_XX`` is formed but for one
    view.
    """

    def __init__(
        self,
        inner: FeatureGram,
        variables: Variables,
        bases: Mapping[int, Array] | None = None,
        *,
        one_view: bool = False,
    ) -> None:
        self.inner = inner
        self.variables = variables
        self.eps, self.noise = inner.eps, inner.noise
        self.n_conditioned = inner.n_conditioned
        self.map = BlockMap.of(self._blocks(bases or {}), inner.n_x)
        self.alive = np.ones(len(self.map.variable), dtype=bool)
        self._one_view = one_view
        self.yy = inner.yy
        if one_view:
            self.yy = self.x_rows(np.arange(self.n_x))
            self.yy = (self.yy + self.yy.T) / 2

    def directions(self, *, keep: bool = False) -> tuple[Array, Array]:
        if self._one_view:
            return super().directions(keep=keep)
        return self.inner.directions(keep=keep)

    def _blocks(self, bases: Mapping[int, Array]) -> list[tuple[Array, Array]]:
        order = np.argsort(self.variables.of_column, kind="stable")
        counts = np.bincount(self.variables.of_column, minlength=self.variables.n)
        parts = np.split(order, np.cumsum(counts)[:-1])
        amplification, norms = self.inner.x_amplification, self.inner.x_norms
        blocks = []
        for v, columns in enumerate(parts):
            basis = bases.get(v)
            if len(columns) == 1 and basis is None:
                W = np.ones((1, int(self.inner.alive[columns[0]])))
            else:
                G = self.inner.x_rows(columns, columns)
                # A basis is in the units of the columns, of which the kernel sees unit norms.
                T = np.eye(len(columns)) if basis is None else norms[columns][:, None] * basis
                W = whitening(G, T, self.eps, amplification[columns])
            blocks.append((columns, W))
        return blocks

    @property
    def x_amplification(self) -> Array:
        return np.sqrt(self.map.squares(self.inner.x_amplification**2))

    @property
    def y_amplification(self) -> Array:
        return self.x_amplification if self._one_view else self.inner.y_amplification

    @property
    def y_off(self) -> Array | None:
        return None if self._one_view else self.inner.y_off

    def block(self, columns: Any) -> Array:
        if self._one_view:
            return np.array(self.yy[:, columns])
        raw = self.map.inputs(columns)
        W = self.map.matrix[raw][:, columns]
        return np.ascontiguousarray((W.T @ self.inner.block(raw).T).T)

    def left(self, w: Array) -> Array:
        if self._one_view:
            return np.asarray(w @ self.yy)
        product: Array = self.map.matrix.T @ self.inner.left(w)
        return product

    def x_rows(self, indices: Array, columns: Array | None = None) -> Array:
        everywhere = np.arange(self.n_x) if columns is None else np.asarray(columns)
        raw = self.map.inputs(indices)
        W = self.map.matrix[raw][:, indices]
        if columns is None:
            rows = self.map.apply(W.T @ self.inner.x_rows(raw))
        else:
            others = self.map.inputs(columns)
            part = W.T @ self.inner.x_rows(raw, others)
            rows = (self.map.matrix[others][:, columns].T @ part.T).T
        # Within a variable what whitening made of it, without its rounding.
        of = self.map.variable
        rows = np.where(of[indices][:, None] == of[everywhere], 0.0, rows)
        rows[indices[:, None] == everywhere] = 1.0
        return rows

    @property
    def has_x_rows(self) -> bool:
        return self.inner.has_x_rows

    @property
    def narrow_x_rows(self) -> bool:
        return self.inner.narrow_x_rows

    @property
    def far_x_rows(self) -> bool:
        return self.inner.far_x_rows

    @property
    def rare_references(self) -> bool:
        return self.inner.rare_references

    def on_few_rows(self, indices: Array) -> NDArray[np.bool_] | None:
        return self.variables_on_few_rows(self.map.variable[indices])

    def variables_on_few_rows(self, variables: Array) -> NDArray[np.bool_] | None:
        """Tell which variables one or two rows make up: all of their columns that vary.

        A category may well have a rare level among others.
        """
        few = []
        for v in variables:
            columns = self.variables.columns_of(v)
            columns = columns[self.inner.alive[columns]]
            found = self.inner.on_few_rows(columns)
            if found is None:
                return None
            few.append(bool(len(columns)) and bool(found.all()))
        return np.array(few, dtype=bool)


def whitening(G: Array, T: Array, eps: float, amplification: Array) -> Array:
    """Return W of shape (d, d') with ``WᵀGW = I``, on the span of ``T``.

    Parameters
    ----------
    G : ndarray of shape (d, d)
        Products of normalised columns.
    T : ndarray of shape (d, k)
        The combinations of them that count.
    eps : float
        Unit roundoff of the entries.
    amplification : ndarray of shape (d,)
        How many times that the entries of each column are off.

    Notes
    -----
    Columns are normalised first, so that their units do not decide which directions stay. One
    eigendecomposition; directions within rounding leave.
    """
    K = T.T @ G @ T
    squares = np.diag(K).copy()
    off = (amplification**2) @ (T**2)
    alive = squares > default_tol(len(G), eps) * off
    if not alive.any():
        return np.empty((len(G), 0))
    units = 1 / np.sqrt(squares[alive])
    T, off = T[:, alive] * units, off[alive] * units**2
    K = K[np.ix_(alive, alive)] * units[:, None] * units
    values, vectors = scipy.linalg.eigh((K + K.T) / 2, check_finite=False)
    # A direction must have digits of its own: what others have of it is divided by its length.
    relative = max(eps ** (2 / 3), default_tol(len(K), eps))
    known = values > relative * np.maximum(values[-1], off @ vectors**2)
    W: Array = T @ (vectors[:, known] / np.sqrt(values[known]))
    return W
