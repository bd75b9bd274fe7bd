"""Groups of columns, as a user names them: a label a column, or names with their columns.

Columns in no group are variables of their own. Variables stand in the order of their first columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from numbers import Integral
from typing import Any

import numpy as np

from projse.parameters import is_whole
from projse.sources.variables import Column, Variables

HINT = "a label a column, or a mapping of names to columns or patterns"


def resolve_groups(groups: Any, n_columns: int, names: Sequence[str] | None) -> Variables:
    """Tell which columns make up each variable.

    Parameters
    ----------
    groups : None, sequence of labels, or mapping
        None: every column is a variable. A label a column: columns of the same label belong
        together, and one whose label is None stands alone. A mapping: from the name of a variable
        to its columns, by index, name or pattern (``'city_*'``), one of them or several.
    n_columns : int
    names : sequence of str or None
        Of the columns, where they have names; else a column of its own is x0, x1, ….

    Returns
    -------
    Variables

    Raises
    ------
    ValueError, TypeError
        For groups that overlap, are empty, name unknown columns, or have the name of a column that
        is not in them; for labels that are not one a column.
    """
    own = [f"x{j}" for j in range(n_columns)] if names is None else [str(name) for name in names]
    if groups is None:
        return Variables.single(own)
    if isinstance(groups, Mapping):
        labels = _labels_of_mapping(groups, n_columns, None if names is None else own)
    else:
        labels = _labels_of_sequence(groups, n_columns)
    return _variables(labels, own)


def refuse_members(
    parameter: str, given: Any, columns: Sequence[str] | None, variables: Variables
) -> None:
    """Refuse a column that is named in place of the group that it belongs to.

    Parameters
    ----------
    parameter : str
        What the user calls it, ``"include"`` say.
    given : anything
        What the user passed; what is no name is left to others.
    columns : sequence of str or None
        Names of the columns.
    variables : Variables
    """
    items = [given] if isinstance(given, str) else given
    if columns is None or not isinstance(items, Iterable):
        return
    members = dict(zip(columns, variables.of_column.tolist(), strict=True))
    for item in items:
        if isinstance(item, str) and item not in variables.names and item in members:
            group = variables.names[members[item]]
            raise ValueError(
                f"{parameter} names {item!r}, a column of the group {group!r}, which is picked or "
                f"left as a whole; name {group!r} instead."
            )


def _labels_of_sequence(groups: Any, n_columns: int) -> list[str | None]:
    if isinstance(groups, str | bytes) or not isinstance(groups, Iterable):
        raise TypeError(f"groups={groups!r} must be {HINT}, not {type(groups).__name__}.")
    given = np.ravel(groups).tolist() if isinstance(groups, np.ndarray) else list(groups)
    if len(given) != n_columns:
        raise ValueError(
            f"groups has {len(given)} labels, but X has {n_columns} columns; pass {HINT}."
        )
    kinds: dict[str, Any] = {}
    for j, label in enumerate(given):
        if label is None:
            continue
        if not isinstance(label, str | Integral):
            raise TypeError(
                f"groups[{j}]={label!r} must be a name, a whole number or None, not "
                f"{type(label).__name__}."
            )
        if kinds.setdefault(str(label), label) != label:
            raise ValueError(
                f"groups holds the labels {kinds[str(label)]!r} and {label!r}, which have the same "
                "name; rename one of them."
            )
    return [None if label is None else str(label) for label in given]


def _labels_of_mapping(
    groups: Mapping[Any, Any], n_columns: int, names: list[str] | None
) -> list[str | None]:
    labels: list[str | None] = [None] * n_columns
    taken: dict[str, Any] = {}
    for group, members in groups.items():
        label = str(group)
        if taken.setdefault(label, group) != group:
            raise ValueError(f"groups names {label!r} twice; rename one of them.")
        single = isinstance(members, str) or is_whole(members)
        if not single and not isinstance(members, Iterable):
            raise TypeError(
                f"groups[{label!r}]={members!r} must hold columns (indices, names or patterns), "
                f"not {type(members).__name__}."
            )
        columns = [
            j
            for item in ([members] if single else list(members))
            for j in _columns_of(item, label, n_columns, names)
        ]
        if not columns:
            raise ValueError(f"groups[{label!r}] is empty; leave it out, or name its columns.")
        for j in dict.fromkeys(columns):
            if labels[j] is not None:
                what = f"column {j}" if names is None else f"column {names[j]!r}"
                raise ValueError(
                    f"groups overlap: {what} is in {labels[j]!r} and in {label!r}; take it out of "
                    "one of them."
                )
            labels[j] = label
    return labels


def _columns_of(item: Any, group: str, n_columns: int, names: list[str] | None) -> list[int]:
    """Resolve an index, a name or a pattern."""
    if is_whole(item):
        if not 0 <= item < n_columns:
            raise ValueError(
                f"groups[{group!r}] holds index {item}, but X has columns 0 to {n_columns - 1}."
            )
        return [int(item)]
    if not isinstance(item, str):
        raise TypeError(
            f"groups[{group!r}] must hold indices, names or patterns, not {item!r} "
            f"({type(item).__name__})."
        )
    if names is None:
        raise ValueError(
            f"groups[{group!r}] names {item!r}, but X has no column names; pass indices or a data "
            "frame."
        )
    if item in names:
        return [names.index(item)]
    found = [j for j, name in enumerate(names) if fnmatchcase(name, item)]
    if not found:
        some = ", ".join(repr(name) for name in names[:5]) + (", …" if n_columns > 5 else "")
        raise ValueError(
            f"groups[{group!r}] names {item!r}, which is no column of X and matches none: {some}."
        )
    return found


def _variables(labels: list[str | None], own: list[str]) -> Variables:
    """Return variables by the order of their first columns; refuse a group with a column's name."""
    places: dict[str | int, int] = {}
    names: list[str] = []
    alone: set[str] = set()
    for j, label in enumerate(labels):
        key: str | int = j if label is None else label
        if key not in places:
            places[key] = len(places)
            names.append(own[j] if label is None else label)
        if label is None:
            alone.add(own[j])
    same = alone.intersection(key for key in places if isinstance(key, str))
    if same:
        raise ValueError(
            f"groups has a group {min(same)!r}, which is also the name of a column that is not in "
            "it; rename the group."
        )
    of_column = (places[j if label is None else label] for j, label in enumerate(labels))
    return Variables(tuple(names), tuple(Column(v) for v in of_column))
