"""From rows to kernel matrices, by the cheapest route that loses nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.kernels.callable_gram import CallableGram
from projse.kernels.centred_gram import CentredGram
from projse.kernels.elementwise_gram import ElementwiseGram
from projse.kernels.feature_gram import FeatureGram
from projse.kernels.kernel_functions import Kernel
from projse.kernels.linear_gram import LinearGram, gram_of
from projse.kernels.range_finder import find_range, leading_directions
from projse.kernels.reference import gram_loses_directions, orthonormal, orthonormal_reference
from projse.moments.accumulate import Progress
from projse.moments.in_memory import moments_of
from projse.moments.leverage import (
    on_few_rows,
    references_on_few_rows,
    squares_bound_extremes,
)
from projse.moments.own_products import Cross
from projse.moments.partial import vanishing_share
from projse.moments.sums import Moments
from projse.moments.through import moments_through, pass_over
from projse.sources.rows import (
    Rows,
    VanishingSquaresError,
    refuse_non_finite,
    refuse_overflow,
    refuse_vanishing,
    vanishing,
    without_vanishing,
)

Array = NDArray[Any]

FACTORED_COLUMNS = 8192
"""With one view, a reference space of up to this many dimensions is factored: 512 MiB, and the
cube of it in flops."""


@dataclass(frozen=True)
class KernelSpec:
    """What the kernel sees of the variables, and the kernel."""

    kernel: str | Callable[[Array, Array], Any] = "linear"
    degree: int = 3
    coef0: float = 0.0
    gamma: float | str = "mean_distance"
    center: bool = True
    scale: bool = True
    center_kernel: bool = False

    @property
    def is_linear(self) -> bool:
        """Whether scores are plain squared correlations with the reference space."""
        return self.kernel == "linear" and not self.center_kernel


@dataclass
class Route:
    """Kernel matrices, and the moments that stand for the rows.

    Attributes
    ----------
    gram : FeatureGram
    moments : Moments or None
        Of the rows, to be handed on.
    behind : Moments or None
        What the kernel matrices were made of: the same, but for columns that were rescaled, and
        for an orthonormal basis in the place of the references.
    rows : Rows or None
        What those were summed from.
    spectrum : ndarray of shape (r,) or None
        Singular values of the references, where an orthonormal basis took their place.
    loadings : ndarray of shape (n_y, r) or None
        References of unit norm in terms of that basis.
    n_sketched : int
        Outputs of which only the leading directions are known; 0 where all is known of them.
    """

    gram: FeatureGram
    moments: Moments | None
    behind: Moments | None = None
    rows: Rows | None = None
    spectrum: Array | None = None
    loadings: Array | None = None
    n_sketched: int = 0


def from_moments(
    moments: Moments,
    spec: KernelSpec,
    *,
    rows: Rows | None = None,
    cross: Cross | None = None,
    whole_reference: bool = True,
    rare_references: bool | None = None,
) -> FeatureGram:
    """Apply an elementwise kernel to the Gram matrices of moments, as :func:`gram_of` has them."""
    if callable(spec.kernel):
        raise ValueError(
            "A callable kernel needs the rows, which moments do not keep; call fit(X, y) instead."
        )
    gram = gram_of(
        moments,
        spec.center,
        rows,
        cross=cross,
        whole_reference=whole_reference,
        rare_references=rare_references,
    )
    return from_gram(gram, spec)


def from_gram(gram: LinearGram, spec: KernelSpec) -> FeatureGram:
    """Apply an elementwise kernel to linear Gram matrices."""
    assert isinstance(spec.kernel, str)
    kernel = Kernel(spec.kernel, spec.degree, spec.coef0)
    feature_gram = ElementwiseGram(gram, kernel, spec.scale).with_gamma(spec.gamma)
    return CentredGram(feature_gram) if spec.center_kernel else feature_gram


def from_rows(rows: Rows, spec: KernelSpec, **options: Any) -> Route:
    """Choose a route for rows in memory, as :func:`_route` has it.

    Columns whose squares vanish are multiplied by powers of two, which is exact and which a scaled
    or linear kernel does not see. The moments of such columns are not handed on: they would not
    add up with others.
    """
    try:
        return _route(rows, spec, **options)
    except VanishingSquaresError:
        if not (spec.scale or spec.is_linear):
            raise
    return replace(_route(without_vanishing(rows), spec, **options), moments=None)


def _route(
    rows: Rows,
    spec: KernelSpec,
    *,
    whole_reference: bool = False,
    solver: str = "auto",
    with_xx: bool = False,
    n_directions: int | None = None,
    n_iter: int = 0,
    n_jobs: int | None = None,
    batch_size: int | None = None,
    progress: Progress | None = None,
) -> Route:
    """Choose a route for rows in memory.

    Parameters
    ----------
    whole_reference : bool
        With one view, make the whole Gram matrix of the references too: it will be factored.
    with_xx : bool
        Sum all of ``G_XX`` in the same pass; else its rows are made as they are asked for.
    n_directions, n_iter : int or None, int
        Go by so many directions of the references, found by a range finder; None: by all of them.
    """
    m, p = rows.X.shape
    one_view = rows.one_view
    whole_reference = whole_reference and one_view
    if callable(spec.kernel):
        if whole_reference:
            _refuse_wide_reference(p)
        return Route(_callable_gram(rows, spec, whole_reference), None, rows=rows)
    options: Any = {"n_jobs": n_jobs, "batch_size": batch_size, "progress": progress}

    if n_directions is not None:
        return _sketched(rows, spec, n_directions, n_iter, with_xx, options)
    can_qr = spec.is_linear and not rows.n_covariates and (not one_view or whole_reference)
    n_references = p if one_view else rows.Y.shape[1]
    dense_reference = not rows.is_sparse if one_view else isinstance(rows.Y, np.ndarray)
    fat = dense_reference and m < n_references
    if solver == "qr" and not can_qr:
        raise ValueError(
            "solver='qr' needs the linear kernel, no center_kernel, no covariates, and references; "
            "use solver='auto'."
        )
    by_qr = can_qr and (solver == "qr" or (solver == "auto" and fat))
    if whole_reference:
        _refuse_wide_reference(min(m, p) if by_qr else p)
    if by_qr:
        basis, spectrum, loadings = orthonormal_reference(rows, center=spec.center)
        rare = references_on_few_rows(rows, spec.center)
        moments = moments_of(basis, **options)
        gram = from_moments(moments, spec, rows=basis, rare_references=rare)
        return Route(gram, None, moments, basis, spectrum, loadings)

    products = with_xx or whole_reference
    by_squares = squares_bound_extremes(rows)
    moments = moments_of(rows, with_xx=products, by_squares=by_squares, **options)
    gram = from_moments(
        moments,
        spec,
        rows=None if moments.xx is not None else rows,
        whole_reference=whole_reference,
    )
    if (
        solver == "auto"
        and can_qr
        and dense_reference
        and gram_loses_directions(rows, moments, gram, spec.center)
    ):
        basis, spectrum, loadings = orthonormal_reference(rows, center=spec.center)
        through_basis = moments_of(basis, **options)
        gram = from_moments(through_basis, spec, rows=basis, rare_references=gram.rare_references)
        return Route(gram, moments, through_basis, basis, spectrum, loadings)
    return Route(gram, moments, moments, rows)


def _sketched(
    rows: Rows, spec: KernelSpec, size: int, n_iter: int, with_xx: bool, options: dict[str, Any]
) -> Route:
    """Go by the leading directions of many references, whose Gram matrix is never formed."""
    progress = options.pop("progress")
    sketch = find_range(pass_over(rows, **options), size, center=spec.center, n_iter=n_iter)
    summed = moments_through(rows, sketch.through, with_xx=with_xx, progress=progress, **options)
    leading = leading_directions(summed, spec.center, sketch.off)
    beside = replace(rows, Y=None, classes=None, target_names=None, n_covariates=0)
    gram = from_moments(
        leading.moments,
        spec,
        rows=None if with_xx else beside,
        rare_references=sketch.rare,
    )
    return Route(
        gram,
        None,
        leading.moments,
        beside,
        leading.spectrum,
        n_sketched=sketch.n_outputs,
    )


def _refuse_wide_reference(n: int) -> None:
    if n > FACTORED_COLUMNS:
        raise ValueError(
            f"With one view (y=None), alpha, redundancy, rank and tol need a factor of the "
            f"references, which are the candidates: {n} dimensions, {8e-9 * n**2:.1f} GB; it is "
            f"made for up to {FACTORED_COLUMNS}. Use **projse.PAPER, which needs none (pivoted "
            "Cholesky), or leave candidates out."
        )


def _callable_gram(rows: Rows, spec: KernelSpec, whole_reference: bool) -> FeatureGram:
    """Evaluate a user's kernel on the columns as ``center`` and ``scale`` leave them."""
    assert callable(spec.kernel)
    if rows.is_sparse:
        raise ValueError(
            "A callable kernel needs dense columns, but X is sparse; pass X.toarray(), or use one "
            "of the built-in kernels."
        )
    rows = rows.counted()
    Q = None
    if rows.covariates is not None:
        names = (rows.target_names or ())[rows.n_references :] or None
        plain = replace(spec, scale=True)
        Q = orthonormal(_columns(rows.covariates, rows.weight, plain, "covariates", names))
    X = _columns(rows.X, rows.weight, spec, "X", rows.feature_names, Q)
    Y = X if whole_reference and rows.one_view else None
    if not rows.one_view:
        Y = rows.references
        Y = Y if isinstance(Y, np.ndarray) else Y.toarray()
        Y = _columns(Y, rows.weight, spec, "y", rows.target_names, Q)
    few_rows = None
    if references_on_few_rows(rows, spec.center):
        few_rows = partial(on_few_rows, rows, center=spec.center)
    gram = CallableGram(spec.kernel, X, Y, few_rows, 0 if Q is None else Q.shape[1])
    return CentredGram(gram) if spec.center_kernel else gram


