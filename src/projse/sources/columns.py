"""Which columns of a table are candidates, references, labels and weights."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from projse.exceptions import SourceError
from projse.sources.covariates import refuse_levels
from projse.sources.encode_targets import TARGET_TYPES

MISSING = ("refuse", "drop")


@dataclass(frozen=True)
class Field:
    """A column of a table: its name, what it holds, and the dtype its numbers take.

    ``kind`` is "number", "bool", "text", "null" (nothing but missing values) or "other".
    ``by_default`` is False for columns that are candidates only when asked for by name: those
    that stand in the path of a file, and the index of a data frame.
    """

    name: str
    kind: str
    type: str
    dtype: np.dtype[Any] | None = None
    categorical: bool = False
    by_default: bool = True

    @property
    def numeric(self) -> bool:
        """Whether the column can be a candidate or a continuous reference."""
        return self.kind in ("number", "bool", "null")

    @property
    def looks_like_labels(self) -> bool:
        """Whether ``target_type="auto"`` takes the column for class labels."""
        whole = self.kind == "number" and self.dtype is not None and self.dtype.kind in "iu"
        return self.categorical or self.kind in ("text", "bool") or whole


@dataclass(frozen=True)
class Request:
    """What the user wants of a table, before any of it was seen."""

    targets: tuple[str, ...] = ()
    features: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    weight: str | None = None
    class_target: str | None = None
    target_type: str = "auto"
    missing: str = "refuse"
    numeric_only: bool = False
    covariates: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        targets: Any = None,
        features: Any = None,
        exclude: Any = None,
        weight: Any = None,
        class_target: Any = None,
        target_type: str = "auto",
        missing: str = "refuse",
        numeric_only: bool = False,
        covariates: Any = None,
    ) -> Request:
        """Check what was passed, and bring it into one form."""
        if target_type not in TARGET_TYPES:
            raise ValueError(
                f"target_type={target_type!r} is not one of {', '.join(TARGET_TYPES)}."
            )
        if missing not in MISSING:
            raise ValueError(f"missing={missing!r} is not one of {', '.join(MISSING)}.")
        if targets is not None and class_target is not None:
            raise ValueError(
                "targets and class_target do not go together: pass numbers as targets, or one "
                "column of labels as class_target."
            )
        if features is not None and not _patterns("features", features):
            raise ValueError("features is empty; leave it out to use all columns but the targets.")
        return cls(
            targets=_patterns("targets", targets),
            features=None if features is None else _patterns("features", features),
            exclude=_patterns("exclude", exclude),
            weight=_one_name("weight", weight),
            class_target=_one_name("class_target", class_target),
            target_type=target_type,
            missing=missing,
            numeric_only=bool(numeric_only),
            covariates=_patterns("covariates", covariates),
        )

    @property
    def names_columns(self) -> bool:
        """Whether any column is asked for by name."""
        patterns = (self.targets, self.features, self.exclude, self.covariates)
        return any(patterns) or bool(self.weight or self.class_target)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return _plain(self)


@dataclass(frozen=True)
class Columns:
    """The columns to read: candidates, continuous references or one column of labels, covariates.

    The covariates stand behind the targets, with which they share a matrix.
    """

    features: tuple[str, ...]
    targets: tuple[str, ...] = ()
    labels: str | None = None
    label_kind: str | None = None
    weight: str | None = None
    covariates: tuple[str, ...] = ()

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns of numbers that are no candidates: targets, then covariates."""
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
        return _plain(self)

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Columns:
        """Undo :meth:`as_dict`."""
        values: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in plain.items()
        }
        return cls(**values)


def _plain(values: Any) -> dict[str, Any]:
    """Return plain values for JSON; without covariates, as states of before they had them."""
    plain = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(values).items()}
    if not plain["covariates"]:
        del plain["covariates"]
    return plain


