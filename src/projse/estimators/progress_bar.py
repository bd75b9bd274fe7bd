"""A progress bar in the terminal, for calls that take long and were asked to show one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Report = Callable[[int, int], Any]


@contextmanager
def reporting(progress: bool | Report, label: str) -> Iterator[Report]:
    """Give a function ``(done, total)`` that reports the way the user asked for.

    Parameters
    ----------
    progress : bool or callable
        True for a bar on standard error, False for silence, or the user's own ``(done, total)``.
    label : str
        What the bar says beside itself.
    """
    if callable(progress):
        yield progress
        return
    if not isinstance(progress, bool):
        raise TypeError(
            f"progress={progress!r} must be True, False or a function (done, total), not "
            f"{type(progress).__name__}."
        )
    if not progress:
        yield _say_nothing
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
    except ImportError as error:
        raise ImportError(
            "progress=True needs rich, which comes with the extra: "
            'pip install "projse-select[cli]". Or pass a function (done, total).'
        ) from error
    with Progress(
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as bar:
        task = bar.add_task(label, total=None)

        def report(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield report


def _say_nothing(done: int, total: int) -> None:
    """Stand in for a report that nobody asked for."""
