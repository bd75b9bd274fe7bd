"""The correlation of a variable with a set of variables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from projse.kernels.routes import KernelSpec, Route, from_moments, from_rows
from projse.moments.sums import Moments
from projse.search.rounds import Plan, ReferenceSpace
from projse.sources.rows import is_dask, make_rows, refuse_non_numeric_columns


def subspace_correlation(X: Any, Y: Any, center: bool = True) -> NDArray[np.float64]:
    """Correlate each column of X with the space that the columns of Y span.

    ``‖P_Y x‖ / ‖x‖``: 1 when x is a linear combination of the columns of Y, 0 when it is
    orthogonal to all of them or constant. With one column in Y it is the absolute correlation.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_x)
        Dask arrays and data frames are summed by their workers.
    Y : array-like or sparse matrix of shape (n_samples,) or (n_samples, n_y)
        Numbers, class labels or label indicators. Whole numbers in one column are class labels, as
        in :class:`ProjSe`; pass floats for numbers.
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
    if Y is None:
        raise ValueError("Y is None; pass the reference columns.")
    spec = KernelSpec(center=center)
    route = _distributed(X, Y, spec) if is_dask(X, Y) else _in_memory(X, Y, spec)
    plan = Plan(None, spectrum=route.spectrum)
    space = ReferenceSpace(route.gram, plan, route.gram.alive)
    scores = space.open()[0].scores()
    return np.sqrt(np.clip(scores, 0.0, 1.0))


def _in_memory(X: Any, Y: Any, spec: KernelSpec) -> Route:
    refuse_non_numeric_columns(X)
    X = check_array(
        X,
        accept_sparse=("csr", "csc"),
        dtype="numeric",
        ensure_all_finite=False,
        ensure_min_samples=2,
    )
    rows = make_rows(X, Y)
    return from_rows(rows, spec)


def _distributed(X: Any, Y: Any, spec: KernelSpec) -> Route:
    """Sum on the workers of Dask; rows that are not here cannot be factored."""
    moments = Moments.from_arrays(X, Y, with_xx=False)
    if moments.n_samples < 2:
        raise ValueError(f"X has {moments.n_samples} row; a correlation needs at least 2.")
    return Route(from_moments(moments, spec), moments)
