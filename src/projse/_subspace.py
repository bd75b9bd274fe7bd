"""The correlation of a variable with a set of variables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from projse._routes import KernelSpec, from_rows
from projse._selection import Plan, ReferenceSpace
from projse._source import make_rows, refuse_non_numeric_columns


def subspace_correlation(X: Any, Y: Any, center: bool = True) -> NDArray[np.float64]:
    """Correlate each column of X with the space that the columns of Y span.

    ``‖P_Y x‖ / ‖x‖``: 1 when x is a linear combination of the columns of Y, 0 when it is
    orthogonal to all of them or constant. With one column in Y it is the absolute correlation.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_x)
    Y : array-like or sparse matrix of shape (n_samples,) or (n_samples, n_y)
        Numbers, class labels or label indicators.
    center : bool, default=True
        Subtract the means first.

    Returns
    -------
    ndarray of shape (n_x,)

    Examples
    --------
    >>> import numpy as np
    >>> from projse import subspace_correlation
    >>> X = np.array([[1.0, 1.0], [2.0, -1.0], [3.0, -1.0], [4.0, 1.0]])
    >>> subspace_correlation(X, 2 * X[:, 0] + 5).round(6).tolist()
    [1.0, 0.0]
    """
    refuse_non_numeric_columns(X)
    X = check_array(
        X,
        accept_sparse=("csr", "csc"),
        dtype="numeric",
        ensure_all_finite=False,
        ensure_min_samples=2,
    )
    rows = make_rows(X, Y)
    if rows.Y is None:
        raise ValueError("Y is None; pass the reference columns.")
    route = from_rows(rows, KernelSpec(center=center))
    space = ReferenceSpace(route.gram, Plan(None, spectrum=route.spectrum))
    scores = space.open()[0].scores()
    return np.sqrt(np.clip(scores, 0.0, 1.0))
