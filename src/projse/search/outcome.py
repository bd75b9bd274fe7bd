"""What came of a task: picks, how they were made, and what speaks against them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from projse.kernels.feature_gram import FeatureGram
from projse.kernels.subspaces import WhitenedGram
from projse.moments.sums import Moments
from projse.search.picked import Picked
from projse.search.rounds import Plan, Selection
from projse.sources.variables import Variables


@dataclass(frozen=True)
class Outcome:
    """Picks, the plan that led to them, the moments that they come from, and doubts about them.

    ``few_rows`` are the picks, but for those included, that one or two of ``n_rows`` rows make up.
    ``variables`` tell which columns make up a candidate; None: each is one.
    ``picked`` is there where it was asked for.
    """

    selection: Selection
    plan: Plan
    moments: Moments | None
    doubts: tuple[str, ...]
    n_rows: int
    few_rows: tuple[int, ...]
    variables: Variables | None
    picked: Picked | None

    @property
    def lacks_products(self) -> bool:
        """Whether picks are missing only for want of the products of the candidates."""
        return self.selection.stopped == "no products"


def on_few_rows(selection: Selection, gram: FeatureGram) -> tuple[int, ...]:
    """Return the picks, but for those included, that one or two rows make up."""
    chosen = zip(selection.indices, selection.rounds, strict=True)
    picks = np.array([j for j, number in chosen if number > 0], dtype=np.intp)
    if not picks.size:
        return ()
    if isinstance(gram, WhitenedGram):
        few = gram.variables_on_few_rows(picks)
    else:
        few = gram.on_few_rows(picks)
    return () if few is None else tuple(picks[few].tolist())
