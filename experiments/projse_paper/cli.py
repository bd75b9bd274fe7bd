"""The command ``projse-paper``: run the experiments, write the results page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from projse_paper import plotting
from projse_paper.benchmarks import ROOT
from projse_paper.experiments import ALL, Experiment
from projse_paper.runner import run as run_units
from projse_paper.store import Store, Unit

RESULTS = ROOT / "experiments" / "results"
QUICK_RESULTS = ROOT / "experiments" / "results-quick"
PAGE = ROOT / "docs" / "results.md"

app = typer.Typer(
    help="The experiments of the ProjSe paper, made again.",
    no_args_is_help=True,
    add_completion=False,
)


@app.command()
def run(
    which: Annotated[str, typer.Argument(help=f"all, or one of {', '.join(ALL)}")],
    quick: Annotated[bool, typer.Option(help="Small sizes: shows that it runs.")] = False,
    output: Annotated[
        Path | None, typer.Option(help="Folder of the results; units found there are skipped.")
    ] = None,
    only: Annotated[str | None, typer.Option(help="Only units whose name contains this.")] = None,
) -> None:
    """Run experiments; what is already saved is not run again."""
    if which != "all" and which not in ALL:
        raise typer.BadParameter(f"{which!r} is neither 'all' nor one of {', '.join(ALL)}.")
    store = Store(output or (QUICK_RESULTS if quick else RESULTS))
    console = Console()
    for name in ALL if which == "all" else [which]:
        experiment = ALL[name]
        units = [u for u in experiment.units(quick) if only is None or only in u.name]
        with _Bar(console, name, len(units)) as bar:
            counts = run_units(units, store, bar)
        console.print(f"{name}: " + ", ".join(f"{n} {what}" for what, n in counts.items()))
        write_tables(experiment, store)


def write_tables(experiment: Experiment, store: Store) -> None:
    """Write an experiment's CSV and figure from what is saved."""
    records = store.records(experiment.NAME)
    store.write_csv(experiment.NAME, experiment.rows(records))
    figure = experiment.draw(records)
    if figure is not None:
        plotting.save(figure, store.folder / experiment.NAME / experiment.NAME)


@app.command()
def figures(
    output: Annotated[Path, typer.Option(help="Folder of the results.")] = RESULTS,
) -> None:
    """Draw the figures and write the CSV files anew, from what is saved."""
    for experiment in ALL.values():
        write_tables(experiment, Store(output))


@app.command()
def page(
    results: Annotated[Path, typer.Option(help="Folder of the results.")] = RESULTS,
    to: Annotated[Path, typer.Option(help="The page to write.")] = PAGE,
) -> None:
    """Write the results page from what is saved, and from nothing else."""
    from projse_paper.page import write_page

    write_page(Store(results), to)


class _Bar:
    """A progress bar over the units of an experiment."""

    def __init__(self, console: Console, title: str, total: int) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[unit]}"),
            console=console,
        )
        self._console = console
        self._task = self._progress.add_task(title, total=total, unit="")

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.update(self._task, unit="")
        self._progress.stop()

    def begin(self, unit: Unit) -> None:
        """Show which unit runs."""
        self._progress.update(self._task, unit=unit.name)

    def end(self, unit: Unit, outcome: str) -> None:
        """Count the unit; say so when it could not run."""
        if outcome.startswith("not run"):
            self._console.print(f"  {unit.name}: {outcome}", highlight=False)
        self._progress.advance(self._task)


def main() -> None:
    """Run the command line."""
    app()
