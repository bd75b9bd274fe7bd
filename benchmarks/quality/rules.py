"""Rules for α and ρ: deterministic, from the moments alone, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.quality.problem import Array
from benchmarks.quality.prototype import Alpha, Redundancy, Situation


@dataclass(frozen=True)
class Rule:
    """How α and ρ are set, and whether outputs are weighed anew after each pick."""

    alpha: Alpha | float
    redundancy: Redundancy | float
    refactor: bool = True


def ten_rows(s: Situation, alpha: float, scores: Array) -> float:
    """λ = min(1, 10/m), the first guess."""
    ridge = min(1.0, 10 / s.m)
    return ridge / (1 + ridge)


RULES = {
    "soft 0.1 10/m": Rule(0.1, ten_rows),
}
