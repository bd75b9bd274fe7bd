"""Which columns of a table are candidates, references, labels and weights."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from projse.exceptions import IdentifierWarning, SourceError
from projse.sources.request import BASES, MISSING, Request, plain_values
from projse.warn import warn_caller

__all__ = [
    "BASES",
    "MISSING",
    "NAMELESS",
    "Columns",
    "Field",
    "Request",
    "check_complete",
    "check_same",
    "choose",
]

NAMELESS = re.compile(r"\s*|Unnamed: \d+")
"""Names of the index of a data frame that was written without a name for it."""


@dataclass(frozen=True)
class Field:
    """A column of a table: its name, what it holds, and the dtype its numbers take.

    ``kind`` is "number", "bool", "text", "date", "duration", "null" (nothing but missing values) or
    "other". ``by_default`` is False for columns that are candidates only when asked for by name:
    those that stand in the path of a file, and the index of a data frame. ``from_text`` tells that
    the file holds text, of which the kind is a guess.
    """

    name: str
    kind: str
    type: str
    dtype: np.dtype[Any] | None = None
    categorical: bool = False
    by_default: bool = True
    from_text: bool = False

    @property
    def numeric(self) -> bool:
        """Whether the column can be a weight, and without encoding a candidate or a reference."""
        return self.kind in ("number", "bool", "null")

    @property
    def plain(self) -> bool:
        """Whether the column is taken as the numbers that it holds."""
        return self.numeric and not self.categorical

    @property
    def looks_like_labels(self) -> bool:
        """Whether ``target_type="auto"`` takes the column for class labels."""
        whole = self.kind == "number" and self.dtype is not None and self.dtype.kind in "iu"
        return self.categorical or self.kind in ("text", "bool") or whole


@dataclass(frozen=True)
class Columns:
    """The columns to read: candidates, then references or one column of labels, then covariates.

    ``types`` are those of the candidates, references and covariates where rows are encoded, and
    empty where all are plain numbers; ``categorical`` the candidates that are categories whatever
    they hold; ``mixed`` tells whether the references are encoded too. The covariates stand behind
    the targets, with which they share a matrix.
    """

    features: tuple[str, ...]
    targets: tuple[str, ...] = ()
    labels: str | None = None
    label_kind: str | None = None
    weight: str | None = None
    types: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    mixed: bool = False
    covariates: tuple[str, ...] = ()

    @property
    def type_of(self) -> dict[str, str]:
        """Types of the columns of an encoded table."""
        names = (*self.features, *self.beside)
        return dict(zip(names, self.types, strict=True)) if self.types else {}

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that are no candidates: targets, then covariates."""
        return (*self.targets, *self.covariates)

    @property
    def all(self) -> list[str]:
        """Every column once, in the order of reading."""
        extra = [name for name in (self.labels, self.weight) if name is not None]
        return [*self.features, *self.beside, *extra]

    def without_references(self) -> Columns:
        """Leave out targets, labels and covariates."""
        return Columns(self.features, weight=self.weight)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return plain_values(self)

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Columns:
        """Undo :meth:`as_dict`."""
        values: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in plain.items()
        }
        return cls(**values)


