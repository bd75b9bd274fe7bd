"""Whether the leading directions of many outputs are found without their Gram matrix.

The one place that decides it, for rows in memory, files, streams and clusters.
"""

from __future__ import annotations

MANY_OUTPUTS = 2048
"""Up to this many outputs, ``K_YY`` is formed and factored: 32 MiB, and seconds."""

OVERSAMPLING = 10
"""Directions sought beyond those that are kept (Halko, Martinsson and Tropp, 2011: 5 to 10)."""

SMALL_SHARE = 4
"""A sketch of more than this part of all directions costs as much as all of them."""

AUTO_RANK = 256
"""Directions that ``rank="auto"`` keeps of many outputs."""


def settled_rank(
    rank: int | float | str | None, n_outputs: int, solver: str = "auto"
) -> int | float | None:
    """Settle ``rank="auto"``: all directions of few outputs, the leading ones of many.

    A sketch that was asked for takes the leading ones of any number.
    """
    if not isinstance(rank, str):
        return rank
    if solver == "sketch":
        return min(AUTO_RANK, n_outputs)
    return AUTO_RANK if n_outputs > MANY_OUTPUTS else None


def sketched_directions(
    rank: int | float | str | None,
    n_outputs: int,
    *,
    linear: bool,
    solver: str = "auto",
    dimension: int | None = None,
) -> int | None:
    """Return how many directions are sought by a range finder; None: ``K_YY`` is formed.

    Parameters
    ----------
    rank : int, float, "auto" or None
    n_outputs : int
        0 where there are none, or classes, of which products are sums.
    linear : bool
        Whether the kernel is linear, and not centred over the variables.
    solver : str
        "sketch" asks for it; "gram" and "qr" for something else.
    dimension : int or None
        Bound on the dimension of the outputs where they are factored by themselves; None: their
        number.
    """
    wanted = settled_rank(rank, n_outputs, solver)
    if solver == "sketch":
        refuse_sketch(wanted, n_outputs, linear=linear)
    few = (n_outputs if dimension is None else dimension) <= MANY_OUTPUTS
    if solver not in ("auto", "sketch") or (solver == "auto" and (few or not linear)):
        return None
    if not isinstance(wanted, int):
        return None
    size = min(wanted + OVERSAMPLING, n_outputs)
    return size if solver == "sketch" or SMALL_SHARE * size <= n_outputs else None


def refuse_sketch(rank: int | float | None, n_outputs: int, *, linear: bool) -> None:
    """Refuse a sketch that was asked for where there can be none."""
    for refused, why in (
        (not isinstance(rank, int), f"a number of directions; rank={rank!r}"),
        (not linear, "the linear kernel, and no center_kernel"),
        (not n_outputs, "outputs: columns of y that are no class labels"),
    ):
        if refused:
            raise ValueError(f"solver='sketch' needs {why}. Use solver='auto'.")
