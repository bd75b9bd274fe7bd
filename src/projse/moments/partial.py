"""Covariates taken out of all other variables, linearly: what is left of them, from moments alone.

With Z the covariates, ``G_ab|Z = G_ab − G_aZ G_ZZ⁺ G_Zb`` for any variables a and b (the Schur
complement): the products of the residuals of regressions on Z. Kernels then see residuals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from projse.moments.rounding import ROUNDING, squared_norms
from projse.moments.sparse_products import centred_yx

if TYPE_CHECKING:
    from projse.moments.sums import Moments

Array = NDArray[Any]


MOST_COLUMNS = 1 << 31
"""No moments have as many columns."""


@dataclass(frozen=True)
class Whitener:
    """Coordinates in an orthonormal basis of the covariates.

    Attributes
    ----------
    W : ndarray of shape (r, n_covariates)
        ``WᵀW = G_ZZ⁺``, so that ``W G_Za`` are the coordinates of variables a.
    values : ndarray of shape (r,)
        Eigenvalues of the covariates, brought to unit norm, that were kept.
    eps : float
        Unit roundoff of the products.
    """

    W: Array
    values: Array
    eps: float

    @classmethod
    def of(cls, zz: Array, squares: Array, eps: float) -> Whitener:
        """Factor the products of the covariates, ``O(n_covariates³)``.

        Covariates that are constant (``squares`` of 0) or follow from the others (an eigenvalue
        below ``64 n eps`` of the largest, after scaling to unit norms) add no direction.
        """
        unit = np.divide(1.0, np.sqrt(squares), out=np.zeros(len(zz)), where=squares > 0)
        values, V = np.linalg.eigh(zz * unit[:, None] * unit)
        kept = values > ROUNDING * max(len(zz), 1) * eps * values.max(initial=0.0)
        values, V = values[kept], V[:, kept]
        return cls((V / np.sqrt(values)).T * unit, values, eps)

    @property
    def rank(self) -> int:
        """Dimension of the covariates."""
        return len(self.W)

    def left(self, squares: Array, shadows: Array, least: float = 0.0) -> tuple[Array, Array]:
        """Return what is left of squared norms, and how far an entry is off.

        Parameters
        ----------
        squares : ndarray of shape (n,)
            Of the variables.
        shadows : ndarray of shape (r, n)
            Their coordinates.
        least : float
            A smaller share of its square, or one within rounding, is nothing.

        Returns
        -------
        left : ndarray of shape (n,)
            Exactly 0 for a variable that the covariates explain.
        amplification : ndarray of shape (n,)
            How many times eps a normalised product of what is left is off: the coefficients on the
            covariates multiply their rounding, and normalising multiplies it again.
        """
        off = squares + np.einsum("ij,ij,i->j", shadows, shadows, 1 / self.values)
        left = squares - np.einsum("ij,ij->j", shadows, shadows)
        left[left <= np.maximum(ROUNDING * self.eps * off, least * squares)] = 0.0
        alive = left > 0
        amplification = np.ones_like(left)
        np.divide(off, left, out=amplification, where=alive)
        return left, np.sqrt(amplification)


def vanishing_share(eps: float) -> float:
    """Return the share of a candidate's square that is nothing once others were taken out."""
    return float(eps ** (2 / 3))


