"""Data frames of results, made by whichever package the user asks for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from projse.estimators.selector import output_config

KINDS = ("pandas", "polars")


def frame_kind(estimator: Any, asked: str | None) -> str:
    """Return the kind of frame: as asked, else as ``set_output`` has it, else pandas."""
    if asked is None:
        configured = output_config(estimator)
        return configured if configured in KINDS else "pandas"
    if asked not in KINDS:
        raise ValueError(f"output={asked!r} is not one of {', '.join(map(repr, KINDS))}, or None.")
    return asked


def make_frame(columns: Mapping[str, Any], kind: str) -> Any:
    """Make a data frame of columns."""
    try:
        package = import_module(kind)
    except ImportError as error:
        other = "polars" if kind == "pandas" else "pandas"
        raise ImportError(
            f"A table needs {kind} ({error}); pip install 'projse-select[dataframes]', or ask for "
            f"output={other!r} where that is installed."
        ) from error
    return package.DataFrame(dict(columns))
