"""Columns of a Spark DataFrame: what they may hold, and covariates as columns of numbers.

pyspark is imported where it is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "decimal")
LABELS = (*NUMBERS, "string", "varchar", "char", "date")

MAX_LEVELS = 1000
"""A covariate with more levels is refused: each is a column of the moments."""


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
    """Refuse a column that is not there, or of a type that is not allowed."""
    if not isinstance(name, str):
        raise TypeError(f"{parameter} must name a column, not be {name!r}.")
    if name not in types:
        listed = ", ".join(repr(c) for c in list(types)[:10])
        raise ValueError(f"{parameter}: there is no column {name!r}; df has {listed}.")
    kind = types[name].simpleString()
    if kind.split("(")[0] not in allowed:
        raise ValueError(
            f"{parameter}: column {name!r} is of type {kind}, not a number. Encode it as numbers "
            "(a string of labels goes into class_target), or leave it out."
        )
