"""Gather what a report shows from fitted selectors: plain numbers and text, ready for JSON."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from projse.estimators.cross_validation import ProjSeCV
from projse.estimators.frequencies import wilson_interval
from projse.estimators.permutation import PermutationTest
from projse.estimators.results import output_names
from projse.exceptions import ProductsMissingError
from projse.kernels.combined_references import combined_references
from projse.reports.checks import CLOSE, TIE, checks
from projse.reports.fingerprint import (
    in_python,
    moments_hash,
    names_hash,
    parameters,
    versions,
)
from projse.reports.refuse import refuse_other_test, refuse_others
from projse.reports.variables import columns_of_picks

Array = NDArray[Any]

STAND_INS = 3
"""Stand-ins that are shown for a pick."""

STAND_INS_FLOPS = 2e10
"""Each pick is left out in turn; where that takes more than about half a minute, none are shown."""

WHITENING_FLOPS = 1e5
"""What it takes to whiten a variable of several columns, in the time of flops."""

EXPLAINED_CELLS = 100_000
"""Picks times outputs of the map; of more, the outputs that are explained best."""

SEARCHED_LETTERS = 500_000
"""Names of candidates that were not picked are kept for the search up to this length in all."""

FREQUENCIES = 100
"""Variables whose selection frequency is shown, the most frequent."""


def gather(
    selector: Any,
    *,
    cv: Any = None,
    stability: Any = None,
    permutations: PermutationTest | None = None,
    command: str | None = None,
    notes: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return everything that the page shows.

    Parameters
    ----------
    selector : ProjSe, or ProjSeCV
        Fitted.
    cv : ProjSeCV or None
    stability : StabilityProjSe or None
    permutations : PermutationTest or None
        Of the same picks.
    command : str or None
        The command line that this came from.
    notes : tuple of str
        Warnings of the fit.

    Returns
    -------
    dict
        Of str, int, float, bool, None, and lists and dicts of them; no NaN.
    """
    given = selector
    if isinstance(selector, ProjSeCV):
        check_is_fitted(selector)
        selector, cv = selector.selector_, selector if cv is None else cv
    refuse_others(selector, cv, stability)
    refuse_other_test(selector, permutations)
    moments = getattr(selector, "moments_", None)
    names = [str(name) for name in selector.variable_names_]
    explained = _explained(selector, moments)
    stand_ins, left_out = _stand_ins(selector)
    if explained is None:
        left_out.append("What each pick explains is not shown: this fit did not sum what it needs.")
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "summary": _summary(selector, len(names), moments, explained),
        "picks": _picks(selector, moments, names, stand_ins, stability),
        "not_picked": _not_picked(selector, names),
        "explained": explained,
        "has_stand_ins": stand_ins is not None and any(stand_ins),
        "left_out": left_out,
        "checks": checks(selector, names, cv=cv, stability=stability, permutations=permutations),
        "notes": list(dict.fromkeys(notes)),
        "cv": None if cv is None else _curves(cv),
        "stability": None if stability is None else _frequencies(stability, selector, names),
        "repeat": {
            "command": command,
            "python": in_python(
                selector=given, cv=None if cv is given else cv, stability=stability
            ),
            "parameters": parameters(selector),
            "data": _data(selector, moments),
            "versions": versions(),
        },
    }


def _summary(
    selector: Any, n_candidates: int, moments: Any, explained: dict[str, Any] | None
) -> dict[str, Any]:
    kind = "outputs"
    if moments is not None and moments.one_view:
        kind = "one view"
    elif moments is not None and moments.classes is not None:
        kind = "classes"
    n_columns = None if moments is None else int(combined_references(moments).n_references)
    given = None if moments is None else (moments.encoding or {}).get("y")  # of a table
    return {
        "n_picks": len(selector.selected_),
        "n_candidates": n_candidates,
        "n_outputs": n_columns if given is None else len(given["plans"]),
        "n_output_columns": n_columns,
        "n_rows": None if moments is None else int(moments.n_samples),
        "kind": kind,
        "rank": int(selector.reference_rank_),
        "kernel": selector.kernel if isinstance(selector.kernel, str) else "callable",
        "explained": None if explained is None else explained["mean"],
        "significance": selector.significance,
    }


def _picks(
    selector: Any,
    moments: Any,
    names: list[str],
    stand_ins: list[list[dict[str, Any]]] | None,
    stability: Any,
) -> list[dict[str, Any]]:
    """One record a pick, in the order of selection."""
    columns_of = columns_of_picks(selector, moments)
    columns = zip(
        selector.selected_,
        selector.scores_,
        selector.correlations_,
        selector.margins_,
        selector.pvalues_,
        selector.rounds_,
        strict=True,
    )
    records = []
    for place, (index, score, correlation, margin, pvalue, round_) in enumerate(columns):
        included = round_ == 0
        record = {
            "rank": place + 1,
            "name": names[int(index)],
            "index": int(index),
            "score": number(score),
            "correlation": number(correlation),
            "margin": None if included else number(margin),
            "pvalue": number(pvalue),
            "round": int(round_),
            "stand_ins": [] if stand_ins is None else stand_ins[place],
            "flags": _flags(selector, margin, pvalue, included),
            **columns_of[place],
        }
        if stability is not None:
            record["frequency"] = number(stability.selection_frequencies_[index])
        records.append(record)
    return records


def _not_picked(selector: Any, names: list[str]) -> list[str] | None:
    """Return the candidates that were not picked, to be found by a search; None for very many."""
    picked = set(selector.selected_.tolist())
    others = [name for j, name in enumerate(names) if j not in picked]
    return others if sum(map(len, others)) <= SEARCHED_LETTERS else None


