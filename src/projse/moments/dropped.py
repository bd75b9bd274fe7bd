"""Variables and targets that turned out to be identifiers once all rows were summed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from projse.exceptions import IdentifierWarning
from projse.sources.encode_targets import disguise_of
from projse.sources.own_labels import warn_own_labels, warn_own_levels
from projse.sources.variables import MAX_LEVELS
from projse.warn import warn_caller

if TYPE_CHECKING:
    from projse.moments.sums import Moments


def warn_dropped(moments: Moments) -> None:
    """Name categories whose batches had few levels each, but too many together.

    Those that the first rows told were named by the first look.
    """
    variables, plan = moments.x_variables, (moments.encoding or {}).get("x")
    if variables is None or plan is None:
        return
    dropped = [
        repr(variables.names[column.variable])
        for column in variables.columns
        if column.kind == "dropped" and plan["plans"][column.variable]["kind"] != "identifier"
    ]
    if dropped:
        listed = ", ".join(dropped[:8]) + (f" and {len(dropped) - 8} more" * (len(dropped) > 8))
        warn_caller(
            f"Column{'s' * (len(dropped) > 1)} {listed} of X turned out to have more than "
            f"{MAX_LEVELS} levels, as an identifier has, and will not be selected; leave such "
            "columns out, or merge levels first.",
            IdentifierWarning,
        )


def warn_own_targets(moments: Moments, name: str | None, *, auto: bool) -> bool:
    """Say that a target has a label of its own in every row; return whether it was said.

    Parameters
    ----------
    moments : Moments
    name : str or None
        Of a single target.
    auto : bool
        Whether it is still to be told that labels look like numbers or dates.
    """
    if moments.y_variables is not None:
        return warn_own_levels(moments.y_variables, moments.n_samples)
    if moments.classes is None or moments.classes.dtype.kind != "U":
        return False
    if auto and disguise_of(moments.classes) is not None:
        return False
    called = "y" if name is None else f"Column {name!r} of y"
    return warn_own_labels(len(moments.classes), moments.n_samples, called)
