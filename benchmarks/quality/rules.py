"""Rules for α and ρ: deterministic, from the moments alone, each with its reason.

The forms have reasons, the constants (1, 50, 10) are fitted: they were chosen on the tuning half
among some fifty variants, whose counts differ by little. λ falls as 1/m because a correlation that
is noise has the square 1/m: few rows rank, many rows condition. α = 1 on normalised K_YY halves
the weight of a direction that carries one output's worth of variance.
"""

from __future__ import annotations

from dataclasses import dataclass

from quality.problem import Array
from quality.prototype import Alpha, Redundancy, Situation


@dataclass(frozen=True)
class Rule:
    """How α and ρ are set, whether outputs are weighed anew, and whether noise has a floor."""

    alpha: Alpha | float
    redundancy: Redundancy | float
    refactor: bool = True
    floor: bool = False


def over_rows(supervised: float, one_view: float) -> Redundancy:
    """λ = min(1, c/m); in one view the references are the candidates, and less is noise."""

    def rule(s: Situation, alpha: float, scores: Array) -> float:
        ridge = min(1.0, (one_view if s.one_view else supervised) / s.m)
        return ridge / (1 + ridge)

    return rule


RULES = {
    "soft 0.1 10/m": Rule(0.1, over_rows(10, 10)),
    "soft 1 50/m": Rule(1.0, over_rows(50, 10)),
    "soft 1 50/m floor": Rule(1.0, over_rows(50, 10), floor=True),
}
