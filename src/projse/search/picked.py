"""What a fit keeps of its picks, for questions that are asked of it afterwards.

Products of the picks with each other and with the outputs tell what each pick adds; rows of
``K_XX`` tell what could stand in for it. Both are taken where the search has made them anyway, or
where they cost next to nothing; else they are not there, and no fit is slower for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from projse.kernels.combined_references import combined_references
from projse.kernels.feature_gram import FeatureGram
from projse.kernels.kept_rows import KeptRows
from projse.kernels.linear_gram import LinearGram, gram_of
from projse.kernels.routes import KernelSpec, Route, from_moments
from projse.kernels.subspaces import WhitenedGram
from projse.moments.in_memory import moments_of
from projse.moments.own_products import products_among
from projse.moments.sums import Moments
from projse.moments.views import restricted
from projse.search.rounds import Plan, Selection
from projse.search.stand_ins import nearest, partial_correlations
from projse.sources.variables import Variables

Array = NDArray[Any]
Part = tuple[Array, Array | None]
"""Columns of a variable, and the combinations of them that make up its space; None: all."""

CHEAP = 1 << 23
"""Multiplications that no fit is noticeably slower for: a millisecond or two."""

LOOK = 64
"""What it costs to look at a value of a row, in multiplications."""

NEIGHBOURS = 10
"""Stand-ins a pick that are known where the moments of all candidates are not kept."""


@dataclass(frozen=True)
class PickProducts:
    """Inner products of the picks, and with the outputs, given the covariates."""

    xx: Array
    xy: Array
    y_squares: Array
    eps: float


@dataclass(frozen=True)
class Picked:
    """What is kept of a selection.

    Attributes
    ----------
    spec, plan
        Of the selection.
    indices : ndarray of int of shape (k,)
        Columns of the picks, pick by pick.
    pick_of : ndarray of int of shape (k,)
        Which pick each of them belongs to.
    products : PickProducts or None
    has_products : bool
        Whether the moments that the fit hands on serve rows of ``K_XX``.
    variables : Variables or None
        Of the columns, where candidates are variables of several; None: each is one.
    bases : mapping of int to ndarray
        Combinations of those columns that count, of some variables.
    n_sketched : int
        Outputs of which only the leading directions are known; 0 where all is known of them.
    x_rows : ndarray of shape (k, n) or None
        Rows of ``K_XX`` of the picks, where the moments do not have them.
    columns : ndarray of int of shape (n,) or None
        The candidates that ``x_rows`` and ``moments`` are of; None: all.
    moments : Moments or None
        What the kernel matrices are made of; None: the moments that the fit hands on.
    output_names : tuple of str or None
        Of the outputs, where they have names.
    one_view : bool
        Whether the outputs are the candidates.
    """

    spec: KernelSpec
    plan: Plan
    indices: Array
    pick_of: Array
    products: PickProducts | None
    has_products: bool
    variables: Variables | None
    bases: Mapping[int, Array]
    n_sketched: int
    x_rows: Array | None = None
    columns: Array | None = None
    moments: Moments | None = None
    output_names: tuple[str, ...] | None = None
    one_view: bool = False

    @property
    def grouped(self) -> bool:
        """Whether candidates are variables of several columns."""
        return self.variables is not None

    @property
    def knows_neighbours(self) -> bool:
        """Whether the candidates around the picks are known."""
        return self.x_rows is not None or self.has_products

    def gram(self, handed_on: Moments | None) -> FeatureGram:
        """Make the kernel matrices again, with the rows of ``K_XX`` of the picks."""
        moments = handed_on if self.moments is None else self.moments
        assert moments is not None
        if self.variables is not None:
            gram = from_moments(combined_references(moments), self.spec, whole_reference=True)
            return WhitenedGram(gram, self.variables, self.bases, one_view=self.plan.one_view)
        if self.plan.spectrum is not None and moments.yy is None:
            moments = replace(moments, yy=np.eye(len(self.plan.spectrum)))
        gram = from_moments(moments, self.spec, whole_reference=self.plan.needs_factor)
        return gram if self.x_rows is None else KeptRows(gram, self.places, self.x_rows)

    @property
    def places(self) -> Array:
        """Where the picks are among the columns that are kept."""
        if self.columns is None:
            return self.indices
        return np.searchsorted(self.columns, self.indices)


def gather(
    route: Route,
    selection: Selection,
    plan: Plan,
    spec: KernelSpec,
    variables: Variables | None = None,
    bases: Mapping[int, Array] | None = None,
) -> Picked:
    """Keep what may be asked for later of a selection that was made along a route.

    ``variables`` and ``bases`` are those of a search of variables of several columns.
    """
    n_picks = len(selection.indices)
    indices = np.array(selection.indices, dtype=np.intp)
    pick_of = np.arange(n_picks)
    bases = {} if bases is None else bases
    parts = None
    if variables is not None:
        parts = [(variables.columns_of(v), bases.get(v)) for v in selection.indices]
        indices = np.concatenate([np.empty(0, dtype=np.intp), *(columns for columns, _ in parts)])
        pick_of = np.repeat(pick_of, [_width(part) for part in parts])
    products = _products(route, selection, indices, spec)
    if products is not None and parts is not None:
        products = _combined(products, parts)
    behind = route.behind
    handed_on = route.moments is behind
    has_products = behind is not None and handed_on and behind.xx is not None
    picked = Picked(
        spec=spec,
        plan=plan,
        indices=indices,
        pick_of=pick_of,
        products=products,
        has_products=has_products,
        variables=variables,
        bases=bases,
        n_sketched=route.n_sketched,
    )
    # Neighbours of variables of several columns would be found among all products only.
    if behind is None or not n_picks or has_products or picked.grouped:
        return picked
    x_rows = _rows(route, selection, indices)
    if x_rows is None:
        return picked
    if handed_on:
        return replace(picked, x_rows=x_rows)
    columns = np.arange(behind.n_x)
    if spec.is_linear and not behind.one_view:  # else what is left out would be missed
        closeness = partial_correlations(x_rows, indices, behind.eps ** (2 / 3))
        around = nearest(closeness, may_stand_in(route.gram, plan, indices), NEIGHBOURS)
        columns = np.union1d(indices, around[around >= 0])
    few = restricted(behind, columns)
    if not (behind.one_view and plan.needs_factor):  # of all products there
        few = replace(few, xx=None)
    if route.spectrum is not None and spec.center and not behind.n_covariates:
        few = replace(few, yy=None)  # that of an orthonormal basis, which moments have centred
    return replace(picked, x_rows=x_rows[:, columns].copy(), columns=columns, moments=few)


def _width(part: Part) -> int:
    columns, basis = part
    return len(columns) if basis is None else int(basis.shape[1])


def _combined(products: PickProducts, parts: list[Part]) -> PickProducts:
    """Go from the columns of each pick to what makes up its space."""
    blocks = [np.eye(len(columns)) if basis is None else basis for columns, basis in parts]
    T = block_diag(*blocks) if blocks else np.empty((0, 0))
    return replace(products, xx=T.T @ products.xx @ T, xy=T.T @ products.xy)


def among_picks(own: Array, pick_of: Array) -> Array:
    """Correlate picks: of several columns by the first canonical correlation, which has no sign.

    Parameters
    ----------
    own : ndarray of shape (k, k)
        Products of their columns with each other.
    pick_of : ndarray of int of shape (k,)
        Which pick each column belongs to.
    """
    n = int(pick_of.max(initial=-1)) + 1
    whitened, starts = [], [0]
    for i in range(n):
        here = np.flatnonzero(pick_of == i)
        norms = np.sqrt(np.diag(own)[here])
        live = here[norms > 0]
        norms = norms[norms > 0]
        values, vectors = np.linalg.eigh(own[np.ix_(live, live)] / np.outer(norms, norms))
        known = values > len(live) * 1e-10
        W = np.zeros((len(own), int(known.sum())))
        W[live] = vectors[:, known] / np.sqrt(values[known]) / norms[:, None]
        if len(here) == 1 and live.size:
            W[live] = np.abs(W[live])  # a single column keeps its sign
        whitened.append(W)
        starts.append(starts[-1] + W.shape[1])
    T = np.hstack(whitened) if n else np.empty((len(own), 0))
    R = T.T @ own @ T
    correlations = np.eye(n)
    for i in range(n):
        for j in range(i):
            block = R[starts[i] : starts[i + 1], starts[j] : starts[j + 1]]
            value = block[0, 0] if block.shape == (1, 1) else np.linalg.norm(block, 2)
            correlations[i, j] = correlations[j, i] = value if block.size else np.nan
    return correlations


def may_stand_in(gram: FeatureGram, plan: Plan, picks: Array) -> NDArray[np.bool_]:
    """Tell which candidates might be picked instead: those left out, but for excluded ones."""
    allowed = gram.alive.copy()
    allowed[plan.exclude] = False
    allowed[picks] = False
    return allowed


def _rows(route: Route, selection: Selection, indices: Array) -> Array | None:
    """Return whole rows of ``K_XX`` of the picks, where they can be had for little."""
    known = selection.x_rows
    missing = np.array([j for j in indices.tolist() if j not in known], dtype=np.intp)
    made = dict(known)
    if missing.size:
        assert route.behind is not None
        at_hand = route.behind.xx is not None
        if not at_hand and not _is_cheap(route, (missing.size + LOOK) * route.gram.n_x):
            return None
        made.update(zip(missing.tolist(), route.gram.x_rows(missing), strict=True))
    return np.array([made[j] for j in indices.tolist()]).reshape(len(indices), route.gram.n_x)


def _products(
    route: Route, selection: Selection, indices: Array, spec: KernelSpec
) -> PickProducts | None:
    """Return linear products of picks and outputs; None where they cost too much."""
    linear, behind, k = route.gram.linear, route.behind, len(indices)
    if linear is None or behind is None:
        return _products_of_rows(route, indices, spec)
    own = _own(route, selection, indices, spec)
    if own is None:
        return None
    if linear.n_y == 0 and behind.one_view:
        across = _across(route, selection, indices, spec, linear)
        return None if across is None else PickProducts(own, across, linear.xx_diag, linear.eps)
    with_y = linear.block(indices).T if k else np.empty((0, linear.n_y))
    if route.loadings is not None:
        live: Array = np.where(route.loadings.any(axis=1), 1.0, 0.0)
        return PickProducts(own, with_y @ route.loadings.T, live, linear.eps)
    squares = linear.xx_diag if behind.one_view else linear.yy.diagonal()
    return PickProducts(own, with_y, squares, linear.eps)


def _own(route: Route, selection: Selection, indices: Array, spec: KernelSpec) -> Array | None:
    """Return the products of the picks with each other; None where they would cost a pass."""
    linear, behind, k = route.gram.linear, route.behind, len(indices)
    assert linear is not None and behind is not None
    if behind.xx is not None:
        assert linear.x_rows is not None
        return linear.x_rows(indices, indices)
    norms = np.sqrt(linear.xx_diag[indices])
    if spec.is_linear or k < 2:
        cosines = np.eye(k)
        known = [i for i, j in enumerate(indices.tolist()) if j in selection.x_rows]
        for i in known:
            cosines[i] = cosines[:, i] = selection.x_rows[int(indices[i])][indices]
        if len(known) >= k - 1:
            return cosines * np.outer(norms, norms)
    made_more = bool(selection.x_rows)
    width = linear.n_x if behind.n_covariates else k  # they are taken out of whole rows
    if route.rows is None or not (made_more or _is_cheap(route, k * (width + LOOK))):
        return None
    if behind.n_covariates:
        assert linear.x_rows is not None
        return linear.x_rows(indices, indices)
    own = products_among(route.rows, behind, indices)
    if not spec.center:
        mean = behind.x_mean[indices]
        own += behind.sum_weights * np.outer(mean, mean)
    return own


def _across(
    route: Route, selection: Selection, indices: Array, spec: KernelSpec, linear: LinearGram
) -> Array | None:
    """Return the products of the picks with all candidates, which are the outputs of one view."""
    rows = _rows(route, selection, indices) if spec.is_linear else None
    if rows is not None:
        norms = np.sqrt(linear.xx_diag)
        return rows * np.outer(norms[indices], norms)
    if linear.x_rows is None or not _is_cheap(route, (len(indices) + LOOK) * linear.n_x):
        return None
    return linear.x_rows(indices, None)


def _products_of_rows(route: Route, indices: Array, spec: KernelSpec) -> PickProducts | None:
    """Sum the products of the picks over rows in memory: a callable kernel needs none."""
    rows = route.rows
    if rows is None or not len(indices) or (rows.one_view and rows.n_covariates):
        return None
    k, outputs = len(indices), rows.X if rows.Y is None else rows.Y
    if not _is_cheap(route, k * (k + outputs.shape[1]) + outputs.shape[1] ** 2):
        return None
    some = replace(rows, X=rows.X[:, indices], Y=outputs, feature_names=None, target_names=None)
    gram = gram_of(moments_of(some, with_xx=True), spec.center)
    every = np.arange(k)
    assert gram.x_rows is not None
    own = gram.x_rows(every, every)
    return PickProducts(own, gram.block(every).T, np.diag(gram.yy), gram.eps)


def _is_cheap(route: Route, n_multiplications: int) -> bool:
    """Tell whether this many multiplications a row in memory are little against the pass."""
    if route.rows is None:
        return False
    whole_pass = route.gram.n_x * (route.gram.n_y + LOOK)
    few = n_multiplications * route.rows.n_samples <= CHEAP
    return few or n_multiplications <= whole_pass // 32
