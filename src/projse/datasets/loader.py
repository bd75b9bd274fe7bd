"""Loaders: what they take, and what their documentation says of it, stands here for all of them.

A loader is written as a function that finds its files and reads them. The decorators make of it
the function that users call, with the common arguments and their documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import cleandoc
from os import PathLike
from pathlib import Path
from textwrap import indent
from typing import Any, Protocol

from sklearn.utils import Bunch

from projse.datasets.bunch import Loaded, hand_out
from projse.datasets.checks import parts_of
from projse.datasets.dataset import DataSet
from projse.datasets.fetch import locate

Find = Callable[[DataSet, Sequence[str]], dict[str, Path]]
"""Returns the path of a file for each of some parts of a data set."""

CLASSES = """
``data`` (float64), ``target`` (class of each row, numbered from 0), ``feature_names``,
``target_names`` (label of each class in the file), ``frame``, ``DESCR``, ``filenames``.
"""
"""What most loaders return."""

DOCUMENTATION = """
{summary}

Parameters
----------
{subset}return_X_y : bool, default=False
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
{returns}

Examples
--------
>>> from projse.datasets import {name}
>>> X, y = {name}(return_X_y=True)  # from the data home, or the network
>>> X.shape
{shape}
"""

SUBSET = """\
subset : {"train", "test", "all"}, default="train"
    Which rows; ``"all"`` is the training rows, then the test rows.
"""


class Loader(Protocol):
    """A loader of a data set that is one table."""

    def __call__(
        self,
        *,
        return_X_y: bool = False,
        as_frame: bool = False,
        data_home: str | PathLike[str] | None = None,
        download_if_missing: bool = True,
    ) -> Bunch | tuple[Any, Any]:
        """Load the data set."""


class SubsetLoader(Protocol):
    """A loader of a data set that has training and test rows."""

    def __call__(
        self,
        *,
        subset: str = "train",
        return_X_y: bool = False,
        as_frame: bool = False,
        data_home: str | PathLike[str] | None = None,
        download_if_missing: bool = True,
    ) -> Bunch | tuple[Any, Any]:
        """Load some rows of the data set."""


def loader(
    shape: tuple[int, int], returns: str = CLASSES
) -> Callable[[Callable[[Find], Loaded]], Loader]:
    """Make a loader of a function that reads one table; ``returns`` describes the bunch."""

    def decorate(read: Callable[[Find], Loaded]) -> Loader:
        def load(
            *,
            return_X_y: bool = False,
            as_frame: bool = False,
            data_home: str | PathLike[str] | None = None,
            download_if_missing: bool = True,
        ) -> Bunch | tuple[Any, Any]:
            loaded = read(_finder(data_home, download_if_missing))
            return hand_out(loaded, return_X_y, as_frame)

        _introduce(load, read, "", returns, shape)
        return load

    return decorate


def loader_of_subsets(
    shape: tuple[int, int], returns: str = CLASSES
) -> Callable[[Callable[[list[str], Find], Loaded]], SubsetLoader]:
    """Make a loader of a function that reads parts ("train", "test"), which it is told.

    ``shape`` is that of the training rows.
    """

    def decorate(read: Callable[[list[str], Find], Loaded]) -> SubsetLoader:
        def load(
            *,
            subset: str = "train",
            return_X_y: bool = False,
            as_frame: bool = False,
            data_home: str | PathLike[str] | None = None,
            download_if_missing: bool = True,
        ) -> Bunch | tuple[Any, Any]:
            loaded = read(parts_of(subset), _finder(data_home, download_if_missing))
            return hand_out(loaded, return_X_y, as_frame)

        _introduce(load, read, SUBSET, returns, shape)
        return load

    return decorate


def _finder(data_home: str | PathLike[str] | None, download_if_missing: bool) -> Find:
    return lambda dataset, parts: locate(dataset, parts, data_home, download_if_missing)


def _introduce(load: Any, read: Any, subset: str, returns: str, shape: tuple[int, int]) -> None:
    """Give a loader the name of the function that reads, and documentation."""
    # Not functools.wraps: the signature is that of the loader.
    for name in ("__module__", "__name__", "__qualname__"):
        setattr(load, name, getattr(read, name))
    if read.__doc__ is not None:  # python -OO
        load.__doc__ = DOCUMENTATION.strip().format(
            summary=cleandoc(read.__doc__),
            subset=subset,
            returns=indent(cleandoc(returns), " " * 4),
            name=read.__name__,
            shape=shape,
        )
