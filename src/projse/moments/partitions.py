"""Rows in partitions on other machines: what one of them comes down to, and how parts add up.

A worker hands back moments, or what is wrong with its rows as plain data: an error that is raised
on a worker reaches the user under a page of the engine's own trace, and without the partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from projse.exceptions import PartitionError
from projse.moments.sums import Moments, moments_of
from projse.sources.rows import make_rows, refuse_non_numeric_columns

Array = NDArray[Any]

FAN_IN = 16
"""How many partial sums are added in one task: what a worker holds beside its own rows."""


class RowsElsewhere(Protocol):
    """Rows that are summed where they lie."""

    @property
    def n_x(self) -> int | None:
        """Number of candidates; None where only the pass will tell."""

    @property
    def n_y(self) -> int | None:
        """Number of reference columns; None where only the pass will tell."""

    @property
    def one_view(self) -> bool:
        """Whether the references are the candidates themselves."""

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the candidates."""

    def moments(
        self, *, with_xx: bool, target_type: str, n_jobs: int | None, batch_size: int | None
    ) -> Moments:
        """Make a pass over the rows."""


@dataclass(frozen=True)
class PartSum:
    """Moments of one or more partitions, or the first thing that is wrong with them.

    ``moments`` is None for partitions without rows. ``partition`` is the first one that this
    stands for, or the one that is wrong.
    """

    partition: int
    moments: Moments | None = None
    error: str | None = None
    misaligned: bool = False


