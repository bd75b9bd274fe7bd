"""Arrow batches of any cut become rows of the engine's size, in buffers that are used again.

pyarrow is imported where it is needed: importing this module costs nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.exceptions import SourceError
from projse.sources.arrow_columns import coded, common_dtype, numbers
from projse.sources.blocked_rows import BlockedRows, block_rows, fill
from projse.sources.columns import Columns, Field
from projse.sources.covariates import append_covariates
from projse.sources.encode_targets import refuse_continuous
from projse.sources.rows import Rows, roundoff

Array = NDArray[Any]

CHUNK_BYTES = 1 << 25
"""Bytes of a chunk: long enough to hide what a chunk costs, a small part of any memory."""

CHUNK_ROWS = (512, 1 << 18)

LARGEST_CHUNK = 1 << 28
"""Sums of thousands of references are large themselves; chunks end here all the same."""

JOINED_BYTES = 1 << 22
"""Batches on a worker are joined until they hold this much: a pass has a price of its own."""


def chunk_rows(n_x: int, n_y: int, itemsize: int) -> int:
    """Rows of a chunk: a fixed number of bytes, more where the sums themselves are large."""
    n_bytes = max(CHUNK_BYTES, min(4 * 8 * (n_x + n_y) * n_y, LARGEST_CHUNK))
    low, high = CHUNK_ROWS
    return int(np.clip(n_bytes // ((n_x + n_y) * itemsize), low, high))


def chunk_shape(fields: Sequence[Field], columns: Columns) -> tuple[int, int]:
    """Return the number of blocks of a chunk, and the rows of a block."""
    types = {f.name: f for f in fields}
    dtypes = [common_dtype([types[name] for name in columns.features])]
    if columns.beside:
        dtypes.append(common_dtype([types[name] for name in columns.beside]))
    n_x, n_y = len(columns.features), len(columns.beside)
    itemsize = max(dtype.itemsize for dtype in dtypes)
    rows = chunk_rows(n_x, n_y, itemsize)
    block = min(block_rows(n_x, n_y, itemsize), rows)
    return max(rows // block, 1), block


def chunks(batches: Iterable[Any]) -> Iterator[Any]:
    """Join batches into tables worth a pass."""
    import pyarrow as pa

    held: list[Any] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            size += batch.nbytes
        if size >= JOINED_BYTES:
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)


@dataclass
class Buffers:
    """Blocks of memory for chunks, handed out again once they were multiplied."""

    free: dict[Any, list[Array]] = field(default_factory=dict)
    lent: set[int] = field(default_factory=set)

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Return an array of any content."""
        arrays = self.free.get((shape, dtype.str))
        if not arrays and len(self.free) > 4:
            self.free.clear()  # those of files with other types
        array = arrays.pop() if arrays else np.empty(shape, dtype=dtype)
        self.lent.add(id(array))
        return array

    def give_back(self, rows: Rows) -> None:
        """Take back what rows lie in, once they are no longer needed; leave other rows alone."""
        for part in (rows.X, rows.Y):
            if isinstance(part, BlockedRows):
                self.free_array(part.blocks)

    def free_array(self, array: Array) -> None:
        """Take back an array that was handed out here."""
        if id(array) in self.lent:
            self.lent.remove(id(array))
            self.free.setdefault((array.shape, array.dtype.str), []).append(array)


def rows_of(
    batches: Iterator[Any],
    fields: Sequence[Field],
    columns: Columns,
    *,
    missing: str,
    where: str,
    buffers: Buffers,
) -> Iterator[Rows]:
    """Turn Arrow record batches into rows, re-cut so that the cut of the batches leaves no trace.

    Parameters
    ----------
    batches : iterator of pyarrow.RecordBatch
        With all of ``columns.all``, in any order.
    fields : sequence of Field
        Of the same table.
    columns : Columns
    missing : {"refuse", "drop"}
        What to do with nulls; "drop" leaves out rows with NaN too.
    where : str
        What messages call the table.
    buffers : Buffers
        X and Y of the rows lie in them; give them back.
    """
    types = {f.name: f for f in fields}
    chunk = _Chunk(columns, buffers, types, chunk_shape(fields, columns))
    batches = iter(batches)
    names = columns.all
    for batch in batches:
        weight = None
        if columns.weight is not None:
            batch, weight = weighted(batch, columns.weight, where, missing)
        if missing == "drop":
            batch, weight = without_missing(batch, weight, names, types)
        if batch.schema.names != names:
            batch = batch.select(names)
        arrays = batch.columns
        if any(array.null_count for array in arrays):
            _refuse_nulls(chain([batch], batches), columns, where)
        start, n_rows = 0, batch.num_rows
        # Memory that is free before the next batch is read is used for it, while it is in cache.
        del batch
        while start < n_rows:
            start += chunk.add(arrays, weight, start)
            if start == n_rows:
                arrays.clear()
            if chunk.full:
                yield chunk.rows()
    if chunk.n_rows:
        yield chunk.rows()


