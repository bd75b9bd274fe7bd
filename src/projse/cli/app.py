"""The commands of ``projse``, put together with Typer.

Only :mod:`projse.cli` imports this module: it needs the extra ``cli``. What a command runs is
imported once it runs: ``--help`` and ``--version`` wait for nothing that computes.
"""

from typing import Annotated, Any

import rich  # noqa: F401  # missing rich is to be noticed before a command runs
import typer

from projse import __version__
from projse.cli.collect import asked_of, reading_of
from projse.cli.errors import NumbersCommand, SafeGroup, plain_errors
from projse.cli.options import (
    DATA,
    FILES,
    N_PIXELS,
    NUMBERS,
    Alpha,
    Basis,
    By,
    Categorical,
    ClassTarget,
    Covariates,
    Curves,
    Cv,
    Debug,
    Draws,
    DropMissing,
    Exclude,
    Exhausted,
    Fdr,
    Features,
    FileFormat,
    Gaps,
    Group,
    Jobs,
    Kernel,
    Markers,
    Missing,
    NumericOnly,
    OneView,
    Output,
    Paper,
    Permutations,
    Quiet,
    Redundancy,
    RoundSize,
    Seed,
    Stability,
    State,
    StateBy,
    Targets,
    Weight,
    WithXX,
    option,
)
from projse.cli.values import groups_of, how_many, split, values_make_sense, without_excluded

