"""One pass over a source: reading and multiplying overlap, sums are in a fixed order.

Every part (a file, or a whole stream) is summed by itself, in chunks whose limits depend on the
part alone, and parts are added in the order of their paths. The total is therefore the same to
the last bit whether a run was interrupted or not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import scipy.sparse as sp

from projse.exceptions import MomentsFileError, SourceError
from projse.moments.in_memory import moments_of
from projse.moments.options import SourceOptions
from projse.moments.state import Entry, StateFolder
from projse.moments.sums import Moments, keeps_products
from projse.parameters import check_pass_options
from projse.sources import open_source
from projse.sources.batches import Buffers
from projse.sources.columns import Columns, Request, check_same, choose
from projse.sources.parts import Part, Reading
from projse.sources.rows import Rows
from projse.threads import effective_n_threads

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
    """

    n_rows: int
    n_parts: int
    n_parts_total: int
    n_kept: int
    fraction: float | None
    label: str


Report = Callable[[SourceProgress], None]
NeedsProducts = Callable[[Moments], bool]


def moments_from(
    source: Any,
    *,
    targets: Any = None,
    features: Any = None,
    exclude: Any = None,
    weight: str | None = None,
    class_target: str | None = None,
    target_type: str = "auto",
    missing: str = "refuse",
    numeric_only: bool = False,
    with_xx: bool | str = "auto",
    format: str | None = None,
    state: Any = None,
    state_by: str = "time",
    n_jobs: int | None = None,
    batch_size: int | None = None,
    progress: Report | None = None,
) -> Moments:
    """Sum over the rows of files, streams or batches, with bounded memory.

    Parameters
    ----------
    source : path, sequence of paths, dataset, data frame, stream, arrays, or iterator
        A Parquet, Arrow/Feather, CSV or .npy file, a folder of them, a glob; a pyarrow dataset;
        anything with ``__arrow_c_stream__`` (pandas, polars, DuckDB, pyarrow); arrays or memory
        maps ``(X, Y)``; an iterator of such pairs. See :mod:`projse.sources`.
    targets : str or sequence of str, default=None
        Columns of the references, by name or pattern (``"y_*"``). Without targets and
        class_target the candidates are their own references: one view.
    features : str or sequence of str, default=None
        Columns of the candidates, by name or pattern; None: all columns but the targets.
    exclude : str or sequence of str, default=None
        Columns that are not read, by name or pattern.
    weight : str, default=None
        Column of row weights: 2 counts as the row twice, 0 as the row gone.
    class_target : str, default=None
        Column of class labels, instead of targets. The labels need not be known in advance.
    target_type : {"auto", "continuous", "class"}, default="auto"
        How to read a single target: "auto" takes strings, booleans, categories and whole numbers
        for class labels.
    missing : {"refuse", "drop"}, default="refuse"
        "drop" leaves out rows with a null or NaN in any column that is used.
    numeric_only : bool, default=False
        Leave out features that are not numbers, instead of refusing them.
    with_xx : bool or "auto", default="auto"
        As in :meth:`Moments.from_arrays`.
    format : {"parquet", "feather", "arrow", "csv", "npy"}, default=None
        Format of the files; None goes by their names.
    state : path-like, default=None
        Folder that keeps the moments of every file as it is done. A run that was killed goes on
        where it was; a new file costs itself; a changed one is read again; one that was removed
        no longer counts. Sums without the products of the candidates are made anew once they are
        needed. The folder must be new, empty, or a state.
    state_by : {"time", "content"}, default="time"
        Whether a file has changed is told by its size and time, or by its content.
    n_jobs, batch_size : int, default=None
        As in :class:`ProjSe`.
    progress : callable, default=None
        Called with an object that has ``n_rows``, ``n_parts``, ``n_parts_total``, ``n_kept``,
        ``fraction`` and ``label`` as the pass goes on.

    Returns
    -------
    Moments

    Examples
    --------
    >>> import numpy as np
    >>> from projse import ProjSe, moments_from
    >>> rng = np.random.default_rng(0)
    >>> def batches():
    ...     for _ in range(5):
    ...         X = rng.normal(size=(100, 4))
    ...         yield X, X[:, [2]] + rng.normal(size=(100, 1))
    >>> moments = moments_from(batches())
    >>> moments.n_samples
    500
    >>> ProjSe(1).fit_moments(moments).selected_.tolist()
    [2]
    """
    columns = (targets, features, exclude, weight, class_target, missing, numeric_only)
    options = SourceOptions(*columns, with_xx, format, state, state_by)
    return sum_source(source, options, target_type, n_jobs, batch_size, progress)


