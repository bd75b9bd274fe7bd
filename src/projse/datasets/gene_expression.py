"""Loaders of gene expression data: few samples, thousands of variables."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from projse.datasets.bunch import hand_out
from projse.datasets.checks import check_labels, check_shape
from projse.datasets.content import damaged, read_content
from projse.datasets.dataset import DataSet
from projse.datasets.fetch import locate
from projse.datasets.matlab import read_matlab
from projse.datasets.registry import CARCINOM, ELEVEN_TUMORS, GLIOMA
from projse.datasets.table import refuse_missing, whole_numbers


def load_glioma(
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
) -> Bunch | tuple[Any, Any]:
    """Load GLIOMA: gene expression, 50 × 4434, 4 classes.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.
    as_frame : bool, default=False
        Return pandas objects instead of arrays.
    data_home : path-like, optional
        Folder of the data sets, see `get_data_home`.
    download_if_missing : bool, default=True
        Download the file if it is not at hand; if False, raise DatasetMissingError.

    Returns
    -------
    Bunch or (data, target)
        ``data`` (float64), ``target`` (class of each row, numbered from 0), ``feature_names``,
        ``target_names`` (label of each class in the file), ``frame``, ``DESCR``, ``filenames``.
    """
    return _load(GLIOMA, ("X", "Y"), return_X_y, as_frame, data_home, download_if_missing)


def load_carcinom(
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
) -> Bunch | tuple[Any, Any]:
    """Load Carcinom: gene expression, 174 × 9182, 11 classes.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.
    as_frame : bool, default=False
        Return pandas objects instead of arrays.
    data_home : path-like, optional
        Folder of the data sets, see `get_data_home`.
    download_if_missing : bool, default=True
        Download the file if it is not at hand; if False, raise DatasetMissingError.

    Returns
    -------
    Bunch or (data, target)
        ``data`` (float64), ``target`` (class of each row, numbered from 0), ``feature_names``,
        ``target_names`` (label of each class in the file), ``frame``, ``DESCR``, ``filenames``.
    """
    return _load(CARCINOM, ("X", "Y"), return_X_y, as_frame, data_home, download_if_missing)


def load_eleven_tumors(
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
) -> Bunch | tuple[Any, Any]:
    """Load 11_Tumors: gene expression, 174 × 12533, 11 classes. Not the same as Carcinom.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.
    as_frame : bool, default=False
        Return pandas objects instead of arrays.
    data_home : path-like, optional
        Folder of the data sets, see `get_data_home`.
    download_if_missing : bool, default=True
        Download the file if it is not at hand; if False, raise DatasetMissingError.

    Returns
    -------
    Bunch or (data, target)
        ``data`` (float64), ``target`` (class of each row, numbered from 0), ``feature_names``,
        ``target_names`` (label of each class in the file), ``frame``, ``DESCR``, ``filenames``.
    """
    return _load(
        ELEVEN_TUMORS, ("ins", "lab"), return_X_y, as_frame, data_home, download_if_missing
    )


def _load(
    dataset: DataSet,
    keys: tuple[str, str],
    return_X_y: bool,
    as_frame: bool,
    data_home: str | PathLike[str] | None,
    download_if_missing: bool,
) -> Bunch | tuple[Any, Any]:
    path = locate(dataset, ["all"], data_home, download_if_missing)["all"]
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
    return hand_out(
        dataset,
        data=data,
        target=target,
        feature_names=[f"gene_{column}" for column in range(dataset.n_features)],
        target_names=target_names,
        paths=[path],
        return_X_y=return_X_y,
        as_frame=as_frame,
    )
