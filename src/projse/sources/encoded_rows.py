"""Rows of tables with categories, dates and gaps: a first look, then every batch by its plan.

pyarrow is imported where it is needed: importing this module costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.exceptions import SourceError
from projse.sources.arrow_columns import coded, numbers, with_plain_gaps
from projse.sources.batches import weighted, without_missing
from projse.sources.columns import Columns, Field, Request
from projse.sources.covariates import with_covariates
from projse.sources.encode_targets import NO_LABEL, missing_labels, refuse_continuous
from projse.sources.rows import Rows, check_weight

if TYPE_CHECKING:
    from projse.sources.parts import Part, Reading
    from projse.sources.table.encoding import TableEncoding

Array = NDArray[Any]

Weighted = tuple[Any, Array | None]
"""An Arrow table or batch, and the weights of its rows."""

CHUNK_BYTES = 1 << 24
"""Bytes of the entries of a chunk: sums of many levels are large, and are added once a chunk."""

CHUNK_ROWS = (1 << 12, 1 << 17)

LOOK_BYTES = 1 << 27
"""A first look is at so many columns at a time that their numbers take up to this (128 MiB)."""


def chunk_rows(encoding: TableEncoding) -> int:
    """Rows of a chunk: a fixed number of bytes of entries and their places."""
    widths = [max(len(plan.knots) + 1, 2 * len(plan.cycles) + 1) for plan in encoding.x.plans]
    low, high = CHUNK_ROWS
    return int(np.clip(CHUNK_BYTES // (12 * (sum(widths) + 1)), low, high))


def first_look(
    parts: Sequence[Part], columns: Columns, request: Request, reading: Reading
) -> TableEncoding:
    """Plan how to encode a table, by its first rows.

    Parameters
    ----------
    parts : sequence of Part
    columns : Columns
    request : Request
    reading : Reading
        How rows are read.
    """
    from projse.sources.table.encoder import LOOK_ROWS, TableEncoder
    from projse.sources.table.encoding import TableEncoding

    width = max(LOOK_BYTES // (8 * LOOK_ROWS), 1)
    if not all(part.repeatable for part in parts):
        width = len(columns.all)  # what was looked at is kept, and read no second time

    def look(names: Sequence[str], label: str, **options: Any) -> TableEncoder:
        declared = set() if label == "y" else set(columns.categorical)
        seen: list[TableEncoder] = []
        start, n_looked_at = 0, width
        while start < len(names):
            some = list(names[start : start + n_looked_at])
            table, weight = _first_rows(parts, some, reading, LOOK_ROWS)
            # Every look reads the file anew: where it has fewer rows, all other columns fit in one.
            start += len(some)
            n_looked_at = max(width, LOOK_BYTES // (8 * max(table.num_rows, 1)))
            if label == "y" and all_plain:
                table = _booleans_as_numbers(table)
            categorical = [name in declared for name in some]
            try:
                seen.append(
                    TableEncoder.look(
                        table,
                        categorical_features=np.array(categorical),
                        missing=request.missing,
                        label=label,
                        weight=weight,
                        marks=any(part.takes_marks for part in parts),
                        **options,
                    )
                )
            except ValueError as error:
                raise SourceError(f"{parts[0].label}: {error}") from error
        plans = tuple(plan for encoder in seen for plan in encoder.plans)
        return replace(seen[0], names=tuple(names), plans=plans)

    by_name = {field.name: field for field in parts[0].fields() or ()}
    all_plain = all(by_name[name].plain for name in columns.targets)
    x = look(columns.features, "X", basis=request.basis)
    y = look(columns.targets, "y", max_levels=None) if columns.mixed else None
    z = look(columns.covariates, "covariates", max_levels=None) if columns.covariates else None
    return TableEncoding(x, y, z)


def _booleans_as_numbers(table: Any) -> Any:
    """Let 0 and 1 stand for booleans, as they do among references that are all numbers."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        if pa.types.is_boolean(field.type):
            column = table.column(place).cast(pa.uint8())
            table = table.set_column(place, field.name, column)
    return table


