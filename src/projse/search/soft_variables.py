"""Soft conditioning on variables of several columns.

As :mod:`projse.search.soft` for one column. The columns of a pick v have one λ: the pivot of the
partial Cholesky factorisation is the block ``K_vv|S + λI``, which is the same as taking its
orthonormal columns one after the other, each with that λ::

    K_ab|S = K_ab − K_aS (K_SS + Λ)⁻¹ K_Sb,    T = tr((K_vv|S)⁻¹ K_vY|S (K_YY|S + αI)⁻¹ K_Yv|S)

Directions of a variable that have all but vanished leave it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from projse.kernels.feature_gram import ENTRY_ROUNDING
from projse.search.adjusted import Chance, best_of
from projse.search.greedy import Pick
from projse.search.group_significance import GivenGroups

if TYPE_CHECKING:
    from projse.search.by_variables import VariableSearch

Array = NDArray[Any]


class SoftVariables:
    """Picks among variables, one by one, with soft conditioning on each.

    Parameters
    ----------
    search : VariableSearch
        Its coordinates are those given what came first.

    Notes
    -----
    A pick costs the products of its columns with all columns, ``2 r d n`` flops to condition the
    coordinates of n columns on d of them, and an eigendecomposition of the block of each variable;
    blocks of one size are handled together.
    """

    def __init__(self, search: VariableSearch) -> None:
        self._search, self._layout = search, search.layout
        space, gram = search.space, search.gram
        self._vanishing = gram.eps ** (2 / 3)
        # Totals are of squares, and so is their rounding: it does not get near this.
        self._clear = gram.eps ** (1 / 3)
        self.eligible = search.eligible & (self._layout.sizes > 0)
        n_candidates = int(np.count_nonzero(self.eligible))
        self._ridge = space.plan.ridge(space.values, space.alpha, n_candidates)
        plan, conditioned = space.plan, space.conditioning.rank
        degrees, room = plan.degrees - conditioned, plan.room - conditioned
        self._given = GivenGroups(search.rank, degrees, self._vanishing, room)
        squares = space.conditioning.x_amplification(np.arange(gram.n_x)) ** 2
        if search.is_whitened:
            squares = search.layout.squares(squares)
        self._off = 64 * gram.eps * squares
        self.redundancy = 0.0
        self._R = search.R.copy()
        # The references as they are left, in coordinates where they began as I.
        self._metric = np.eye(search.rank)
        self._ridges_of_directions = 1 - 1 / space.unridged**2
        sizes = self._layout.sizes
        self._blocks = {
            int(d): _Blocks(np.flatnonzero(sizes == d), self._layout.starts, int(d))
            for d in np.unique(sizes[sizes > 0])
        }
        self._A = np.empty((0, self._R.shape[1]))
        self._rows = np.empty((0, self._R.shape[1]))
        self._taken = np.empty(0, dtype=np.intp)
        self._lambdas = np.empty(0)
        self._products = np.empty((0, self._R.shape[1]))

    @property
    def has_pvalues(self) -> bool:
        """Whether p-values have a meaning."""
        return not np.isnan(self._given.degrees)

    def best(self, first: int | None) -> Pick | None:
        """Return the best of the eligible, or ``first``; None where rounding explains them all."""
        root, totals, sizes, spectrum = self._totals()
        left = self.eligible & (sizes > 0)
        chance = Chance(spectrum, self._dimension(), int(left.sum()))
        scores = chance.scores(totals, sizes)
        usable = left & (totals > self._search.floor)
        order = self._search.space.plan.tie_order
        pick = best_of(scores, usable, order, first)
        if pick is None or totals[pick.index] > self._clear:
            return pick
        found = best_of(scores, usable & (totals > self._rounding(root)), order, first)
        return None if found is None else replace(found, n_candidates=pick.n_candidates)

    def _rounding(self, root: Array) -> Array:
        """Return totals that rounding alone can explain, as for single columns.

        Of what is left of a variable, its shortest direction tells how much they are enlarged.
        """
        search, space, layout = self._search, self._search.space, self._layout
        metric = root.T
        squares, of_unit = space.rounding(metric)
        own = space.conditioning.x_amplification(np.arange(len(squares))) ** 2
        if search.is_whitened:
            squares, own = layout.squares(squares), layout.squares(own)
        inverse = self._inverse(self._products[:, self._taken])
        W = np.square(inverse @ self._products)
        R = search.R
        V = inverse @ R[:, self._taken].T
        of_picks = own[self._taken]
        through = of_picks @ W
        of_references = float(of_picks @ np.square(V @ root).sum(axis=1))
        off = through * of_unit + (own + through) * of_references
        off = squares + (ENTRY_ROUNDING * search.gram.eps) ** 2 * off
        ridged = space.values + space.alpha
        longer = float(np.square(metric).sum(axis=0) @ (ridged.min(initial=np.inf) / ridged))
        initial = np.einsum("ij,ij->j", R, R)
        off += search.deflation.relative_floor * (initial + initial[self._taken] @ W) * longer
        sums = np.bincount(layout.variable, weights=off, minlength=layout.n_variables)
        totals = sums.astype(np.float64)
        for blocks in self._blocks.values():
            totals[blocks.variables] /= blocks.shortest(self._vanishing)
        return totals

    def is_on_few_rows(self, j: int) -> bool:
        """Tell whether one or two rows make up a variable, as far as that can be known."""
        if not self._search.gram.rare_references:
            return False
        few = self._search.gram.variables_on_few_rows(np.array([j]))
        return few is not None and bool(few[0])

    def row(self, j: int) -> Array:
        """Return the products of the columns of a variable with all, shape (d, n_columns)."""
        return self._search.rows(j)

    def copies(self, row: Array) -> NDArray[np.bool_]:
        """Return no variable: copies of several columns are not looked for."""
        return np.zeros_like(self.eligible)

    def pvalue(self, pick: Pick, row: Array | None, waiting: list[int]) -> float:
        """Return the p-value of a pick given those before it; each is asked for once."""
        if not self.has_pvalues:
            return float("nan")
        columns = self._layout.columns(pick.index)
        d = columns.stop - columns.start
        place = self._search.R[:, columns] * self._search.space.unridged[:, None]
        own = np.eye(d) if row is None else row[:, columns]
        products = self._rows[:, columns]
        chosen_from = self.eligible.copy()
        chosen_from[waiting] = True
        sizes = self._sizes_given_picks()[chosen_from]
        if row is not None:
            self._rows = np.vstack([self._rows, row])
        return self._given.add(own, products, place, sizes, self._off[columns])

    def _sizes_given_picks(self) -> Array:
        """Return the dimensions of all variables once the picks are taken out of them wholly.

        What the picks explain wholly may still be picked, and counts as one column does.
        """
        sizes = self._layout.sizes.copy()
        if len(self._rows):
            for d, blocks in self._blocks.items():
                if d > 1:
                    left = self._given.sizes(self._rows, blocks.columns, self._off)
                    sizes[blocks.variables] = np.maximum(left, 1)
        return sizes

    def late_pvalues(self) -> list[float] | None:
        """Return None: p-values are told one by one."""
        return None

    def take(self, j: int, row: Array | None) -> None:
        """Condition everything on a pick, given its products; the last does without."""
        columns = self._layout.columns(j)
        own = self._blocks[columns.stop - columns.start].of(j)
        place = self._R[:, columns]
        ridge = self._ridge.of_group(place, own, self._vanishing)
        if np.isinf(ridge):
            self.redundancy = 1.0
            return
        values, vectors = np.linalg.eigh(own)
        lengths = values[values > self._vanishing]
        self.redundancy = ridge / (float(lengths.mean()) + ridge) if len(lengths) else 0.0
        if row is None:
            return
        self._products = np.vstack([self._products, row])
        indices = np.arange(columns.start, columns.stop)
        self._taken = np.concatenate([self._taken, indices])
        self._lambdas = np.concatenate([self._lambdas, np.full(len(indices), ridge)])
        known = values + ridge > self._vanishing
        roots = vectors[:, known] / np.sqrt(values[known] + ridge)
        a = roots.T @ (row - self._A[:, columns].T @ self._A)
        b = roots.T @ place.T
        self._A = np.vstack([self._A, a])
        self._R -= b.T @ a
        self._metric -= b.T @ b
        for blocks in self._blocks.values():
            blocks.condition(a)

    def _dimension(self) -> float:
        """Dimension of the space, less what soft conditioning took: ``tr (K_SS + Λ)⁻¹ K_SS``."""
        if not len(self._taken):
            return self._search.dimension
        K = self._products[:, self._taken]
        return self._search.dimension - float(np.sum(self._inverse(K) * (K + K.T) / 2))

    def _inverse(self, K: Array) -> Array:
        """Return ``(K_SS + Λ)⁻¹`` of the columns taken."""
        if not len(K):  # of nothing SciPy before 1.14 makes an error
            return K
        K = (K + K.T) / 2 + np.diag(self._lambdas)
        inverse: Array = scipy.linalg.pinvh(K, check_finite=False)
        return inverse

    def _totals(self) -> tuple[Array, Array, Array, Array]:
        """Return a root of the metric, T and d of all variables, the spectrum of the references."""
        values, vectors = np.linalg.eigh(self._metric)
        known = values > self._vanishing
        root = vectors[:, known] / np.sqrt(values[known])
        ridges = root.T @ (self._ridges_of_directions[:, None] * root)
        spectrum = np.clip(1 - np.linalg.eigvalsh(ridges), 0.0, 1.0)
        G = root.T @ self._R
        totals = np.zeros(self._layout.n_variables)
        sizes = np.zeros(self._layout.n_variables, dtype=np.intp)
        for blocks in self._blocks.values():
            found = blocks.totals(G, self._vanishing)
            totals[blocks.variables], sizes[blocks.variables] = found
        return root, totals, sizes, spectrum


class _Blocks:
    """Products within each variable, of those that have d columns: what is left of them."""

    def __init__(self, variables: Array, starts: Array, d: int) -> None:
        self.variables = variables
        self.columns = starts[variables][:, None] + np.arange(d)
        self._blocks = np.broadcast_to(np.eye(d), (len(variables), d, d)).copy()

    def of(self, variable: int) -> Array:
        """Return the block of a variable."""
        block: Array = self._blocks[int(np.searchsorted(self.variables, variable))]
        return block

    def condition(self, a: Array) -> None:
        """Take out the part along new rows of the factor, shape (k, n_columns)."""
        part = a[:, self.columns].transpose(1, 2, 0)
        self._blocks -= part @ part.transpose(0, 2, 1)

    def shortest(self, vanishing: float) -> Array:
        """Return the squared length of the shortest direction of each variable that is left."""
        values = np.linalg.eigvalsh(self._blocks)
        return np.where(values > vanishing, values, np.inf).min(axis=1)

    def totals(self, G: Array, vanishing: float) -> tuple[Array, Array]:
        """Return ``tr(block⁻¹ G_vᵀG_v)`` of each variable, and its number of directions."""
        values, vectors = np.linalg.eigh(self._blocks)
        squares = ((G[:, self.columns].transpose(1, 0, 2) @ vectors) ** 2).sum(axis=1)
        known = values > vanishing
        shares = np.divide(squares, values, out=np.zeros_like(squares), where=known)
        return shares.sum(axis=1), known.sum(axis=1)
