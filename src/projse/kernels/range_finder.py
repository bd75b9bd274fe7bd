"""Leading directions of many outputs, by a randomised range finder: ``K_YY`` is never formed.

With Ω random (n_y × k), the columns of ``K_YY Ω`` all but span the leading eigenvectors of
``K_YY`` (Halko, Martinsson and Tropp, 2011). One pass over the rows gives them, as ``Yᵀ(YΩ)``. With
an orthonormal basis V of their span, ``Y V`` takes the place of Y: its k × k Gram matrix has the
leading eigenvalues of ``K_YY``, none of them larger than the true one.

Outputs count with unit norm, given the covariates. Norms must be known before they are multiplied:
``K_YY = D YᵀY D``, and of ``YᵀYΩ`` no scaling afterwards makes ``D YᵀY D Ω``; it would be a sketch
by random numbers that outputs of large norm have more of. So a pass for the norms comes first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from projse.kernels.combined_references import combined_references
from projse.kernels.feature_gram import ENTRY_ROUNDING
from projse.kernels.linear_gram import LinearGram, gram_of
from projse.kernels.rank import STORED
from projse.moments.leverage import few_rows_by_extremes
from projse.moments.sums import Moments
from projse.moments.through import Pass, Through, moments_through, of_outputs, pass_over
from projse.sources.rows import Rows
from projse.threads import one_blas_thread

Array = NDArray[Any]

SEED = 20110217
"""Random numbers are the same in every fit: so is the answer."""

LARGE_MEAN = 2.0
"""Means of more standard deviations than this are taken out before outputs are combined."""


@dataclass(frozen=True)
class Sketch:
    """What is known of many outputs without their products with each other.

    Attributes
    ----------
    through : Through
        Puts k combinations of the outputs in their place: an orthonormal set of directions.
    n_outputs : int
    rare : bool
        Whether one or two rows make up any of the outputs.
    off : ndarray of shape (k, k) or None
        Products of the rounding of these directions, that of outputs as they were stored; None
        where it is no more than that of the arithmetic.
    """

    through: Through
    n_outputs: int
    rare: bool
    off: Array | None = None


@dataclass(frozen=True)
class Directions:
    """An orthonormal basis of the leading directions, in the place of the outputs.

    Attributes
    ----------
    moments : Moments
    spectrum : ndarray of shape (r,)
        Singular values of these directions.
    B : ndarray of shape (k, r)
        Makes the basis of the combinations of the sketch.
    """

    moments: Moments
    spectrum: Array
    B: Array


def find_range(over: Pass, size: int, *, center: bool, n_iter: int = 0) -> Sketch:
    """Find directions that all but hold the leading ones of the outputs.

    Parameters
    ----------
    over : Pass
        Sums over all rows; called ``2 + n_iter`` times.
    size : int
        Number of directions k, a few more than will be kept.
    center : bool
        Outputs are taken about their means.
    n_iter : int
        Power iterations: each makes the directions more exact where eigenvalues decay slowly.

    Notes
    -----
    ``4 k`` multiplications a stored value of Y, for each pass but the first, and ``O(n_y k²)`` for
    the basis; three matrices of n_y × k. A direction whose eigenvalue λ stands below the leading
    ones is found but for a share of about ``(λ_next / λ)^(2 + 2 n_iter)`` of its square, λ_next
    being the first that was left out.
    Outputs that are constant, or that covariates explain, have no part in any direction.
    """
    first = combined_references(of_outputs(over(Through(of_outputs=True))))
    outputs = _outputs(first, center)
    n = len(outputs.xx_diag)
    if n < size:
        raise ValueError(f"y has {n} columns, and {size} directions of it were asked for.")
    unit = np.divide(1.0, np.sqrt(outputs.xx_diag), out=np.zeros(n), where=outputs.xx_diag > 0)
    low, high = first.x_min, first.x_max
    assert low is not None and high is not None
    rare = few_rows_by_extremes(first, slice(None), low, high, center=center).any()
    mean = first.x_mean if center and _is_far(first) else None
    V: Array = np.random.default_rng(SEED).standard_normal((n, size))
    for _ in range(1 + n_iter):
        V *= unit[:, None]
        image = of_outputs(over(Through(V, mean, of_outputs=True)))
        _refuse_other_rows(image, first)
        V = _outputs(combined_references(image), center).block(slice(None)).T
        del image
        V *= unit[:, None]
        with one_blas_thread():  # tall and narrow: a second thread waits more than it works
            V, _ = scipy.linalg.qr(V, mode="economic", overwrite_a=True, check_finite=False)
    off = _stored_rounding(first, unit, V)
    V *= unit[:, None]
    return Sketch(Through(V, mean), n, bool(rare), off)


def _stored_rounding(outputs: Moments, unit: Array, V: Array) -> Array | None:
    """Return the products of what rounding adds to combinations V of outputs of norm 1 or 0."""
    eps = outputs.y_roundoff
    if eps <= np.finfo(np.float64).eps:
        return None
    squares = (outputs.xx_diag + outputs.sum_weights * outputs.x_mean**2) * unit**2
    products: Array = (V.T * (eps**2 * squares)) @ V
    return products


def leading_directions(moments: Moments, center: bool, off: Array | None = None) -> Directions:
    """Make the combinations of the outputs orthonormal, given the covariates.

    Parameters
    ----------
    moments : Moments
        Of rows that went through a sketch.
    center : bool
    off : ndarray of shape (k, k) or None
        As in :class:`Sketch`.

    Notes
    -----
    Without any direction, one of length 0 stands for the outputs: the search refuses constants.
    Rayleigh and Ritz: the eigenvalues of ``VᵀK_YY V`` stand for the leading ones of ``K_YY``. What
    is rounding is dropped, never inverted. ``O(k³ + k² n_x)`` flops.
    """
    settled = combined_references(moments)
    yy = gram_of(settled, center).yy
    values, vectors = scipy.linalg.eigh(yy, check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    # No more than what is sure to be rounding: tol is for the search to apply.
    known = values > ENTRY_ROUNDING * moments.eps * max(values[0], 0.0)
    if off is not None:
        # Combinations are made in the precision of the outputs: of the longest, too, all are off.
        own = (STORED * moments.y_roundoff) ** 2 * max(values[0], 0.0)
        known &= values > own + STORED**2 * np.einsum("ij,ij->j", vectors, off @ vectors)
    if not known.any():
        none = np.zeros((len(yy), 1))
        return Directions(_mixed(settled, none), np.zeros(1), none)
    B = vectors[:, known] / np.sqrt(values[known])
    return Directions(_mixed(settled, B), np.sqrt(values[known]), B)


def sketched_rows(rows: Rows, size: int, *, center: bool, n_iter: int = 0) -> tuple[Rows, Array]:
    """Return rows in memory with that basis in the place of their outputs, and its spectrum."""
    sketch = find_range(pass_over(rows), size, center=center, n_iter=n_iter)
    leading = leading_directions(moments_through(rows, sketch.through), center, sketch.off)
    assert sketch.through.T is not None
    basis = replace(sketch.through, T=sketch.through.T @ leading.B)
    return basis(rows), leading.spectrum


def _mixed(moments: Moments, B: Array) -> Moments:
    """Replace the references by combinations of them, of shape (k, r); covariates stay."""
    assert moments.y_mean is not None and moments.yy is not None
    M = scipy.linalg.block_diag(B, np.eye(moments.n_covariates))
    names = moments.target_names
    if names is not None:
        names = (*names[: B.shape[1]], *names[moments.n_references :])
    return replace(
        moments,
        y_mean=moments.y_mean @ M,
        yy=M.T @ moments.yy @ M,
        yx=M.T @ (moments.yx.toarray() if sp.issparse(moments.yx) else moments.yx),
        y_peak=None,
        y_min=None,
        y_max=None,
        target_names=names,
        y_roundoff=float(np.finfo(np.float64).eps),
    )


def _outputs(moments: Moments, center: bool) -> LinearGram:
    """Return products of outputs that stand where candidates stand, given the covariates."""
    return gram_of(moments, center, whole_reference=False, rare_references=True)


def _is_far(moments: Moments) -> bool:
    """Tell whether any mean is large against the spread, so that sums about zero lose digits."""
    spread = np.sqrt(moments.xx_diag / moments.sum_weights)
    return bool((np.abs(moments.x_mean) > LARGE_MEAN * spread)[spread > 0].any())


def _refuse_other_rows(now: Moments, first: Moments) -> None:
    """Refuse rows that are not those of the pass before."""
    same = np.isclose(now.sum_weights, first.sum_weights, rtol=1e-9)
    if now.n_samples != first.n_samples or not same:
        raise ValueError(
            f"The rows changed between two passes: {first.n_samples:,} before, now "
            f"{now.n_samples:,}. Run again once nothing writes to them."
        )
