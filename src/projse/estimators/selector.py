"""What all selectors of columns share: checked rows go in, a mask of columns comes out."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.validation import check_is_fitted, validate_data

from projse.estimators.table_options import TableOptions
from projse.estimators.table_rows import TableRows
from projse.sources.covariates import append_covariates
from projse.sources.rows import Rows, is_dask, make_rows, refuse_dask, refuse_non_numeric_columns
from projse.sources.table.frame import refuse_repeated_names
from projse.sources.table.kinds import holds_more_than_numbers
from projse.sources.two_spellings import warn_two_spellings
from projse.sources.variables import Variables

NO_OUTPUT_OF_DASK = (
    "set_output does not apply to Dask collections, which keep their type; use "
    "set_output(transform='default')."
)


def output_config(estimator: Any) -> str:
    """Return what ``set_output`` or ``set_config`` asks of ``transform``."""
    asked = getattr(estimator, "_sklearn_output_config", {}).get("transform")
    return str(asked or get_config()["transform_output"])


def as_asked(columns: Any, asked: str) -> Any:
    """Make pandas frames of other tables, where they are asked for.

    scikit-learn would go by way of an array, which columns of several kinds are not.
    """
    if asked != "pandas" or hasattr(columns, "iloc"):
        return columns
    frame = nw.from_native(columns, eager_only=True, pass_through=True)
    return frame.to_pandas() if isinstance(frame, nw.DataFrame) else columns


class RowSelector(SelectorMixin):  # type: ignore[misc]
    """Base of the selectors, on top of scikit-learn's own."""

    n_features_in_: int
    support_: NDArray[np.bool_]
    variables_: Variables

    @property
    def variable_names_(self) -> NDArray[Any]:
        """Names of the variables: of groups, and of columns in none."""
        check_is_fitted(self, "support_")
        if hasattr(self, "variables_"):
            return np.array(self.variables_.names, dtype=object)
        view = getattr(self, "_view", "X").lower()
        return np.asarray(
            self._feature_names() or [f"{view}{j}" for j in range(self.n_features_in_)],
            dtype=object,
        )

    def _remember_variables(self, variables: Variables | None) -> None:
        """Keep which columns make up each variable, where there are groups."""
        if variables is not None:
            self.variables_ = variables
        elif hasattr(self, "variables_"):
            del self.variables_

    def _columns_of(self, selected: Any) -> NDArray[np.intp]:
        """Return the columns of variables, one variable after the other."""
        if hasattr(self, "variables_"):
            return self.variables_.columns_of(selected)
        return np.asarray(selected, dtype=np.intp)

    def transform(self, X: Any) -> Any:
        """Keep the selected columns, in the order that they have in X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features_in_)
            Of a Dask array or data frame, columns are taken lazily. Of a frame with columns that
            are no numbers, columns come back as they are, with levels that the fit did not see.

        Returns
        -------
        array, sparse matrix, data frame or Dask collection of shape (n_samples, n_selected)
        """
        if is_dask(X):
            from projse.engines.dask_collections import select_columns

            if output_config(self) != "default":
                raise ValueError(NO_OUTPUT_OF_DASK)
            return select_columns(X, self._get_support_mask(), self._feature_names())
        refuse_repeated_names(X)
        if holds_more_than_numbers(X):
            check_is_fitted(self, "support_")
            validate_data(self, X, reset=False, skip_check_array=True)
            return as_asked(self._transform(X), output_config(self))
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
        tables: TableOptions | None = None,
        covariates: Any = None,
    ) -> Rows:
        """Check what was passed to a fit, and remember the columns of X.

        With ``tables``, columns that are no numbers, gaps and splines are encoded.
        """
        refuse_dask(
            f"{type(self).__name__}.fit cannot deal out single rows; let the partitions be the "
            "blocks, fit_moments(block_moments(X, y, None, with_xx=True)), or compute() rows that "
            "fit in memory",
            *(X, y, sample_weight, covariates),
        )
        refuse_repeated_names(X)
        if tables is not None and tables.concern(X, y, covariates, sample_weight):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return TableRows.of(X, y, sample_weight, covariates, tables, target_type).final_rows()
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
        # A single row is enough for a batch of them.
        options: Any = {"target_type": target_type, "all_rows": min_samples > 1}
        rows = make_rows(X, y, sample_weight, feature_names=names, **options)
        rows = append_covariates(rows, covariates)
        if min_samples > 1:
            warn_two_spellings(rows.z_variables, "covariates")
        return rows

    def _feature_names(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(names)

    def _transform(self, X: Any) -> Any:
        if hasattr(X, "columns") and not hasattr(X, "iloc") and not self._get_support_mask().any():
            super()._transform(np.empty((0, self.n_features_in_)))  # which warns of no columns
            return _safe_indexing(X, self.support_, axis=1)
        return super()._transform(X)

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
