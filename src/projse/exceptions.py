"""Warnings and errors of their own type."""

from __future__ import annotations

__all__ = ["MomentsFileError", "RankExhaustedWarning", "SourceError", "StateError"]


class RankExhaustedWarning(UserWarning):
    """Fewer variables were selected than asked for: nothing that is left adds information."""


class MomentsFileError(ValueError):
    """A file is not a moments file, is damaged, or was written by a newer version."""


class SourceError(ValueError):
    """Rows cannot be read as asked: the message names the file, the columns and the remedy."""


class StateError(RuntimeError):
    """A state folder cannot be used: in use, not writable, full, or made for something else."""
