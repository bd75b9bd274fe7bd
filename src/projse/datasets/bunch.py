"""What a loader hands out: scikit-learn's Bunch, a pair of arrays, or data frames."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from sklearn.utils import Bunch

from projse.datasets.dataset import DataSet


def hand_out(
    dataset: DataSet,
    *,
    data: NDArray[Any],
    target: NDArray[Any],
    feature_names: list[str],
    target_names: list[str],
    paths: Iterable[Path],
    return_X_y: bool,
    as_frame: bool,
    **more: Any,
) -> Bunch | tuple[Any, Any]:
    """Put together what a loader returns.

    ``target`` has one dimension for classes, whose names are ``target_names``, and two where it is
    a matrix, of which ``target_names`` names the columns. ``more`` is added to the bunch.
    """
    frame = None
    if as_frame:
        frame, data, target = _frames(data, target, feature_names, target_names)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=feature_names,
        target_names=target_names,
        DESCR=dataset.description,
        filenames=[str(path) for path in dict.fromkeys(paths)],
        **more,
    )


def _frames(
    data: NDArray[Any], target: NDArray[Any], feature_names: list[str], target_names: list[str]
) -> tuple[Any, Any, Any]:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "as_frame=True needs pandas: pip install 'projse[dataframes]', or leave it out."
        ) from error
    columns = pd.DataFrame(data, columns=feature_names)
    outputs: Any
    if target.ndim == 1:
        outputs = pd.Series(target, name="target")
    else:
        outputs = pd.DataFrame(target, columns=target_names)
    return pd.concat([columns, outputs], axis=1), columns, outputs