def _first_rows(parts: Sequence[Part], names: list[str], reading: Reading, n: int) -> Weighted:
    """Read some columns of the first n rows that count, as far as the first types hold."""
    import pyarrow as pa

    columns, missing = reading.columns, reading.missing
    weights = [] if columns.weight is None else [columns.weight]
    tables: list[Any] = []
    left = n
    for part in parts:
        types = {field.name: field for field in part.fields() or ()}

        def take(batch: Any, where: str = part.label, types: dict[str, Field] = types) -> Any:
            batch = understood(batch)
            if columns.weight is not None:
                batch, _ = weighted(batch, columns.weight, where, missing)
            if missing == "drop":
                batch, _ = without_missing(batch, None, columns.all, types)
            return batch.select([*names, *weights])

        table = _known_types(part.head(reading, left, take), columns)
        if tables:
            try:
                table = table.cast(tables[0].schema)
            except (pa.ArrowException, ValueError):
                break  # to encode it will tell
        tables.append(table)
        left -= table.num_rows
        if left <= 0:
            break
    table = pa.concat_tables(tables)
    weight = check_weight(_plain(table, weights)[:, 0], table.num_rows) if weights else None
    return table.select(names), weight


def _known_types(table: Any, columns: Columns) -> Any:
    """Give columns of nothing but gaps the type that they have in parts to come."""
    import pyarrow as pa

    kinds = columns.type_of
    for place, field in enumerate(table.schema):
        kind = kinds.get(field.name, "")
        if not pa.types.is_null(field.type) or kind in ("", "null"):
            continue
        known = pa.float64()
        if "string" in kind:
            known = pa.string()
        elif kind.startswith(("timestamp", "date")):
            known = pa.timestamp("us")
        elif kind == "bool":
            known = pa.bool_()
        table = table.set_column(place, field.name, table.column(place).cast(known))
    return table


