"""Categories in which one number is spelt in two ways: "1" and "1.0" are two levels.

Codes are text, so that 007 stays 007. But pandas, for one, writes whole numbers with a fraction
where a value of the column is missing, and files with and without gaps then disagree.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from projse.exceptions import UnreliableSelectionWarning
from projse.sources.variables import Variables
from projse.warn import warn_caller

WHOLE = re.compile(r"([+-]?(?:0|[1-9]\d*))(?:\.0+|,00?)?")
"""A whole number, perhaps with zeros for a fraction; 1,000 may well be a thousand."""

Pairs = dict[str, list[tuple[str, str]]]


def spelt_twice(variables: Variables | None) -> Pairs:
    """Return, for each category with such levels, the two spellings of each number."""
    forms: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
    for column in () if variables is None else variables.columns:
        if column.kind == "level" and (whole := WHOLE.fullmatch(column.key)) is not None:
            forms[column.variable, whole[1]].append(column.key)
    pairs: Pairs = {}
    for (variable, _), keys in forms.items():
        if len(keys) > 1:
            assert variables is not None
            first, second = sorted(keys, key=lambda key: (len(key), key))[:2]
            pairs.setdefault(variables.names[variable], []).append((first, second))
    return pairs


def warn_two_spellings(variables: Variables | None, label: str = "X", *, known: Any = None) -> None:
    """Name categories in which one number is spelt in two ways.

    Parameters
    ----------
    variables : Variables or None
        Of all rows.
    label : str
        What messages call the table.
    known : Variables or None
        Of rows before these: what they had was told by then.
    """
    told = spelt_twice(known)
    for name, pairs in spelt_twice(variables).items():
        if name in told:
            continue
        first, second = pairs[0]
        others = f", and {len(pairs) - 1} more such pairs" * (len(pairs) > 1)
        warn_caller(
            f"Column {name!r} of {label} has the levels {first!r} and {second!r}{others}: one "
            "number in two spellings, which count as two levels. Some programs write whole numbers "
            f"as {second} where values are missing. Spell them one way: in pandas, "
            ".astype('Int64') makes whole numbers of a column with gaps.",
            UnreliableSelectionWarning,
        )


def warn_spellings_of(given: Any, before: Any = None) -> None:
    """Do so for all that rows or moments know of their columns; ``before`` is what they add to."""
    for side, label in (("x", "X"), ("y", "y"), ("z", "covariates")):
        known = getattr(before, f"{side}_variables", None)
        warn_two_spellings(getattr(given, f"{side}_variables"), label, known=known)
