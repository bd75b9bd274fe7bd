"""Columns of a Spark DataFrame: numbers, vectors, tables to encode, and covariates as numbers.

pyspark is imported where it is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from projse.sources.arrow_columns import ARRAY, PLAIN, TABLE, VECTOR, Block
from projse.sources.variables import MAX_LEVELS

NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "decimal")
LABELS = (*NUMBERS, "string", "varchar", "char", "date")
DATES = ("date", "timestamp", "timestamp_ntz")
TYPES = (*LABELS, "timestamp", "timestamp_ntz")


def block_of(parameter: str, label: str, given: Any, types: dict[str, Any]) -> Block:
    """Tell plain columns from one column of vectors or arrays."""
    columns = (given,) if isinstance(given, str) else tuple(given)
    if not columns:
        raise ValueError(f"{parameter} names no columns; name at least one.")
    twice = {name for name in columns if columns.count(name) > 1}
    if twice:
        raise ValueError(f"{parameter} names column {min(twice)!r} twice; name it once.")
    kinds = [_kind(parameter, name, types) for name in columns]
    if len(columns) == 1:
        return Block(label, columns, kinds[0])
    pairs = zip(columns, kinds, strict=True)
    odd = next((n for n, kind in pairs if kind not in (PLAIN, TABLE)), None)
    if odd is not None:
        raise ValueError(
            f"{parameter} mixes column {odd!r}, which holds vectors, with others; name plain "
            "columns only, or one column of vectors (pyspark.ml.feature.VectorAssembler makes it)."
        )
    return Block(label, columns, TABLE if TABLE in kinds else PLAIN)


def _kind(parameter: str, name: str, types: dict[str, Any]) -> str:
    dtype = types.get(name)
    if type(dtype).__name__ == "VectorUDT":
        return VECTOR
    text = "" if dtype is None else dtype.simpleString()
    if text in ("array<double>", "array<float>"):
        return ARRAY
    check_column(parameter, name, types, TYPES)
    return PLAIN if text.split("(")[0] in NUMBERS else TABLE


@dataclass(frozen=True)
class Covariate:
    """A column of numbers that a covariate became: itself, or the indicator of a level."""

    name: str
    level: Any = None

    @property
    def title(self) -> str:
        """What messages and moments call it."""
        return self.name if self.level is None else f"{self.name}={self.level}"

    def expression(self) -> Any:
        """Return the column for Spark, null where the covariate is."""
        from pyspark.sql import functions as F

        column = column_of(self.name)
        if self.level is None:
            return column.cast("double")
        return F.when(column.isNotNull(), (column == F.lit(self.level)).cast("double"))


def column_of(name: str) -> Any:
    """Return the column of this name, which may hold anything."""
    from pyspark.sql import functions as F

    return F.col("`" + name.replace("`", "``") + "`")


def covariates_with_dates(given: Any, types: dict[str, Any]) -> Block | None:
    """Return covariates as a table, which the workers encode, where there are dates among them."""
    names = () if given is None else (given,) if isinstance(given, str) else tuple(given)
    known = [types[name].simpleString() for name in names if name in types]
    if not any(kind in DATES for kind in known):
        return None
    for name in names:
        check_column("covariates", name, types, TYPES)
    return Block("covariates", names, TABLE)


def covariates_of(df: Any, given: Any, types: dict[str, Any]) -> tuple[Covariate, ...]:
    """Turn covariates into columns of numbers; the levels of labels are collected first."""
    names = (given,) if isinstance(given, str) else tuple(given)
    if not names:
        raise ValueError("covariates names no columns; leave it out to condition on nothing.")
    found: list[Covariate] = []
    for name in names:
        check_column("covariates", name, types, LABELS)
        if types[name].simpleString().split("(")[0] in NUMBERS:
            found.append(Covariate(name))
            continue
        present = df.select(column_of(name).alias("level")).where("level is not null")
        levels = sorted(row[0] for row in present.distinct().limit(MAX_LEVELS + 1).collect())
        if len(levels) > MAX_LEVELS:
            raise ValueError(
                f"covariates: column {name!r} has more than {MAX_LEVELS} levels; it looks like an "
                "identifier. Leave it out, or join its levels."
            )
        found += [Covariate(name, level) for level in levels]
    return tuple(found)


def check_column(
    parameter: str, name: str, types: dict[str, Any], allowed: tuple[str, ...]
) -> None:
    """Refuse a name that is no column, or one of a type that is not allowed."""
    if not isinstance(name, str):
        raise TypeError(f"{parameter} must name a column, not be {name!r}.")
    if name not in types:
        listed = ", ".join(repr(c) for c in list(types)[:10])
        raise ValueError(f"{parameter}: there is no column {name!r}; df has {listed}.")
    kind = types[name].simpleString()
    if kind.split("(")[0] not in allowed:
        raise ValueError(
            f"{parameter}: column {name!r} is of type {kind}, not a number"
            f"{', category or date' * (allowed is TYPES)}. Encode it as numbers (a string of "
            "labels goes into class_target), or leave it out."
        )


def vector_metadata(metadata: dict[str, Any]) -> tuple[int | None, tuple[str, ...] | None]:
    """Read the size of a vector column and its names, where Spark ML has noted them."""
    noted = (metadata or {}).get("ml_attr", {})
    size = noted.get("num_attrs")
    groups = noted.get("attrs", {})
    entries = [entry for group in groups.values() for entry in group]
    names = {entry["idx"]: entry["name"] for entry in entries if "name" in entry}
    if size is None and entries:
        size = 1 + max(entry["idx"] for entry in entries)
    if size is None or sorted(names) != list(range(size)):
        return size, None
    return size, tuple(names[i] for i in range(size))
