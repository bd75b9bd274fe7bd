"""Canonical correlations between two sets of variables, of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.metrics.canonical_blocks import CanonicalBlocks
from projse.moments.sums import Moments


def canonical_correlations(
    X: Any, Y: Any, sample_weight: Any = None, *, center: bool = True
) -> NDArray[np.float64]:
    """Correlate the spaces of two sets of columns, direction by direction.

    The first value is the largest correlation of any combination of the columns of X with any of
    Y, the second the largest among combinations uncorrelated with the first ones, and so on: the
    cosines of the angles between the two spaces.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_x)
    Y : array-like or sparse matrix of shape (n_samples,) or (n_samples, n_y)
        Numbers, class labels or label indicators.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight 2 counts as the row twice, weight 0 as the row gone.
    center : bool, default=True
        Subtract the weighted means first.

    Returns
    -------
    ndarray of shape (min(n_x, n_y),)
        Descending, in [0, 1]. Constant and dependent columns add no direction; what they leave
        missing is filled with zeros, so the shape depends on that of the input alone.

    Notes
    -----
    One pass over the rows, then ``O(n_x³ + n_y³)``. Columns are brought to unit norm; one of which
    the columns before it leave nothing but rounding is dropped. Nearly
    dependent columns (condition number κ of the unit-norm columns) cost digits: the error is about
    κ² times the unit roundoff.

    With as many columns as rows every correlation is 1, whatever the data: judge correlations on
    rows that were not used to find them.

    References
    ----------
    H. Hotelling: Relations between two sets of variates. Biometrika 28, 1936.

    Å. Björck, G. H. Golub: Numerical methods for computing angles between linear subspaces.
    Mathematics of Computation 27, 1973.

    Examples
    --------
    >>> import numpy as np
    >>> from projse.metrics import canonical_correlations
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 3))
    >>> Y = X[:, :2] @ [[1.0, 1.0], [1.0, -1.0]] + rng.normal(size=(1000, 2))
    >>> canonical_correlations(X, Y).round(2).tolist()
    [0.83, 0.79]
    """
    if Y is None:
        raise ValueError("Y is None; pass the columns of the other view.")
    moments = Moments.from_arrays(X, Y, sample_weight, with_xx=True)
    if moments.n_samples < 2:
        raise ValueError(
            f"X and Y have {moments.n_samples} row(s) of non-zero weight; correlations need at "
            "least 2."
        )
    return CanonicalBlocks(moments, center).all(moments.n_x, moments.n_y)
