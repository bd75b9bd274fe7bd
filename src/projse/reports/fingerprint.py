"""What it takes to repeat a selection: parameters, versions, and marks to tell the data by."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from projse.moments.rounding import squared_norms
from projse.moments.sums import Moments

DECIMALS = 6
"""Other threads and versions add in another order: what is hashed is rounded to this."""

PACKAGES = ("numpy", "scipy", "scikit-learn", "pyarrow", "dask", "pyspark")


def names_hash(features: Sequence[str] | None, targets: Sequence[str] | None) -> str | None:
    """Return the SHA-256 of the names of candidates and references, in their order."""
    if features is None and targets is None:
        return None
    return hashlib.sha256(json.dumps([features, targets]).encode()).hexdigest()


def moments_hash(moments: Moments) -> str:
    """Return the SHA-256 of what the rows came down to, rounded, in the order of the columns.

    Of means in units of the spread, the spreads, and correlations of candidates with references:
    rounded to six digits, they do not depend on the number of threads. Products of the candidates
    with each other are left out, as not every fit has them.
    """
    digest = hashlib.sha256(f"{moments.n_samples} {moments.sum_weights:.6g}".encode())
    x = _spread(moments, "X")
    _add(digest, x, moments.x_mean)
    if moments.y_mean is not None:
        y = _spread(moments, "y")
        _add(digest, y, moments.y_mean)
        if isinstance(moments.yx, np.ndarray):
            units = np.divide(1.0, x, out=np.zeros_like(x), where=x > 0)
            for row, norm in zip(moments.yx, y, strict=True):
                _add_rounded(digest, row * units / norm if norm > 0 else 0.0 * units)
    return digest.hexdigest()


def _spread(moments: Moments, view: str) -> NDArray[np.float64]:
    spread: NDArray[np.float64] = np.sqrt(squared_norms(moments, view, center=True))
    return spread


def _add(digest: Any, spread: NDArray[Any], mean: NDArray[Any]) -> None:
    """Add spreads, by their significant digits, and means in their units."""
    scale = 10.0 ** np.floor(np.log10(np.where(spread > 0, spread, 1.0)))
    _add_rounded(digest, spread / scale)
    _add_rounded(digest, np.log10(scale))
    _add_rounded(digest, mean / np.where(spread > 0, spread, np.abs(mean) + (mean == 0)))


def _add_rounded(digest: Any, values: NDArray[Any]) -> None:
    rounded = np.round(values, DECIMALS) + 0.0  # there is only one zero
    digest.update(rounded.astype("<f8").tobytes())


def parameters(selector: Any) -> list[dict[str, Any]]:
    """Return the parameters as text: what was given, and what "auto" came to."""
    return [
        {
            "name": name,
            "value": _short(value),
            "became": _short(getattr(selector, f"{name}_", value)) if value == "auto" else None,
        }
        for name, value in selector.get_params(deep=False).items()
    ]


def in_python(**estimators: Any) -> str:
    """Return what makes the estimators, with the parameters that are not defaults."""
    given = {name: value for name, value in estimators.items() if value is not None}
    lines = [f"{name} = {value.__repr__(N_CHAR_MAX=20_000)}" for name, value in given.items()]
    kinds = set()
    for value in given.values():
        within = value.get_params(deep=False).values()
        kinds |= {type(one).__name__ for one in (value, *within) if isinstance(one, BaseEstimator)}
    return "\n".join([f"from projse import {', '.join(sorted(kinds))}", "", *lines])


def versions() -> list[dict[str, str]]:
    """Return versions of what a selection may depend on."""
    from projse import __version__

    found = {"projse": __version__, "Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    found["system"] = platform.platform()
    return [{"name": name, "version": value} for name, value in found.items()]


def _short(value: Any, most: int = 400) -> str:
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}…"
