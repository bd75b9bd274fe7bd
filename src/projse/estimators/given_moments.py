"""Moments that were made elsewhere: looked at before a fit goes by them."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any

from projse.moments.check import check_moments
from projse.moments.sums import Moments


def check_given(moments: Any, name: str = "moments") -> Moments:
    """Return moments that some rows may have; refuse others by their name."""
    if not isinstance(moments, Moments):
        raise TypeError(f"fit_moments needs Moments, not {type(moments).__name__}.")
    try:
        check_moments(moments, definite=False)
    except ValueError as error:
        raise ValueError(f"{name} cannot be those of any rows: {error}.") from error
    return moments


def load_given(items: Iterable[Moments | str | PathLike[str]], name: str) -> list[Moments]:
    """Return several moments, of which some may be files; those are checked as they are read."""
    return [
        check_given(item, f"{name}[{i}]") if isinstance(item, Moments) else Moments.load(item)
        for i, item in enumerate(items)
    ]


def refuse_qr(selector: Any, remedy: str = "use solver='auto', or fit the rows themselves") -> None:
    """Refuse a solver that factors rows, where there are only moments."""
    if selector.solver == "qr":
        raise ValueError(f"solver='qr' factors rows, and moments hold none; {remedy}.")
    if selector.solver == "sketch":
        raise ValueError(f"solver='sketch' goes over rows, and moments hold none; {remedy}.")
