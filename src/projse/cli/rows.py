"""Rows of files in memory, for what has to shuffle them."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from projse.cli.read import Reading, moments_files
from projse.sources import open_source
from projse.sources.columns import choose
from projse.sources.held_part import HeldPart
from projse.sources.parts import ArrowPart, fields_of, import_arrow
from projse.sources.parts import Reading as HowToRead

MOST_BYTES = 2 << 30
"""Rows of up to so much are held in memory."""


@dataclass(frozen=True)
class HeldRows:
    """Rows of files, in memory.

    Attributes
    ----------
    X : pyarrow.Table
    y : pyarrow.Table or ndarray
    covariates : ndarray, pyarrow.Table or None
    parameters : dict
        Of a selector from them.
    parts : list of HeldPart
        The same rows as a source, so that no file is read again.
    """

    X: Any
    y: Any
    covariates: Any
    parameters: dict[str, Any]
    parts: list[HeldPart]


def rows_in_memory(reading: Reading, what: str) -> HeldRows:
    """Read candidates, references and covariates; refuse what does not fit in memory.

    Parameters
    ----------
    reading : Reading
    what : str
        The option that needs the rows, for messages.
    """
    started, source = time.perf_counter(), reading.source
    if moments_files(reading.data):
        raise ValueError(f"{what} shuffles rows, which moments do not keep; pass the rows.")
    if source.weight is not None:
        raise ValueError(f"{what} shuffles rows that count alike; leave out --weight.")
    request = source.request("continuous")
    parts = open_source(
        reading.data,
        format=source.format,
        target_type="continuous",
        na_values=request.na_values,
    )
    fields = fields_of(parts)
    if fields is None:
        raise ValueError(f"{what} needs targets by name, and {parts[0].label} has no names.")
    columns = choose(fields, request, parts[0].label)
    plain = {field.name for field in fields if field.plain}

    def are_plain(names: Iterable[str]) -> bool:
        return plain.issuperset(names)

    held, n_bytes = [], 0

    def counted(batch: Any) -> Any:
        nonlocal n_bytes
        n_bytes += batch.nbytes
        if n_bytes > MOST_BYTES:
            raise MemoryError(
                f"{what} shuffles rows in memory, and these take more than "
                f"{MOST_BYTES / 2**30:g} GiB: try a part of the files, or leave it out."
            )
        return batch

    how = HowToRead(columns, source.missing)
    for part in parts:
        assert isinstance(part, ArrowPart)
        held.append(HeldPart(part, part.head(how, 1 << 62, counted)))
    reading.seconds += time.perf_counter() - started
    tables = [part.table for part in held]
    whole = import_arrow().concat_tables(tables, promote_options="permissive")
    if columns.labels is not None:
        y, target_type = whole.column(columns.labels).to_numpy(), "class"
    else:
        y = whole.select(list(columns.targets))
        target_type = "continuous" if are_plain(columns.targets) else "auto"
    covariates = None
    if columns.covariates:
        covariates = whole.select(list(columns.covariates))
        if are_plain(columns.covariates) and not any(c.null_count for c in covariates.columns):
            numbers = [column.cast("float64").to_numpy() for column in covariates.columns]
            covariates = np.column_stack(numbers)
    parameters = {
        "target_type": target_type,
        "categorical_features": list(columns.categorical) or "from_dtype",
    }
    return HeldRows(whole.select(list(columns.features)), y, covariates, parameters, held)
