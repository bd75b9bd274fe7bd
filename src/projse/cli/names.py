"""What there is to select from, as moments name it."""

from projse.moments.sums import Moments


def names_of(moments: Moments) -> list[str]:
    """Names of the candidates, or their numbers; of a table, those of its columns."""
    if moments.x_variables is not None:
        return list(moments.x_variables.names)
    return list(moments.feature_names or map(str, range(moments.n_x)))


def n_candidates(moments: Moments) -> int:
    """Count the candidates; of a table, its columns before they were encoded."""
    return moments.n_x if moments.x_variables is None else moments.x_variables.n