def choose(fields: Sequence[Field], request: Request, where: str) -> Columns:
    """Find the columns that the request means; ``where`` is what messages call the table."""
    by_name = {field.name: field for field in fields}
    if len(by_name) < len(fields):
        counts = Counter(f.name for f in fields if not NAMELESS.fullmatch(f.name))
        twice = sorted(name for name, n in counts.items() if n > 1)
        if twice:
            raise SourceError(f"{where} has several columns called {_listed(twice)}; rename them.")

    targets = _match(by_name, request.targets, "targets", where)
    labels = request.class_target
    if labels is not None:
        _match(by_name, (labels,), "class_target", where, literal=True)
    elif request.target_type == "class" and len(targets) > 1:
        raise SourceError(
            f"target_type='class' takes one column of labels; {_listed(targets)} are several. "
            "Store them as strings or categories, and leave target_type out."
        )
    elif len(targets) == 1 and (
        request.target_type == "class"
        or (request.target_type == "auto" and by_name[targets[0]].looks_like_labels)
    ):
        labels, targets = targets[0], []
    if request.weight is not None:
        _match(by_name, (request.weight,), "weight", where, literal=True)
        if request.weight in (*targets, labels):
            raise SourceError(
                f"{where}: {request.weight!r} cannot be the weight and a target at once; name "
                "targets that leave it out."
            )

    bad = [by_name[name] for name in targets if by_name[name].kind == "other"]
    if bad:
        raise SourceError(
            f"{where}: targets that are no numbers, categories or dates: {_typed(bad)}; turn them "
            "into such first, or leave them out."
        )
    if labels is not None and by_name[labels].kind in ("other", "date", "duration"):
        raise SourceError(
            f"{where}: {_typed([by_name[labels]])} cannot be class labels; turn them into strings "
            "or whole numbers first."
        )
    if request.weight is not None and not by_name[request.weight].numeric:
        raise SourceError(f"{where}: weight {_typed([by_name[request.weight]])} is not a number.")

    covariates = _covariates(by_name, request, {*targets, labels, request.weight}, where)
    taken = {*targets, *covariates, labels, request.weight}
    features = _features(by_name, request, taken, where)
    categorical = _categorical(features, covariates, request.categorical, where)
    gaps = request.missing in ("indicator", "mean")
    mixed = bool(targets) and (gaps or not all(by_name[name].plain for name in targets))
    encoded = mixed or gaps or request.basis != "linear" or bool(categorical)
    encoded = encoded or not all(by_name[name].plain for name in (*features, *covariates))
    codes = {name for name in categorical if by_name[name].from_text}
    types = tuple(
        # As text, "007" stays what it is, and any other code may follow.
        "string" if name in codes else by_name[name].type
        for name in (*features, *targets, *covariates)
    )
    return Columns(
        features=tuple(features),
        targets=tuple(targets),
        labels=labels,
        label_kind=None if labels is None else by_name[labels].kind,
        weight=request.weight,
        types=types if encoded else (),
        categorical=tuple(categorical),
        mixed=mixed,
        covariates=tuple(covariates),
    )


def _categorical(
    features: list[str], covariates: list[str], declared: Sequence[str | int | bool], where: str
) -> list[str]:
    """Return the columns that were declared to be categories.

    Features by mask, index, name or pattern; covariates by name or pattern.
    """
    if declared and all(isinstance(item, bool) for item in declared):
        if len(declared) != len(features):
            raise SourceError(
                f"categorical_features is a mask of {len(declared)} columns, but {where} has "
                f"{len(features)} features; pass one a column, or names."
            )
        return [name for name, here in zip(features, declared, strict=True) if here]
    found: dict[str, None] = {}
    for item in declared:
        if isinstance(item, str):
            by_name: dict[str, Any] = dict.fromkeys([*features, *covariates])
            found.update(dict.fromkeys(_match(by_name, (item,), "categorical_features", where)))
        elif not -len(features) <= item < len(features):
            raise SourceError(
                f"categorical_features holds {item}, but {where} has {len(features)} features."
            )
        else:
            found[features[item]] = None
    return [name for name in (*features, *covariates) if name in found]


def _covariates(
    by_name: dict[str, Field], request: Request, taken: set[str | None], where: str
) -> list[str]:
    covariates = _match(by_name, request.covariates, "covariates", where)
    clash = [name for name in covariates if name in taken]
    if clash:
        raise SourceError(
            f"{where}: {_listed(clash)} cannot be a covariate and a target or weight at once."
        )
    bad = [by_name[name] for name in covariates if by_name[name].kind == "other"]
    if bad:
        raise SourceError(
            f"{where}: covariates that are no numbers, categories or dates: {_typed(bad)}; turn "
            "them into such first, or leave them out."
        )
    return covariates


def _features(
    by_name: dict[str, Field], request: Request, taken: set[str | None], where: str
) -> list[str]:
    if request.features is None:
        features = [name for name, field in by_name.items() if field.by_default]
    else:
        features = _match(by_name, request.features, "features", where)
        clash = [name for name in request.features if name in taken]
        if clash:
            raise SourceError(
                f"{where}: {_listed(clash)} cannot be a feature and a target, covariate or weight "
                "at once."
            )
    left_out = set(_match(by_name, request.exclude, "exclude", where))
    features = [name for name in features if name not in taken and name not in left_out]
    if request.numeric_only:
        features = [name for name in features if by_name[name].numeric]
    bad = [by_name[name] for name in features if by_name[name].kind == "other"]
    if bad:
        raise SourceError(
            f"{where}: features that are no numbers, categories or dates: {_typed(bad)}. Turn them "
            "into such, name the features, or leave these out (exclude; numeric_only=True leaves "
            "out all that are no numbers, on the command line --numeric-only)."
        )
    if not features:
        raise SourceError(f"{where} has no column left to select from.")
    return features