app = typer.Typer(
    cls=SafeGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
moments_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(
    moments_app,
    name="moments",
    help="Build, add and subtract moments: a month is the sum of its days.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"projse {__version__}")
        raise typer.Exit


@app.callback()
def common(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    debug: Debug = False,
) -> None:
    """Select the variables that say most about a whole set of others.

    Try it: projse demo. Then: projse select DATA --targets 'y_*' -k 20
    """
    context.obj = debug


@app.command("demo")
def show_demo(
    context: typer.Context,
    n_features: Annotated[
        int,
        typer.Option("--n-features", "-k", min=1, max=N_PIXELS, help="How many pixels to pick."),
    ] = 10,
    kernel: Annotated[
        Kernel, typer.Option("--kernel", help="Kernel between the variables.")
    ] = Kernel.linear,
    debug: Debug = False,
) -> None:
    """Find the left-half pixels of digits that explain the right half."""
    with plain_errors(show_traceback=debug or bool(context.obj)):
        from projse.cli.demo import demo

        demo(n_features, kernel.value)


@app.command(cls=NumbersCommand)
def select(
    context: typer.Context,
    data: Annotated[list[str], DATA],
    targets: Targets = None,
    class_target: ClassTarget = None,
    covariates: Covariates = None,
    one_view: OneView = False,
    n_features: Annotated[
        str | None,
        option(
            "--n-features",
            "-k",
            metavar="N",
            help="How many to pick: a number, a share (0.1), or 'auto' to stop by p-value. "
            "Without it, as many as the targets have dimensions.",
        ),
    ] = None,
    cv: Cv = None,
    stability: Stability = None,
    permutations: Permutations = None,
    fdr: Fdr = None,
    draws: Draws = 50,
    seed: Seed = 0,
    features: Features = None,
    exclude: Exclude = None,
    include: Annotated[
        list[str] | None,
        option("--include", metavar="NAMES", help="Columns that are picked first."),
    ] = None,
    group: Group = None,
    weight: Weight = None,
    kernel: Annotated[
        Kernel, option("--kernel", help="Kernel between the variables.")
    ] = Kernel.linear,
    degree: Annotated[int, option("--degree", min=1, help="Of the polynomial kernel.")] = 3,
    coef0: Annotated[float, option("--coef0", help="Of the polynomial kernel.")] = 0.0,
    gamma: Annotated[
        float | None, option("--gamma", help="Of the RBF kernel; default: by mean distance.")
    ] = None,
    paper: Paper = False,
    alpha: Alpha = None,
    redundancy: Redundancy = None,
    round_size: RoundSize = None,
    exhausted: Annotated[
        Exhausted, option("--exhausted", help="What to do once the targets are used up.")
    ] = Exhausted.residual,
    significance: Annotated[float, option("--significance", help="Level for -k auto.")] = 0.05,
    min_frequency: Annotated[
        int,
        option("--min-frequency", min=1, help="Levels of a category in fewer rows are pooled."),
    ] = 5,
    with_xx: WithXX = None,
    missing: Gaps = Missing.refuse,
    drop_missing: DropMissing = False,
    na: Markers = None,
    basis: Curves = Basis.linear,
    categorical: Categorical = None,
    numeric_only: NumericOnly = False,
    file_format: FileFormat = None,
    state: State = None,
    state_by: By = StateBy.time,
    json_to: Annotated[
        str | None, option("--json", metavar="FILE", help="Write JSON; - for standard output.")
    ] = None,
    csv_to: Annotated[
        str | None, option("--csv", metavar="FILE", help="Write CSV; - for standard output.")
    ] = None,
    report_to: Annotated[
        str | None,
        option(
            "--report",
            metavar="FILE",
            help="Write an HTML page to look at in a browser; - for standard output.",
        ),
    ] = None,
    jobs: Jobs = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Pick the columns of DATA that say most about the targets.

    DATA may also be files that 'projse moments' wrote.
    """
    with plain_errors(show_traceback=debug or bool(context.obj)):
        from projse.cli.discover import discover
        from projse.cli.read import moments_files
        from projse.cli.select import select as run
        from projse.cli.write import Destinations
        from projse.estimators.paper import PAPER
        from projse.estimators.parameters import check_parameters
        from projse.estimators.projse import ProjSe

        destinations = Destinations(json_to, csv_to, report_to)
        if len(destinations.to_stdout) > 1:
            both = " and ".join(destinations.to_stdout)
            raise typer.BadParameter(f"{both} cannot both go to standard output.")
        reading = reading_of(context)
        if not (targets or class_target or one_view or moments_files(data)):
            raise typer.BadParameter(
                "What is to be explained? Pass --targets NAMES, --class NAME, or --one-view."
            )
        parameters: dict[str, Any] = {
            "n_features_to_select": how_many(n_features),
            "kernel": kernel.value,
            "degree": degree,
            "coef0": coef0,
            "gamma": "mean_distance" if gamma is None else gamma,
            "exhausted": exhausted.value,
            "groups": without_excluded(groups_of(group), split(exclude))[0],
            "include": split(include),
            "target_type": "continuous",
            "significance": significance,
            "min_frequency": min_frequency,
            "n_jobs": jobs,
        }
        given = {"alpha": alpha, "redundancy": redundancy, "round_size": round_size}
        form = PAPER if paper else {}
        parameters = {
            **form,
            **parameters,
            **{name: value for name, value in given.items() if value is not None},
        }
        with values_make_sense():
            check_parameters(ProjSe(**parameters))
            if fdr is not None and not 0 < fdr < 1:
                raise ValueError(f"fdr={fdr} must be a number above 0 and below 1.")
        if fdr is None:
            tunes = not paper and all(value is None for value in given.values())
            asked = asked_of(context, tunes=tunes)
            if asked.cv is not None:
                parameters["n_features_to_select"] = None
            run(reading, parameters, destinations, asked)
            return
        too = [name for name in NUMBERS if context.params[name.removeprefix("--")] is not None]
        if too:
            raise typer.BadParameter(f"--fdr judges by itself; leave out {' and '.join(too)}.")
        if one_view or n_features is not None:
            given_too = "--one-view" if one_view else "-k"
            raise typer.BadParameter(
                f"--fdr finds what matters for targets; leave out {given_too}."
            )
        if report_to is not None:
            raise typer.BadParameter("--report shows picks; leave out --fdr, or use --json.")
        knockoffs = {"fdr": fdr, "n_draws": draws, "random_state": seed}
        discover(reading, parameters, knockoffs, destinations)


@moments_app.command()
def build(
    context: typer.Context,
    data: Annotated[list[str], DATA],
    output: Output,
    targets: Targets = None,
    class_target: ClassTarget = None,
    covariates: Covariates = None,
    one_view: OneView = False,
    features: Features = None,
    exclude: Exclude = None,
    weight: Weight = None,
    with_xx: WithXX = None,
    missing: Gaps = Missing.refuse,
    drop_missing: DropMissing = False,
    na: Markers = None,
    basis: Curves = Basis.linear,
    categorical: Categorical = None,
    numeric_only: NumericOnly = False,
    file_format: FileFormat = None,
    state: State = None,
    state_by: By = StateBy.time,
    jobs: Jobs = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Sum the rows of DATA into a file of moments."""
    with plain_errors(show_traceback=debug or bool(context.obj)):
        if not (targets or class_target or one_view):
            raise typer.BadParameter(
                "What is to be explained? Pass --targets NAMES, --class NAME, or --one-view."
            )
        reading = reading_of(context)
        from projse.cli import moments

        moments.build(reading, output, jobs)


@moments_app.command()
def merge(
    context: typer.Context,
    files: Annotated[list[str], FILES],
    output: Output,
    debug: Debug = False,
) -> None:
    """Add moments of disjoint rows."""
    with plain_errors(show_traceback=debug or bool(context.obj)):
        from projse.cli import moments

        moments.merge(files, output)


@moments_app.command()
def subtract(
    context: typer.Context,
    whole: Annotated[str, typer.Argument(metavar="WHOLE", help="Moments to take rows out of.")],
    files: Annotated[list[str], FILES],
    output: Output,
    debug: Debug = False,
) -> None:
    """Take the rows of FILES out of WHOLE."""
    with plain_errors(show_traceback=debug or bool(context.obj)):
        from projse.cli import moments

        moments.subtract(whole, files, output)


@moments_app.command()
def info(
    context: typer.Context,
    files: Annotated[list[str], FILES],
    as_json: Annotated[bool, option("--json", help="Write JSON to standard output.")] = False,
    debug: Debug = False,
) -> None:
    """Show what files of moments hold."""
    with plain_errors(show_traceback=debug or bool(context.obj)):
        from projse.cli import moments

        moments.info(files, as_json)
