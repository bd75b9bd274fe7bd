"""ARFF files of numbers: dense and sparse rows, with label columns by count or by name.

Attributes are numeric, or nominal with numbers for values (``{0, 1}``). That is all that the data
sets here need; strings, dates and missing values are refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projse.datasets.content import damaged, read_text
from projse.datasets.table import Floats, read_table, refuse_missing

ATTRIBUTE = re.compile(
    r"""@attribute\s+(?P<name>'[^']*'|"[^"]*"|[^\s{'"]+)\s*(?P<kind>.*)""", re.IGNORECASE
)
NUMERIC = {"numeric", "real", "integer"}


@dataclass(frozen=True)
class Attribute:
    """A column: its name and, where it is nominal, the numbers it may hold."""

    name: str
    nominal: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Arff:
    """What an ARFF file holds: the columns, and one row of numbers for each sample."""

    attributes: tuple[Attribute, ...]
    values: Floats


def read_arff(content: bytes, name: object) -> Arff:
    """Read an ARFF file; sparse rows come out dense."""
    attributes: list[Attribute] = []
    lines = [line for line in read_text(content, name) if not line.startswith("%")]
    for position, line in enumerate(lines):
        keyword = line.split(maxsplit=1)[0].lower()
        if keyword == "@data":
            rows = lines[position + 1 :]
            break
        if keyword == "@attribute":
            attributes.append(_attribute(line, name))
        elif keyword != "@relation":
            raise damaged(name, f"its header has the line {line[:60]!r}")
    else:
        raise damaged(name, "it ends before @data")
    if not attributes:
        raise damaged(name, "it names no attributes")
    if rows and rows[0].startswith("{"):
        values = _sparse(rows, attributes, name)
    else:
        values = read_table(rows, ",", name)
    if values.shape[1] != len(attributes):
        raise damaged(name, f"rows of {values.shape[1]} values, but {len(attributes)} attributes")
    for column, attribute in zip(values.T, attributes, strict=True):
        if attribute.nominal is not None and not np.isin(column, attribute.nominal).all():
            raise damaged(name, f"{attribute.name} has values other than {attribute.nominal}")
    return Arff(tuple(attributes), values)


def read_multilabel_arff(
    content: bytes, name: object, labels: int | Sequence[str]
) -> tuple[Floats, NDArray[np.uint8], list[str], list[str]]:
    """Read features and labels (0 or 1): the last ``labels`` columns, or those of these names.

    Returns
    -------
    X, Y, feature_names, label_names
    """
    arff = read_arff(content, name)
    names = [attribute.name for attribute in arff.attributes]
    if isinstance(labels, int):
        if not 0 < labels < len(names):
            raise damaged(name, f"{labels} labels cannot be the last of {len(names)} columns")
        chosen = list(range(len(names) - labels, len(names)))
    else:
        unknown = [label for label in labels if label not in names]
        if unknown:
            raise damaged(name, f"it has no columns {', '.join(unknown)}")
        chosen = [names.index(label) for label in labels]
    Y = arff.values[:, chosen]
    if not np.isin(Y, (0, 1)).all():
        raise damaged(name, "its labels are not all 0 or 1")
    others = [column for column in range(len(names)) if column not in set(chosen)]
    return (
        np.ascontiguousarray(arff.values[:, others]),
        Y.astype(np.uint8),
        [names[column] for column in others],
        [names[column] for column in chosen],
    )


def _attribute(line: str, name: object) -> Attribute:
    match = ATTRIBUTE.fullmatch(line)
    if match is None:
        raise damaged(name, f"its header has the line {line[:60]!r}")
    title, kind = match["name"].strip("'\""), match["kind"].strip()
    if kind.lower() in NUMERIC:
        return Attribute(title)
    if kind.startswith("{") and kind.endswith("}"):
        try:
            return Attribute(title, tuple(float(value) for value in kind[1:-1].split(",")))
        except ValueError as error:
            raise damaged(name, f"attribute {title} has values that are no numbers") from error
    raise damaged(name, f"attribute {title} is of kind {kind[:60]!r}, not a number")


def _sparse(rows: Sequence[str], attributes: Sequence[Attribute], name: object) -> Floats:
    """Read rows like ``{0 1.5, 7 1}``; what is not named is 0, or the first nominal value."""
    unnamed = [0.0 if column.nominal is None else column.nominal[0] for column in attributes]
    values = np.tile(np.array(unnamed), (len(rows), 1))
    for number, row in enumerate(rows):
        if not (row.startswith("{") and row.endswith("}")):
            raise damaged(name, f"row {number} is not of the form {{index value, ...}}")
        entries = [entry.split() for entry in row[1:-1].split(",") if entry.strip()]
        try:
            indices = [int(index) for index, _ in entries]
            numbers = [float(value) for _, value in entries]
        except ValueError as error:
            raise damaged(name, f"row {number} is not of the form {{index value, ...}}") from error
        if len(set(indices)) < len(indices) or not all(
            0 <= index < len(attributes) for index in indices
        ):
            raise damaged(name, f"row {number} names a column twice, or one that is not there")
        values[number, indices] = numbers
    refuse_missing(values, name)
    return values
