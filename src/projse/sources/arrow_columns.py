"""Columns of Arrow as NumPy: numbers, labels, lists, and the vectors of Spark ML.

pyarrow is imported where it is needed: importing this module costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.sources.columns import NAMELESS, Field
from projse.warn import many

Array = NDArray[Any]

DENSE_SHARE = 0.25
"""Vectors fuller than this are multiplied as dense rows."""

PLAIN, ARRAY, VECTOR, TABLE = "plain", "array", "vector", "table"


@dataclass(frozen=True)
class Block:
    """One column of a batch whose entries are the rows of a matrix.

    ``kind`` is VECTOR (Spark ML vectors, dense and sparse ones mixed at will), ARRAY (lists),
    PLAIN: lists that were made of several columns, so that rows lie in memory as the products
    want them, or TABLE: structs of columns that are to be encoded. ``columns`` are the names that
    messages use, and ``label`` what they call it all.
    """

    label: str
    columns: tuple[str, ...]
    kind: str = PLAIN


def field_of(column: Any, *, by_default: bool = True) -> Field:
    """Describe a field of an Arrow schema."""
    import pyarrow.types as t

    kind, categorical = "other", False
    dtype: np.dtype[Any] | None = None
    arrow_type = column.type
    while True:
        if t.is_dictionary(arrow_type):
            categorical, arrow_type = True, arrow_type.value_type
        elif t.is_run_end_encoded(arrow_type):
            arrow_type = arrow_type.value_type
        elif hasattr(arrow_type, "storage_type"):
            arrow_type = arrow_type.storage_type
        else:
            break
    if t.is_boolean(arrow_type):
        kind, dtype = "bool", np.dtype(np.uint8)
    elif t.is_float16(arrow_type):
        kind, dtype = "number", np.dtype(np.float32)
    elif t.is_integer(arrow_type) or t.is_floating(arrow_type):
        kind, dtype = "number", np.dtype(arrow_type.to_pandas_dtype())
    elif t.is_decimal(arrow_type):
        kind, dtype = "number", np.dtype(np.float64)
    elif t.is_null(arrow_type):
        kind, dtype = "null", np.dtype(np.float64)
    elif any(
        is_text(arrow_type)
        for is_text in (t.is_string, t.is_large_string, getattr(t, "is_string_view", t.is_string))
    ):
        kind = "text"
    elif t.is_date(arrow_type) or t.is_timestamp(arrow_type):
        kind = "date"
    elif t.is_duration(arrow_type):
        kind = "duration"
    index = column.name.startswith("__index_level_") and column.name.endswith("__")
    index = index or NAMELESS.fullmatch(column.name) is not None
    return Field(column.name, kind, str(column.type), dtype, categorical, by_default and not index)


def numbers(column: Any) -> Array:
    """Return the numbers of an Arrow array, NaN for nulls; a view wherever there can be one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    t = pa.types
    while True:
        if t.is_dictionary(column.type):
            column = column.dictionary_decode()
        elif t.is_run_end_encoded(column.type):
            column = pc.run_end_decode(column)
        elif isinstance(column, pa.ExtensionArray):
            column = column.storage
        else:
            break
    if t.is_decimal(column.type):
        column = column.cast(pa.float64())
    return column.to_numpy(zero_copy_only=False)


def with_plain_gaps(table: Any) -> Any:
    """Return an Arrow table or batch whose gaps are gaps of rows: see :func:`plain_gaps`."""
    import pyarrow as pa

    schema = table.schema
    for place, arrow_type in enumerate(schema.types):
        if not pa.types.is_dictionary(arrow_type):
            continue
        column = table.column(place)
        plain = plain_gaps(column)
        if plain is column:
            continue
        if isinstance(table, pa.Table):
            table = table.set_column(place, schema.field(place), plain)
        else:
            arrays = table.columns
            arrays[place] = plain
            table = pa.RecordBatch.from_arrays(arrays, schema=schema)
    return table


