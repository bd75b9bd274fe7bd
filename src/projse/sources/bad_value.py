"""A value in a CSV file that is not of the type of its column: what Arrow says of it, in words."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Self

from projse.sources.columns import Columns

SAID = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to ([^:]+): "
    r"invalid value '(.*)'.*",
    re.DOTALL,
)
MOST_CHARACTERS = 60
KINDS = {"bool": "booleans", "timestamp": "dates", "date": "dates", "time": "times"}


@dataclass(frozen=True)
class BadValue:
    """A value that could not be converted.

    Attributes
    ----------
    column : int
        Its place among the columns of the file.
    row : int or None
        Its row, the header being the first; None where Arrow does not count.
    type : str
        Arrow's name of what the column holds.
    value : str
    """

    column: int
    row: int | None
    type: str
    value: str

    @classmethod
    def of(cls, error: Exception) -> Self | None:
        """Read what Arrow says; None where it says something else."""
        said = SAID.match(str(error))
        if said is None:
            return None
        column, row, kind, value = said.groups()
        return cls(int(column), None if row is None else int(row), kind, value)

    def told(self, name: str, row: int | None, columns: Columns | None) -> str:
        """Say what is wrong with a column of this name, and what can be done about it."""
        held = KINDS.get(re.split(r"[^a-z]", self.type)[0], "numbers")
        where = "" if row is None else f" in row {row} (the header is row 1)"
        value = self.value[:MOST_CHARACTERS]
        remedies = [
            "If that marks a missing value, say so "
            f"(na_values={value!r}, on the command line --na {_typed(value)})"
        ]
        features = () if columns is None else columns.features
        covariates = () if columns is None else columns.covariates
        if held == "numbers" and name in (*features, *covariates):
            remedies.append(
                "if these are codes, declare them "
                f"(categorical_features={[name]!r}, --categorical {_typed(name)})"
            )
        if name in features:
            remedies.append(f"leave the column out (exclude={name!r}, -x {_typed(name)})")
        remedies.append("or repair the line")
        return f"column {name!r} holds {held}, but {value!r}{where}. {'; '.join(remedies)}."


def _typed(text: str) -> str:
    """Return one item of a list as it is typed in a shell."""
    return shlex.quote(f'"{text}"' if "," in text else text)
