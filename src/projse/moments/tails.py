"""Tails: rows that stand out in a variable and in a reference, of which p-values know nothing.

P-values take variables or references as normal. With many rows either may be of any kind; a row
that makes up a large share of both makes them too small.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projse.moments.counts import rows_that_count
from projse.moments.leverage import leverage_by_extremes, normal_leverage, reference_leverages
from projse.moments.sums import Moments

Array = NDArray[Any]

EXCESS = 0.1
"""With a mean fourth power so much above 3, a p-value of 0.001 should be two fifths larger:
Edgeworth's series adds ``0.1 He₃(z) φ(z) / 12``."""

CHANCE = 0.1
"""Normal variables have a tail that counts as long in at most this share of cases, however few rows
there are. So have normal references: unrelated ones, in a hundredth both."""


class Tails(NamedTuple):
    """A column of X and a reference, and how many standard deviations their furthest rows are."""

    column: int
    reference: int
    x_distance: float
    y_distance: float


def long_tails(moments: Moments, columns: Array, *, center: bool) -> Tails | None:
    """Return the pair whose tails make p-values too small, by the most; None if there is none.

    A row with a share ``h`` of the squares, beside others that are normal, lifts the mean fourth
    power of a column (of variance 1, of m rows) from 3 to ``3 + g``, ``g = m h² − 3 h (2 − h)``.
    Were rows of x and of y put together anew, at random, that of ``√m r`` would be about
    ``3 + g_x g_y / m``: once in m times the two rows meet.

    Parameters
    ----------
    moments : Moments
    columns : ndarray of int of shape (k,)
        Columns of X that are looked at, all references with each.
    center : bool
        Squares are about the mean.

    Returns
    -------
    Tails or None
        None also where extremes are not known; bounds of them tell nothing.
    """
    if not len(columns) or moments.x_min is None or moments.x_max is None:
        return None
    y_shares = reference_leverages(moments, center)
    n = rows_that_count(moments.sum_weights, moments.n_samples)
    if y_shares is None or not len(y_shares) or n < 3:
        return None
    low, high = moments.x_min[columns], moments.x_max[columns]
    x_shares = leverage_by_extremes(moments, columns, low, high, center=center)
    if moments.x_bounded is not None:
        x_shares = np.where(moments.x_bounded[columns], 0.0, x_shares)
    if moments.y_bounded is not None and moments.classes is None:
        y_shares = np.where(moments.y_bounded[: len(y_shares)], 0.0, y_shares)
    i, j = int(x_shares.argmax()), int(y_shares.argmax())
    normal = [normal_leverage(n, CHANCE / len(shares), center) for shares in (x_shares, y_shares)]
    excess = _excess(x_shares[i], n) * _excess(y_shares[j], n) / n
    if excess <= EXCESS or x_shares[i] <= normal[0] or y_shares[j] <= normal[1]:
        return None
    distances = np.sqrt(n * np.array([x_shares[i], y_shares[j]]))
    return Tails(int(columns[i]), j, float(distances[0]), float(distances[1]))


def _excess(share: float, n: float) -> float:
    return max(0.0, float(n * share**2 - 3 * share * (2 - share)))
