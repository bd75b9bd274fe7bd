"""The two views of rows, in a fit and afterwards: checked, counted, summed, and their columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import _safe_indexing, check_array, check_consistent_length
from sklearn.utils.validation import _num_samples, validate_data

from projse.engines.dask import DaskRows
from projse.estimators.projse import ProjSe
from projse.estimators.selector import as_asked, output_config
from projse.estimators.table_rows import complete_rows, refuse_nothing
from projse.moments.in_memory import moments_of
from projse.moments.partitions import moments_elsewhere
from projse.moments.sums import Moments
from projse.sources.covariates import append_covariates
from projse.sources.encode_targets import column_names
from projse.sources.rows import is_dask, make_rows, refuse_non_numeric_columns

Array = NDArray[Any]

CHECKS: dict[str, Any] = {
    "accept_sparse": ("csr", "csc"),
    "dtype": "numeric",
    "ensure_all_finite": False,
    "ensure_min_samples": 2,
}
"""What scikit-learn looks at in a view."""


class CheckedViewsMixin:
    """Adds what takes rows to an estimator that has the parameters of ``TwoViewProjSe``."""

    missing: str
    n_jobs: int | None
    batch_size: int | None

    x_selector_: ProjSe
    y_selector_: ProjSe

    def _moments(
        self,
        X: Any,
        Y: Any,
        sample_weight: Any,
        covariates: Any = None,
        z_names: tuple[str, ...] | None = None,
        x_names: tuple[str, ...] | None = None,
        y_names: tuple[str, ...] | None = None,
    ) -> Moments:
        rows = make_rows(X, Y, sample_weight, target_type="continuous", feature_names=x_names)
        rows.target_names = y_names
        rows = append_covariates(rows, covariates, z_names)
        return moments_of(rows, with_xx=True, n_jobs=self.n_jobs, batch_size=self.batch_size)

    def _counted(self, *given: Any) -> tuple[Any, ...]:
        """Leave out rows with gaps, if asked to, and those of weight 0, which may hold anything."""
        X, Y, sample_weight, covariates = given
        if self.missing == "refuse":
            return given
        keep = np.ones(_num_samples(X), dtype=bool)
        if np.isscalar(sample_weight):
            sample_weight = np.full(len(keep), sample_weight)
        check_consistent_length(X, Y, sample_weight, covariates)
        if self.missing == "drop":
            keep = complete_rows(X, Y, sample_weight, covariates)
            refuse_nothing(keep, {"X": X, "Y": Y, "covariates": covariates}, remedy="")
        if sample_weight is not None:
            sample_weight = np.where(keep, np.asarray(sample_weight), 0)
            keep &= sample_weight > 0
        if keep.all():
            return X, Y, sample_weight, covariates
        if not keep.any():
            raise ValueError(f"missing={self.missing!r} leaves none of {len(keep)} rows.")
        rows = np.flatnonzero(keep)
        parts = (X, Y, sample_weight, covariates)
        return tuple(None if part is None else _safe_indexing(part, rows) for part in parts)

    def _numbers(self, covariates: Any) -> tuple[Any, tuple[str, ...] | None]:
        """Encode covariates by the plan of the fit, if it has one; return their names too."""
        plan = getattr(self, "_covariate_plan", None)
        return (covariates, None) if plan is None or covariates is None else plan.encode(covariates)

    def _distributed_moments(
        self, X: Any, Y: Any, sample_weight: Any, covariates: Any = None
    ) -> Moments:
        """Sum on the workers of Dask."""
        if self.missing != "refuse":
            raise ValueError(
                f"missing={self.missing!r} is for rows in memory; of Dask collections, leave rows "
                "with gaps out first (dropna), or fill them."
            )
        return moments_elsewhere(
            DaskRows.of(X, Y, sample_weight, covariates),
            with_xx=True,
            target_type="continuous",
            n_jobs=self.n_jobs,
            batch_size=self.batch_size,
        )

    def _held_out_moments(
        self, X: Any, Y: Any, sample_weight: Any, covariates: Any = None
    ) -> Moments:
        """Sum other rows than those of the fit: their selected columns, in the order they have."""
        if not is_dask(X, Y, sample_weight, covariates):
            X, Y, sample_weight, covariates = self._counted(X, Y, sample_weight, covariates)
        x, y = self._columns(X, "X"), self._columns(Y, "Y")
        if is_dask(x, y, sample_weight, covariates):
            return self._distributed_moments(x, y, sample_weight, covariates)
        x, y = check_array(x, **CHECKS), check_array(y, input_name="Y", **CHECKS)
        check_consistent_length(x, y)
        return self._moments(x, y, sample_weight, *self._numbers(covariates))

    def _columns(self, A: Any, label: str) -> Any:
        """Return the selected columns, in the order they have, of a view that fits."""
        selector = self.y_selector_ if label == "Y" else self.x_selector_
        selected = selector._columns_of(selector.selected_)
        n, fitted = selector.n_features_in_, getattr(selector, "feature_names_in_", None)
        if is_dask(A):
            from projse.engines.dask_collections import select_columns

            support = np.isin(np.arange(n), selected)
            return select_columns(A, support, None if fitted is None else tuple(fitted))
        refuse_non_numeric_columns(A, label)
        finite = "allow-nan" if self.missing == "drop" else True  # rows with gaps stay rows
        checks = CHECKS | {"ensure_all_finite": finite, "ensure_min_samples": 1}
        checked = check_array(A, input_name=label, **checks)
        given = column_names(A)
        if label == "X":
            validate_data(self, A, reset=False, skip_check_array=True)
        elif checked.shape[1] != n:
            raise ValueError(
                f"Y has {checked.shape[1]} features, but {type(self).__name__} is expecting {n} "
                "features in Y."
            )
        elif given is not None and fitted is not None and given != tuple(fitted):
            a, b = next((a, b) for a, b in zip(given, fitted, strict=True) if a != b)
            raise ValueError(f"Y has column {a!r} where the fit had {b!r}.")
        frame = hasattr(A, "columns")
        return _safe_indexing(A if frame else checked, np.sort(selected), axis=1)


class SecondView(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The columns of Y that a fitted estimator keeps, for scikit-learn to wrap in its frames."""

    def __init__(self, views: Any) -> None:
        self.views = views

    def transform(self, Y: Any) -> Any:
        """Keep the selected columns of Y."""
        return as_asked(self.views._columns(Y, "Y"), output_config(self))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return their names; ``input_features`` is what scikit-learn passes."""
        names = getattr(self.views, "y_feature_names_in_", None)
        return names_of(names, "y", np.flatnonzero(self.views.y_selector_.support_))


def refuse_no_views(moments: Any) -> None:
    """Refuse what is no moments, or moments of which one side are class labels."""
    if not isinstance(moments, Moments):
        raise TypeError(f"fit_moments needs Moments, not {type(moments).__name__}.")
    if moments.classes is not None:
        raise ValueError(
            "These moments hold class labels, which are no variables to select from; use "
            "ProjSe, or sum them with target_type='continuous'."
        )


def refuse_one_column(n_x: int, n_y: int) -> None:
    """Refuse a view of which there is nothing to choose."""
    for label, n in (("X", n_x), ("Y", n_y)):
        if n < 2:
            raise ValueError(
                f"{label} has one column (n_features=1), and two views need at least two each "
                "to select from; with one output, use ProjSe."
            )


def names_of(names: Array | None, prefix: str, selected: Array) -> Array:
    """Return the names of the selected columns, made up where there are none."""
    if names is not None:
        return names[selected]
    return np.array([f"{prefix}{j}" for j in selected], dtype=object)
