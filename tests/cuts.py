"""Rows cut as on a machine with another BLAS."""

from __future__ import annotations

import projse.moments.accumulate
import projse.moments.row_sums
import projse.sources.blocked_rows


def use_cut(monkeypatch, chosen):
    """Cut rows in this way, whatever the BLAS is."""
    for module in (
        projse.moments.accumulate,
        projse.moments.row_sums,
        projse.sources.blocked_rows,
    ):
        monkeypatch.setattr(module, "cut", lambda: chosen)
