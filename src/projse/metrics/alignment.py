"""Alignment of two kernels on the same samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from projse.kernels.linear_gram import gram_of
from projse.moments.in_memory import moments_of
from projse.sources.rows import (
    make_rows,
    refuse_dask,
    refuse_non_finite,
    refuse_non_numeric_columns,
)

Array = NDArray[Any]

ROUNDING = 16 * float(np.finfo(np.float64).eps)
"""Spread of a column or a matrix, relative to its size, that centring leaves of a constant."""


def kernel_alignment(K: Any, L: Any, *, centered: bool = True) -> float:
    """Measure how alike two kernels see the same samples.

    The cosine of the angle between the two matrices, ``⟨K, L⟩_F / (‖K‖_F ‖L‖_F)``, after centring
    both in feature space: 1 when they are equal up to a factor, 0 when they have nothing in common.
    Without centring, what all samples share (a mean, a constant in a kernel) counts too, and
    unrelated kernels look alike.

    Parameters
    ----------
    K, L : array-like of shape (n_samples, n_samples)
        Symmetric kernel matrices over the same samples in the same order. They are not changed.
    centered : bool, default=True
        Centre in feature space first: ``H K H`` with ``H = I − 11ᵀ/m``.

    Returns
    -------
    float
        In [0, 1] for positive semi-definite matrices, else in [−1, 1].

    Raises
    ------
    ValueError
        Where a matrix is not square, not symmetric or not finite, and where alignment has no
        meaning: a matrix that is zero, or constant when centred.

    Notes
    -----
    ``O(m²)`` time and memory: ``H K H`` is K less the means of its rows and columns.

    References
    ----------
    C. Cortes, M. Mohri, A. Rostamizadeh: Algorithms for learning kernels based on centered
    alignment. Journal of Machine Learning Research 13, 2012.

    N. Cristianini, J. Shawe-Taylor, A. Elisseeff, J. Kandola: On kernel-target alignment. Advances
    in Neural Information Processing Systems 14, 2001 (not centred).

    Examples
    --------
    >>> import numpy as np
    >>> from projse.metrics import kernel_alignment
    >>> x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0])
    >>> K, L = np.outer(x, x), np.outer(y, y)
    >>> round(kernel_alignment(K, L), 4)  # the squared correlation
    0.64
    >>> round(kernel_alignment(K, L, centered=False), 4)
    0.9344
    """
    K, L = _kernel_matrix(K, "K"), _kernel_matrix(L, "L")
    if K.shape != L.shape:
        raise ValueError(
            f"K and L have shapes {K.shape} and {L.shape}; they must be over the same samples."
        )
    if centered:
        K, L = _centre(K), _centre(L)
    return _cosine(K, L, ("K", "L"), centered)


def linear_kernel_alignment(X: Any, Y: Any, *, centered: bool = True) -> float:
    """Align the linear kernels of two sets of columns without building them.

    ``‖XᵀY‖²_F / (‖XᵀX‖_F ‖YᵀY‖_F)``, which is ``kernel_alignment(X @ X.T, Y @ Y.T)``. Of
    standardised columns it is a mean squared correlation between X and Y, relative to those within
    each. It depends on the scale of the columns.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_x)
    Y : array-like or sparse matrix of shape (n_samples,) or (n_samples, n_y)
        Numbers, class labels (their indicators are aligned) or label indicators.
    centered : bool, default=True
        Subtract the means of the columns, which centres both kernels in feature space.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    ValueError
        Where all columns of X or of Y are constant (zero, when not centred).

    Notes
    -----
    One pass over the rows, ``O(m (n_x + n_y)²)``, and matrices between columns: no m × m matrix,
    no dense copy of a sparse one. With fewer rows than columns the m × m matrices are the smaller
    ones, and are used: ``O(m² (n_x + n_y))``.

    References
    ----------
    C. Cortes, M. Mohri, A. Rostamizadeh: Algorithms for learning kernels based on centered
    alignment. Journal of Machine Learning Research 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from projse.metrics import linear_kernel_alignment
    >>> x, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([1.0, 3.0, 2.0, 4.0])
    >>> round(linear_kernel_alignment(x, y), 4)
    0.64
    >>> round(linear_kernel_alignment(x, ["low", "low", "high", "high"]), 4)
    0.8
    """
    if Y is None:
        raise ValueError("Y is None; pass the columns to align X with.")
    refuse_dask("linear_kernel_alignment cannot reach them; compute() them first", X, Y)
    refuse_non_numeric_columns(X)
    X = check_array(
        X,
        accept_sparse=("csr", "csc"),
        dtype="numeric",
        ensure_all_finite=False,
        ensure_min_samples=2 if centered else 1,
    )
    rows = make_rows(X, Y)
    m, n_x = rows.X.shape
    if m < max(n_x, rows.Y.shape[1]):
        refuse_non_finite(rows.X, "X", rows.feature_names)
        refuse_non_finite(rows.Y, "y", rows.target_names)
        K, L = _linear_kernel(rows.X, centered), _linear_kernel(rows.Y, centered)
        return _cosine(K, L, ("X", "Y"), centered)
    gram = gram_of(moments_of(rows, with_xx=True), centered)
    assert gram.x_rows is not None
    live = np.flatnonzero(gram.xx_diag)
    xx, yx, yy = gram.x_rows(live, live), gram.block(live), gram.yy
    x_size, y_size = np.abs(xx).max(initial=0.0), np.abs(yy).max(initial=0.0)
    _refuse_undefined({"X": x_size, "Y": y_size}, centered)
    yx = yx / np.sqrt(x_size) / np.sqrt(y_size)
    norms = np.linalg.norm(xx / x_size) * np.linalg.norm(yy / y_size)
    return float(min(np.sum(yx**2) / norms, 1.0))


def _kernel_matrix(K: Any, name: str) -> Array:
    """Check a kernel matrix; return it in float64."""
    matrix = np.asarray(K)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(
            f"{name} must be a square kernel matrix; its shape is {matrix.shape}. For columns of "
            "variables use linear_kernel_alignment."
        )
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers, not {matrix.dtype}.")
    matrix = matrix.astype(np.float64, copy=False)
    size = np.abs(matrix).max()
    if not np.isfinite(size):
        raise ValueError(f"{name} contains NaN or infinity; check the kernel on your samples.")
    gap = float(np.abs(matrix - matrix.T).max())
    if gap > 1e-8 * size:
        raise ValueError(
            f"{name} is asymmetric: entries differ by up to {gap:.3g}; a kernel has "
            "κ(a, b) = κ(b, a)."
        )
    return matrix


def _centre(K: Array) -> Array:
    """Return ``H K H``, with exact zeros where K is constant up to rounding."""
    size = np.abs(K).max()
    means = K.mean(axis=0)
    centred: Array = K - means - means[:, None] + means.mean()
    return centred if np.abs(centred).max() > ROUNDING * size else np.zeros_like(K)


def _linear_kernel(A: Any, centered: bool) -> Array:
    """Return ``A Aᵀ`` up to a factor, shape (m, m), of centred columns."""
    if sp.issparse(A):
        scaled = A / (float(abs(A).max()) or 1.0)
        K: Array = (scaled @ scaled.T).toarray()
        return _centre(K) if centered else K
    columns = np.array(A, dtype=np.float64)
    columns /= float(np.abs(columns).max()) or 1.0
    if centered:
        peaks = np.abs(columns).max(axis=0)
        for _ in range(2):  # the second time for what rounding of a large mean left
            columns -= columns.mean(axis=0)
        columns[:, np.abs(columns).max(axis=0) <= ROUNDING * peaks] = 0.0
    product: Array = columns @ columns.T
    return product


def _cosine(K: Array, L: Array, names: tuple[str, str], centered: bool) -> float:
    sizes = [np.abs(K).max(), np.abs(L).max()]
    _refuse_undefined(dict(zip(names, sizes, strict=True)), centered)
    K, L = K / sizes[0], L / sizes[1]
    cosine = np.vdot(K, L) / (np.linalg.norm(K) * np.linalg.norm(L))
    return float(np.clip(cosine, -1.0, 1.0))


def _refuse_undefined(sizes: dict[str, Any], centered: bool) -> None:
    for name, size in sizes.items():
        if size == 0:
            kind = "constant" if centered else "zero"
            raise ValueError(f"{name} is {kind}: it has no alignment with anything.")
