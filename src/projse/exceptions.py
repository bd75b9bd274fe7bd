"""Warnings and errors of their own type."""

from __future__ import annotations

__all__ = ["MomentsFileError", "RankExhaustedWarning"]


class RankExhaustedWarning(UserWarning):
    """Fewer variables were selected than asked for: nothing that is left adds information."""


class MomentsFileError(ValueError):
    """A file is not a moments file, is damaged, or was written by a newer version."""
