"""A task: what was asked of a selection, resolved against the columns that it is asked of.

Estimators turn their parameters into a task; the task takes rows or moments to picks. Fits,
resamples, folds and permutations share it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.kernels.combination import bases_of_moments, bases_of_rows, merge_bases
from projse.kernels.combined_references import combined_references
from projse.kernels.feature_gram import FeatureGram
from projse.kernels.many_outputs import settled_rank, sketched_directions
from projse.kernels.range_finder import Sketch, leading_directions
from projse.kernels.routes import (
    FACTORED_COLUMNS,
    KernelSpec,
    Route,
    from_moments,
    from_rows,
)
from projse.kernels.subspaces import WhitenedGram
from projse.moments.accumulate import Progress
from projse.moments.counts import are_no_counts, rows_that_count
from projse.moments.own_products import IN_MEMORY, Cross
from projse.moments.sums import Moments
from projse.parameters import plain_rank
from projse.search.auto import ALPHA, LARGEST_IN_ONE_VIEW, REDUNDANCY_IN_TWO_VIEWS
from projse.search.doubts import doubts
from projse.search.filled import filled_moments, filled_rows
from projse.search.named_variables import NamedVariables, refuse_kernel
from projse.search.outcome import Outcome, on_few_rows
from projse.search.picked import gather
from projse.search.products import ProductsNeeded, reference_columns
from projse.search.refuse import refuse_lack, refuse_silence, what_is_constant
from projse.search.rounds import Plan, Selection, select
from projse.search.significance import degrees_of_freedom
from projse.sources.groups import resolve_groups
from projse.sources.rows import Rows
from projse.sources.variables import Variables

Array = NDArray[Any]

Phase = Callable[[str], Progress | None]
"""Begins a step of a fit, by its name, and returns what follows it."""


def _no_progress(name: str) -> None:
    return None


@dataclass(frozen=True)
class Task:
    """A kernel, a plan and a route, for a certain set of candidates.

    Attributes
    ----------
    spec : KernelSpec
    plan : Plan
        Without what only the rows tell: see :meth:`complete`.
    n_x : int
        Number of columns to select from.
    variables : Variables or None
        Of those columns, which the plan then counts and numbers; None: each is a variable.
    solver : {"auto", "gram", "qr", "sketch"}
    n_jobs, batch_size : int or None
        Of a pass over rows in memory.
    min_frequency : int
        Levels of fewer rows are pooled.
    n_iter : int
        Power iterations of a sketch.
    rank_by_outputs : bool
        The number of outputs will tell the rank: see :meth:`settled`.
    encoded : Variables or None
        Where a table was encoded: of the columns that came out, with the variables of the plan.
    bases : mapping of int to ndarray
        Combinations of those columns that count, of some variables.
    """

    spec: KernelSpec
    plan: Plan
    n_x: int
    variables: Variables | None
    solver: str
    n_jobs: int | None
    batch_size: int | None
    min_frequency: int
    n_iter: int
    rank_by_outputs: bool
    encoded: Variables | None = None
    bases: Mapping[int, Array] = field(default_factory=dict)

    @classmethod
    def of(
        cls, parameters: Any, n_x: int, names: tuple[str, ...] | None, one_view: bool = False
    ) -> Task:
        """Resolve the parameters of a ``ProjSe`` against n_x candidates."""
        p = parameters
        spec = KernelSpec(p.kernel, p.degree, p.coef0, p.gamma, p.center, p.scale, p.center_kernel)
        variables = None if p.groups is None else resolve_groups(p.groups, n_x, names)
        refuse_kernel(variables, spec)
        named = NamedVariables(n_x, names, variables, getattr(p, "_view", "X"))
        include, exclude = named.included_and_excluded(p.include, p.exclude)
        # To start again in the same space, nothing is conditioned on.
        conditions = p.exhausted != "restart"
        round_size = p.round_size
        if round_size == "auto":
            round_size = 1 if conditions else None
        redundancy = p.redundancy
        two_views = getattr(p, "_two_views", False)
        if redundancy == "auto":
            own = REDUNDANCY_IN_TWO_VIEWS if two_views else None
            redundancy = own if conditions and round_size == 1 else 0.0
        plan = Plan(
            n_features=named.number(p.n_features_to_select, include.size, exclude.size),
            exhausted=p.exhausted,
            round_size=round_size,
            redundancy=redundancy,
            include=include,
            exclude=exclude,
            alpha=ALPHA if p.alpha == "auto" else p.alpha,
            rank=None if p.rank == "auto" else plain_rank(p.rank),
            tol=p.tol,
            one_view=one_view,
            first=getattr(p, "_first", None),
            copies_wait=two_views and p.redundancy == "auto",
            significance=p.significance if p.n_features_to_select == "auto" else None,
        )
        return cls(
            *(spec, plan, n_x, variables, p.solver, p.n_jobs, p.batch_size),
            min_frequency=p.min_frequency,
            n_iter=p.iterated_power,
            rank_by_outputs=p.rank == "auto" and not one_view,
        )

    def of_columns(self, columns: Variables | None, bases: Mapping[int, Array]) -> Task:
        """Go on with the columns that a table was encoded to.

        Parameters
        ----------
        columns : Variables or None
            Whose variables are the columns of the table; None: nothing was encoded.
        bases : mapping of int to ndarray
            Of those variables.
        """
        if columns is None:
            return self
        if self.variables is not None:
            bases = merge_bases(bases, columns, self.variables)
            columns = columns.grouped(self.variables)
        refuse_kernel(columns, self.spec)
        return replace(self, n_x=len(columns.columns), encoded=columns, bases=bases)

    @property
    def parts(self) -> Variables | None:
        """Variables of the columns that the rows have; None: each column is one."""
        return self.variables if self.encoded is None else self.encoded

    @property
    def is_grouped(self) -> bool:
        """Whether a variable is anything but a column."""
        return self.parts is not None and (bool(self.bases) or not self.parts.are_columns)

    @property
    def n_variables(self) -> int:
        """Number of variables to select from."""
        return self.n_x if self.parts is None else self.parts.n

    def columns_of(self, picks: Sequence[int]) -> tuple[Array, Array]:
        """Return the columns of picks, one pick after the other, and where each of them ends."""
        indices = np.asarray(picks, dtype=np.intp)
        if self.parts is None:
            return indices, np.arange(1, len(indices) + 1)
        sizes = np.bincount(self.parts.of_column, minlength=self.parts.n)[indices]
        return self.parts.columns_of(indices), np.cumsum(sizes)

    @property
    def products(self) -> ProductsNeeded:
        """Which products of the candidates with each other are needed."""
        return ProductsNeeded(self.plan, self.spec, self.n_x, self.is_grouped)

    def complete(
        self,
        sum_weights: float,
        n_rows: int,
        spectrum: Array | None,
        n_conditioned: int = 0,
        keeps_rows: bool = False,
    ) -> Plan:
        """Add to the plan what is only known once the rows were seen.

        Covariates of dimension ``n_conditioned`` take as many degrees of freedom.
        """
        plan = self.plan
        if plan.one_view and plan.significance is not None:
            raise ValueError(
                "n_features_to_select='auto' goes by p-values, which one view (y=None) does not "
                "have; use a number."
            )
        counted = float(rows_that_count(sum_weights, n_rows))
        dimension = counted - int(self.spec.center) - n_conditioned
        room = n_rows - int(self.spec.center) - n_conditioned if self.spec.is_linear else np.inf
        degrees = float("nan")
        wanted = plan.with_pvalues or plan.significance is not None
        if self.spec.is_linear and not plan.one_view and wanted:
            degrees = degrees_of_freedom(sum_weights, n_rows, self.spec.center) - n_conditioned
        if plan.significance is not None and are_no_counts(sum_weights, n_rows):
            raise ValueError(
                f"sample_weight sums to {sum_weights:.3g} over {n_rows} rows, but the p-values "
                "that n_features_to_select='auto' goes by take weights as counts of rows; multiply "
                f"them by {n_rows / sum_weights:.3g}, or use a number."
            )
        return replace(
            plan,
            n_rows=counted,
            dimension=dimension,
            room=room,
            largest_ridge=LARGEST_IN_ONE_VIEW if plan.one_view else plan.largest_ridge,
            # A basis stands for the references, which are no longer the candidates themselves.
            one_view=plan.one_view and spectrum is None,
            degrees=degrees,
            spectrum=spectrum,
            keeps_rows=keeps_rows,
        )

    def settled(self, n_outputs: int) -> Task:
        """Settle ``rank="auto"`` by the number of outputs."""
        if not self.rank_by_outputs:
            return self
        plan = replace(self.plan, rank=settled_rank("auto", n_outputs, self.solver))
        return replace(self, plan=plan, rank_by_outputs=False)

    def route(self, rows: Rows, *, progress: Progress | None = None) -> Route:
        """Make kernel matrices of rows in memory, of their columns."""
        n_directions = self.n_directions(rows)
        n_y = reference_columns(rows, self.spec.center)
        return from_rows(
            rows,
            self.spec,
            whole_reference=self._needs_whole_reference,
            solver=self._solver(rows.one_view),
            with_xx=self.products.are_summed(
                n_y if n_directions is None else n_directions,
                IN_MEMORY,
                rows.n_samples,
            ),
            n_directions=n_directions,
            n_iter=self.n_iter,
            n_jobs=self.n_jobs,
            batch_size=self.batch_size,
            progress=progress,
        )

    def n_directions(self, rows: Rows) -> int | None:
        """Return how many directions of the references a range finder seeks; None: it does not."""
        n_outputs = 0 if rows.one_view or rows.classes is not None else rows.n_references
        # Fewer dense rows than outputs are factored themselves.
        by_rows = isinstance(rows.Y, np.ndarray) and not rows.n_covariates
        return sketched_directions(
            "auto" if self.rank_by_outputs else self.plan.rank,
            n_outputs,
            linear=self.spec.is_linear,
            solver=self.solver,
            dimension=min(rows.n_samples, n_outputs) if by_rows else n_outputs,
        )

    def by_variables(self, gram: FeatureGram) -> FeatureGram:
        """Turn kernel matrices of columns into those that the search of variables goes by."""
        if self.parts is None or not self.is_grouped:
            return gram
        return WhitenedGram(gram, self.parts, self.bases, one_view=self.plan.one_view)

    @property
    def _needs_whole_reference(self) -> bool:
        return self.plan.needs_factor or self.is_grouped

    def _solver(self, one_view: bool) -> str:
        """Return the solver; in one view, groups are whitened before they are factored."""
        if not (one_view and self.is_grouped):
            return self.solver
        if self.solver == "qr":
            raise ValueError(
                "solver='qr' factors the columns, but with groups in one view (y=None) the "
                "references are whitened groups; use solver='auto'."
            )
        if self.n_x > FACTORED_COLUMNS:
            raise ValueError(
                f"groups with one view (y=None) need a factor of all {self.n_x} columns; it is "
                f"made for up to {FACTORED_COLUMNS}. Leave columns out, or pass y."
            )
        return "gram"

    def on_rows(
        self,
        rows: Rows,
        *,
        may_be_constant: bool = False,
        keep: bool = False,
        phase: Phase = _no_progress,
    ) -> Outcome:
        """Select from rows in memory; ``phase`` begins a step and returns what follows it.

        Where all candidates or all references are constant, that is an error, or nothing is
        selected if they ``may_be_constant``. With ``keep``, what may be asked for later is kept.
        """
        task = self.settled(rows.n_references) if self.rank_by_outputs else self
        if rows.x_variables is not None and task.encoded is None:
            plain = None if task.spec.is_linear else filled_rows(rows, task.min_frequency)
            if plain is None:
                task = task.of_columns(rows.x_variables, bases_of_rows(rows, task.min_frequency))
            else:
                rows = plain
        route = task.route(rows, progress=phase("rows"))
        w, n_rows = rows.weight, rows.n_samples
        sum_weights = float(n_rows)
        if w is not None:
            sum_weights, n_rows = float(w.sum()), int(np.count_nonzero(w))
        return task._on_route(
            route,
            sum_weights,
            n_rows,
            may_be_constant=may_be_constant,
            may_be_silent=False,
            keep=keep,
            phase=phase,
        )

    def on_moments(
        self,
        moments: Moments,
        *,
        cross: Cross | None = None,
        provisional: bool = False,
        may_be_constant: bool = False,
        keep: bool = False,
        sketch: Sketch | None = None,
    ) -> Outcome:
        """Select from moments.

        Parameters
        ----------
        moments : Moments
            Of rows that went through the sketch, if there is one.
        cross : callable or None
            Makes products of candidates, where the moments lack them, by another pass over the
            rows; None where there is none.
        provisional : bool
            More rows will follow: columns that are constant so far are no error, nor are too few
            rows for p-values.
        may_be_constant, keep : bool
            As in :meth:`on_rows`.
        sketch : Sketch or None
            Combinations that stand for many outputs.
        """
        task = self
        if task.rank_by_outputs:
            task = task.settled(moments.n_references if sketch is None else sketch.n_outputs)
        summed = moments
        if moments.x_variables is not None and task.encoded is None:
            moments = combined_references(summed)
            plain = None if task.spec.is_linear else filled_moments(moments, task.min_frequency)
            if plain is None:
                bases = bases_of_moments(summed, task.min_frequency)
                task = task.of_columns(moments.x_variables, bases)
            else:
                moments = plain
        if moments.xx is None and (cross is None or task.products.all_needed):
            refuse_lack(moments, task.plan, task.spec, grouped=task.is_grouped)
        rare, spectrum, n_sketched = None, None, 0
        if sketch is not None:
            leading = leading_directions(moments, task.spec.center, sketch.off)
            moments, spectrum, rare = leading.moments, leading.spectrum, sketch.rare
            n_sketched = sketch.n_outputs
        whole = task._needs_whole_reference
        gram = from_moments(
            moments, task.spec, cross=cross, whole_reference=whole, rare_references=rare
        )
        handed_on = moments if sketch is None else None
        outcome = task._on_route(
            Route(gram, handed_on, moments, None, spectrum, n_sketched=n_sketched),
            moments.sum_weights,
            moments.n_samples,
            may_be_constant=provisional or may_be_constant,
            may_be_silent=provisional,
            keep=keep,
        )
        # Rows to come are added to the columns that were summed.
        return outcome if sketch is not None else replace(outcome, moments=summed)

    def _on_route(
        self,
        route: Route,
        sum_weights: float,
        n_rows: int,
        *,
        may_be_constant: bool,
        may_be_silent: bool,
        keep: bool,
        phase: Phase = _no_progress,
    ) -> Outcome:
        """Select by kernel matrices, wherever they come from."""
        kept = keep and _makes_rows(route)
        plan = self.complete(sum_weights, n_rows, route.spectrum, route.gram.n_conditioned, kept)
        constant = what_is_constant(route.gram, self.plan, self.spec)
        if constant and not may_be_constant:
            raise ValueError(constant)
        gram = self.by_variables(route.gram)
        selection = select(gram, plan, phase("picks"))
        if not (may_be_silent or constant):
            refuse_silence(selection, self.plan)
        return Outcome(
            selection,
            plan,
            route.moments,
            self._doubts(selection, n_rows),
            n_rows,
            on_few_rows(selection, gram),
            self.variables,
            gather(route, selection, plan, self.spec, *self._several) if keep else None,
        )

    @property
    def _several(self) -> tuple[Variables | None, Mapping[int, Array]]:
        """Variables of several columns, and what makes their spaces; None: each is one column."""
        return (self.parts, self.bases) if self.is_grouped else (None, {})

    def _doubts(self, selection: Selection, n_rows: int) -> tuple[str, ...]:
        linear, center = self.spec.is_linear, self.spec.center
        return doubts(selection, self.plan, n_rows=n_rows, linear=linear, center=center)


def _makes_rows(route: Route) -> bool:
    """Whether rows of ``K_XX`` are made as they are asked for, and cost something."""
    return route.behind is not None and route.behind.xx is None
