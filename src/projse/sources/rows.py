"""Rows in memory: checked candidates, references and weights, ready to be summed."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.sources.encode_targets import Targets, array_of, as_csr, encode_targets
from projse.sources.variables import Variables
from projse.warn import many

Array = NDArray[Any]


@dataclass
class Rows:
    """Matching rows of candidates X, references Y (None: one view) and weights.

    X is a dense array of any real dtype and order, never copied here, or CSR. Y is dense or CSR.
    Of an encoded table, ``x_variables`` and ``y_variables`` tell what candidates and references
    are, and ``encoding`` how they were made; ``z_variables`` tell it of covariates that are not all
    numbers.
    The last ``n_covariates`` columns of Y are covariates; ``classes`` and ``one_view`` are about
    the columns before them. ``y_stored`` is the unit roundoff that references were stored with,
    where they are in another dtype by now. ``x_label`` is what messages call the candidates.
    """

    X: Any
    Y: Any = None
    weight: Array | None = None
    feature_names: tuple[str, ...] | None = None
    target_names: tuple[str, ...] | None = None
    classes: Array | None = None
    x_variables: Variables | None = None
    y_variables: Variables | None = None
    z_variables: Variables | None = None
    encoding: dict[str, Any] | None = None
    n_covariates: int = 0
    y_stored: float | None = None
    x_label: str = "X"

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_references(self) -> int:
        """Number of reference columns, without covariates."""
        return 0 if self.Y is None else int(self.Y.shape[1]) - self.n_covariates

    @property
    def one_view(self) -> bool:
        """Whether the references are the candidates themselves."""
        return self.Y is None or (self.n_covariates > 0 and not self.n_references)

    @property
    def references(self) -> Any:
        """The references without covariates; None for one view."""
        if self.one_view:
            return None
        return self.Y[:, : self.n_references] if self.n_covariates else self.Y

    @property
    def covariates(self) -> Array | None:
        """The covariates alone, dense and in float64; None where there are none."""
        if not self.n_covariates:
            return None
        Z = self.Y[:, self.n_references :]
        return np.asarray(Z.toarray() if sp.issparse(Z) else Z, dtype=np.float64)

    @property
    def y_roundoff(self) -> float:
        """Unit roundoff that the references were stored with; whole numbers have float64's."""
        if self.y_stored is not None:
            return self.y_stored
        return roundoff(getattr(self.Y, "dtype", np.float64))

    @property
    def y_titles(self) -> tuple[str, ...] | None:
        """Names of the columns of Y: references, and covariates behind them."""
        names, n = self.target_names or (), self.n_references
        if self.y_variables is None and (self.z_variables is None or not names):
            return self.target_names
        own = names[:n] if self.y_variables is None else self.y_variables.titles
        given = names[n:] if self.z_variables is None else self.z_variables.titles
        return (*own, *given)

    @property
    def is_sparse(self) -> bool:
        """Whether the candidates are sparse."""
        return bool(sp.issparse(self.X))

    @property
    def y(self) -> Any:
        """The references as a user would pass them: class labels, or columns."""
        if self.classes is None:
            return self.references
        # Categories may be any numbers; as labels they would be refused.
        classes = self.classes.astype(str) if self.classes.dtype.kind == "f" else self.classes
        return classes[self.class_codes()]

    def class_codes(self) -> Array | None:
        """Return the class of each row as a number; None where the references are no classes.

        A row of weight 0 may lack a label; it gets 0.
        """
        if self.classes is None:
            return None
        codes, indicators = np.zeros(self.n_samples, dtype=np.intp), self.references
        codes[np.diff(indicators.indptr) > 0] = indicators.indices
        return codes

    def strata(self) -> Array | None:
        """Return the same with rows of weight 0 apart, which no class is to be spread with."""
        codes = self.class_codes()
        if codes is None or self.weight is None or self.classes is None:
            return codes
        return np.where(self.weight > 0, codes, len(self.classes))

    def counted(self) -> Rows:
        """Leave out the rows of weight 0."""
        if self.weight is None or self.weight.all():
            return self
        return self.take(np.flatnonzero(self.weight))

    def take(self, indices: Array | slice) -> Rows:
        """Keep some rows: a slice of dense rows is not copied."""
        Y = None if self.Y is None else _taken(self.Y, indices)
        weight = None if self.weight is None else self.weight[indices]
        return replace(self, X=_taken(self.X, indices), Y=Y, weight=weight)


