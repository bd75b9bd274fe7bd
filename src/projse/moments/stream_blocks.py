"""One pass over a source, summed in blocks: for folds that are held out, and for resamples.

Rows are dealt to the blocks at random as they are read, chunk by chunk. Where there are at least as
many files as folds, a fold is a run of files: rows of a day are then never predicted from others of
the same day. A state keeps the sums of whole files, so with one the blocks are files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.exceptions import SourceError
from projse.moments.resample import deal
from projse.moments.stream import OpenSource
from projse.moments.stream_run import Multiplier, Run
from projse.moments.sums import Moments
from projse.sources.parts import Part
from projse.sources.rows import Rows

Array = NDArray[Any]

BLOCKS = 100
"""Blocks that resamples are drawn from, at most."""

STACK_BYTES = 1 << 29
"""Sums of the blocks take at most about this much, unless there are only ten."""

FOLDS_BYTES = 1 << 32
"""Sums of the folds, and of all rows but each of them, may take so much."""


class BlockedSource(OpenSource):
    """A source whose rows are summed in blocks, with the products of the candidates."""

    by_file: bool = False
    """Whether each fold is whole files, once they were summed."""

    def folds(self, n_folds: int, *, resampled: bool, random_state: int) -> list[list[Moments]]:
        """Sum all rows in one pass.

        Parameters
        ----------
        n_folds : int
            With a state, at most the number of files.
        resampled : bool
            Make many blocks, to draw resamples from; else a fold is one.
        random_state : int
            Of the deal.

        Returns
        -------
        list of list of Moments
            Blocks of each fold; those without rows are left out.
        """
        with ExitStack() as stack:
            folder = self._state_folder(stack)
            self._settle_columns(folder)
            n_parts = len(self.parts)
            self.by_file = folder is not None or 1 < n_folds <= n_parts
            if folder is not None:
                files = FileBlocks(min(n_folds, n_parts), n_parts, resampled)
                multiplier = Multiplier(True, self.n_jobs, self.batch_size)
                self._run(stack.enter_context(multiplier), self.columns, folder, files.run)
                return files.folds()
            dealer = Dealer(n_folds, n_parts if self.by_file else 1, resampled, random_state)
            dealing = DealingMultiplier(dealer, self.n_jobs, self.batch_size)
            self._run(stack.enter_context(dealing), self.columns, None, DealingRun)
            return dealer.folds()


def runs(n: int, n_runs: int) -> Array:
    """Return the run that each of n things in a row belongs to, all runs about as long."""
    return np.arange(n) * n_runs // max(n, 1)


class Dealer:
    """Sums of blocks, to which rows are dealt at random."""

    def __init__(self, n_folds: int, n_parts: int, resampled: bool, random_state: int) -> None:
        self.n_folds, self.resampled = n_folds, resampled
        self.fold_of_part = runs(n_parts, n_folds) if n_parts > 1 else None
        self.rng = np.random.default_rng(random_state)
        self.sums: list[Moments | None] = []

    def deal(self, rows: Rows, part: int) -> Iterator[tuple[int, Array]]:
        """Yield blocks, and which of the rows go there."""
        if not self.sums:
            self.sums = [None] * self._n_blocks(rows)
        blocks = np.arange(len(self.sums))
        if self.fold_of_part is not None:
            blocks = blocks[blocks % self.n_folds == self.fold_of_part[part]]
        self.rng.shuffle(blocks)  # of few rows, the first blocks get more
        dealt = deal(rows.n_samples, len(blocks), self.rng, rows.strata(), None)
        for block, indices in zip(blocks.tolist(), dealt, strict=True):
            if len(indices):
                yield block, indices

    def add(self, block: int, moments: Moments) -> None:
        """Add the moments of rows that were dealt to a block."""
        before = self.sums[block]
        self.sums[block] = moments if before is None else before + moments

    def folds(self) -> list[list[Moments]]:
        """Return the blocks that have rows, by fold."""
        return _with_rows([self.sums[fold :: self.n_folds] for fold in range(self.n_folds)])

    def _n_blocks(self, rows: Rows) -> int:
        """Choose how many blocks there are, by the size of their sums."""
        p = rows.X.shape[1]
        q = rows.n_covariates + (0 if rows.one_view else rows.n_references)
        size = 8 * (q * q + q * p + p * p)
        if 4 * self.n_folds * size > FOLDS_BYTES:
            raise MemoryError(
                f"The products of {p:,} candidates in {self.n_folds} folds would take about "
                f"{4 * self.n_folds * size / 2**30:.0f} GiB; leave candidates out (features, "
                "exclude), or ask for fewer folds."
            )
        if not self.resampled:
            return self.n_folds
        n = int(np.clip(STACK_BYTES // size, 10, BLOCKS))
        return max(n - n % self.n_folds, self.n_folds)


class DealingMultiplier(Multiplier):
    """Sums the rows of a chunk by the blocks that they are dealt to."""

    def __init__(self, dealer: Dealer, n_jobs: int | None, batch_size: int | None) -> None:
        super().__init__(True, n_jobs, batch_size)
        self.dealer = dealer
        self.part = 0
        self._parts: deque[int] = deque()

    def __call__(self, rows: Rows) -> Future[Moments]:
        """Begin to sum a chunk, of the part at hand: the next may begin before it is summed."""
        self._parts.append(self.part)
        return super().__call__(rows)

    def _moments(self, rows: Rows) -> Moments:
        total: Moments | None = None
        for block, indices in self.dealer.deal(rows, self._parts.popleft()):
            moments = self._sum(rows.take(indices), True)
            self.dealer.add(block, moments)
            total = moments if total is None else total + moments
        return self._sum(rows, True) if total is None else total


class DealingRun(Run):
    """A run that tells its multiplier which part its chunks are of."""

    def _rows(self, part: Part) -> Iterator[Rows]:
        assert isinstance(self.multiplier, DealingMultiplier)
        self.multiplier.part = self.parts.index(part)
        return super()._rows(part)


class FileBlocks:
    """Blocks that are files, or runs of them where there are many."""

    def __init__(self, n_folds: int, n_files: int, resampled: bool) -> None:
        if n_files < 2:
            raise SourceError(
                "state keeps the sums of whole files, and there is one: folds and resamples need "
                "at least 2. Leave out the state, or cut the file into several."
            )
        self.fold_of_file = runs(n_files, n_folds)
        self.block_of_file = runs(n_files, min(n_files, BLOCKS)) if resampled else self.fold_of_file
        self.sums: dict[tuple[int, int], Moments] = {}

    def run(self, *arguments: Any) -> Run:
        """Make a run over the files that hands their sums over."""
        return FilesRun(self, *arguments)

    def add(self, file: int, moments: Moments) -> None:
        """Add the moments of a file."""
        place = int(self.fold_of_file[file]), int(self.block_of_file[file])
        before = self.sums.get(place)
        self.sums[place] = moments if before is None else before + moments

    def folds(self) -> list[list[Moments]]:
        """Return the blocks of each fold."""
        n_folds = int(self.fold_of_file[-1]) + 1
        found: list[list[Moments | None]] = [[] for _ in range(n_folds)]
        for (fold, _), moments in sorted(self.sums.items(), key=lambda item: item[0]):
            found[fold].append(moments)
        return _with_rows(found)


class FilesRun(Run):
    """A run that hands over the sums of each file."""

    def __init__(self, blocks: FileBlocks, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.blocks = blocks

    def _add(self, moments: Moments | None, part: Part | None = None) -> None:
        if moments is not None:
            self.blocks.add(self.n_parts, moments)
        super()._add(moments, part)


def _with_rows(folds: list[list[Moments | None]]) -> list[list[Moments]]:
    kept = [[m for m in fold if m is not None and m.n_samples] for fold in folds]
    return [fold for fold in kept if fold]
