"""Arguments of projectors: checked by name, with the remedy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
NOISE = 1e-10  # a projection shorter than this, relative to its vector, is rounding


def as_array(value: ArrayLike, name: str, ndims: tuple[int, ...] = (2,)) -> Array:
    """Return real, finite numbers with rows, or say what is wrong."""
    if np.iscomplexobj(value):
        raise ValueError(f"{name} is complex; pass real numbers, e.g. real and imaginary parts")
    array = np.asarray(value, dtype=np.float64)
    if array.ndim not in ndims:
        wanted = " or ".join(f"{d}-D" for d in ndims)
        raise ValueError(
            f"{name} must be {wanted}, got {array.ndim}-D with shape {array.shape}; "
            f"reshape it, e.g. {name}[:, None] makes a single column of a vector"
        )
    if len(array) == 0:
        raise ValueError(f"{name} has no rows (shape {array.shape}); pass at least one")
    finite = np.isfinite(array.reshape(len(array), -1)).all(axis=0)
    if not finite.all():
        raise ValueError(
            f"{name} has NaN or infinite values, first in column {np.argmin(finite)}; "
            "drop or impute them"
        )
    return array


def check_count(value: object, name: str, low: int, high: float = np.inf) -> int:
    """Return a whole number within limits."""
    if not isinstance(value, int | np.integer) or not low <= value <= high:
        raise ValueError(f"{name} must be an integer from {low} to {high}, got {value!r}")
    return int(value)


def check_tol(tol: float) -> float:
    """Refuse a tolerance that is no share."""
    if not 0.0 <= tol < 1.0:
        raise ValueError(f"tol must be in [0, 1), got {tol!r}; leave it None for the default")
    return tol
