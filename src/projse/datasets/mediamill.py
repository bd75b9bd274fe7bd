"""Loaders of MediaMill: visual features of video frames, and the concepts they show."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from projse.datasets.arff import read_multilabel_arff
from projse.datasets.bunch import hand_out
from projse.datasets.checks import check_shape, parts_of, stack
from projse.datasets.content import read_content
from projse.datasets.dataset import DataSet
from projse.datasets.fetch import locate
from projse.datasets.libsvm import read_libsvm
from projse.datasets.registry import MEDIAMILL, MEDIAMILL_SUBSET
from projse.datasets.table import Floats


def load_mediamill(
    *,
    subset: str = "train",
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
) -> Bunch | tuple[Any, Any]:
    """Load MediaMill: visual features and concepts, 30993 + 12914 × 120, 101 labels.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        Which rows; ``"all"`` is the training rows, then the test rows.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.
    as_frame : bool, default=False
        Return pandas objects instead of arrays.
    data_home : path-like, optional
        Folder of the data sets, see `get_data_home`.
    download_if_missing : bool, default=True
        Download what is not at hand; if False, raise DatasetMissingError.

    Returns
    -------
    Bunch or (data, target)
        ``data`` (float64), ``target`` (uint8, n × 101 of 0 and 1), ``feature_names``,
        ``target_names`` (names of the labels), ``frame``, ``DESCR``, ``filenames``.
    """
    return _load(MEDIAMILL, subset, return_X_y, as_frame, data_home, download_if_missing)


def load_mediamill_subset(
    *,
    subset: str = "train",
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
) -> Bunch | tuple[Any, Any]:
    """Load a subset of MediaMill, chosen by others: 1500 + 500 × 120, 101 labels.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        Which rows; ``"all"`` is the training rows, then the test rows.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.
    as_frame : bool, default=False
        Return pandas objects instead of arrays.
    data_home : path-like, optional
        Folder of the data sets, see `get_data_home`.
    download_if_missing : bool, default=True
        Download what is not at hand; if False, raise DatasetMissingError.

    Returns
    -------
    Bunch or (data, target)
        ``data`` (float64), ``target`` (uint8, n × 101 of 0 and 1), ``feature_names``,
        ``target_names`` (names of the labels), ``frame``, ``DESCR``, ``filenames``.
    """
    return _load(MEDIAMILL_SUBSET, subset, return_X_y, as_frame, data_home, download_if_missing)


def _load(
    dataset: DataSet,
    subset: str,
    return_X_y: bool,
    as_frame: bool,
    data_home: str | PathLike[str] | None,
    download_if_missing: bool,
) -> Bunch | tuple[Any, Any]:
    paths = locate(dataset, parts_of(subset), data_home, download_if_missing)
    data, target = [], []
    for part, path in paths.items():
        X, Y = _read(path, dataset)
        check_shape(X, dataset, part, path)
        data.append(X)
        target.append(Y)
    return hand_out(
        dataset,
        data=stack(data),
        target=stack(target),
        # The names in the ARFF files; the libsvm files have none.
        feature_names=[f"Att{column}" for column in range(1, dataset.n_features + 1)],
        target_names=[f"Class{label}" for label in range(1, dataset.n_targets + 1)],
        paths=paths.values(),
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


def _read(path: Path, dataset: DataSet) -> tuple[Floats, NDArray[np.uint8]]:
    content = read_content(path, dataset.max_bytes)
    if ".svm" in path.suffixes:
        return read_libsvm(content, path, dataset.n_features, dataset.n_targets)
    X, Y, _, _ = read_multilabel_arff(content, path, dataset.n_targets)
    return X, Y
