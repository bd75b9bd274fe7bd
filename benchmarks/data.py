"""Data for the benchmarks: made from a seed, or read from the data home."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.datasets import load_cifar100, load_eleven_tumors, load_glioma, load_mnist_halves
from projse.exceptions import DatasetMissingError

Array = NDArray[Any]

CHUNK = 100_000


def home() -> Path:
    """Folder of the public data sets: ``PROJSE_DATA``, or ``../shared/data`` from the root."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("PROJSE_DATA", default))


def regression(
    m: int, n_x: int, n_y: int, *, dtype: Any = np.float64, seed: int = 0
) -> tuple[Array, Array]:
    """Make the paper's synthetic data, ``Y = XW + E``, all parts standard normal."""
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((n_x, n_y)).astype(dtype)
    X, Y = np.empty((m, n_x), dtype), np.empty((m, n_y), dtype)
    for start in range(0, m, CHUNK):
        rows = slice(start, min(m, start + CHUNK))
        rng.standard_normal(out=X[rows], dtype=dtype)
        rng.standard_normal(out=Y[rows], dtype=dtype)
        Y[rows] += X[rows] @ W
    return X, Y


def coordinates(rank: int, n: int, seed: int = 0) -> Array:
    """Make the coordinates of n candidates in a reference space; squared lengths around 1/2."""
    R = np.random.default_rng(seed).standard_normal((rank, n))
    R /= np.sqrt(2 * rank)
    return R


def glioma() -> Array:
    """Read gene expression, 50 × 4434 (FileNotFoundError where it is not at hand)."""
    return _at_hand(load_glioma)[0]


def eleven_tumors() -> Array:
    """Read gene expression, 174 × 12533."""
    return _at_hand(load_eleven_tumors)[0]


def cifar100() -> tuple[Array, Array]:
    """Read images as 50000 × 3072 uint8, and their 100 fine labels."""
    return _at_hand(load_cifar100)


def mnist_halves() -> tuple[Array, Array, Array, Array]:
    """Read left and right halves of the digits, 392 pixels each: training and test rows."""
    parts = []
    for subset in ("train", "test"):
        parts += [half.astype(np.float64) for half in _at_hand(load_mnist_halves, subset=subset)]
    return parts[0], parts[1], parts[2], parts[3]


def sparse_documents(
    m: int, n_x: int, per_row: int, n_labels: int, seed: int = 0
) -> tuple[sp.csr_array, Array, sp.csr_array]:
    """Make word counts with planted words: candidates, one label a row, and label sets.

    A fifth of a row's entries are words of its labels, the others are drawn from all words. The
    label set of a row holds its one label and two more.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_labels, size=m)
    sets = np.column_stack([labels, rng.integers(n_labels, size=(m, 2))])
    vocabulary = rng.integers(n_x, size=(n_labels, 30))
    words = rng.integers(n_x, size=(m, per_row))
    planted = max(1, per_row // 5)
    of_label = np.take_along_axis(sets, rng.integers(3, size=(m, planted)), axis=1)
    words[:, :planted] = vocabulary[of_label, rng.integers(30, size=(m, planted))]
    X = _counts(words, n_x, rng.integers(1, 5, size=words.size).astype(np.float64))
    indicator = _counts(sets, n_labels, np.ones(sets.size))
    indicator.data[:] = 1.0
    return X, labels, indicator


def _counts(columns: Array, n: int, values: Array) -> sp.csr_array:
    m, per_row = columns.shape
    starts = np.arange(m + 1) * per_row
    matrix = sp.csr_array((values, columns.ravel(), starts), shape=(m, n))
    matrix.sum_duplicates()
    return matrix


def _at_hand(loader: Callable[..., Any], **options: Any) -> tuple[Array, Array]:
    try:
        return loader(return_X_y=True, data_home=home(), download_if_missing=False, **options)
    except DatasetMissingError as missing:
        # The loader's own message names folders of this machine, and would land in the results.
        name = loader.__name__.removeprefix("load_")
        message = f"data not at hand: {name} in the data home (PROJSE_DATA)"
        raise FileNotFoundError(message) from missing
