"""Tables of picks for the terminal, as wide as it is."""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from projse.cli.text import shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

GAP = 3  # characters between two columns of a rich table in the style used here
BAR_WIDTHS = range(8, 25)
EIGHTHS = " ▏▎▍▌▋▊▉█"

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """One column of a table: its title, its cells, how it is aligned."""

    title: str
    cells: list[str]
    right: bool = True

    @property
    def width(self) -> int:
        """Characters the widest cell needs."""
        return max(len(text) for text in (self.title, *self.cells))


def picks_table(
    console: "Console",
    selector: Any,
    title: str,
    names: list[str],
    *,
    with_pvalues: bool,
    details: bool = False,
    more: Iterable[Column] = (),
) -> "Table":
    """Lay out the picks; where the terminal is narrow, what can be spared is left out.

    ``details`` adds the margin and the round of each pick, ``more`` what was found out besides.
    """
    scores = np.asarray(selector.scores_, dtype=np.float64)
    columns = {
        "rank": Column("rank", [str(place + 1) for place in range(len(scores))]),
        "name": Column(title, [shown(name) for name in names], right=False),
        "score": Column("score", [decimal(value) for value in scores]),
        "correlation": Column("correlation", [decimal(v) for v in selector.correlations_]),
    }
    if details:
        columns["margin"] = Column("margin", [decimal(v) for v in selector.margins_])
    if with_pvalues:
        columns["p-value"] = Column("p-value", [scientific(v) for v in selector.pvalues_])
    if details and selector.round_size_ != 1:  # else every pick is a round of its own
        columns["round"] = Column("round", [str(v) for v in selector.rounds_])
    columns |= {column.title: column for column in more}

    # The correlation is the root of the score, so it is the first to go.
    for spared in ("correlation", "round", "margin", "p-value"):
        if _taken(columns.values()) > console.width:
            columns.pop(spared, None)
    side_by_side = list(columns.values())
    room = min(console.width - _taken(side_by_side) - GAP, BAR_WIDTHS[-1])
    if room in BAR_WIDTHS:
        bar = _ascii_bar if console.options.ascii_only else _block_bar
        side_by_side.append(_bars(scores, room, bar))
    return table(side_by_side)


def table(columns: list[Column]) -> "Table":
    """Put columns side by side."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    result = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        result.add_column(column.title, justify="right" if column.right else "left", no_wrap=True)
    for cells in zip(*(column.cells for column in columns), strict=True):
        result.add_row(*(Text(cell) for cell in cells))  # a name is no markup
    return result


def print_prose(console: "Console", line: str) -> None:
    """Print a sentence: wrapped at words in a terminal, one line in a pipe."""
    from rich.text import Text

    console.print(Text(shown(line)), soft_wrap=not console.is_terminal)


def print_new_rounds(console: "Console", selector: Any) -> None:
    """Say at which picks a new round of several starts, because the scores jump there."""
    rounds, size = np.asarray(selector.rounds_), selector.round_size_
    starts = [place + 1 for place in np.flatnonzero(np.diff(rounds)) + 1 if rounds[place - 1] > 0]
    if starts and size != 1:
        places = ", ".join(str(place) for place in starts)
        why = "The reference space was used up" if size is None else f"Rounds of {size} picks"
        print_prose(console, f"{why}: a new round starts at pick {places}")
    console.print()


@contextmanager
def warnings_as_notes() -> Iterator[list[str]]:
    """Show each warning as one line on stderr instead of a line of source code.

    The list that the block gets holds them once it has ended. They may be why the block failed.
    """
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            yield notes
        finally:
            for warning in caught:
                notes.append(str(warning.message))
                print(f"projse: note: {shown(str(warning.message))}", file=sys.stderr)


def decimal(value: float) -> str:
    """Write a number between 0 and 1."""
    return "-" if np.isnan(value) else f"{value:.4f}"


def scientific(value: float) -> str:
    """Write a p-value."""
    if np.isnan(value):
        return "-"
    return f"{value:.1e}" if value > 0 else "<1e-300"


def _taken(columns: Any) -> int:
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
