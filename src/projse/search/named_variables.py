"""Variables as a user names and counts them: which come first, which never, and how many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.kernels.routes import KernelSpec
from projse.parameters import column_indices, is_whole
from projse.search.filled import widths
from projse.sources.groups import refuse_members
from projse.sources.variables import Variables

Array = NDArray[Any]

LEAVE_OUT = "leave such columns out"
SEVERAL = {
    "level": ("Categories", f"{LEAVE_OUT}, or make numbers of them"),
    "spline": ("Splines", "basis='linear'"),
    "trend": ("Dates", LEAVE_OUT),
    "cycle": ("Dates", LEAVE_OUT),
    "gap": ("Numbers with gaps", "fill them in first (ProjSe itself does so with missing='mean')"),
}
"""What is several columns, by their kind, and what to do about it."""

GROUPS = ("Groups", "no groups")


@dataclass(frozen=True)
class NamedVariables:
    """Columns, their names where they have any, and the variables that they make up.

    Without ``variables``, each column is one. ``view`` is what messages call all of them.
    """

    n_columns: int
    column_names: tuple[str, ...] | None
    variables: Variables | None = None
    view: str = "X"

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.n_columns if self.variables is None else self.variables.n

    @property
    def noun(self) -> str:
        """What messages call one of them."""
        return "column" if self.variables is None else "variable"

    @property
    def names(self) -> tuple[str, ...] | None:
        """What they can be called by."""
        return self.column_names if self.variables is None else self.variables.names

    def indices(self, parameter: str, given: Any) -> Array:
        """Turn indices or names into an array of indices; refuse columns of groups."""
        if self.variables is not None:
            refuse_members(parameter, given, self.column_names, self.variables)
        return column_indices(parameter, given, self.n, self.names, self.noun, self.view)

    def included_and_excluded(self, include: Any, exclude: Any) -> tuple[Array, Array]:
        """Return what comes first and what is never picked; refuse what is both."""
        first, never = self.indices("include", include), self.indices("exclude", exclude)
        both = set(first.tolist()) & set(never.tolist())
        if both:
            j = min(both)
            label = f"{self.noun} {j if self.names is None else repr(self.names[j])}"
            raise ValueError(
                f"include and exclude overlap: {label} is in both; take it out of one of them."
            )
        return first, never

    def number(self, wanted: Any, n_include: int, n_exclude: int) -> int | None:
        """Return how many to select; None for as many as the references have directions."""
        n = self.n
        available = n - n_exclude
        if not available:
            raise ValueError(
                f"exclude leaves nothing to select from: it holds all {n} {self.noun}s."
            )
        if wanted is None:
            return None
        if isinstance(wanted, str):
            return available
        n_features = int(wanted) if is_whole(wanted) else max(1, int(float(wanted) * n))
        if n_features > available:
            left = f" of which {n_exclude} are excluded" if n_exclude else ""
            raise ValueError(
                f"n_features_to_select={wanted!r} is more than there are: {self.view} has {n} "
                f"{self.noun}s{left}."
            )
        if n_include > n_features:
            raise ValueError(
                f"include names {n_include} variables, more than n_features_to_select={wanted!r}; "
                "they count towards it."
            )
        return n_features


def refuse_kernel(variables: Variables | None, spec: KernelSpec) -> None:
    """Refuse kernels that compare columns where variables are more than one."""
    if spec.is_linear or variables is None or variables.are_columns:
        return
    counts = np.bincount(variables.of_column, minlength=variables.n)
    # Gaps may have been filled: they are the reason where nothing else is.
    without_gaps = widths(variables, filled=True)
    widest = int(np.argmax(without_gaps if without_gaps.max() > 1 else counts))
    columns = variables.columns_of(widest)
    kinds = {variables.columns[j].kind for j in columns}
    what, remedy = next((SEVERAL[kind] for kind in SEVERAL if kind in kinds), GROUPS)
    given = "center_kernel=True" if spec.kernel == "linear" else f"kernel={spec.kernel!r}"
    raise ValueError(
        f"{what} need kernel='linear', not {given}: a kernel compares single columns, and "
        f"{variables.names[widest]!r} has {counts[widest]}. Use kernel='linear', or {remedy}."
    )
