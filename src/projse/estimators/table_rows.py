"""Rows of tables in memory: candidates, references, weights and covariates, encoded together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from projse.estimators.table_options import TableOptions, as_table, has_gaps
from projse.kernels.combination import bases_of, combined
from projse.sources.covariates import with_covariates
from projse.sources.encode_targets import encode_targets, holds_labels
from projse.sources.own_labels import warn_own_levels
from projse.sources.rows import Rows, check_weight
from projse.sources.table.encoder import TableEncoder
from projse.sources.table.encoding import TableEncoding
from projse.sources.table.frame import Frame
from projse.sources.table.gaps import gaps_in
from projse.sources.table.references import labels_for_gaps, references_encoder
from projse.sources.two_spellings import warn_two_spellings
from projse.sources.variables import Variables

Array = NDArray[Any]

ENCODED_BYTES = 1 << 26
"""Encoded rows of up to so many bytes are held at once; more are encoded a slice at a time."""

SLICE_BYTES = 3 << 23
"""Bytes of such a slice: memory that is used again and again, and never new pages."""

MOST_BYTES = 384
"""Bytes that a value can take once it is encoded: 6 entries, dense among 8 times as many."""


@dataclass(frozen=True)
class TableRows:
    """Rows of a table that are encoded as they are asked for.

    Attributes
    ----------
    frame : Frame
        The candidates, of rows that count.
    encoder : TableEncoder
    targets : Rows
        References, covariates and weights, and no candidates.
    y : TableEncoder or None
        Of the references; None where they are plain numbers or class labels.
    z : TableEncoder or None
        Of the covariates.
    """

    frame: Frame
    encoder: TableEncoder
    targets: Rows
    y: TableEncoder | None = None
    z: TableEncoder | None = None

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any,
        covariates: Any,
        options: TableOptions,
        target_type: str,
        *,
        encoding: dict[str, Any] | None = None,
        all_rows: bool = True,
    ) -> TableRows:
        """Look at tables, leave out rows that do not count, and encode all but the candidates.

        ``encoding`` is that of rows before these, if there are any.
        """
        if getattr(X, "ndim", 2) != 2:
            raise ValueError(
                f"Expected 2D array, got {X.ndim}D array instead: X has shape {X.shape}; reshape "
                "it, one column a variable."
            )
        frame = Frame.of(X)
        n = frame.shape[0]
        if not frame.shape[1]:
            raise ValueError(
                f"Found array with 0 feature(s) (shape={frame.shape}) while a minimum of 1 is "
                "required."
            )
        if not n:
            raise ValueError("Found array with 0 sample(s) in X while a minimum of 1 is required.")
        y, covariates = as_table(y), as_table(covariates)
        covariates = covariates.toarray() if sp.issparse(covariates) else covariates
        for part, label in ((y, "y"), (covariates, "covariates")):
            if part is not None and not part.shape:
                raise ValueError(
                    f"{label} must be one- or two-dimensional; it has 0 dimensions. Pass a value a "
                    "row, as an array or a data frame."
                )
            if part is not None and part.shape[0] != n:
                raise ValueError(
                    f"X and {label} have different numbers of rows: {n} and {part.shape[0]} "
                    "(inconsistent numbers of samples)."
                )
        keep = np.ones(n, dtype=bool)
        if options.missing == "drop":
            keep = complete_rows(frame, y, sample_weight, covariates)
            if sample_weight is not None:
                sample_weight = np.where(keep, np.asarray(sample_weight), 0)
            refuse_nothing(keep, {"X": frame, "y": y, "covariates": covariates})
        weight = check_weight(sample_weight, n)
        if weight is not None:
            keep &= weight > 0
        if not keep.all():
            kept = np.flatnonzero(keep)
            frame = frame.take(keep)
            y = None if y is None else _safe_indexing(y, kept)
            covariates = None if covariates is None else _safe_indexing(covariates, kept)
            weight = None if weight is None else check_weight(weight[keep], len(kept))
        if encoding is not None:
            encoder = TableEncoder.from_dict(encoding["x"])
        else:
            encoder = TableEncoder.look(
                frame,
                categorical_features=options.categorical_features,
                missing=options.missing,
                basis=options.basis,
                weight=weight,
            )
        nothing = np.empty((frame.shape[0], 0))
        targets = Rows(nothing, weight=weight)
        y_encoder = z = None
        if y is not None:
            if encoding is None or "y" not in encoding:
                y = labels_for_gaps(y, options.missing, target_type, first=encoding is None)
            y_encoder = _references_encoder(y, options, target_type, all_rows, encoding)
            targets = _with_references(targets, y, target_type, all_rows, y_encoder)
        if covariates is not None:
            plan = None if encoding is None else encoding.get("z")
            z = covariates_encoder(covariates, options, plan)
            Z, variables = z.encode(covariates)
            targets = with_covariates(targets, Z, variables.titles, variables)
            if all_rows:
                warn_two_spellings(variables, "covariates")
        return cls(frame, encoder, targets, y_encoder, z)

    def rows(self, start: int = 0, stop: int | None = None, *, later: bool = False) -> Rows:
        """Encode a slice of the candidates, next to its references; perhaps splines ``later``."""
        stop = self.frame.shape[0] if stop is None else stop
        whole = start == 0 and stop >= self.frame.shape[0]
        frame = self.frame if whole else self.frame.rows(start, stop)
        targets = self.targets if whole else self.targets.take(slice(start, stop))
        X, variables = self.encoder.encode(frame, later=later)
        return replace(
            targets,
            X=X,
            feature_names=variables.titles,
            x_variables=variables,
            encoding=self._encoding,
        )

    @property
    def is_final(self) -> bool:
        """Whether covariates are what their columns are, whatever all rows hold."""
        targets = replace(self.targets, encoding=self._encoding)
        return combined_covariates(targets) is targets

    @cached_property
    def _encoding(self) -> dict[str, Any]:
        return TableEncoding(self.encoder, self.y, self.z).to_dict()

    def final_rows(self) -> Rows:
        """Encode all rows, and settle what stands for the covariates by all of them."""
        rows = self.rows()
        warn_two_spellings(rows.x_variables)
        return combined_covariates(rows)

    def slices(self, *, later: bool = False) -> list[tuple[int, int]]:
        """Cut the rows into slices of about ``SLICE_BYTES`` once they are encoded."""
        n = self.frame.shape[0]
        step = max(1, int(n * SLICE_BYTES / max(self.n_bytes(later=later), 1)))
        return [(start, min(start + step, n)) for start in range(0, n, step)]

    def n_bytes(self, *, later: bool = False) -> int:
        """About how many bytes all rows take once they are encoded, by the first of them."""
        n = self.frame.shape[0]
        first = self.encoder.encode(self.frame.rows(0, min(n, 1000)), later=later)[0]
        size = first.data.nbytes + first.indices.nbytes if sp.issparse(first) else first.nbytes
        return int(size * n / max(first.shape[0], 1))

    @property
    def fits(self) -> bool:
        """Whether all rows may be encoded at once."""
        n, p = self.frame.shape
        return n * p * MOST_BYTES <= ENCODED_BYTES or self.n_bytes() <= ENCODED_BYTES


def complete_rows(
    X: Any, y: Any, sample_weight: Any = None, covariates: Any = None
) -> NDArray[np.bool_]:
    """Mark the rows without a gap anywhere."""
    frame = Frame.of(X)
    keep = np.ones(frame.shape[0], dtype=bool)
    for part, label in ((frame, "X"), (as_table(y), "y"), (as_table(covariates), "covariates")):
        if part is not None:
            keep &= ~gaps_in(part, label)
    if sample_weight is not None and not np.isscalar(sample_weight):
        keep &= ~gaps_in(np.asarray(sample_weight))
    return keep


def kept_rows(
    rows: Rows, X: Any, y: Any, sample_weight: Any, covariates: Any, missing: str
) -> NDArray[np.bool_] | None:
    """Mark which of the given rows these are; None where all are there.

    Of tables, rows of weight 0 are left out and, with ``missing="drop"``, those with a gap.
    """
    n = _num_samples(X)
    if rows.n_samples == n:
        return None
    keep = np.ones(n, dtype=bool)
    if missing == "drop":
        keep = complete_rows(X, y, sample_weight, covariates)
    if sample_weight is not None:
        keep &= np.asarray(sample_weight) > 0
    return keep


def combined_covariates(rows: Rows) -> Rows:
    """Fill gaps of covariates with means if asked to, and leave out cycles that are not spanned."""
    Z, variables = rows.covariates, rows.z_variables
    if Z is None or variables is None or rows.encoding is None:
        return rows
    settled, names = _combined(Z, variables, TableEncoder.from_dict(rows.encoding["z"]), rows)
    if settled is Z:
        return rows
    plain = replace(rows, Y=rows.references, n_covariates=0, z_variables=None)
    own = (rows.target_names or ())[: rows.n_references] or None
    return with_covariates(replace(plain, target_names=own), settled, names)


def covariates_encoder(
    covariates: Any, options: TableOptions, plan: dict[str, Any] | None = None
) -> TableEncoder:
    """Look at covariates, or go on with the plan of rows before these."""
    if plan is not None:
        return TableEncoder.from_dict(plan)
    look = TableEncoder.look(
        covariates, missing=options.missing, label="covariates", max_levels=None
    )
    return replace(look, names=look.names or tuple(f"covariate{j}" for j in range(len(look.plans))))


def _with_references(
    targets: Rows,
    y: Any,
    target_type: str,
    all_rows: bool,
    encoder: TableEncoder | None,
) -> Rows:
    """Encode references: as without tables, or column by column where there is a plan for them.

    What stands for a column is settled where all rows are here; else it waits for the others.
    """
    if encoder is None:
        if sp.issparse(y):
            y = sp.csr_array(y)
        found = encode_targets(y, target_type, n_samples=targets.n_samples, all_rows=all_rows)
        return replace(targets, Y=found.Y, target_names=found.names, classes=found.classes)
    raw, variables = encoder.encode(y)
    if not all_rows:
        return replace(targets, Y=raw, target_names=variables.titles, y_variables=variables)
    warn_own_levels(variables, targets.n_samples)
    warn_two_spellings(variables, "y")
    Y, names = _combined(raw, variables, encoder, targets)
    return replace(targets, Y=Y, target_names=names)


def _references_encoder(
    y: Any, options: TableOptions, target_type: str, all_rows: bool, encoding: dict[str, Any] | None
) -> TableEncoder | None:
    """Look at references, or go on with the plan of rows before these."""
    if encoding is not None:
        filled = options.missing in ("indicator", "mean") and not sp.issparse(y)
        plan = encoding.get("y")
        if plan is None and filled and has_gaps(y) and not holds_labels(y, target_type):
            raise ValueError(
                "Input y contains NaN or other gaps, but that of the rows before these had none, "
                "and was summed without a plan for them; begin with partial_fit instead of fit."
            )
        return None if plan is None else TableEncoder.from_dict(plan)
    return references_encoder(y, options.missing, target_type, all_rows=all_rows)


def _combined(
    raw: Any, variables: Variables, encoder: TableEncoder, rows: Rows
) -> tuple[Any, tuple[str, ...]]:
    """Return the columns that stand for variables, once all rows are known, and their names."""
    return combined(raw, variables, bases_by_rows(raw, variables, encoder, rows.weight))


def bases_by_rows(
    raw: Any, variables: Variables, encoder: TableEncoder, weight: Array | None
) -> dict[int, Array]:
    """Return what stands for references or covariates, of which all rows are here."""
    n = raw.shape[0]
    w = np.ones(n) if weight is None else weight
    return bases_of(
        variables,
        encoder.plans,
        np.asarray(w @ raw).ravel() / w.sum(),
        sum_weights=float(n),
        n_rows=n,
        missing=encoder.missing,
        max_levels=None,
        recentre=encoder.label == "y",
    )


def refuse_nothing(
    keep: NDArray[np.bool_],
    tables: dict[str, Any],
    remedy: str = ", or say missing='indicator' or 'mean'",
) -> None:
    """Refuse to drop all rows; name the column with the most gaps."""
    if keep.any():
        return
    worst, most = "", 0
    for label, table in tables.items():
        if table is None or sp.issparse(table):
            continue
        frame = Frame.of(table, label)
        for j in range(frame.shape[1]):
            n = int(gaps_in(Frame(frame.data[:, [j]])).sum())
            if n > most:
                worst, most = f"column {frame.title(j)} of {label} has {n}", n
    what = f" ({worst}). Leave that column out{remedy}"
    if not most:
        what = ", in sample_weight or a sparse y. Fill those in"
    raise ValueError(f"missing='drop' leaves none of {len(keep)} rows: every row has a gap{what}.")
