"""Arrow record batches as rows: arrays, and the vectors of Spark ML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[Any]

CHUNK_BYTES = 1 << 22
"""Smaller batches are joined until they hold this much: a pass has a price of its own."""

DENSE_SHARE = 0.25
"""Vectors fuller than this are multiplied as dense rows."""

PLAIN, ARRAY, VECTOR = "plain", "array", "vector"


@dataclass(frozen=True)
class Block:
    """One column of a batch whose entries are the rows of a matrix.

    ``kind`` is VECTOR (Spark ML vectors, dense and sparse ones mixed at will), ARRAY (lists), or
    PLAIN: lists that were made of several columns, so that rows lie in memory as the products
    want them. ``columns`` are the names that messages use, and ``label`` what they call it all.
    """

    label: str
    columns: tuple[str, ...]
    kind: str = PLAIN


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


def matrix(table: Any, position: int, block: Block) -> Any:
    """Read a block: float rows, or CSR.

    Nulls within arrays become NaN, which the pass reports with its column unless the row has no
    weight. Raises ValueError for arrays and vectors that are null or of different lengths.
    """
    column = table.column(position)
    # To combine a single chunk would copy it.
    column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(
            f"column {block.columns[0]!r} of {block.label} is null in {column.null_count} rows, "
            f"first in row {row} of the partition; drop those rows or fill them in."
        )
    if block.kind == VECTOR:
        return _vectors(column, block)
    lengths = column.value_lengths().to_numpy(zero_copy_only=False)
    values = column.flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(column), _one_length(lengths, block))


def labels(table: Any, position: int) -> Array:
    """Read a column of class labels; None or NaN where one is missing."""
    return table.column(position).to_numpy()


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
