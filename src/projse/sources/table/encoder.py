"""From tables to rows of raw columns, the same for every batch.

A first look fixes what must not change from batch to batch (fills, knots, the origin of dates);
levels and gaps need not be known in advance, since moments of batches with different levels add up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.exceptions import IdentifierWarning, UnreliableSelectionWarning
from projse.parameters import one_of
from projse.sources.table.blocks import Block, InfinityError, block_of, gaps_of
from projse.sources.table.column_blocks import ColumnBlocks
from projse.sources.table.disguised import disguised
from projse.sources.table.frame import Frame
from projse.sources.table.kinds import MISSING, categorical_columns, kinds_of, listed
from projse.sources.table.plan import ColumnPlan, plan_of
from projse.sources.variables import Column, Variables
from projse.threads import effective_n_threads, ordered_map
from projse.warn import warn_caller

Array = NDArray[Any]

LOOK_ROWS = 100_000
"""Rows of a first look: the first ones, in memory and in files alike."""

MAX_LEVELS = 1000
"""A category with more levels than this is taken for an identifier."""

MANY_ROWS = 10_000
"""From so many rows on, quantiles are taken in threads."""

BASES = ("linear", "spline")

SPARSE_COLUMNS = 8
"""Rows are sparse where they have at least so many times as many columns as entries."""

CHUNK = 1 << 12
"""Rows that blocks are put side by side in at a time."""

MOST_COLUMNS = 1024
"""Rows of up to so many columns are multiplied whole, and may be evaluated by then."""


@dataclass(frozen=True)
class TableEncoder:
    """A plan for each column of a table.

    Make one with :meth:`look`. It is plain data: see :meth:`to_dict`.

    Attributes
    ----------
    names : tuple of str or None
        Of the columns; batches with names may have them in any order, and others besides.
    plans : tuple of ColumnPlan
    missing : {"refuse", "drop", "indicator", "mean"}
        Gaps are refused; their rows are to be left out (see :meth:`gaps`) before :meth:`encode`; or
        they get a column of their own, from which the subspace is made once all moments are known.
    basis : {"linear", "spline"}
    label : str
        What messages call the table.
    """

    names: tuple[str, ...] | None
    plans: tuple[ColumnPlan, ...]
    missing: str = "refuse"
    basis: str = "linear"
    label: str = "X"

    @classmethod
    def look(
        cls,
        table: Any,
        *,
        categorical_features: Any = "from_dtype",
        missing: str = "refuse",
        basis: str = "linear",
        label: str = "X",
        max_levels: int | None = MAX_LEVELS,
        weight: Array | None = None,
        marks: bool = False,
    ) -> TableEncoder:
        """Look at the first rows of a table.

        Parameters
        ----------
        table : data frame, Arrow table or record batch, or array of shape (n, p)
            Only the first ``LOOK_ROWS`` rows are looked at.
        categorical_features : "from_dtype", None, or array-like of str, int or bool
            Columns that are categories whatever they hold.
        missing : {"refuse", "drop", "indicator", "mean"}
        basis : {"linear", "spline"}
            What a number becomes: itself, or a small spline basis.
        label : str
        max_levels : int or None
            A category with more levels is an identifier: it is warned about and left out. None:
            never (targets may have any number of classes).
        weight : ndarray of shape (n,) or None
            Of the rows: knots are at weighted quantiles.
        marks : bool
            Whether the table was read from text, for which users may name marks of gaps.
        """
        one_of("missing", missing, MISSING)
        one_of("basis", basis, BASES)
        frame = Frame.of(table, label)
        kinds = kinds_of(frame, categorical_features)
        first = frame.rows(0, LOOK_ROWS).by_column()
        weight = None if weight is None else weight[:LOOK_ROWS]

        def plan(j: int) -> ColumnPlan:
            found = plan_of(first.column(j), kinds[j], basis, max_levels, weight)
            # What fills no gap must not keep the moments of other rows from adding up.
            return found if missing in ("indicator", "mean") else replace(found, fill=0.0)

        # Quantiles of many rows take a while.
        many = basis == "spline" and first.shape[0] >= MANY_ROWS
        plans = tuple(
            ordered_map(plan, range(len(kinds)), effective_n_threads(None) if many else 1)
        )
        dropped = [frame.title(j) for j, plan in enumerate(plans) if plan.kind == "identifier"]
        if dropped:
            plural = len(dropped) > 1
            warn_caller(
                f"Column{'s' * plural} {listed(dropped)} of {label} "
                f"{'look like identifiers' if plural else 'looks like an identifier'} (a level of "
                f"its own in every row, or more than {max_levels} levels) and will not be "
                "selected; leave such columns out, or merge levels first.",
                IdentifierWarning,
            )
        declared = set(categorical_columns(categorical_features, frame).tolist())
        for j, kind in enumerate(kinds):
            if kind != "category" or j in declared:
                continue
            if what := disguised(frame, j, marks=marks):
                warn_caller(
                    f"Column {frame.title(j)} of {label} holds strings, and is taken as a "
                    f"category, but its values look like {what}; or declare it as categorical.",
                    UnreliableSelectionWarning,
                )
        return cls(frame.names, plans, missing, basis, label)

    @property
    def variable_names(self) -> tuple[str, ...]:
        """Names of the variables: of the columns, or x0, x1, … (y0, …) where they have none."""
        prefix = "y" if self.label == "y" else "x"
        return self.names or tuple(f"{prefix}{j}" for j in range(len(self.plans)))

    def gaps(self, table: Any) -> NDArray[np.bool_]:
        """Mark the rows of a batch in which a value is missing."""
        frame, columns = self._columns(table)
        marked = np.zeros(frame.shape[0], dtype=bool)
        for j, plan in zip(columns, self.plans, strict=True):
            marked |= self._read(gaps_of, frame, j, plan)
        return marked

    def encode(self, table: Any, *, later: bool = False) -> tuple[Any, Variables]:
        """Encode a batch.

        Parameters
        ----------
        table : data frame, Arrow table or record batch, or array of shape (n, p)
        later : bool, default=False
            Whether splines may be evaluated by the pass over the rows, which then are
            :class:`~projse.sources.table.column_blocks.ColumnBlocks`.

        Returns
        -------
        rows : ndarray or csr_array of shape (n, n_columns)
            Sparse where levels dominate. Float32 where all columns are numbers in float32.
        variables : Variables
            What the columns are: levels and gaps of this batch only, levels sorted by key.
        """
        frame, columns = self._columns(table)
        frame = frame.by_column()
        blocks = [
            self._read(block_of, frame, j, plan)
            for j, plan in zip(columns, self.plans, strict=True)
        ]
        if self.missing in ("refuse", "drop"):
            self._refuse_gaps(blocks)
        what = tuple(block.what for block in blocks)
        return _assemble(blocks, frame.shape[0], later), _variables(self.variable_names, what)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "names": None if self.names is None else list(self.names),
            "plans": [plan.as_dict() for plan in self.plans],
            "missing": self.missing,
            "basis": self.basis,
            "label": self.label,
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> TableEncoder:
        """Undo :meth:`to_dict`."""
        names = None if plain["names"] is None else tuple(plain["names"])
        plans = tuple(ColumnPlan.from_dict(plan) for plan in plain["plans"])
        return cls(names, plans, plain["missing"], plain["basis"], plain["label"])

    def _columns(self, table: Any) -> tuple[Frame, list[int]]:
        """Find the columns of a batch: by name, or by place where there are no names."""
        frame = Frame.of(table, self.label)
        if self.names is None or frame.names is None:
            if frame.shape[1] != len(self.plans):
                raise ValueError(
                    f"{self.label} has {frame.shape[1]} columns, but had {len(self.plans)} at the "
                    "first look; pass the same columns."
                )
            return frame, list(range(len(self.plans)))
        places = {name: j for j, name in enumerate(frame.names)}
        lacking = [repr(name) for name in self.names if name not in places]
        if lacking:
            raise ValueError(
                f"{self.label} lacks {listed(lacking)}, which the first rows had; pass the same "
                "columns."
            )
        return frame, [places[name] for name in self.names]

    def _read(self, how: Any, frame: Frame, j: int, plan: ColumnPlan) -> Any:
        try:
            return how(frame.column(j), plan)
        except InfinityError as error:
            raise ValueError(
                f"Column {frame.title(j)} of {self.label} holds {error}; put finite numbers in "
                "their place, or gaps (see missing), or leave those rows out."
            ) from error
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Column {frame.title(j)} of {self.label}, a {plan.kind} in the first rows, holds "
                f"other values ({error}); mend them, or declare the column as categorical "
                "(categorical_features)."
            ) from error

    def _refuse_gaps(self, blocks: list[Block]) -> None:
        names = self.variable_names
        found = [f"{names[v]!r} ({b.n_gaps})" for v, b in enumerate(blocks) if b.n_gaps]
        if found:
            raise ValueError(
                f"Input {self.label} contains NaN or other gaps, in column{'s' * (len(found) > 1)} "
                f"{listed(found)}. Say missing='drop' to leave such rows out, 'indicator' to give "
                "gaps a column of their own, or 'mean' to fill them with the mean."
            )


@lru_cache(maxsize=16)
def _variables(names: tuple[str, ...], what: tuple[tuple[tuple[str, str], ...], ...]) -> Variables:
    """Name the columns of blocks, whose kinds and keys are mostly those of the batch before."""
    return Variables(names, tuple(Column(v, *w) for v, own in enumerate(what) for w in own))


def _assemble(blocks: list[Block], n: int, later: bool) -> Any:
    """Put blocks side by side: dense, or CSR with the columns of each row in order."""
    n_entries = sum(block.n_entries for block in blocks)
    starts = np.concatenate([[0], np.cumsum([len(block.what) for block in blocks])])
    p = int(starts[-1])
    if p < SPARSE_COLUMNS * n_entries:
        if not any(block.plan is not None for block in blocks):
            return _dense(blocks, starts, n)
        rows = ColumnBlocks(blocks, n)
        return rows if later and p <= MOST_COLUMNS else rows[:]
    data, indices = np.ones((n, n_entries)), np.empty((n, n_entries), dtype=np.int32)
    at = 0
    for block, start in zip(blocks, starts[:-1], strict=True):
        here = slice(at, at + block.n_entries)
        if block.codes is None:
            data[:, here] = ColumnBlocks([block], n)[:]
            indices[:, here] = np.arange(start, start + block.n_entries)
        else:
            indices[:, at] = start + block.codes
        at += block.n_entries
    indptr = np.arange(0, n * n_entries + 1, n_entries)
    rows = sp.csr_array((data.ravel(), indices.ravel(), indptr), shape=(n, p))
    rows.eliminate_zeros()
    return rows


def _dense(blocks: list[Block], starts: Array, n: int) -> Array:
    """Put blocks side by side, a few rows at a time, which stay in a cache meanwhile."""
    out = np.empty((n, int(starts[-1])), dtype=np.result_type(*(block.dtype for block in blocks)))
    for first in range(0, n, CHUNK):
        part = slice(first, min(first + CHUNK, n))
        for block, start in zip(blocks, starts[:-1], strict=True):
            block.write(part, out[part, start : start + len(block.what)])
    return out
