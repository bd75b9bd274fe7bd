"""Warnings and errors of their own type."""

from __future__ import annotations

__all__ = [
    "DatasetError",
    "DatasetMissingError",
    "IdentifierWarning",
    "ManyClassesWarning",
    "MomentsFileError",
    "NothingPredictsWarning",
    "NothingSelectedWarning",
    "OrderedRowsWarning",
    "PartitionError",
    "PrecisionLossWarning",
    "ProductsMissingError",
    "ProductsMissingWarning",
    "RankExhaustedWarning",
    "RechunkWarning",
    "SourceError",
    "StateError",
    "UnreliableSelectionWarning",
]


class RankExhaustedWarning(UserWarning):
    """Fewer variables were selected than asked for: nothing that is left adds information."""


class ProductsMissingWarning(RankExhaustedWarning):
    """Fewer variables were selected than asked for, for want of the products of the candidates."""


class PrecisionLossWarning(UserWarning):
    """Rows were taken out, and what is left of some columns is rounding, or constant."""


class NothingSelectedWarning(UserWarning):
    """No variable was selected: ``transform`` will return no column."""


class UnreliableSelectionWarning(UserWarning):
    """The data cannot carry the answer: picks are by column order, or rest on very few rows."""


class NothingPredictsWarning(UserWarning):
    """No selection clearly predicts held-out rows better than their mean does."""


class OrderedRowsWarning(UserWarning):
    """Consecutive rows make folds that differ by more than chance."""


class ManyClassesWarning(UserWarning):
    """Whole numbers were taken for class labels, or for numbers, and it was a close call."""


class IdentifierWarning(UserWarning):
    """A category has (nearly) a level of its own in every row: it is left out."""


class MomentsFileError(ValueError):
    """A file is not a moments file, is damaged, or was written by a newer version."""


class ProductsMissingError(ValueError):
    """A selection needs the products of the candidates with each other, and they are not there."""


class DatasetError(ValueError):
    """A file of a data set is damaged, of another version, or not what its name says."""


class DatasetMissingError(DatasetError, FileNotFoundError):
    """A data set is not at hand, and could not or should not be downloaded."""


class SourceError(ValueError):
    """Rows cannot be read as asked: the message names the file, the columns and the remedy."""


class StateError(RuntimeError):
    """A state folder cannot be used: in use, not writable, full, or made for something else."""


class PartitionError(ValueError):
    """Rows on a worker cannot be used; ``partition`` is the number of the partition they are in."""

    def __init__(self, message: str, partition: int | None = None) -> None:
        super().__init__(message)
        self.partition = partition


class RechunkWarning(UserWarning):
    """Blocks of a Dask collection were cut anew, which moves rows between workers."""