class _Chunk:
    """Rows being collected."""

    def __init__(
        self,
        columns: Columns,
        buffers: Buffers,
        types: dict[str, Field],
        shape: tuple[int, int],
    ) -> None:
        self.columns, self.buffers = columns, buffers
        self.n_blocks, self.block = shape
        self.size = self.n_blocks * self.block
        self.x_dtype = common_dtype([types[name] for name in columns.features])
        self.y_dtype = common_dtype([types[name] for name in columns.beside])
        # Covariates beside them may ask for a wider dtype.
        self.y_stored = roundoff(common_dtype([types[name] for name in columns.targets]))
        self._start()

    def _start(self) -> None:
        self.n_rows = 0
        self.x: Array | None = None
        self.y: Array | None = None
        self.weights: list[Array] = []
        self.labels: list[Any] = []

    @property
    def full(self) -> bool:
        return self.n_rows == self.size

    def add(self, arrays: list[Any], weight: Array | None, start: int) -> int:
        """Take rows from ``start`` on, as many as there is room for; columns as in ``all``."""
        columns = self.columns
        n_x, n_y = len(columns.features), len(columns.beside)
        if self.x is None:
            self.x = self.buffers.take((self.n_blocks, n_x, self.block), self.x_dtype)
            if n_y:
                self.y = self.buffers.take((self.n_blocks, n_y, self.block), self.y_dtype)
        n = min(len(arrays[0]) - start, self.size - self.n_rows)
        if n < len(arrays[0]):
            arrays = [array.slice(start, n) for array in arrays]
        for j, array in enumerate(arrays[:n_x]):
            fill(self.x, j, self.n_rows, numbers(array))
        if self.y is not None:
            for j, array in enumerate(arrays[n_x : n_x + n_y]):
                fill(self.y, j, self.n_rows, numbers(array))
        if columns.labels is not None:
            self.labels.append(arrays[n_x + n_y])
        if weight is not None:
            self.weights.append(weight[start : start + n])
        self.n_rows += n
        return n

    def rows(self) -> Rows:
        """Hand out what was collected, and start anew."""
        assert self.x is not None
        columns, n = self.columns, self.n_rows
        rows = Rows(
            X=BlockedRows(self.x, n),
            weight=np.concatenate(self.weights) if self.weights else None,
            feature_names=columns.features,
        )
        if self.y is not None:
            rows.Y = BlockedRows(self.y, n)
            rows.target_names = columns.beside
            rows.n_covariates = len(columns.covariates)
            rows.y_stored = self.y_stored
        if columns.labels is not None:
            order = self._sort_by_label(rows)
            if self.y is not None:
                covariates = BlockedRows(self.y, n)[order]
                rows = append_covariates(rows, covariates, columns.covariates)
                self.buffers.free_array(self.y)
        self._start()
        return rows

    def _sort_by_label(self, rows: Rows) -> Array:
        """Put the rows in the order of their labels: sums over a class then run along memory."""
        import pyarrow as pa

        assert self.x is not None
        classes, codes = coded(self.labels)
        if not all(pa.types.is_dictionary(piece.type) for piece in self.labels):
            refuse_continuous(classes, "the column of labels")
        order = np.argsort(codes, kind="stable")
        m = len(codes)
        for j in range(self.x.shape[1]):
            fill(self.x, j, 0, np.take(self.x[:, j].reshape(-1), order))
        if rows.weight is not None:
            rows.weight = rows.weight[order]
        indptr = np.arange(m + 1, dtype=np.int32)
        rows.Y = sp.csr_array((np.ones(m), codes[order], indptr), shape=(m, len(classes)))
        rows.classes = classes
        rows.target_names = tuple(str(c) for c in classes)
        rows.n_covariates = 0
        return order


def weighted(batch: Any, name: str, where: str, missing: str) -> tuple[Any, Array]:
    """Return the rows of a weight above 0, and the weights; a row of weight 0 is gone."""
    import pyarrow as pa

    column = batch.column(name)
    n_missing = column.null_count
    if not n_missing:
        weight = np.asarray(numbers(column), dtype=np.float64)
        n_missing = int(np.isnan(weight).sum())
    if n_missing:
        if missing != "drop":
            raise SourceError(
                f"{where}: {n_missing} nulls or NaN in the weight {name!r}; fill them, or leave "
                "those rows out with missing='drop' (--missing drop)."
            )
        batch = batch.filter(column.is_valid())
        weight = np.asarray(numbers(batch.column(name)), dtype=np.float64)
        present = ~np.isnan(weight)
        batch, weight = batch.filter(pa.array(present)), weight[present]
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        raise SourceError(
            f"{where}: weight {name!r} must be finite and not negative; {int(bad.sum())} rows of a "
            f"batch are not, the first is {weight[bad.argmax()]:g}. 0 leaves a row out."
        )
    if not weight.all():
        counted = weight > 0
        batch, weight = batch.filter(pa.array(counted)), weight[counted]
    return batch, weight


def _refuse_nulls(batches: Iterator[Any], columns: Columns, where: str) -> None:
    """Count the nulls of the rest of the table, then say which columns have how many."""
    counts: Counter[str] = Counter()
    for batch in batches:
        for name in columns.all:
            counts[name] += batch.column(name).null_count
    found = [f"{name!r} ({n})" for name, n in counts.most_common() if n]
    more = f" and {len(found) - 8} more" if len(found) > 8 else ""
    raise SourceError(
        f"{where} has nulls in {len(found)} of its columns: {', '.join(found[:8])}{more}. Leave "
        "those columns out, or say missing='drop' (--missing drop) to leave those rows out, "
        "'indicator' to give gaps a column of their own, or 'mean' to fill them with the mean."
    )


def without_missing(
    batch: Any, weight: Array | None, names: Sequence[str], types: dict[str, Field]
) -> tuple[Any, Array | None]:
    """Leave out rows with a null or a NaN in any of the columns."""
    import pyarrow as pa

    keep = np.ones(batch.num_rows, dtype=bool)
    for name in names:
        column = batch.column(name)
        if column.null_count:
            keep &= column.is_valid().to_numpy(zero_copy_only=False)
        if types[name].kind == "number" and types[name].dtype.kind == "f":  # type: ignore[union-attr]
            with np.errstate(invalid="ignore"):
                values = numbers(column)
                keep &= values == values
    if keep.all():
        return batch, weight
    return batch.filter(pa.array(keep)), None if weight is None else weight[keep]