def plain_gaps(column: Any) -> Any:
    """Return a dictionary column without nulls among its values; itself, where there are none.

    A row may hold the number of a value that is null, or NaN, itself. Arrow does not count it among
    the nulls then, and it would be taken for a level.
    """
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        chunks = [plain_gaps(chunk) for chunk in column.chunks]
        same = all(new is old for new, old in zip(chunks, column.chunks, strict=True))
        return column if same else pa.chunked_array(chunks, column.type)
    values = column.dictionary
    gap = values.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    if not gap.any():
        return column
    places = np.where(gap, 0, np.cumsum(~gap) - 1)
    return pa.DictionaryArray.from_arrays(
        pa.array(places, column.type.index_type, mask=gap).take(column.indices),
        values.filter(pa.array(~gap)),
        ordered=column.type.ordered,
    )


def common_dtype(fields: Sequence[Field]) -> np.dtype[Any]:
    """Return the narrowest dtype that holds all columns; float32 stays float32."""
    dtypes = {f.dtype for f in fields if f.dtype is not None}
    return np.result_type(*dtypes) if dtypes else np.dtype(np.float64)


def coded(pieces: list[Any]) -> tuple[Array, Array]:
    """Return the sorted classes of pieces of labels, and the class of each row as a number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values, codes = [], []
    for piece in pieces:
        if isinstance(piece, pa.ExtensionArray):
            piece = piece.storage
        if pa.types.is_run_end_encoded(piece.type):
            piece = pc.run_end_decode(piece)
        if pa.types.is_decimal(piece.type):
            piece = piece.cast(pa.float64())
        if not pa.types.is_dictionary(piece.type):
            piece = piece.dictionary_encode()
        values.append(np.array(piece.dictionary.to_pylist()))
        codes.append(piece.indices.to_numpy(zero_copy_only=False))
    offsets = np.cumsum([0, *(len(v) for v in values)])
    # A dictionary may hold values that no row has: those are no classes of these rows.
    place = np.concatenate(
        [c.astype(np.intp) + o for c, o in zip(codes, offsets[:-1], strict=True)]
    )
    used, place = np.unique(place, return_inverse=True)
    classes, merged = np.unique(np.concatenate(values)[used], return_inverse=True)
    return classes, merged[place].astype(np.int32)


def matrix(table: Any, position: int, block: Block) -> Any:
    """Read a block: float rows, or CSR.

    Nulls within arrays become NaN, which the pass reports with its column unless the row has no
    weight. Raises ValueError for arrays and vectors that are null or of different lengths.
    """
    column = table.column(position)
    # To combine a single chunk would copy it.
    column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if block.kind == TABLE:
        import pyarrow as pa

        return pa.Table.from_arrays(column.flatten(), names=list(block.columns))
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(
            f"column {block.columns[0]!r} of {block.label} is null in "
            f"{many(column.null_count, 'row')}, "
            f"first in row {row} of the partition; drop those rows or fill them in."
        )
    if block.kind == VECTOR:
        return _vectors(column, block)
    lengths = column.value_lengths().to_numpy(zero_copy_only=False)
    values = numbers(column.flatten())
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
    data = numbers(values.flatten())
    sizes = np.where(is_sparse, size.fill_null(0).to_numpy(zero_copy_only=False), filled)
    m, n = len(column), _one_length(sizes, block)
    if not is_sparse.any():
        return data.reshape(m, n)
    starts = np.concatenate([[0], np.cumsum(filled)])
    places = np.arange(len(data)) - np.repeat(starts[:-1], filled)
    places[np.repeat(is_sparse, filled)] = indices.flatten().to_numpy(zero_copy_only=False)
    rows = sp.csr_array((data, places, starts), shape=(m, n))
    return rows.toarray() if rows.nnz > DENSE_SHARE * m * n else rows
