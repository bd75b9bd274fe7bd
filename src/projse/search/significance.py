"""How surprising a score is for a candidate that has nothing to do with the references."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrsv
from scipy.linalg.lapack import dpotrf
from scipy.special import betainc

from projse.moments.counts import are_no_counts
from projse.search.deflation import GrowingRows

Array = NDArray[Any]


def unconvinced(pvalue: float) -> str:
    """Tell a pick that may be chance from one that nothing can be said of."""
    return "no p-values" if math.isnan(pvalue) else "significance"


def degrees_of_freedom(sum_weights: float, n_rows: int, center: bool) -> float:
    """Dimension of the space that variables vary in, as far as p-values may rely on it.

    Parameters
    ----------
    sum_weights : float
        Sum of the row weights, which count as repetitions of their rows.
    n_rows : int
        Rows with a weight above 0.
    center : bool
        Whether means were subtracted.

    Returns
    -------
    float
        NaN without centring: means that are not 0 are a relation to every other such variable, and
        what is independent does not look it. NaN for weights that :func:`are_no_counts` of rows.
    """
    if not center or are_no_counts(sum_weights, n_rows):
        return float("nan")
    return sum_weights - 1


def selection_pvalue(
    score: float,
    rank: int,
    taken: int,
    n_candidates: int,
    degrees: float,
    room: float = math.inf,
) -> float:
    """P-value of the best of many scores under independence of candidates and references.

    Parameters
    ----------
    score : float
        The squared projection norm of the pick.
    rank : int
        Dimension r of the reference space when the round began.
    taken : int
        Directions t already taken out of it in this round.
    n_candidates : int
        Candidates the pick was chosen from.
    degrees : float
        Dimension of the space the variables live in: rows, less one when centred, less what
        everything was conditioned on.
    room : float
        The same of the rows that differ: fewer, where a weight counts a row several times. What is
        left of the references must not fill it, since it then explains any variable wholly.

    Returns
    -------
    float
        ``1 − (1 − sf)^n`` with sf the upper tail of Beta((r − t)/2, (degrees − r + t)/2). NaN
        where there are too few rows to tell.

    Notes
    -----
    A random direction in ``degrees`` dimensions has a share of its squared length in a given
    subspace of dimension d that follows Beta(d/2, (degrees − d)/2). At the first pick the p-value
    is exact for independent candidates; later picks are the best of those that lost, which makes
    it conservative.
    """
    a, b = (rank - taken) / 2, (degrees - rank + taken) / 2
    if not (a > 0 and b > 0 and room > rank - taken):
        return math.nan
    tail = float(betainc(b, a, 1 - min(max(score, 0.0), 1.0)))
    if tail >= 1:
        return 1.0
    return -math.expm1(n_candidates * math.log1p(-tail))


class PlainScores:
    """Scores of a round's picks without the ridge, by which they were chosen.

    The Beta law of :func:`selection_pvalue` is that of projections. With a ridge, the share of a
    pick in the space of the references is smaller than its projection, and would look like chance.
    A pick that is the best with the ridge need not be the best without: its p-value is at least
    that of the best.

    Parameters
    ----------
    rank : int
        Dimension of the reference space.
    """

    def __init__(self, rank: int) -> None:
        self._taken = GrowingRows(rank)

    def add(self, coordinates: Array) -> float:
        """Return the score of a pick, and take its direction out.

        Parameters
        ----------
        coordinates : ndarray of shape (rank,)
            In an orthonormal basis of the reference space.
        """
        left, taken = coordinates, self._taken.rows
        for _ in range(2):  # twice is enough (Kahan, Parlett)
            left = left - (taken @ left) @ taken
        score = float(left @ left)
        if score > 0:
            self._taken.append(left / math.sqrt(score))
        return score


class GivenPicks:
    """P-value of a pick given all picks before it, taken out wholly.

    Whatever way a pick was chosen, the share of it that lies in the space of the references, once
    both are conditioned on the picks S before it, is::

        h = (‖x|S‖² − ‖x|S,Y‖²) / ‖x|S‖²

    from two Cholesky factors that grow by a row a pick: of ``K_SS``, and of ``K_SS`` given Y. For
    an unrelated candidate h follows the Beta law of :func:`selection_pvalue`; the pick is not
    better than the best of them.

    A pick that is a combination of those before it, as all are once they fill the space of the
    rows, adds nothing: its p-value is 1. So is that of any pick once those before it explain the
    references wholly.

    P-values are asked for after each pick, or all at the end, which costs less.

    Parameters
    ----------
    rank : int
        Dimension of the reference space.
    degrees : float
        Dimension of the space of the variables; NaN where p-values have no meaning.
    rounding : float
        Squared norms at or below this are nothing.
    room : float
        As in :func:`selection_pvalue`.
    """

    def __init__(self, rank: int, degrees: float, rounding: float, room: float = math.inf) -> None:
        self.rank = rank
        self.degrees = degrees
        self._room = room
        self._rounding = rounding
        self._picks: list[int] = []
        self._products: list[Array] = []
        self._squares: list[float] = []
        self._references = GrowingRows(rank)
        self._n_candidates: list[int] = []
        self._alone = _GrowingCholesky()
        self._with_references = _GrowingCholesky()
        self.has_meaning = not math.isnan(degrees)

    def add(self, j: int, row: Array | None, coordinates: Array, n_candidates: int) -> None:
        """Add a pick.

        Parameters
        ----------
        j : int
        row : ndarray of shape (n_x,) or None
            Its row of ``K_XX``; the first pick does without.
        coordinates : ndarray of shape (rank,)
            Its coordinates in an orthonormal basis of the reference space.
        n_candidates : int
            Candidates that it was chosen from.
        """
        self._products.append(np.empty(0) if row is None else row[self._picks])
        self._squares.append(1.0 if row is None else float(row[j]))
        self._picks.append(j)
        self._references.append(coordinates)
        self._n_candidates.append(n_candidates)

    def last(self) -> float:
        """Return the p-value of the last pick; to be asked after each."""
        return self._next(len(self._picks) - 1)

    def all(self) -> list[float]:
        """Return the p-values of all picks, none of which was asked for before."""
        if not self.has_meaning:
            return [math.nan] * len(self._picks)
        shares = self._shares_at_once()
        if shares is None:
            return [self._next(i) for i in range(len(self._picks))]
        return [
            selection_pvalue(1 - share, self.rank, 0, n, self.degrees - i, self._room - i)
            if self._room > i
            else 1.0
            for i, (share, n) in enumerate(zip(shares, self._n_candidates, strict=True))
        ]

    def _next(self, i: int) -> float:
        """Return the p-value of a pick, once those before it were asked for."""
        if not self.has_meaning:
            return math.nan
        products, square, coordinates = self._products[i], self._squares[i], self._references.rows
        degrees, room = self.degrees - self._alone.rank, self._room - self._alone.rank
        # A pick that lies in the references (and the picks before it) takes a direction of them.
        rank = self.rank - (self._alone.rank - self._with_references.rank)
        left = self._alone.add(products, square, self._rounding)
        own = coordinates[i]
        unexplained = self._with_references.add(
            products - coordinates[:i] @ own, square - float(own @ own), self._rounding
        )
        # Where the picks fill the space of the rows, what is left of others is rounding.
        # Where they explain the references wholly, nothing is left for others to explain.
        if left <= self._rounding or room <= 0 or rank <= 0:
            return 1.0
        score = 1 - max(unexplained, 0.0) / left
        return selection_pvalue(score, rank, 0, self._n_candidates[i], degrees, room)

    def _shares_at_once(self) -> list[float] | None:
        """Return what the references leave of each pick; None where a pick depends on others."""
        n = len(self._picks)
        if not n:
            return []
        own, coordinates = np.zeros((n, n)), self._references.rows
        for i, (products, square) in enumerate(zip(self._products, self._squares, strict=True)):
            own[i, :i], own[i, i] = products, square
        lengths = []
        for K in (own, own - coordinates @ coordinates.T):
            L, failed = dpotrf(K, lower=1)
            squares = (L.diagonal() ** 2).tolist()
            if failed or min(squares) <= self._rounding:
                return None
            lengths.append(squares)
        return [left / alone for alone, left in zip(*lengths, strict=True)]


class _GrowingCholesky:
    """A Cholesky factor that grows by a variable at a time; one that depends adds no row."""

    def __init__(self) -> None:
        self._L = np.zeros((16, 16), order="F")
        self._kept: list[int] = []
        self._n = 0

    @property
    def rank(self) -> int:
        """Number of variables that do not depend on the ones before them."""
        return len(self._kept)

    def add(self, products: Array, square: float, rounding: float) -> float:
        """Add a variable; return its squared length given the ones before it."""
        k = self.rank
        components = products if k == self._n else products[self._kept]
        if k:
            components = dtrsv(self._L[:k, :k], components, lower=1)
        left = float(square - components @ components)
        if left > rounding:
            if k == len(self._L):
                larger = np.zeros((2 * k, 2 * k), order="F")
                larger[:k, :k] = self._L
                self._L = larger
            self._L[k, :k], self._L[k, k] = components, np.sqrt(left)
            self._kept.append(self._n)
        self._n += 1
        return left
