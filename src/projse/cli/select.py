"""``projse select``: pick variables from files, show them, and write them for other programs."""

import csv
import io
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

from projse.cli.excluded import excluded
from projse.cli.moments import references_by_name, references_of
from projse.cli.names import n_candidates, names_of
from projse.cli.read import Reading, load_disjoint, moments_files, say
from projse.cli.rows import HeldRows, rows_in_memory
from projse.cli.table import picks_table, print_new_rounds, print_prose, warnings_as_notes
from projse.cli.text import json_text, shown
from projse.cli.trust import (
    Asked,
    Found,
    finite,
    fit_blocks,
    load_folds,
    read_folds,
    shuffle_targets,
    total_of,
)
from projse.cli.write import STDOUT, Destinations, is_terminal, place_to_write, write_text
from projse.estimators.caveats import pvalue_caveats
from projse.estimators.projse import ProjSe
from projse.exceptions import ProductsMissingError, ProductsMissingWarning
from projse.reports.gather import gather
from projse.reports.page import page
from projse.warn import many


def select(
    reading: Reading,
    parameters: dict[str, Any],
    destinations: Destinations,
    asked: Asked | None = None,
) -> None:
    """Read, select, and show or write the picks."""
    asked = Asked() if asked is None else asked
    where_to = places(reading, destinations)
    with warnings_as_notes() as notes, _all_picks(), reading.told_what_is_kept():
        rows: HeldRows | None = None
        if asked.permutations is not None:  # first: where they do not fit, nothing else is done
            rows = rows_in_memory(reading, "--permutations")
        data = reading.data if rows is None else rows.parts
        found = _fit(reading, data, ProjSe(**parameters), asked)
        if rows is not None:
            shuffle_targets(found, rows, asked)
    summary = reading.summary(found.selector.moments_)
    for option, place in where_to.items():
        write_text(place, _text(option, place, found, reading, notes))
    if destinations.to_stdout:
        if not reading.quiet:
            say(summary)
        return
    _print(found, summary)


def _fit(reading: Reading, data: Any, selector: ProjSe, asked: Asked) -> Found:
    """Select from moments or from rows, in blocks where folds or resamples are asked for."""
    if moments_files(reading.data):
        blocks = load_folds(reading, asked) if asked.blocks else [load_disjoint(reading.data)]
        total = total_of(block for fold in blocks for block in fold)
        left_out, groups = excluded(total, reading, selector.groups)
        selector.set_params(exclude=left_out, groups=groups)
        if asked.blocks:
            return fit_blocks(selector, blocks, asked, by_file=True)
        return Found(selector.fit_moments(total))
    selector.set_params(missing=reading.source.missing, **reading.encoding)
    if asked.blocks:
        folds, by_file = read_folds(reading, data, asked, selector.n_jobs)
        return fit_blocks(selector, folds, asked, by_file=by_file)
    reading.run(lambda report: selector.fit_source(data, progress=report, **reading.options))
    return Found(selector)


def _text(option: str, place: str | Path, found: Found, reading: Reading, notes: list[str]) -> str:
    """Return what an option asks to be written."""
    if option == "--json":
        return json_text(as_dict(found, reading))
    if option == "--csv":
        return as_csv(found, for_terminal=is_terminal(place))
    gathered = gather(
        found.selector,
        cv=found.cv,
        stability=found.stability,
        permutations=found.permutations,
        command=_command(),
        notes=tuple(notes),
    )
    return page(gathered)


def _command() -> str:
    """Return the command as it can be typed again."""
    return shlex.join(["projse", *sys.argv[1:]])


