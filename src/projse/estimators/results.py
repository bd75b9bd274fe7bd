"""Results one can hold: names, a table, what each pick explains, and what could stand in for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from projse.estimators.frames import frame_kind, make_frame
from projse.estimators.html_table import html_table
from projse.exceptions import ProductsMissingError
from projse.kernels.subspaces import WhitenedGram
from projse.metrics.explained import added_r2
from projse.moments.sums import Moments
from projse.parameters import is_whole
from projse.search.group_stand_ins import correlations_between, group_stand_ins
from projse.search.outcome import Outcome
from projse.search.picked import NEIGHBOURS, Picked, among_picks, may_stand_in
from projse.search.stand_ins import nearest, partial_correlations, shares_kept
from projse.sources.rows import Rows
from projse.sources.variables import Variables

Array = NDArray[Any]

SHOWN = 20
"""Picks that the table beside the diagram of an estimator shows."""


class StandIn(NamedTuple):
    """A variable that could stand in for a pick.

    ``closeness`` is its squared partial correlation with the pick, given the other picks; ``keeps``
    the share of the pick's score, given the other picks, that it would have in its place.
    """

    pick: str
    name: str
    closeness: float
    keeps: float


class HtmlTableMixin:
    """Puts the table of picks below scikit-learn's diagram of a fitted estimator."""

    def _html_columns(self) -> dict[str, Array]:
        raise NotImplementedError

    def _html_repr(self) -> str:
        diagram: str = super()._html_repr()  # type: ignore[misc]
        try:
            columns = self._html_columns()
        except AttributeError:  # not fitted
            return diagram
        return diagram + html_table(columns, SHOWN)


