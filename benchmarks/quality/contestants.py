"""Who picks: each contestant takes candidates, references and a number, and returns indices.

Peers that the benchmarks of time know as well are taken from there. A contestant whose package is
not installed is skipped, with a note in its result file.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import contestants as timed
import numpy as np

from quality import rules
from quality.problem import Array, Kind
from quality.prototype import soft_select, unit_columns

Select = Callable[[Array, Array, int], Array]
ALL_KINDS: tuple[Kind, ...] = ("numbers", "labels", "classes", "two views", "one view")
SUPERVISED: tuple[Kind, ...] = ALL_KINDS[:4]


@dataclass(frozen=True)
class Contestant:
    """A selector; ``nested`` if its first picks do not depend on how many are asked for.

    ``both`` selects from two views at once; without it, a contestant selects from either side.
    """

    name: str
    module: str
    select: Select
    nested: bool = True
    kinds: tuple[Kind, ...] = ALL_KINDS
    widest: float = 20_000  # candidates × outputs beyond which it is not asked, in thousands
    both: Callable[[Array, Array, int], tuple[Array, Array]] | None = None

    @property
    def installed(self) -> bool:
        """Whether its package can be imported."""
        return find_spec(self.module) is not None


def correlation_ranking(X: Array, Y: Array, n: int) -> Array:
    """Rank candidates by the sum of their squared correlations with the outputs."""
    scores = ((unit_columns(Y).T @ unit_columns(X)) ** 2).sum(axis=0)
    return np.argsort(-scores, kind="stable")[:n]


def best_pair(X: Array, Y: Array, n: int) -> Array:
    """Return one candidate, that of the pair with the largest correlation, whatever n is."""
    products = np.abs(unit_columns(X).T @ unit_columns(Y))
    return np.array([np.unravel_index(int(products.argmax()), products.shape)[0]])


def random_picks(X: Array, Y: Array, n: int) -> Array:
    """Draw at random; the seed is taken from the data, so that folds differ."""
    seed = int(np.abs(X[0]).sum() * 1e6) % 2**32
    return np.random.default_rng(seed).permutation(X.shape[1])[:n]


def _fastcan(**parameters: Any) -> Select:
    """Return fastcan; in one view its documentation has principal components as the targets."""

    def select(X: Array, Y: Array, n: int) -> Array:
        from fastcan import FastCan

        if X is Y:
            U, s, _ = np.linalg.svd(unit_columns(X), full_matrices=False)
            Y = (U * s)[:, : min(n, int((s > 1e-7 * s[0]).sum()))]
        Y = Y[:, Y.std(axis=0) > 0]
        usable = np.flatnonzero(X.std(axis=0) > 0)
        X = np.asfortranarray(X[:, usable])
        for wanted in range(min(n, X.shape[1]), 0, -1):
            try:
                return usable[FastCan(wanted, verbose=0, **parameters).fit(X, Y).indices_]
            except (RuntimeError, ValueError) as error:  # no candidate is left that adds anything
                refusal = error
        raise refusal

    return select


def _projse(**parameters: Any) -> Select:
    def select(X: Array, Y: Array, n: int) -> Array:
        from projse import ProjSe

        return ProjSe(n, **parameters).fit(X, None if X is Y else Y).selected_

    return select


def _projse_both(**parameters: Any) -> Callable[[Array, Array, int], tuple[Array, Array]]:
    def select(X: Array, Y: Array, n: int) -> tuple[Array, Array]:
        from projse import TwoViewProjSe

        views = TwoViewProjSe(n, **parameters).fit(X, Y)
        return views.x_selected_, views.y_selected_

    return select


def _soft(rule: rules.Rule) -> Select:
    def select(X: Array, Y: Array, n: int) -> Array:
        options = {"refactor": rule.refactor, "floor": rule.floor}
        return soft_select(X, Y, n, rule.alpha, rule.redundancy, **options)

    return select


def _timed(name: str) -> Select:
    """Return a peer that the benchmarks of time know; constant columns, which some refuse, wait."""

    def select(X: Array, Y: Array, n: int) -> Array:
        usable = np.flatnonzero(X.std(axis=0) > 0)
        Y = Y[:, Y.std(axis=0) > 0]
        return usable[timed.CONTESTANTS[name].select(X[:, usable], Y, min(n, len(usable)))]

    return select


def _sparse_cca(X: Array, Y: Array, n: int) -> tuple[Array, Array]:
    """Penalised matrix decomposition: the largest weights, under the bound of n equal ones."""
    from cca_zoo.sparse import PMDCCA

    bounds = [float(np.sqrt(min(n, A.shape[1]))) for A in (X, Y)]
    weights = PMDCCA(1, l1_bound=bounds, random_state=0).fit([X, Y]).weights_
    x, y = (np.argsort(-np.abs(np.asarray(w)[:, 0]), kind="stable")[:n] for w in weights)
    return x, y


def paper_parameters() -> dict[str, Any]:
    """Return the parameters of the paper's form, which are the defaults where it has no name."""
    import projse

    return dict(getattr(projse, "PAPER", {}))


