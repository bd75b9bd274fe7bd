"""A table of picks in HTML, for notebooks. Names are data from strangers: all text is escaped."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

LONGEST = 80
"""Characters of a name that are shown; the whole of it is its title."""


def html_table(columns: Mapping[str, Array], shown: int) -> str:
    """Return a table of the first rows of some columns."""
    n = len(next(iter(columns.values())))
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    rows = zip(*(values[:shown] for values in columns.values()), strict=True)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    caption = f"Selected variables: {n}"
    if n > shown:
        caption += f", of which the first {shown} are shown; table() has all"
    return (
        f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


def _cell(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"<td>{'' if np.isnan(value) else f'{value:.3g}'}</td>"
    text = str(value)
    if len(text) <= LONGEST:
        return f"<td>{escape(text)}</td>"
    return f'<td title="{escape(text)}">{escape(text[: LONGEST - 1])}…</td>'
