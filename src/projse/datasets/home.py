"""The data home: the folder that holds the files of all data sets."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from types import ModuleType

ENVIRONMENT = "PROJSE_DATA"


def get_data_home(data_home: str | PathLike[str] | None = None) -> Path:
    """Return the folder in which the loaders look for files and keep what they download.

    Parameters
    ----------
    data_home : path-like, optional
        The folder. If None, the environment variable ``PROJSE_DATA`` names it; without that, it is
        the user's cache folder for projse.

    Returns
    -------
    Path
        The folder. It need not exist yet: the first download makes it.

    Examples
    --------
    >>> from projse.datasets import get_data_home
    >>> get_data_home("data").name
    'data'
    """
    chosen = data_home if data_home is not None else os.environ.get(ENVIRONMENT)
    if chosen:
        return Path(chosen).expanduser()
    return Path(import_pooch().os_cache("projse"))


def import_pooch() -> ModuleType:
    """Import pooch, which knows the user's cache folder and downloads files."""
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            "pooch finds the user's cache folder and downloads data sets: "
            "pip install 'projse-select[datasets]'. Without it, put the files into a folder of "
            f"your own and name it in data_home or in the environment variable {ENVIRONMENT}."
        ) from error
    return pooch