@dataclass(frozen=True)
class PartitionPass:
    """What a worker must know to sum its rows.

    ``columns`` and ``target_columns`` are the columns that frames must have, in order;
    ``n_x`` and ``n_y`` the widths that arrays must have; None where they are not known.
    """

    with_xx: bool | str = False
    target_type: str = "auto"
    n_jobs: int | None = None
    batch_size: int | None = None
    n_x: int | None = None
    n_y: int | None = None
    columns: tuple[Any, ...] | None = None
    target_columns: tuple[Any, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    target_names: tuple[str, ...] | None = None
    weight_name: str | None = None

    @property
    def many_labels(self) -> bool:
        """Whether several columns of labels are to become indicators."""
        return self.target_type == "class" and (self.n_y or 1) > 1


class _Misaligned(Exception):
    """Candidates, references and weights of a partition are of different length."""


def sum_partition(partition: int, X: Any, Y: Any, weight: Any, settings: PartitionPass) -> PartSum:
    """Sum the rows of one partition: arrays, sparse matrices or pandas frames."""
    try:
        return PartSum(partition, _partition_moments(X, Y, weight, settings))
    except _Misaligned as error:
        return PartSum(partition, error=str(error), misaligned=True)
    except (TypeError, ValueError) as error:
        return PartSum(partition, error=_with_column(error, settings))


def merge(parts: Sequence[PartSum]) -> PartSum:
    """Add parts in the order of their partitions, whatever the order in which they arrived."""
    parts = sorted(parts, key=lambda part: part.partition)
    failed = [part for part in parts if part.error is not None]
    if failed:
        return next((part for part in failed if part.misaligned), failed[0])
    total: Moments | None = None
    for part in parts:
        if part.moments is None:
            continue
        try:
            total = part.moments if total is None else _add(total, part.moments)
        except ValueError as error:
            return PartSum(part.partition, error=str(error))
    return PartSum(parts[0].partition, total)


def finish(total: PartSum, settings: PartitionPass) -> Moments:
    """Take the moments out of the sum of all partitions, or raise what is wrong."""
    if total.error is not None:
        raise PartitionError(f"Partition {total.partition}: {total.error}", total.partition)
    if total.moments is None:
        raise ValueError(
            "X has 0 rows of non-zero weight: all partitions are empty. There is nothing to "
            "select from."
        )
    return replace(total.moments, classes=None) if settings.many_labels else total.moments


def _add(a: Moments, b: Moments) -> Moments:
    if (a.classes is None) != (b.classes is None):
        kinds = ("numbers", "class labels") if a.classes is None else ("class labels", "numbers")
        raise ValueError(
            f"y looks like {kinds[1]} here, and like {kinds[0]} in the partitions before; say "
            "which with target_type='class' or target_type='continuous'."
        )
    return a + b


def _partition_moments(X: Any, Y: Any, weight: Any, settings: PartitionPass) -> Moments | None:
    X = _expected_columns(X, settings.columns, settings.n_x, "X")
    if Y is not None:
        Y = _expected_columns(Y, settings.target_columns, settings.n_y, "y")
    m = X.shape[0]
    for label, other in (("y", Y), ("sample_weight", weight)):
        if other is not None and not np.isscalar(other) and other.shape[0] != m:
            raise _Misaligned(f"X has {m} rows, {label} has {other.shape[0]}.")
    if m == 0 or (weight is not None and not np.any(weight)):
        return None
    if isinstance(X, np.ndarray) and X.dtype.kind in "US":
        X = X.astype(object)  # so that the column is named that is not a number
    refuse_non_numeric_columns(X)
    X = check_array(X, accept_sparse=("csr", "csc"), dtype="numeric", ensure_all_finite=False)
    rows = make_rows(
        X, Y, weight, target_type=settings.target_type, feature_names=settings.feature_names
    )
    if settings.target_names is not None and rows.classes is None and not settings.many_labels:
        rows = replace(rows, target_names=settings.target_names)
    moments = moments_of(
        rows,
        with_xx=settings.with_xx,
        n_jobs=settings.n_jobs,
        batch_size=settings.batch_size,
    )
    return _as_classes(moments) if settings.many_labels else moments


def _expected_columns(part: Any, columns: Any, n: int | None, label: str) -> Any:
    """Put the columns of a frame in their order; refuse a part that lacks some."""
    if hasattr(part, "columns") and columns is not None:
        missing = [name for name in columns if name not in part.columns]
        if missing:
            listed = ", ".join(repr(name) for name in missing[:10])
            raise ValueError(
                f"column{'s' if len(missing) > 1 else ''} {listed} of {label} "
                f"{'are' if len(missing) > 1 else 'is'} missing; it has "
                f"{[*part.columns][:10]}. Give all partitions the same columns."
            )
        if tuple(part.columns) != columns:
            part = part[list(columns)]
    width = part.shape[1] if part.ndim == 2 else 1
    if n is not None and width != n:
        raise ValueError(
            f"{label} has {width} columns instead of {n}; give all partitions the same columns."
        )
    return part


def _as_classes(moments: Moments) -> Moments:
    """Let indicators of several columns of labels grow as one set of classes does.

    Their titles ``column=label`` stand for the classes until all partitions are added.
    """
    assert moments.target_names is not None
    assert moments.y_mean is not None and moments.yy is not None
    titles = np.array(moments.target_names)
    order = np.argsort(titles, kind="stable")
    yx = moments.yx
    return replace(
        moments,
        y_mean=moments.y_mean[order],
        yy=moments.yy[np.ix_(order, order)],
        yx=sp.csc_array(sp.csr_array(yx)[order]) if sp.issparse(yx) else yx[order],
        classes=titles[order],
        target_names=tuple(titles[order].tolist()),
    )


def _with_column(error: Exception, settings: PartitionPass) -> str:
    """Return the message in one line, with the column where it lacks it."""
    text = " ".join(str(error).split())
    names = settings.target_names
    if text.startswith(("sample_weight", "Sample weights", "Negative values in sample_weight")):
        name = settings.weight_name
        return text if name is None else f"{text} (sample_weight is column {name!r}.)"
    if names is not None and len(names) == 1 and "Input y" in text and repr(names[0]) not in text:
        return f"{text} (y is column {names[0]!r}.)"
    return text
