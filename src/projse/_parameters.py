"""Parameters of the estimators: checked by name, with the value and the remedy."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse._targets import TARGET_TYPES

Array = NDArray[Any]


def check_parameters(p: Any) -> None:
    """Refuse parameters of ``ProjSe`` that make no sense."""
    _check_n_features(p)
    _one_of("kernel", p.kernel, ("linear", "poly", "rbf"), or_callable=True)
    _one_of("exhausted", p.exhausted, ("residual", "restart", "stop"))
    _one_of("target_type", p.target_type, TARGET_TYPES)
    _one_of("solver", p.solver, ("auto", "gram", "qr"))
    _whole("degree", p.degree, 1)
    _number("coef0", p.coef0)
    _number("alpha", p.alpha)
    _number("significance", p.significance, open_at_zero=True, below=1)
    if isinstance(p.gamma, str):
        if p.gamma != "mean_distance":
            raise ValueError(f"gamma={p.gamma!r} must be a number above 0 or 'mean_distance'.")
    else:
        _number("gamma", p.gamma, open_at_zero=True)
    for name in ("center", "scale", "center_kernel"):
        _yes_or_no(name, getattr(p, name))
    if p.tol is not None:
        _number("tol", p.tol, below=1)
    if p.rank is not None:
        if is_whole(p.rank):
            _whole("rank", p.rank, 1)
        elif not is_number(p.rank) or not 0 < p.rank <= 1:
            raise ValueError(
                f"rank={p.rank!r} must be a whole number, a share of the trace in (0, 1], or None."
            )
    if p.round_size is not None:
        _whole("round_size", p.round_size, 1)
    check_pass_options(p.n_jobs, p.batch_size)


def check_pass_options(n_jobs: Any, batch_size: Any) -> None:
    """Refuse options of a pass over the rows that make no sense."""
    if batch_size is not None:
        _whole("batch_size", batch_size, 1)
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0):
        raise ValueError(
            f"n_jobs={n_jobs!r} must be None, a positive number of threads, or -1 for all cores."
        )


def _check_n_features(p: Any) -> None:
    wanted = p.n_features_to_select
    if isinstance(wanted, str):
        if wanted != "auto":
            raise ValueError(f"n_features_to_select={wanted!r}; the only word is 'auto'.")
        if p.kernel != "linear" or p.center_kernel:
            raise ValueError(
                "n_features_to_select='auto' goes by p-values, which only the linear kernel "
                f"has; kernel={p.kernel!r}. Use a number."
            )
        if not p.center:
            raise ValueError(
                "n_features_to_select='auto' goes by p-values, which center=False does not have: "
                "means that are not 0 look like relations. Use center=True, which leaves centred "
                "variables as they are, or a number."
            )
    elif wanted is not None and not is_number(wanted):
        raise TypeError(
            f"n_features_to_select={wanted!r} must be a number, 'auto' or None, not "
            f"{type(wanted).__name__}."
        )
    elif is_whole(wanted):
        _at_least("n_features_to_select", wanted, 1)
    elif wanted is not None and not 0 < wanted < 1:
        raise ValueError(
            f"n_features_to_select={wanted!r}: a share must lie between 0 and 1, a number must "
            "be an int."
        )


def column_indices(parameter: str, given: Any, n: int, names: tuple[str, ...] | None) -> Array:
    """Turn column indices or names into an array of indices."""
    if given is None:
        return np.empty(0, dtype=np.intp)
    if isinstance(given, str | Integral):
        given = [given]
    if isinstance(given, bytes) or not hasattr(given, "__iter__"):
        raise TypeError(
            f"{parameter}={given!r} must be a sequence of indices or names, not "
            f"{type(given).__name__}."
        )
    places = {} if names is None else {name: j for j, name in enumerate(names)}
    indices: list[int] = []
    for item in given:
        if isinstance(item, str):
            if names is None:
                raise ValueError(
                    f"{parameter} names {item!r}, but X has no column names; pass indices or a "
                    "data frame."
                )
            if item not in places:
                some = ", ".join(repr(name) for name in names[:5]) + (", …" if n > 5 else "")
                raise ValueError(f"{parameter} names {item!r}, which is no column of X: {some}.")
            index = places[item]
        elif is_whole(item):
            index = int(item)
            if not 0 <= index < n:
                raise ValueError(
                    f"{parameter} holds index {index}, but X has columns 0 to {n - 1}."
                )
        else:
            raise TypeError(
                f"{parameter} must hold indices or names, not {item!r} ({type(item).__name__})."
            )
        if index in indices:
            raise ValueError(f"{parameter} holds {item!r} twice.")
        indices.append(index)
    return np.asarray(indices, dtype=np.intp)


def plain_rank(rank: Any) -> int | float | None:
    """Tell a number of directions (int) from a share (float), whatever the scalar type."""
    if rank is None:
        return None
    return int(rank) if is_whole(rank) else float(rank)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, and not a bool."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a value is a real number, and not a bool."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _one_of(name: str, value: Any, allowed: tuple[str, ...], or_callable: bool = False) -> None:
    if or_callable and callable(value):
        return
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(repr(word) for word in allowed)
        raise ValueError(f"{name}={value!r} is not one of {words}.")


def _whole(name: str, value: Any, least: int) -> None:
    if not is_whole(value):
        raise TypeError(f"{name}={value!r} must be a whole number, not {type(value).__name__}.")
    _at_least(name, value, least)


def _at_least(name: str, value: Any, least: int) -> None:
    if value < least:
        raise ValueError(f"{name}={value!r} must be at least {least}.")


def _yes_or_no(name: str, value: Any) -> None:
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}={value!r} must be True or False, not {type(value).__name__}.")


def _number(name: str, value: Any, *, open_at_zero: bool = False, below: float = np.inf) -> None:
    if not is_number(value):
        raise TypeError(f"{name}={value!r} must be a number, not {type(value).__name__}.")
    if not 0 <= value < below or (open_at_zero and value == 0):
        lower = "above 0" if open_at_zero else "0 or above"
        upper = "finite" if below == np.inf else f"below {below:g}"
        raise ValueError(f"{name}={value!r} must be {lower}, and {upper}.")
