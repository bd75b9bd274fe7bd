"""Covariates of two views that have dates or gaps: numbers, by a plan that other rows go by too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.estimators.table_options import TableOptions, as_table
from projse.estimators.table_rows import bases_by_rows, covariates_encoder
from projse.kernels.combination import combined
from projse.sources.table.encoder import TableEncoder
from projse.sources.two_spellings import warn_two_spellings
from projse.sources.variables import Variables

Array = NDArray[Any]


@dataclass(frozen=True)
class CovariatePlan:
    """How covariates become numbers, settled by the rows of a fit.

    Attributes
    ----------
    encoder : TableEncoder
    variables : Variables
        Of the raw columns.
    bases : dict of int to ndarray
        Combinations of them that count.
    """

    encoder: TableEncoder
    variables: Variables
    bases: dict[int, Array]

    @classmethod
    def of(cls, covariates: Any, missing: str, weight: Array | None) -> CovariatePlan:
        """Look at the covariates of all rows of a fit, with weights above 0."""
        covariates = _table(covariates)
        encoder = covariates_encoder(covariates, TableOptions(missing=missing))
        raw, variables = encoder.encode(covariates)
        warn_two_spellings(variables, "covariates")
        return cls(encoder, variables, bases_by_rows(raw, variables, encoder, weight))

    def encode(self, covariates: Any) -> tuple[Array, tuple[str, ...]]:
        """Return numbers of shape (n, k), and their names."""
        raw, variables = self.encoder.encode(_table(covariates))
        numbers, names = combined(self._aligned(raw, variables), self.variables, self.bases)
        return numbers.toarray() if sp.issparse(numbers) else np.asarray(numbers), names

    def _aligned(self, raw: Any, variables: Variables) -> Any:
        """Put the raw columns of other rows where those of the fit are."""
        if variables == self.variables:
            return raw
        places = {column: j for j, column in enumerate(self.variables.columns)}
        pairs = []
        for j, column in enumerate(variables.columns):
            if column in places:
                pairs.append((j, places[column]))
            elif column.kind == "level" or self.encoder.plans[column.variable].kind == "category":
                raise ValueError(
                    f"covariates have {variables.titles[j]!r}, which no row of the fit has: its "
                    "effect cannot be taken out. Leave such rows out."
                )
            # Else the gap of a number: what stands there is the mean already.
        rows, columns = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        shape = (len(variables.columns), len(self.variables.columns))
        return raw @ sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


def _table(covariates: Any) -> Any:
    table = as_table(covariates)
    return table.toarray() if sp.issparse(table) else table
