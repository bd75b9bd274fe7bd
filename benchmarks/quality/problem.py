"""A data set as the bench sees it: what is to be picked from, what for, and which half it is in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Kind = Literal["numbers", "labels", "classes", "two views", "one view"]
Half = Literal["tune", "report", "fresh"]


@dataclass(frozen=True)
class Problem:
    """Candidates, references and, where it is known, which candidates are real.

    ``Y`` holds one column an output, integer classes (one axis), or None in one view.
    """

    X: Array
    Y: Array | None = None
    truth: Array | None = None


@dataclass(frozen=True)
class Dataset:
    """A named problem; ``half``: may rules be chosen on it? ``source``: whose rows it has."""

    name: str
    kind: Kind
    half: Half
    load: Callable[[], Problem]
    source: str = ""

    @property
    def made(self) -> bool:
        """Whether it is synthetic."""
        return not self.source


def subsample(X: Array, m: int, *others: Array, seed: int = 0) -> tuple[Array, ...]:
    """Return the same m random rows of all arrays (all rows where there are fewer)."""
    rows = np.sort(np.random.default_rng(seed).permutation(len(X))[:m])
    return tuple(A[rows] for A in (X, *others))
