"""Options of a command, collected into what its work takes; what makes no sense is refused."""

from typing import TYPE_CHECKING

import typer

from projse.cli.options import Basis, Format, StateBy
from projse.cli.values import groups_of, how_many, missing_word, split, without_excluded

if TYPE_CHECKING:
    from projse.cli.read import Reading
    from projse.cli.trust import Asked


def asked_of(context: typer.Context, *, tunes: bool) -> "Asked":
    """Collect what is to be found out beside the picks; refuse what makes no sense."""
    from projse.cli.trust import Asked

    given = context.params
    most = how_many(given["n_features"])
    for name in ("cv", "permutations"):
        if given[name] is not None and given["one_view"]:
            raise typer.BadParameter(f"--{name} needs targets; leave out --one-view.")
    if given["cv"] is not None and not (most is None or isinstance(most, int)):
        raise typer.BadParameter(f"--cv chooses how many; -k {most} is no number to try up to.")
    numbers = {name: given[name] for name in ("cv", "stability", "permutations")}
    return Asked(
        **numbers,
        seed=given["seed"],
        n_features=most if isinstance(most, int) else None,
        tunes=tunes,
    )


def reading_of(context: typer.Context) -> "Reading":
    """Collect the options that the commands that read rows share; refuse what makes no sense."""
    from projse.cli.read import Reading
    from projse.moments.options import SourceOptions

    given = context.params
    label, file_format = given["class_target"], given["file_format"]
    if sum([bool(given["targets"]), label is not None, given["one_view"]]) > 1:
        raise typer.BadParameter("Choose one of --targets, --class and --one-view.")
    _, exclude = without_excluded(groups_of(given.get("group")), split(given["exclude"]))
    source = SourceOptions(
        targets=split(given["targets"]),
        features=split(given["features"]),
        exclude=exclude,
        weight=given["weight"],
        class_target=label,
        covariates=split(given["covariates"]),
        missing=missing_word(given["missing"], given["drop_missing"]),
        numeric_only=given["numeric_only"],
        with_xx="auto" if given["with_xx"] is None else given["with_xx"],
        format=None if file_format is None else Format(file_format).value,
        state=given["state"],
        state_by=StateBy(given["state_by"]).value,
        categorical_features=split(given["categorical"]) or "from_dtype",
        basis=Basis(given["basis"]).value,
        na_values=split(given["na"]),
    )
    return Reading(list(given["data"]), source, quiet=given["quiet"])
