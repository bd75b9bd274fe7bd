"""Arrow record batches as rows: plain columns, arrays, and the vectors of Spark ML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[Any]

CHUNK_BYTES = 1 << 25
"""Batches are joined until they hold about this much: a pass has a price of its own."""

DENSE_SHARE = 0.25
"""Vectors fuller than this are multiplied as dense rows."""

PLAIN, ARRAY, VECTOR = "plain", "array", "vector"


@dataclass(frozen=True)
class Block:
    """Neighbouring columns of a batch that make up one matrix.

    ``kind`` is PLAIN (one number a column), ARRAY (one column of lists) or VECTOR (one column of
    Spark ML vectors, dense and sparse ones mixed at will). ``label`` is what messages call it.
    """

    label: str
    columns: tuple[str, ...]
    kind: str = PLAIN
    single: bool = False


def chunks(batches: Iterable[Any]) -> Iterator[Any]:
    """Join batches into tables worth a pass."""
    import pyarrow as pa

    held: list[Any] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            size += batch.nbytes
        if size >= CHUNK_BYTES:
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)


def matrix(table: Any, first: int, block: Block) -> Any:
    """Read a block whose columns begin at position ``first``: float rows, or CSR.

    Nulls in plain columns become NaN, which the pass reports with its column unless the row has
    no weight. Raises ValueError for lists and vectors that are null or of different lengths.
    """
    if block.kind == PLAIN:
        return _plain(table, first, block)
    column = table.column(first).combine_chunks()
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(
            f"column {block.columns[0]!r} of {block.label} is null in {column.null_count} rows, "
            f"first in row {row} of the partition; drop those rows or fill them in."
        )
    if block.kind == ARRAY:
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        values = column.flatten().to_numpy(zero_copy_only=False)
        return values.reshape(len(column), _one_length(lengths, block))
    return _vectors(column, block)


def labels(table: Any, first: int) -> Array:
    """Read a column of class labels; None or NaN where one is missing."""
    return table.column(first).to_numpy()


def _plain(table: Any, first: int, block: Block) -> Array:
    columns = [table.column(first + j) for j in range(len(block.columns))]
    single = block.single
    if len(columns) == 1:
        return np.asarray(columns[0].to_numpy(), dtype=np.float32 if single else np.float64)[
            :, None
        ]
    # Column by column, as Arrow has them: the products take either order.
    out = np.empty((len(columns), table.num_rows), dtype=np.float32 if single else np.float64)
    for j, column in enumerate(columns):
        start = 0
        for chunk in column.chunks:
            out[j, start : start + len(chunk)] = chunk.to_numpy(zero_copy_only=False)
            start += len(chunk)
    return out.T


def _one_length(lengths: Array, block: Block) -> int:
    wrong = np.flatnonzero(lengths != lengths[0])
    if wrong.size:
        raise ValueError(
            f"column {block.columns[0]!r} of {block.label} holds vectors of {lengths[0]} and of "
            f"{lengths[wrong[0]]} entries (row {wrong[0]} of the partition); make them of one size."
        )
    return int(lengths[0])


def _vectors(column: Any, block: Block) -> Any:
    kind, size, indices, values = column.flatten()
    is_sparse = kind.to_numpy(zero_copy_only=False) == 0
    filled = values.value_lengths().to_numpy(zero_copy_only=False)
    data = values.flatten().to_numpy(zero_copy_only=False)
    sizes = np.where(is_sparse, size.fill_null(0).to_numpy(zero_copy_only=False), filled)
    m, n = len(column), _one_length(sizes, block)
    if not is_sparse.any():
        return data.reshape(m, n)
    starts = np.concatenate([[0], np.cumsum(filled)])
    places = np.arange(len(data)) - np.repeat(starts[:-1], filled)
    places[np.repeat(is_sparse, filled)] = indices.flatten().to_numpy(zero_copy_only=False)
    rows = sp.csr_array((data, places, starts), shape=(m, n))
    return rows.toarray() if rows.nnz > DENSE_SHARE * m * n else rows
