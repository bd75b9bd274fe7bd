"""Combinations of the references in their place, so that no pass needs products of all of them.

With many outputs Y (m × n_y), their products with each other are out of reach, those with a few
combinations ``Y T`` (m × k) are not. Rows are replaced before they are summed, wherever they lie:

- the outputs where the candidates stood: their means, squares and extremes;
- the same, with ``Y T`` for references: also ``TᵀYᵀY``, products of all outputs with a few;
- the candidates where they are, with ``Y T`` for references: what a selection goes by.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.moments.accumulate import Progress
from projse.moments.extremes import Extremes
from projse.moments.in_memory import moments_of
from projse.moments.sums import Moments
from projse.sources.blocked_rows import BlockedRows
from projse.sources.rows import Rows, refuse_non_finite
from projse.threads import effective_n_threads, ordered_map

Array = NDArray[Any]

SLICE_BYTES = 1 << 28
"""Combinations of rows in memory are made this many bytes at a time."""

PRODUCT_ROWS = 4096
"""Rows that one thread multiplies at a time."""


@dataclass(frozen=True)
class Through:
    """Replaces the references of rows by combinations of them.

    Attributes
    ----------
    T : ndarray of shape (n_y, k) or None
        Combinations; None: there are none, and only the outputs are looked at.
    mean : ndarray of shape (n_y,) or None
        Taken out of the outputs first, where their means are so large that digits would be lost.
    of_outputs : bool
        Let the outputs stand where the candidates stood.
    """

    T: Array | None = None
    mean: Array | None = None
    of_outputs: bool = False

    @property
    def n_combinations(self) -> int:
        """Number of columns that stand for the references."""
        return 0 if self.T is None else self.T.shape[1]

    def __call__(self, rows: Rows, n_jobs: int | None = 1) -> Rows:
        """Replace the references; covariates stay behind them."""
        n, outputs, names = rows.n_references, rows.references, rows.target_names
        parts = [] if self.T is None else [self._combined(rows, outputs, n_jobs)]
        if rows.n_covariates:
            parts.append(rows.Y[:, n:])
        replaced: dict[str, Any] = {"Y": _side_by_side(parts), "y_variables": None}
        if names is not None:
            made = tuple(f"direction{i}" for i in range(self.n_combinations))
            replaced["target_names"] = (*made, *names[n:]) or None
        if self.of_outputs:
            replaced |= {"X": outputs, "x_variables": None, "x_label": "y"}
            replaced["feature_names"] = None if names is None else names[:n]
            replaced["encoding"] = None if rows.z_variables is None else rows.encoding
        return replace(rows, **replaced)

    def _combined(self, rows: Rows, outputs: Any, n_jobs: int | None) -> Any:
        """Return ``(Y − ȳ) T``, shape (m, k), in the dtype that the pass multiplies in."""
        assert self.T is not None
        beside = outputs if self.of_outputs else rows.X
        if sp.issparse(outputs):
            single = not self.of_outputs and beside.dtype == np.float32
        else:
            single = outputs.dtype == np.float32
        dtype = np.dtype(np.float32 if single else np.float64)
        # A product of sparse rows has the precision of what they hold.
        T = np.ascontiguousarray(self.T, dtype=np.float64 if sp.issparse(outputs) else dtype)
        if isinstance(outputs, BlockedRows):
            return self._combined_blocks(outputs, T)
        m, out = outputs.shape[0], np.empty((outputs.shape[0], T.shape[1]), dtype=dtype)
        shift = None if self.mean is None else self.mean @ self.T

        def product(start: int) -> None:
            part = slice(start, start + PRODUCT_ROWS)
            some = outputs[part]
            if sp.issparse(some):
                out[part] = some @ T if shift is None else some @ T - shift
                return
            if self.mean is not None:
                some = np.subtract(some, self.mean, dtype=np.float64)
            np.matmul(some.astype(dtype, copy=False), T, out=out[part])

        with (
            np.errstate(invalid="ignore", over="ignore"),  # rows of weight 0 may hold anything
            closing(
                ordered_map(product, range(0, m, PRODUCT_ROWS), effective_n_threads(n_jobs))
            ) as done,
        ):
            for _ in done:
                pass
        return out

    def _combined_blocks(self, outputs: BlockedRows, T: Array) -> BlockedRows:
        """Return the same of rows that lie in blocks, in such blocks."""
        blocks = outputs.blocks
        with np.errstate(invalid="ignore", over="ignore"):  # room to spare holds anything
            if self.mean is not None:
                blocks = np.subtract(blocks, self.mean[:, None], dtype=np.float64)
            return BlockedRows(np.matmul(T.T, blocks.astype(T.dtype, copy=False)), len(outputs))

    def moments_of(self, rows: Rows, *, n_jobs: int | None = None, **options: Any) -> Moments:
        """Sum over rows once their references are replaced; the outputs alone with extremes."""
        alone = self.of_outputs and self.T is None
        if alone:
            _refuse_gaps(rows)
        through = self(rows, n_jobs)
        moments = moments_of(through, n_jobs=n_jobs, **options)
        if self.of_outputs:
            moments = of_outputs(moments)
        moments.y_roundoff = rows.y_roundoff
        if not alone:
            return moments
        extremes = Extremes.of(through.counted().X)
        low, high = extremes.about(np.zeros(moments.n_x), moments.n_samples)
        return replace(moments, x_min=low, x_max=high)


class OutputMoments(Moments):
    """Moments in which the outputs stand where the candidates stood: messages call them y."""

    _x_label = "y"


def of_outputs(moments: Moments) -> Moments:
    """Let messages call by their name the outputs that stand where the candidates stood."""
    if isinstance(moments, OutputMoments):
        return moments
    return OutputMoments(**{field.name: getattr(moments, field.name) for field in fields(moments)})


Pass = Callable[[Through], Moments]
"""Sums over all rows, wherever they lie, once their references are replaced."""


def pass_over(rows: Rows, *, n_jobs: int | None = None, batch_size: int | None = None) -> Pass:
    """Make passes over rows in memory."""

    def over(through: Through) -> Moments:
        return moments_through(rows, through, n_jobs=n_jobs, batch_size=batch_size)

    return over


def moments_through(
    rows: Rows,
    through: Through,
    *,
    with_xx: bool = False,
    n_jobs: int | None = None,
    batch_size: int | None = None,
    progress: Progress | None = None,
) -> Moments:
    """Sum over rows in memory, some of them at a time: combinations take memory of their own."""
    m, width = rows.n_samples, 8 * max(through.n_combinations, 1)
    step = m if through.T is None else max(SLICE_BYTES // width, PRODUCT_ROWS)
    options: Any = {"with_xx": with_xx, "n_jobs": n_jobs, "batch_size": batch_size}
    total: Moments | None = None
    for start in range(0, m, step):
        part = rows if step >= m else rows.take(slice(start, start + step))
        if part.weight is not None and not part.weight.any():
            continue
        moments = through.moments_of(part, **options)
        total = moments if total is None else total + moments
        if progress is not None:
            progress(min(start + step, m), m)
    assert total is not None  # weights are not all 0
    return total


def _side_by_side(parts: list[Any]) -> Any:
    """Put combinations and covariates side by side; None where there are neither."""
    if len(parts) < 2:
        return parts[0] if parts else None
    made, Z = parts
    if isinstance(made, BlockedRows):
        return BlockedRows(np.concatenate([made.blocks, Z.blocks], axis=1), len(made))
    Z = Z.toarray() if sp.issparse(Z) else Z
    return np.concatenate([made, np.asarray(Z, dtype=np.float64)], axis=1)


def _refuse_gaps(rows: Rows) -> None:
    """Refuse what is not finite under the name of y: the pass takes the outputs for candidates."""
    rows = rows.counted()
    outputs = rows.references
    values = outputs.data if sp.issparse(outputs) else outputs
    with np.errstate(over="ignore", invalid="ignore"):
        total = sum(
            float(np.sum(np.asarray(values[start : start + PRODUCT_ROWS]), dtype=np.float64))
            for start in range(0, values.shape[0], PRODUCT_ROWS)
        )
    if not np.isfinite(total):
        names = rows.target_names
        refuse_non_finite(outputs, "y", None if names is None else names[: rows.n_references])
