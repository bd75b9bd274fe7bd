"""``projse select --fdr``: which variables are real, at a bounded rate of false discoveries."""

from typing import Any

from projse.cli.excluded import excluded
from projse.cli.moments import references_by_name
from projse.cli.names import n_candidates, names_of
from projse.cli.read import Reading, load_disjoint, moments_files, say
from projse.cli.select import csv_text, places
from projse.cli.table import Column, decimal, print_prose, table, warnings_as_notes
from projse.cli.text import json_text, shown
from projse.cli.write import Destinations, is_terminal, write_text
from projse.estimators.knockoffs import KnockoffProjSe
from projse.estimators.projse import ProjSe
from projse.warn import many

KEYS = ("rank", "name", "index", "group", "e_value", "statistic", "frequency")


def discover(
    reading: Reading,
    parameters: dict[str, Any],
    knockoffs: dict[str, Any],
    destinations: Destinations,
) -> None:
    """Read, find, and show or write what was found."""
    where_to = places(reading, destinations)
    selector = ProjSe(**parameters)
    found = KnockoffProjSe(selector, n_jobs=selector.n_jobs, **knockoffs)
    with warnings_as_notes():
        if moments_files(reading.data):
            blocks = load_disjoint(reading.data)
            selector.set_params(exclude=excluded(blocks[0], reading, None)[0])
            found.fit_moments(blocks)
        else:
            selector.set_params(missing=reading.source.missing, **reading.encoding)
            reading.run(
                lambda report: found.fit_source(reading.data, progress=report, **reading.options)
            )
    summary = reading.summary(found.moments_)
    for option, place in where_to.items():
        text = json_text(as_dict(found, reading))
        if option == "--csv":
            text = csv_text(KEYS, records(found), for_terminal=is_terminal(place))
        write_text(place, text)
    if destinations.to_stdout:
        if not reading.quiet:
            say(summary)
        return
    _print(found, summary)


def records(found: KnockoffProjSe) -> list[dict[str, Any]]:
    """One record a discovery, the most convincing first."""
    names = names_of(found.moments_)
    return [
        {
            "rank": place,
            "name": names[j],
            "index": int(j),
            "group": int(found.groups_[j]),
            "e_value": float(found.evalues_[j]),
            "statistic": float(found.statistics_[j]),
            "frequency": float(found.selection_frequencies_[j]),
        }
        for place, j in enumerate(found.selected_, 1)
    ]


def as_dict(found: KnockoffProjSe, reading: Reading) -> dict[str, Any]:
    """Everything a program may want to know about the discoveries."""
    from projse import __version__

    moments = found.moments_

    def finite(value: float) -> float | None:
        return float(value) if abs(value) < float("inf") else None

    return {
        "projse": __version__,
        "data": reading.data,
        "fdr": found.fdr,
        "n_draws": found.n_draws,
        "n_twins": found.n_twins_,
        "random_state": found.random_state,
        "holds": holds(found),
        "threshold": finite(found.threshold_),
        "stability": finite(found.stability_),
        "agreement": finite(found.agreement_),
        "n_rows": moments.n_samples,
        "n_candidates": n_candidates(moments),
        "n_variables": found.n_variables_,
        **references_by_name(moments),
        "discoveries": records(found),
    }


def holds(found: KnockoffProjSe) -> str:
    """Say what the bound rests on."""
    bound = f"At most {found.fdr:.0%} of the discoveries are expected to be false"
    if found.moments_.classes is not None:
        return f"{bound}: about, since class labels have no normal errors; rows independent."
    return f"{bound}, if errors are normal and rows independent."


def _twins(n: int) -> str:
    return "twins" if n == 1 else f"{n} twins a variable"


def _print(found: KnockoffProjSe, summary: str) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    lines = records(found)
    columns = [
        Column("rank", [str(line["rank"]) for line in lines]),
        Column("name", [shown(line["name"]) for line in lines], right=False),
        Column("e-value", [f"{line['e_value']:.1f}" for line in lines]),
        Column("ahead", [f"{line['statistic']:.2f}" for line in lines]),
        Column("of draws", [f"{line['frequency']:.0%}" for line in lines]),
    ]
    in_groups = found.n_variables_ < (found.groups_ >= 0).sum()
    if in_groups:
        columns.append(Column("group", [str(line["group"]) for line in lines]))
    while len(columns) > 2 and sum(c.width + 3 for c in columns) - 3 > console.width:
        columns.pop()
    if lines:
        console.print(table(columns))
        console.print()
    n = len({line["group"] for line in lines})
    what = (
        "variables"
        if not in_groups
        else "variables (columns that cannot be told apart count as one)"
    )
    print_prose(console, f"{n} of {found.n_variables_} {what} found. {holds(found)}")
    if found.n_draws > 1:
        print_prose(
            console,
            f"{found.n_draws} draws of {_twins(found.n_twins_)}; both halves of them agree on "
            f"{found.agreement_:.0%} of what either finds. Stability of a single draw: "
            f"{decimal(found.stability_)}.",
        )
    print_prose(console, f"{summary}: {many(n_candidates(found.moments_), 'candidate')}.")
