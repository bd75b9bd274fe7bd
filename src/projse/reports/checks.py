"""Checks of a selection: what a reader should know before deciding by it, in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.estimators.caveats import pvalue_caveats
from projse.estimators.variable_columns import alone, variable_of_column
from projse.moments.leverage import few_rows_by_extremes
from projse.moments.rounding import squared_norms
from projse.moments.sums import Moments
from projse.reports.running import running_numbers
from projse.reports.variables import dropped_variables
from projse.warn import many

Array = NDArray[Any]

TIE = 1e-10
"""Relative gap below which the order of the columns decides."""

CLOSE = 0.01
"""Relative gap below which slightly other rows may decide otherwise."""

CHANCE_SHARE = 0.2
"""Share of an unrelated variable that may be explained by chance before there are too few rows."""

COPY = 1e-9
"""Two columns are copies when their squared correlation differs from 1 by less."""

COPIES_COLUMNS = 8192
"""Beyond this many candidates copies are not looked for: all pairs would take too long."""


@dataclass(frozen=True)
class Check:
    """What was looked at and what was found.

    ``status`` is "look" (worth a look), "fine" or "unknown" (could not be told); ``names`` are
    variables concerned, at most :data:`LISTED` of ``n_names``.
    """

    status: str
    title: str
    text: str
    names: tuple[str, ...] = ()
    n_names: int = 0


LISTED = 12


def checks(
    selector: Any,
    names: Sequence[str],
    *,
    cv: Any = None,
    stability: Any = None,
    permutations: Any = None,
) -> list[dict[str, Any]]:
    """Look at a fitted ``ProjSe``, and at what cross-validation and resamples say of it.

    Parameters
    ----------
    selector : ProjSe
        Fitted.
    names : sequence of str
        Of all candidates.
    cv : ProjSeCV or None
    stability : StabilityProjSe or None
    permutations : PermutationTest or None

    Returns
    -------
    list of dict
        Fields of a :class:`Check`; those worth a look first.
    """
    moments = getattr(selector, "moments_", None)
    found = [
        _few_rows(selector, moments),
        _constant(selector, moments, names),
        _copies(selector, moments, names),
    ]
    identifiers = _identifiers(selector, moments, names)
    running = _running(selector, moments, names)
    found += [check for check in (identifiers, running) if check is not None]
    if len(selector.selected_):
        found = [
            *_order(selector, names),
            _chance(selector, moments, names),
            _used_up(selector),
            _single_rows(selector, moments, names),
            *found,
        ]
    else:
        found.append(_nothing(selector))
    if cv is not None:
        found.append(_predicts(cv))
    if stability is not None and len(selector.selected_):
        found.append(_comes_back(selector, stability, names))
    if permutations is not None:
        found.append(_shuffled(selector, permutations, names))
    order = ("look", "unknown", "fine")
    found.sort(key=lambda check: order.index(check.status))
    return [asdict(check) | {"names": list(check.names)} for check in found]


def _concerning(
    status: str, title: str, text: str, indices: Iterable[Any], names: Sequence[str]
) -> Check:
    """Name the variables that a check is about."""
    every = [names[int(j)] for j in indices]
    return Check(status, title, text, tuple(every[:LISTED]), len(every))


def _nothing(selector: Any) -> Check:
    text = "No variable was selected: nothing that may be picked tells anything about the outputs."
    if selector.n_features_to_select == "auto":
        text = (
            "No variable was selected: the best candidate's p-value is above "
            f"{selector.significance:g}. As many unrelated ones would do as well by chance."
        )
    return Check("look", "Nothing selected", text)


def _order(selector: Any, names: Sequence[str]) -> list[Check]:
    """Ties, and picks that were close calls."""
    margins = np.where(selector.rounds_ > 0, selector.margins_, np.nan)
    tied, close = margins <= TIE, (margins > TIE) & (margins < CLOSE)
    result = []
    if tied.any():
        text = (
            f"{_picks(tied.sum())} scored exactly as the runner-up. The data do not decide between "
            "them: the column that comes first in the table was taken."
        )
        result.append(_concerning("look", "Ties", text, selector.selected_[tied], names))
    if close.any():
        text = (
            f"The runner-up came within 1 % of the score of {_picks(close.sum())}. Slightly other "
            "rows may turn the order; look at the stand-ins before you build on a single one."
        )
        result.append(_concerning("look", "Close calls", text, selector.selected_[close], names))
    if not result:
        text = "Every pick is at least 1 % ahead of its runner-up."
        result.append(Check("fine", "Ties and close calls", text))
    return result


def _chance(selector: Any, moments: Moments | None, names: Sequence[str]) -> Check:
    title, level = "Chance", selector.significance
    pvalues = selector.pvalues_
    if np.isnan(pvalues).all():
        text = (
            "There are no p-values: they need the linear kernel, centred variables, outputs to "
            "explain, and more rows than the outputs have dimensions."
        )
        return Check("unknown", title, text)
    caveat = "" if moments is None else " ".join(pvalue_caveats(selector, moments, names))
    weak = pvalues > level
    if not weak.any():
        text = (
            f"All p-values are at most {level:g}: chance alone would hardly explain as much. This "
            "holds for rows that are independent of each other and without extreme values."
        )
        return Check("look" if caveat else "fine", title, f"{text} {caveat}".strip())
    text = (
        f"{_picks(weak.sum())} may be chance: the best of as many unrelated variables would be "
        f"explained as well in more than {100 * level:g} % of cases. {caveat}".rstrip()
    )
    return _concerning("look", title, text, selector.selected_[weak], names)


def _used_up(selector: Any) -> Check:
    title = "Room in the outputs"
    rank, n = int(selector.reference_rank_), int((selector.rounds_ > 0).sum())
    asked = selector.n_features_to_select
    if isinstance(asked, int) and len(selector.selected_) < asked:
        text = (
            f"{len(selector.selected_)} of the {asked} variables that were asked for: nothing "
            "that is left adds to them."
        )
        return Check("look", title, text)
    if n > rank:
        text = (
            f"The outputs have {many(rank, 'direction')} and there are {_picks(n)}: those after "
            f"number {rank} explain what the first left over, which is less and less certain."
        )
        return Check("look", title, text)
    text = f"{_picks(n)} for outputs of {many(rank, 'direction')}: the space was not used up."
    return Check("fine", title, text)


def _few_rows(selector: Any, moments: Moments | None) -> Check:
    title = "Rows for the outputs"
    if moments is None or moments.one_view:
        why = "one view has no outputs" if moments is not None else "the fit kept no moments"
        return Check("unknown", title, f"Not looked at: {why}.")
    rank, n = int(selector.reference_rank_), moments.n_samples
    chance = min(1.0, rank / max(n - 1, 1))
    share = f"{100 * chance:.2g} %"
    if chance >= CHANCE_SHARE:
        text = (
            f"{n:,} rows are few for outputs of {many(rank, 'direction')}: chance alone "
            f"explains about {share} of any variable (less with a ridge). Scores flatter; trust "
            "the order more than the values, and check on other rows."
        )
        return Check("look", title, text)
    text = f"{n:,} rows: of an unrelated variable, chance explains about {share}."
    return Check("fine", title, text)


def _single_rows(selector: Any, moments: Moments | None, names: Sequence[str]) -> Check:
    title = "Leverage of single rows"
    if moments is None or moments.x_min is None or moments.x_max is None:
        text = "Not looked at again: the fit kept no extremes. Had it found any, it has warned."
        return Check("unknown", title, text)
    variable_of = variable_of_column(selector, moments)
    single = alone(variable_of)
    columns = np.flatnonzero(single & np.isin(variable_of, selector.selected_))
    few = few_rows_by_extremes(
        moments, columns, moments.x_min[columns], moments.x_max[columns], center=selector.center
    )
    picks = variable_of[columns]
    if not few.any() and len(columns) < len(selector.selected_):
        text = (
            "Not looked at again for picks of several columns. Had the fit found that any rests on "
            "one or two rows, it has warned."
        )
        return Check("unknown", title, text)
    if not few.any():
        return Check("fine", title, "No pick rests on one or two rows.")
    text = (
        f"A single row makes up more than 40 % of {_picks(few.sum())}, which will hardly hold for "
        "other rows. Look at those rows: an error of measurement, or the one case that matters?"
    )
    return _concerning("look", title, text, picks[few], names)


def _constant(selector: Any, moments: Moments | None, names: Sequence[str]) -> Check:
    title = "Constant columns"
    if moments is None:
        return Check("unknown", title, "Not looked at: the fit kept no moments.")
    changing = squared_norms(moments, "X", center=True) > 0
    constant = np.setdiff1d(np.arange(len(names)), variable_of_column(selector, moments)[changing])
    constant = np.setdiff1d(constant, dropped_variables(selector, moments))
    if not constant.size:
        return Check("fine", title, "No candidate is constant.")
    text = f"{many(constant.size, 'candidate')} without any change: there is nothing to explain."
    return _concerning("look", title, text, constant, names)


def _identifiers(selector: Any, moments: Moments | None, names: Sequence[str]) -> Check | None:
    """Name columns of labels that were left out; nothing where labels were not looked at."""
    if moments is None or moments.x_variables is None:
        return None
    found = dropped_variables(selector, moments)
    title = "Identifiers"
    if not found.size:
        return Check("fine", title, "No column of labels looks like an identifier.")
    text = (
        f"{many(found.size, 'candidate')} with a label of its own in every row, or nearly. An "
        "identifier tells nothing about other rows, and is never picked. If it is a number in "
        "quotes, or has levels that belong together, mend that first."
    )
    return _concerning("look", title, text, found, names)


def _running(selector: Any, moments: Moments | None, names: Sequence[str]) -> Check | None:
    """Name columns that number the rows; nothing where there are none."""
    columns = () if moments is None else running_numbers(moments)
    if not len(columns):
        return None
    assert moments is not None
    found = variable_of_column(selector, moments)[columns]
    text = (
        f"{many(len(found), 'candidate')} of whole numbers that follow each other, one a row: the "
        "number of the row, or an identifier. What it explains is the order of the rows, such as "
        "time. If that is not of interest, leave it out."
    )
    return _concerning("look", "Running numbers", text, found, names)


def _copies(selector: Any, moments: Moments | None, names: Sequence[str]) -> Check:
    title = "Duplicate columns"
    if moments is None or moments.xx is None or moments.n_x > COPIES_COLUMNS:
        text = "Not looked for: the fit kept no products of all candidates with each other."
        return Check("unknown", title, text)
    variable_of = variable_of_column(selector, moments)
    copies = variable_of[copies_of_earlier(moments, alone(variable_of))]
    if not copies.size:
        return Check("fine", title, "No candidate is a copy of another.")
    text = (
        f"{many(copies.size, 'candidate')} that repeat an earlier column, but for unit and "
        "sign. Which of the copies is picked is not for the data to say."
    )
    return _concerning("look", title, text, copies, names)


def copies_of_earlier(
    moments: Moments, columns: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """Tell which of some columns correlate perfectly with one of them that comes before."""
    assert moments.xx is not None
    norms = np.sqrt(squared_norms(moments, "X", center=True))
    if columns is not None:
        norms = np.where(columns, norms, 0.0)
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    found = np.zeros(moments.n_x, dtype=bool)
    for start in range(0, moments.n_x, 256):
        rows = np.arange(start, min(start + 256, moments.n_x))
        r2 = (moments.xx[rows] * scale[rows, None] * scale) ** 2
        earlier = np.arange(moments.n_x) < rows[:, None]
        found[rows] = ((r2 > 1 - COPY) & earlier).any(axis=1)
    return found


def _shuffled(selector: Any, test: Any, names: Sequence[str]) -> Check:
    title, level = "Shuffled outputs", selector.significance
    n = f"{test.n_permutations:,} shuffles of the outputs"
    weak = test.pvalues > level
    if not weak.any():
        text = f"Of {n}, at most {100 * test.pvalues.max():.2g} % gave picks that score as high."
        if len(test.pvalues) > 1:
            text += " For later picks that says that something is related, not what they add."
        return Check("fine", title, text)
    text = (
        f"{_picks(weak.sum())} no better than what more than {100 * level:g} % of {n} gave at the "
        "same place. The p-value of the first pick is the one to go by."
    )
    return _concerning("look", title, text, test.selected[weak], names)


def _predicts(cv: Any) -> Check:
    title = "Prediction of other rows"
    score = f"{cv.best_score_:.3g}"
    if cv.predicts_ is False:
        text = (
            f"Nothing that was tried clearly predicts held-out rows better than their mean does "
            f"(score {score}). Take the picks as a description of these rows only."
        )
        return Check("look", title, text)
    text = (
        f"Mean held-out score of the choice: {score}. It is the best of many and flatters a "
        "little; judge a final model on rows that no one has seen."
    )
    return Check("fine", title, text)


def _comes_back(selector: Any, stability: Any, names: Sequence[str]) -> Check:
    title = "Other rows, same variables?"
    frequency = stability.selection_frequencies_[selector.selected_]
    rare = frequency < stability.threshold
    share = f"{100 * stability.threshold:.3g} %"
    if not rare.any():
        return Check("fine", title, f"Every pick comes back in at least {share} of the resamples.")
    text = (
        f"{_picks(rare.sum())} found again in less than {share} of the resamples: with other rows "
        "they would hardly be the same."
    )
    return _concerning("look", title, text, selector.selected_[rare], names)


def _picks(n: Any) -> str:
    return many(int(n), "pick")
