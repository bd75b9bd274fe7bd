"""A run over the parts of a source: chunks are read while others are multiplied.

Chunks are settled in the order in which they were read, whatever thread is done first, and a part
is added once it is whole.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import scipy.sparse as sp

from projse.exceptions import MomentsFileError, ProductsMissingError, SourceError
from projse.moments.in_memory import moments_of
from projse.moments.own_products import Against
from projse.moments.state import Entry, StateFolder
from projse.moments.sums import Moments, keeps_products
from projse.moments.through import Through
from projse.sources.batches import Buffers
from projse.sources.columns import Columns, Request, check_same
from projse.sources.parts import Part, Reading
from projse.sources.rows import Rows
from projse.threads import effective_n_threads

if TYPE_CHECKING:
    from projse.sources.table.encoding import TableEncoding

CHUNKS_AHEAD = 2
"""Chunks that wait to be multiplied while the next one is read."""

READING = 40
"""What reading a value from a file costs, in multiplications."""


@dataclass(frozen=True)
class SourceProgress:
    """How far a pass over a source is.

    Attributes
    ----------
    n_rows : int
        Rows read and summed in this run, without those whose sums were kept.
    n_parts, n_parts_total : int
        Files done, among them those that were done before, and files in all.
    n_kept : int
        Files that were not read because their sums were kept.
    fraction : float or None
        Share of the bytes; None where the size of the source is not known.
    label : str
        The file at hand.
    n_passes : int
        1 in the first pass over the source; more where a selection reads it again for products of
        its picks.
    """

    n_rows: int
    n_parts: int
    n_parts_total: int
    n_kept: int
    fraction: float | None
    label: str
    n_passes: int = 1


Report = Callable[[SourceProgress], None]
NeedsProducts = Callable[[Moments], bool]


class Run:
    """One pass over the parts."""

    def __init__(
        self,
        parts: list[Part],
        request: Request,
        columns: Columns | None,
        encoding: TableEncoding | None,
        folder: StateFolder | None,
        multiplier: Multiplier,
        progress: Report | None,
        n_passes: int = 1,
    ) -> None:
        self.parts, self.request, self.columns = parts, request, columns
        self.encoding = encoding
        self.folder, self.multiplier, self.progress = folder, multiplier, progress
        self.n_passes = n_passes
        self.n_rows = self.n_parts = self.n_kept = 0
        self.sum: Moments | None = None

    def total(self) -> Moments | None:
        """Sum the parts in their order, each read or taken from the state folder."""
        waiting: deque[tuple[Part, Future[Moments] | None, Rows | None]] = deque()
        part_sum: Moments | None = None
        failed = False
        fingerprints: dict[int, dict[str, Any]] = {}

        def settle() -> None:
            """Take the oldest chunk in; at the end of a part, the part."""
            nonlocal part_sum, failed
            part, future, rows = waiting.popleft()
            failed = True
            if future is None or rows is None:
                self._end_part(part, part_sum, fingerprints.get(id(part)))
                part_sum, failed = None, False
                return
            moments = self._result(part, future)
            failed = False
            self.multiplier.buffers.give_back(rows)
            part_sum = moments if part_sum is None else part_sum + moments
            self.n_rows += moments.n_samples
            self._report(part)

        try:
            for part in self.parts:
                entry = None if self.folder is None else self.folder.find(part)
                while entry is not None and waiting:
                    settle()  # the sums before it also settle whether products are needed
                kept = None if entry is None else self._kept(entry)
                if kept is not None:
                    self._add(kept[0])
                    self.n_kept += 1
                    self._report(part)
                    continue
                if self.folder is not None:
                    fingerprints[id(part)] = part.fingerprint(self.folder.content)
                for rows in self._rows(part):
                    waiting.append((part, self.multiplier(rows), rows))
                    while len(waiting) > self.multiplier.n_ahead:
                        settle()
                waiting.append((part, None, None))
        except Exception:
            # A file that cannot be read must not cost those that were read before it.
            if not failed:
                last = max((i for i, item in enumerate(waiting) if item[1] is None), default=-1)
                for _ in range(last + 1):
                    settle()
            raise
        while waiting:
            settle()
        return self.sum

    def _kept(self, entry: Entry) -> tuple[Moments | None] | None:
        """Return the moments of an entry, with products or without, as this pass sums them."""
        assert self.folder is not None
        try:
            moments = self.folder.load(entry)
        except MomentsFileError:
            return None  # damaged since: the file is read again
        if moments is None:
            return (None,)
        if not self.multiplier.keeps_products(moments):
            if moments.x_variables is None:  # else they tell the span of dates
                moments = replace(moments, x_min=None, x_max=None)
            return (replace(moments, xx=None),)
        return None if moments.xx is None else (moments,)

    def _rows(self, part: Part) -> Iterator[Rows]:
        columns = self.columns
        if columns is not None:
            fields = part.fields()
            assert fields is not None
            check_same(columns, fields, self.request, part.label)
        return part.rows(
            Reading(
                columns or Columns(()),
                self.request.missing,
                self.multiplier.n_threads > 1,
                self.multiplier.buffers,
                encoding=self.encoding,
            )
        )

    def _result(self, part: Part, future: Future[Moments]) -> Moments:
        try:
            return future.result()
        except ProductsMissingError:
            raise  # of what was asked for, not of the part
        except ValueError as error:
            hint = ""
            if "NaN" in str(error) and self.request.missing == "refuse":
                hint = (
                    " Or say missing='drop' (--missing drop) to leave out rows with NaN, "
                    "'indicator' to give gaps a column of their own, 'mean' to fill them in."
                )
            raise SourceError(f"{part.label}: {error}{hint}") from error

    def _end_part(
        self, part: Part, moments: Moments | None, fingerprint: dict[str, Any] | None
    ) -> None:
        if self.folder is not None and fingerprint is not None:
            if part.fingerprint(self.folder.content) != fingerprint:
                raise SourceError(
                    f"{part.label} changed while it was read. Run again once it is complete: files "
                    "that are done are kept."
                )
            self.folder.put(part, fingerprint, moments)
        self._add(moments, part)
        self._report(part)

    def _add(self, moments: Moments | None, part: Part | None = None) -> None:
        self.n_parts += 1
        if moments is None:
            return
        try:
            self.sum = moments if self.sum is None else self.sum + moments
        except ValueError as error:
            where = "" if part is None else f"{part.label}: "
            raise SourceError(f"{where}{error}") from error

    def _report(self, part: Part) -> None:
        if self.progress is None:
            return
        total = sum(p.size for p in self.parts)
        fraction = None
        if total:
            done = sum(p.size for p in self.parts[: self.n_parts])
            at_hand = 0.0
            if self.n_parts < len(self.parts):
                now = self.parts[self.n_parts]
                at_hand = now.done * now.size
            fraction = min((done + at_hand) / total, 1.0)
        self.progress(
            SourceProgress(
                self.n_rows,
                self.n_parts,
                len(self.parts),
                self.n_kept,
                fraction,
                part.label,
                self.n_passes,
            )
        )


class Multiplier:
    """Sums chunks in a thread of its own, so that the next one is read meanwhile."""

    def __init__(
        self,
        with_xx: bool | str | NeedsProducts,
        n_jobs: int | None,
        batch_size: int | None,
        through: Through | None = None,
    ) -> None:
        self.with_xx: Any = with_xx
        self.through = through
        # Asked once: while chunks are multiplied, BLAS itself has one thread.
        self.n_threads = effective_n_threads(n_jobs)
        self.batch_size = batch_size
        self.buffers = Buffers()
        self.pool = ThreadPoolExecutor(1) if self.n_threads > 1 else None
        self.n_ahead = 0 if self.pool is None else CHUNKS_AHEAD

    def __enter__(self) -> Multiplier:
        return self

    def __exit__(self, *error: Any) -> None:
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)

    def __call__(self, rows: Rows) -> Future[Moments]:
        """Begin to sum a chunk."""
        if self.pool is not None:
            return self.pool.submit(self._moments, rows)
        future: Future[Moments] = Future()
        try:
            future.set_result(self._moments(rows))
        except Exception as error:
            future.set_exception(error)
        return future

    def keeps_products(self, moments: Moments) -> bool:
        """Tell whether products are summed, which the first moments of a pass may settle."""
        if callable(self.with_xx):
            self.with_xx = bool(self.with_xx(moments))
        return keeps_products(self.with_xx, moments.n_x, moments.one_view)

    def _moments(self, rows: Rows) -> Moments:
        if callable(self.with_xx):
            first = self._sum(rows, False)
            if not self.keeps_products(first):
                return first
        return self._sum(rows, self.with_xx)

    def _sum(self, rows: Rows, with_xx: bool | str) -> Moments:
        products = keeps_products(with_xx, rows.X.shape[1], rows.one_view)
        n_jobs = self._share(rows, products)
        options: Any = {"with_xx": with_xx, "n_jobs": n_jobs, "batch_size": self.batch_size}
        if self.through is not None:
            return self.through.moments_of(rows, **options)
        return moments_of(rows, **options)

    def _share(self, rows: Rows, with_xx: bool) -> int:
        """Return how many threads may multiply, so that reading has its share of the cores."""
        n_x = rows.X.shape[1]
        n_y = 0 if rows.Y is None or sp.issparse(rows.Y) else rows.Y.shape[1]
        work = (n_x * (n_y + 2 + with_xx * n_x) + n_y**2) / (n_x + n_y)
        return max(round(self.n_threads * work / (work + READING)), 1)


class OwnMultiplier(Multiplier):
    """Sums the products of chunks with some of their own candidates."""

    def __init__(self, against: Against, n_jobs: int | None, batch_size: int | None) -> None:
        super().__init__(False, n_jobs, batch_size)
        self.against = against

    def _moments(self, rows: Rows) -> Moments:
        rows = self.against(rows)
        return self.against.with_extremes(self._sum(rows, False), rows)
