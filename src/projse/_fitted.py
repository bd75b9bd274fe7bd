"""Fitted attributes: all of them or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def fitted_attributes(estimator: Any) -> dict[str, Any]:
    """Return the fitted attributes of an estimator, those that end in an underscore."""
    return {
        name: value
        for name, value in vars(estimator).items()
        if name.endswith("_") and not name.startswith("_")
    }


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Put the fitted attributes back as they were when the block raises."""
    before = fitted_attributes(estimator)
    try:
        yield
    except BaseException:
        for name in fitted_attributes(estimator):
            delattr(estimator, name)
        vars(estimator).update(before)
        raise