class ResultsMixin(HtmlTableMixin):
    """Adds what a selection can tell once it is made."""

    selected_: Array
    scores_: Array
    correlations_: Array
    margins_: Array
    pvalues_: Array
    rounds_: Array
    moments_: Moments
    n_features_in_: int
    _view: str
    variable_names_: Any
    variables_: Variables
    _feature_names: Any
    _picked: Picked | None = None

    def _keep_picked(self, outcome: Outcome, of: Rows | Moments) -> None:
        """Keep what may be asked for later of a selection from these rows or moments."""
        one_view = of.one_view if isinstance(of, Moments) else of.Y is None
        assert outcome.picked is not None
        names = output_names(of)
        if one_view:  # the columns, as far as a table was encoded to them
            encoded = (of if outcome.moments is None else outcome.moments).x_variables
            names = None if encoded is None else encoded.titles
        self._picked = replace(outcome.picked, output_names=names, one_view=one_view)

    @property
    def selected_names_(self) -> Array:
        """Names of the picks, in the order of selection."""
        check_is_fitted(self, "selected_")
        return self._names_of(self.selected_)

    @property
    def output_names_(self) -> Array:
        """Names of the outputs, which are the columns of ``explained_``."""
        picked = self._products()
        names = picked.output_names
        assert picked.products is not None
        n = len(picked.products.y_squares)
        if picked.one_view:
            summed = getattr(getattr(self, "moments_", None), "feature_names", None)
            known = [given for given in (names, summed) if given is not None and len(given) == n]
            names = known[0] if known else tuple(f"{self._view.lower()}{j}" for j in range(n))
        if names is not None:
            return np.array(names, dtype=object)
        prefix = "y" if self._view == "X" else "x"
        return np.array([f"{prefix}{j}" for j in range(n)], dtype=object)

    @property
    def explained_(self) -> Array:
        """R² that each pick adds to those before it, for each output."""
        picked = self._products()
        products = picked.products
        assert products is not None
        return added_r2(
            products.xx,
            products.xy,
            products.y_squares,
            groups=picked.pick_of,
            eps=products.eps,
        )

    def stand_ins(self, k: int = 3) -> list[StandIn]:
        """Return the variables left out that could stand in for each pick.

        They are those closest to it given the other picks, by the squared partial correlation; of
        variables of several columns, by the share of the pick's directions that they cover.

        Parameters
        ----------
        k : int, default=3
            How many a pick, at most.

        Returns
        -------
        list of StandIn
            Named tuples ``(pick, name, closeness, keeps)``, pick by pick in the order of selection,
            closest first; ``pandas.DataFrame`` takes the list. ``keeps`` is the score of the
            variable over that of the pick, both given the other picks as with ``include``; above 1
            where it would do better, NaN where the pick itself adds nothing to the others.

        Notes
        -----
        With a kernel, correlations are those in its feature space. Needs the rows of products that
        the fit made for the picks; costs a factorisation of the references a pick.
        """
        if not is_whole(k) or k < 1:
            raise ValueError(f"k={k!r} must be a number of stand-ins a pick, from 1.")
        check_is_fitted(self, "selected_")
        found, closeness, keeps = self._stand_ins(int(k))
        names = self.variable_names_  # all of them at once: they may be made up
        return [
            StandIn(str(names[pick]), str(names[j]), float(closeness[i, c]), float(keeps[i, c]))
            for i, pick in enumerate(self.selected_)
            for c, j in enumerate(found[i][found[i] >= 0])
        ]

    def table(self, output: str | None = None, *, stand_ins: int = 0) -> Any:
        """Return the picks as a data frame, in the order of selection.

        Parameters
        ----------
        output : {"pandas", "polars"} or None, default=None
            Kind of frame; None: that of ``set_output``, else pandas.
        stand_ins : int, default=0
            Add this many stand-ins a pick, as ``name; name; …``.

        Returns
        -------
        DataFrame
            Columns ``rank``, ``name``, ``score``, ``correlation``, ``margin``, ``pvalue``,
            ``round``; ``columns`` (as ``name; name; …``) where variables are groups of columns; and
            ``stand_ins`` where they are asked for.

        Notes
        -----
        ``pvalue`` is meant for rows that are independent of each other and without extreme values;
        it is NaN where it has no meaning. How far it holds otherwise was simulated: see the page
        "Do the numbers hold what they say?" of the guide.
        """
        kind = frame_kind(self, output)
        columns: dict[str, Any] = self._columns_of_table()
        if hasattr(self, "variables_"):
            titles = self._feature_names() or [f"x{j}" for j in range(self.n_features_in_)]
            own = [self.variables_.columns_of(v) for v in self.selected_]
            columns["columns"] = ["; ".join(str(titles[j]) for j in one) for one in own]
        if stand_ins:
            found, _, _ = self._stand_ins(stand_ins)
            columns["stand_ins"] = ["; ".join(self._names_of(row[row >= 0])) for row in found]
        return make_frame(columns, kind)

    def _columns_of_table(self) -> dict[str, Array]:
        names = self.selected_names_
        return {
            "rank": np.arange(1, len(names) + 1),
            "name": names,
            "score": self.scores_,
            "correlation": self.correlations_,
            "margin": self.margins_,
            "pvalue": self.pvalues_,
            "round": self.rounds_,
        }

    def _html_columns(self) -> dict[str, Array]:
        return self._columns_of_table()

    def _names_of(self, indices: Array) -> Array:
        """Return the names of candidates, made up where they have none."""
        names: Array = self.variable_names_[indices]
        return names

    def _products(self) -> Picked:
        """Return what is kept, with the products of the picks; say how to get them otherwise."""
        check_is_fitted(self, "selected_")
        if self._picked is not None and self._picked.n_sketched:
            raise AttributeError(
                "explained_ tells of each output, and this fit knows the leading directions of "
                f"{self._picked.n_sketched} outputs only; regress the outputs of interest on "
                "transform(X), or fit to these alone."
            )
        if self._picked is None or self._picked.products is None:
            raise AttributeError(
                "explained_ needs the products of the picks with each other, which this fit had no "
                f"need to sum. {_REMEDY}"
            )
        return self._picked

    def _stand_ins(self, k: int) -> tuple[Array, Array, Array]:
        """Return stand-ins of each pick, how close they are, and what they keep."""
        picked = self._picked
        if not len(self.selected_):
            return np.empty((0, k), dtype=np.intp), np.empty((0, k)), np.empty((0, k))
        if picked is None or not picked.knows_neighbours:
            raise ProductsMissingError(
                "stand_ins needs the products of the picks with all candidates, which this fit had "
                f"no need to sum. {_REMEDY}"
            )
        gram = picked.gram(getattr(self, "moments_", None))
        if isinstance(gram, WhitenedGram):
            return group_stand_ins(gram, picked.plan, self.selected_, k)
        places = picked.places
        rows = gram.x_rows(places)
        exclude = picked.plan.exclude
        if picked.columns is not None:
            n_known = len(picked.columns)
            if k > NEIGHBOURS and n_known < self.n_features_in_:
                raise ValueError(
                    f"k={k}: this fit, which kept no moments of all candidates, knows of "
                    f"{NEIGHBOURS} stand-ins a pick."
                )
            exclude = np.flatnonzero(np.isin(picked.columns, exclude))
        plan = replace(picked.plan, exclude=exclude)
        closeness = partial_correlations(rows, places, gram.eps ** (2 / 3))
        found = nearest(closeness, may_stand_in(gram, plan, places), k)
        keeps = shares_kept(gram, plan, places, found)
        close = np.where(found >= 0, np.take_along_axis(closeness, found, axis=1), np.nan)
        if picked.columns is not None:
            found = np.where(found >= 0, picked.columns[found], -1)
        return found, close, keeps

    def _correlations_of_picks(self, n_stand_ins: int) -> tuple[Array, Array]:
        """Correlate the picks, as the kernel sees them, with picks and stand-ins; name the latter.

        A variable that could stand in for several picks is one column.
        """
        check_is_fitted(self, "selected_")
        picked = self._picked
        others = np.empty(0, dtype=np.intp)
        if n_stand_ins:
            found, _, _ = self._stand_ins(n_stand_ins)
            others = np.array([j for j in dict.fromkeys(found.ravel().tolist()) if j >= 0], int)
        elif picked is None or not picked.knows_neighbours:
            if picked is None or picked.products is None:
                picked = self._products()  # which says what is missing
            assert picked.products is not None
            return among_picks(picked.products.xx, picked.pick_of), others
        assert picked is not None
        gram = picked.gram(getattr(self, "moments_", None))
        columns = np.concatenate([self.selected_, others])
        if isinstance(gram, WhitenedGram):
            return correlations_between(gram, self.selected_, columns), self._names_of(others)
        if picked.columns is not None:
            columns = np.searchsorted(picked.columns, columns)
        return gram.x_rows(picked.places, columns), self._names_of(others)


