"""``--cv``, ``--stability`` and ``--permutations``: how many, and can they be trusted."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from projse.cli.read import Reading, load_disjoint
from projse.cli.rows import HeldRows
from projse.cli.table import Column, decimal
from projse.estimators.cross_validation import ProjSeCV
from projse.estimators.permutation import PermutationTest, permutation_test
from projse.estimators.projse import ProjSe
from projse.estimators.stability import StabilityProjSe
from projse.moments.stream_blocks import BlockedSource, runs
from projse.moments.sums import Moments
from projse.warn import many


@dataclass(frozen=True)
class Asked:
    """What was asked for beside the picks: None where it was not.

    ``n_features`` is the largest number that ``cv`` tries; ``tunes`` tells whether it also chooses
    the parameters that were not given.
    """

    cv: int | None = None
    stability: int | None = None
    permutations: int | None = None
    seed: int = 0
    n_features: int | None = None
    tunes: bool = True

    @property
    def blocks(self) -> bool:
        """Whether rows are summed in blocks."""
        return self.cv is not None or self.stability is not None


@dataclass
class Found:
    """A selection, and what was found out about it."""

    selector: Any
    cv: ProjSeCV | None = None
    stability: StabilityProjSe | None = None
    permutations: PermutationTest | None = None
    by_file: bool = False

    @property
    def columns(self) -> list[Column]:
        """Return columns for the table of picks."""
        columns = []
        if self.stability is not None:
            columns.append(Column("comes back", [f"{v:.0%}" for v in self._frequencies()]))
        if self.permutations is not None:
            columns.append(Column("shuffled p", [_short(p) for p in self._shuffled()]))
        return columns

    @property
    def of_picks(self) -> dict[str, list[float | None]]:
        """Return what there is to say of each pick, by its key in JSON and CSV."""
        values: dict[str, list[float | None]] = {}
        if self.stability is not None:
            values["frequency"] = [finite(v) for v in self._frequencies()]
        if self.permutations is not None:
            values["permutation_p_value"] = [finite(p) for p in self._shuffled()]
        return values

    def as_dict(self) -> dict[str, Any]:
        """Return the rest for JSON."""
        found: dict[str, Any] = {}
        if self.cv is not None:
            found["cv"] = _cv_dict(self.cv, self._unit)
        if self.stability is not None:
            found["stability"] = _stability_dict(self.stability)
        if self.permutations is not None:
            found["permutations"] = {
                "n_permutations": self.permutations.n_permutations,
                "standard_errors": self.permutations.standard_errors.tolist(),
            }
        return found

    @property
    def prose(self) -> list[str]:
        """Return a sentence or two for each."""
        lines = []
        if self.cv is not None:
            lines.append(_cv_prose(self.cv, self._unit))
        if self.stability is not None:
            lines.append(_stability_prose(self.stability))
        if self.permutations is not None:
            lines.append(_permutations_prose(self.permutations))
            if self.permutations.selected.tolist() != self.selector.selected_.tolist():
                lines.append(
                    "Encoded in memory, other variables were picked: tested were "
                    f"{', '.join(self.permutations.feature_names or ())}."
                )
        return lines

    @property
    def _unit(self) -> str:
        return "files" if self.by_file else "rows"

    def _shuffled(self) -> list[float]:
        """Return the p-value of each pick; NaN where the test picked another."""
        assert self.permutations is not None
        test = self.permutations
        known = dict(zip(test.selected.tolist(), test.pvalues.tolist(), strict=True))
        return [known.get(int(pick), float("nan")) for pick in self.selector.selected_]

    def _frequencies(self) -> Any:
        assert self.stability is not None
        return self.stability.selection_frequencies_[self.selector.selected_]


def fit_blocks(
    selector: ProjSe, folds: list[list[Moments]], asked: Asked, *, by_file: bool
) -> Found:
    """Choose by folds, select from all rows, and select again from resamples of blocks."""
    cv = stable = None
    if asked.cv is not None:
        grid = "auto" if asked.tunes else None
        cv = ProjSeCV(selector, n_features=asked.n_features, param_grid=grid)
        cv.fit_moments([total_of(fold) for fold in folds])
        selector = clone(cv.selector_)
    blocks = [block for fold in folds for block in fold]
    selector.fit_moments(total_of(blocks))
    if asked.stability is not None:
        options: Any = {"random_state": asked.seed, "n_jobs": selector.n_jobs}
        stable = StabilityProjSe(clone(selector), asked.stability, **options).fit_moments(blocks)
    return Found(selector, cv, stable, by_file=by_file)


def read_folds(
    reading: Reading, data: Any, asked: Asked, jobs: int | None
) -> tuple[list[list[Moments]], bool]:
    """Sum the rows in blocks, by one pass; tell whether a fold is whole files."""
    source = reading.source

    def read(report: Any) -> tuple[list[list[Moments]], bool]:
        opened = BlockedSource(data, source, "continuous", jobs, None, report)
        resampled = asked.stability is not None
        n_folds = asked.cv or 1
        folds = opened.folds(n_folds, resampled=resampled, random_state=asked.seed)
        return folds, opened.by_file

    found: tuple[list[list[Moments]], bool] = reading.run(read)
    return found


def load_folds(reading: Reading, asked: Asked) -> list[list[Moments]]:
    """Load files of moments: each is a block, and a fold is one or a run of them."""
    blocks = load_disjoint(reading.data)
    if len(blocks) < 2:
        raise ValueError(
            f"{reading.data[0]}: one file of moments cannot be cut into folds or resamples. Pass "
            "several, of disjoint rows (days, sites), or the rows themselves."
        )
    n_folds = min(asked.cv or 1, len(blocks))
    fold_of = runs(len(blocks), n_folds)
    return [[blocks[i] for i in np.flatnonzero(fold_of == fold)] for fold in range(n_folds)]


def shuffle_targets(found: Found, rows: HeldRows, asked: Asked) -> None:
    """Test the picks against those of shuffled targets."""
    assert asked.permutations is not None
    n = len(found.selector.selected_)
    if n:
        selector = clone(found.selector)
        selector.set_params(n_features_to_select=n, **rows.parameters)
        found.permutations = permutation_test(
            selector,
            rows.X,
            rows.y,
            covariates=rows.covariates,
            n_permutations=asked.permutations,
            random_state=asked.seed,
            n_jobs=selector.n_jobs,
        )


def total_of(blocks: Iterable[Moments]) -> Moments:
    """Add moments of disjoint rows."""
    first, *more = blocks
    return sum(more, start=first)


def finite(value: Any) -> float | None:
    """Return a finite number for JSON, else None."""
    return float(value) if np.isfinite(value) else None


def _short(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.2g}"


def _cv_dict(cv: ProjSeCV, unit: str) -> dict[str, Any]:
    results = cv.cv_results_
    keys = ("n_features", "params", "mean_test_score", "standard_error")
    return {
        "n_features": cv.n_features_,
        "params": cv.best_params_,
        "score": finite(cv.best_score_),
        "predicts": cv.predicts_,
        "n_folds": cv.n_splits_,
        "folds_of": unit,
        "curve": [
            dict(zip(keys, (int(n), params, finite(mean), finite(error)), strict=True))
            for n, params, mean, error in zip(*(results[key] for key in keys), strict=True)
        ],
    }


def _cv_prose(cv: ProjSeCV, unit: str) -> str:
    n = many(cv.n_features_, "variable")
    dealt = "whole files" if unit == "files" else "rows dealt at random"
    chosen = ", ".join(f"{name}={value}" for name, value in cv.best_params_.items())
    text = f"Cross-validation with {cv.n_splits_} folds of {dealt} chose {n}"
    text += f" ({chosen})" if chosen else ""
    if cv.predicts_ is False:
        return f"{text}: nothing clearly predicts held-out rows better than their mean does."
    return f"{text}; mean held-out R² {cv.best_score_:.3f}, the best of many, so it flatters."


def _stability_dict(stable: StabilityProjSe) -> dict[str, Any]:
    return {
        "n_resamples": stable.n_resamples,
        "random_state": stable.random_state,
        "stability": finite(stable.stability_),
        "interval": [finite(v) for v in stable.stability_interval_],
        "confidence": stable.confidence,
        "threshold": stable.threshold,
        "stable": [str(name) for name in stable.selected_names_],
        "expected_false": finite(stable.expected_false_),
    }


def _stability_prose(stable: StabilityProjSe) -> str:
    low, high = stable.stability_interval_
    names = [str(name) for name in stable.selected_names_]
    listed = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    return (
        f"Stability over {stable.n_resamples} resamples of half the rows: "
        f"{decimal(stable.stability_)} ({stable.confidence:.0%}: {decimal(low)} to "
        f"{decimal(high)}). In at least {stable.threshold:.0%} of them: {listed or 'nothing'}."
    )


def _permutations_prose(test: PermutationTest) -> str:
    n = test.n_permutations
    return (
        f"Permutation test with {n:,} shuffles of the targets: p = {test.pvalues[0]:.2g} for the "
        f"first pick (the least there can be is {1 / (n + 1):.2g}). Those of later picks ask "
        "whether anything is related at all, not whether they add to the ones before."
    )
