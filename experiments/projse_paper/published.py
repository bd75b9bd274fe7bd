"""The procedure that the authors' published scripts run, to explain where results differ.

Written anew from reading them (0.22, ``full_cycle`` with its defaults): kernels on variables as
they come, centred over the variables in feature space, brought to unit norm; eigenvalues of
``K_YY`` below 1e-6 dropped; as many picks as asked for, whatever the rank. The first pick is never
taken out of the space, unless ``remove_first``, which is the paper's loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Array = NDArray[Any]

CUT = 1e-6

AS_PUBLISHED: dict[str, Any] = {"center": False, "scale": False, "center_kernel": True}
"""The scripts' preparation as parameters of ProjSe: centred over variables, not over samples."""


def published_select(
    X: Array, Y: Array, n: int, kernel: str = "linear", *, remove_first: bool = False
) -> tuple[Array, Array]:
    """Select n columns of X; return their indices in order, and their scores."""
    grams = Y.T @ Y, Y.T @ X, X.T @ X
    return published_select_from(*grams, n, kernel, remove_first=remove_first)


def published_select_from(
    yy: Array,
    yx: Array,
    xx: Array,
    n: int,
    kernel: str = "linear",
    *,
    center_kernel: bool = True,
    remove_first: bool = False,
) -> tuple[Array, Array]:
    """Do the same from linear Gram matrices of variables, centred over the samples or not.

    ``center_kernel=False`` leaves out the centring over the variables.
    """
    K_yy, K_yx, d_xx = _kernels(yy, yx, xx, kernel, center_kernel)
    y_norms, x_norms = _norms(np.diag(K_yy)), _norms(d_xx)
    K_yy = K_yy / np.outer(y_norms, y_norms)
    K_yx = K_yx / np.outer(y_norms, x_norms)
    values, V = scipy.linalg.eigh(K_yy)
    kept = values >= CUT
    R = (V[:, kept] / np.sqrt(values[kept])).T @ K_yx
    return _search(R, min(n, len(xx)), remove_first)


def _search(R: Array, n: int, remove_first: bool) -> tuple[Array, Array]:
    picks: list[int] = []
    found: list[float] = []
    for t in range(n):
        if t > (0 if remove_first else 1):
            q = R[:, picks[-1]].copy()
            length = np.linalg.norm(q)
            if length > 0:
                q /= length
                R -= np.outer(q, q @ R)
        scores = np.einsum("ij,ij->j", R, R)
        scores[picks] = -1.0
        picks.append(int(scores.argmax()))
        found.append(float(scores[picks[-1]]))
    return np.array(picks), np.array(found)


def _kernels(
    yy: Array, yx: Array, xx: Array, kernel: str, centred: bool
) -> tuple[Array, Array, Array]:
    """Return ``K_YY``, ``K_YX`` and the diagonal of ``K_XX``."""
    if kernel == "poly":
        yy, yx, xx = yy**3, yx**3, xx**3
    elif kernel == "rbf":
        y2, x2 = np.diag(yy).copy(), np.diag(xx).copy()
        d_yy, d_yx, d_xx = (
            np.maximum(a[:, None] + b - 2 * k, 0)
            for a, b, k in ((y2, y2, yy), (y2, x2, yx), (x2, x2, xx))
        )
        np.fill_diagonal(d_yy, 0)
        gamma = 1 / (2 * np.sqrt(d_yy).mean() ** 2)  # the zeros of the diagonal count, as there
        yy, yx, xx = (np.exp(-gamma * d) for d in (d_yy, d_yx, d_xx))
    if not centred:
        return yy, yx, np.diag(xx).copy()
    yy, yx, xx = (centred_kernel(k) for k in (yy, yx, xx))
    return yy, yx, np.diag(xx).copy()


def centred_kernel(K: Array) -> Array:
    """Centre a kernel matrix over the variables, in feature space."""
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


def _norms(squares: Array) -> Array:
    norms = np.sqrt(np.maximum(squares, 0))
    return np.where(norms > 0, norms, 1.0)
