"""Moments of two sets of rows, added or taken out of each other."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.exceptions import PrecisionLossWarning
from projse.moments.align import aligned
from projse.moments.check import check_possible
from projse.moments.counts import whole_in_both
from projse.moments.extremes import BOUNDED, EXTREMES, combined_extremes, forget_removed
from projse.moments.rounding import ROUNDING, mark_vanished
from projse.moments.sparse_products import centred_yx, subtract_outer
from projse.sources.rows import refuse_overflow
from projse.sources.variables import MAY_BE_ABSENT, Variables

if TYPE_CHECKING:
    from projse.moments.sums import Moments

Array = NDArray[Any]


def combine(a: Moments, b: Moments, sign: int) -> Moments:
    """Add (+1) or take out (−1) rows, by the pairwise update of Chan, Golub and LeVeque."""
    if a.one_view != b.one_view:
        raise ValueError("Moments of one view and of two views cannot be combined.")
    a, b = aligned(a, b)
    if a.n_x != b.n_x:
        raise ValueError(f"Moments of {a.n_x} and of {b.n_x} candidates cannot be combined.")
    if a.feature_names and b.feature_names and a.feature_names != b.feature_names:
        pairs = zip(a.feature_names, b.feature_names, strict=True)
        first = next(p for p in pairs if p[0] != p[1])
        raise ValueError(f"Moments have different candidates: {first[0]!r} and {first[1]!r}.")
    check_covariates(a, b)
    if a.n_y != b.n_y:
        raise ValueError(f"Moments of {a.n_y} and of {b.n_y} references cannot be combined.")
    if a.classes is None and a.target_names and b.target_names and a.target_names != b.target_names:
        raise ValueError(
            f"Moments have different references: {a.target_names} and {b.target_names}."
        )
    n = a.n_samples + sign * b.n_samples
    total = a.sum_weights + sign * b.sum_weights
    if not np.isfinite(total):
        raise ValueError("The sum of sample_weight overflows; divide all weights by a constant.")
    if sign < 0:
        _check_contained(a, b, n, total)
    if n == 0:
        total = 0.0
    # The weight of the rank-one term: w_a w_b / (w_a + w_b), with w_b < 0 for a difference.
    share = b.sum_weights / total * sign if total else 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        combined = _combined(a, b, sign, n, total, share)
    names = combined.feature_names, combined.target_names
    refuse_overflow(combined.xx_diag, combined._x_label, names[0])
    if combined.yy is not None:
        refuse_overflow(np.diag(combined.yy), "y", names[1], combined.n_covariates)
    if sign > 0 and a.n_samples and b.n_samples:
        # Means of a constant column are equal to the last digit.
        y_differs = None if a.y_mean is None else a.y_mean != b.y_mean
        mark_vanished(combined, a.x_mean != b.x_mean, y_differs)
    elif sign < 0:
        with np.errstate(over="ignore"):  # then nothing is refused for its size
            _check_difference(a, b, combined)
            forget_removed(combined, b)
    combined.xx_diag = np.maximum(combined.xx_diag, 0.0)
    return combined if combined.n_samples else _emptied(combined)


def check_covariates(a: Moments, b: Moments) -> None:
    """Refuse to add moments of different covariates: what is taken out must be the same."""
    if a.n_partialled != b.n_partialled:
        raise ValueError(
            f"Moments of which covariates of {a.n_partialled} and of {b.n_partialled} dimensions "
            "were taken out cannot be combined; add them before."
        )
    names = [m.target_names[m.n_y - m.n_covariates :] if m.target_names else () for m in (a, b)]
    differ = all(names) and names[0] != names[1]
    if a.n_covariates == b.n_covariates and not differ:
        return
    shared = {*names[0]} & {*names[1]}
    only = [repr(name) for name in (*names[0], *names[1]) if name not in shared]
    listed = f" ({', '.join(only[:6])} on one side only)" if only else ""
    raise ValueError(
        f"Moments of {a.n_covariates} and of {b.n_covariates} columns of covariates cannot be "
        f"combined{listed}: pass the same covariates with all rows."
    )


def _emptied(moments: Moments) -> Moments:
    """Forget what rounding left of rows that are all gone, and how large they were."""
    zeros = {
        name: value * 0.0
        for name in ("x_mean", "y_mean", "yy", "yx", "xx_diag", "xx", *EXTREMES)
        if (value := getattr(moments, name)) is not None
    }
    nothing: dict[str, Any] = dict.fromkeys(("x_peak", "y_peak", "whole_weights", *BOUNDED))
    return replace(moments, **zeros, **nothing)


def _of_the_rows(a: Moments, b: Moments) -> dict[str, Any]:
    """Return what is known of the rows of both: moments without rows have no say."""
    counted = [moments for moments in (a, b) if moments.n_samples] or [a]
    return {
        "eps": max(moments.eps for moments in counted),
        "y_roundoff": max(moments.y_roundoff for moments in counted),
        "whole_weights": whole_in_both(counted[0].whole_weights, counted[-1].whole_weights),
    }


def _combined(a: Moments, b: Moments, sign: int, n: int, total: float, share: float) -> Moments:
    """Add up moments of the same columns; ``share`` is how far the mean moves from a to b."""
    scale = a.sum_weights * share
    dx = b.x_mean - a.x_mean
    xx = None
    extremes: dict[str, Any] = combined_extremes(a, b, sign)
    if a.xx is not None and b.xx is not None:
        xx = a.xx + sign * b.xx + scale * np.outer(dx, dx)
    combined = replace(
        a,
        n_samples=n,
        sum_weights=total,
        x_mean=a.x_mean + share * dx,
        xx_diag=a.xx_diag + sign * b.xx_diag + scale * dx**2,
        xx=xx,
        feature_names=a.feature_names or b.feature_names,
        target_names=a.target_names or b.target_names,
        **_of_the_rows(a, b),
        x_peak=_peak(a.x_peak, b.x_peak, a.xx_diag, sign),
        **extremes,
    )
    if a.y_mean is None or b.y_mean is None:
        return combined
    dy = b.y_mean - a.y_mean
    assert a.yy is not None and b.yy is not None
    if sp.issparse(a.yx) and sp.issparse(b.yx):
        yx = sp.csc_array(a.yx + sign * b.yx)
    else:
        yx = centred_yx(a) + sign * centred_yx(b)
        subtract_outer(yx, -scale * dy, dx)
    return replace(
        combined,
        y_mean=a.y_mean + share * dy,
        yy=a.yy + sign * b.yy + scale * np.outer(dy, dy),
        yx=yx,
        y_peak=_peak(a.y_peak, b.y_peak, np.diag(a.yy), sign),
    )


def _peak(a: Array | None, b: Array | None, squares: Array, sign: int) -> Array | None:
    """Return the largest sums of squares in the history of a sum or a difference."""
    peaks = [peak for peak in (a, b, squares if sign < 0 else None) if peak is not None]
    return np.max(peaks, axis=0) if peaks else None


def _check_contained(a: Moments, b: Moments, n: int, total: float) -> None:
    if n < 0 or total < -1e-9 * a.sum_weights or (n > 0 and total <= 0):
        raise ValueError(
            f"Cannot subtract moments of {b.n_samples} rows (weight {b.sum_weights:g}) from "
            f"moments of {a.n_samples} rows (weight {a.sum_weights:g}): they were never added."
        )


def _check_difference(a: Moments, b: Moments, rest: Moments) -> None:
    """Refuse a difference that no rows have; warn of columns of which rounding is left."""
    lost = _check_remainder(a.xx_diag, rest.xx_diag, (a, b, rest), "candidate")
    if rest.yy is not None:
        assert a.yy is not None
        lost += _check_remainder(np.diag(a.yy), np.diag(rest.yy), (a, b, rest), "reference")
    if rest.n_samples > 1:
        try:
            check_possible(rest)
        except ValueError as error:
            raise ValueError(
                f"Cannot subtract: of what is left, {error}. These moments were never added."
            ) from error
    if lost:
        listed = ", ".join(lost[:10]) + (f" and {len(lost) - 10} more" if len(lost) > 10 else "")
        warnings.warn(
            f"In the {rest.n_samples} rows that are left, what is left of {listed} is constant or "
            "lost to rounding, and will not be selected; if it should be, sum these rows anew.",
            PrecisionLossWarning,
            stacklevel=4,
        )


def _check_remainder(
    squares: Array, after: Array, moments: tuple[Moments, Moments, Moments], kind: str
) -> list[str]:
    """Refuse a difference whose sums of squares are negative, or left over where no rows are.

    Returns the columns that had a spread before and have none beyond rounding now.
    """
    a, b, rest = moments
    x = kind == "candidate"
    means: Any = (a.x_mean, b.x_mean) if x else (a.y_mean, b.y_mean)
    mean = np.abs(means).max(axis=0)
    peak = rest.x_peak if x else rest.y_peak
    assert peak is not None
    w, n, eps = a.sum_weights, rest.n_samples, rest.eps
    # Rounding of the sums of squares, and of the means that they are about.
    slack = 1e4 * (eps * peak + np.sqrt(w * peak) * eps * mean + w * (eps * mean) ** 2)
    bad = np.flatnonzero((after < -slack) | ((after > slack) & (n <= 1)))
    names = rest.feature_names if x else rest.target_names
    if bad.size:
        which = repr(names[bad[0]]) if names else str(bad[0])
        raise ValueError(
            f"Cannot subtract: {n} rows would be left with a sum of squares of "
            f"{after[bad[0]]:g} in {kind} {which}. These moments were never added."
        )
    if n <= 1 or (not x and rest.classes is not None):
        return []
    before = a.x_peak if x else a.y_peak
    spread = squares > ROUNDING * eps * (squares if before is None else before)
    lost = np.flatnonzero(spread & (after <= ROUNDING * eps * peak) & ~_is_indicator(rest, x))
    return [f"{kind} {names[j]!r}" if names else f"{kind} {j}" for j in lost]


def _is_indicator(moments: Moments, x: bool) -> Array:
    """Tell which columns are of zeros and ones: one that is constant has no rows left, or all."""
    if x:
        return _indicators(moments.x_variables, moments.n_x)
    references = _indicators(moments.y_variables, moments.n_y - moments.n_covariates)
    covariates = _indicators(moments.z_variables, moments.n_covariates)
    return np.concatenate([references, covariates])


def _indicators(variables: Variables | None, n: int) -> Array:
    if variables is None:
        return np.zeros(n, dtype=bool)
    return np.array([column.kind in MAY_BE_ABSENT for column in variables.columns], dtype=bool)