def partialled(moments: Moments, center: bool = True, by: Moments | None = None) -> Moments:
    """Take the covariates out of all other variables.

    Parameters
    ----------
    moments : Moments
        With covariates.
    center : bool
        Regressions have an intercept; without, products are about zero.
    by : Moments or None
        Of the rows that the regressions are fitted on, with the same columns; None: these rows.
        Held-out rows are judged honestly by the regressions of the training rows.

    Returns
    -------
    Moments
        Of the residuals, without covariates; ``n_partialled`` is their dimension. Extremes are not
        known. What the covariates explain wholly has a sum of squares of 0.

    Notes
    -----
    ``O(n_covariates (n_x + n_y)²)`` flops with the products of the candidates.
    """
    if not moments.n_covariates:
        return moments
    fitted = moments if by is None else by
    n = moments.n_y - moments.n_covariates
    G, H = _products(fitted, center), _products(moments, center)
    squares = squared_norms(fitted, "y", center)
    whitener = Whitener.of(G.yy[n:, n:], squares[n:], fitted.eps)
    A, B = whitener.W @ G.yx[n:], whitener.W @ G.yy[n:, :n]
    least = vanishing_share(fitted.eps)
    x_alive = whitener.left(squared_norms(fitted, "X", center), A, least)[0] > 0
    y_alive = whitener.left(squares[:n], B)[0] > 0
    # Residuals are a − Γᵀz, of these rows, with the coefficients Γ of the fitted ones.
    x_gamma, y_gamma = whitener.W.T @ A, whitener.W.T @ B
    zz, zx, zy = H.yy[n:, n:], H.yx[n:], H.yy[n:, :n]
    x_rest, y_rest = zz @ x_gamma - zx, zz @ y_gamma - zy
    xx_diag = H.xx_diag - np.einsum("ij,ij->j", x_gamma, zx - x_rest)
    xx = None
    if H.xx is not None:
        xx = H.xx - x_gamma.T @ zx + x_rest.T @ x_gamma
        xx = (xx + xx.T) / 2 * np.outer(x_alive, x_alive)
        xx_diag = np.diag(xx)
    xx_diag = np.where(x_alive, np.maximum(xx_diag, 0.0), 0.0)
    x_mean, y_mean = np.zeros(moments.n_x), np.zeros(n)
    if center and by is not None:
        assert moments.y_mean is not None and fitted.y_mean is not None
        move = moments.y_mean - fitted.y_mean
        x_mean = moments.x_mean - fitted.x_mean - move[n:] @ x_gamma
        y_mean = move[:n] - move[n:] @ y_gamma
    common: Any = {
        "x_mean": np.where(x_alive, x_mean, 0.0),
        "xx_diag": xx_diag,
        "xx": xx,
        "x_peak": _larger(moments.x_peak, H.xx_diag),
        "x_min": None,
        "x_max": None,
        "y_min": None,
        "y_max": None,
        "x_bounded": None,
        "y_bounded": None,
        "n_covariates": 0,
        "z_variables": None,
        "n_partialled": moments.n_partialled + whitener.rank,
    }
    if moments.one_view:
        return replace(
            moments, y_mean=None, yy=None, yx=None, y_peak=None, target_names=None, **common
        )
    yy = H.yy[:n, :n] - y_gamma.T @ zy + y_rest.T @ y_gamma
    yx = H.yx[:n] - y_gamma.T @ zx + y_rest.T @ x_gamma
    names = moments.target_names
    return replace(
        moments,
        y_mean=np.where(y_alive, y_mean, 0.0),
        yy=(yy + yy.T) / 2 * np.outer(y_alive, y_alive),
        yx=yx * y_alive[:, None] * x_alive,
        y_peak=_larger(None if moments.y_peak is None else moments.y_peak[:n], np.diag(H.yy)[:n]),
        target_names=None if names is None else names[:n],
        classes=None,  # what is left of indicators are none
        **common,
    )


def check_counts(moments: Moments) -> None:
    """Raise a ValueError where moments cannot have so many covariates."""
    for name in ("n_covariates", "n_partialled"):
        count: Any = getattr(moments, name)
        whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
        if not whole or not 0 <= count < MOST_COLUMNS:
            raise ValueError(f"{name} is no number of columns")
    n_y = 0 if moments.y_mean is None else np.size(moments.y_mean)
    if moments.n_covariates > n_y:
        raise ValueError(f"n_covariates={moments.n_covariates} is more than the {n_y} columns of Y")


@dataclass
class _Products:
    """Products about the means, or about zero."""

    yy: Array
    yx: Array
    xx_diag: Array
    xx: Array | None


def _products(moments: Moments, center: bool) -> _Products:
    assert moments.yy is not None and moments.y_mean is not None
    yy, yx, xx = moments.yy, centred_yx(moments), moments.xx
    if center:
        return _Products(yy, yx, moments.xx_diag, xx)
    w, x, y = moments.sum_weights, moments.x_mean, moments.y_mean
    return _Products(
        yy + w * np.outer(y, y),
        yx + w * np.outer(y, x),
        moments.xx_diag + w * x**2,
        None if xx is None else xx + w * np.outer(x, x),
    )


def _larger(peak: Array | None, squares: Array) -> Array:
    return squares if peak is None else np.maximum(peak, squares)
