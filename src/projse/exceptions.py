"""Warnings and errors of their own type."""

from __future__ import annotations

__all__ = ["MomentsFileError", "PartitionError", "RankExhaustedWarning", "RechunkWarning"]


class RankExhaustedWarning(UserWarning):
    """Fewer variables were selected than asked for: nothing that is left adds information."""


class MomentsFileError(ValueError):
    """A file is not a moments file, is damaged, or was written by a newer version."""


class PartitionError(ValueError):
    """Rows on a worker cannot be used; ``partition`` is the number of the partition they are in."""

    def __init__(self, message: str, partition: int | None = None) -> None:
        super().__init__(message)
        self.partition = partition


class RechunkWarning(UserWarning):
    """Blocks of a Dask collection were cut anew, which moves rows between workers."""
