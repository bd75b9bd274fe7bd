"""Loaders of time series from the UCR archive: one series a row, one point in time a column."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from sklearn.utils import Bunch

from projse.datasets.bunch import hand_out
from projse.datasets.checks import check_labels, check_shape, parts_of, stack
from projse.datasets.content import damaged, read_content, read_member
from projse.datasets.dataset import DataSet
from projse.datasets.fetch import locate
from projse.datasets.registry import CROP, SHAPESALL, THORAX
from projse.datasets.table import Floats, Integers
from projse.datasets.ucr import read_ucr


def load_crop(
    *,
    subset: str = "train",
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
) -> Bunch | tuple[Any, Any]:
    """Load Crop: time series of satellite images, 7200 + 16800 × 46, 24 classes.

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
        ``data`` (float64), ``target`` (class of each row, numbered from 0), ``feature_names``,
        ``target_names`` (label of each class in the file), ``frame``, ``DESCR``, ``filenames``.
    """
    return _load(CROP, subset, return_X_y, as_frame, data_home, download_if_missing)


def load_thorax(
    *,
    subset: str = "train",
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
) -> Bunch | tuple[Any, Any]:
    """Load NonInvasiveFetalECGThorax1: electrocardiograms, 1800 + 1965 × 750, 42 classes.

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
        ``data`` (float64), ``target`` (class of each row, numbered from 0), ``feature_names``,
        ``target_names`` (label of each class in the file), ``frame``, ``DESCR``, ``filenames``.
    """
    return _load(THORAX, subset, return_X_y, as_frame, data_home, download_if_missing)


def load_shapesall(
    *,
    subset: str = "train",
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
) -> Bunch | tuple[Any, Any]:
    """Load ShapesAll: outlines of shapes, 600 + 600 × 512, 60 classes.

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
        ``data`` (float64), ``target`` (class of each row, numbered from 0), ``feature_names``,
        ``target_names`` (label of each class in the file), ``frame``, ``DESCR``, ``filenames``.
    """
    return _load(SHAPESALL, subset, return_X_y, as_frame, data_home, download_if_missing)


def _load(
    dataset: DataSet,
    subset: str,
    return_X_y: bool,
    as_frame: bool,
    data_home: str | PathLike[str] | None,
    download_if_missing: bool,
) -> Bunch | tuple[Any, Any]:
    paths = locate(dataset, parts_of(subset), data_home, download_if_missing)
    data, target, target_names = [], [], None
    for part, path in paths.items():
        X, labels = _read(path, f"{dataset.name}_{part.upper()}", dataset.max_bytes)
        check_shape(X, dataset, part, path)
        codes, names = check_labels(labels, dataset, part, path)
        if target_names not in (None, names):
            raise damaged(path, "its labels are not those of the training part")
        data.append(X)
        target.append(codes)
        target_names = names
    return hand_out(
        dataset,
        data=stack(data),
        target=stack(target),
        feature_names=[f"t{column}" for column in range(dataset.n_features)],
        target_names=target_names or [],
        paths=paths.values(),
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


def _read(path: Path, stem: str, limit: int) -> tuple[Floats, Integers]:
    if path.suffix == ".zip":
        member, content = read_member(
            path, [f"{stem}.{end}" for end in ("ts", "tsv", "txt", "arff")], limit
        )
        return read_ucr(content, path / member)
    return read_ucr(read_content(path, limit), path)
