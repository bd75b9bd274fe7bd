"""Variables of several columns: which columns of the rows make up each variable, and as what.

A number is one column. A category is one column a level, a number with gaps is its value and its
gap, a curved effect is a spline basis, a date is a trend and cycles, and a group of the user's is
whatever it holds. All that follows sees columns; this tells which belong together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

KINDS = ("value", "level", "gap", "spline", "trend", "cycle", "dropped")
"""``value``: a number as it is; ``level``: 1 where a category has this level; ``gap``: 1 where the
value is missing; ``spline``: a function of a spline basis; ``trend``, ``cycle``: of a date;
``dropped``: 0 everywhere, in the place of a variable that cannot be told (an identifier)."""

MAY_BE_ABSENT = ("level", "gap")
"""Rows without such a column have 0 in it: batches need not have seen the same levels and gaps."""


MAX_LEVELS = 1000
"""A category of more levels looks like an identifier, and is dropped."""

GROUPED = "\x1f"
"""Between the name of a column and its key, where the column belongs to a group of the user's."""


class Column(NamedTuple):
    """A column of the rows: the variable that it belongs to, what it is, and which of those."""

    variable: int
    kind: str = "value"
    key: str = ""


@dataclass(frozen=True)
class Variables:
    """The variables that columns make up.

    Attributes
    ----------
    names : tuple of str
        Of the variables.
    columns : tuple of Column
        In the order of the columns; the columns of a variable need not lie side by side.
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]

    @classmethod
    def single(cls, names: Sequence[str]) -> Variables:
        """Make every column a variable."""
        return cls(tuple(names), tuple(Column(j) for j in range(len(names))))

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.names)

    @cached_property
    def of_column(self) -> Array:
        """The variable of each column."""
        return np.array([column.variable for column in self.columns], dtype=np.intp)

    def columns_of(self, variables: Any) -> Array:
        """Return the columns of some variables, one variable after the other."""
        wanted = np.atleast_1d(np.asarray(variables, dtype=np.intp))
        parts = [np.flatnonzero(self.of_column == v) for v in wanted]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.intp)

    @property
    def are_columns(self) -> bool:
        """Whether every variable is one column, in the same order."""
        return bool(np.array_equal(self.of_column, np.arange(self.n)))

    def grouped(self, groups: Variables) -> Variables:
        """Let the variables be columns of the variables of ``groups``."""
        outer = groups.of_column
        columns = tuple(
            Column(int(outer[c.variable]), c.kind, f"{self.names[c.variable]}{GROUPED}{c.key}")
            for c in self.columns
        )
        return Variables(groups.names, columns)

    def restricted(self, columns: Sequence[int] | Array) -> Variables:
        """Keep some columns, in the order given, and all names."""
        return Variables(self.names, tuple(self.columns[j] for j in columns))

    @cached_property
    def titles(self) -> tuple[str, ...]:
        """Names of the columns, all different and all printable: ``age``, ``city=Oslo``."""
        taken: set[str] = set()
        titles = []
        for column in self.columns:
            plain = title = _printable(_title(self.names[column.variable], column))
            n = 1
            while title in taken:
                n += 1
                title = f"{plain} ({n})"
            taken.add(title)
            titles.append(title)
        return tuple(titles)


def _title(name: str, column: Column) -> str:
    key = column.key
    if GROUPED in key:
        name, key = key.split(GROUPED, 1)
    if column.kind in ("value", "dropped"):
        return name
    if column.kind == "level":
        return f"{name}={key}"
    return f"{name} ({column.kind} {key})" if key else f"{name} ({column.kind})"


def _printable(text: str) -> str:
    """Write out what a terminal would act on, or could not show."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
