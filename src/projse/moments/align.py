"""The same columns on both sides: levels, gaps and classes that one of two moments lacks.

Rows without a level have 0 in its column, so batches need not have seen the same levels. Columns
that differ are put in order (by variable, kind and key, as an encoder has them), so that sums of
any number of moments have the same columns whatever is added first, and those of all rows at once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.moments.encoding import check_same_encoding
from projse.sources.table.plan import PERIODS
from projse.sources.variables import MAX_LEVELS, MAY_BE_ABSENT, Column, Variables

if TYPE_CHECKING:
    from projse.moments.sums import Moments

Array = NDArray[Any]

ORDER = ("value", "level", "spline", "trend", "cycle", "gap", "dropped")
"""Kinds of columns, in the order that they have within a variable."""

CYCLES = tuple(f"{name}:{wave}" for name in PERIODS for wave in ("sin", "cos"))

KINDS = {"x": "candidates", "y": "references", "z": "covariates"}


def aligned(a: Moments, b: Moments) -> tuple[Moments, Moments]:
    """Give both the union of their levels, gaps and classes; refuse what cannot be united."""
    check_same_encoding(a.encoding, b.encoding)
    a, b = _same_variables(a, b, "x")
    if (a.classes is None) != (b.classes is None):
        raise ValueError("Moments of class labels and of other references cannot be combined.")
    if a.classes is not None and b.classes is not None:
        a, b = _same_classes(a, b)
    else:
        a, b = _same_variables(a, b, "y")
    return with_same_levels(a, b)


def with_same_levels(a: Moments, b: Moments) -> tuple[Moments, Moments]:
    """Give the covariates of both the union of their levels and gaps."""
    return _same_variables(a, b, "z")


def with_columns(moments: Moments, view: str, source: Array) -> Moments:
    """Put the columns of a view in another order, or others in their place.

    Parameters
    ----------
    moments : Moments
    view : {"x", "y"}
    source : ndarray of int of shape (n,)
        Where each new column was before; -1 for a column that is 0 in all rows.

    Returns
    -------
    Moments
        With the names and variables of before: those are for the caller.
    """
    source = np.asarray(source, dtype=np.intp)
    if np.array_equal(source, np.arange(moments.n_x if view == "x" else moments.n_y)):
        return moments
    vectors = [f"{view}_{what}" for what in ("mean", "peak", "min", "max", "bounded")]
    vectors += ["xx_diag"] if view == "x" else []
    square = view * 2
    new: dict[str, Any] = {name: _taken(getattr(moments, name), source, 0) for name in vectors}
    new[square] = _taken(_taken(getattr(moments, square), source, 0), source, 1)
    new["yx"] = _taken(moments.yx, source, 1 if view == "x" else 0)
    return replace(moments, **new)


def _taken(values: Any, source: Array, axis: int) -> Any:
    """Take along an axis, with 0 where the source is -1."""
    if values is None:
        return None
    known = source >= 0
    if sp.issparse(values):
        new = np.flatnonzero(known)
        shape = (values.shape[axis], len(source))
        place = sp.csc_array((np.ones(len(new)), (source[new], new)), shape=shape)
        return sp.csc_array(values @ place if axis else place.T @ values)
    if known.all():
        return np.take(values, source, axis=axis)
    shape = (*values.shape[:axis], len(source), *values.shape[axis + 1 :])
    out = np.zeros(shape, dtype=values.dtype)
    out[(slice(None),) * axis + (known,)] = np.take(values, source[known], axis=axis)
    return out


def _same_variables(a: Moments, b: Moments, view: str) -> tuple[Moments, Moments]:
    first, second = (getattr(moments, f"{view}_variables") for moments in (a, b))
    if first is None and second is None:
        return a, b
    if view == "z" and not (a.n_covariates and b.n_covariates):
        return a, b  # that is told apart from covariates that differ
    if first is None or second is None:
        raise ValueError(
            f"Moments whose {KINDS[view]} are columns of an encoded table and moments of plain "
            "columns cannot be combined; build both from tables, or both from arrays."
        )
    if first.columns == second.columns and first.names == second.names:
        return a, b
    union = united(first, second, MAX_LEVELS if view == "x" else None)
    if view == "z":
        _refuse_identifiers(union)
    return _with_variables(a, view, union), _with_variables(b, view, union)


def _refuse_identifiers(covariates: Variables) -> None:
    """Refuse covariates of very many levels: each is a column, and none may be left out."""
    levels = Counter(c.variable for c in covariates.columns if c.kind == "level")
    variable, n = levels.most_common(1)[0] if levels else (0, 0)
    if n > MAX_LEVELS:
        raise ValueError(
            f"Covariate {covariates.names[variable]!r} has more than {MAX_LEVELS} levels; it looks "
            "like an identifier. Leave it out, or join its levels."
        )


def _with_variables(moments: Moments, view: str, union: Variables) -> Moments:
    before = getattr(moments, f"{view}_variables")
    place = {column: j for j, column in enumerate(before.columns)}
    source = np.array([place.get(column, -1) for column in union.columns], dtype=np.intp)
    moved = _replaced(moments, view, source, union.titles)
    return replace(moved, **{f"{view}_variables": union})  # type: ignore[arg-type]


def _replaced(moments: Moments, view: str, source: Array, titles: tuple[str, ...]) -> Moments:
    """Put columns in the place of the candidates, the references or the covariates.

    Covariates stand behind the references, whatever comes of either.
    """
    if view == "x":
        names = None if moments.feature_names is None else titles
        return replace(with_columns(moments, "x", source), feature_names=names)
    n, n_y = moments.n_y - moments.n_covariates, moments.n_y
    before = moments.target_names
    if view == "y":
        places = np.concatenate([source, np.arange(n, n_y)])
        names = None if before is None else (*titles, *before[n:])
        return replace(with_columns(moments, "y", places), target_names=names)
    places = np.concatenate([np.arange(n), np.where(source < 0, -1, n + source)])
    names = None if before is None else (*before[:n], *titles)
    moved = with_columns(moments, "y", places)
    return replace(moved, target_names=names, n_covariates=len(source))


def united(a: Variables, b: Variables, max_levels: int | None = MAX_LEVELS) -> Variables:
    """Return the columns of two sets of rows of the same variables, in order.

    A variable that either lacks (``dropped``), or of which there are more levels than
    ``max_levels``, is dropped. References may have any number of classes.
    """
    if a.names != b.names:
        pairs = zip(a.names, b.names, strict=False)
        differ = next((pair for pair in pairs if pair[0] != pair[1]), None)
        what = f"{a.n} and {b.n} of them" if differ is None else "{!r} and {!r}".format(*differ)
        raise ValueError(f"Moments have different variables: {what}.")
    found = set(a.columns) | set(b.columns)
    dropped = {column.variable for column in found if column.kind == "dropped"}
    levels = Counter(column.variable for column in found if column.kind == "level")
    if max_levels is not None:
        dropped |= {variable for variable, n in levels.items() if n > max_levels}
    kept = {column for column in found if column.variable not in dropped}
    for here, other in ((a, b), (b, a)):
        lacking = (kept - set(other.columns)) & set(here.columns)
        _refuse_lacking({c for c in lacking if c.kind not in MAY_BE_ABSENT}, here, other)
    kept |= {Column(variable, "dropped") for variable in dropped}
    return Variables(a.names, tuple(sorted(kept, key=place)))


def place(column: Column) -> tuple[int, int, int, str]:
    """Order columns as the encoder of a table does: gaps after all else of their variable."""
    cycle = CYCLES.index(column.key) if column.key in CYCLES else len(CYCLES)
    return column.variable, ORDER.index(column.kind), cycle, column.key


def _refuse_lacking(lacking: set[Column], here: Variables, other: Variables) -> None:
    """Refuse columns that only one side has, and whose values the other cannot know."""
    if not lacking:
        return
    variable = min(lacking).variable
    kinds = [
        " and ".join(sorted({c.kind for c in side.columns if c.variable == variable})) or "nothing"
        for side in (here, other)
    ]
    what = f"{kinds[0]} in one and {kinds[1]} in the other"
    if kinds[0] == kinds[1]:
        what = f"another {min(lacking).kind} ({min(lacking).key!r}) in one than in the other"
    raise ValueError(
        f"Moments cannot be combined: variable {here.names[variable]!r} is encoded as {what}; "
        "encode all rows by one plan."
    )


def _same_classes(a: Moments, b: Moments) -> tuple[Moments, Moments]:
    """Give both the union of their classes: a class not seen has indicators of zero."""
    assert a.classes is not None and b.classes is not None
    if np.array_equal(a.classes, b.classes):
        return a, b
    if (a.classes.dtype.kind in "US") != (b.classes.dtype.kind in "US"):
        raise ValueError(
            f"Class labels of different kinds cannot be combined: {a.classes[:3]} and "
            f"{b.classes[:3]}."
        )
    union = np.union1d(a.classes, b.classes)
    return _with_classes(a, union), _with_classes(b, union)


def _with_classes(moments: Moments, union: Array) -> Moments:
    assert moments.classes is not None
    source = np.full(len(union), -1)
    source[np.searchsorted(union, moments.classes)] = np.arange(len(moments.classes))
    return _replaced(replace(moments, classes=union), "y", source, tuple(str(c) for c in union))