def roundoff(dtype: Any) -> float:
    """Return the unit roundoff of values of a dtype; whole numbers are exact in float64."""
    dtype = np.dtype(dtype)
    return float(np.finfo(dtype if dtype.kind == "f" else np.float64).eps)


def _taken(A: Any, indices: Array | slice) -> Any:
    """Return some rows of an array of any kind."""
    contiguous = isinstance(A, np.ndarray) and A.flags.c_contiguous
    if contiguous and not isinstance(indices, slice) and indices.dtype.kind in "iu":
        # Whole rows at a time, and other threads may run meanwhile.
        return A.take(indices, axis=0)
    return A[indices]


def is_dask(*values: Any) -> bool:
    """Whether one of the values is a Dask collection. Imports nothing."""
    dask = sys.modules.get("dask")
    return dask is not None and any(dask.is_dask_collection(value) for value in values)


def refuse_dask(remedy: str, *values: Any) -> None:
    """Refuse Dask collections where all of their rows would have to come here."""
    if is_dask(*values):
        raise ValueError(f"With rows in Dask, {remedy}.")


def make_rows(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    target_type: str = "auto",
    feature_names: tuple[str, ...] | None = None,
    all_rows: bool = True,
) -> Rows:
    """Put checked candidates together with encoded references and weights.

    ``X`` must already be a two-dimensional numeric array or a sparse matrix; ``all_rows`` is as in
    :func:`~projse.sources.encode_targets.encode_targets`.
    """
    X = as_csr(X) if sp.issparse(X) else X
    X = X.astype(np.float64) if X.dtype == object else X  # decimals of Polars and Arrow
    m = X.shape[0]
    weight = check_weight(sample_weight, m)
    counted = None if weight is None or weight.all() else weight > 0
    targets = Targets(None)
    if y is not None:
        targets = encode_targets(y, target_type, n_samples=m, counted=counted, all_rows=all_rows)
    return Rows(X, targets.Y, weight, feature_names, targets.names, targets.classes)


def check_weight(sample_weight: Any, n_samples: int) -> Array | None:
    """Check row weights; return them in float64, or None where all are 1."""
    if sample_weight is None:
        return None
    if np.isscalar(sample_weight):
        sample_weight = np.full(n_samples, sample_weight)
    try:
        weight = np.asarray(sample_weight)
        if weight.dtype.kind == "c":
            raise TypeError("they are complex")
        weight = weight.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold real numbers ({error}).") from error
    if weight.ndim != 1:
        raise ValueError(f"Sample weights must be 1D; sample_weight has {weight.ndim} dimensions.")
    if len(weight) != n_samples:
        raise ValueError(
            f"sample_weight has {len(weight)} entries, but X has {n_samples} rows; pass one a row."
        )
    bad = ~np.isfinite(weight)
    if bad.any():
        raise ValueError(
            f"sample_weight contains NaN or infinity in {many(int(bad.sum()), 'row')}, first in "
            f"row {int(bad.argmax())}; use 0 to leave a row out."
        )
    if (weight < 0).any():
        row = int((weight < 0).argmax())
        raise ValueError(
            f"Negative values in sample_weight: {weight[row]:g} in row {row}; use 0 to leave a "
            "row out."
        )
    if not weight.any():
        raise ValueError(
            "Sample weights must contain at least one non-zero number; all of sample_weight is 0."
        )
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not np.isfinite(total):
        raise ValueError("The sum of sample_weight overflows; divide all of it by a constant.")
    return None if (weight == 1).all() else weight


