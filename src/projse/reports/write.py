"""``projse.report``: write the report of a fitted selector."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import Any

from projse.atomic import write_whole
from projse.reports.gather import gather
from projse.reports.page import page


def report(
    selector: Any,
    path: str | PathLike[str],
    *,
    cv: Any = None,
    stability: Any = None,
    permutations: Any = None,
    command: str | None = None,
) -> Path:
    """Write what a selector found as one HTML file, to look at in any browser.

    The file needs no network and no other file. It holds the table of picks, to sort and search;
    charts; what each pick explains of each output and what could stand in for it; in plain words
    what to be careful about; and what it takes to repeat the selection. Of the data it holds names,
    and numbers a variable or an output, but no rows.

    Parameters
    ----------
    selector : ProjSe or ProjSeCV
        Fitted.
    path : path-like
        File to write. One that is there is replaced, whole or not at all.
    cv : ProjSeCV, default=None
        Fitted on the same candidates: adds how many to take.
    stability : StabilityProjSe, default=None
        Fitted on the same candidates: adds how often the picks come back with other rows.
    permutations : PermutationTest, default=None
        Of the same selector and rows: adds whether shuffled outputs do as well.
    command : str, default=None
        Shown as the command that the selection came from.

    Returns
    -------
    Path
        Of the file.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from projse import ProjSe, report
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 10))
    >>> Y = X[:, [2, 7]] @ rng.normal(size=(2, 3)) + 0.1 * rng.normal(size=(200, 3))
    >>> selector = ProjSe(2).fit(X, Y)
    >>> with TemporaryDirectory() as folder:
    ...     print(report(selector, f"{folder}/picks.html").name)
    picks.html
    """
    place = Path(os.path.realpath(path))
    if place.is_dir():
        raise IsADirectoryError(f"path={os.fspath(path)!r} is a folder; name a file to write.")
    if not place.parent.is_dir():
        raise FileNotFoundError(
            f"path={os.fspath(path)!r}: there is no folder {place.parent}; make it first."
        )
    beside: Any = {"cv": cv, "stability": stability, "permutations": permutations}
    html = page(gather(selector, command=command, **beside))
    write_whole(place, html.encode())
    return Path(path)
