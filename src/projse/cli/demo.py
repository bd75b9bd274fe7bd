"""``projse demo``: the left halves of digits against the right ones, with a picture."""

import time
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from projse.cli.options import N_PIXELS
from projse.cli.table import picks_table, print_new_rounds, print_prose, warnings_as_notes
from projse.estimators.projse import ProjSe

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

SIDE = 8
HALF = SIDE // 2

FloatArray = npt.NDArray[np.float64]


def demo(n_features: int, kernel: str) -> None:
    """Select on scikit-learn's digits and print what came out."""
    from rich.console import Console

    left, right = _digit_halves()
    started = time.perf_counter()
    with warnings_as_notes():
        selector = ProjSe(n_features, kernel=kernel).fit(left, right)
    seconds = time.perf_counter() - started

    console = Console(highlight=False)
    picks = [int(index) for index in selector.selected_]
    print_prose(
        console,
        f"Digits, {kernel} kernel: picked {len(picks)} pixels of the left half to explain "
        f"the right half: {left.shape[0]} rows, {left.shape[1]} candidates, "
        f"{right.shape[1]} references (rank {selector.reference_rank_}), {seconds:.3f} seconds",
    )
    console.print()
    names = [_pixel_name(index) for index in picks]
    console.print(picks_table(console, selector, "pixel", names, with_pvalues=kernel == "linear"))
    print_new_rounds(console, selector)
    print_prose(console, "Where the picks lie (numbers: order; . candidate; + reference)")
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
        images[:, :, :HALF].reshape(n_rows, N_PIXELS),
        images[:, :, HALF:].reshape(n_rows, N_PIXELS),
    )


def _pixel(index: int) -> tuple[int, int]:
    """Row and column in the image, from 0, of a column of the left half."""
    return divmod(index, HALF)


def _pixel_name(index: int) -> str:
    row, column = _pixel(index)
    return f"row {row + 1}, col {column + 1}"


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


def _print_next_steps(console: "Console", kernel: str) -> None:
    other = "linear" if kernel == "rbf" else "rbf"
    print_prose(console, "What to try next")
    print_prose(console, "- your own files: projse select DATA --targets 'y_*' -k 20")
    print_prose(console, "- your own arrays: from projse import ProjSe; ProjSe(20).fit(X, Y)")
    print_prose(console, f"- another kernel: projse demo --kernel {other}")
    print_prose(console, "- what the numbers mean, streaming, choices: README.md")
