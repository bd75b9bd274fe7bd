"""A task: what was asked of a selection, resolved against the columns that it is asked of.

Estimators turn their parameters into a task; the task takes rows or moments to picks. Fits,
resamples, folds and permutations share it. It also owns the question whether a selection needs
the products of the candidates with each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.exceptions import ProductsMissingError
from projse.kernels.feature_gram import FeatureGram
from projse.kernels.routes import KernelSpec, Route, from_moments, from_rows
from projse.moments.accumulate import Progress
from projse.moments.sums import AUTO_XX_COLUMNS, Moments
from projse.parameters import column_indices, is_whole, plain_rank
from projse.search.auto import ALPHA, LARGEST_IN_ONE_VIEW
from projse.search.doubts import doubts
from projse.search.rounds import Plan, Selection, select
from projse.search.significance import are_no_counts, degrees_of_freedom, rows_that_count
from projse.sources.rows import Rows

Array = NDArray[Any]

KEPT_COLUMNS = 8192
"""Up to this many candidates (512 MiB) a fit sums their products with each other by itself."""


@dataclass(frozen=True)
class Outcome:
    """Picks, the plan that led to them, the moments that they come from, and doubts about them."""

    selection: Selection
    plan: Plan
    moments: Moments | None
    doubts: tuple[str, ...] = ()

    @property
    def lacks_products(self) -> bool:
        """Whether picks are missing only for want of the products of the candidates."""
        return self.selection.stopped == "no products"


@dataclass(frozen=True)
class Task:
    """A kernel, a plan and a route, for a certain set of candidates.

    Attributes
    ----------
    spec : KernelSpec
    plan : Plan
        Without what only the rows tell: see :meth:`complete`.
    n_x : int
        Number of candidates.
    solver : {"auto", "gram", "qr"}
    n_jobs, batch_size : int or None
        Of a pass over rows in memory.
    """

    spec: KernelSpec
    plan: Plan
    n_x: int
    solver: str = "auto"
    n_jobs: int | None = None
    batch_size: int | None = None

    @classmethod
    def of(
        cls, parameters: Any, n_x: int, names: tuple[str, ...] | None, one_view: bool = False
    ) -> Task:
        """Resolve the parameters of a ``ProjSe`` against n_x candidates."""
        p = parameters
        spec = KernelSpec(p.kernel, p.degree, p.coef0, p.gamma, p.center, p.scale, p.center_kernel)
        include = column_indices("include", p.include, n_x, names)
        exclude = column_indices("exclude", p.exclude, n_x, names)
        both = np.intersect1d(include, exclude)
        if both.size:
            j = int(both[0])
            label = f"column {j}" if names is None else f"column {names[j]!r}"
            raise ValueError(
                f"include and exclude overlap: {label} is in both; take it out of one of them."
            )
        # To start again in the same space, nothing is conditioned on.
        conditions = p.exhausted != "restart"
        round_size = p.round_size
        if round_size == "auto":
            round_size = 1 if conditions else None
        redundancy = p.redundancy
        if redundancy == "auto":
            redundancy = None if conditions and round_size == 1 else 0.0
        plan = Plan(
            n_features=_number(p.n_features_to_select, n_x, include.size, exclude.size),
            exhausted=p.exhausted,
            round_size=round_size,
            redundancy=redundancy,
            include=include,
            exclude=exclude,
            alpha=ALPHA if p.alpha == "auto" else p.alpha,
            rank=plain_rank(p.rank),
            tol=p.tol,
            one_view=one_view,
            first=getattr(p, "_first", None),
            significance=p.significance if p.n_features_to_select == "auto" else None,
        )
        return cls(spec, plan, n_x, p.solver, p.n_jobs, p.batch_size)

    def n_conditioned(self, n_y: int) -> int:
        """Bound the number of candidates that are conditioned on, for n_y directions of Y."""
        plan = self.plan
        if self.spec.center_kernel:
            return self.n_x
        if plan.one_view:
            n_y = self.n_x
        wanted = min(n_y, self.n_x) if plan.n_features is None else plan.n_features
        per_round = min(wanted, n_y)
        if plan.round_size is not None:
            per_round = min(per_round, plan.round_size)
        continues = plan.exhausted == "residual" or plan.round_size is not None
        return wanted if plan.include.size or (continues and per_round < wanted) else 0

    def needs_products(self, n_y: int | None) -> bool:
        """Tell whether it is certain that a pass must sum the products of the candidates.

        Parameters
        ----------
        n_y : int or None
            Number of directions of the references, at most; None where that is not known.

        Returns
        -------
        bool
            References that depend on each other may be used up sooner than their number says: the
            outcome of a selection that finds out ``lacks_products``.

        Raises
        ------
        ProductsMissingError
            Where there are too many candidates to keep their products.
        """
        if self.plan.one_view or self.spec.center_kernel or self.plan.include.size:
            needed = True
        elif n_y is None:
            needed = self.plan.round_size is not None
        else:
            needed = self.n_conditioned(n_y) > 0
        if needed and self.n_x > KEPT_COLUMNS:
            # Without a factor, one view needs rows of the products only, and makes them from rows.
            remedy = " with **projse.PAPER"
            if not self.plan.one_view:
                remedy = ", or use **projse.PAPER with exhausted='stop'"
            raise ProductsMissingError(
                f"This selection needs the products of {self.n_x} candidates with each other, "
                f"{8e-9 * self.n_x**2:.1f} GB; they are kept for up to {KEPT_COLUMNS} candidates. "
                f"Leave candidates out, or fit rows in memory{remedy}."
            )
        return needed

    def keeps_products(self, n_y: int | None) -> bool:
        """Tell whether a pass that cannot be made again sums the products.

        A few are kept in any case where references that depend on each other might call for them.
        """
        few = self.plan.exhausted == "residual" and self.n_x <= AUTO_XX_COLUMNS
        return self.needs_products(n_y) or few

    def complete(self, sum_weights: float, n_rows: int, spectrum: Array | None) -> Plan:
        """Add to the plan what is only known once the rows were seen."""
        plan = self.plan
        if plan.one_view and plan.significance is not None:
            raise ValueError(
                "n_features_to_select='auto' goes by p-values, which one view (y=None) does not "
                "have; use a number."
            )
        plan = replace(plan, n_rows=float(rows_that_count(sum_weights, n_rows)))
        if plan.one_view:
            plan = replace(plan, largest_ridge=LARGEST_IN_ONE_VIEW)
        degrees = float("nan")
        if self.spec.is_linear and not plan.one_view:
            degrees = degrees_of_freedom(sum_weights, n_rows, self.spec.center)
        if plan.significance is not None and are_no_counts(sum_weights, n_rows):
            raise ValueError(
                f"sample_weight sums to {sum_weights:.3g} over {n_rows} rows, but the p-values "
                "that n_features_to_select='auto' goes by take weights as counts of rows; multiply "
                f"them by {n_rows / sum_weights:.3g}, or use a number."
            )
        if spectrum is not None:
            # A basis stands for the references, which are no longer the candidates themselves.
            plan = replace(plan, one_view=False)
        return replace(plan, degrees=degrees, spectrum=spectrum)

    def route(
        self, rows: Rows, *, n_covariates: int = 0, progress: Progress | None = None
    ) -> Route:
        """Make kernel matrices of rows in memory."""
        return from_rows(
            rows,
            self.spec,
            whole_reference=self.plan.needs_factor,
            solver=self.solver,
            n_conditioned=self.n_conditioned(
                reference_columns(rows, self.spec.center) - n_covariates
            ),
            n_covariates=n_covariates,
            n_jobs=self.n_jobs,
            batch_size=self.batch_size,
            progress=progress,
        )

    def on_rows(
        self,
        rows: Rows,
        *,
        n_covariates: int = 0,
        may_be_constant: bool = False,
        phase: Callable[[str], Progress | None] = lambda name: None,
    ) -> Outcome:
        """Select from rows in memory; ``phase`` begins a step and returns what follows it.

        Where all candidates or all references are constant, that is an error, or nothing is
        selected if they ``may_be_constant``.
        """
        route = self.route(rows, n_covariates=n_covariates, progress=phase("rows"))
        w = np.ones(rows.n_samples) if rows.weight is None else rows.weight
        n_rows = int(np.count_nonzero(w))
        plan = self.complete(float(w.sum()), n_rows, route.spectrum)
        constant = self._constant(route.gram, refuse=not may_be_constant)
        selection = select(route.gram, plan, phase("picks"))
        if not constant:
            self._refuse_silence(selection)
        return Outcome(selection, plan, route.moments, self._doubts(selection, n_rows))

    def on_moments(
        self, moments: Moments, *, provisional: bool = False, may_be_constant: bool = False
    ) -> Outcome:
        """Select from moments.

        Parameters
        ----------
        moments : Moments
        provisional : bool
            More rows will follow: columns that are constant so far are no error, nor are too few
            rows for p-values.
        may_be_constant : bool
            As in :meth:`on_rows`.
        """
        if moments.xx is None:
            self._refuse_lack(moments)
        gram = from_moments(moments, self.spec, whole_reference=self.plan.needs_factor)
        plan = self.complete(moments.sum_weights, moments.n_samples, None)
        constant = self._constant(gram, refuse=not (provisional or may_be_constant))
        selection = select(gram, plan)
        if not (provisional or constant):
            self._refuse_silence(selection)
        return Outcome(selection, plan, moments, self._doubts(selection, moments.n_samples))

    def _doubts(self, selection: Selection, n_rows: int) -> tuple[str, ...]:
        linear, center = self.spec.is_linear, self.spec.center
        return doubts(selection, self.plan, n_rows=n_rows, linear=linear, center=center)

    def _refuse_lack(self, moments: Moments) -> None:
        if moments.one_view:
            what = "One view"
        elif self.plan.include.size:
            what = "include"
        elif self.spec.center_kernel:
            what = "center_kernel"
        else:
            return
        raise ProductsMissingError(
            f"{what} needs the products of the candidates with each other, which these moments do "
            "not hold; build them with Moments.from_arrays(..., with_xx=True)."
        )

    def _refuse_silence(self, selection: Selection) -> None:
        """Refuse an "auto" that cannot say anything about any candidate."""
        if selection.stopped == "no p-values" and len(selection.indices) == self.plan.include.size:
            raise ValueError(
                "n_features_to_select='auto' goes by p-values, which need more rows than the "
                "references have dimensions; use a number, rank= to keep fewer dimensions, or more "
                "rows."
            )

    def _constant(self, gram: FeatureGram, *, refuse: bool) -> bool:
        """Tell whether all candidates or all references are constant; refuse them."""
        kind = "constant" if self.spec.center else "zero"
        no_x = not gram.alive.any()
        no_y = not self.plan.one_view and gram.n_y - gram.n_covariates == 0
        if no_x and refuse:
            raise ValueError(f"All columns of X are {kind}: there is nothing to select from.")
        if no_y and refuse:
            raise ValueError(
                f"All columns of y are {kind} (of labels: only one class); there is nothing to "
                "explain."
            )
        return no_x or no_y


def reference_columns(of: Rows | Moments, center: bool) -> int:
    """Bound the directions of the references by their number; 0 for one view.

    Centred indicators of all classes add up to zero, so that one of them follows from the others.
    """
    if isinstance(of, Moments):
        n_y = 0 if of.one_view else of.n_y
    else:
        n_y = 0 if of.Y is None else int(of.Y.shape[1])
    return n_y - 1 if n_y and center and of.classes is not None else n_y


def _number(wanted: Any, n_x: int, n_include: int, n_exclude: int) -> int | None:
    """Return how many candidates to select; None for as many as the references have directions."""
    available = n_x - n_exclude
    if not available:
        raise ValueError(f"exclude leaves nothing to select from: it holds all {n_x} columns.")
    if wanted is None:
        return None
    if isinstance(wanted, str):
        return available
    n_features = int(wanted) if is_whole(wanted) else max(1, int(float(wanted) * n_x))
    if n_features > available:
        left = f" of which {n_exclude} are excluded" if n_exclude else ""
        raise ValueError(
            f"n_features_to_select={wanted!r} is more than there are: X has {n_x} columns{left}."
        )
    if n_include > n_features:
        raise ValueError(
            f"include names {n_include} variables, more than n_features_to_select={wanted!r}; they "
            "count towards it."
        )
    return n_features