CONTESTANTS = {
    contestant.name: contestant
    for contestant in (
        Contestant("correlation ranking", "numpy", correlation_ranking),
        Contestant("fastcan", "fastcan", _fastcan(), nested=False),
        Contestant("random", "numpy", random_picks),
        Contestant("best pair", "numpy", best_pair, kinds=("two views",)),
        Contestant("projse", "projse", _projse(), nested=False, both=_projse_both()),
        Contestant("projse, paper", "projse", _projse(**paper_parameters()), nested=False),
        Contestant(
            "projse, round_size=1",
            "projse",
            _projse(**{**paper_parameters(), "round_size": 1}),
            nested=False,
        ),
        *(
            Contestant(
                f"projse, redundancy={share}",
                "projse",
                _projse(redundancy=share),
                nested=False,
                both=_projse_both(redundancy=share),
            )
            for share in (0, 0.5, 1)
        ),
        *(Contestant(name, "numpy", _soft(rule)) for name, rule in rules.RULES.items()),
        Contestant(
            "fastcan, beam", "fastcan", _fastcan(beam_width=5), False, SUPERVISED, widest=10
        ),
        Contestant("SelectKBest", "sklearn", _timed("SelectKBest"), kinds=SUPERVISED),
        Contestant(
            "MultiTaskLasso", "sklearn", _timed("MultiTaskLasso"), False, SUPERVISED, widest=5
        ),
        Contestant(
            "OrthogonalMatchingPursuit",
            "sklearn",
            _timed("OrthogonalMatchingPursuit"),
            nested=False,
            kinds=SUPERVISED,
        ),
        Contestant(
            "SequentialFeatureSelector",
            "sklearn",
            _timed("SequentialFeatureSelector"),
            nested=False,
            kinds=SUPERVISED,
            widest=0.1,
        ),
        Contestant("abess", "abess", _timed("abess"), False, SUPERVISED, widest=20),
        Contestant("mRMR", "mrmr", _timed("mrmr_regression"), kinds=SUPERVISED, widest=5),
        Contestant("PCovCUR", "skmatter", _timed("PCovCUR"), False, SUPERVISED, widest=5),
        Contestant(
            "PMDCCA", "cca_zoo", random_picks, False, ("two views",), widest=200, both=_sparse_cca
        ),
    )
}


def picks_for(
    contestant: Contestant, X: Array, Y: Array, numbers: list[int]
) -> tuple[list[Array], float]:
    """Return the picks for each number, and the seconds that the longest list took."""
    return _timed_picks(contestant.select, contestant.nested, X, Y, numbers)


def picks_for_both(
    contestant: Contestant, X: Array, Y: Array, numbers: list[int]
) -> tuple[list[Array], list[Array], float]:
    """Return the picks of two views for each number, and the seconds of the longest lists."""
    if contestant.both is None:
        of_x, seconds = picks_for(contestant, X, Y, numbers)
        of_y, more = picks_for(contestant, Y, X, numbers)
        return of_x, of_y, seconds + more
    pairs, seconds = _timed_picks(contestant.both, False, X, Y, numbers)
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs], seconds


def _timed_picks(
    select: Callable[[Array, Array, int], Any],
    nested: bool,
    X: Array,
    Y: Array,
    numbers: list[int],
) -> tuple[list[Any], float]:
    """Warnings of a peer are its own affair."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        longest = select(X, Y, numbers[-1])
        seconds = time.perf_counter() - start
        if nested:
            return [np.asarray(longest)[:n] for n in numbers], seconds
        return [*(select(X, Y, n) for n in numbers[:-1]), longest], seconds