def choose(fields: Sequence[Field], request: Request, where: str) -> Columns:
    """Find the columns that the request means; ``where`` is what messages call the table."""
    by_name = {field.name: field for field in fields}
    if len(by_name) < len(fields):
        counts = Counter(field.name for field in fields)
        twice = sorted(name for name, n in counts.items() if n > 1)
        raise SourceError(f"{where} has several columns called {_listed(twice)}; rename them.")

    targets = _match(by_name, request.targets, "targets", where)
    labels = request.class_target
    if labels is not None:
        _match(by_name, (labels,), "class_target", where, literal=True)
    elif request.target_type == "class" and len(targets) > 1:
        raise SourceError(
            f"target_type='class' takes one column of labels; {_listed(targets)} are several."
        )
    elif len(targets) == 1 and (
        request.target_type == "class"
        or (request.target_type == "auto" and by_name[targets[0]].looks_like_labels)
    ):
        labels, targets = targets[0], []
    if request.weight is not None:
        _match(by_name, (request.weight,), "weight", where, literal=True)

    bad = [by_name[name] for name in targets if not by_name[name].numeric]
    if bad:
        remedy = "take one column of labels as class_target (--class on the command line)"
        raise SourceError(f"{where}: targets that are not numbers: {_typed(bad)}; {remedy}.")
    if labels is not None and by_name[labels].kind == "other":
        raise SourceError(
            f"{where}: {_typed([by_name[labels]])} cannot be class labels; turn them into strings "
            "or whole numbers first."
        )
    if request.weight is not None and not by_name[request.weight].numeric:
        raise SourceError(f"{where}: weight {_typed([by_name[request.weight]])} is not a number.")

    covariates = _covariates(by_name, request, {*targets, labels, request.weight}, where)
    taken = {*targets, *covariates, labels, request.weight}
    features = _features(by_name, request, taken, where)
    return Columns(
        features=tuple(features),
        targets=tuple(targets),
        labels=labels,
        label_kind=None if labels is None else by_name[labels].kind,
        weight=request.weight,
        covariates=tuple(covariates),
    )


def _covariates(
    by_name: dict[str, Field], request: Request, taken: set[str | None], where: str
) -> list[str]:
    covariates = _match(by_name, request.covariates, "covariates", where)
    clash = [name for name in covariates if name in taken]
    if clash:
        raise SourceError(
            f"{where}: {_listed(clash)} cannot be a covariate and a target or weight at once."
        )
    bad = [by_name[name] for name in covariates if not by_name[name].numeric]
    if bad:
        refuse_levels(_typed(bad), where)
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
    bad = [by_name[name] for name in features if not by_name[name].numeric]
    if bad and not request.numeric_only:
        raise SourceError(
            f"{where}: features that are not numbers: {_typed(bad)}. Encode them as numbers, name "
            "the features, or leave these out (numeric_only=True; on the command line "
            "--numeric-only)."
        )
    features = [name for name in features if by_name[name].numeric]
    if not features:
        raise SourceError(f"{where} has no numeric column left to select from.")
    return features


def check_same(columns: Columns, fields: Sequence[Field], request: Request, where: str) -> None:
    """Refuse a table whose columns are not those of the tables before it."""
    names = {field.name for field in fields}
    missing = [name for name in columns.all if name not in names]
    if missing:
        raise SourceError(
            f"{where} lacks {_columns_word(missing)} {_listed(missing)}, which the other files "
            "have. Repair or remove the file, or leave the column out everywhere."
        )
    here = choose(fields, request, where)
    by_name = {field.name: field for field in fields}
    # Nothing but missing values says nothing about what a column holds.
    before, now = set(columns.features), set(here.features)
    more = [name for name in here.features if name not in before and by_name[name].kind != "null"]
    less = [name for name in columns.features if name not in now]
    if more or less:
        what = f"has also {_listed(more)}" if more else f"has no numbers in {_listed(less)}"
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
    bad = [by_name[name] for name in columns.beside if not by_name[name].numeric]
    if bad:
        raise SourceError(
            f"{where}: {_typed(bad)} held numbers in the files before it. Repair or remove the "
            "file."
        )


def _patterns(parameter: str, given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    if isinstance(given, str | int | np.integer) and not isinstance(given, bool):
        return (str(given),)
    if isinstance(given, Iterable) and not isinstance(given, bytes):
        items = list(given)
        if all(isinstance(item, str | int | np.integer) for item in items):
            return tuple(str(item) for item in items)
    raise TypeError(f"{parameter}={given!r} must be a column name, a pattern, or several of them.")


def _one_name(parameter: str, given: Any) -> str | None:
    names = _patterns(parameter, given)
    if len(names) > 1:
        raise ValueError(f"{parameter}={given!r} must be one column.")
    return names[0] if names else None


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
