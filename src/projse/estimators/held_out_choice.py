"""The choice from held-out scores: what is better by more than chance, else what is preferred."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Array = NDArray[Any]

TIE = 1e-10
"""Scores that differ by no more are equal: the same variables in another order."""

LEVEL = 0.05
"""Of data sets that are noise, about this share may seem to predict."""


def standard_error(scores: Array) -> Array:
    """Return the standard error of the mean over the folds, which are the last axis."""
    return np.asarray(scores.std(axis=-1, ddof=1) / np.sqrt(scores.shape[-1]))


def choose(scores: Array, rule: str) -> tuple[int, int]:
    """Choose an entry of a grid and a number of variables.

    Parameters
    ----------
    scores : ndarray of shape (n_entries, n_sizes, n_folds)
        Entries in order of preference, sizes ascending; NaN for what could not be judged.
    rule : {"1se", "best"}
        "best": the best mean. "1se": the first entry whose best mean is within one standard error
        of that, the error being that of the difference on the same folds; and of it the fewest
        variables within one standard error of its best mean.

    Returns
    -------
    entry, size : int
    """
    mean = scores.mean(axis=2)
    best = np.nanmax(mean, axis=1, initial=-np.inf)
    is_best = mean >= best[:, None] - TIE
    entry = int(np.argmax(best >= best.max() - TIE))
    if rule == "1se":
        # Each entry at its best, against the best of all.
        own = scores[np.arange(len(scores)), np.argmax(is_best, axis=1)]
        entry = int(np.argmax(_is_within_error(own[entry] - own)))
        limit = best[entry] - TIE - standard_error(own[entry])
        return entry, int(np.argmax(mean[entry] >= limit))
    return entry, int(np.argmax(is_best[entry]))


def predicts(scores: Array, overlap: float) -> bool:
    """Tell whether the best mean score is above 0, by a test at a level of 5 %.

    Folds share training rows, so their scores err together: the variance of the mean of k scores is
    about ``(1/k + overlap)`` times theirs, not 1/k (Nadeau and Bengio, Inference for the
    generalization error, Machine Learning 52, 2003). That the best of many curves is tested is not
    charged for.

    Parameters
    ----------
    scores : ndarray of shape (n_entries, n_sizes, n_folds)
    overlap : float
        Held-out rows over training rows.
    """
    mean, k = scores.mean(axis=2), scores.shape[2]
    best = np.unravel_index(int(np.nanargmax(mean)), mean.shape)
    error = standard_error(scores[best]) * np.sqrt(1 + k * overlap)
    return bool(mean[best] > stdtrit(k - 1, 1 - LEVEL) * error)


def _is_within_error(lead: Array) -> NDArray[np.bool_]:
    """Tell which leads, fold by fold, are no larger than their standard errors."""
    return np.asarray(lead.mean(axis=-1) <= TIE + standard_error(lead))
