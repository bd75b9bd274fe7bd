"""Options that the commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

N_PIXELS = 32
"""Of half an image of the demo, which picks from them."""


class Kernel(StrEnum):
    """Kernels between variables."""

    linear = "linear"
    poly = "poly"
    rbf = "rbf"


class Exhausted(StrEnum):
    """What happens once the reference space is used up."""

    residual = "residual"
    restart = "restart"
    stop = "stop"


class Format(StrEnum):
    """Formats of files."""

    parquet = "parquet"
    feather = "feather"
    arrow = "arrow"
    csv = "csv"
    npy = "npy"


class StateBy(StrEnum):
    """What tells that a file has changed."""

    time = "time"
    content = "content"


class Missing(StrEnum):
    """What to do with gaps."""

    refuse = "refuse"
    drop = "drop"
    indicator = "indicator"
    mean = "mean"


class Basis(StrEnum):
    """What a number stands for."""

    linear = "linear"
    spline = "spline"


def option(*names: str, help: str, **more: Any) -> Any:
    """Return an option of the command."""
    return typer.Option(*names, help=help, **more)


def number_or_auto(text: str) -> float | str:
    """Read a number, or auto."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no number, and not 'auto'.") from None


def whole_or_auto(text: str) -> int | str:
    """Read a whole number above 0, or auto."""
    if text == "auto":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise typer.BadParameter(f"{text!r} is no whole number above 0, and not 'auto'.")
    return int(text)


DATA = typer.Argument(
    metavar="DATA",
    help="Parquet, Feather/Arrow, CSV or .npy files; a folder of them; a quoted glob.",
    show_default=False,
)
Targets = Annotated[
    list[str] | None,
    option(
        "--targets",
        "-t",
        metavar="NAMES",
        help="Columns to explain: names or patterns, 'y_*' or a,b,c. May be repeated. A name with "
        "a comma goes in double quotes, here and elsewhere: '\"height, cm\",b'.",
    ),
]
Features = Annotated[
    list[str] | None,
    option(
        "--features",
        "-f",
        metavar="NAMES",
        help="Columns to choose from; without it, all but the targets.",
    ),
]
Exclude = Annotated[
    list[str] | None,
    option("--exclude", "-x", metavar="NAMES", help="Columns to leave out: names or patterns."),
]
Group = Annotated[
    list[str] | None,
    option(
        "--group",
        "-g",
        metavar="NAME=COLUMNS",
        help="Columns that are picked or left as a whole: 'city=city_*' or 'size=a,b'. May be "
        "repeated.",
    ),
]
Weight = Annotated[
    str | None,
    option("--weight", "-w", metavar="NAME", help="Column of row weights."),
]
ClassTarget = Annotated[
    str | None,
    option("--class", "-c", metavar="NAME", help="Column of class labels to explain."),
]
Covariates = Annotated[
    list[str] | None,
    option(
        "--covariates",
        metavar="NAMES",
        help="Columns to take out of all others first (age, sex, batch): names or patterns.",
    ),
]
OneView = Annotated[bool, option("--one-view", help="No targets: the columns explain each other.")]
WithXX = Annotated[
    bool | None,
    option(
        "--with-xx/--without-xx",
        help="Sum the products of all candidates, for more picks than targets; default: where "
        "that is cheaper than to read the data again for products of the picks, and with --state "
        "and in 'build' for up to 512 candidates.",
    ),
]
Paper = Annotated[
    bool,
    option(
        "--paper",
        help="The paper's form: no ridges, and conditioning on the picks only once the targets are "
        "used up. The next three options still count.",
    ),
]
Alpha = Annotated[
    Any,
    option(
        "--alpha",
        metavar="A",
        parser=number_or_auto,
        help="Ridge on the targets: a number, or auto (default).",
    ),
]
Redundancy = Annotated[
    Any,
    option(
        "--redundancy",
        metavar="SHARE",
        parser=number_or_auto,
        help="Share of its score that a copy of a pick keeps, from 0 to 1, or auto (default).",
    ),
]
RoundSize = Annotated[
    Any,
    option(
        "--round-size",
        metavar="N",
        parser=whole_or_auto,
        help="Condition on the picks after this many, or auto (default).",
    ),
]
Fdr = Annotated[
    float | None,
    option(
        "--fdr",
        metavar="LEVEL",
        help="Find the columns that matter, with at most this share of false ones expected among "
        "them (0.1, say), instead of a number of picks.",
    ),
]
Cv = Annotated[
    int | None,
    option(
        "--cv",
        metavar="[FOLDS]",
        min=2,
        help="Choose how many by cross-validation, of 5 folds if no number follows; -k is then the "
        "most to try. Folds are runs of files where there are enough, else rows dealt at random.",
    ),
]
Stability = Annotated[
    int | None,
    option(
        "--stability",
        metavar="[N]",
        min=2,
        help="Select again from N resamples of half the rows (100), and show what comes back.",
    ),
]
Permutations = Annotated[
    int | None,
    option(
        "--permutations",
        metavar="[N]",
        min=1,
        help="Test against N shuffles of the targets (999); rows are held in memory for it.",
    ),
]
NUMBERS = {"--cv": "5", "--stability": "100", "--permutations": "999"}
"""Options whose number may be left out, and what it is then."""


