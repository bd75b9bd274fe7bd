"""The ``projse`` command.

Typer and rich come with the optional extra ``cli`` and are imported only when the command runs,
so that ``import projse.cli`` works without them.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import numpy as np
import numpy.typing as npt

from projse import ProjSe, __version__

if TYPE_CHECKING:
    import typer
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

__all__ = ["main"]

SIDE = 8
HALF = SIDE // 2
N_CANDIDATES = SIDE * HALF

FAILED = 1

GAP = 3  # characters between two columns of a rich table in the style used here
BAR_WIDTHS = range(8, 25)
EIGHTHS = " ▏▎▍▌▋▊▉█"

FloatArray = npt.NDArray[np.float64]


class Kernel(StrEnum):
    """Kernels between variables that the demo offers."""

    linear = "linear"
    poly = "poly"
    rbf = "rbf"


@dataclass(frozen=True)
class Column:
    """One column of the table of picks: its title, its cells, how it is aligned."""

    title: str
    cells: list[str]
    right: bool = True

    @property
    def width(self) -> int:
        """Characters the widest cell needs."""
        return max(len(text) for text in (self.title, *self.cells))


def main() -> None:
    """Run the command line: 0 done, 1 failed, 2 bad usage."""
    try:
        app = _build_app()
    except ImportError:
        print('projse: this command needs the extra: pip install "projse[cli]"', file=sys.stderr)
        sys.exit(FAILED)
    app(prog_name="projse")


def _build_app() -> "typer.Typer":
    """Put the commands together; raises ImportError where Typer or rich is missing."""
    import rich  # noqa: F401  # missing rich is to be noticed before a command runs
    import typer

    app = typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )

    def show_version(wanted: bool) -> None:
        if wanted:
            typer.echo(f"projse {__version__}")
            raise typer.Exit

    @app.callback()
    def common(
        context: typer.Context,
        version: Annotated[
            bool,
            typer.Option(
                "--version", callback=show_version, is_eager=True, help="Show the version and exit."
            ),
        ] = False,
        debug: Annotated[
            bool, typer.Option("--debug", help="Show the traceback when something fails.")
        ] = False,
    ) -> None:
        """Select the variables of one view that say most about another."""
        context.obj = debug

    @app.command()
    def demo(
        context: typer.Context,
        n_features: Annotated[
            int,
            typer.Option(
                "--n-features", "-k", min=1, max=N_CANDIDATES, help="How many pixels to pick."
            ),
        ] = 10,
        kernel: Annotated[
            Kernel, typer.Option("--kernel", help="Kernel between the variables.")
        ] = Kernel.linear,
        debug: Annotated[
            bool, typer.Option("--debug", help="Show the traceback when something fails.")
        ] = False,
    ) -> None:
        """Find the left-half pixels of digits that explain the right half."""
        with _plain_errors(show_traceback=debug or bool(context.obj)):
            _demo(n_features, kernel)

    return app


@contextmanager
def _plain_errors(*, show_traceback: bool) -> Iterator[None]:
    """Turn a failure into one line on stderr and exit code 1, unless a traceback is wanted."""
    try:
        yield
    except BrokenPipeError:
        raise  # the reader of the pipe has gone: Typer ends quietly
    except Exception as error:
        if show_traceback:
            raise
        _fail(f"{error or type(error).__name__} (--debug shows where)")


def _fail(message: str) -> NoReturn:
    print(f"projse: error: {message}", file=sys.stderr)
    sys.exit(FAILED)


def _demo(n_features: int, kernel: Kernel) -> None:
    """Select on scikit-learn's digits and print what came out."""
    from rich.console import Console

    left, right = _digit_halves()
    started = time.perf_counter()
    selector = _fit(ProjSe(n_features, kernel=kernel.value), left, right)
    seconds = time.perf_counter() - started

    console = Console(highlight=False)
    picks = [int(index) for index in selector.selected_]
    _print_prose(
        console,
        f"Digits, {kernel.value} kernel: picked {len(picks)} pixels of the left half to explain "
        f"the right half: {left.shape[0]} rows, {left.shape[1]} candidates, "
        f"{right.shape[1]} references (rank {selector.reference_rank_}), {seconds:.3f} seconds",
    )
    console.print()
    console.print(_table(console, selector, with_pvalues=kernel is Kernel.linear))
    _print_new_rounds(console, selector.rounds_)
    _print_prose(console, "Where the picks lie (numbers: order; . candidate; + reference)")
    console.print()
    console.print(_picture(picks))
    console.print()
    _print_next_steps(console, kernel)


def _digit_halves() -> tuple[FloatArray, FloatArray]:
    """Left and right halves of the digit images, one column a pixel, row by row."""
    from sklearn.datasets import load_digits

    images = np.asarray(load_digits().images, dtype=np.float64)
    n_rows = images.shape[0]
    return (
        images[:, :, :HALF].reshape(n_rows, N_CANDIDATES),
        images[:, :, HALF:].reshape(n_rows, N_CANDIDATES),
    )


