"""The data sets of the experiments, from the data home only: nothing is downloaded here."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse import datasets
from projse.exceptions import DatasetMissingError
from projse_paper.store import NotRun

Array = NDArray[Any]

NOT_AT_HAND = "data not at hand"

GENES: dict[str, Callable[..., Any]] = {
    "glioma": datasets.load_glioma,
    "carcinom": datasets.load_carcinom,
    "eleven_tumors": datasets.load_eleven_tumors,
}
SERIES: dict[str, Callable[..., Any]] = {
    "crop": datasets.load_crop,
    "thorax": datasets.load_thorax,
    "shapesall": datasets.load_shapesall,
}
VIEWS: dict[str, Callable[..., Any]] = {
    "mnist": datasets.load_mnist_halves,
    "mediamill": datasets.load_mediamill,
    "mediamill_subset": datasets.load_mediamill_subset,
}


VIEW_TITLES = {
    "mnist": "MNIST halves",
    "mediamill": "MediaMill",
    "mediamill_subset": "MediaMill subset",
}


def _load(loader: Callable[..., Any], **options: Any) -> Any:
    try:
        return loader(return_X_y=True, download_if_missing=False, **options)
    except DatasetMissingError:
        raise NotRun(NOT_AT_HAND) from None


@lru_cache(maxsize=2)
def genes(name: str) -> tuple[Array, Array]:
    """Return expression values and classes."""
    X, y = _load(GENES[name])
    return np.asarray(X, dtype=np.float64), y


@lru_cache(maxsize=2)
def series(name: str) -> tuple[Array, Array, Array, Array]:
    """Return standardised training series, their classes, and the same of the test series.

    Mean and standard deviation of each point in time are those of the training series.
    """
    X, y = _load(SERIES[name], subset="train")
    X_test, y_test = _load(SERIES[name], subset="test")
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    return (X - mean) / deviation, y, (X_test - mean) / deviation, y_test


@lru_cache(maxsize=2)
def views(name: str) -> tuple[Array, Array, Array, Array]:
    """Return both views of the training rows, and of the test rows, as floats."""
    X, Y = _load(VIEWS[name], subset="train")
    X_test, Y_test = _load(VIEWS[name], subset="test")
    X, Y, X_test, Y_test = (np.asarray(A, dtype=np.float64) for A in (X, Y, X_test, Y_test))
    return X, Y, X_test, Y_test


def cifar() -> tuple[Array, Array]:
    """Return the training images of CIFAR-100 (bytes) and their classes."""
    return _load(datasets.load_cifar100, subset="train")
