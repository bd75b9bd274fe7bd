"""What all selectors of columns share: checked rows go in, a mask of columns comes out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from projse.sources.covariates import append_covariates
from projse.sources.encode_targets import warn_many_classes
from projse.sources.rows import Rows, is_dask, make_rows, refuse_dask, refuse_non_numeric_columns

NO_OUTPUT_OF_DASK = (
    "set_output does not apply to Dask collections, which keep their type; use "
    "set_output(transform='default')."
)


def output_config(estimator: Any) -> str:
    """Return what ``set_output`` or ``set_config`` asks of ``transform``."""
    asked = getattr(estimator, "_sklearn_output_config", {}).get("transform")
    return str(asked or get_config()["transform_output"])


class RowSelector(SelectorMixin):  # type: ignore[misc]
    """Base of the selectors, on top of scikit-learn's own."""

    support_: NDArray[np.bool_]

    def transform(self, X: Any) -> Any:
        """Keep the selected columns, in the order that they have in X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features_in_)
            Of a Dask array or data frame, columns are taken lazily.

        Returns
        -------
        array, sparse matrix, data frame or Dask collection of shape (n_samples, n_selected)
        """
        if is_dask(X):
            from projse.engines.dask_collections import select_columns

            if output_config(self) != "default":
                raise ValueError(NO_OUTPUT_OF_DASK)
            return select_columns(X, self._get_support_mask(), self._feature_names())
        return super().transform(X)

    def _check_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        target_type: str,
        *,
        reset: bool = True,
        min_samples: int = 2,
        min_features: int = 1,
        covariates: Any = None,
    ) -> Rows:
        """Check what was passed to a fit, and remember the columns of X."""
        refuse_dask(
            f"{type(self).__name__}.fit cannot deal out single rows; let the partitions be the "
            "blocks, fit_moments(block_moments(X, y, None, with_xx=True)), or compute() rows that "
            "fit in memory",
            *(X, y, sample_weight, covariates),
        )
        refuse_non_numeric_columns(X)
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=("csr", "csc"),
            dtype="numeric",
            ensure_all_finite=False,
            ensure_min_samples=min_samples,
            ensure_min_features=min_features,
        )
        names = self._feature_names()
        rows = make_rows(X, y, sample_weight, target_type=target_type, feature_names=names)
        if min_samples > 1:  # these are all rows, not a batch of them
            warn_many_classes(rows.classes, rows.n_samples, target_type, y)
        return append_covariates(rows, covariates)

    def _feature_names(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(names)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "support_")
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
