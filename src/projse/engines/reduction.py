"""What an engine runs where the rows lie, and how the parts come together.

A worker hands back a result, or what is wrong with its rows as plain data: an error that is raised
on a worker reaches the user under a page of the engine's own trace, and without the partition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from projse.exceptions import PartitionError

FAN_IN = 16
"""How many parts are added in one task: what a worker holds beside its own rows."""

T = TypeVar("T")


@dataclass(frozen=True)
class Layout:
    """What all partitions must look like, and what messages call it.

    ``columns`` and ``target_columns`` are the columns that frames must have, in order;
    ``n_x`` and ``n_y`` the widths that arrays must have; None where they are not known.
    ``covariate_names`` are those of the columns of covariates, in order.
    """

    n_x: int | None = None
    n_y: int | None = None
    columns: tuple[Any, ...] | None = None
    target_columns: tuple[Any, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    target_names: tuple[str, ...] | None = None
    weight_name: str | None = None
    covariate_names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Reduction(Generic[T]):
    """What to make of partitions; all of it is sent to the workers.

    Attributes
    ----------
    part : callable ``(X, Y, weight, covariates) -> result``
        Turns the rows of a partition into a result; None where there is nothing to add. Raises
        TypeError or ValueError for rows that are wrong.
    add : callable ``(result, result) -> result``
        Adds two results, the earlier partition first. Raises ValueError where they do not match.
    to_bytes, from_bytes : callable
        For engines that pass on nothing but bytes.
    size : int
        Bytes that a result takes, about.
    """

    part: Callable[[Any, Any, Any, Any], T | None]
    add: Callable[[T, T], T]
    to_bytes: Callable[[T], bytes]
    from_bytes: Callable[[bytes], T]
    size: int


@dataclass(frozen=True)
class Part(Generic[T]):
    """Result of one or more partitions, or the first thing that is wrong with them.

    ``result`` is None for partitions without rows. ``partition`` is the first one that this
    stands for, or the one that is wrong.
    """

    partition: int
    result: T | None = None
    error: str | None = None
    misaligned: bool = False

    def checked(self) -> T | None:
        """Take out the result, or raise what is wrong."""
        if self.error is not None:
            raise PartitionError(f"Partition {self.partition}: {self.error}", self.partition)
        return self.result


class RowsElsewhere(Protocol):
    """Rows that are reduced where they lie."""

    @property
    def layout(self) -> Layout:
        """What all partitions must look like."""

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

    @property
    def may_be_table(self) -> bool:
        """Whether some columns are no numbers, as far as their types tell."""

    def head(self, n: int) -> tuple[Any, Any, Any, Any]:
        """Compute candidates, references, weights and covariates of the first rows, of up to n."""

    def target_type(self, asked: str) -> str:
        """Tell what the references are, as asked for or as the columns say."""

    def reduce(self, reduction: Reduction[T]) -> Part[T]:
        """Make a pass over the rows: a result a partition, added up in a tree."""


def reduce_partition(
    partition: int,
    X: Any,
    Y: Any,
    weight: Any,
    covariates: Any,
    layout: Layout,
    reduction: Reduction[T],
) -> Part[T]:
    """Reduce one partition: arrays, sparse matrices, pandas frames or Arrow tables."""
    try:
        X = _expected_columns(X, layout.columns, layout.n_x, "X")
        if Y is not None:
            Y = _expected_columns(Y, layout.target_columns, layout.n_y, "y")
        if covariates is not None:
            names = layout.covariate_names
            n = None if names is None else len(names)
            covariates = _expected_columns(covariates, names, n, "covariates")
        m = X.shape[0]
        others = (("y", Y), ("sample_weight", weight), ("covariates", covariates))
        for label, other in others:
            if other is not None and not np.isscalar(other) and other.shape[0] != m:
                text = f"X has {m} rows, {label} has {other.shape[0]}."
                return Part(partition, error=text, misaligned=True)
        return Part(partition, reduction.part(X, Y, weight, covariates))
    except (TypeError, ValueError) as error:
        return Part(partition, error=_with_column(error, layout))


def merge(parts: Sequence[Part[T]], add: Callable[[T, T], T]) -> Part[T]:
    """Add parts in the order of their partitions, whatever the order in which they arrived."""
    parts = sorted(parts, key=lambda part: part.partition)
    failed = [part for part in parts if part.error is not None]
    if failed:
        return next((part for part in failed if part.misaligned), failed[0])
    total: T | None = None
    for part in parts:
        if part.result is None:
            continue
        try:
            total = part.result if total is None else add(total, part.result)
        except ValueError as error:
            return Part(part.partition, error=str(error))
    return Part(parts[0].partition, total)


def _expected_columns(part: Any, columns: Any, n: int | None, label: str) -> Any:
    """Put the columns of a frame in their order; refuse a part that lacks some."""
    if hasattr(part, "columns") and columns is not None:
        is_arrow = type(part).__module__.startswith("pyarrow")
        names = tuple(part.column_names if is_arrow else part.columns)
        missing = [name for name in columns if name not in names]
        if missing:
            listed = ", ".join(repr(name) for name in missing[:10])
            raise ValueError(
                f"column{'s' if len(missing) > 1 else ''} {listed} of {label} "
                f"{'are' if len(missing) > 1 else 'is'} missing; it has "
                f"{[*names][:10]}. Give all partitions the same columns."
            )
        if names != tuple(columns):
            part = part.select(list(columns)) if is_arrow else part[list(columns)]
    width = part.shape[1] if len(part.shape) == 2 else 1
    if n is not None and width != n:
        raise ValueError(
            f"{label} has {width} columns instead of {n}; give all partitions the same columns."
        )
    return part


def _with_column(error: Exception, layout: Layout) -> str:
    """Return the message in one line, with the column where it lacks it."""
    text = " ".join(str(error).split())
    names = layout.target_names
    if text.startswith(("sample_weight", "Sample weights", "Negative values in sample_weight")):
        name = layout.weight_name
        return text if name is None else f"{text} (sample_weight is column {name!r}.)"
    if names is not None and len(names) == 1 and "Input y" in text and repr(names[0]) not in text:
        return f"{text} (y is column {names[0]!r}.)"
    return text
