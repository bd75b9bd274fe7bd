"""What to read of a source, and how: the options that every way to a source shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from projse.sources.columns import Request


@dataclass(frozen=True)
class SourceOptions:
    """Options of ``moments_from``, ``ProjSe.fit_source`` and the command, by the same names.

    What they mean is said in :func:`projse.moments_from`.
    """

    targets: Any = None
    features: Any = None
    exclude: Any = None
    weight: str | None = None
    class_target: str | None = None
    missing: str = "refuse"
    numeric_only: bool = False
    with_xx: bool | str = "auto"
    format: str | None = None
    state: Any = None
    state_by: str = "time"
    covariates: Any = None
    categorical_features: Any = "from_dtype"
    basis: str = "linear"
    na_values: Any = None

    def request(self, target_type: str) -> Request:
        """Check the columns that were asked for, and bring them into one form."""
        return Request.of(
            self.targets,
            self.features,
            self.exclude,
            self.weight,
            self.class_target,
            target_type,
            self.missing,
            self.numeric_only,
            self.covariates,
            self.categorical_features,
            self.basis,
            self.na_values,
        )
