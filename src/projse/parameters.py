"""Values of parameters: checked by name, with the value and the remedy."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def check_pass_options(n_jobs: Any, batch_size: Any, with_xx: Any = "auto") -> None:
    """Refuse options of a pass over the rows that make no sense."""
    if with_xx not in (True, False, "auto"):
        raise ValueError(f"with_xx={with_xx!r} is not True, False or 'auto'.")
    if batch_size is not None:
        whole("batch_size", batch_size, 1)
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0):
        raise ValueError(
            f"n_jobs={n_jobs!r} must be None, a positive number of threads, or -1 for all cores."
        )


def column_indices(
    parameter: str,
    given: Any,
    n: int,
    names: tuple[str, ...] | None,
    noun: str = "column",
    view: str = "X",
) -> Array:
    """Turn indices or names of columns into an array; ``noun`` and ``view`` are for messages."""
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
                    f"{parameter} names {item!r}, but {view} has no column names; pass indices or "
                    "a data frame."
                )
            if item not in places:
                some = ", ".join(repr(name) for name in names[:5]) + (", …" if n > 5 else "")
                raise ValueError(
                    f"{parameter} names {item!r}, which is no {noun} of {view}: {some}."
                )
            index = places[item]
        elif is_whole(item):
            index = int(item)
            if not 0 <= index < n:
                raise ValueError(
                    f"{parameter} holds index {index}, but {view} has {noun}s 0 to {n - 1}."
                )
        else:
            raise TypeError(
                f"{parameter} must hold indices or names, not {item!r} ({type(item).__name__})."
            )
        if index in indices:
            raise ValueError(f"{parameter} holds {item!r} twice.")
        indices.append(index)
    return np.asarray(indices, dtype=np.intp)


def plain_rank(rank: Any) -> Any:
    """Tell a number of directions (int) from a share (float), whatever the scalar type."""
    if rank is None or isinstance(rank, str):
        return rank
    return int(rank) if is_whole(rank) else float(rank)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, and not a bool."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a value is a real number, and not a bool."""
    return isinstance(value, Real) and not isinstance(value, bool)


def one_of(name: str, value: Any, allowed: tuple[str, ...], or_callable: bool = False) -> None:
    """Refuse a word that is not among those allowed."""
    if or_callable and callable(value):
        return
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(repr(word) for word in allowed)
        raise ValueError(f"{name}={value!r} is not one of {words}.")


def whole(name: str, value: Any, least: int) -> None:
    """Refuse what is not a whole number, or is less than the least."""
    if not is_whole(value):
        raise TypeError(f"{name}={value!r} must be a whole number, not {type(value).__name__}.")
    at_least(name, value, least)


def at_least(name: str, value: Any, least: int) -> None:
    """Refuse a value below the least."""
    if value < least:
        raise ValueError(f"{name}={value!r} must be at least {least}.")


def yes_or_no(name: str, value: Any) -> None:
    """Refuse what is not True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}={value!r} must be True or False, not {type(value).__name__}.")


def number(name: str, value: Any, *, open_at_zero: bool = False, below: float = np.inf) -> None:
    """Refuse what is not a finite number from 0, or above 0, up to a limit."""
    if not is_number(value):
        raise TypeError(f"{name}={value!r} must be a number, not {type(value).__name__}.")
    if not 0 <= value < below or (open_at_zero and value == 0):
        lower = "above 0" if open_at_zero else "0 or above"
        upper = "finite" if below == np.inf else f"below {below:g}"
        raise ValueError(f"{name}={value!r} must be {lower}, and {upper}.")
