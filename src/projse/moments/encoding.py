"""The plan by which rows were encoded, as moments carry it: plain values, compared and checked."""

from __future__ import annotations

import math
from typing import Any

MAX_DEPTH = 32

Encoding = dict[str, Any]


def check_same_encoding(a: Encoding | None, b: Encoding | None) -> None:
    """Raise a ValueError that says in what two plans differ."""
    if a is b:
        return
    if a is None or b is None:
        raise ValueError(
            "Moments of rows that were encoded by a plan and of others cannot be combined; encode "
            "both by the same plan."
        )
    differs = difference(a, b)
    if differs:
        raise ValueError(
            f"Moments of rows that were encoded in different ways cannot be combined: {differs}. "
            "Encode the later rows by the plan of the first."
        )


def difference(a: Any, b: Any, place: str = "") -> str:
    """Say where two plain values differ first, and how; nothing where they do not."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(key for key in b if key not in a)]:
            inner = f"{place}, {key}" if place else str(key)
            if key not in a or key not in b:
                return f"{inner} is only in the {'first' if key in a else 'second'}"
            if text := difference(a[key], b[key], inner):
                return text
        return ""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        if len(a) != len(b):
            return f"{place} has {len(a)} entries in the first and {len(b)} in the second"
        for j, (one, other) in enumerate(zip(a, b, strict=True)):
            name = one.get("name", j) if isinstance(one, dict) else j
            if text := difference(one, other, f"{place} {name!r}"):
                return text
        return ""
    if isinstance(a, bool) == isinstance(b, bool) and a == b:
        return ""
    return f"{place} is {short(a)} in the first and {short(b)} in the second"


def check_encoding(encoding: Any) -> None:
    """Refuse a plan that is not made of plain values, as JSON has them."""
    if encoding is None:
        return
    if not isinstance(encoding, dict):
        raise ValueError(f"encoding is of type {type(encoding).__name__}, not a dict")
    _check_plain(encoding, 0)


def _check_plain(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ValueError(f"encoding is nested deeper than {MAX_DEPTH}")
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise ValueError("encoding has keys that are not strings")
        inner = list(value.values())
    elif isinstance(value, list | tuple):
        inner = list(value)
    else:
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError("encoding holds NaN or infinity")
        if not isinstance(value, str | bool | int | float | None):
            raise ValueError(f"encoding holds a value of type {type(value).__name__}")
        return
    for item in inner:
        _check_plain(item, depth + 1)


def short(value: Any, most: int = 40) -> str:
    """Write a value for a message, in up to so many characters."""
    try:
        text = repr(value)
    except ValueError:  # Python writes out no integers of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= most else text[: most - 3] + "..."
