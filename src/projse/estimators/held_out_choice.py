"""The choice from held-out scores: what is better by more than chance, else what is preferred."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


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
    entry, size = divmod(int(np.nanargmax(mean)), mean.shape[1])
    if rule == "best":
        return entry, size
    best_sizes = np.argmax(np.where(np.isnan(mean), -np.inf, mean), axis=1)
    own_best = np.take_along_axis(scores, best_sizes[:, None, None], axis=1)[:, 0]
    lead = scores[entry, size] - own_best
    entry = int(np.argmax(lead.mean(axis=1) <= standard_error(lead)))
    size = int(best_sizes[entry])
    limit = mean[entry, size] - standard_error(scores[entry, size])
    return entry, int(np.argmax(mean[entry] >= limit))
