"""Fitted attributes: all of them or none, and those that every estimator has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from projse.sources.rows import Rows

PRIVATE = ("_covariate_plan", "_own_labels_told", "_picked", "_settled")
"""Fitted attributes that are nobody's business."""


def fitted_attributes(estimator: Any) -> dict[str, Any]:
    """Return the fitted attributes of an estimator: those that end in an underscore, and ours."""
    return {
        name: value
        for name, value in vars(estimator).items()
        if name in PRIVATE or (name.endswith("_") and not name.startswith("_"))
    }


def remember_columns(estimator: Any, n: int, names: Sequence[str] | None) -> None:
    """Set what scikit-learn keeps of the columns of X."""
    estimator.n_features_in_ = n
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def remember_candidates(estimator: Any, given: Any) -> None:
    """Set the same from rows or moments: of a table, the columns that it had."""
    variables = given.x_variables
    if variables is None:
        n = given.X.shape[1] if isinstance(given, Rows) else given.n_x
        remember_columns(estimator, n, given.feature_names)
        return
    encoder = (given.encoding or {}).get("x", {"names": variables.names})
    remember_columns(estimator, variables.n, encoder["names"])


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Put the fitted attributes back as they were when the block raises."""
    before = fitted_attributes(estimator)
    try:
        yield
    except BaseException:
        for name in fitted_attributes(estimator):
            delattr(estimator, name)
        vars(estimator).update(before)
        raise
