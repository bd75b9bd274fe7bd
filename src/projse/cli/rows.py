"""Rows of files in memory, for what has to shuffle them."""

from typing import Any

import numpy as np

from projse.cli.read import Reading, moments_files
from projse.sources import open_source
from projse.sources.columns import choose
from projse.sources.parts import Reading as HowToRead
from projse.sources.parts import fields_of, import_arrow

MOST_BYTES = 2 << 30
"""Rows of up to so much are held in memory."""


def rows_in_memory(reading: Reading, what: str) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Read candidates, references and covariates; refuse what does not fit in memory.

    Parameters
    ----------
    reading : Reading
    what : str
        The option that needs the rows, for messages.

    Returns
    -------
    X, y : pyarrow.Table
    covariates : ndarray or None
    parameters : dict
        Of a selector from them.
    """
    source = reading.source
    if moments_files(reading.data):
        raise ValueError(f"{what} shuffles rows, which moments do not keep; pass the rows.")
    if source.weight is not None:
        raise ValueError(f"{what} shuffles rows that count alike; leave out --weight.")
    request = source.request("continuous")
    parts = open_source(reading.data, format=source.format, target_type="continuous")
    fields = fields_of(parts)
    if fields is None:
        raise ValueError(f"{what} needs targets by name, and {parts[0].label} has no names.")
    columns = choose(fields, request, parts[0].label)
    tables, n_bytes = [], 0

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
        tables.append(part.head(how, 1 << 62, counted))
    whole = import_arrow().concat_tables(tables, promote_options="permissive")
    if columns.labels is not None:
        y, target_type = whole.column(columns.labels).to_numpy(), "class"
    else:
        y = whole.select(list(columns.targets))
        kinds = {field.name: field for field in fields}
        plain = all(kinds[name].plain for name in columns.targets)
        target_type = "continuous" if plain else "auto"
    covariates = None
    if columns.covariates:  # numbers: the source refuses others
        numbers = [whole.column(name).cast("float64").to_numpy() for name in columns.covariates]
        covariates = np.column_stack(numbers)
    parameters = {
        "target_type": target_type,
        "categorical_features": list(columns.categorical) or "from_dtype",
    }
    return whole.select(list(columns.features)), y, covariates, parameters