def understood(batch: Any) -> Any:
    """Turn types that few know (run ends, extensions, half floats, views) into their plain like.

    Gaps are gaps of rows then, and not among the values of a dictionary.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    t = pa.types
    arrays = batch.columns
    for place, array in enumerate(arrays):
        while True:
            if t.is_run_end_encoded(array.type):
                array = pc.run_end_decode(array)
            elif isinstance(array, pa.ExtensionArray):
                array = array.storage
            elif t.is_float16(array.type):
                array = array.cast(pa.float32())
            elif t.is_decimal(array.type):
                array = array.cast(pa.float64())
            elif hasattr(t, "is_string_view") and t.is_string_view(array.type):  # Arrow 16
                array = array.cast(pa.large_string())
            else:
                break
        arrays[place] = array
    if [array.type for array in arrays] != batch.schema.types:
        batch = pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)
    return with_plain_gaps(batch)


def encoded_rows(
    batches: Iterable[Any],
    columns: Columns,
    encoding: TableEncoding,
    *,
    missing: str,
    where: str,
) -> Iterator[Rows]:
    """Encode Arrow record batches, joined until they are worth a pass.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        With all of ``columns.all``, in any order.
    columns : Columns
    encoding : TableEncoding
    missing : {"refuse", "drop", "indicator", "mean"}
    where : str
        What messages call the table.
    """
    size = chunk_rows(encoding)
    plain = encoding.to_dict()
    for table, weight in _joined(_counted(batches, columns, missing, where), size):
        try:
            rows = _encoded(table, weight, columns, encoding, missing)
        except ValueError as error:
            hint = " (--missing on the command line)" if "missing='drop'" in str(error) else ""
            raise SourceError(f"{where}: {error}{hint}") from error
        if rows is not None:
            rows.encoding = plain
            yield rows


def _counted(
    batches: Iterable[Any], columns: Columns, missing: str, where: str
) -> Iterator[Weighted]:
    for batch in batches:
        batch, weight = understood(batch), None
        if columns.weight is not None:
            batch, weight = weighted(batch, columns.weight, where, missing)
        yield batch, weight


def _joined(batches: Iterable[Weighted], size: int) -> Iterator[Weighted]:
    """Join batches until they have so many rows, and cut those that have more."""
    import pyarrow as pa

    held: list[Weighted] = []
    n = 0
    for batch, weight in batches:
        start = 0
        while start < batch.num_rows:
            stop = min(start + size - n, batch.num_rows)
            part = None if weight is None else weight[start:stop]
            held.append((batch.slice(start, stop - start), part))
            n, start = n + stop - start, stop
            if n == size:
                yield _join(held, pa)
                held, n = [], 0
    if held:
        yield _join(held, pa)


def _join(held: list[Weighted], pa: Any) -> Weighted:
    weights = [weight for _, weight in held if weight is not None]
    table = pa.Table.from_batches([batch for batch, _ in held])
    return table, np.concatenate(weights) if weights else None


def _encoded(
    table: Any, weight: Array | None, columns: Columns, encoding: TableEncoding, missing: str
) -> Rows | None:
    """Encode a chunk; None where no row of it is left."""
    if missing == "drop":
        gaps = _gaps(table, columns, encoding)
        if gaps.any():
            table = table.filter(~gaps)
            weight = None if weight is None else weight[~gaps]
    if not table.num_rows:
        return None
    X, x_variables = encoding.x.encode(table.select(columns.features), later=True)
    rows = Rows(X, weight=weight, x_variables=x_variables)
    if encoding.y is not None:
        rows.Y, rows.y_variables = encoding.y.encode(table.select(columns.targets))
    elif columns.targets:
        rows.Y, rows.target_names = _plain(table, columns.targets), columns.targets
    if columns.labels is not None:
        _label(rows, table.column(columns.labels), missing)
    if encoding.z is not None:
        Z, variables = encoding.z.encode(table.select(columns.covariates))
        rows = with_covariates(rows, Z, variables.titles, variables)
    return rows


def _gaps(table: Any, columns: Columns, encoding: TableEncoding) -> NDArray[np.bool_]:
    gaps = encoding.x.gaps(table.select(columns.features))
    if encoding.y is not None:
        gaps |= encoding.y.gaps(table.select(columns.targets))
    elif columns.targets:
        gaps |= np.isnan(_plain(table, columns.targets)).any(axis=1)
    if encoding.z is not None:
        gaps |= encoding.z.gaps(table.select(columns.covariates))
    if columns.labels is not None:
        gaps |= table.column(columns.labels).is_null(nan_is_null=True).to_numpy()
    return gaps


def _plain(table: Any, names: Sequence[str]) -> Array:
    """Read columns of numbers, with NaN for nulls."""
    values = [numbers(_one_chunk(table.column(name))) for name in names]
    return np.stack([np.asarray(v, dtype=np.float64) for v in values], axis=1)


def _one_chunk(column: Any) -> Any:
    column = column.combine_chunks()
    return column.chunk(0) if hasattr(column, "chunks") and column.num_chunks == 1 else column


def _label(rows: Rows, column: Any, missing: str) -> None:
    """Take class labels as the references; a gap among strings may be a class of its own."""
    import pyarrow as pa

    n_missing = int(column.is_null(nan_is_null=True).to_numpy().sum())
    if n_missing:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if missing not in ("indicator", "mean") or not is_text:
            number = "" if is_text else " Numbers may have gaps: target_type='continuous'."
            raise ValueError(missing_labels(n_missing) + number)
        column = column.cast(pa.string()).fill_null(NO_LABEL)
    classes, codes = coded(column.chunks)
    if not pa.types.is_dictionary(column.type):
        refuse_continuous(classes, "the column of labels")
    m = len(codes)
    indptr = np.arange(m + 1, dtype=np.int32)
    rows.Y = sp.csr_array((np.ones(m), codes, indptr), shape=(m, len(classes)))
    rows.classes, rows.target_names = classes, tuple(str(c) for c in classes)
