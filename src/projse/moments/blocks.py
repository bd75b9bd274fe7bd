"""Blocks of rows: their moments from one pass, and any sum of them as a row of one product.

A subsample is a sum of blocks and a fold is all of them but one, so a hundred resamples cost
little more than the pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples

from projse.engines.dask import DaskRows
from projse.moments.align import aligned
from projse.moments.extremes import StackedExtremes
from projse.moments.in_memory import moments_of
from projse.moments.partitions import encoding_elsewhere, partition_moments
from projse.moments.resample import deal, generator, group_codes
from projse.moments.rounding import refuse_vanishing_squares
from projse.moments.sparse_products import centred_yx
from projse.moments.sums import Moments
from projse.moments.whole_numbers import settle_blocks
from projse.parameters import check_pass_options, is_whole
from projse.sources.covariates import append_covariates
from projse.sources.encode_targets import column_names
from projse.sources.rows import Rows, is_dask, make_rows, refuse_dask, refuse_non_numeric_columns
from projse.sources.table.frame import is_table
from projse.sources.table.partition import LookOptions, encoded_piece
from projse.threads import effective_n_threads, ordered_map, threads_worth

Array = NDArray[Any]


def block_moments(
    X: Any,
    y: Any = None,
    n_blocks: int | None = 100,
    sample_weight: Any = None,
    *,
    covariates: Any = None,
    groups: Any = None,
    stratify: bool = True,
    random_state: Any = None,
    with_xx: bool | str = "auto",
    target_type: str = "auto",
    categorical_features: Any = "from_dtype",
    missing: str = "refuse",
    basis: str = "linear",
    n_jobs: int | None = None,
    batch_size: int | None = None,
) -> list[Moments]:
    """Deal the rows to blocks at random, and sum each block: one pass for any resampling.

    Feed the blocks to :meth:`StabilityProjSe.fit_moments` or :meth:`ProjSeCV.fit_moments` as often
    as you like: with other shares, kernels or numbers of picks.

    Parameters
    ----------
    X, y, sample_weight, covariates, with_xx, target_type, n_jobs, batch_size
        As in :meth:`Moments.from_arrays`.
    n_blocks : int or None, default=100
        None, with Dask collections: each partition is a block, and its rows stay where they are.
        Such blocks are not dealt at random: resamples then speak of new partitions (days, sites),
        unless the rows were shuffled before.
    groups : array-like of shape (n_samples,), default=None
        Rows of a group go to the same block.
    stratify : bool, default=True
        Spread class labels evenly over the blocks.
    random_state : int, RandomState, Generator or None, default=None
    categorical_features, missing, basis
        As in :class:`ProjSe`: how columns that are no numbers, or have gaps, are encoded. The first
        rows tell, for all blocks alike.

    Returns
    -------
    list of Moments
        One a block; blocks without rows are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from projse import ProjSe, StabilityProjSe, block_moments
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 10))
    >>> Y = X[:, [3, 8]] + rng.normal(size=(500, 2))
    >>> blocks = block_moments(X, Y, 20, random_state=0)
    >>> stable = StabilityProjSe(ProjSe(2), random_state=0).fit_moments(blocks)
    >>> sorted(stable.selected_.tolist())
    [3, 8]
    """
    check_pass_options(n_jobs, batch_size, with_xx)
    look = LookOptions(categorical_features, missing, basis)
    if n_blocks is None and is_dask(X):
        if groups is not None:
            raise ValueError("groups and partitions as blocks (n_blocks=None) exclude each other.")
        options: Any = {"target_type": target_type, "n_jobs": n_jobs, "batch_size": batch_size}
        remote = DaskRows.of(X, y, sample_weight, covariates)
        options["encoding"] = encoding_elsewhere(remote, look, target_type)
        parts = partition_moments(remote, with_xx=with_xx, **options)
        return settle_blocks(parts, target_type, y) if parts else parts
    refuse_dask(
        "block_moments cannot deal out single rows; n_blocks=None takes each partition as a block",
        *(X, y, sample_weight, covariates),
    )
    encoding = None
    if look.forced or any(is_table(part) for part in (X, y, covariates)):
        piece = (X, y, sample_weight, covariates)
        encoding = look.look(piece, target_type, column_names(X))
    if encoding is not None:
        if groups is not None and missing == "drop":
            raise ValueError(
                "groups and missing='drop' exclude each other here: leave rows with gaps out first."
            )
        encoded = encoded_piece(piece, encoding, target_type)
        if encoded is None:
            raise ValueError("X has 0 rows that count: there is nothing to deal out.")
        rows, with_xx = encoded, True
    else:
        refuse_non_numeric_columns(X)
        names = column_names(X)
        X = check_array(X, accept_sparse=("csr", "csc"), dtype="numeric", ensure_all_finite=False)
        rows = make_rows(X, y, sample_weight, target_type=target_type, feature_names=names)
        rows = append_covariates(rows, covariates)
    m = rows.n_samples
    if n_blocks is None or not is_whole(n_blocks) or not 2 <= n_blocks <= m:
        raise ValueError(f"n_blocks={n_blocks!r} must be a number from 2 to {m}, the rows.")
    n = _num_samples(X)
    codes = group_codes(groups, n)
    if codes is not None and m < n:  # of tables, rows of weight 0 are left out
        codes = group_codes(codes[np.asarray(sample_weight) > 0], m)
    strata = rows.strata() if stratify and codes is None else None
    blocks = deal(m, n_blocks, generator(random_state), strata, codes)
    return moments_of_blocks(
        rows,
        [block for block in blocks if len(block)],
        with_xx=with_xx,
        n_jobs=n_jobs,
        batch_size=batch_size,
    )


def moments_of_blocks(
    rows: Rows,
    blocks: Sequence[Array],
    *,
    with_xx: bool | str,
    n_jobs: int | None = None,
    batch_size: int | None = None,
) -> list[Moments]:
    """Sum each block of rows by itself: one pass, one block a thread."""

    def of(block: Array) -> Moments:
        run = len(block) > 0 and int(block[-1] - block[0]) == len(block) - 1
        indices = slice(int(block[0]), int(block[-1]) + 1) if run else block
        return moments_of(rows.take(indices), with_xx=with_xx, n_jobs=1, batch_size=batch_size)

    return list(ordered_map(of, blocks, effective_n_threads(n_jobs)))


def all_but_one(parts: Sequence[Moments]) -> list[Moments]:
    """Return the sums of all parts but the first, the second, …: nothing is subtracted."""
    before = list(accumulate(parts[:-1]))
    after = list(accumulate(parts[:0:-1]))[::-1]
    inner = [a + b for a, b in zip(before[:-1], after[1:], strict=True)]
    return [after[0], *inner, before[-1]]


def _middle(means: Sequence[Array]) -> Array:
    """Return the middle one of the blocks' means, column by column.

    One row far from all others drags the mean of all rows away from them: about that, sums of the
    blocks without this row would be rounding.
    """
    place = (len(means) - 1) // 2
    middle: Array = np.partition(np.stack(means), place, axis=0)[place]
    return middle


class StackedMoments:
    """Moments of blocks about one common shift, stacked: there they simply add up.

    Parameters
    ----------
    blocks : sequence of Moments
        Of the same variables; their classes and levels are united.
    """

    def __init__(self, blocks: Sequence[Moments]) -> None:
        total = sum(blocks[1:], start=blocks[0])
        refuse_vanishing_squares(total)
        blocks = [aligned(block, total)[0] for block in blocks]
        self.total = total
        self.n_blocks = len(blocks)
        self.n_samples = np.array([block.n_samples for block in blocks])
        self._extremes = StackedExtremes(blocks)
        self.weights = np.array([block.sum_weights for block in blocks])
        self._x_shift = _middle([block.x_mean for block in blocks])
        dx = [block.x_mean - self._x_shift for block in blocks]
        self.has_xx = total.xx is not None
        self._x = self._stack(w * d for w, d in zip(self.weights, dx, strict=True))
        self._xx: Array | None = None
        self._xx_diag: Array | None = None
        if self.has_xx:
            self._xx = self._stack(
                block.xx + w * np.outer(d, d)
                for block, w, d in zip(blocks, self.weights, dx, strict=True)
            )
        else:
            self._xx_diag = self._stack(
                block.xx_diag + w * d**2
                for block, w, d in zip(blocks, self.weights, dx, strict=True)
            )
        self._y: Array | None = None
        self._yy: Array | None = None
        self._yx: Array | None = None
        if total.y_mean is None:
            return
        y_means = [np.asarray(block.y_mean) for block in blocks]
        self._y_shift = _middle(y_means)
        dy = [mean - self._y_shift for mean in y_means]
        self._y = self._stack(w * d for w, d in zip(self.weights, dy, strict=True))
        self._yy = self._stack(
            block.yy + w * np.outer(d, d)
            for block, w, d in zip(blocks, self.weights, dy, strict=True)
        )
        self._yx = self._stack(
            centred_yx(block) + w * np.outer(e, d)
            for block, w, d, e in zip(blocks, self.weights, dx, dy, strict=True)
        )

    def _stack(self, parts: Iterator[Array]) -> Array:
        """One row a block."""
        first = next(parts)
        out = np.empty((self.n_blocks, first.size))
        out[0] = first.ravel()
        for row, part in zip(out[1:], parts, strict=True):
            row[:] = part.ravel()
        return out

    def sums(self, counts: Array, chunk: int = 16) -> Iterator[Moments]:
        """Yield the moments of sums of blocks.

        Parameters
        ----------
        counts : ndarray of shape (n_sums, n_blocks)
            How often each block is in each sum.
        chunk : int
            Sums made in one product.
        """
        for start in range(0, len(counts), chunk):
            part = np.asarray(counts[start : start + chunk], dtype=np.float64)
            weights, n_samples = part @ self.weights, part @ self.n_samples
            x, xx, xx_diag, y, yy, yx = (
                None if stack is None else self._sums(part, stack)
                for stack in (self._x, self._xx, self._xx_diag, self._y, self._yy, self._yx)
            )
            for i, (n, w) in enumerate(zip(n_samples, weights, strict=True)):
                moments = self._moments(
                    int(n),
                    float(w),
                    *(None if a is None else a[i] for a in (x, xx, xx_diag, y, yy, yx)),
                )
                for name, values in self._extremes.of(part[i] > 0).items():
                    setattr(moments, name, values)
                yield moments

    def _sums(self, counts: Array, stack: Array) -> Array:
        with threads_worth(counts.size * stack.shape[1]):
            sums: Array = counts @ stack
        return sums

    def _moments(
        self,
        n: int,
        w: float,
        x: Any,
        xx: Any,
        xx_diag: Any,
        y: Any,
        yy: Any,
        yx: Any,
    ) -> Moments:
        """Centre sums about the common shift."""
        moments = copy(self.total)
        n_x, n_y = moments.n_x, moments.n_y
        dx = x / w
        if xx is not None:
            xx = xx.reshape(n_x, n_x)
            xx_diag = np.diag(xx).copy()
            xx = xx - (w * dx)[:, None] * dx
        moments.n_samples, moments.sum_weights = n, w
        moments.x_mean = self._x_shift + dx
        moments.xx_diag = np.maximum(xx_diag - w * dx**2, 0.0)
        moments.xx, moments.x_peak = xx, xx_diag
        if y is None:
            return moments
        dy = y / w
        yy = yy.reshape(n_y, n_y)
        moments.y_mean = self._y_shift + dy
        moments.y_peak = np.diag(yy).copy()
        moments.yy = yy - (w * dy)[:, None] * dy
        moments.yx = yx.reshape(n_y, n_x) - (w * dy)[:, None] * dx
        return moments
