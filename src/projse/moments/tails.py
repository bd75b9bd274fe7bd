"""Tails: a variable and a reference with a few far rows, of which p-values know nothing.

P-values take variables or references as normal. With many rows either may be of any kind; where a
row makes up a large share of both, or few rows have the rarer of two values of both, they are too
small.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projse.moments.counts import rows_that_count
from projse.moments.extremes import HIGH, of_two_values
from projse.moments.leverage import leverage_by_extremes, normal_leverage, reference_leverages
from projse.moments.rounding import squared_norms
from projse.moments.sums import Moments

Array = NDArray[Any]

BEYOND = 0.1
"""With a mean fourth power so much above 3, a p-value of 0.001 should be two fifths larger:
Edgeworth's series adds ``0.1 He₃(z) φ(z) / 12``. Of a mean third power it adds the square,
``s² He₅(z) φ(z) / 36``: as much, since He₅ is three times He₃ there."""

CHANCE = 0.1
"""Normal variables have a tail that counts as long in at most this share of cases, however few rows
there are. So have normal references: unrelated ones, in a hundredth both."""


class Tail(NamedTuple):
    """A column, and how many standard deviations its furthest row is.

    Of a column of two values also how many rows have the rarer one; else None.
    """

    column: int
    distance: float
    rare_rows: float | None


class _Powers(NamedTuple):
    """What a row or a rare value makes of mean powers: the square of the third, and the excess."""

    third_squared: Any
    excess: Any


def long_tails(
    moments: Moments, columns: Array, *, center: bool, unseen: bool = False
) -> tuple[Tail | None, Tail] | None:
    """Return a column of X and a reference whose tails make p-values too small, by the most.

    Columns have a variance of 1 and m rows here, a mean third power of ``s``, and a mean fourth of
    ``3 + g``. Were rows of x and y put together anew, at random, ``√m r`` would have a mean third
    power of about ``s_x s_y / √m``, and a mean fourth of ``3 + g_x g_y / m``.

    A row with a share ``h`` of the squares, beside others that are normal, makes
    ``s = √m h^1.5 − 3 √(h / m) (1 − h)`` and ``g = m h² − 3 h (2 − h)``. Of a column of two values
    both are known.

    Parameters
    ----------
    moments : Moments
    columns : ndarray of int of shape (k,)
        Columns of X that are looked at, all references with each.
    center : bool
        Squares are about the mean.
    unseen : bool
        Whether p-values are also of what is not among the columns. It may have tails that are as
        long as those of any variable that a fit does not warn of; so may all columns whose extremes
        are not known.

    Returns
    -------
    tuple of Tail or None, and Tail; or None
        The first is None where only what was not looked at may have long tails. Bounds of extremes
        tell nothing: no row stands out there.
    """
    y_shares = reference_leverages(moments, center)
    n = rows_that_count(moments.sum_weights, moments.n_samples)
    if y_shares is None or not len(y_shares) or n < 3:
        return None
    if moments.classes is not None:
        assert moments.y_mean is not None
        y_upper = moments.y_mean[: len(y_shares)]
    else:
        references = slice(len(y_shares))
        if moments.y_bounded is not None:
            y_shares = np.where(moments.y_bounded[references], 0.0, y_shares)
        y_upper = _upper_share(moments, "y", references)
    found = _furthest(y_shares, y_upper, n, center)
    if found is None:
        return None
    y, y_powers = found
    if moments.x_min is None or moments.x_max is None:
        unseen |= len(columns) > 0
    elif len(columns):
        low, high = moments.x_min[columns], moments.x_max[columns]
        x_shares = leverage_by_extremes(moments, columns, low, high, center=center)
        if moments.x_bounded is not None:
            x_shares = np.where(moments.x_bounded[columns], 0.0, x_shares)
        found = _furthest(x_shares, _upper_share(moments, "X", columns), n, center)
        if found is not None and _matter(found[1], y_powers, n):
            return found[0]._replace(column=int(columns[found[0].column])), y
    return (None, y) if unseen and _matter(_of_row(HIGH, n), y_powers, n) else None


def _of_row(share: Any, n: float) -> _Powers:
    """Return what a row with this share of the squares makes, beside others that are normal."""
    third = np.sqrt(n) * share**1.5 - 3 * np.sqrt(share / n) * (1 - share)
    excess = n * share**2 - 3 * share * (2 - share)
    return _Powers(np.maximum(third, 0.0) ** 2, np.maximum(excess, 0.0))


def _matter(x: _Powers, y: _Powers, n: float) -> bool:
    """Tell whether two columns of n rows correlate by chance further than normal ones."""
    return bool((x.third_squared * y.third_squared + x.excess * y.excess) / n > BEYOND)


def _upper_share(moments: Moments, view: str, columns: Any) -> Array:
    """Return the share of rows that have the larger of two values; NaN where values are not two.

    Where extremes are bounds, they are those of two values only if they are values all the same.
    """
    low, high = (getattr(moments, f"{view.lower()}_{end}")[columns] for end in ("min", "max"))
    mean = getattr(moments, f"{view.lower()}_mean")[columns]
    squares = squared_norms(moments, view, center=True)[columns]
    two = of_two_values(low, high, mean, squares, moments.sum_weights) & (squares > 0)
    spread = np.where(two, high - low, 1.0)
    return np.where(two, (mean - low) / spread, np.nan)


def _furthest(shares: Array, upper: Array, n: float, center: bool) -> tuple[Tail, _Powers] | None:
    """Return the column with the longest tails; None where none is longer than normal ones.

    ``shares`` are those of one row in the squares, ``upper`` as :func:`_upper_share` has it.
    """
    two = (upper > 0) & (upper < 1)
    # No fewer than a row has the rarer value, whatever the weights.
    rare = np.where(two, np.maximum(np.minimum(upper, 1 - upper), 1 / n), 0.5)
    inverse = 1 / (rare * (1 - rare))
    of_row = _of_row(shares, n)
    third_squared = np.where(two, inverse - 4, of_row.third_squared)
    excess = np.where(two, np.maximum(inverse - 6, 0.0), of_row.excess)
    long = two | (shares > normal_leverage(n, CHANCE / len(shares), center))
    j = int(np.where(long, third_squared + excess, 0.0).argmax())
    if not long[j]:
        return None
    share = (1 - rare[j]) / (rare[j] * n) if two[j] else shares[j]
    tail = Tail(j, float(np.sqrt(n * share)), float(rare[j] * n) if two[j] else None)
    return tail, _Powers(third_squared[j], excess[j])
