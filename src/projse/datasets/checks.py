"""Refuses arguments that make no sense, and arrays that are not the data set they claim to be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.datasets.content import damaged
from projse.datasets.dataset import DataSet

SUBSETS = {"train": ["train"], "test": ["test"], "all": ["train", "test"]}


def parts_of(subset: str) -> list[str]:
    """Return the parts that ``subset`` is made of."""
    if subset not in SUBSETS:
        raise ValueError(f"subset={subset!r} is none of 'train', 'test' and 'all'.")
    return SUBSETS[subset]


def check_shape(X: NDArray[Any], dataset: DataSet, part: str, path: object) -> None:
    """Refuse a matrix of another shape than the data set's."""
    expected = (dataset.n_samples[part], dataset.n_features)
    if X.shape != expected:
        raise damaged(path, f"its shape is {X.shape}, but {dataset.name} ({part}) has {expected}")


def check_labels(
    labels: NDArray[np.int64], dataset: DataSet, part: str, path: object
) -> tuple[NDArray[np.int64], list[str]]:
    """Return the class of each row, numbered from 0 in the order of the labels, and the labels."""
    n_samples = dataset.n_samples[part]
    if labels.shape != (n_samples,):
        raise damaged(path, f"it has {labels.size} labels for {n_samples} rows")
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) != dataset.n_targets:
        raise damaged(
            path, f"it has {len(classes)} classes, but {dataset.name} {dataset.n_targets}"
        )
    return codes.astype(np.int64, copy=False), [str(label) for label in classes.tolist()]


def stack(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Put the rows of parts below each other, without a copy where there is only one."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
