"""Moments seen otherwise: from the other view, or of some columns only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.moments.align import with_columns
from projse.moments.sparse_products import centred_yx
from projse.moments.sums import Moments

Array = NDArray[Any]


def swapped(moments: Moments) -> Moments:
    """Let candidates and references change places; nothing is summed anew.

    Needs the products of the candidates with each other. Covariates stay what they are.
    """
    if moments.one_view or moments.y_mean is None or moments.yy is None:
        raise ValueError("These moments hold one view; two views are needed to swap them.")
    if moments.xx is None:
        raise ValueError(
            "These moments hold no products of the candidates with each other; build them with "
            "Moments.from_arrays(..., with_xx=True)."
        )
    n = moments.n_references
    yy, yx = moments.yy, centred_yx(moments)
    own, cross = moments.xx, yx[:n].T
    if moments.n_covariates:
        own, cross = (
            np.block([[own, yx[n:].T], [yx[n:], yy[n:, n:]]]),
            np.vstack([cross, yy[n:, :n]]),
        )

    def turned(x: Array | None, y: Array | None) -> tuple[Array | None, Array | None]:
        """Swap what belongs to the views; what belongs to covariates stays with the references."""
        both = None
        if x is not None and (y is not None or not moments.n_covariates):
            both = x if y is None else np.concatenate([x, y[n:]])
        return None if y is None else y[:n], both

    x_mean, y_mean = turned(moments.x_mean, moments.y_mean)
    x_peak, y_peak = turned(moments.x_peak, moments.y_peak)
    x_min, y_min = turned(moments.x_min, moments.y_min)
    x_max, y_max = turned(moments.x_max, moments.y_max)
    x_bounded, y_bounded = turned(moments.x_bounded, moments.y_bounded)
    names, targets = moments.feature_names, moments.target_names
    if names is not None and moments.n_covariates:
        names = None if targets is None else (*names, *targets[n:])
    assert x_mean is not None
    return Moments(
        n_samples=moments.n_samples,
        sum_weights=moments.sum_weights,
        x_mean=x_mean,
        y_mean=y_mean,
        yy=own,
        yx=cross,
        xx_diag=np.diag(yy)[:n].copy(),
        xx=yy[:n, :n],
        feature_names=None if targets is None else targets[:n],
        target_names=names,
        eps=moments.eps,
        x_peak=x_peak,
        y_peak=y_peak,
        x_min=x_min,
        x_max=x_max,
        y_min=y_min,
        y_max=y_max,
        x_bounded=x_bounded,
        y_bounded=y_bounded,
        x_variables=moments.y_variables,
        y_variables=moments.x_variables,
        z_variables=moments.z_variables,
        encoding=moments.encoding,
        n_covariates=moments.n_covariates,
        n_partialled=moments.n_partialled,
        whole_weights=moments.whole_weights,
    )


def restricted(moments: Moments, x: Array, y: Array | None = None) -> Moments:
    """Keep some candidates, and some references (None: all), in the order given.

    Covariates are all kept.
    """
    fewer = with_columns(moments, "x", x)
    if moments.y_mean is not None:
        fewer = replace(fewer, yx=centred_yx(fewer))
    fewer = replace(
        fewer,
        feature_names=_some(moments.feature_names, x),
        x_variables=None if moments.x_variables is None else moments.x_variables.restricted(x),
    )
    if moments.y_mean is None or y is None:
        return fewer
    own = None if moments.y_variables is None else moments.y_variables.restricted(y)
    y = np.concatenate([y, np.arange(moments.n_references, moments.n_y)]).astype(np.intp)
    return replace(
        with_columns(fewer, "y", y),
        target_names=_some(moments.target_names, y),
        y_variables=own,
        classes=None,
    )


def _some(names: tuple[str, ...] | None, indices: Array) -> tuple[str, ...] | None:
    return None if names is None else tuple(names[j] for j in indices)


def second_moments(moments: Moments, center: bool) -> tuple[Array, Array, Array]:
    """Return ``(xx, xy, yy)`` about the means, or about zero."""
    assert moments.xx is not None and moments.yy is not None and moments.y_mean is not None
    xx, xy, yy = moments.xx, centred_yx(moments).T, moments.yy
    if center:
        return xx, xy, yy
    w, x, y = moments.sum_weights, moments.x_mean, moments.y_mean
    return xx + w * np.outer(x, x), xy + w * np.outer(x, y), yy + w * np.outer(y, y)
