"""What a loader hands out: scikit-learn's Bunch, a pair of arrays, or data frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from sklearn.utils import Bunch

from projse.datasets.dataset import DataSet


@dataclass(frozen=True)
class Loaded:
    """A data set in memory.

    ``target`` has one dimension for classes, whose names are ``target_names``, and two where it is
    a matrix, of which ``target_names`` names the columns. ``more`` is added to the bunch.
    """

    dataset: DataSet
    data: NDArray[Any]
    target: NDArray[Any]
    feature_names: list[str]
    target_names: list[str]
    paths: Iterable[Path]
    more: Mapping[str, Any] = field(default_factory=dict)


def hand_out(loaded: Loaded, return_X_y: bool, as_frame: bool) -> Bunch | tuple[Any, Any]:
    """Put together what a loader returns."""
    frame, data, target = _frames(loaded) if as_frame else (None, loaded.data, loaded.target)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=loaded.feature_names,
        target_names=loaded.target_names,
        DESCR=loaded.dataset.description,
        filenames=[str(path) for path in dict.fromkeys(loaded.paths)],
        **loaded.more,
    )


def _frames(loaded: Loaded) -> tuple[Any, Any, Any]:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "as_frame=True needs pandas: pip install 'projse-select[dataframes]', or leave it out."
        ) from error
    columns = pd.DataFrame(loaded.data, columns=loaded.feature_names)
    outputs: Any
    if loaded.target.ndim == 1:
        outputs = pd.Series(loaded.target, name="target")
    else:
        outputs = pd.DataFrame(loaded.target, columns=loaded.target_names)
    return pd.concat([columns, outputs], axis=1), columns, outputs
