"""Which products of the candidates with each other a selection needs, and when they are summed.

The one place that decides it, for rows in memory, files, streams, clusters, and moments that rows
will be added to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from projse.exceptions import ProductsMissingError
from projse.kernels.routes import KernelSpec
from projse.moments.own_products import ONCE
from projse.moments.partial import partialled
from projse.moments.sums import AUTO_XX_COLUMNS, Moments
from projse.search.rounds import Plan
from projse.search.shortlist import SHORTLIST, shortlist_size
from projse.sources.rows import Rows

KEPT_COLUMNS = 8192
"""Up to this many candidates (512 MiB) all their products with each other are kept."""

CHEAP_PRODUCTS = 1 << 28
"""Of rows in memory, products that may be needed are summed where they take at most this many
multiplications, so that more rows can be added to the moments later."""


@dataclass(frozen=True)
class ProductsNeeded:
    """What a selection of this plan and kernel needs of the products of n_x candidates.

    ``grouped``: some variables are several columns, and need the products of these.
    """

    plan: Plan
    spec: KernelSpec
    n_x: int
    grouped: bool

    @property
    def all_needed(self) -> bool:
        """Whether the products of the picks with all candidates are not enough."""
        plan, spec = self.plan, self.spec
        by_mean_distance = spec.kernel == "rbf" and isinstance(spec.gamma, str)
        # One view whose directions are weighed or cut is factored whole.
        one_view = plan.one_view and (plan.needs_factor or by_mean_distance)
        return spec.center_kernel or one_view or self.grouped

    def n_rows(self, n_y: int | None) -> int:
        """Bound the number of candidates whose products with all others are needed.

        Parameters
        ----------
        n_y : int or None
            Number of directions of the references, at most. None where it is not known: then what
            is certain is counted.
        """
        plan = self.plan
        if self.all_needed:
            return self.n_x
        wanted = plan.n_features
        if wanted is None:
            wanted = self.n_x if n_y is None or plan.one_view else min(n_y, self.n_x)
        if plan.one_view or plan.include.size:
            return wanted
        per_round = wanted if n_y is None else min(wanted, n_y)
        if plan.round_size is not None:
            per_round = min(per_round, plan.round_size)
        continues = plan.exhausted == "residual" or plan.round_size is not None
        return wanted if continues and per_round < wanted else 0

    def are_summed(self, n_y: int | None, price: float, n_samples: int | None = None) -> bool:
        """Tell whether the first pass sums the products of all candidates with each other.

        All of them cost ``n_x / 2`` multiplications a value, in the same pass. Only those of the
        picks are needed, and further passes make them for a shortlist at a time: with k candidates
        a shortlist, each pass costs ``k + price`` multiplications a value. The cheaper way is
        taken; for more than ``KEPT_COLUMNS`` candidates always the further passes.

        Parameters
        ----------
        n_y : int or None
            As in :meth:`n_rows`.
        price : float
            Of another pass, as :mod:`projse.moments.own_products` has it; infinite where none can
            be made.
        n_samples : int or None
            Of rows in memory, which serve any products at any time; None for rows elsewhere.

        Raises
        ------
        ProductsMissingError
            Where all products are needed, or no other pass can be made, and there are too many
            candidates to keep them.
        """
        n = self.n_rows(n_y)
        if not n and self.plan.is_soft and n_samples is None and self.n_x <= KEPT_COLUMNS:
            n = 1  # nothing is conditioned on a single pick, but it must not rest on few rows
        if not n:
            return False
        if self.n_x > KEPT_COLUMNS:
            if n_samples is None and (self.all_needed or np.isinf(price)):
                raise ProductsMissingError(self._too_wide())
            return False
        if n_samples is not None and n_samples * self.n_x**2 <= CHEAP_PRODUCTS:
            return True
        if self.plan.significance is not None or (self.plan.n_features is None and n_y is None):
            n = min(n, SHORTLIST)  # it will stop somewhere
        size = shortlist_size(n, far=n_samples is None)
        return self.n_x / 2 <= -(-n // size) * (size + price)

    def are_summed_after(self, first: Moments, price: float) -> bool:
        """Tell the same once the moments of the first rows are known.

        More rows can only add directions to the references: where the first rows have enough of
        them for all picks, nothing is conditioned on.
        """
        n_y = reference_columns(first, self.spec.center)
        if self.n_x <= KEPT_COLUMNS:
            n_y = _directions(first, n_y)
        return self.are_summed(n_y, price)

    def are_kept(self, n_y: int | None) -> bool:
        """Tell whether moments that rows will be added to hold them.

        A few are kept in any case where references that depend on each other might call for them.
        """
        few = self.plan.exhausted == "residual" and self.n_x <= AUTO_XX_COLUMNS
        return self.are_summed(n_y, ONCE) or few

    def _too_wide(self) -> str:
        remedy = "fit rows in memory"
        if self.spec.center_kernel:
            remedy += ", or use center_kernel=False"
        elif self.grouped:
            remedy += ", or use no groups"
        elif self.plan.one_view:
            remedy += " with **projse.PAPER, which needs no factor of them"
        elif not self.all_needed:
            remedy = (
                "fit rows that can be read again (arrays, files, data frames, Dask, Spark), ask "
                "for fewer variables, or use exhausted='stop'"
            )
        return (
            f"This selection needs products of {self.n_x} candidates with each other, here all of "
            f"them: {8e-9 * self.n_x**2:.1f} GB. They are kept for up to {KEPT_COLUMNS} "
            f"candidates. Leave candidates out, {remedy}."
        )


def reference_columns(of: Rows | Moments, center: bool) -> int:
    """Bound the directions of the references by their number; 0 for one view.

    Centred indicators of all classes add up to zero, so that one of them follows from the others.
    """
    n_y = 0 if of.one_view else of.n_references
    return n_y - 1 if n_y and center and of.classes is not None else n_y


def _directions(first: Moments, n_y: int) -> int:
    """Count the directions of the references in the first rows; n_y where these are too few."""
    if first.yy is None:
        return n_y
    yy = partialled(replace(first, xx=None)).yy
    if yy is None:
        return n_y
    norms = np.sqrt(np.diag(yy))
    alive = norms > 0
    if not alive.any():
        return n_y
    scaled = yy[np.ix_(alive, alive)] / np.outer(norms[alive], norms[alive])
    # Those that no rounding can put in doubt.
    rank = int((np.linalg.eigvalsh(scaled) > 1e-4).sum())
    return n_y if rank >= first.n_samples - 1 - first.n_covariates else min(rank, n_y)