def refuse_non_numeric_columns(X: Any, label: str = "X") -> None:
    """Name the columns of a data frame, an array or lists that do not hold numbers."""
    if isinstance(X, list | tuple | str | bytes):
        made = array_of(X, label)
        # Numbers beside text are numbers still.
        X = np.asarray(X, dtype=object) if made.ndim == 2 and made.dtype.kind in "US" else made
    if isinstance(X, np.ndarray):
        if X.ndim < 2 and X.size and X.dtype.kind in "UST":
            raise ValueError(
                f"{label} holds text ({str(X.flat[0])!r:.60}), and no columns of numbers; pass an "
                "array or a data frame with one row a sample. Class labels are y of ProjSe."
            )
        bad = _non_numeric_array_columns(X, label)
    elif hasattr(X, "schema") and isinstance(getattr(X, "column_names", None), list):  # of Arrow
        bad = [(field.name, field.type) for field in X.schema if not _is_numeric_type(field.type)]
    elif hasattr(X, "columns") and hasattr(X, "dtypes"):
        columns = zip(X.columns, list(X.dtypes), strict=True)
        bad = [(name, dtype) for name, dtype in columns if not _is_numeric_column(X, name, dtype)]
    else:
        return
    if bad:
        listed = ", ".join(f"{name!r} ({dtype})" for name, dtype in bad[:10])
        more = f" and {len(bad) - 10} more" if len(bad) > 10 else ""
        raise ValueError(
            f"could not convert string to float, or other values that are not numbers, in columns "
            f"of {label}: {listed}{more}. Encode them as numbers or leave them out."
        )


def _non_numeric_array_columns(X: Array, label: str) -> list[tuple[Any, Any]]:
    if X.ndim != 2 or X.dtype.kind not in "OmMVUST":
        return []
    if X.dtype.kind != "O":
        return [(j, X.dtype) for j in range(X.shape[1])]
    bad: list[tuple[Any, Any]] = []
    for j, column in enumerate(X.T):
        try:
            column.astype(np.float64)
        except ValueError:
            bad.append((j, "object"))
        except TypeError as error:  # not even a string
            value = next(v for v in column if not _becomes_number(v))
            raise TypeError(
                f"Column {j} of {label} holds {value!r:.60} ({type(value).__name__}): argument "
                "must be a string or a number; make numbers of such values, or leave them out."
            ) from error
    return bad


def _becomes_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return value is None
    return True


def _is_numeric_type(dtype: Any) -> bool:
    """Whether a type of Arrow is one of numbers, or of values that are such."""
    from pyarrow import types

    while types.is_dictionary(dtype):
        dtype = dtype.value_type
    kinds = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(of_kind(dtype) for of_kind in kinds)


def _is_numeric_column(X: Any, name: Any, dtype: Any) -> bool:
    is_numeric = getattr(dtype, "is_numeric", None)
    if callable(is_numeric):  # polars
        return bool(is_numeric()) or str(dtype) == "Boolean"
    if getattr(dtype, "char", "") == "O":
        try:
            np.asarray(X[name], dtype=np.float64)
        except (TypeError, ValueError):
            return False
        return True
    return getattr(dtype, "kind", "f") in "biuf"


