"""What "auto" stands for: ridges by the number of rows, from moments alone.

The ridge on the references: ``alpha = 1`` on the normalised ``K_YY`` halves the weight of a
direction that carries one output's worth of variance, and takes more from what carries less, which
is mostly noise. The ridge of soft conditioning: ``λ = min(1, c / m)``, because a squared
correlation that is noise is of size 1/m. Few rows: redundancy is hard to tell from chance, and
variables are ranked; many rows: picks are taken out all but wholly. The constants were chosen on
one half of the data sets of ``benchmarks/quality``.
"""

from __future__ import annotations

ALPHA = 1.0
"""Ridge on the normalised ``K_YY``."""

ROWS = 50.0
"""The c above."""

ROWS_ONE_VIEW = 10.0
"""The same in one view: the references are the candidates, and less of them is noise."""


def auto_redundancy(n_rows: float, one_view: bool) -> float:
    """Share of itself that an exact copy of a pick keeps: ``λ / (1 + λ)``."""
    ridge = min(1.0, (ROWS_ONE_VIEW if one_view else ROWS) / max(n_rows, 1.0))
    return ridge / (1 + ridge)
