"""The encoder of tables: columns of every type, odd values, several libraries, two batches."""

from __future__ import annotations

import datetime as dt
import decimal
import random
from typing import Any

import numpy as np

from fuzz.taken import Taken

FLOATS = (0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 1e-300, 2.0**53, 0.1)
INTEGERS = (0, 1, -1, 2, 3, 2**31, -(2**63), 2**63 - 1, 2**53 + 1, 7)
TEXTS = ("", "a", "b", "A", " ", "nan", "None", "é", "\0", "1", "a" * 300, "\ud800", "𝒳", "<b>")
DATES = ("1970-01-01", "2020-02-29", "1677-09-21T00:12:44", "2262-04-11", "NaT", "0001-01-01")
WIDE = ("floats", "integers", "texts", "booleans", "dates", "durations", "decimals", "objects",
        "gaps", "float32", "uint8", "big", "lists", "bytes", "complex", "categories", "zoned",
        "nullable", "any floats", "any integers", "any texts")  # fmt: skip
LIBRARIES = ("pandas", "polars", "arrow", "numpy")


def load() -> None:
    """Import what is fuzzed."""
    import projse
    import projse.estimators.fit_table
    import projse.estimators.projse
    import projse.sources.table.encoder  # noqa: F401


def seeds() -> list[bytes]:
    """Return bytes that make tables of every library, and of every kind of column."""
    rng = random.Random(0)  # nosec B311
    found = []
    for number in range(4 * len(WIDE)):
        head = bytes([number % 4, rng.randrange(256), rng.randrange(256), 9, 2, number // 4])
        found.append(head + rng.randbytes(160))
    return found


def values(kind: str, n: int, taken: Taken) -> list[Any]:
    """Return the values of a column, gaps among them."""
    if kind in ("floats", "float32", "nullable", "complex"):
        made: list[Any] = [taken.one_of(FLOATS) for _ in range(n)]
    elif kind == "any floats":
        made = [taken.number() for _ in range(n)]
    elif kind in ("integers", "uint8"):
        made = [taken.one_of(INTEGERS) for _ in range(n)]
    elif kind == "any integers":
        made = [taken.integer() for _ in range(n)]
    elif kind in ("texts", "categories"):
        made = [taken.one_of((*TEXTS, None)) for _ in range(n)]
    elif kind == "any texts":
        made = [taken.text() for _ in range(n)]
    elif kind == "booleans":
        made = [taken.one_of((True, False, None)) for _ in range(n)]
    elif kind in ("dates", "zoned"):
        made = [np.datetime64(taken.one_of(DATES), "us") for _ in range(n)]
    elif kind == "durations":
        made = [dt.timedelta(days=taken.below(100) - 50) for _ in range(n)]
    elif kind == "decimals":
        made = [decimal.Decimal(taken.one_of(("1.5", "-2", "0", "NaN", "1E+20"))) for _ in range(n)]
    elif kind == "big":
        made = [taken.one_of((10**30, -(10**30), 1, None)) for _ in range(n)]
    elif kind == "lists":
        made = [[taken.below(3)] * taken.below(3) for _ in range(n)]
    elif kind == "bytes":
        made = [taken.bytes(taken.below(4)) for _ in range(n)]
    elif kind == "gaps":
        made = [None] * n
    else:
        odd = (*FLOATS, *INTEGERS, *TEXTS, True, None, dt.date(2020, 1, 1), 1j, b"x", (1,))
        made = [taken.one_of(odd) for _ in range(n)]
    return made


def column(kind: str, n: int, taken: Taken, library: str) -> Any:
    """Return a column as a library has it."""
    import pandas as pd

    made = values(kind, n, taken)
    if kind == "float32":
        return np.asarray(made, dtype=np.float32)
    if kind == "complex":
        return np.asarray(made, dtype=complex)
    if kind == "uint8":
        return np.asarray(made, dtype=object).astype(np.int64).astype(np.uint8)
    if kind == "dates":
        return np.asarray(made, dtype="datetime64[us]")
    if library != "pandas":
        return made
    if kind == "nullable":
        return pd.array(made, dtype="Float64")
    if kind == "categories":
        return pd.Categorical(made)
    if kind == "zoned":
        return pd.DatetimeIndex(np.asarray(made, dtype="datetime64[us]")).tz_localize("UTC")
    if kind in ("objects", "big", "decimals", "lists", "bytes"):
        return pd.Series(made, dtype=object)
    return made


def table(library: str, kinds: list[str], n: int, taken: Taken) -> Any:
    """Return a table of these columns."""
    columns = {f"c{j}": column(kind, n, taken, library) for j, kind in enumerate(kinds)}
    if library == "pandas":
        import pandas as pd

        return pd.DataFrame(columns)
    if library == "polars":
        import polars as pl

        return pl.DataFrame(columns, strict=bool(taken.below(2)))
    if library == "arrow":
        import pyarrow as pa

        return pa.table({name: pa.array(list(c)) for name, c in columns.items()})
    made = np.empty((n, len(kinds)), dtype=object)
    for j, values_of in enumerate(columns.values()):
        for i in range(n):
            made[i, j] = values_of[i]
    return made


def attempt(data: bytes) -> None:
    """Encode a table and a second batch; select from it."""
    from projse import ProjSe
    from projse.sources.table.encoder import TableEncoder

    taken = Taken(data)
    library = taken.one_of(LIBRARIES)
    missing = taken.one_of(("refuse", "drop", "indicator", "mean"))
    options = {"missing": missing, "basis": taken.one_of(("linear", "spline"))}
    n, p = taken.below(24), 1 + taken.below(4)
    kinds = [taken.one_of(WIDE) for _ in range(p)]
    declared = taken.one_of(("from_dtype", [0], ["c0"], None))
    y_kind = taken.one_of(("numbers", "floats", "texts", "table", "integers"))
    try:
        first = table(library, kinds, n, taken)
        second = table(library, kinds, n + 1, taken)
        y: Any = np.arange(float(n)) ** 2 % 7
        if y_kind == "table":
            y = table(library, [taken.one_of(WIDE) for _ in range(2)], n, taken)
        elif y_kind != "numbers":
            y = values(y_kind, n, taken)
    except BaseException as error:
        # The library itself does not take such values; Polars may panic over it.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            return
        raise

    errors = []
    try:
        encoder = TableEncoder.look(first, categorical_features=declared, **options)
        _encode(encoder, first)
        _encode(TableEncoder.from_dict(encoder.to_dict()), second)
    except BaseException as error:  # Polars panics with one that is no Exception
        errors.append(error)
    try:
        ProjSe(2, categorical_features=declared, **options).fit(first, y)
    except BaseException as error:  # Polars panics with one that is no Exception
        errors.append(error)
    _raise_worst(errors)


def _encode(encoder: Any, batch: Any) -> None:
    from fuzz.judge import WrongAnswerError
    from projse.sources.table.frame import Frame

    if encoder.missing == "drop":
        batch = Frame.of(batch).take(~encoder.gaps(batch))
    rows, variables = encoder.encode(batch)
    values_of = rows.data if hasattr(rows, "indptr") else np.asarray(rows)
    if rows.shape[1] != len(variables.columns):
        raise WrongAnswerError(f"{rows.shape[1]} columns, {len(variables.columns)} described")
    if not np.isfinite(values_of).all():
        raise WrongAnswerError("an encoded value is not finite")


def _raise_worst(errors: list[BaseException]) -> None:
    from fuzz.judge import is_own

    for error in sorted(errors, key=is_own):
        raise error
