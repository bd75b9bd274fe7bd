"""The parameters that cross-validation tries: those given, or a few that are worth it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from projse.estimators.given_moments import refuse_qr
from projse.estimators.parameters import check_parameters
from projse.estimators.projse import ProjSe

AUTO = {"alpha": "auto", "redundancy": "auto", "round_size": "auto"}

CHANGES: tuple[dict[str, Any], ...] = (
    {},
    {"redundancy": 0.0},
    {"redundancy": 0.5},
    {"redundancy": 1.0},
    {"alpha": 0.1},
    {"alpha": 10.0},
)
"""One at a time: a full grid costs twice as much, and the best of more flatters more."""


def tuning_grid(param_grid: Any, selector: ProjSe) -> list[dict[str, Any]]:
    """List the parameters to try, the preferred first; refuse those that make no sense.

    Parameters
    ----------
    param_grid : "auto", mapping, list of mappings or None
        "auto": the selector's own, then ``"auto"`` with one change at a time. None: only its own.
    selector : ProjSe

    Returns
    -------
    list of dict
    """
    check_parameters(selector)
    if param_grid is None:
        grid: list[dict[str, Any]] = [{}]
    elif isinstance(param_grid, str):
        if param_grid != "auto":
            raise ValueError(f"param_grid={param_grid!r}; the only word is 'auto'.")
        grid = _auto_grid(selector)
    elif isinstance(param_grid, Mapping | Sequence):
        grid = list(ParameterGrid(param_grid))
    else:
        raise TypeError(
            "param_grid must be 'auto', None, a mapping or a list of them, not "
            f"{type(param_grid).__name__}."
        )
    for params in grid:
        _check_entry(params, selector)
    return grid


def _auto_grid(selector: ProjSe) -> list[dict[str, Any]]:
    own = {name: getattr(selector, name) for name in AUTO}
    # To start again in the same space, nothing is conditioned on: redundancy plays no part.
    restarts = selector.exhausted == "restart"
    changes = [c for c in CHANGES if not (restarts and "redundancy" in c)]
    others = [AUTO | change for change in changes]
    return [own, *(other for other in others if other != own)]


def _check_entry(params: dict[str, Any], selector: ProjSe) -> None:
    unknown = set(params) - set(selector.get_params())
    if unknown or "n_features_to_select" in params:
        name = sorted(unknown or {"n_features_to_select"})[0]
        raise ValueError(
            f"param_grid names {name!r}; it takes parameters of ProjSe other than "
            "n_features_to_select, which n_features lists."
        )
    if "groups" in params:
        raise ValueError(
            "param_grid names 'groups', which says what a variable is; set it in the selector: "
            "numbers of variables would not compare."
        )
    for name in ("basis", "categorical_features", "missing"):
        if name in params:
            raise ValueError(
                f"param_grid names {name!r}, which says how a table is encoded; set it in the "
                "selector: folds are encoded once. Use GridSearchCV to compare."
            )
    if "target_type" in params:
        raise ValueError(
            "param_grid names 'target_type', which says what y is; set it in the selector: "
            "scores of classes and of numbers do not compare."
        )
    tuned = clone(selector).set_params(**params)
    check_parameters(tuned)
    refuse_qr(tuned, "ProjSeCV works from moments: use solver='auto'")
    if callable(tuned.kernel):
        raise ValueError(
            "A callable kernel needs the rows of every fold; ProjSeCV works from moments. "
            "Use a built-in kernel, or sklearn's GridSearchCV."
        )
