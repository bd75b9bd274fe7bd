"""One face for all tables: columns by name or place, slices and choices of rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.sources.arrow_columns import with_plain_gaps

Array = NDArray[Any]

COPIED_ROWS = 512
"""Rows that are turned into columns at a time."""


@dataclass(frozen=True)
class Frame:
    """Columns of a data frame (through narwhals) or of a two-dimensional array.

    Attributes
    ----------
    data : narwhals.DataFrame or ndarray
    label : str
        What messages call the table.
    """

    data: Any
    label: str = "X"

    @classmethod
    def of(cls, table: Any, label: str = "X") -> Frame:
        """Wrap a frame, a series, an Arrow table or record batch, or an array."""
        if isinstance(table, cls):
            return table
        if isinstance(table, np.ndarray) or sp.issparse(table):
            return cls(_two_dimensional(table, label), label)
        native = _plain_table(table)
        if _is_lazy(table):
            raise ValueError(
                f"{label} is lazy ({type(table).__name__}): its rows are not here yet. Pass "
                f"{label}.collect(), or the files themselves to fit_source."
            )
        try:
            data = nw.from_native(native, eager_only=True, allow_series=True)
        except TypeError:
            return cls(_two_dimensional(np.asarray(table, dtype=object), label), label)
        except nw.exceptions.DuplicateError:
            if not hasattr(native, "set_axis"):
                refuse_repeated_names(native, label)
            # By place, as where columns have no names.
            data = nw.from_native(native.set_axis(range(native.shape[1]), axis=1), eager_only=True)
        return cls(data.to_frame() if isinstance(data, nw.Series) else data, label)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.data.shape

    @cached_property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns, where all of them are strings."""
        if isinstance(self.data, np.ndarray):
            return None
        return self._columns if all(isinstance(name, str) for name in self._columns) else None

    @cached_property
    def _columns(self) -> tuple[Any, ...]:
        """Names of the columns of a data frame: asked once, since Arrow makes them each time."""
        return tuple(self.data.columns)

    def title(self, j: int) -> str:
        """Return what messages call a column."""
        return repr(self.names[j]) if self.names else str(j)

    def column(self, j: int) -> Any:
        """Return a narwhals series or a one-dimensional array."""
        if isinstance(self.data, np.ndarray):
            return self.data[:, j]
        return self.data.get_column(self._columns[j])

    def rows(self, start: int, stop: int) -> Frame:
        """Keep a slice of rows."""
        return Frame(self.data[start:stop], self.label)

    def by_column(self) -> Frame:
        """Let the columns of an array of numbers lie together, in a copy if need be.

        A column at a time would be read from all over memory; some rows at a time stay in a cache.
        """
        data = self.data
        if not isinstance(data, np.ndarray) or data.dtype.kind != "f" or data.flags.f_contiguous:
            return self
        copy = np.empty(data.shape[::-1], dtype=data.dtype)
        for start in range(0, len(data), COPIED_ROWS):
            copy[:, start : start + COPIED_ROWS] = data[start : start + COPIED_ROWS].T
        return Frame(copy.T, self.label)

    def take(self, mask: NDArray[np.bool_]) -> Frame:
        """Keep the rows that are marked."""
        if isinstance(self.data, np.ndarray):
            return Frame(self.data[mask], self.label)
        return Frame(self.data[np.flatnonzero(mask)], self.label)


def is_table(part: Any) -> bool:
    """Whether something may have columns that are no numbers: a frame, or an array of objects."""
    if isinstance(part, np.ndarray):
        return part.ndim == 2 and part.dtype.kind in "OUTMm"
    if _is_lazy(part):  # to be refused; to ask for its columns may cost a lot
        return True
    return getattr(part, "ndim", 2) == 2 and (
        hasattr(part, "columns") or hasattr(part, "to_struct_array")
    )


def _is_lazy(part: Any) -> bool:
    return hasattr(part, "collect") and not hasattr(part, "shape")


def refuse_repeated_names(table: Any, label: str = "X") -> None:
    """Refuse a data frame with several columns of one name: neither could be named."""
    columns = None if _is_lazy(table) else getattr(table, "columns", None)
    names = getattr(table, "column_names", None)  # of Arrow, whose columns are the values
    if not isinstance(names, list):
        if columns is None or getattr(columns, "is_unique", True):
            return
        names = columns
    twice = [name for name, n in Counter(names).items() if n > 1]
    if not twice:
        return
    raise ValueError(
        f"{label} has several columns called {', '.join(map(repr, twice[:8]))}; rename them, or "
        "pass an array, whose columns go by place."
    )


def _plain_table(table: Any) -> Any:
    """Make a table of an Arrow batch, which narwhals does not take; gaps are those of rows."""
    if type(table).__module__.split(".")[0] == "pyarrow" and hasattr(table, "to_struct_array"):
        import pyarrow as pa

        if isinstance(table, pa.RecordBatch):
            table = pa.Table.from_batches([table])
        return with_plain_gaps(table)
    return table


def _two_dimensional(array: Any, label: str) -> Array:
    if sp.issparse(array):
        raise ValueError(
            f"{label} is sparse: its columns are numbers without gaps; use a dense array or a data "
            "frame for categories, gaps and splines."
        )
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2:
        raise ValueError(f"{label} must have one or two dimensions, not {array.ndim}.")
    return array