def warn_nameless(fields: Sequence[Field], request: Request, where: str) -> None:
    """Say that a column without a name, such as the index of a data frame, is left out."""
    n = sum(NAMELESS.fullmatch(field.name) is not None for field in fields)
    if n and request.features is None:
        what = "a column that has" if n == 1 else f"{n} columns that have"
        warn_caller(
            f"{where} has {what} no name, such as the index of a data frame, and will not be "
            "selected; give it a name, or name the features.",
            IdentifierWarning,
        )


def check_complete(columns: Columns, fields: Sequence[Field], where: str) -> None:
    """Refuse a table that lacks columns of the tables before it."""
    names = {field.name for field in fields}
    missing = [name for name in columns.all if name not in names]
    if missing:
        raise SourceError(
            f"{where} lacks {_columns_word(missing)} {_listed(missing)}, which the other files "
            "have. Repair or remove the file, or leave the column out everywhere."
        )


def check_same(columns: Columns, fields: Sequence[Field], request: Request, where: str) -> None:
    """Refuse a table whose columns are not those of the tables before it."""
    check_complete(columns, fields, where)
    here = choose(fields, request, where)
    by_name = {field.name: field for field in fields}
    if not columns.types:
        _check_numbers(columns, by_name, where)
    # Nothing but missing values says nothing about what a column holds.
    before, now = set(columns.features), set(here.features)
    more = [name for name in here.features if name not in before and by_name[name].kind != "null"]
    less = [name for name in columns.features if name not in now]
    if more or less:
        what = f"has also {_listed(more)}" if more else f"has none of {_listed(less)}"
        raise SourceError(
            f"{where} has other columns than the files before it: it {what}. Name the features "
            "that all files share, or remove the file."
        )
    if columns.labels is not None:
        kind = by_name[columns.labels].kind
        if kind not in (columns.label_kind, "null") and columns.label_kind != "null":
            raise SourceError(
                f"{where}: the class labels {columns.labels!r} are {by_name[columns.labels].type}, "
                f"but {columns.label_kind} in the files before it. Store them alike."
            )


def _check_numbers(columns: Columns, by_name: dict[str, Field], where: str) -> None:
    """Refuse what is no number in a table whose like held numbers only."""
    names = (*columns.features, *columns.beside)
    fields = [by_name[name] for name in names]
    # Text is read as numbers, and what is none is named with its row.
    bad = [field for field in fields if not (field.numeric or field.from_text)]
    if bad:
        raise SourceError(
            f"{where}: {_typed(bad)} held numbers in the files before it. Repair or remove the "
            "file."
        )


def _match(
    by_name: dict[str, Field],
    patterns: Iterable[str],
    parameter: str,
    where: str,
    *,
    literal: bool = False,
) -> list[str]:
    """Columns that are named or matched, each once, in the order of the patterns."""
    found: dict[str, None] = {}
    for pattern in patterns:
        if pattern in by_name:
            found[pattern] = None
            continue
        hits = [] if literal else [name for name in by_name if fnmatchcase(name, pattern)]
        if not hits:
            close = difflib.get_close_matches(pattern, by_name, n=3)
            known = f"Did you mean {_listed(close)}?" if close else f"It has {_listed(by_name)}."
            if not literal and any("," in name for name in close):
                known += (
                    " On the command line, a name with a comma goes in double quotes: '\"a, b\"'."
                )
            is_glob = not literal and any(c in pattern for c in "*?[")
            what = f"no column that matches {pattern!r}" if is_glob else f"no column {pattern!r}"
            raise SourceError(f"{where} has {what} ({parameter}). {known}")
        found.update(dict.fromkeys(hits))
    return list(found)


def _columns_word(names: Sequence[str]) -> str:
    return "column" if len(names) == 1 else "columns"


def _listed(names: Iterable[str], most: int = 8) -> str:
    names = list(names)
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _typed(fields: Sequence[Field], most: int = 8) -> str:
    shown = ", ".join(f"{field.name!r} ({field.type})" for field in fields[:most])
    return shown + (f" and {len(fields) - most} more" if len(fields) > most else "")