def with_numbers(arguments: list[str]) -> list[str]:
    """Put in the numbers that were left out: 'select --cv DATA' means 'select --cv 5 DATA'."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    result: list[str] = []
    for place, word in enumerate(arguments[:end]):
        result.append(word)
        follows = arguments[place + 1] if place + 1 < end else ""
        if word in NUMBERS and not follows.lstrip("-").isdecimal():
            result.append(NUMBERS[word])
    return result + arguments[end:]


Draws = Annotated[int, option("--draws", min=1, help="Draws of twins for --fdr.")]
Seed = Annotated[
    int,
    option(
        "--seed",
        min=0,
        help="Of what is drawn at random: --fdr, --cv, --stability, --permutations.",
    ),
]
DropMissing = Annotated[bool, option("--drop-missing", help="The same as --missing drop.")]
Gaps = Annotated[
    Missing,
    option(
        "--missing",
        help="Missing values: an error; leave out rows that have any; make the gap a part of its "
        "column; or fill in the mean.",
    ),
]
Markers = Annotated[
    list[str] | None,
    option(
        "--na",
        metavar="MARKERS",
        help="What stands for a missing value in CSV files beside NA, NaN, null and nothing: '?' "
        "or '?,-,missing'. May be repeated.",
    ),
]
Curves = Annotated[
    Basis,
    option("--basis", help="Numbers as they are, or as small splines, which find curved effects."),
]
Categorical = Annotated[
    list[str] | None,
    option(
        "--categorical",
        metavar="NAMES",
        help="Columns of numbers that are categories (codes), covariates too: names or patterns. "
        "Strings and booleans are in any case.",
    ),
]
NumericOnly = Annotated[
    bool, option("--numeric-only", help="Leave out columns that are not numbers.")
]
FileFormat = Annotated[
    Format | None, option("--format", help="Format of the files, if their names do not tell.")
]
State = Annotated[
    str | None,  # Path("") would be the current folder
    option(
        "--state",
        metavar="DIR",
        help="Keep the sums of each file here: go on after a crash, add new files at their "
        "own cost.",
    ),
]
By = Annotated[
    StateBy, option("--state-by", help="Tell changed files by size and time, or by content.")
]
Jobs = Annotated[int | None, option("--jobs", "-j", help="Threads; -1 for all cores.")]
Quiet = Annotated[bool, option("--quiet", "-q", help="No progress bar.")]
Debug = Annotated[bool, option("--debug", help="Show the traceback when something fails.")]
Output = Annotated[Path, option("--output", "-o", metavar="FILE", help="File of moments to write.")]
FILES = typer.Argument(metavar="FILES", help="Files of moments.", show_default=False)
