"""Loaders of MediaMill: visual features of video frames, and the concepts they show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from projse.datasets.arff import read_multilabel_arff
from projse.datasets.bunch import Loaded
from projse.datasets.checks import check_shape, stack
from projse.datasets.content import read_content
from projse.datasets.dataset import DataSet
from projse.datasets.libsvm import read_libsvm
from projse.datasets.loader import Find, loader_of_subsets
from projse.datasets.registry import MEDIAMILL, MEDIAMILL_SUBSET
from projse.datasets.table import Floats

RETURNS = """
``data`` (float64), ``target`` (uint8, n × 101 of 0 and 1), ``feature_names``,
``target_names`` (names of the labels), ``frame``, ``DESCR``, ``filenames``.
"""


@loader_of_subsets((30993, 120), RETURNS)
def load_mediamill(parts: list[str], find: Find) -> Loaded:
    """Load MediaMill: visual features and concepts, 30993 + 12914 × 120, 101 labels."""
    return _load(MEDIAMILL, parts, find)


@loader_of_subsets((1500, 120), RETURNS)
def load_mediamill_subset(parts: list[str], find: Find) -> Loaded:
    """Load a subset of MediaMill, chosen by others: 1500 + 500 × 120, 101 labels."""
    return _load(MEDIAMILL_SUBSET, parts, find)


def _load(dataset: DataSet, parts: list[str], find: Find) -> Loaded:
    paths = find(dataset, parts)
    data, target = [], []
    for part, path in paths.items():
        X, Y = _read(path, dataset)
        check_shape(X, dataset, part, path)
        data.append(X)
        target.append(Y)
    return Loaded(
        dataset,
        data=stack(data),
        target=stack(target),
        # The names in the ARFF files; the libsvm files have none.
        feature_names=[f"Att{column}" for column in range(1, dataset.n_features + 1)],
        target_names=[f"Class{label}" for label in range(1, dataset.n_targets + 1)],
        paths=paths.values(),
    )


def _read(path: Path, dataset: DataSet) -> tuple[Floats, NDArray[np.uint8]]:
    content = read_content(path, dataset.max_bytes)
    if ".svm" in path.suffixes:
        return read_libsvm(content, path, dataset.n_features, dataset.n_targets)
    X, Y, _, _ = read_multilabel_arff(content, path, dataset.n_targets)
    return X, Y