class OfSelectorMixin(HtmlTableMixin):
    """Hands on the results of ``selector_``, the selection that was made in the end."""

    selector_: ResultsMixin

    @property
    def selected_names_(self) -> Array:
        """Names of the picks, in the order of selection."""
        return self._fitted_selector().selected_names_

    @property
    def output_names_(self) -> Array:
        """Names of the outputs, which are the columns of ``explained_``."""
        return self._fitted_selector().output_names_

    @property
    def explained_(self) -> Array:
        """R² that each pick adds to those before it, for each output."""
        return self._fitted_selector().explained_

    def stand_ins(self, k: int = 3) -> list[StandIn]:
        """Return the variables left out that could stand in for each pick: see :class:`ProjSe`.

        Parameters
        ----------
        k : int, default=3
            How many a pick, at most.

        Returns
        -------
        list of StandIn
        """
        return self._fitted_selector().stand_ins(k)

    def table(self, output: str | None = None, *, stand_ins: int = 0) -> Any:
        """Return the picks as a data frame, in the order of selection: see :class:`ProjSe`.

        Parameters
        ----------
        output : {"pandas", "polars"} or None, default=None
            Kind of frame; None: that of ``set_output``, else pandas.
        stand_ins : int, default=0
            Add this many stand-ins a pick.

        Returns
        -------
        DataFrame
        """
        return self._fitted_selector().table(frame_kind(self, output), stand_ins=stand_ins)

    def _html_columns(self) -> dict[str, Array]:
        return self._fitted_selector()._html_columns()

    def _fitted_selector(self) -> ResultsMixin:
        check_is_fitted(self, "selector_")
        return self.selector_


def output_names(of: Rows | Moments) -> tuple[str, ...] | None:
    """Return the names of the references: of classes, or of columns; None where there are none."""
    if of.one_view:
        return None if of.feature_names is None else tuple(map(str, of.feature_names))
    if of.classes is not None:
        return tuple(str(label) for label in of.classes.tolist())
    names = of.target_names
    return None if names is None else tuple(map(str, names[: len(names) - of.n_covariates]))


_REMEDY = (
    "Have the products of all candidates summed: fit_moments(Moments.from_arrays(X, y, "
    "with_xx=True)), or fit_source(..., with_xx=True)."
)
