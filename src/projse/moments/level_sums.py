"""Sums over sparse rows of a table: levels are counted, numbers are multiplied as they are.

A category has one 1 a row. Products of two of them are joint counts, products with numbers are sums
over the rows of each level, and only numbers with numbers are a matrix product. So no indicator is
ever multiplied, and none is stored dense.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.moments.align import with_columns
from projse.moments.sums import Moments
from projse.sources.rows import Rows
from projse.sources.variables import MAY_BE_ABSENT, Variables

Array = NDArray[Any]

SUMMED_BYTES = 1 << 23
"""Rows of numbers are centred this many bytes at a time, and stay in cache."""


def has_levels(rows: Rows) -> bool:
    """Whether candidates are sparse, and some of their columns are the levels of a category."""
    if rows.x_variables is None or not rows.is_sparse:
        return False
    return any(column.kind == "level" for column in rows.x_variables.columns)


@dataclass(frozen=True)
class Factor:
    """A category: the column of each of its levels, and the level of each row (-1: none)."""

    columns: Array
    codes: Array

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.columns)


@dataclass(frozen=True)
class Split:
    """Columns of a view: numbers, dense, and factors.

    ``places`` are the columns of the numbers, ``width`` is the number of all columns.
    """

    numbers: Array
    places: Array
    factors: tuple[Factor, ...]
    width: int

    @property
    def order(self) -> Array:
        """Where each column stands, were the numbers first and the factors behind them."""
        columns = np.concatenate([self.places, *(factor.columns for factor in self.factors)])
        order = np.empty(self.width, dtype=np.intp)
        order[columns] = np.arange(self.width)
        return order


def level_moments(
    rows: Rows, with_xx: bool, dense_moments: Callable[[Rows, bool], Moments]
) -> Moments:
    """Sum over rows of weight above 0.

    Parameters
    ----------
    rows : Rows
        Of sparse candidates with ``x_variables``.
    with_xx : bool
    dense_moments : callable ``(rows, with_xx) -> Moments``
        Sums the numbers.

    Notes
    -----
    ``f p + f²/2`` additions a row for p numbers and f factors, beside the products of the numbers.
    """
    x = split(rows.X, rows.x_variables)
    y = None
    if rows.Y is not None:
        y = _split_references(rows)
    # Something must be summed, for the number of rows and their weight.
    base = dense_moments(_of_numbers(rows, x, y), with_xx)
    total = base.sum_weights
    padded_x = len(x.places) == 0
    x_numbers = np.empty(0) if padded_x else base.x_mean
    sums = _LevelSums(rows.weight, rows.n_samples, total)
    x_part = sums.view(x, x_numbers)
    xx_diag = np.concatenate([np.empty(0) if padded_x else base.xx_diag, *x_part.squares])
    lows, highs = _extremes(base.x_min, base.x_max, x_part, padded_x)
    moments = Moments(
        n_samples=base.n_samples,
        sum_weights=total,
        x_mean=np.concatenate([x_numbers, *x_part.means]),
        y_mean=None,
        yy=None,
        yx=None,
        xx_diag=xx_diag,
        eps=base.eps,
        x_min=lows,
        x_max=highs,
    )
    if with_xx:
        inner = np.empty((0, 0)) if padded_x else base.xx
        moments.xx = sums.products(x_part, x_part, inner)
        moments.xx[np.diag_indices(x.width)] = xx_diag
    if y is None:
        return with_columns(moments, "x", x.order)
    padded_y = len(y.places) == 0
    assert base.y_mean is not None and base.yy is not None
    y_part = sums.view(y, np.empty(0) if padded_y else base.y_mean)
    yy = sums.products(y_part, y_part, np.empty((0, 0)) if padded_y else base.yy)
    yx = base.yx
    if padded_x or padded_y:
        yx = np.empty((len(y.places), len(x.places)))
    y_low, y_high = _extremes(base.y_min, base.y_max, y_part, padded_y)
    moments = replace(
        moments,
        y_mean=np.concatenate([np.empty(0) if padded_y else base.y_mean, *y_part.means]),
        yy=yy,
        yx=sums.products(y_part, x_part, yx),
        y_min=None if rows.classes is not None else y_low,
        y_max=None if rows.classes is not None else y_high,
    )
    return with_columns(with_columns(moments, "x", x.order), "y", y.order)


def split(A: sp.csr_array, variables: Variables | None) -> Split:
    """Take the columns of sparse rows apart; those of a category are a factor."""
    assert variables is not None
    width = A.shape[1]
    levels = Counter(c.variable for c in variables.columns if c.kind == "level")
    number_of = {v: f for f, v in enumerate(levels)}
    factor = np.full(width, -1)
    for j, column in enumerate(variables.columns):
        if column.kind in MAY_BE_ABSENT:
            factor[j] = number_of.get(column.variable, -1)
    columns = [np.flatnonzero(factor == f) for f in range(len(levels))]
    places = np.flatnonzero(factor < 0)
    codes = _codes(A, factor, columns)
    factors = tuple(Factor(c, k) for c, k in zip(columns, codes, strict=True))
    return Split(A[:, places].toarray(), places, factors, width)


def _codes(A: sp.csr_array, factor: Array, columns: list[Array]) -> Array:
    """Return the level of each row, one factor a line; -1 where a row has none."""
    n, width = A.shape
    code = np.zeros(width, dtype=np.int32)
    for own in columns:
        code[own] = np.arange(len(own))
    chosen = np.flatnonzero(factor >= 0)
    part = A[:, chosen]
    part.sort_indices()
    found = chosen[part.indices]
    if (np.diff(part.indptr) == len(columns)).all():
        # As an encoder makes them: one level of each factor after the other.
        by_row = found.reshape(n, len(columns))
        if (factor[by_row] == factor[by_row[:1]]).all():
            codes = np.empty((len(columns), n), dtype=np.int32)
            codes[factor[by_row[0]]] = code[by_row].T
            return codes
    codes = np.full((len(columns), n), -1, dtype=np.int32)
    codes[factor[found], np.repeat(np.arange(n), np.diff(part.indptr))] = code[found]
    return codes


def _split_references(rows: Rows) -> Split:
    """Take references apart, and the covariates behind them."""
    n, codes = rows.n_references, rows.class_codes()
    if codes is None:
        own = _split_part(rows.Y[:, :n], rows.y_variables)
    else:
        none = np.empty((rows.n_samples, 0))
        factor = Factor(np.arange(n), codes.astype(np.int32))
        own = Split(none, np.empty(0, dtype=np.intp), (factor,), n)
    if not rows.n_covariates:
        return own
    given = _split_part(rows.Y[:, n:], rows.z_variables)
    return Split(
        np.hstack([own.numbers, given.numbers]),
        np.concatenate([own.places, n + given.places]),
        (*own.factors, *(replace(factor, columns=n + factor.columns) for factor in given.factors)),
        n + given.width,
    )


def _split_part(A: Any, variables: Variables | None) -> Split:
    if sp.issparse(A) and variables is not None:
        return split(A, variables)
    dense = A.toarray() if sp.issparse(A) else np.asarray(A, dtype=np.float64)
    return Split(dense, np.arange(A.shape[1]), (), A.shape[1])


def _of_numbers(rows: Rows, x: Split, y: Split | None) -> Rows:
    """Return rows of the numbers; a column of zeros where a view has none."""

    def dense(part: Split) -> Array:
        return part.numbers if len(part.places) else np.zeros((rows.n_samples, 1))

    def names(all_names: tuple[str, ...] | None, part: Split) -> tuple[str, ...] | None:
        if all_names is None or not len(part.places):
            return None
        return tuple(all_names[j] for j in part.places)

    x_names = rows.feature_names if rows.x_variables is None else rows.x_variables.titles
    y_names = rows.y_titles
    if y is None:
        return Rows(dense(x), None, rows.weight, names(x_names, x))
    return Rows(dense(x), dense(y), rows.weight, names(x_names, x), names(y_names, y))


@dataclass(frozen=True)
class _View:
    """A view taken apart, with the means and centred squares of its levels."""

    split: Split
    number_means: Array
    means: list[Array]
    squares: list[Array]
    indicators: sp.csr_array
    """Of all levels, one factor after the other."""


class _LevelSums:
    """Centred products that levels take part in."""

    def __init__(self, weight: Array | None, n: int, total: float) -> None:
        self.weight, self.n, self.total = weight, n, total

    def view(self, part: Split, number_means: Array) -> _View:
        """Count the levels of a view."""
        means, squares = [], []
        for factor in part.factors:
            known = factor.codes >= 0
            weight = None if self.weight is None else self.weight[known]
            count = np.bincount(factor.codes[known], weight, minlength=factor.n_levels)
            mean = count / self.total
            means.append(mean)
            squares.append(np.maximum(count * (1.0 - mean), 0.0))
        return _View(part, number_means, means, squares, _indicators(part.factors, self.n))

    def products(self, a: _View, b: _View, inner: Any) -> Array:
        """Return all products of two views; ``inner`` are those of their numbers."""
        a_starts, b_starts = _starts(a), _starts(b)
        out = np.empty((a_starts[-1], b_starts[-1]))
        p, q = a_starts[0], b_starts[0]
        out[:p, :q] = inner
        if q and a.split.factors:
            out[p:, :q] = self._by_level(a.indicators, b)
        if p and b.split.factors:
            out[:p, q:] = out[p:, :q].T if a is b else self._by_level(b.indicators, a).T
        for i, first in enumerate(a.split.factors):
            rows = slice(a_starts[i], a_starts[i + 1])
            for j, second in enumerate(b.split.factors):
                columns = slice(b_starts[j], b_starts[j + 1])
                if a is b and j < i:
                    out[rows, columns] = out[columns, rows].T
                    continue
                joint = self._joint(first, second)
                joint -= self.total * np.outer(a.means[i], b.means[j])
                out[rows, columns] = joint
        return out

    def _joint(self, a: Factor, b: Factor) -> Array:
        """Count how often levels of two factors meet."""
        # A row without a level is counted in a place of its own.
        width = b.n_levels + 1
        # Down to -1 for each: shifted by one.
        pair = (a.codes.astype(np.int64) + 1) * width + (b.codes + 1)
        size = (a.n_levels + 1) * width
        counts = np.bincount(pair, self.weight, minlength=size).reshape(-1, width)
        joint: Array = counts[1:, 1:].astype(np.float64)
        return joint

    def _by_level(self, indicators: sp.csr_array, view: _View) -> Array:
        """Sum centred numbers over the rows of each level."""
        numbers, mean = view.split.numbers, view.number_means
        out = np.zeros((indicators.shape[1], numbers.shape[1]))
        step = max(SUMMED_BYTES // (8 * numbers.shape[1]), 1)
        for start in range(0, self.n, step):
            rows = slice(start, start + step)
            centred = numbers[rows] - mean
            if self.weight is not None:
                centred *= self.weight[rows, None]
            out += indicators[rows].T @ centred
        return out


def _indicators(factors: tuple[Factor, ...], n: int) -> sp.csr_array:
    """Put the levels of factors side by side."""
    if not factors:
        return sp.csr_array((n, 0))
    starts = np.cumsum([0, *(factor.n_levels for factor in factors)])
    codes = np.stack([factor.codes for factor in factors], axis=1)
    known = codes >= 0
    indices = (codes + starts[:-1].astype(np.int32))[known]
    indptr = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(n, int(starts[-1])))


def _starts(view: _View) -> Array:
    """Return where the factors of a view begin, behind its numbers, and where the last one ends."""
    part = view.split
    return np.cumsum([len(part.places), *(factor.n_levels for factor in part.factors)])


def _extremes(
    low: Array | None, high: Array | None, view: _View, padded: bool
) -> tuple[Array | None, Array | None]:
    """Add the extremes of levels, which are 0 and 1, to those of numbers."""
    if (low is None or high is None) and not padded:
        low, high = view.split.numbers.min(axis=0), view.split.numbers.max(axis=0)
    if padded:
        low = high = np.empty(0)
    means = np.concatenate([np.empty(0), *view.means])
    assert low is not None and high is not None
    # All rows, or none: a count is exact, or a sum of the same weights.
    lows = np.concatenate([low, (means >= 1.0).astype(np.float64)])
    return lows, np.concatenate([high, (means > 0.0).astype(np.float64)])
