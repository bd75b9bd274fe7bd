"""What the user wants of a table, before any of it was seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from projse.sources.encode_targets import TARGET_TYPES
from projse.sources.gap_marks import gap_marks

MISSING = ("refuse", "drop", "indicator", "mean")
BASES = ("linear", "spline")
LATER = ("covariates", "na_values")
"""What states of before know nothing of."""


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
    categorical: tuple[str | int | bool, ...] = ()
    basis: str = "linear"
    na_values: tuple[str, ...] = ()

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
        categorical_features: Any = "from_dtype",
        basis: str = "linear",
        na_values: Any = None,
    ) -> Request:
        """Check what was passed, and bring it into one form."""
        if target_type not in TARGET_TYPES:
            raise ValueError(
                f"target_type={target_type!r} is not one of {', '.join(TARGET_TYPES)}."
            )
        if missing not in MISSING:
            raise ValueError(f"missing={missing!r} is not one of {', '.join(MISSING)}.")
        if basis not in BASES:
            raise ValueError(f"basis={basis!r} is not one of {', '.join(BASES)}.")
        if targets is not None and class_target is not None:
            raise ValueError(
                "targets and class_target do not go together: pass numbers as targets, or one "
                "column of labels as class_target."
            )
        if targets is not None and not _patterns("targets", targets):
            raise ValueError(
                "targets is empty; name columns to explain, or leave it out for one view "
                "(--one-view on the command line)."
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
            categorical=_declared(categorical_features),
            basis=basis,
            na_values=gap_marks(na_values),
        )

    @property
    def names_columns(self) -> bool:
        """Whether any column is asked for by name."""
        patterns = (self.targets, self.features, self.exclude, self.covariates)
        return any(patterns) or bool(self.weight or self.class_target)

    @property
    def encodes(self) -> bool:
        """Whether rows are to be encoded even where all columns are numbers."""
        gaps = self.missing in ("indicator", "mean")
        return gaps or self.basis != "linear" or bool(self.categorical)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return plain_values(self)


def plain_values(values: Any) -> dict[str, Any]:
    """Return plain values for JSON; what is newer than the first states is left out if empty."""
    plain = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(values).items()}
    return {k: v for k, v in plain.items() if v or k not in LATER}


def _declared(given: Any) -> tuple[str | int | bool, ...]:
    """Bring what was declared to be categories into one form: names, indices, or a mask."""
    if given is None or (isinstance(given, str) and given == "from_dtype"):
        return ()
    items = [given] if isinstance(given, str) else np.asarray(given, dtype=object).ravel().tolist()
    if not all(isinstance(item, str | int | np.integer | np.bool_) for item in items):
        raise TypeError(
            f"categorical_features={given!r} must be 'from_dtype', None, or names, indices or a "
            "mask of columns."
        )
    return tuple(i if isinstance(i, str | bool) else _plain_number(i) for i in items)


def _plain_number(value: Any) -> int | bool:
    return bool(value) if isinstance(value, np.bool_) else int(value)


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
