"""What moments of some rows must be: finite, symmetric, positive semi-definite, and fitting.

Files and hand-made moments are looked at here before anything is computed from them. Rounding is
let pass: an entry is known to ``eps`` of the sums that it came from.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.moments.check_variables import check_variables
from projse.moments.encoding import check_encoding, short
from projse.moments.extremes import BOUNDED, check_extremes
from projse.moments.partial import check_counts
from projse.sources.rows import SMALLEST_SQUARES

if TYPE_CHECKING:
    from projse.moments.sums import Moments

Array = NDArray[Any]

CLASS_KINDS = "biufUS"

SLACK = 1e4
"""Entries may be off by this many units of roundoff of the sums that they came from."""

CONSTANT_BEYOND = float(np.sqrt(np.finfo(np.float64).max) / np.finfo(np.float64).eps)
"""Squares of the last digit of a larger mean overflow: a column that has one is constant."""

DEFINITE_COLUMNS = 512
"""Up to this many variables (some milliseconds) a matrix is also factored, to see its sign."""


def check_moments(moments: Moments, *, definite: bool = True) -> None:
    """Raise a ValueError that says why these cannot be moments of any rows.

    Parameters
    ----------
    moments : Moments
    definite : bool
        Also look for negative eigenvalues of matrices of up to 512 variables.

    Notes
    -----
    One read of every array: two for ``xx`` and ``yy``, which are compared with their transposes. A
    Cholesky factorisation of up to 512 variables takes ``n³/3`` flops more. Every pair of variables
    must satisfy ``c² ≤ a b``; larger matrices may still be indefinite in three or more variables.
    """
    _check_numbers(moments)
    _check_arrays(moments)
    _check_names(moments)
    check_variables(moments)
    check_encoding(moments.encoding)
    with np.errstate(over="ignore"):  # then nothing is refused for its size
        _check_single_rows(moments)
        check_possible(moments, definite=definite)


def check_possible(moments: Moments, *, definite: bool = True) -> None:
    """Raise a ValueError where products of the variables contradict each other."""
    x_size = _sizes(moments.xx_diag, moments.x_peak, moments.x_mean, moments)
    _refuse_negative(moments.xx_diag, x_size, moments, "candidate")
    if moments.xx is not None:
        slack = _slack(moments) * x_size + np.finfo(np.float64).tiny
        off = np.flatnonzero(np.abs(np.diag(moments.xx) - moments.xx_diag) > slack)
        if off.size:
            j = off[0]
            raise ValueError(
                f"xx_diag is {moments.xx_diag[j]:g} for {_name(moments, 'candidate', j)}, but the "
                f"diagonal of xx is {moments.xx[j, j]:g}"
            )
        _check_square(moments.xx, moments.xx_diag, x_size, moments, "xx", "candidate")
    y_size = np.empty(0)
    if moments.y_mean is not None and moments.yy is not None:
        y_diag = np.diag(moments.yy)
        y_size = _sizes(y_diag, moments.y_peak, moments.y_mean, moments)
        _refuse_negative(y_diag, y_size, moments, "reference")
        _check_square(moments.yy, y_diag, y_size, moments, "yy", "reference")
        _check_cross(moments, x_size, y_size)
    if definite:
        _check_definite(moments, x_size, y_size)


def _check_numbers(moments: Moments) -> None:
    n: Any = moments.n_samples
    w, eps = moments.sum_weights, moments.eps
    if not isinstance(n, int | np.integer) or not 0 <= n < 1 << 63:
        raise ValueError(f"n_samples={short(n)} is no number of rows")
    if not _is_finite(w) or w < 0 or (w == 0) != (n == 0):
        raise ValueError(f"sum_weights={short(w)} is no weight of {n} rows")
    if not _is_finite(eps) or not 1e-16 <= eps <= 1e-6:
        raise ValueError(f"eps={short(eps)} is neither float64's roundoff nor float32's")
    if not _is_finite(moments.y_roundoff) or not 1e-16 <= moments.y_roundoff <= 1e-2:
        raise ValueError(f"y_roundoff={short(moments.y_roundoff)} is no dtype's")
    if not isinstance(moments.whole_weights, bool | None):
        raise ValueError(f"whole_weights={short(moments.whole_weights)} is neither true nor false")
    check_counts(moments)


def _check_arrays(moments: Moments) -> None:
    """Refuse arrays of another shape or dtype, and entries that are not finite."""
    for name in ("x_mean", "y_mean"):
        value = getattr(moments, name)
        if np.ndim(value) != 1 and not (value is None and name == "y_mean"):
            raise ValueError(f"{name} has {np.ndim(value)} dimensions instead of 1")
    n_x, n_y = moments.n_x, moments.n_y
    if not n_x or not n_y:
        raise ValueError(f"there are {n_x} candidates and {n_y} references")
    shapes = {"x_mean": (n_x,), "xx_diag": (n_x,), "x_peak": (n_x,), "xx": (n_x, n_x)}
    shapes |= {"y_mean": (n_y,), "yy": (n_y, n_y), "yx": (n_y, n_x), "y_peak": (n_y,)}
    shapes |= {"x_min": (n_x,), "x_max": (n_x,), "y_min": (n_y,), "y_max": (n_y,)}
    shapes |= {"x_bounded": (n_x,), "y_bounded": (n_y,)}
    no_y, two_views = moments.y_mean is None, {"y_mean", "yy", "yx"}
    for name, shape in shapes.items():
        value = getattr(moments, name)
        if value is None:
            if name in ("x_mean", "xx_diag") or (name in two_views and not no_y):
                raise ValueError(f"{name} is missing")
            continue
        if no_y and name in two_views:
            raise ValueError(f"{name} is there, but y_mean is not")
        if not isinstance(value, np.ndarray) and not (name == "yx" and sp.issparse(value)):
            raise ValueError(f"{name} is no array but of type {type(value).__name__}")
        dtype = np.dtype(bool if name in BOUNDED else np.float64)
        if value.shape != shape or value.dtype != dtype:
            raise ValueError(
                f"{name} has shape {value.shape} and dtype {value.dtype} instead of {shape} and "
                f"{dtype}"
            )
        if sp.issparse(value):
            if value.format != "csc":
                raise ValueError(f"{name} is sparse but not by columns (csc_array)")
            value.check_format(full_check=True)
        _refuse_non_finite(value, name, moments)
    for name, kind in (("x_peak", "candidate"), ("y_peak", "reference")):
        peak = getattr(moments, name)
        if peak is not None and (peak < 0).any():
            j = int((peak < 0).argmax())
            raise ValueError(f"{name} is {peak[j]:g} for {_name(moments, kind, j)}: below 0")
    slack = _slack(moments)
    check_extremes(moments.x_min, moments.x_max, moments.x_mean, slack, "x")
    if moments.y_mean is not None:
        check_extremes(moments.y_min, moments.y_max, moments.y_mean, slack, "y")


def _refuse_non_finite(value: Any, name: str, moments: Moments) -> None:
    entries = value.data if sp.issparse(value) else value
    if np.isfinite(entries).all():
        return
    if sp.issparse(value):
        column = int(np.searchsorted(value.indptr, (~np.isfinite(entries)).argmax(), "right")) - 1
    else:
        column = int((~np.isfinite(entries)).reshape(-1, entries.shape[-1]).any(axis=0).argmax())
    kind = "reference" if name.startswith("y") and name != "yx" else "candidate"
    raise ValueError(f"{name} holds NaN or infinity for {_name(moments, kind, column)}")


def _check_names(moments: Moments) -> None:
    for what, n in (("feature_names", moments.n_x), ("target_names", moments.n_y)):
        names = getattr(moments, what)
        if names is None:
            continue
        if len(names) != n:
            raise ValueError(f"{what} holds {len(names)} names for {n} columns")
        if not all(isinstance(name, str) for name in names):
            raise ValueError(f"{what} holds names that are not strings")
    names = moments.feature_names
    if names is not None and len(set(names)) < len(names):
        (twice, _), *_ = Counter(names).most_common(1)
        raise ValueError(f"feature_names holds {twice!r} more than once")
    classes = moments.classes
    if classes is None:
        return
    n = moments.n_references
    if not isinstance(classes, np.ndarray) or classes.shape != (n,):
        raise ValueError(f"classes have shape {np.shape(classes)} instead of ({n},)")
    if classes.dtype.kind not in CLASS_KINDS:
        raise ValueError(f"classes have dtype {classes.dtype}")
    if classes.dtype.kind == "U" and not _are_letters(classes):
        raise ValueError("classes hold characters that do not exist")
    if moments.one_view:
        raise ValueError("classes are there, but y_mean is not")
    if not (classes[1:] > classes[:-1]).all():
        raise ValueError("classes are not in ascending order, or one is there twice")


def _are_letters(text: Array) -> bool:
    """Whether fixed-width text, which numpy takes from a file unseen, is text."""
    codes = np.frombuffer(text.tobytes(), dtype=text.dtype.byteorder + "u4")
    return bool((codes <= sys.maxunicode).all())


def _check_single_rows(moments: Moments) -> None:
    """One row, or none, has no spread; what a subtraction left of it may be rounding."""
    if moments.n_samples > 1:
        return
    squares = [(moments.xx_diag, moments.x_peak, moments.x_mean, "candidate")]
    if moments.yy is not None and moments.y_mean is not None:
        squares.append((np.diag(moments.yy), moments.y_peak, moments.y_mean, "reference"))
    for values, peak, mean, kind in squares:
        rounded = np.where(np.abs(mean) < CONSTANT_BEYOND, mean, 0.0)
        limit = _slack(moments) * moments.sum_weights * rounded**2
        if peak is None and (values > limit).any():
            j = int((values > limit).argmax())
            raise ValueError(
                f"{moments.n_samples} row(s) cannot have a sum of squares of {values[j]:g} about "
                f"the mean, as {_name(moments, kind, j)} has"
            )


def _slack(moments: Moments) -> float:
    return SLACK * moments.eps


def _sizes(squares: Array, peak: Array | None, mean: Array, moments: Moments) -> Array:
    """Return the sums of squares that rounding is a share of."""
    largest = np.maximum(squares, 0.0) if peak is None else np.maximum(squares, peak)
    # An infinite size would let anything pass.
    sizes: Array = np.minimum(largest + _about(mean, moments), np.finfo(np.float64).max)
    return sizes


def _about(mean: Array, moments: Moments) -> Array:
    """Return what means add to those sizes: they are known to their last digit in float64."""
    rounded = np.where(np.abs(mean) < CONSTANT_BEYOND, mean, 0.0)
    digit = np.finfo(np.float64).eps / moments.eps * rounded
    about: Array = moments.sum_weights * digit**2
    return about


def _refuse_negative(squares: Array, size: Array, moments: Moments, kind: str) -> None:
    bad = squares < -_slack(moments) * size
    if bad.any():
        j = int(bad.argmax())
        raise ValueError(f"{_name(moments, kind, j)} has a sum of squares of {squares[j]:g}")


def _rounding(a_size: Array, b_size: Array, slack: float) -> Array:
    """Return what an entry may be off by, as an outer product."""
    rounding: Array = np.outer(slack * np.sqrt(a_size), np.sqrt(b_size))
    # Products of numbers near the end of the range vanish.
    rounding += np.finfo(np.float64).tiny
    return rounding


def _allowed(a: Array, b: Array, a_size: Array, b_size: Array, slack: float) -> Array:
    """Return the largest products that sums of squares allow, each as it may be without rounding.

    A sum of squares may have vanished, or be lost to the rounding of a larger one that it was
    taken out of, while a product with it is still known.
    """
    a, b = (
        np.sqrt(np.maximum(squares, SMALLEST_SQUARES) + slack * size)
        for squares, size in ((a, a_size), (b, b_size))
    )
    return np.outer(a, b)


def _blocks(n: int, width: int) -> Iterator[slice]:
    step = max(1, (1 << 20) // max(width, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def _first(bad: Array) -> tuple[int, int]:
    i, j = np.unravel_index(bad.argmax(), bad.shape)
    return int(i), int(j)


def _check_square(
    A: Array, squares: Array, size: Array, moments: Moments, what: str, kind: str
) -> None:
    slack = _slack(moments)
    for rows in _blocks(len(A), len(A)):
        rounding = _rounding(size[rows], size, slack)
        allowed = _allowed(squares[rows], squares, size[rows], size, slack)
        bad = np.abs(A[rows]) > allowed + rounding
        if bad.any():
            i, j = _first(bad)
            _refuse_pair(moments, what, A[rows][i, j], (kind, rows.start + i), (kind, j))
        other = A[:, rows].T
        bad = np.abs(A[rows] - other) > rounding
        if bad.any():
            i, j = _first(bad)
            pair = f"{_name(moments, kind, rows.start + i)} and {_name(moments, kind, j)}"
            raise ValueError(
                f"{what} is not symmetric: {pair} have {A[rows][i, j]:g} one way and "
                f"{other[i, j]:g} the other"
            )


def _check_cross(moments: Moments, x_size: Array, y_size: Array) -> None:
    assert moments.yy is not None and moments.y_mean is not None
    slack = _slack(moments)
    y_squares = np.diag(moments.yy)
    if sp.issparse(moments.yx):
        # Not centred: about zero, the sums of squares are larger by the means.
        w = moments.sum_weights
        x, y = (
            np.sqrt((1 + slack) * (size + w * mean**2))
            for size, mean in ((x_size, moments.x_mean), (y_size, moments.y_mean))
        )
        places = np.repeat(np.arange(moments.n_x), np.diff(moments.yx.indptr))
        bad = np.abs(moments.yx.data) > y[moments.yx.indices] * x[places]
        if bad.any():
            k = int(bad.argmax())
            pair = ("reference", moments.yx.indices[k]), ("candidate", places[k])
            _refuse_pair(moments, "yx", moments.yx.data[k], *pair)
        return
    for columns in _blocks(moments.n_x, moments.n_y):
        part = moments.yx[:, columns]
        allowed = _allowed(y_squares, moments.xx_diag[columns], y_size, x_size[columns], slack)
        bad = np.abs(part) > allowed + _rounding(y_size, x_size[columns], slack)
        if bad.any():
            i, j = _first(bad)
            _refuse_pair(
                moments, "yx", part[i, j], ("reference", i), ("candidate", columns.start + j)
            )


def _refuse_pair(
    moments: Moments, what: str, value: float, a: tuple[str, Any], b: tuple[str, Any]
) -> None:
    pair = f"{_name(moments, *a)} and {_name(moments, *b)}"
    raise ValueError(f"{what} is {value:g} for {pair}: more than their sums of squares allow")


def _check_definite(moments: Moments, x_size: Array, y_size: Array) -> None:
    """Factor the products of all variables that are there: they must have no negative direction."""
    parts = [part for part in (moments.yy, moments.xx) if part is not None]
    sizes = [
        size for size, part in ((y_size, moments.yy), (x_size, moments.xx)) if part is not None
    ]
    whole = len(parts) == 2 and len(parts[0]) + len(parts[1]) <= DEFINITE_COLUMNS
    if whole and not sp.issparse(moments.yx):
        parts = [np.block([[parts[0], moments.yx], [moments.yx.T, parts[1]]])]
        sizes = [np.concatenate(sizes)]
    for A, size in zip(parts, sizes, strict=True):
        if len(A) > DEFINITE_COLUMNS:
            continue
        unit = np.divide(1.0, np.sqrt(size), out=np.zeros(len(A)), where=size > 0)
        scaled = A * unit[:, None] * unit
        scaled[np.diag_indices(len(A))] += (SLACK + 64 * len(A)) * moments.eps
        try:
            scipy.linalg.cholesky(scaled, lower=True, overwrite_a=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            raise ValueError(
                "the products of the variables are not positive semi-definite: no rows have them"
            ) from None


def _name(moments: Moments, kind: str, j: Any) -> str:
    names = moments.feature_names if kind == "candidate" else moments.target_names
    if kind == "reference" and moments.y_mean is None:
        names = moments.feature_names
    return f"{kind} {j}" if names is None or len(names) <= j else f"{kind} {names[j]!r}"


def _is_finite(value: Any) -> bool:
    try:
        return isinstance(value, Real) and bool(np.isfinite(float(value)))
    except OverflowError:
        return False
