"""Matrices from MATLAB files of version 5, through scipy."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.io
from numpy.typing import NDArray

from projse.datasets._content import damaged


def read_matlab(content: bytes, name: object, keys: Sequence[str]) -> list[NDArray[Any]]:
    """Read the numeric matrices of these names, in this order."""
    try:
        found = scipy.io.loadmat(io.BytesIO(content), variable_names=list(keys))
    # scipy's reader has no error type of its own: a damaged file may raise anything.
    except Exception as error:
        raise damaged(name, f"scipy cannot read it as MATLAB 5: {error}") from error
    matrices = []
    for key in keys:
        matrix = found.get(key)
        if matrix is None:
            raise damaged(name, f"it has no matrix {key}")
        if (
            not isinstance(matrix, np.ndarray)
            or matrix.ndim != 2
            or matrix.dtype.kind not in "biuf"
        ):
            raise damaged(name, f"{key} is not a matrix of numbers")
        matrices.append(matrix)
    return matrices
