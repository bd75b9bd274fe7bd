"""``projse moments``: build, merge, subtract and look at files of moments."""

from functools import reduce
from pathlib import Path
from typing import Any

from projse.cli.names import n_candidates, names_of
from projse.cli.read import Reading, load_disjoint, load_moments
from projse.cli.table import print_prose, warnings_as_notes
from projse.cli.text import json_text
from projse.cli.write import STDOUT, place_to_write, room_for, write_text
from projse.kernels.combined_references import combined_references
from projse.moments.stream import moments_from
from projse.moments.sums import Moments
from projse.warn import many


def build(reading: Reading, output: Path, jobs: int | None) -> None:
    """Sum rows into a file of moments."""
    place = place_to_write(output, reading.files(), reading.source.state, regular=True)
    reading.refuse_among_data(output)
    with warnings_as_notes():
        moments = reading.run(
            lambda report: moments_from(
                reading.data,
                target_type="continuous",
                n_jobs=jobs,
                progress=report,
                **reading.options,
                **reading.encoding,
            )
        )
    with room_for(place):
        moments.save(place)
    _say(f"{reading.summary(moments)}. {output}: {describe(moments)}")


def merge(files: list[str], output: Path) -> None:
    """Add moments of disjoint rows: a month is the sum of its days."""
    place = place_to_write(output, files, regular=True)
    total = reduce(Moments.__add__, load_disjoint(files))
    with room_for(place):
        total.save(place)
    _say(f"{output}: {describe(total)}")


def subtract(whole: str, files: list[str], output: Path) -> None:
    """Take rows out again."""
    place = place_to_write(output, [whole, *files], regular=True)
    (rest,) = load_moments([whole])
    rest = reduce(Moments.__sub__, load_disjoint(files), rest)
    with room_for(place):
        rest.save(place)
    _say(f"{output}: {describe(rest)}")


def info(files: list[str], as_json: bool) -> None:
    """Show what files of moments hold."""
    from rich.console import Console

    found = dict(zip(files, load_moments(files), strict=True))
    if as_json:
        records = [{"file": name, **as_dict(moments)} for name, moments in found.items()]
        write_text(STDOUT, json_text(records))
        return
    console = Console(highlight=False)
    for name, moments in found.items():
        names, n, n_given = moments.target_names, moments.n_references, moments.n_covariates
        facts = {
            "file": f"{name} ({Path(name).stat().st_size:,} bytes)",
            "rows": f"{moments.n_samples:,}",
            "sum of weights": f"{moments.sum_weights:,.6g}",
            "candidates": _candidates(moments),
            "references": "one view"
            if moments.one_view
            else _some(n, None if names is None else names[:n]),
            "class labels": "no" if moments.classes is None else "yes",
            "multiplied in": "float32" if moments.eps > 1e-10 else "float64",
            "products of candidates": "kept" if moments.xx is not None else "not kept",
        }
        if n_given:
            facts["covariates"] = _some(n_given, None if names is None else names[-n_given:])
        width = max(map(len, facts)) + 2
        for title, fact in facts.items():
            print_prose(console, f"{title.ljust(width)}{fact}")


def as_dict(moments: Moments) -> dict[str, Any]:
    """Return the facts about moments as plain values."""
    names, n = moments.target_names, moments.n_y - moments.n_covariates
    return {
        "n_rows": moments.n_samples,
        "sum_weights": moments.sum_weights,
        "n_candidates": n_candidates(moments),
        "features": None if moments.feature_names is None else names_of(moments),
        "n_columns": moments.n_x,
        "one_view": moments.one_view,
        "targets": None if names is None else list(names[:n]),
        "n_covariates": moments.n_covariates,
        "covariates": None if names is None else list(names[n:]),
        "class_labels": moments.classes is not None,
        "with_xx": moments.xx is not None,
        "eps": moments.eps,
    }


def describe(moments: Moments) -> str:
    """Say in a few words what moments hold."""
    rows, candidates = many(moments.n_samples, "row"), many(moments.n_x, "candidate")
    return f"moments of {rows}, {candidates}, {references_of(moments)}"


def references_of(moments: Moments) -> str:
    """Say in a few words what is explained, and given what."""
    moments = combined_references(moments)
    what = "one view" if moments.one_view else many(moments.n_references, "reference")
    if moments.classes is not None:
        what = many(moments.n_references, "class")
    n = moments.n_covariates
    return what + (f" given {many(n, 'covariate')}" if n else "")


def references_by_name(moments: Moments) -> dict[str, list[str] | None]:
    """Return the names of what is explained, and of what is taken out first."""
    moments = combined_references(moments)
    names, n = moments.target_names or (), moments.n_y - moments.n_covariates
    return {
        "references": None if moments.one_view else list(names[:n]),
        "covariates": list(names[n:]) if moments.n_covariates else [],
    }


def _candidates(moments: Moments) -> str:
    """Say what can be selected, and how many columns of an encoded table that makes."""
    if moments.x_variables is None:
        return _some(moments.n_x, moments.feature_names)
    names = moments.x_variables.names
    return f"{_some(len(names), names)} ({moments.n_x} columns once encoded)"


def _some(n: int, names: tuple[str, ...] | None) -> str:
    if names is None:
        return f"{n}, without names"
    shown = ", ".join(names[:4]) + (", …" if n > 4 else "")
    return f"{n}: {shown}"


def _say(line: str) -> None:
    from rich.console import Console

    print_prose(Console(highlight=False), line)