def sum_source(
    source: Any,
    options: SourceOptions,
    target_type: str,
    n_jobs: int | None,
    batch_size: int | None,
    progress: Report | None,
    *,
    needs_products: NeedsProducts | None = None,
) -> Moments:
    """Sum a source; ``needs_products`` settles ``with_xx="auto"`` by the first chunk's moments."""
    check_pass_options(n_jobs, batch_size, options.with_xx)
    request = options.request(target_type)
    state, with_xx = options.state, options.with_xx
    if options.state_by not in ("time", "content"):
        raise ValueError(f"state_by={options.state_by!r} is not 'time' or 'content'.")
    parts = open_source(source, format=options.format, target_type=target_type)
    if state is not None and any(part.path is None for part in parts):
        raise ValueError(
            "state keeps the sums of files, and this source is none; pass paths, or leave it out."
        )
    products: bool | str | NeedsProducts = with_xx
    if with_xx == "auto" and needs_products is not None:
        later = state is not None
        products = partial(_keeps_for_later, needs_products) if later else needs_products
    with ExitStack() as stack:
        folder = None
        if state is not None:
            folder = stack.enter_context(StateFolder(state, content=options.state_by == "content"))
        columns = _columns(parts, request, folder)
        multiplier = stack.enter_context(_Multiplier(products, n_jobs, batch_size))
        run = _Run(parts, request, columns, folder, multiplier, progress)
        total = run.total()
    if total is None:
        raise SourceError(f"{_named(parts)}: there are no rows to sum.")
    return total


def _keeps_for_later(needed: NeedsProducts, first: Moments) -> bool:
    """Tell whether a state keeps products: tomorrow's request may need more than today's.

    Where the sums at hand have them, a run before decided so; to go on as it did gives the same
    total to the last bit.
    """
    few = keeps_products("auto", first.n_x, first.one_view)
    return few or first.xx is not None or needed(first)


def _columns(parts: list[Part], request: Request, folder: StateFolder | None) -> Columns | None:
    """Settle on the columns, by the first part or by what a state folder was begun with."""
    if not parts:
        raise SourceError("The source holds no files.")
    columns = None if folder is None else folder.columns(request, parts)
    if columns is None:
        fields = parts[0].fields()
        if fields is None:
            if request.names_columns:
                raise ValueError(
                    "Arrays have no column names: leave out targets, features, exclude, weight and "
                    "class_target, and pass (X, Y) or (X, Y, weight)."
                )
            return None
        columns = choose(fields, request, parts[0].label)
    if folder is not None:
        folder.begin(columns, request)
    return columns


class _Run:
    """One pass over the parts."""

    def __init__(
        self,
        parts: list[Part],
        request: Request,
        columns: Columns | None,
        folder: StateFolder | None,
        multiplier: _Multiplier,
        progress: Report | None,
    ) -> None:
        self.parts, self.request, self.columns = parts, request, columns
        self.folder, self.multiplier, self.progress = folder, multiplier, progress
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
                    while len(waiting) > CHUNKS_AHEAD:
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
            )
        )

    def _result(self, part: Part, future: Future[Moments]) -> Moments:
        try:
            return future.result()
        except ValueError as error:
            hint = ""
            if "NaN" in str(error) and self.request.missing == "refuse":
                hint = ' missing="drop" (--drop-missing) leaves out rows with NaN.'
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
                self.n_rows, self.n_parts, len(self.parts), self.n_kept, fraction, part.label
            )
        )


class _Multiplier:
    """Sums chunks in a thread of its own, so that the next one is read meanwhile."""

    def __init__(
        self,
        with_xx: bool | str | NeedsProducts,
        n_jobs: int | None,
        batch_size: int | None,
    ) -> None:
        self.with_xx: Any = with_xx
        # Asked once: while chunks are multiplied, BLAS itself has one thread.
        self.n_threads = effective_n_threads(n_jobs)
        self.batch_size = batch_size
        self.buffers = Buffers()
        self.pool = ThreadPoolExecutor(1) if self.n_threads > 1 else None

    def __enter__(self) -> _Multiplier:
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
        products = keeps_products(with_xx, rows.X.shape[1], rows.Y is None)
        n_jobs = self._share(rows, products)
        return moments_of(rows, with_xx=with_xx, n_jobs=n_jobs, batch_size=self.batch_size)

    def _share(self, rows: Rows, with_xx: bool) -> int:
        """Return how many threads may multiply, so that reading has its share of the cores."""
        n_x = rows.X.shape[1]
        n_y = 0 if rows.Y is None or sp.issparse(rows.Y) else rows.Y.shape[1]
        work = (n_x * (n_y + 2 + with_xx * n_x) + n_y**2) / (n_x + n_y)
        return max(round(self.n_threads * work / (work + READING)), 1)


def _named(parts: list[Part]) -> str:
    if len(parts) == 1:
        return parts[0].label
    return f"{parts[0].label} and {len(parts) - 1} more"
