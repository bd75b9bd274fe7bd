"""What a state folder was begun with: whether it makes sense, and how another request differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from projse.sources.columns import BASES, MISSING, Columns, Request
from projse.sources.request import LATER

if TYPE_CHECKING:
    from projse.sources.table.encoding import TableEncoding

KIND = "projse state"
LAYOUT = 3


def is_plan(plan: dict[str, Any]) -> bool:
    """Tell whether the state holds what :meth:`StateFolder.begin` writes."""
    columns, request = plan.get("columns"), plan.get("request")
    return (
        plan.get("kind") == KIND
        and plan.get("layout") == LAYOUT
        and isinstance(columns, dict)
        and columns.keys() - {"covariates"} == Columns(()).as_dict().keys()
        and all(
            _is_names(columns.get(name, []))
            for name in ("features", "targets", "categorical", "covariates")
        )
        and _is_texts(columns["types"])
        and isinstance(columns["mixed"], bool)
        and all(
            columns[name] is None or isinstance(columns[name], str)
            for name in ("labels", "label_kind", "weight")
        )
        and isinstance(request, dict)
        and request.keys() - {*LATER} == Request().as_dict().keys()
        and request["missing"] in MISSING
        and request["basis"] in BASES
        and _is_names(request.get("na_values", []))
        and _is_encoded(plan, columns)
    )


def encoding_of(plan: dict[str, Any]) -> TableEncoding | None:
    """Return how rows are encoded; raise a ValueError where that makes no sense."""
    if plan["encoding"] is None:
        return None
    from projse.sources.table.encoding import TableEncoding

    return TableEncoding.from_dict(plan["encoding"])


def _is_encoded(plan: dict[str, Any], columns: dict[str, Any]) -> bool:
    """Tell whether a state holds an encoding of its columns, where they have types."""
    covariates = columns.get("covariates", [])
    names = [*columns["features"], *columns["targets"], *covariates]
    if not columns["types"]:
        return plan.get("encoding", "") is None
    if len(columns["types"]) != len(names) or not isinstance(plan.get("encoding"), dict):
        return False
    try:
        encoding = encoding_of(plan)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return False
    assert encoding is not None
    found = [None if e is None else list(e.names or ()) for e in (encoding.y, encoding.z)]
    wanted = [columns["targets"] if columns["mixed"] else None, covariates or None]
    return list(encoding.x.names or ()) == columns["features"] and found == wanted


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_names(value: Any) -> bool:
    """Tell whether a value is a list of different names."""
    return (
        isinstance(value, list)
        and all(isinstance(name, str) for name in value)
        and len(set(value)) == len(value)
    )


def difference(name: str, before: Any, now: Any) -> str:
    """Say in what two values differ; nothing where they do not."""
    if before == now:
        return ""
    if not (isinstance(before, list) and isinstance(now, list)):
        return f"{name}: {before!r} before, {now!r} now"
    gone, new = _without(before, now), _without(now, before)
    if not gone and not new:
        at = next(i for i, (a, b) in enumerate(zip(before, now, strict=True)) if a != b)
        return f"{name} in another order: number {at + 1} was {before[at]!r} and is {now[at]!r}"
    words = [f"without {_some(gone)}"] if gone else []
    words += [f"also {_some(new)}"] if new else []
    return f"{name}: now {' and '.join(words)}"


def _without(names: list[str], others: list[str]) -> list[str]:
    known = set(others)
    return [name for name in names if name not in known]


def _some(names: list[str], most: int = 3) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
