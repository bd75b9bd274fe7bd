"""Numbers, sizes and tables as text."""

from __future__ import annotations

import math
from collections.abc import Sequence


def number(value: float | None) -> str:
    """Three figures that matter, never in powers of ten."""
    if value is None:
        return "–"
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) < 5e-5:
        return "< 0.0001"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 4)}f}"


def seconds_text(value: float) -> str:
    """Write a time in seconds, or in milliseconds below a tenth of one."""
    return f"{number(value)} s" if value >= 0.1 else f"{number(1000 * value)} ms"


def with_unit(value: float | None, unit: str) -> str:
    """Write a figure the way its unit is read: 0.62, 45 ×, 120 MiB."""
    return number(value) + (f" {unit}" if unit in ("×", "ms", "MiB", "GiB", "rows/s") else "")


def with_unit_exact(value: float, unit: str) -> str:
    """Write a target as it was set."""
    text = f"{value:.2f}" if unit in ("ratio", "exponent") else f"{value:g}"
    return text + (f" {unit}" if unit in ("×", "ms", "MiB", "GiB") else "")


def shape(*sizes: int) -> str:
    """Write sizes the way people do: 1M × 100 × 100."""
    return " × ".join(_short(n) for n in sizes)


def _short(n: int) -> str:
    for unit, name in ((10**6, "M"), (10**3, "k")):
        if n >= unit and n % unit == 0:
            return f"{n // unit}{name}"
    return str(n)


def table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Make a Markdown table."""
    body = [header, ["---"] * len(header), *lines]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in body
    )