def _columns(
    A: Array,
    weight: Array | None,
    spec: KernelSpec,
    label: str,
    names: tuple[str, ...] | None,
    Q: Array | None = None,
) -> Array:
    """Return columns as a user's kernel sees them; what lies in the columns of Q is taken out."""
    columns = np.array(A, dtype=np.float64)
    if not np.isfinite(columns).all():
        refuse_non_finite(A, label, names)
    size = np.abs(columns).max(axis=0, initial=0.0)
    if spec.center:
        # A second subtraction takes out what rounding of a large mean left.
        for _ in range(2):
            columns -= np.average(columns, axis=0, weights=weight)
    if weight is not None:
        columns *= np.sqrt(weight)[:, None]
    with np.errstate(over="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    refuse_overflow(norms, label, names)
    rounding = 4 * np.finfo(np.float64).eps * size * np.sqrt(len(columns))
    constant = norms <= (rounding if spec.center else 0.0)
    refuse_vanishing(vanishing(A, norms**2, spec.center), label, names)
    if Q is not None:
        before = norms
        for _ in range(2):  # twice is enough (Kahan, Parlett)
            columns -= Q @ (Q.T @ columns)
        norms = np.sqrt(np.einsum("ij,ij->j", columns, columns))
        constant |= norms <= np.sqrt(vanishing_share(np.finfo(np.float64).eps)) * before
    columns[:, constant] = 0.0
    if spec.scale:
        columns /= np.where(constant, 1.0, norms)
    return columns
