"""Smallest and largest values of columns, which tell the largest leverage of a row.

Like moments they add up: the extremes of two sets of rows are the extremes of their extremes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.moments.counts import rows_that_count
from projse.moments.folding import reduce_rows

if TYPE_CHECKING:
    from projse.moments.sums import Moments

Array = NDArray[Any]

EXTREMES = ("x_min", "x_max", "y_min", "y_max")
"""Names of the extremes in moments."""

BOUNDED = ("x_bounded", "y_bounded")
"""Names of the marks in moments of columns whose extremes are bounds, and no values of a row."""

HIGH = 0.4
"""Leverage above this: two rows that stand out alike have a half each, three have a third. Heavy
tails reach a third now and then, and carry signal."""

ALONE = (0.95, 1.001)
"""A row with such a share of the squares makes them up, with room for rounding."""

FORGOTTEN = 1e4
"""So many units of roundoff of the sums that a difference came from tell nothing of its squares."""

ROUNDING_OF_ROOTS = 1e-3
"""Sums of squares in float32 are exact to 1e-4: with this much more, their roots are bounds."""


@dataclass(frozen=True)
class Extremes:
    """Smallest and largest values of some columns, shape (n,) each; changed in place."""

    low: Array
    high: Array

    @classmethod
    def of_no_rows(cls, n: int) -> Extremes:
        """Start with no rows."""
        return cls(np.full(n, np.inf), np.full(n, -np.inf))

    @classmethod
    def of(cls, A: Any, columns: NDArray[np.bool_] | None = None) -> Extremes:
        """Take those of an array, sparse array or BlockedRows, whose rows all count.

        Of a dense array also those of some columns, which are copied some rows at a time.
        """
        if sp.issparse(A):
            # Zeros that are not stored are values like others.
            low, high = (getattr(A, name)(axis=0).toarray().ravel() for name in ("min", "max"))
            return cls(low.astype(np.float64), high.astype(np.float64))
        extremes = cls.of_no_rows(A.shape[1] if columns is None else int(columns.sum()))
        step = getattr(A, "block_rows", 0) or max(1, (1 << 20) // max(A.shape[1], 1))
        for start in range(0, A.shape[0], step):
            rows = np.asarray(A[start : start + step])
            extremes.take(rows if columns is None or columns.all() else rows[:, columns])
        return extremes

    def take(self, values: Array) -> None:
        """Add rows, which may be stacked: the last axis are the columns."""
        if values.size:
            np.minimum(self.low, reduce_rows(np.minimum, values), out=self.low)
            np.maximum(self.high, reduce_rows(np.maximum, values), out=self.high)

    def take_squares(self, squares: Array) -> None:
        """Add rows whose sums of squares are these: no value is larger than the root."""
        root = (1 + ROUNDING_OF_ROOTS) * np.sqrt(squares, dtype=np.float64)
        np.maximum(self.high, root, out=self.high)
        np.minimum(self.low, -root, out=self.low)

    def merge(self, other: Extremes) -> None:
        """Add those of other rows."""
        np.minimum(self.low, other.low, out=self.low)
        np.maximum(self.high, other.high, out=self.high)

    def tile(self, columns: slice) -> Extremes:
        """Return views of some columns."""
        return Extremes(self.low[columns], self.high[columns])

    def about(self, shift: Array | float, n_samples: int) -> tuple[Array, Array]:
        """Return both once a shift is put back; zeros where there were no rows."""
        if not n_samples:
            return np.zeros(len(self.low)), np.zeros(len(self.high))
        return self.low + shift, self.high + shift


def combined_extremes(a: Moments, b: Moments, sign: int) -> dict[str, Array | None]:
    """Return the extremes of a sum; of a difference, those of the larger set: bounds of the rest.

    Unknown where those of either part are, but for a part without rows.
    """
    if sign < 0 or not b.n_samples:
        return {}
    if not a.n_samples:
        return {name: getattr(b, name) for name in (*EXTREMES, *BOUNDED)}
    parts = {name: (getattr(a, name), getattr(b, name)) for name in EXTREMES}
    extremes: dict[str, Array | None] = {
        name: None if any(part is None for part in both) else _furthest(name)(both)
        for name, both in parts.items()
    }
    for name in BOUNDED:
        known = [mark for part in (a, b) if (mark := getattr(part, name)) is not None]
        extremes[name] = np.logical_or.reduce(known) if known else None
    return extremes


def forget_removed(rest: Moments, removed: Moments) -> None:
    """Draw in extremes that went with rows that were taken out, in place.

    An extreme that the removed rows have is a bound for the others. Where it would let a row stand
    out, that row is most likely among those that are gone: or a row that has left a window would be
    held against a variable for good. But for columns of two values, whose squares tell that both
    are still there, for those whose squares are just what one more row with this value makes (999
    for a gap, say, which comes again), and for those of which nothing but rounding is left.

    Extremes that were bounds before told of all rows that none stands out; of some they tell
    nothing.
    """
    w, n = rest.sum_weights, rows_that_count(rest.sum_weights, rest.n_samples)
    views: list[tuple[str, Any, Any, Any]] = [("x", rest.x_mean, rest.xx_diag, rest.x_peak)]
    if rest.y_mean is not None and rest.yy is not None:
        views.append(("y", rest.y_mean, rest.yy.diagonal(), rest.y_peak))
    for view, mean, squares, peak in views:
        names = [f"{view}_{end}" for end in ("min", "max")]
        low, high = (getattr(rest, name) for name in names)
        gone = [getattr(removed, name) for name in names]
        if low is None or high is None or gone[0] is None or gone[1] is None:
            continue
        squares = np.where(squares > FORGOTTEN * rest.eps * peak, squares, np.inf)
        root = np.sqrt(squares * (n / w)) if w > 0 else np.full_like(squares, np.inf)
        several = ~of_two_values(low, high, mean, squares, w)
        near = np.sqrt(HIGH / 4) * root
        bounded = getattr(rest, f"{view}_bounded")
        loose = np.zeros(len(low), dtype=bool) if bounded is None else bounded
        fell = several & (loose | (gone[0] <= low)) & _is_gone(mean - low, root, loose)
        rose = several & (loose | (gone[1] >= high)) & _is_gone(high - mean, root, loose)
        setattr(rest, names[0], np.where(fell, mean - near, low))
        setattr(rest, names[1], np.where(rose, mean + near, high))


def of_two_values(
    low: Array, high: Array, mean: Array, squares: Array, w: float
) -> NDArray[np.bool_]:
    """Tell which columns have no values but their extremes: none between them has larger squares.

    ``squares`` are sums about the mean, over rows of weight ``w``. All arrays of shape (n,).
    """
    largest = w * (mean - low) * (high - mean)
    two: NDArray[np.bool_] = np.isclose(largest, squares, rtol=1e-6, atol=0)
    return two


def _is_gone(
    distance: Array, root: Array, loose: NDArray[np.bool_] | bool = False
) -> NDArray[np.bool_]:
    """Tell whether a row this far out would stand out, and is not what the squares consist of.

    Squares say nothing of a distance that no row has (``loose``).
    """
    share = (distance / root) ** 2
    alone = (share >= ALONE[0]) & (share <= ALONE[1])
    gone: NDArray[np.bool_] = (share > HIGH) & (loose | ~alone)
    return gone


class StackedExtremes:
    """Extremes of blocks of rows, one row a block, and those of any set of blocks."""

    def __init__(self, blocks: Sequence[Moments]) -> None:
        self._stacks: dict[str, Array] = {}
        counted = [block for block in blocks if block.n_samples]
        for name in EXTREMES:
            if all(getattr(block, name) is not None for block in counted):
                nothing = np.inf if name.endswith("min") else -np.inf
                n = blocks[0].n_x if name.startswith("x") else blocks[0].n_y
                self._stacks[name] = np.array(
                    [getattr(block, name) if block.n_samples else [nothing] * n for block in blocks]
                )

    def of(self, used: NDArray[np.bool_]) -> dict[str, Array | None]:
        """Return the extremes over some of the blocks."""
        known = {name: _furthest(name)(stack[used]) for name, stack in self._stacks.items()}
        return {name: known.get(name) for name in EXTREMES}


def _furthest(name: str) -> Callable[[Any], Array]:
    return partial(np.min if name.endswith("min") else np.max, axis=0)


def check_extremes(
    low: Array | None, high: Array | None, mean: Array, slack: float, view: str
) -> None:
    """Raise a ValueError where extremes contradict each other or the mean.

    Parameters
    ----------
    low, high : ndarray of shape (n,) or None
    mean : ndarray of shape (n,)
    slack : float
        What the mean may be off by, as a share of the larger extreme.
    view : {"x", "y"}
    """
    if low is None or high is None:
        if low is not high:
            raise ValueError(f"of {view}_min and {view}_max, one is there and one is missing")
        return
    off = slack * np.maximum(np.abs(low), np.abs(high)) + np.finfo(np.float64).tiny
    bad = (low > high) | (mean < low - off) | (mean > high + off)
    if bad.any():
        j = int(bad.argmax())
        raise ValueError(
            f"column {j} of {view.upper()} cannot have a mean of {mean[j]:g} with values from "
            f"{low[j]:g} to {high[j]:g}"
        )