def refuse_non_finite(A: Any, label: str, names: tuple[str, ...] | None) -> None:
    """Raise a ValueError that names the columns holding NaN or infinity.

    Called when a sum came out as not finite: the search for the culprits may be slow.
    """
    n = A.shape[1]
    if sp.issparse(A):
        nan = np.bincount(A.indices[np.isnan(A.data)], minlength=n)
        inf = np.bincount(A.indices[np.isinf(A.data)], minlength=n)
    else:
        nan, inf = np.zeros(n, dtype=int), np.zeros(n, dtype=int)
        for start in range(0, A.shape[0], 4096):
            batch = np.asarray(A[start : start + 4096], dtype=np.float64)
            nan += np.isnan(batch).sum(axis=0)
            inf += np.isinf(batch).sum(axis=0)
    bad = np.flatnonzero(nan + inf)
    if not bad.size:
        return

    def describe(j: int) -> str:
        kinds = [f"{count[j]} {kind}" for count, kind in ((nan, "NaN"), (inf, "inf")) if count[j]]
        return f"{names[j]!r} ({', '.join(kinds)})" if names else f"{j} ({', '.join(kinds)})"

    listed = ", ".join(describe(j) for j in bad[:10])
    more = f" and {bad.size - 10} more" if bad.size > 10 else ""
    raise ValueError(
        f"Input {label} contains NaN or infinity, in column{'s' if bad.size > 1 else ''} "
        f"{listed}{more}. Drop those rows or fill the values in (sklearn.impute); "
        "ProjSe does it for gaps with missing='drop', 'indicator' or 'mean'."
    )


SMALLEST_SQUARES = 2 * float(np.finfo(np.float64).tiny)
"""Smaller sums of squares (below 5e-308) have lost digits, or all of them, to the range."""


class VanishingSquaresError(ValueError):
    """Columns hold values so small that their squares vanish: a power of two would mend it."""


def vanishing(A: Array, squares: Array, center: bool) -> Array:
    """Tell which dense columns are not constant (or zero), although their squares vanish."""
    marked: Array = squares < SMALLEST_SQUARES
    low = np.flatnonzero(marked)
    values = np.asarray(A[:, low])
    marked[low] = (values != (values[:1] if center else 0)).any(axis=0)
    return marked


def without_vanishing(rows: Rows) -> Rows:
    """Multiply columns so small that their squares may vanish by powers of two, in a copy."""
    rows = rows.counted()
    return replace(rows, X=_enlarged(rows.X), Y=None if rows.Y is None else _enlarged(rows.Y))


def _enlarged(A: Any) -> Any:
    if sp.issparse(A):
        size = abs(A).max(axis=0).toarray().ravel()
    else:
        A = np.asarray(A)
        size = np.abs(A).max(axis=0)
    small = (size > 0) & (size < 2.0**-400)
    exponents = np.where(small, -np.frexp(size.astype(np.float64))[1], 0)
    if not small.any():
        return A
    if sp.issparse(A):
        data = np.ldexp(A.data.astype(np.float64), exponents[A.indices])
        return sp.csr_array((data, A.indices, A.indptr), shape=A.shape)
    return np.ldexp(A.astype(np.float64), exponents)


def refuse_vanishing(
    marked: Array, label: str, names: tuple[str, ...] | None, n_covariates: int = 0
) -> None:
    """Raise an error that names the first column marked as not constant but without squares.

    The last ``n_covariates`` columns are covariates.
    """
    if marked.any():
        raise VanishingSquaresError(
            f"{_first_column(marked, label, names, n_covariates)} is not constant, but holds "
            "values (or weights) so small that their squares vanish (values below 1e-153); "
            "multiply it by a constant first."
        )


def refuse_overflow(
    squares: Array, label: str, names: tuple[str, ...] | None, n_covariates: int = 0
) -> None:
    """Raise a ValueError that names the first column whose sum of squares is not finite.

    The last ``n_covariates`` columns are covariates.
    """
    bad = ~np.isfinite(squares)
    if bad.any():
        raise too_large(_first_column(bad, label, names, n_covariates))


def _first_column(
    marked: Array, label: str, names: tuple[str, ...] | None, n_covariates: int
) -> str:
    """Return what messages call the first column that is marked."""
    j, n_own = int(marked.argmax()), len(marked) - n_covariates
    if j >= n_own:
        label = "covariates"
    which = repr(names[j]) if names else str(j if j < n_own else j - n_own)
    return f"Column {which} of {label}"


def too_large(column: str) -> ValueError:
    """Return the error of a column of such values that their squares overflow."""
    return ValueError(
        f"{column} holds values so large that their squares overflow (above 1e150); divide it by "
        "a constant first."
    )
