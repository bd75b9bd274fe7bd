"""Multilabel data in libsvm's format: ``1,5 3:0.2 7:1.5``, through scikit-learn."""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from projse.datasets.content import damaged
from projse.datasets.table import Floats, refuse_missing


def read_libsvm(
    content: bytes, name: object, n_features: int, n_labels: int
) -> tuple[Floats, NDArray[np.uint8]]:
    """Read features (numbered from 1) and labels (from 0), both as dense matrices."""
    try:
        rows, label_sets = load_svmlight_file(
            io.BytesIO(content), n_features=n_features, multilabel=True, zero_based=False
        )
    except (ValueError, OverflowError, MemoryError) as error:
        raise damaged(name, error) from error
    if not label_sets:
        raise damaged(name, "it holds no rows")
    X: Floats = rows.toarray()
    refuse_missing(X, name)
    Y = np.zeros((len(label_sets), n_labels), np.uint8)
    for number, labels in enumerate(label_sets):
        for label in labels:
            if not (label.is_integer() and 0 <= label < n_labels):
                raise damaged(name, f"row {number} has the label {label:g} of {n_labels} from 0")
            Y[number, int(label)] = 1
    return X, Y
