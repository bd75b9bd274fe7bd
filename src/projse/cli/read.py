"""Reading for the command line: what was asked for, a progress bar, a line of what was read."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from projse.cli.text import shown
from projse.moments.file import MAGIC
from projse.moments.options import SourceOptions
from projse.moments.stream_run import Report, SourceProgress
from projse.moments.sums import Moments
from projse.sources.files import find_files, fingerprint, identity, would_find
from projse.warn import many

ENCODING = ("categorical_features", "basis")


@dataclass
class Reading:
    """Options of the commands that read rows, and what came of it.

    ``last`` is the last report of the first pass; ``n_passes`` counts those that followed too.
    """

    data: list[str]
    source: SourceOptions
    quiet: bool = False
    last: SourceProgress | None = None
    n_passes: int = 1
    seconds: float = field(default=0.0)

    @property
    def options(self) -> dict[str, Any]:
        """Return the keywords that ``moments_from`` and ``fit_source`` share."""
        return {name: vars(self.source)[name] for name in vars(self.source) if name not in ENCODING}

    @property
    def encoding(self) -> dict[str, Any]:
        """Return those that are keywords of ``moments_from``, and parameters of ``ProjSe``."""
        return {name: vars(self.source)[name] for name in ENCODING}

    def files(self) -> list[str]:
        """Return the files that the data stand for."""
        if moments_files(self.data):
            return self.data
        return [file.path for file in find_files(self.data, self.source.format)]

    def refuse_among_data(self, path: str | Path) -> None:
        """Refuse to write a file that would be read as data the next time."""
        if not moments_files(self.data) and would_find(self.data, path, self.source.format):
            raise ValueError(
                f"{path} would lie among the data ({', '.join(self.data)}), and be read with them "
                "the next time. Write to another folder."
            )

    def run(self, read: Callable[[Report], Any]) -> Any:
        """Call ``read`` with a function to report to, under a progress bar on a terminal."""
        started = time.perf_counter()
        with _bar(self.quiet) as show:

            def report(now: SourceProgress) -> None:
                if now.n_passes == 1:
                    self.last = now
                self.n_passes = now.n_passes
                show(now)

            with self.told_what_is_kept():
                result = read(report)
        self.seconds += time.perf_counter() - started
        return result

    @contextmanager
    def told_what_is_kept(self) -> Iterator[None]:
        """Say what was kept, and how to go on, when the user interrupts."""
        try:
            yield
        except KeyboardInterrupt as interrupt:
            told = str(interrupt) or self._when_interrupted()
            raise KeyboardInterrupt(told) from None

    def _when_interrupted(self) -> str:
        if moments_files(self.data):
            return "the moments are as they were; run the same command again."
        if self.source.state is None:
            return "nothing is kept; --state DIR keeps the sums of each file as it is done."
        done = "what was done before is kept"
        if self.last is not None:
            done = f"{self.last.n_parts:,} of {many(self.last.n_parts_total, 'file')} done, kept"
        return f"{done} in {self.source.state}; run the same command again to go on."

    def summary(self, moments: Moments) -> str:
        """Say in one line what was read."""
        rows = many(moments.n_samples, "row")
        if self.last is None:
            return f"From moments of {rows} in {many(len(self.data), 'file')}"
        kept = f"{many(self.last.n_kept, 'file')} kept from before, {rows} in all"
        again = ""
        if self.n_passes > 1:
            again = f"; all read {_times(self.n_passes - 1)} more for products of the picks"
        if self.last.n_kept == self.last.n_parts_total:
            return f"Nothing new to read; {kept}{again}"
        text = f"Read {many(self.last.n_rows, 'row')}"
        if self.last.n_parts_total > 1 or self.last.n_kept:
            text += f" from {many(self.last.n_parts_total - self.last.n_kept, 'file')}"
        n_read = self.last.n_rows + (self.n_passes - 1) * moments.n_samples
        text += f" in {self.seconds:.2f} s ({n_read / max(self.seconds, 1e-9):,.0f} rows/s)"
        if self.last.n_kept:
            text += f"; {kept}"
        return text + again


def moments_files(data: list[str]) -> bool:
    """Tell whether all of the data are files of moments; refuse a mixture."""
    kinds = [_is_moments(path) for path in data]
    if any(kinds) and not all(kinds):
        raise ValueError(
            f"{data[kinds.index(True)]} holds moments, {data[kinds.index(False)]} does not; build "
            "moments of the others first (projse moments build)."
        )
    return any(kinds)


def load_moments(paths: list[str]) -> list[Moments]:
    """Load files of moments; a missing one is named."""
    loaded = []
    for path in paths:
        if not Path(path).is_file():
            raise FileNotFoundError(f"There is no file {path}.")
        loaded.append(Moments.load(path))
    return loaded


def load_disjoint(paths: list[str]) -> list[Moments]:
    """Load files of moments to add or subtract: rows that are there twice would count twice."""
    loaded = load_moments(paths)
    files: dict[Any, str] = {}
    contents: dict[Any, str] = {}
    for path in paths:
        for seen, who, what in (
            (files, identity(path), "are the same file"),
            (contents, fingerprint(path, content=True)["sha256"], "hold the same moments"),
        ):
            if who in seen:
                raise ValueError(
                    f"{seen[who]} and {path} {what}: their rows would count twice. Leave one out."
                )
            seen[who] = path
    return loaded


def _is_moments(path: str) -> bool:
    if not Path(path).is_file():  # opening a pipe would wait for its other end
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"


@contextmanager
def _bar(quiet: bool) -> Iterator[Report]:
    """Show a bar with rows a second and the time left, on a terminal's stderr."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True, highlight=False)
    if quiet or not console.is_terminal:
        yield lambda now: None
        return
    bar = Progress(
        TextColumn("{task.fields[files]}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rows]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    task = bar.add_task("", total=None, files="reading", rows="")
    started, n_passes = time.perf_counter(), 1

    def show(now: SourceProgress) -> None:
        nonlocal started, n_passes
        if now.n_passes > n_passes:
            n_passes, started = now.n_passes, time.perf_counter()
            bar.reset(task)
        speed = now.n_rows / max(time.perf_counter() - started, 1e-9)
        files = f"{now.n_parts}/{now.n_parts_total} files" if now.n_parts_total > 1 else "reading"
        if n_passes > 1:
            files += f", pass {n_passes}"
        bar.update(
            task,
            total=None if now.fraction is None else 1.0,
            completed=now.fraction or 0.0,
            files=files,
            rows=f"{now.n_rows:,} rows, {speed:,.0f}/s",
        )

    with bar:
        yield show


def say(line: str) -> None:
    """Print a line that is not a result: on stderr, which pipes leave alone."""
    print(f"projse: {shown(line)}", file=sys.stderr)
