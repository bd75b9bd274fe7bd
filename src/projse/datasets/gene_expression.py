"""Loaders of gene expression data: few samples, thousands of variables."""

from __future__ import annotations

import numpy as np

from projse.datasets.bunch import Loaded
from projse.datasets.checks import check_labels, check_shape
from projse.datasets.content import damaged, read_content
from projse.datasets.dataset import DataSet
from projse.datasets.loader import Find, loader
from projse.datasets.matlab import read_matlab
from projse.datasets.registry import CARCINOM, ELEVEN_TUMORS, GLIOMA
from projse.datasets.table import refuse_missing, whole_numbers


@loader((50, 4434))
def load_glioma(find: Find) -> Loaded:
    """Load GLIOMA: gene expression, 50 × 4434, 4 classes."""
    return _load(GLIOMA, ("X", "Y"), find)


@loader((174, 9182))
def load_carcinom(find: Find) -> Loaded:
    """Load Carcinom: gene expression, 174 × 9182, 11 classes."""
    return _load(CARCINOM, ("X", "Y"), find)


@loader((174, 12533))
def load_eleven_tumors(find: Find) -> Loaded:
    """Load 11_Tumors: gene expression, 174 × 12533, 11 classes. Not the same as Carcinom."""
    return _load(ELEVEN_TUMORS, ("ins", "lab"), find)


def _load(dataset: DataSet, keys: tuple[str, str], find: Find) -> Loaded:
    path = find(dataset, ["all"])["all"]
    matrix, labels = read_matlab(
        read_content(path, dataset.max_bytes), path, keys, dataset.max_bytes
    )
    # MATLAB stores columns; rows in order are what the selector reads without a copy.
    data = np.ascontiguousarray(matrix, dtype=np.float64)
    check_shape(data, dataset, "all", path)
    refuse_missing(data, path)
    if 1 not in labels.shape:
        raise damaged(path, f"{keys[1]} has the shape {labels.shape}, not one label a row")
    labels = whole_numbers(labels.ravel(), path)
    target, target_names = check_labels(labels, dataset, "all", path)
    return Loaded(
        dataset,
        data=data,
        target=target,
        feature_names=[f"gene_{column}" for column in range(dataset.n_features)],
        target_names=target_names,
        paths=[path],
    )
