"""One pass over a source: reading and multiplying overlap, sums are in a fixed order.

Every part (a file, or a whole stream) is summed by itself, in chunks whose limits depend on the
part alone, and parts are added in the order of their paths. The total is therefore the same to
the last bit whether a run was interrupted or not.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from projse.exceptions import SourceError
from projse.moments.dropped import warn_dropped, warn_own_targets
from projse.moments.options import SourceOptions
from projse.moments.own_products import (
    ONCE,
    OVER_FILES,
    OVER_STATE,
    Against,
    Cross,
    OwnProducts,
    taken_from,
)
from projse.moments.state import StateFolder
from projse.moments.stream_run import Multiplier, NeedsProducts, OwnMultiplier, Report, Run
from projse.moments.sums import Moments, keeps_products
from projse.moments.through import Through
from projse.moments.whole_numbers import settle_targets
from projse.parameters import check_pass_options
from projse.sources import open_source
from projse.sources.columns import Columns, Request, choose, warn_nameless
from projse.sources.encoded_rows import first_look
from projse.sources.most_gaps import most_gaps
from projse.sources.open import marks_of
from projse.sources.parts import Part, Reading, fields_of
from projse.sources.two_spellings import warn_spellings_of

if TYPE_CHECKING:
    from projse.sources.table.encoding import TableEncoding

Array = NDArray[Any]


def moments_from(
    source: Any,
    *,
    targets: Any = None,
    features: Any = None,
    exclude: Any = None,
    weight: str | None = None,
    class_target: str | None = None,
    covariates: Any = None,
    target_type: str = "auto",
    missing: str = "refuse",
    numeric_only: bool = False,
    with_xx: bool | str = "auto",
    format: str | None = None,
    state: Any = None,
    state_by: str = "time",
    categorical_features: Any = "from_dtype",
    basis: str = "linear",
    na_values: Any = None,
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
    covariates : str or sequence of str, default=None
        Columns of numbers that a selection takes out of all others first, by name or pattern.
    target_type : {"auto", "continuous", "class"}, default="auto"
        How to read a single target: "auto" takes strings, booleans, categories and whole numbers
        for class labels.
    missing : {"refuse", "drop", "indicator", "mean"}, default="refuse"
        "drop" leaves out rows with a null or NaN in any column that is used; "indicator" and "mean"
        give gaps a column of their own, from which a selection makes what it needs.
    numeric_only : bool, default=False
        Leave out features that are not numbers, instead of encoding them.
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
    categorical_features, basis
        As in :class:`ProjSe`: strings, categories and dates are encoded, batch by batch, by what
        the first 100 000 rows tell. Names and patterns also mean covariates. Moments say what their
        columns are (``x_variables``) and how they were made (``encoding``). A state keeps that for
        the files of tomorrow.
    na_values : str or sequence of str, default=None
        What stands for a gap in CSV files ("?", "-", "missing"), beside what does in any case:
        nothing, NA, N/A, NaN, null and their like. A state keeps it.
    n_jobs, batch_size : int, default=None
        As in :class:`ProjSe`.
    progress : callable, default=None
        Called with an object that has ``n_rows``, ``n_parts``, ``n_parts_total``, ``n_kept``,
        ``fraction``, ``label`` and ``n_passes`` as the pass goes on.

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
    encoding = (covariates, categorical_features, basis, na_values)
    options = SourceOptions(*columns, with_xx, format, state, state_by, *encoding)
    opened = OpenSource(source, options, target_type, n_jobs, batch_size, progress)
    moments = opened.total()
    if class_target is not None:  # the user has said so
        return moments
    return settle_targets(moments, target_type, **opened.labels)


class OpenSource:
    """A source that was opened: its parts are listed, and stay the same from pass to pass.

    Parameters
    ----------
    source, options, target_type, n_jobs, batch_size, progress
        As in :func:`moments_from`.
    """

    def __init__(
        self,
        source: Any,
        options: SourceOptions,
        target_type: str,
        n_jobs: int | None,
        batch_size: int | None,
        progress: Report | None,
    ) -> None:
        check_pass_options(n_jobs, batch_size, options.with_xx)
        if options.state_by not in ("time", "content"):
            raise ValueError(f"state_by={options.state_by!r} is not 'time' or 'content'.")
        self.options, self.request = options, options.request(target_type)
        self.n_jobs, self.batch_size, self.progress = n_jobs, batch_size, progress
        self.parts = open_source(
            source,
            format=options.format,
            target_type=target_type,
            na_values=self.request.na_values,
        )
        self.request = replace(self.request, na_values=marks_of(self.parts))
        if options.state is not None and any(part.path is None for part in self.parts):
            raise ValueError(
                "state keeps the sums of files, and this source is none; pass paths, or leave it "
                "out."
            )
        self.columns: Columns | None = None
        self.encoding: TableEncoding | None = None
        self.n_passes = 0
        self._before: list[dict[str, Any] | None] = []

    @property
    def price(self) -> float:
        """Price of another pass, for which see :mod:`projse.moments.own_products`."""
        if not all(part.repeatable for part in self.parts):
            return ONCE
        return OVER_FILES if self.options.state is None else OVER_STATE

    @property
    def label_name(self) -> str | None:
        """Name of the column of labels, if there is one."""
        return None if self.columns is None else self.columns.labels

    @property
    def labels(self) -> dict[str, Any]:
        """What :func:`~projse.moments.whole_numbers.settle_targets` is told of them."""
        marks = any(part.takes_marks for part in self.parts)
        return {"name": self.label_name, "marks": marks}

    @property
    def n_outputs(self) -> int:
        """Number of reference columns; 0 where they are class labels, or encoded."""
        if not self.parts:
            return 0
        fields = self.parts[0].fields()
        if fields is None:
            return self.parts[0].n_outputs()
        columns = choose(fields, self.request, self.parts[0].label)
        return 0 if columns.labels is not None or columns.mixed else len(columns.targets)

    def over(self, through: Through) -> Moments:
        """Make a pass over the rows, with their references replaced."""
        if not self._before:
            self._before = self._fingerprints()
            self._settle_columns(None)
        self._refuse_change()
        with Multiplier(False, self.n_jobs, self.batch_size, through) as multiplier:
            return self._run(multiplier, self.columns, None)

    def total(
        self, needs_products: NeedsProducts | None = None, through: Through | None = None
    ) -> Moments:
        """Sum all rows; ``needs_products`` settles ``with_xx="auto"`` by the first moments.

        ``through`` replaces the references, in a pass that comes after others.
        """
        state = self.options.state
        products: bool | str | NeedsProducts = self.options.with_xx
        if products == "auto" and needs_products is not None:
            later = state is not None
            products = partial(_keeps_for_later, needs_products) if later else needs_products
        if through is not None:
            self._refuse_change()
        elif needs_products is not None:  # else there will be no other pass
            self._before = self._fingerprints()
        with ExitStack() as stack:
            folder = self._state_folder(stack)
            if through is None:
                self._settle_columns(folder)
            multiplier = Multiplier(products, self.n_jobs, self.batch_size, through)
            return self._run(stack.enter_context(multiplier), self.columns, folder)

    def _state_folder(self, stack: ExitStack) -> StateFolder | None:
        """Open the state, if there is one, until the stack is closed."""
        if self.options.state is None:
            return None
        content = self.options.state_by == "content"
        return stack.enter_context(StateFolder(self.options.state, content=content))

    def _settle_columns(self, folder: StateFolder | None) -> None:
        self.columns, self.encoding = _plan(self.parts, self.request, folder)

    def cross(self, first: Moments) -> Cross:
        """Make products of candidates by another pass over rows that moments were summed from.

        Files are all read, also those whose sums a state keeps.
        """
        columns = self.columns
        if columns is not None and self.request.missing == "refuse":
            columns = columns.without_references()  # else they say which rows are complete

        def cross(indices: Array) -> OwnProducts:
            self._refuse_change()
            with OwnMultiplier(
                Against.of(indices, first), self.n_jobs, self.batch_size
            ) as multiplier:
                total = self._run(multiplier, columns, None)
            self._refuse_change()
            return taken_from(total, first, _named(self.parts))

        return cross

    def _run(
        self,
        multiplier: Multiplier,
        columns: Columns | None,
        folder: StateFolder | None,
        make_run: Callable[..., Run] = Run,
    ) -> Moments:
        self.n_passes += 1
        run = make_run(
            self.parts,
            self.request,
            columns,
            self.encoding,
            folder,
            multiplier,
            self.progress,
            self.n_passes,
        )
        total = run.total()
        if total is None:
            why = ""
            if self.request.missing == "drop":
                found = most_gaps(self.parts, columns, Reading(columns or Columns(())))
                gaps = "columns that are mostly gaps"
                if found is not None:
                    is_feature = columns is not None and found[0] in columns.features
                    how = " (exclude, -x)" * is_feature
                    gaps = f"{found[0]!r}, which has {found[1]} of them{how}"
                why = (
                    ", or missing='drop' leaves none of them, as each has a gap. Leave out "
                    f"{gaps}, or say missing='indicator' or 'mean' (--missing on the command line)"
                )
            raise SourceError(f"{_named(self.parts)}: there are no rows to sum{why}.")
        warn_dropped(total)
        if self.n_passes == 1:
            auto = self.request.class_target is None and self.request.target_type == "auto"
            warn_own_targets(total, self.label_name, auto=auto)
            warn_spellings_of(total)
        return total

    def _fingerprints(self) -> list[dict[str, Any] | None]:
        return [_fingerprint(part) for part in self.parts]

    def _refuse_change(self) -> None:
        """Refuse files that are not those of the first pass."""
        for part, before, now in zip(self.parts, self._before, self._fingerprints(), strict=True):
            if now != before:
                raise SourceError(
                    f"{part.label} changed between two passes; products of the two would be of "
                    "different rows. Run again once nothing writes to it."
                )


def _fingerprint(part: Part) -> dict[str, Any] | None:
    """Return what changes when a file changes; None for what is none, or is gone."""
    try:
        return None if part.path is None else part.fingerprint()
    except SourceError:  # to read it will tell
        return None


def _keeps_for_later(needed: NeedsProducts, first: Moments) -> bool:
    """Tell whether a state keeps products: tomorrow's request may need more than today's.

    Where the sums at hand have them, a run before decided so; to go on as it did gives the same
    total to the last bit.
    """
    few = keeps_products("auto", first.n_x, first.one_view)
    return few or first.xx is not None or needed(first)


def _plan(
    parts: list[Part], request: Request, folder: StateFolder | None
) -> tuple[Columns | None, TableEncoding | None]:
    """Settle on columns and encoding, by the first rows or by what a state was begun with."""
    if not parts:
        raise SourceError("The source holds no files.")
    columns = None if folder is None else folder.columns(request, parts)
    encoding = None if folder is None else folder.encoding
    if columns is None:
        fields = fields_of(parts)
        if fields is None:
            if request.names_columns:
                raise ValueError(
                    "Arrays have no column names: leave out targets, features, exclude, weight, "
                    "class_target and covariates, and pass (X, Y) or (X, Y, weight)."
                )
            if request.encodes:
                raise ValueError(
                    "missing='indicator' and 'mean', categorical_features and basis='spline' need "
                    "tables; of arrays, pass a data frame, or encode them first."
                )
            return None, None
        columns = choose(fields, request, parts[0].label)
        warn_nameless(fields, request, parts[0].label)
        if columns.types:
            encoding = first_look(parts, columns, request, Reading(columns, request.missing))
    if folder is not None:
        folder.begin(columns, request, encoding)
    return columns, encoding


def _named(parts: list[Part]) -> str:
    if len(parts) == 1:
        return parts[0].label
    return f"{parts[0].label} and {len(parts) - 1} more"
