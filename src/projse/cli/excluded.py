"""What --exclude leaves out of moments, which hold all columns: variables, and parts of groups."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from projse.cli.names import names_of
from projse.cli.read import Reading
from projse.exceptions import SourceError
from projse.moments.sums import Moments
from projse.sources.groups import resolve_groups


def excluded(
    moments: Moments, reading: Reading, groups: Mapping[str, Any] | None
) -> tuple[list[Any] | None, dict[str, list[str]] | None]:
    """Return the variables that are left out, and groups without the columns that are.

    As in files: a column that is named is no longer part of its group.
    """
    asked = reading.source
    columns = (asked.targets, asked.features, asked.weight, asked.class_target, asked.covariates)
    encoded = asked.missing != "refuse" or asked.basis != "linear"
    encoded = encoded or asked.categorical_features != "from_dtype" or bool(asked.na_values)
    if any(columns) or asked.state is not None or encoded:
        raise ValueError(
            "These are moments: their targets, features, covariates, weights and encoding are "
            "settled. Leave "
            "out those options, or pass the rows."
        )
    names = names_of(moments)
    members: dict[str, list[str]] = {}
    if groups is not None:
        known = None if moments.feature_names is None else tuple(names)
        variables = resolve_groups(groups, len(names), known)
        for name, v in zip(names, variables.of_column, strict=True):
            if variables.names[v] in groups:
                members.setdefault(variables.names[v], []).append(name)
    found: list[str] = []
    for pattern in asked.exclude or []:
        hits = _matching([*names, *members], pattern)
        if not hits:
            raise SourceError(f"{reading.data[0]} has no candidate that matches {pattern!r}.")
        found += [name for name in hits if name not in found]
    kept: dict[str, list[str]] = {}
    for group, own in members.items():
        rest = [name for name in own if name not in found]
        whole = group in found or not rest
        kept[group] = own if whole else rest
        if whole:
            found = [name for name in found if name not in (group, *own)] + [group]
    if moments.feature_names is None and groups is None:
        return [int(name) for name in found] or None, None
    return found or None, kept or None


def _matching(names: Sequence[str], pattern: str) -> list[str]:
    return [name for name in names if name == pattern or fnmatchcase(name, pattern)]
