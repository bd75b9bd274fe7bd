"""Rows that look ordered: consecutive rows make folds that are unlike each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from projse.exceptions import OrderedRowsWarning
from projse.moments.blocks import moments_of_blocks
from projse.moments.sums import Moments
from projse.sources.rows import Rows
from projse.warn import warn_caller

Array = NDArray[Any]

LEVEL = 1e-4
"""How rarely rows in random order may be called ordered."""

LOOKED_AT = 256
"""So many columns, evenly spaced, are looked at where there are more."""


def some_columns(rows: Rows, tests: list[Array]) -> list[Moments]:
    """Sum the folds for some of the candidates."""
    some = rows.X[:, _spaced(rows.X.shape[1])]
    few = replace(rows, X=some, feature_names=None, x_variables=None)
    return moments_of_blocks(few, tests, with_xx=True)


def _spaced(n: int) -> Array:
    return np.unique(np.linspace(0, n - 1, min(n, LOOKED_AT)).astype(np.intp))


def warn_if_ordered(folds: Sequence[Moments], weight: Array | None) -> None:
    """Warn where folds of consecutive rows differ by more than chance.

    Parameters
    ----------
    folds : sequence of Moments
        They part the rows; with the products of the candidates.
    weight : ndarray or None
        Of the rows.
    """
    total = sum(folds[1:], start=folds[0])
    # So many rows of equal weight have means that vary as much.
    n_rows: float = total.n_samples
    if weight is not None:
        share = weight / weight.max()  # whose squares have a number
        n_rows = share.sum() ** 2 / (share**2).sum()
    weights = np.array([fold.sum_weights for fold in folds])
    x_means = np.stack([fold.x_mean for fold in folds]) - total.x_mean
    assert total.xx is not None and total.yy is not None and total.y_mean is not None
    y_means = np.stack([fold.y_mean - total.y_mean for fold in folds if fold.y_mean is not None])
    n_y = total.n_references
    for name, means, C in (
        ("y", y_means[:, :n_y], total.yy[:n_y, :n_y]),
        ("X", x_means, total.xx),
    ):
        some = _spaced(len(C))
        p = between_folds_pvalue(means[:, some], weights, C[np.ix_(some, some)], n_rows)
        if p < LEVEL:
            n, kind = len(folds), "KFold" if total.classes is None else "StratifiedKFold"
            warn_caller(
                f"The rows look ordered: the means of {name} differ between the {n} folds of "
                f"consecutive rows (p = {p:.0e}), so each fold is judged by rows unlike it. If the "
                f"order means nothing, pass cv={kind}({n}, shuffle=True, random_state=0); if it is "
                f"time, cv=TimeSeriesSplit({n}); if it is sites or subjects, cv=GroupKFold({n}) "
                "and groups.",
                OrderedRowsWarning,
            )
            return


def between_folds_pvalue(means: Array, weights: Array, C: Array, n_rows: float) -> float:
    """P-value of the variance between folds, for rows that come in random order.

    Parameters
    ----------
    means : ndarray of shape (n_folds, n)
        Of the folds, about the mean of all rows.
    weights : ndarray of shape (n_folds,)
        Of the folds.
    C : ndarray of shape (n, n)
        Second moments of all rows about their mean.
    n_rows : float
        Number of rows.

    Returns
    -------
    float
        1 where all columns are constant, or no fold has a row to spare.

    Notes
    -----
    Columns count alike: the share of their variance that lies between the folds has, by Box's
    approximation, an F distribution with ``d (folds − 1)`` and ``d (rows − folds)`` degrees of
    freedom, d being the number of uncorrelated columns that would vary as much, ``n² / ‖K‖²`` for
    correlations K. It is exact for one column of normally distributed rows.
    """
    variances = np.diag(C)
    varies = variances > 0
    n_folds = len(weights)
    if not varies.any() or n_rows <= n_folds:
        return 1.0
    share = float((weights @ means[:, varies] ** 2 / variances[varies]).mean())
    root = np.sqrt(variances[varies])
    K = C[np.ix_(varies, varies)] / root / root[:, None]
    d = len(K) ** 2 / float((K * K).sum())
    inner, outer = n_rows - n_folds, n_folds - 1
    if share >= 1:
        return 0.0
    return float(fdtrc(d * outer, d * inner, share / outer * inner / (1 - share)))
