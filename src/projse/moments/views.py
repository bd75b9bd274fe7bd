"""Moments seen otherwise: from the other view, or of some columns only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.moments.sparse_products import centred_yx
from projse.moments.sums import Moments

Array = NDArray[Any]


def swapped(moments: Moments) -> Moments:
    """Let candidates and references change places; nothing is summed anew.

    Needs the products of the candidates with each other.
    """
    if moments.y_mean is None or moments.yy is None:
        raise ValueError("These moments hold one view; two views are needed to swap them.")
    if moments.xx is None:
        raise ValueError(
            "These moments hold no products of the candidates with each other; build them with "
            "Moments.from_arrays(..., with_xx=True)."
        )
    return Moments(
        n_samples=moments.n_samples,
        sum_weights=moments.sum_weights,
        x_mean=moments.y_mean,
        y_mean=moments.x_mean,
        yy=moments.xx,
        yx=centred_yx(moments).T,
        xx_diag=np.diag(moments.yy).copy(),
        xx=moments.yy,
        feature_names=moments.target_names,
        target_names=moments.feature_names,
        eps=moments.eps,
        x_peak=moments.y_peak,
        y_peak=moments.x_peak,
        x_min=moments.y_min,
        x_max=moments.y_max,
        y_min=moments.x_min,
        y_max=moments.x_max,
    )


def restricted(moments: Moments, x: Array, y: Array | None = None) -> Moments:
    """Keep some candidates, and some references (None: all), in the order given."""

    def some(values: Any, indices: Any) -> Any:
        return None if values is None else values[indices]

    def names(values: tuple[str, ...] | None, indices: Array) -> tuple[str, ...] | None:
        return None if values is None else tuple(values[j] for j in indices)

    fewer = replace(
        moments,
        x_mean=moments.x_mean[x],
        xx_diag=moments.xx_diag[x],
        xx=some(moments.xx, np.ix_(x, x)),
        feature_names=names(moments.feature_names, x),
        x_peak=some(moments.x_peak, x),
        x_min=some(moments.x_min, x),
        x_max=some(moments.x_max, x),
    )
    if moments.y_mean is None:
        return fewer
    fewer = replace(fewer, yx=moments.yx[:, x])
    fewer = replace(fewer, yx=centred_yx(fewer))
    if y is None:
        return fewer
    assert moments.yy is not None
    return replace(
        fewer,
        y_mean=moments.y_mean[y],
        yy=moments.yy[np.ix_(y, y)],
        yx=fewer.yx[y],
        target_names=names(moments.target_names, y),
        classes=None,
        y_peak=some(moments.y_peak, y),
        y_min=some(moments.y_min, y),
        y_max=some(moments.y_max, y),
    )


def second_moments(moments: Moments, center: bool) -> tuple[Array, Array, Array]:
    """Return ``(xx, xy, yy)`` about the means, or about zero."""
    assert moments.xx is not None and moments.yy is not None and moments.y_mean is not None
    xx, xy, yy = moments.xx, centred_yx(moments).T, moments.yy
    if center:
        return xx, xy, yy
    w, x, y = moments.sum_weights, moments.x_mean, moments.y_mean
    return xx + w * np.outer(x, x), xy + w * np.outer(x, y), yy + w * np.outer(y, y)
