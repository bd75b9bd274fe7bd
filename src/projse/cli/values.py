"""What the values of options mean."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

import typer

from projse.cli.options import Missing


def missing_word(given: Any, drop: bool) -> str:
    """Read --missing, for one word of which there is a flag too."""
    missing = Missing(given).value
    if drop and missing not in ("refuse", "drop"):
        raise typer.BadParameter(f"Choose one of --drop-missing and --missing {missing}.")
    return "drop" if drop else missing


@contextmanager
def values_make_sense() -> Iterator[None]:
    """Turn what is said about a parameter into what Typer says about a bad value."""
    try:
        yield
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def split(values: list[str] | None) -> list[str] | None:
    """Cut a,b,c into names; one that holds a comma stands in double quotes, as in CSV.

    Blanks belong to a name that stands alone or in quotes: in files with ", " between columns,
    names begin with one.
    """
    if not values:
        return None
    return [name for value in values for name in _fields(value) if name.strip()]


def _fields(value: str) -> list[str]:
    if '"' not in value:
        names = value.split(",")
        return [name.strip() for name in names] if len(names) > 1 else names
    try:
        return next(csv.reader([value], skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise typer.BadParameter(
            f"{value!r} is no list of names ({error}); a name that holds a comma goes in double "
            "quotes: '\"height, cm\",weight'. A ? matches any character, quotes too."
        ) from None


def groups_of(values: list[str] | None) -> dict[str, list[str]] | None:
    """Read NAME=COLUMNS; a group may be given in several parts."""
    if not values:
        return None
    groups: dict[str, list[str]] = {}
    for value in values:
        name, equals, columns = value.partition("=")
        if not (name.strip() and equals and columns.strip()):
            raise typer.BadParameter(
                f"{value!r} is not NAME=COLUMNS, such as 'city=city_*' or 'size=a,b'.",
                param_hint="'--group'",
            )
        groups.setdefault(name.strip(), []).extend(split([columns]) or [])
    return groups


def without_excluded(
    groups: dict[str, list[str]] | None, exclude: list[str] | None
) -> tuple[dict[str, list[str]] | None, list[str] | None]:
    """Let the name of a group in --exclude mean its columns: they are not even read.

    A column that is named in both is left out of its group.
    """
    if not groups or not exclude:
        return groups, exclude
    left_out = [column for name in exclude for column in groups.get(name, [name])]
    kept = {
        name: [column for column in columns if not _is_left_out(column, left_out)]
        for name, columns in groups.items()
        if name not in exclude
    }
    return {name: columns for name, columns in kept.items() if columns} or None, left_out


def _is_left_out(column: str, patterns: list[str]) -> bool:
    """Whether a column of a group is never read; of patterns, the columns that are read tell."""
    is_pattern = any(character in column for character in "*?[")
    return column in patterns or (
        not is_pattern and any(fnmatchcase(column, pattern) for pattern in patterns)
    )


def how_many(text: str | None) -> int | float | str | None:
    """Read -k: a number, a share, or auto."""
    if text is None or text == "auto":
        return text
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if number >= 1 if kind is int else 0 < number < 1:
            return number
    raise typer.BadParameter(
        f"{text!r} is no whole number above 0, no share between 0 and 1, and not 'auto'.",
        param_hint="'-k'",
    )
