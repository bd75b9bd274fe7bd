"""How much the selections of several runs agree, corrected for chance."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, overload

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from projse.parameters import is_number

Array = NDArray[Any]


@overload
def nogueira_stability(Z: Any, confidence: None = None) -> float: ...


@overload
def nogueira_stability(Z: Any, confidence: float) -> tuple[float, tuple[float, float]]: ...


def nogueira_stability(
    Z: Any, confidence: float | None = None
) -> float | tuple[float, tuple[float, float]]:
    """Measure how much sets of selected variables agree beyond chance.

    ``Φ = 1 − [mean_f M/(M−1) p_f (1 − p_f)] / [k̄/d (1 − k̄/d)]`` for M sets out of d variables,
    with p_f how often variable f was selected and k̄ the mean size of a set. It is 1 when all sets
    are equal and 0 on average when sets of these sizes are drawn at random; it is never below
    −1/(M−1). Above 0.75 is usually called excellent, below 0.4 poor.

    Parameters
    ----------
    Z : array-like of shape (n_resamples, n_features)
        A row a run: True or 1 where the variable was selected, False or 0 elsewhere.
    confidence : float or None, default=None
        Level of a confidence interval, in (0, 1); None for no interval.

    Returns
    -------
    value : float
    interval : tuple of two floats
        Lower and upper limit; only with ``confidence``.

    Raises
    ------
    ValueError
        With fewer than two rows, with values other than 0 and 1, and where the index has no
        meaning: no variable was ever selected, or all of them always.

    Notes
    -----
    ``O(M d)``. The interval is the published one, ``Φ ± z √v`` with the variance v estimated from
    the rows. It takes the rows as independent and is asymptotic in their number: with few resamples
    (10, say), and where nearly all sets agree, it covers the true value less often than it says.
    :func:`stability_interval` mends both, and is what :class:`projse.StabilityProjSe` reports. The
    published one is not clipped and may reach beyond 1, so that its half-width is always ``z √v``;
    cut it there if you like, no coverage is lost. Equal sets give it no width, which is no proof of
    anything.

    When all sets have the same size, the index equals Kuncheva's and the mean pairwise Pearson
    correlation of the rows.

    References
    ----------
    S. Nogueira, K. Sechidis, G. Brown: On the stability of feature selection algorithms. Journal of
    Machine Learning Research 18(174), 2018.

    Examples
    --------
    Of three pairs of sets one is equal, and two share one of two variables, as chance would:

    >>> import numpy as np
    >>> from projse.metrics import nogueira_stability
    >>> round(nogueira_stability([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]]), 4)
    0.3333

    Four variables, each selected with a probability of its own; the true value is 0.38:

    >>> Z = np.random.default_rng(0).random((400, 4)) < [0.9, 0.7, 0.2, 0.2]
    >>> value, (low, high) = nogueira_stability(Z, confidence=0.95)
    >>> round(low, 2), round(value, 2), round(high, 2)
    (0.34, 0.38, 0.43)
    """
    z = _sets(Z)
    M, d = z.shape
    frequencies = z.mean(axis=0)
    share = float(frequencies.mean())  # k̄ / d
    if not z.any() or z.all():
        what = "no variable is ever selected" if not z.any() else "all variables are in all sets"
        raise ValueError(f"Z: {what}, and the stability of that is not defined.")
    by_chance = share * (1 - share)
    spread = float((frequencies * (1 - frequencies)).mean()) * M / (M - 1)
    value = 1 - spread / by_chance
    if confidence is None:
        return value
    _check_confidence(confidence, ", or be None")
    sizes = z.mean(axis=1)  # k_i / d
    influence = z @ frequencies / d - sizes * share
    influence += value / 2 * (2 * sizes * share - sizes - share + 1)
    influence /= by_chance
    variance = 4 / M**2 * float(((influence - influence.mean()) ** 2).sum())
    half = NormalDist().inv_cdf(0.5 + float(confidence) / 2) * variance**0.5
    return value, (value - half, value + half)


def stability_interval(Z: Any, confidence: float = 0.95) -> tuple[float, float]:
    """Return limits for the index of infinitely many runs, from a few of them.

    :func:`nogueira_stability` of M runs is off by chance; of further runs like these (resamples of
    the same rows, say) it would tend to a value in [0, 1], which lies between the limits.

    Parameters
    ----------
    Z : array-like of shape (n_resamples, n_features)
        As in :func:`nogueira_stability`.
    confidence : float, default=0.95
        Level, in (0, 1).

    Returns
    -------
    low, high : float
        In [0, 1]; ``low`` is the index itself where that is negative.

    Raises
    ------
    ValueError
        As :func:`nogueira_stability`.

    Notes
    -----
    ``Φ ± t s`` where the index is in the middle, with s the jackknife's standard error (the index
    without each of the runs in turn) and t the quantile of Student's law with M − 1 degrees of
    freedom: few runs know their own spread badly.

    Near 1, a run that differs may not have been seen yet, and s is too small, 0 for equal sets. The
    variance is therefore taken where the limit is, as Wilson's interval of a share does: limits lie
    a distance D from the index with ``D² = t² s² + z² e D``. Here e is what the least event costs,
    and the variance that a unit of it brings. Downwards, it is one run that has one of its k
    variables for itself: ``e = 2 / (M k (1 − k / d))``. Upwards, one pair of runs that agree on one
    variable more: ``e = 2 / (M (M − 1) k (1 − k / d))``. As the slope of ``q (1 − q)`` does, e
    counts less towards the middle: the first times ``2Φ − 1``, the second times ``1 − 2Φ``.

    It takes the runs as independent, as resamples are, given the rows. For variables that come
    independently of each other it holds its level. Runs that fall into two sets far from each
    other, of which the rarer one may not have come yet, are told less well; the page on calibration
    of the guide has both. With two runs, or where all but one are empty (or full), nothing is
    known: the limits are 0 and 1.

    ``O(M d)``.

    References
    ----------
    B. Efron, C. Stein: The jackknife estimate of variance. Annals of Statistics 9, 1981.
    E. B. Wilson: Probable inference, the law of succession, and statistical inference. Journal of
    the American Statistical Association 22, 1927.

    Examples
    --------
    Twenty equal sets are no proof that the next one will be equal:

    >>> from projse.metrics import stability_interval
    >>> low, high = stability_interval([[1, 1, 0, 0, 0, 0]] * 20)
    >>> round(low, 2), round(high, 2)
    (0.71, 1.0)
    """
    value = nogueira_stability(Z)
    _check_confidence(confidence)
    z = _sets(Z)
    M, d = z.shape
    least = min(value, 0.0)
    others = _without_each(z)
    if others is None:
        return least, 1.0
    level = 0.5 + float(confidence) / 2
    spread = (M - 1) / M * float(((others - others.mean()) ** 2).sum())
    reach = float(scipy.stats.t.ppf(level, M - 1)) * spread**0.5
    k = float(z.sum(axis=1).mean())
    one_variable = NormalDist().inv_cdf(level) ** 2 / (M * k * (1 - k / d))
    down = one_variable * max(2 * value - 1, 0.0)
    up = one_variable / (M - 1) * max(1 - 2 * value, 0.0)
    low = value - down - float(np.hypot(down, reach))
    high = value + up + float(np.hypot(up, reach))
    return max(low, least), min(high, 1.0)


def _without_each(z: Array) -> Array | None:
    """Return the index without each of the runs; None where one of them is not defined."""
    M, d = z.shape
    if M < 3:
        return None
    counts, sizes = z.sum(axis=0), z.sum(axis=1)
    total = counts.sum() - sizes
    squares = counts @ counts - 2 * z @ counts + sizes
    share = total / (d * (M - 1))
    by_chance = share * (1 - share)
    if (total <= 0).any() or (total >= d * (M - 1)).any():
        return None
    others: Array = 1 - (share - squares / (d * (M - 1) ** 2)) * (M - 1) / (M - 2) / by_chance
    return others


def _check_confidence(confidence: Any, otherwise: str = "") -> None:
    if not is_number(confidence) or not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence!r} must lie between 0 and 1{otherwise}.")


def pearson_stability(W: Any) -> float:
    """Measure how much the relevance of the variables agrees between runs.

    The mean Pearson correlation, over all pairs of runs, of their relevance vectors: the score of
    each variable that was picked, 0 for the others. It is 1 when all runs agree up to a positive
    factor, near 0 when they have nothing to do with each other.

    Parameters
    ----------
    W : array-like of shape (n_resamples, n_features)
        A row a run.

    Returns
    -------
    float
        In [−1/(n_resamples − 1), 1].

    Raises
    ------
    ValueError
        With fewer than two rows, and with a constant row: a run that picked nothing, or everything
        alike, has no correlation with any other.

    Notes
    -----
    ``O(M d)``: the sum of all pairwise products of standardised rows is the squared length of their
    sum, less that of each.

    References
    ----------
    A. Kalousis, J. Prados, M. Hilario: Stability of feature selection algorithms: a study on
    high-dimensional spaces. Knowledge and Information Systems 12, 2007.

    Examples
    --------
    >>> from projse.metrics import pearson_stability
    >>> round(pearson_stability([[0.9, 0.4, 0, 0], [0.8, 0.3, 0, 0], [0.9, 0, 0.5, 0]]), 4)
    0.7705
    """
    w, constant = _standardised(_table(W, "W"))
    if constant.any():
        raise ValueError(
            f"{int(constant.sum())} rows of W are constant, first row {int(constant.argmax())}: a "
            "run that gives all variables the same relevance has no correlation; leave it out."
        )
    return _mean_product(w)


def relevance_stability(W: Array) -> float:
    """Measure how much relevances agree, where runs may have picked nothing.

    As :func:`pearson_stability`, but a row of zeros, a run that picked nothing, has correlation 0
    with every other: it agrees with none of them, and leaving it out would flatter the rest.

    Returns
    -------
    float
        NaN where a run gives all variables the same relevance above 0, or all runs pick nothing.
    """
    w, constant = _standardised(W)
    empty = ~W.any(axis=1)
    return float("nan") if empty.all() or (constant & ~empty).any() else _mean_product(w)


def _standardised(W: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Centre rows and give them length 1; constant rows are 0, and marked."""
    w = W.astype(np.float64)
    size = np.abs(w).max(axis=1, keepdims=True)
    w /= np.where(size > 0, size, 1.0)
    w -= w.mean(axis=1, keepdims=True)
    lengths = np.sqrt(np.einsum("ij,ij->i", w, w))
    constant = lengths <= 16 * np.finfo(np.float64).eps * np.sqrt(w.shape[1])
    w /= np.where(constant, np.inf, lengths)[:, None]
    return w, constant


