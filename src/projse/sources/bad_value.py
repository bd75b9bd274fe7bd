"""What Arrow says of a CSV file that it cannot read, in words: the row, the column, the remedy."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Self

from projse.sources.columns import Columns
from projse.warn import many

SAID = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to ([^:]+): "
    r"invalid value '(.*)'.*",
    re.DOTALL,
)
RAGGED = re.compile(
    r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)(?:: (.*))?", re.DOTALL
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
    def of(cls, error: Exception | None) -> Self | None:
        """Read what Arrow says; None where it says something else."""
        said = SAID.match(str(error))
        if said is None:
            return None
        column, row, kind, value = said.groups()
        return cls(int(column), None if row is None else int(row), kind, value)

    def told(self, name: str, row: int | None, columns: Columns | None) -> str:
        """Say what is wrong with a column of this name, and what can be done about it."""
        held = KINDS.get(re.split(r"[^a-z]", self.type)[0], "numbers")
        where = "" if row is None else f" in {_place(row)}"
        value, remedies = self.value, []
        if len(value) <= MOST_CHARACTERS:  # cut off, it would mark nothing; nor does so long a text
            remedies.append(
                "If that marks a missing value, say so "
                f"(na_values={value!r}, on the command line --na {_typed(value)})"
            )
        features = () if columns is None else columns.features
        covariates = () if columns is None else columns.covariates
        if held == "numbers" and name in (*features, *covariates):
            remedies.append(
                "if these are codes, declare them "
                f"(categorical_features={[name]!r}, --categorical {_typed(name)})"
            )
        if name in features:
            remedies.append(f"leave the column out (exclude={name!r}, -x {_typed(name)})")
        remedies.append("or repair the line" if remedies else "repair the line")
        told = "; ".join(remedies)
        told = told[0].upper() + told[1:]
        return f"column {name!r} holds {held}, but {_shown(value)}{where}. {told}."


@dataclass(frozen=True)
class RaggedLine:
    """A line with more or fewer fields than the header.

    Attributes
    ----------
    row : int or None
        The header being the first; None where Arrow does not count.
    wanted, found : int
        Fields of the header, and of the line.
    line : str
    """

    row: int | None
    wanted: int
    found: int
    line: str

    @classmethod
    def of(cls, error: Exception | None) -> Self | None:
        """Read what Arrow says; None where it says something else."""
        said = RAGGED.match(str(error))
        if said is None:
            return None
        row, wanted, found, line = said.groups()
        return cls(None if row is None else int(row), int(wanted), int(found), line or "")

    def told(self, row: int | None) -> str:
        """Say what is wrong, and what can be done about it."""
        where = "a line" if row is None else _place(row)
        text = (
            f"{where} has {many(self.found, 'field')} instead of {self.wanted}: "
            f"{_shown(self.line)}. "
        )
        if self.wanted == 1:
            return text + (
                "If the first line is a title or a comment, remove what stands before the header."
            )
        return text + (
            "Repair the line: text that holds the separator goes in double quotes. pyarrow.csv has "
            "options for other dialects, and what it opens can be passed here."
        )


def _shown(text: str) -> str:
    """Quote a text, with three dots behind it where it goes on."""
    return f"{text[:MOST_CHARACTERS]!r}{'…' * (len(text) > MOST_CHARACTERS)}"


def _place(row: int) -> str:
    return f"row {row} (the header is row 1)"


def _typed(text: str) -> str:
    """Return one item of a list as it is typed in a shell."""
    if "," in text or '"' in text:
        text = '"' + text.replace('"', '""') + '"'
    return shlex.quote(text)