@contextmanager
def _all_picks() -> Iterator[None]:
    """Fail where picks are missing only for want of the products of the candidates."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ProductsMissingWarning)
        try:
            yield
        except ProductsMissingWarning as warning:
            found = str(warning).split(":")[0]
            raise ProductsMissingError(
                f"{found}; for more, the products of the candidates with each other are needed: "
                "add --with-xx (with files of moments: build them with it), ask for fewer, or use "
                "--exhausted stop."
            ) from None


def variable_names(selector: Any) -> list[str]:
    """Names of what is selected from: groups, or candidates."""
    if hasattr(selector, "variables_"):
        return list(selector.variables_.names)
    return names_of(selector.moments_)


def picks_of(found: Found) -> list[dict[str, Any]]:
    """One record a pick, in the order of selection; with groups, also the columns of each."""
    selector = found.selector
    names = variable_names(selector)
    columns_of = _columns_of(selector)
    columns = zip(
        selector.selected_,
        selector.scores_,
        selector.correlations_,
        selector.margins_,
        selector.pvalues_,
        selector.rounds_,
        strict=True,
    )
    return [
        {
            "rank": place,
            "name": names[index],
            "index": int(index),
            "score": float(score),
            "correlation": float(correlation),
            "margin": finite(margin),
            "p_value": finite(pvalue),
            "round": int(round_),
            **{key: values[place - 1] for key, values in found.of_picks.items()},
            **columns_of(int(index)),
        }
        for place, (index, score, correlation, margin, pvalue, round_) in enumerate(columns, 1)
    ]


def _columns_of(selector: Any) -> Callable[[int], dict[str, Any]]:
    """Return what tells the columns of a variable, where there are groups."""
    if not hasattr(selector, "variables_"):
        return lambda index: {}
    names, variables = names_of(selector.moments_), selector.variables_
    return lambda index: {"columns": [names[j] for j in variables.columns_of(index)]}


def as_dict(found: Found, reading: Reading) -> dict[str, Any]:
    """Everything a program may want to know about a selection."""
    from projse import __version__

    selector = found.selector
    moments = selector.moments_
    last = reading.last
    return {
        "projse": __version__,
        "data": reading.data,
        "kernel": selector.kernel,
        "alpha": selector.alpha_,
        "redundancy": selector.redundancy_,
        "round_size": selector.round_size_,
        "n_rows": moments.n_samples,
        "n_rows_read": 0 if last is None else last.n_rows,
        "n_files": len(reading.data) if last is None else last.n_parts_total,
        "n_files_kept": 0 if last is None else last.n_kept,
        "n_passes": 0 if last is None else reading.n_passes,
        "seconds_reading": round(reading.seconds, 3),
        "n_candidates": n_candidates(moments),
        "n_variables": len(selector.ranking_),
        **references_by_name(moments),
        "reference_rank": int(selector.reference_rank_),
        **found.as_dict(),
        "picks": picks_of(found),
    }


PICK_KEYS = ("rank", "name", "index", "score", "correlation", "margin", "p_value", "round")


def as_csv(found: Found, *, for_terminal: bool = False) -> str:
    """Write the picks as CSV, one record a pick."""
    keys = (*PICK_KEYS, *found.of_picks)
    return csv_text(keys, picks_of(found), for_terminal=for_terminal)


def csv_text(keys: Iterable[str], records: list[dict[str, Any]], *, for_terminal: bool) -> str:
    """Write records that have a name; names are made safe for a terminal only."""
    header = list(keys)
    lines = [_record(header)]
    for record in records:
        name = shown(record["name"]) if for_terminal else _encodable(record["name"])
        lines.append(_record((record | {"name": name})[key] for key in header))
    return "".join(lines)


def _record(values: Iterable[Any]) -> str:
    r"""Write one record of CSV."""
    text = io.StringIO()
    # Python before 3.13 quotes a \r only where it is part of the end of a line.
    csv.writer(text, lineterminator="\r\n").writerow(values)
    return text.getvalue().removesuffix("\r\n") + "\n"


def _print(found: Found, summary: str) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    selector = found.selector
    moments = selector.moments_
    names = variable_names(selector)
    with_pvalues = selector.kernel == "linear" and not moments.one_view
    console.print(
        picks_table(
            console,
            selector,
            "name",
            [names[i] for i in selector.selected_],
            with_pvalues=with_pvalues,
            details=True,
            more=found.columns,
        )
    )
    print_new_rounds(console, selector)
    caveats = pvalue_caveats(selector, moments, names) if with_pvalues else []
    for line in [*caveats, *found.prose]:
        print_prose(console, line)
    references = references_of(moments)
    candidates = many(n_candidates(moments), "candidate")
    if hasattr(selector, "variables_"):
        candidates += f" in {many(selector.variables_.n, 'variable')}"
    print_prose(
        console,
        f"{summary}: {candidates}, {references} (rank {selector.reference_rank_}).",
    )


def _encodable(name: str) -> str:
    """Return a name that UTF-8 can hold; only what stands for other bytes is changed."""
    return name.encode("utf-8", "backslashreplace").decode()


def places(reading: Reading, destinations: Destinations) -> dict[str, str | Path]:
    """Return where each result goes, by its option; refuse places that hold what is needed."""
    written = [where for where in destinations.given.values() if where != STDOUT]
    inputs = reading.files() if written else []
    found: dict[str, str | Path] = {
        option: where if where == STDOUT else place_to_write(where, inputs, reading.source.state)
        for option, where in destinations.given.items()
    }
    for where in written:
        reading.refuse_among_data(where)
    for (one, place), (other, same) in combinations(found.items(), 2):
        if place == same:
            where = destinations.given[one]
            raise ValueError(f"{one} and {other} both go to {where}. Name two files.")
    return found
