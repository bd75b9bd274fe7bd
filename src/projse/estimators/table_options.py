"""What users say about tables, and which tables that concerns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from projse.sources.encode_targets import array_of
from projse.sources.table.gaps import gaps_in
from projse.sources.table.kinds import holds_more_than_numbers, mixes
from projse.sources.table.partition import has_dates


@dataclass(frozen=True)
class TableOptions:
    """What a user says about tables: see :class:`~projse.ProjSe`."""

    categorical_features: Any = "from_dtype"
    missing: str = "refuse"
    basis: str = "linear"

    def concern(
        self, X: Any, y: Any = None, covariates: Any = None, sample_weight: Any = None
    ) -> bool:
        """Whether one of the tables is more than numbers without gaps."""
        return (
            self._concern_candidates(X)
            or self.mixes(y)
            or has_dates(covariates)
            or (self.missing != "refuse" and any(has_gaps(part) for part in (X, y, covariates)))
            or (self.missing == "drop" and has_gaps(sample_weight))
        )

    def _concern_candidates(self, X: Any) -> bool:
        if sp.issparse(X):
            if self.basis != "linear":
                raise ValueError(
                    f"basis={self.basis!r} needs dense numbers, but X is sparse; pass X.toarray(), "
                    "or use basis='linear'."
                )
            return False
        declared = self.categorical_features
        plain = declared is None or (isinstance(declared, str) and declared == "from_dtype")
        if self.basis != "linear" or not plain:
            return True
        return holds_more_than_numbers(_of_lists(X))

    def mixes(self, y: Any) -> bool:
        """Whether y has several columns, not all of them numbers, or is a column of dates."""
        return mixes(_of_lists(y))


def _of_lists(part: Any) -> Any:
    """Make an array of lists of lists that hold strings; leave all else as it is."""
    if not isinstance(part, list | tuple) or not part or not isinstance(part[0], list | tuple):
        return part
    try:
        return as_table(part)
    except ValueError:  # lists of different lengths: others say so
        return part


def as_table(part: Any) -> Any:
    """Make arrays of lists."""
    if part is None or sp.issparse(part) or hasattr(part, "shape"):
        return part
    values = array_of(part)
    return values if values.dtype.kind in "biuf" else np.asarray(part, dtype=object)


def has_gaps(part: Any) -> bool:
    """Whether a value is missing in something, of whatever kind."""
    part = as_table(part)
    if isinstance(part, np.ndarray) and not part.ndim:
        return False  # others say what is wrong with it
    if isinstance(part, np.ndarray) and part.dtype.kind == "f":
        return any(np.isnan(part[k : k + 4096]).any() for k in range(0, len(part), 4096))
    return part is not None and bool(gaps_in(part).any())
