"""The picks of a selector, and how far two selectors agree."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse import PAPER, ProjSe
from projse.exceptions import RankExhaustedWarning

Array = NDArray[Any]


def paper_form(n: int | None = None, **parameters: Any) -> ProjSe:
    """Return a selector as the paper has it, whatever the defaults are."""
    return ProjSe(n, **{**PAPER, **parameters})


def picks(selector: ProjSe, *arguments: Any, **more: Any) -> Array:
    """Fit, and return the picks; running out of reference space is no news here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankExhaustedWarning)
        return selector.fit(*arguments, **more).selected_


def agreement(ours: Array, theirs: Array) -> str:
    """Say how far two sequences of picks are the same."""
    common = min(len(ours), len(theirs))
    apart = np.flatnonzero(ours[:common] != theirs[:common])
    if not apart.size and len(ours) == len(theirs):
        return f"same {common} picks"
    same = int(apart[0]) if apart.size else common
    return f"picks: {len(ours)} and {len(theirs)}, the first {same} the same"
