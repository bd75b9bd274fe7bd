"""Which rows, or blocks of rows, a resample holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from projse.parameters import is_whole

Array = NDArray[Any]


def deal(
    n: int, n_blocks: int, rng: np.random.Generator, strata: Array | None, groups: Array | None
) -> list[Array]:
    """Deal rows to blocks at random; return the rows of each block in ascending order.

    Parameters
    ----------
    n, n_blocks : int
    rng : Generator
    strata : ndarray of int of shape (n,) or None
        Classes, spread evenly over the blocks.
    groups : ndarray of int of shape (n,) or None
        Rows that stay together in one block; the largest groups go first, each to the block
        that has the fewest rows.
    """
    # Narrow integers: sorting them is a matter of counting.
    narrow = np.min_scalar_type(n_blocks)
    if groups is not None:
        sizes = np.bincount(groups)
        order = rng.permutation(len(sizes))
        order = order[np.argsort(-sizes[order], kind="stable")]
        load = np.zeros(n_blocks, dtype=np.intp)
        of_group = np.empty(len(sizes), dtype=np.intp)
        for group in order:
            of_group[group] = int(np.argmin(load))
            load[of_group[group]] += sizes[group]
        block = of_group.astype(narrow)[groups]
    elif strata is not None:
        order = rng.permutation(n)
        order = order[np.argsort(strata[order], kind="stable")]
        # One row after the other to the next block: every class is spread as evenly as can be.
        block = np.empty(n, dtype=narrow)
        block[order] = np.arange(n) % n_blocks
    else:
        block = np.resize(np.arange(n_blocks, dtype=narrow), n)
        rng.shuffle(block)
    by_block = np.argsort(block, kind="stable")
    return np.split(by_block, np.cumsum(np.bincount(block, minlength=n_blocks))[:-1])


def draw_counts(
    n_units: int, n_draws: int, n_resamples: int, rng: np.random.Generator, bootstrap: bool
) -> Array:
    """Draw units (blocks, groups) for each resample; return how often each is in it.

    Returns
    -------
    ndarray of int of shape (n_resamples, n_units)
    """
    counts = np.zeros((n_resamples, n_units), dtype=np.intp)
    for row in counts:
        drawn = rng.choice(n_units, n_draws, replace=bootstrap)
        np.add.at(row, drawn, 1)
    return counts


def draw_rows(
    n: int,
    subsample: float,
    n_resamples: int,
    rng: np.random.Generator,
    bootstrap: bool,
    strata: Array | None,
    groups: Array | None,
) -> Iterator[Array]:
    """Yield the rows of each resample, drawn one by one; by class, or by group, where given."""
    if groups is not None:
        n_groups = int(groups.max()) + 1
        members = np.split(np.argsort(groups, kind="stable"), np.cumsum(np.bincount(groups))[:-1])
        for row in draw_counts(n_groups, share(subsample, n_groups), n_resamples, rng, bootstrap):
            drawn = np.repeat(np.arange(n_groups), row)
            yield np.sort(np.concatenate([members[g] for g in drawn]))
        return
    parts = [np.arange(n)]
    if strata is not None:
        parts = np.split(np.argsort(strata, kind="stable"), np.cumsum(np.bincount(strata))[:-1])
    for _ in range(n_resamples):
        picked = [
            rng.choice(part, share(subsample, len(part)), replace=bootstrap) for part in parts
        ]
        yield np.sort(np.concatenate(picked))


def share(subsample: float, n: int) -> int:
    """Return how many of n units a resample draws: at least one."""
    return max(1, round(subsample * n))


def generator(random_state: Any) -> np.random.Generator:
    """Return a generator that an int, a RandomState, a Generator or None stands for."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or is_whole(random_state):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def group_codes(groups: Any, n: int) -> Array | None:
    """Return the number of the group of each of n rows; None where there are none."""
    if groups is None:
        return None
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise ValueError(f"groups has shape {groups.shape}, but X has {n} rows; pass one a row.")
    return np.unique(groups, return_inverse=True)[1]
