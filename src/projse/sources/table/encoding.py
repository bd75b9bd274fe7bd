"""How the rows of a source are encoded: plans for its candidates, references and covariates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from projse.sources.table.encoder import BASES, TableEncoder
from projse.sources.table.kinds import MISSING
from projse.sources.table.plan import PERIODS, ColumnPlan

PLAN_KINDS = ("number", "category", "date", "identifier")
MOST_KNOTS = 64
MOST_DEGREE = 8


@dataclass(frozen=True)
class TableEncoding:
    """Encoders of candidates, references and covariates, as state folders and moments keep them.

    Attributes
    ----------
    x : TableEncoder
    y : TableEncoder or None
        None where references are plain numbers, class labels, or not there.
    z : TableEncoder or None
        None where covariates are plain numbers, or not there.
    """

    x: TableEncoder
    y: TableEncoder | None = None
    z: TableEncoder | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        encoders = {"x": self.x, "y": self.y, "z": self.z}
        return {view: e.to_dict() for view, e in encoders.items() if e is not None}

    @classmethod
    def from_dict(cls, plain: Any) -> TableEncoding:
        """Undo :meth:`to_dict`; raise a ValueError for values that it never returns."""
        if not isinstance(plain, dict) or "x" not in plain or not plain.keys() <= {*"xyz"}:
            raise ValueError("an encoding has a plan for x, perhaps for y and z, and nothing else")
        return cls(**{view: _encoder(inner) for view, inner in plain.items()})


def _encoder(plain: Any) -> TableEncoder:
    keys = TableEncoder(None, ()).to_dict().keys()
    if not isinstance(plain, dict) or plain.keys() != keys:
        raise ValueError(f"a plan of columns has {', '.join(sorted(keys))}, and nothing else")
    names, plans = plain["names"], plain["plans"]
    if not isinstance(plans, list) or not all(isinstance(plan, dict) for plan in plans):
        raise ValueError("the plans of columns are no list of objects")
    if names is not None and not (
        isinstance(names, list)
        and all(isinstance(name, str) for name in names)
        and len(set(names)) == len(names) == len(plans)
    ):
        raise ValueError(f"the names of {len(plans)} columns are not as many different strings")
    if plain["missing"] not in MISSING or plain["basis"] not in BASES:
        raise ValueError(f"missing={plain['missing']!r:.40} and basis={plain['basis']!r:.40}")
    if not isinstance(plain["label"], str):
        raise ValueError("the label of a table is no string")
    encoder = TableEncoder.from_dict(plain)
    for plan in encoder.plans:
        _check_plan(plan)
    return encoder


def _check_plan(plan: ColumnPlan) -> None:
    if plan.kind not in PLAN_KINDS:
        raise ValueError(f"a column is of kind {plan.kind!r:.40}, not one of {PLAN_KINDS}")
    numbers = (plan.fill, plan.scale, plan.span)
    if not all(_is_finite(number) for number in numbers) or plan.scale <= 0 or plan.span < 0:
        raise ValueError("a column is filled or scaled with what is no such number")
    knots = plan.knots
    if not isinstance(knots, tuple) or not all(_is_finite(knot) for knot in knots):
        raise ValueError("the knots of a column are no numbers")
    increasing = all(a < b for a, b in pairwise(knots))
    if len(knots) == 1 or len(knots) > MOST_KNOTS or not increasing:
        raise ValueError(f"a column has {len(knots)} knots, or they do not increase")
    if type(plan.degree) is not int or not 1 <= plan.degree <= MOST_DEGREE:
        raise ValueError(f"a column has splines of degree {plan.degree!r:.40}")
    if type(plan.origin) is not int or abs(plan.origin) >= 1 << 63:
        raise ValueError(f"a date begins at {plan.origin!r:.40}")
    if not isinstance(plan.cycles, tuple) or any(name not in PERIODS for name in plan.cycles):
        raise ValueError(f"a date has cycles other than {tuple(PERIODS)}")


def _is_finite(value: Any) -> bool:
    if type(value) is int:  # NumPy makes no number of a larger one
        return abs(value) < 1 << 63
    return isinstance(value, float) and math.isfinite(value)
