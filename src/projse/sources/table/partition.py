"""Rows of tables that come in pieces: a first look at some of them, and each piece by its plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.sources.covariates import append_covariates, with_covariates
from projse.sources.rows import Rows, check_weight, make_rows
from projse.sources.table.encoder import TableEncoder
from projse.sources.table.encoding import TableEncoding
from projse.sources.table.frame import Frame, is_table
from projse.sources.table.gaps import gaps_in
from projse.sources.table.kinds import kinds_of, mixes, needs_encoding
from projse.sources.table.references import labels_for_gaps, references_encoder

Array = NDArray[Any]

Piece = tuple[Any, Any, Any, Any]
"""Candidates, references, weights and covariates of some rows: tables, arrays, or None."""


@dataclass(frozen=True)
class LookOptions:
    """What a user says about tables, as in :class:`~projse.ProjSe`."""

    categorical_features: Any = "from_dtype"
    missing: str = "refuse"
    basis: str = "linear"

    @property
    def forced(self) -> bool:
        """Whether rows are to be encoded even where all columns are numbers."""
        declared = self.categorical_features
        plain = declared is None or (isinstance(declared, str) and declared == "from_dtype")
        return self.missing != "refuse" or self.basis != "linear" or not plain

    def look(
        self,
        piece: Piece,
        target_type: str,
        names: tuple[str, ...] | None,
        covariate_names: tuple[str, ...] | None = None,
    ) -> TableEncoding | None:
        """Plan how to encode rows like the first ones; None where there is no need of a plan.

        Labels among covariates need none.
        """
        X, Y, _, Z = piece
        mixed = target_type == "auto" and mixes(Y)
        table = (is_table(X) and needs_encoding(Frame.of(X))) or has_dates(Z)
        if not (self.forced or mixed or table):
            return None
        X, Y, weight, Z = complete(piece, self.missing)
        x = TableEncoder.look(
            X,
            categorical_features=self.categorical_features,
            missing=self.missing,
            basis=self.basis,
            weight=weight,
        )
        x = replace(x, names=x.names or names)
        y = z = None
        if Y is not None:
            Y = labels_for_gaps(Y, self.missing, target_type, first=True)
            y = references_encoder(Y, self.missing, target_type, all_rows=False)
        if Z is not None:
            z = TableEncoder.look(Z, missing=self.missing, label="covariates", max_levels=None)
            z = replace(z, names=z.names or covariate_names)
        return TableEncoding(x, y, z)


def complete(piece: Piece, missing: str) -> Piece:
    """Leave out rows of weight 0 and, with "drop", rows that have a gap."""
    X, Y, weight, Z = piece
    n = X.shape[0]
    keep = np.ones(n, dtype=bool)
    if missing == "drop":
        keep &= ~gaps_in(X)
        if Y is not None:
            keep &= ~gaps_in(Y, "y")
        if Z is not None:
            keep &= ~gaps_in(Z, "covariates")
        if weight is not None and not np.isscalar(weight):
            keep &= ~gaps_in(np.asarray(weight))
            weight = np.where(keep, np.asarray(weight), 0.0)
    if weight is not None and (missing != "drop" or keep.any()):
        weight = check_weight(weight, n)
    if weight is not None:
        keep &= weight > 0
    if keep.all() or not keep.any():
        return (X, Y, weight, Z) if keep.all() else (np.empty((0, 0)), None, None, None)
    return (
        Frame.of(X).take(keep),
        None if Y is None else _taken(Y, keep),
        None if weight is None else check_weight(weight[keep], int(keep.sum())),
        None if Z is None else _taken(Z, keep),
    )


def encoded_piece(
    piece: Piece,
    encoding: TableEncoding,
    target_type: str,
    covariate_names: tuple[str, ...] | None = None,
) -> Rows | None:
    """Encode some rows by a plan; None where none of them counts.

    Parameters
    ----------
    piece : tuple
    encoding : TableEncoding
    target_type : {"auto", "continuous", "class"}
        How to read references that the plan does not tell of.
    covariate_names : tuple of str or None
        Of covariates that are numbers without names.
    """
    X, Y, weight, Z = complete(piece, encoding.x.missing)
    n = X.shape[0]
    if not n:
        return None
    rows = Rows(np.empty((n, 0)), weight=weight)
    if encoding.y is not None:
        rows.Y, rows.y_variables = encoding.y.encode(Y)
    elif Y is not None:
        Y = labels_for_gaps(Y, encoding.x.missing, target_type, first=False)
        rows = make_rows(rows.X, Y, weight, target_type=target_type)
    if encoding.z is None:
        rows = append_covariates(rows, Z, covariate_names)
    else:
        given, variables = encoding.z.encode(Z)
        rows = with_covariates(rows, given, variables.titles, variables)
    rows.X, rows.x_variables = encoding.x.encode(X, later=True)
    rows.encoding = encoding.to_dict()
    return rows


def has_dates(Z: Any) -> bool:
    """Whether covariates have columns of dates."""
    return is_table(Z) and "date" in kinds_of(Frame.of(Z, "covariates"))


def _taken(Y: Any, keep: NDArray[np.bool_]) -> Any:
    if isinstance(Y, np.ndarray) or sp.issparse(Y):
        return Y[np.flatnonzero(keep)]
    if len(Y.shape) == 1:
        return Y.iloc[np.flatnonzero(keep)] if hasattr(Y, "iloc") else np.asarray(Y)[keep]
    taken = Frame.of(Y, "y").take(keep).data
    return taken if isinstance(taken, np.ndarray) else taken.to_native()