def _mean_product(w: Array) -> float:
    """Return the mean product of all pairs of rows, of length 1 or 0."""
    M = len(w)
    total = w.sum(axis=0)
    own = np.count_nonzero(w.any(axis=1))
    return float(min((total @ total - own) / (M * (M - 1)), 1.0))


def _table(values: Any, name: str) -> Array:
    """Check a table of one run a row: finite numbers, two rows or more."""
    try:
        table = np.asarray(values)
        table = table.astype(np.float64) if table.dtype.kind == "O" else table
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold real numbers, a row a run: {error}.") from error
    if table.ndim != 2:
        raise ValueError(
            f"{name} must have shape (n_resamples, n_features); it has {table.ndim} dimension(s)."
        )
    if table.shape[0] < 2 or table.shape[1] < 1:
        raise ValueError(
            f"{name} has shape {table.shape}: stability needs two rows (runs) or more, and one "
            "column or more."
        )
    if table.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers, not {table.dtype}.")
    if not np.isfinite(table).all():
        row = int((~np.isfinite(table)).any(axis=1).argmax())
        raise ValueError(f"{name} contains NaN or infinity, first in row {row}; fill or drop it.")
    return table


def _sets(Z: Any) -> Array:
    """Check a table of selections; return it as float64 zeros and ones."""
    table = _table(Z, "Z")
    odd = (table != 0) & (table != 1)
    if odd.any():
        row, column = (int(i) for i in np.argwhere(odd)[0])
        raise ValueError(
            f"Z must hold True and False or 1 and 0; it holds {table[row, column]} in row {row}, "
            f"column {column}. Of relevances, pass W != 0, or use pearson_stability."
        )
    return table.astype(np.float64)
