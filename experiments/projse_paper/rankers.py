"""Other ways to choose columns without labels: baselines and peers."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse_paper.store import NotRun

Array = NDArray[Any]

NO_SKFEATURE = "skfeature-chappers is not installed (pip install 'experiments[peers]')"
NDFS_SECONDS = 600.0


def all_columns(X: Array, n: int, n_classes: int) -> Array:
    """All columns."""
    return np.arange(X.shape[1])


def first_columns(X: Array, n: int, n_classes: int) -> Array:
    """Take the columns as they stand in the file."""
    return np.arange(n)


def random_columns(X: Array, n: int, n_classes: int, *, seed: int) -> Array:
    """Take columns at random."""
    return np.random.default_rng(seed).permutation(X.shape[1])[:n]


def highest_variance(X: Array, n: int, n_classes: int) -> Array:
    """Take the columns that vary most."""
    return np.argsort(-X.var(axis=0), kind="stable")[:n]


def laplacian_score(X: Array, n: int, n_classes: int) -> Array:
    """Laplacian score (He, Cai, Niyogi 2005), with the graph that skfeature builds by itself."""
    _need_skfeature()
    from skfeature.function.similarity_based.lap_score import lap_score

    return np.asarray(lap_score(X, mode="index"))[:n]


def laplacian_score_standardised(X: Array, n: int, n_classes: int) -> Array:
    """Laplacian score of columns with mean 0 and standard deviation 1."""
    deviation = X.std(axis=0)
    return laplacian_score((X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1), n, 0)


def ndfs(X: Array, n: int, n_classes: int) -> Array:
    """NDFS (Li et al. 2012) of skfeature, given up after ``NDFS_SECONDS``.

    It inverts an n_x × n_x matrix in each of up to 1000 iterations, and cannot be told to stop;
    so it runs in a process of its own.
    """
    _need_skfeature()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "X.npy"), Path(folder, "order.npy")
        np.save(source, X)
        words = [sys.executable, "-c", NDFS_SCRIPT, str(source), str(target), str(n_classes)]
        try:
            subprocess.run(words, check=True, capture_output=True, timeout=NDFS_SECONDS)
        except subprocess.TimeoutExpired:
            raise NotRun(
                f"skfeature's NDFS did not finish within {NDFS_SECONDS:.0f} s; it inverts a "
                f"{X.shape[1]} × {X.shape[1]} matrix in every iteration"
            ) from None
        except subprocess.CalledProcessError as error:
            last = error.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise NotRun(f"skfeature's NDFS failed: {' '.join(last)}") from None
        return np.load(target)[:n]


NDFS_SCRIPT = """
import sys, numpy as np
from skfeature.function.sparse_learning_based.NDFS import ndfs
np.random.seed(0)
X = np.load(sys.argv[1])
np.save(sys.argv[2], np.asarray(ndfs(X, mode="index", n_clusters=int(sys.argv[3]))))
"""


def _need_skfeature() -> None:
    if importlib.util.find_spec("skfeature") is None:
        raise NotRun(NO_SKFEATURE)