def _flags(selector: Any, margin: float, pvalue: float, included: bool) -> list[str]:
    """Mark a pick with what is to be said of it in a word."""
    if included:
        return ["given"]
    flags = []
    if margin <= TIE:
        flags.append("tie")
    elif margin < CLOSE:
        flags.append("close call")
    if pvalue > selector.significance:
        flags.append("may be chance")
    return flags


def _explained(selector: Any, moments: Any) -> dict[str, Any] | None:
    """Return what each pick adds to each output, where that can be told."""
    try:
        values = np.asarray(selector.explained_, dtype=np.float64)
    except AttributeError:  # it says so where products are missing
        return None
    # Of a constant output there is nothing to explain.
    known = np.isfinite(values.sum(axis=0, keepdims=True))[0]
    if moments is not None and moments.one_view:
        known[selector._picked.indices] = False  # picks explain themselves
    if not known.any() or not len(values):
        return None
    outputs = [str(name) for name in selector.output_names_]
    total = np.where(known, values.sum(axis=0), -np.inf)
    best = np.argsort(-total, kind="stable")[: known.sum()]
    kept = best[: max(1, EXPLAINED_CELLS // len(values))]
    return {
        "outputs": [outputs[j] for j in kept],
        "values": [[number(v) for v in row] for row in values[:, kept]],
        "total": [number(v) for v in total[kept]],
        "n_outputs": len(best),
        "mean": number(total[best].mean()),
        "along": [number(v) for v in values[:, best].mean(axis=1).cumsum()],
    }


def _stand_ins(selector: Any) -> tuple[list[list[dict[str, Any]]] | None, list[str]]:
    """Return variables left out that are closest to each pick, or why they are not shown."""
    k, n, rank = len(selector.selected_), len(selector.variable_names_), selector.reference_rank_
    flops = float(k) ** 2 * (n + 16 * k) + k * float(rank) ** 3
    picked = selector._picked
    if picked is not None and picked.grouped:
        flops += k * float(n) * WHITENING_FLOPS
    if flops > STAND_INS_FLOPS:
        text = f"Stand-ins of {k} picks among {n:,} candidates would take minutes; "
        return None, [text + "selector.stand_ins() finds them."]
    try:
        records = deque(selector.stand_ins(STAND_INS))
    except ProductsMissingError:
        return None, ["Stand-ins are not shown: this fit did not sum the products they need."]
    result: list[list[dict[str, Any]]] = []
    for pick in selector.selected_names_:  # two of them may have the same name
        found: list[dict[str, Any]] = []
        while records and records[0].pick == pick and len(found) < STAND_INS:
            record = records.popleft()
            closeness, keeps = number(record.closeness), number(record.keeps)
            found.append({"name": record.name, "closeness": closeness, "keeps": keeps})
        result.append(found)
    return result, []


def _curves(cv: Any) -> dict[str, Any]:
    """Held-out scores by number of variables, a curve for each entry of the grid."""
    results = cv.cv_results_
    texts = [_as_text(params) for params in results["params"]]
    curves: dict[str, list[dict[str, Any]]] = {text: [] for text in texts}
    columns = (results["n_features"], results["mean_test_score"], results["standard_error"])
    for text, n, mean, error in zip(texts, *columns, strict=True):
        point = {"n": int(n), "mean": number(mean), "error": number(error)}
        curves[text].append(point)
    return {
        "n_features": int(cv.n_features_),
        "score": number(cv.best_score_),
        "chosen": _as_text(cv.best_params_),
        "predicts": cv.predicts_,
        "rule": cv.rule,
        "n_splits": int(cv.n_splits_),
        "curves": [{"params": text, "points": points} for text, points in curves.items()],
    }


def _as_text(params: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in params.items()) or "as given"


def _frequencies(stability: Any, selector: Any, names: list[str]) -> dict[str, Any]:
    """Return selection frequencies with their intervals, and stability along the picks."""
    frequencies = stability.selection_frequencies_
    order = np.argsort(-frequencies, kind="stable")
    order = order[frequencies[order] > 0][:FREQUENCIES]
    picked = set(selector.selected_.tolist())
    n, level = int(stability.n_resamples), float(stability.confidence)
    low, high = wilson_interval(frequencies[order], n, level)
    return {
        "index": number(stability.stability_),
        "interval": [number(v) for v in stability.stability_interval_],
        "confidence": level,
        "threshold": float(stability.threshold),
        "n_resamples": n,
        "n_stable": len(stability.selected_),
        "expected_false": number(stability.expected_false_),
        "path": [number(v) for v in stability.stability_path_],
        "n_seen": int((frequencies > 0).sum()),
        "frequencies": [
            {
                "name": names[j],
                "frequency": number(frequencies[j]),
                "low": number(below),
                "high": number(above),
                "picked": int(j) in picked,
            }
            for j, below, above in zip(order, low, high, strict=True)
        ],
    }


def _data(selector: Any, moments: Any) -> dict[str, Any]:
    """Return marks to tell the data by."""
    features = getattr(selector, "feature_names_in_", None)
    targets = None if moments is None else output_names(moments)
    return {
        "names": names_hash(
            None if features is None else list(map(str, features)),
            None if targets is None else list(targets),
        ),
        "moments": None if moments is None else moments_hash(moments),
    }


def number(value: Any) -> float | None:
    """Return a number of six digits for JSON, or None where it is not finite."""
    return float(f"{float(value):.6g}") if np.isfinite(value) else None
