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
        x_variables=moments.y_variables,
        y_variables=moments.x_variables,
        encoding=moments.encoding,
    )


def restricted(moments: Moments, x: Array, y: Array | None = None) -> Moments:
    """Keep some candidates, and some references (None: all), in the order given."""
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
    return replace(
        with_columns(fewer, "y", y),
        target_names=_some(moments.target_names, y),
        y_variables=None if moments.y_variables is None else moments.y_variables.restricted(y),
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