def _fit(selector: Any, candidates: FloatArray, references: FloatArray) -> Any:
    """Fit, and show each warning as one line on stderr instead of a line of source code."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        selector.fit(candidates, references)
    for warning in caught:
        print(f"projse: note: {warning.message}", file=sys.stderr)
    return selector


def _print_prose(console: "Console", line: str) -> None:
    """Print a sentence: wrapped at words in a terminal, one line in a pipe."""
    console.print(line, markup=False, soft_wrap=not console.is_terminal)


def _pixel(index: int) -> tuple[int, int]:
    """Row and column in the image, from 0, of a column of the left half."""
    return divmod(index, HALF)


def _pixel_name(index: int) -> str:
    row, column = _pixel(index)
    return f"row {row + 1}, col {column + 1}"


def _table(console: "Console", selector: Any, *, with_pvalues: bool) -> "Table":
    """Lay out the picks; where the terminal is narrow, what can be spared is left out."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    scores = np.asarray(selector.scores_, dtype=np.float64)
    rank = Column("rank", [str(place + 1) for place in range(len(scores))])
    pixel = Column("pixel", [_pixel_name(int(i)) for i in selector.selected_], right=False)
    score = Column("score", [_decimal(value) for value in scores])
    correlation = Column("correlation", [_decimal(value) for value in selector.correlations_])
    columns = [rank, pixel, score, correlation]
    if with_pvalues:
        columns.append(Column("p-value", [_scientific(value) for value in selector.pvalues_]))

    # The correlation is the root of the score, so it is the first to go.
    if _taken(columns) > console.width:
        columns.remove(correlation)
    if _taken(columns) > console.width and with_pvalues:
        columns.pop()
    room = min(console.width - _taken(columns) - GAP, BAR_WIDTHS[-1])
    if room in BAR_WIDTHS:
        bar = _ascii_bar if console.options.ascii_only else _block_bar
        columns.append(_bars(scores, room, bar))

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(column.title, justify="right" if column.right else "left", no_wrap=True)
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*cells)
    return table


def _taken(columns: list[Column]) -> int:
    """Width of a table of these columns."""
    return sum(column.width + GAP for column in columns) - GAP


def _bars(scores: FloatArray, width: int, bar: Callable[[float, int], str]) -> Column:
    """Bars for scores between 0 and 1; the title is their scale."""
    scale = "0" + "1".rjust(width - 1)
    return Column(scale, [bar(_unit(score), width) for score in scores], right=False)


def _unit(score: float) -> float:
    """Clip a score to [0, 1], with 0 for one that is not a number."""
    return float(np.clip(np.nan_to_num(score), 0.0, 1.0))


def _block_bar(share: float, width: int) -> str:
    """Draw a share of the width in steps of an eighth of a character."""
    full, eighths = divmod(round(share * width * 8), 8)
    return "█" * full + EIGHTHS[eighths].strip()


def _ascii_bar(share: float, width: int) -> str:
    """Draw a share of the width where the output cannot show block characters."""
    return "#" * round(share * width)


def _decimal(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.4f}"


def _scientific(value: float) -> str:
    if np.isnan(value):
        return "-"
    return f"{value:.1e}" if value > 0 else "<1e-300"


def _print_new_rounds(console: "Console", rounds: Any) -> None:
    """Say at which picks a new round starts, because the scores jump there."""
    starts = [place + 1 for place in np.flatnonzero(np.diff(rounds)) + 1]
    if starts:
        places = ", ".join(str(place) for place in starts)
        _print_prose(
            console, f"The reference space was used up: a new round starts at pick {places}"
        )
    console.print()


def _picture(picks: list[int]) -> "Text":
    """Draw the 8 x 8 image with the order of each pick in its place."""
    from rich.text import Text

    order = {_pixel(index): str(place + 1) for place, index in enumerate(picks)}
    picture = Text()
    for row in range(SIDE):
        for column in range(SIDE):
            if column == HALF:
                picture.append("  |")
            empty = "." if column < HALF else "+"
            place = order.get((row, column))
            picture.append((place or empty).rjust(3), style="bold" if place else "dim")
        if row < SIDE - 1:
            picture.append("\n")
    return picture


def _print_next_steps(console: "Console", kernel: Kernel) -> None:
    other = Kernel.linear if kernel is Kernel.rbf else Kernel.rbf
    _print_prose(console, "What to try next")
    _print_prose(console, "- your own data: from projse import ProjSe; ProjSe(20).fit(X, Y)")
    _print_prose(console, f"- another kernel: projse demo --kernel {other.value}")
    _print_prose(console, "- what the numbers mean, streaming, choices: README.md")
