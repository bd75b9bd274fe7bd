"""How surprising a score is for a candidate that has nothing to do with the references."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc


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


def are_no_counts(sum_weights: float, n_rows: int) -> bool:
    """Tell weights on another scale (shares, say) from repetitions of rows, doubtful ones less."""
    return sum_weights < n_rows / 2


def selection_pvalue(
    score: float, rank: int, taken: int, n_candidates: int, degrees: float
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
    if not (a > 0 and b > 0):
        return float("nan")
    tail = float(betainc(b, a, 1 - min(max(score, 0.0), 1.0)))
    if tail >= 1:
        return 1.0
    return float(-np.expm1(n_candidates * np.log1p(-tail)))
